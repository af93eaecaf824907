"""Neighbouring data sets: the pair that an audit is run on."""

from dataclasses import dataclass
from typing import Any

from accountants import validate


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two neighbouring data sets and their description.

    That they *are* neighbours under the claim's relation is the caller's word.
    """

    first: Any
    second: Any
    name: str = "the given pair"

    def __post_init__(self) -> None:
        validate.text("name", self.name)

    @classmethod
    def of(cls, pair: Any) -> "Pair":
        """A `Pair` from itself or from a tuple of two data sets."""
        if isinstance(pair, Pair):
            return pair
        both = validate.sequence("pair", pair) if isinstance(pair, tuple | list) else ()
        if len(both) != 2:
            raise TypeError(f"`pair` must be a Pair or two data sets, got {type(pair).__name__}.")
        return cls(*both)
