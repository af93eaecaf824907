r"""Clipped vectors as whole numbers of steps, and how much longer that can make them.

Whatever the rounding, `norm` bounds what comes out, in steps: it is checked on the integers
themselves, so that privacy does not rest on the coins. With C the clip norm, γ the spacing and d
coordinates:

* "whole": rows are whole numbers of steps already, such as counts; others are refused.
* "toward_zero": |x|/γ rounded down. Norms do not grow: C/γ. Biased by up to γ a coordinate.
* "stochastic": up or down, x/γ in the mean. Unbiased. Each coordinate grows by less than one step:
  C/γ + √d.
* "conditional": stochastic, and drawn again until the norm is at most the smaller of that and

      √(C²/γ² + d/4 + √(2·log(1/β))·(C/γ + √d/2)),

  which a draw passes with probability 1 − β or more (Kairouz, Liu, Steinke 2021, section 4.1).
  Nearly unbiased: their Proposition 26.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from accountants import validate
from mechanisms.primitives.clipping import clip_rows

HowToRound: TypeAlias = Literal["toward_zero", "stochastic", "conditional", "whole"]
_HOW: tuple[HowToRound, ...] = ("toward_zero", "stochastic", "conditional", "whole")
# Clipped rows are shorter than C by 2^-32 of it. They are lengthened again, by a hair too much, so
# that a whole number of steps stays one; norms are counted with all of that and with roundings.
_LONGER = 2.0**-31
ROUNDING = 1.01 * _LONGER
"""By how much of itself a row may come out longer than it went in, steps apart."""
# After so many draws a row is rounded towards zero: below 1e-90 at the default β.
_MOST_DRAWS = 420
# Beyond, steps are no integers that doubles tell apart.
_MOST_STEPS = 2.0**50


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Clips rows to `clip_norm` and gives them as whole numbers of steps.

    Attributes:
      clip_norm: C.
      spacing: γ, the length of a step.
      coordinates: d.
      how: See the module.
      beta: β, for "conditional".

    >>> round(Rounding(clip_norm=1.0, spacing=0.01, coordinates=100).norm, 4)
    100.6479
    """

    clip_norm: float
    spacing: float
    coordinates: int
    how: HowToRound = "conditional"
    beta: float = math.exp(-0.5)

    def __post_init__(self) -> None:
        validate.positive("clip_norm", self.clip_norm)
        validate.positive("spacing", self.spacing)
        validate.count("coordinates", self.coordinates)
        validate.one_of("how", self.how, _HOW)
        if validate.open_unit("beta", self.beta) > 0.9:
            raise validate.refusal("beta", "in (0, 0.9]", self.beta)
        if not self.clip_norm / self.spacing < _MOST_STEPS:
            allowed = f"above clip_norm/2**50 = {self.clip_norm / _MOST_STEPS:g}"
            raise validate.refusal("spacing", allowed, self.spacing)

    @property
    def norm(self) -> float:
        """The largest norm of a rounded row, in steps, from above."""
        steps, root = self.clip_norm / self.spacing, math.sqrt(self.coordinates)
        if self.how in ("toward_zero", "whole"):
            return steps * (1.0 + ROUNDING)
        longest = steps + root
        if self.how == "conditional":
            excess = math.sqrt(-2.0 * math.log(self.beta)) * (steps + 0.5 * root)
            squared = steps * steps + 0.25 * self.coordinates + excess
            longest = min(longest, math.sqrt(squared))
        return longest * (1.0 + ROUNDING)

    @property
    def taxicab(self) -> float:
        """The largest sum of absolute values, in steps, from above; |n| ≤ n² for integers."""
        return self.norm * min(self.norm, math.sqrt(self.coordinates)) * (1.0 + ROUNDING)

    @property
    def attained(self) -> int:
        """Steps by which some row moves one coordinate, whatever the coins."""
        return math.floor(float(self._in_steps(np.array([[self.clip_norm]]))[0, 0]))

    def __call__(self, rows: npt.ArrayLike, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The rows, (n, d), each clipped and rounded on its own.

        Rows that are not finite become zero, as `clip_rows` has it. A row of zeros stays zero.
        """
        array = validate.reals("rows", rows)
        if array.ndim != 2 or array.shape[1] != self.coordinates:
            raise ValueError(f"`rows` must be of shape (n, {self.coordinates}), got {array.shape}.")
        generator = validate.generator("rng", rng)
        steps = self._in_steps(array)
        if self.how == "whole":
            return self._whole(steps, array)
        rounded = np.trunc(steps).astype(np.int64)
        if self.how == "toward_zero":
            return rounded
        left = np.arange(steps.shape[0])
        for _ in range(_MOST_DRAWS):
            below = np.floor(steps[left])
            up = generator.random(below.shape) < steps[left] - below
            drawn = (below + up).astype(np.int64)
            fits = self._fits(drawn)
            rounded[left[fits]] = drawn[fits]
            left = left[~fits]
            if not left.size:
                break
        return rounded

    def _whole(
        self, steps: npt.NDArray[np.float64], rows: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.int64]:
        """Whole rows that clipping has not changed."""
        whole = np.round(steps)
        if not (np.abs(whole * self.spacing - rows) <= 1e-6 * self.spacing).all():
            raise validate.refusal("rows", "whole numbers of steps, within the clip norm", rows)
        return whole.astype(np.int64)

    def _in_steps(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Clipped, in steps."""
        steps = clip_rows(rows, self.clip_norm).rows / self.spacing * (1.0 + _LONGER)
        return np.asarray(steps)

    def _fits(self, drawn: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whose norm is within the bound; of doubles, so a little is taken off."""
        norms = np.sqrt(np.einsum("ij,ij->i", drawn.astype(float), drawn.astype(float)))
        return np.asarray(norms <= self.norm * (1.0 - 1e-14))
