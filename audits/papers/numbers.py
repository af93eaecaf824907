"""The figures of a finding as data: what was stated, and what we found of the same quantity."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from accountants import Bounds
from audits.wording import down, up

_DIGITS = 4

Role: TypeAlias = Literal["stated", "certified", "computed", "measured"]


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity's value, or the interval that it lies in.

    Numbers of one finding with the same label are about the same quantity.

    Attributes:
      label: The quantity, short.
      value: The value, or the interval's lower end.
      upper: The interval's upper end, infinite for a lower bound; None for a single value.
      role: "stated" by the paper, or following from what it states; "certified" by a proof;
        "computed" by a closed form or without chance; "measured" on samples.

    >>> str(stated("ε", 0.0, 3.75)), str(certified("ε", Bounds(54.75, math.inf)))
    ('≤ 3.75', '≥ 54.75')
    >>> str(certified("ε", Bounds(1.57961, 1.81479)))
    '1.579 to 1.815'
    >>> certified("ε", Bounds(54.75, math.inf)).contradicts(stated("ε", 0.0, 3.75))
    True
    """

    label: str
    value: float
    upper: float | None
    role: Role

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("`label` must say what the number is of, got ''.")
        if self.role not in get_args(Role):
            raise ValueError(f"`role` must be one of {get_args(Role)}, got {self.role!r}.")
        if math.isnan(self.value) or not self.high >= self.value:
            raise ValueError(
                f"`upper` must be at least `value`, got {self.upper} and {self.value} for "
                f"{self.label!r}."
            )

    @property
    def high(self) -> float:
        """The upper end, which is the value itself if there is only one."""
        return self.value if self.upper is None else self.upper

    def contradicts(self, other: "Number") -> bool:
        """Whether both are about the same quantity and cannot both be true."""
        apart = max(self.value, other.value) - min(self.high, other.high)
        # Equal values that were computed in two ways do not contradict each other.
        rounding = 1e-9 * max(1.0, *(abs(v) for v in (self.value, other.value) if math.isfinite(v)))
        return self.label == other.label and apart > rounding

    def __str__(self) -> str:
        if _short(self.high) == _short(self.value):
            return _short(self.value)
        # A rounded bound stays a bound.
        low, high = down(self.value, _DIGITS), up(self.high, _DIGITS)
        if self.high == math.inf:
            text = f"≥ {low}"
        elif self.value in (0.0, -math.inf):
            text = f"≤ {high}"
        else:
            text = f"{low} to {high}"
        return text.replace("-", "−")

    def as_json(self) -> dict[str, object]:
        """Plain data; JSON has no infinities, they become "inf" and "-inf"."""
        ends = {"value": self.value, "upper": self.upper}
        plain = {
            name: str(end) if end is not None and math.isinf(end) else end
            for name, end in ends.items()
        }
        return {"label": self.label, **plain, "role": self.role}

    @classmethod
    def from_json(cls, row: dict[str, object]) -> "Number":
        """The number that `as_json` wrote."""
        value, upper = (None if row[k] is None else float(str(row[k])) for k in ("value", "upper"))
        if value is None:
            raise ValueError(f"`value` must be a number, got {row['value']!r}.")
        return cls(str(row["label"]), value, upper, row["role"])  # type: ignore[arg-type]


def _short(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{_DIGITS}g}".replace("-", "−")


def stated(label: str, value: float, upper: float | None = None) -> Number:
    """What the paper states: a value, or an interval (from 0 for "at most")."""
    return Number(label, value, upper, "stated")


def certified(label: str, bounds: Bounds) -> Number:
    """What is proved."""
    return Number(label, bounds.lower, bounds.upper, "certified")


def computed(label: str, value: float, upper: float | None = None) -> Number:
    """What follows by arithmetic."""
    return Number(label, float(value), upper, "computed")


def measured(label: str, value: float, upper: float | None = None) -> Number:
    """What samples show: an estimate, or a confidence bound."""
    return Number(label, float(value), upper, "measured")
