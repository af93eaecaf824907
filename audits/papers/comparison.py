"""Whether one method is better than another, over seeds that both have run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.stats import t as student

Relation: TypeAlias = Literal["better", "on par"]

CONFIDENCE = 0.95
"""Of one comparison, two-sided; not corrected for how many there are."""
CRITERION = (
    f"“Yes” and “no” are beyond what Student's t allows for a difference of zero (or of the margin)"
    f" at {CONFIDENCE:.0%}, two-sided: 2.8 standard errors for five seeds; “open” is between. "
    "Comparisons are many and not corrected for that. "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """First minus second, over seeds that share their data.

    Attributes:
      mean: Of the differences.
      standard_error: Of that mean; NaN for a single seed.
      seeds: How many.
    """

    mean: float
    standard_error: float
    seeds: int

    @classmethod
    def of(cls, first: Sequence[float], second: Sequence[float]) -> "Difference":
        """Paired by seed."""
        each = np.subtract(first, second)
        error = each.std(ddof=1) / math.sqrt(len(each)) if len(each) > 1 else math.nan
        return cls(mean=float(each.mean()), standard_error=float(error), seeds=len(each))

    @property
    def in_standard_errors(self) -> float:
        """How many standard errors from zero."""
        return self.mean / self.standard_error if self.standard_error else math.nan

    def agrees(self, relation: Relation, margin: float) -> str:
        """`yes`, `no`, or `open` where the seeds do not tell; see `CRITERION`.

        Args:
          relation: What is said.
          margin: Up to what difference two methods are on par: our choice, papers have none.
        """
        if math.isnan(self.standard_error):
            return "open"
        room = self.mean if relation == "better" else margin - abs(self.mean)
        needed = self.standard_error * float(student.ppf(0.5 + CONFIDENCE / 2, self.seeds - 1))
        if room > needed:
            return "yes"
        return "no" if room < -needed else "open"

    def text(self, digits: int, answer: str) -> str:
        """As a table's cell."""
        return (
            f"{self.mean:+.{digits}f} ± {self.standard_error:.{digits}f} "
            f"({self.in_standard_errors:+.1f} s.e.): {answer}"
        )
