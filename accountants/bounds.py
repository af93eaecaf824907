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

    def intersect(self, other: "Bounds") -> "Bounds":
        """What two intervals for the same value say together.

        >>> Bounds(1.0, 2.0).intersect(Bounds(1.5, 3.0))
        Bounds(lower=1.5, upper=2.0)
        """
        return Bounds(max(self.lower, other.lower), min(self.upper, other.upper))

    def larger(self, other: "Bounds") -> "Bounds":
        """An interval for the larger of two values, such as the two directions of a pair.

        >>> Bounds(1.0, 2.0).larger(Bounds(1.5, 1.7))
        Bounds(lower=1.5, upper=2.0)
        """
        return Bounds(max(self.lower, other.lower), max(self.upper, other.upper))

    @property
    def gap(self) -> float:
        """`upper - lower`: how much is not known. Zero for two equal infinities."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower
