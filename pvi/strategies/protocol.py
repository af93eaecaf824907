"""What a client does with its data when asked for an update.

A strategy gives the change of natural parameters that it would like, and what to remember if the
server applies it. It changes nothing itself: the client commits upon acknowledgement.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model, PointModel
from pvi.solvers.problem import Context
from pvi.solvers.rules import State
from pvi.validate import checked, instance, mapping


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartState:
    """What a client remembers of one part of its data.

    Attributes:
      solver: The local solver's state, such as Adam's moments.
      factor: The factor of a part that is a virtual client; None for other parts.
    """

    solver: State = field(default_factory=dict)
    factor: MeanFieldGaussian | None = None

    def __post_init__(self) -> None:
        mapping("solver", self.solver)
        if self.factor is not None:
            instance("factor", self.factor, MeanFieldGaussian)

    @checked(factor=MeanFieldGaussian)
    def with_factor(self, factor: MeanFieldGaussian) -> Self:
        """Gives a virtual client another factor; other parts stay as they are."""
        return self if self.factor is None else replace(self, factor=factor)


class Wish(NamedTuple):
    """The change that a strategy proposes, and the state, part by part, that goes with it."""

    change: MeanFieldGaussian
    state: tuple[PartState, ...]


class Strategy(Protocol):
    """Computes a client's damped change and the new local state."""

    @property
    def model(self) -> Model | PointModel:
        """The likelihood."""
        ...

    @property
    def size(self) -> int:
        """The number of records."""
        ...

    def initial_state(self) -> tuple[PartState, ...]:
        """What there is to remember before the first update, part by part."""
        ...

    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: tuple[PartState, ...],
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the damped change of the client's factor, from the server's posterior."""
        ...
