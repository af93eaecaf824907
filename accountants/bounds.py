"""The interval that every accountant answers with."""

from typing import NamedTuple


class Bounds(NamedTuple):
    """An interval that contains the true value: `lower <= truth <= upper`.

    `lower` is 0.0 where an accountant proves no lower bound; `upper` is `inf` where it proves no
    upper bound.

    >>> Bounds(1.0, 2.0).gap
    1.0
    """

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """`upper - lower`: how much is not known. Zero for two equal infinities."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower
