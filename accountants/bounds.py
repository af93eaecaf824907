"""The interval that every accountant answers with."""

from collections.abc import Iterable
from numbers import Real
from typing import NamedTuple, Self

from accountants import validate


class BoundsError(ArithmeticError):
    """Two proved statements contradict each other: an error of this library, never of its caller.

    An interval whose lower end lies above its upper one contains nothing, so at least one of its
    ends was wrong. No number may be reported from there.
    """


class _Ends(NamedTuple):
    lower: float
    upper: float


class Bounds(_Ends):
    """An interval that contains the true value: `lower <= truth <= upper`.

    `lower` is 0.0 where an accountant proves no lower bound; `upper` is `inf` where it proves no
    upper bound.

    Raises:
      BoundsError: The lower end is above the upper one, or an end is not a number.

    >>> Bounds(1.0, 2.0).gap
    1.0
    """

    __slots__ = ()

    def __new__(cls, lower: float, upper: float) -> Self:
        """Checks the ends."""
        for name, end in (("lower", lower), ("upper", upper)):
            if not isinstance(end, Real):
                raise TypeError(f"`{name}` must be a number, got {validate.shown(end)}.")
        if not lower <= upper:
            raise BoundsError(
                f"no number lies between lower={lower!r} and upper={upper!r}: one of the two ends "
                "is wrong, which is an error of this library; please report it"
            )
        return super().__new__(cls, lower, upper)

    @classmethod
    def _make(cls, iterable: Iterable[float]) -> Self:  # type: ignore[override]
        return cls(*iterable)  # `_replace` goes this way, and must not go round the check.

    def intersect(self, other: "Bounds") -> "Bounds":
        """What two intervals for the same value say together; `BoundsError` if they are disjoint.

        >>> Bounds(1.0, 2.0).intersect(Bounds(1.5, 3.0))
        Bounds(lower=1.5, upper=2.0)
        """
        validate.instance("other", other, Bounds)
        return Bounds(max(self.lower, other.lower), min(self.upper, other.upper))

    def larger(self, other: "Bounds") -> "Bounds":
        """An interval for the larger of two values, such as the two directions of a pair.

        >>> Bounds(1.0, 2.0).larger(Bounds(1.5, 1.7))
        Bounds(lower=1.5, upper=2.0)
        """
        validate.instance("other", other, Bounds)
        return Bounds(max(self.lower, other.lower), max(self.upper, other.upper))

    @property
    def gap(self) -> float:
        """`upper - lower`: how much is not known. Zero for two equal infinities."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower
