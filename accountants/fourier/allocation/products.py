r"""Products of many independent ratios on a geometric lattice: sums of their logarithms.

`tilted.sums` does it, except where a rare factor is far larger than many usual ones together: no
tilt then shows what lies between the two. So the masses p are split into b and, above some place,
r, and

    p^{*n} = Σ_m C(n, m)·b^{*(n−m)} * r^{*m},

each term with tilts of its own; what m > M adds is at most (nR)^{M+1}/(M+1)!·‖p‖^n, R = ‖r‖/‖p‖.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from accountants.arrays import FloatArray
from accountants.fourier.allocation.tilted import Outline, TooLongError, log_moment, sums

# Ratios beyond e^{±300} are left to others.
_LARGEST_LOSS = 300.0
# A law is split if it reaches so many standard deviations, and the product's is so small that one
# factor can be far larger than all others together; where n·‖r‖ of P is at most `_RARE`.
_HEAVY, _NARROW, _RARE = 25.0, 0.5, 1e-7
_MOST_RARE, _MANY = 2, 32


class Lattice(NamedTuple):
    """Which products are asked for.

    Attributes:
      first: The first node is e^{first·h}.
      step: h.
      copies: n.
      outline: Of the whole law, and of the one that is tilted by 1.
      split: The first index of r, or none.
      rare: The same outline with tilts for each m, beginning with 0.
    """

    first: int
    step: float
    copies: int
    outline: Outline
    split: int | None
    rare: tuple[Outline, ...]

    @classmethod
    def choose(
        cls, first: int, step: float, masses: FloatArray, moments: FloatArray, copies: int
    ) -> "Lattice":
        """From Q-masses and P-masses.

        Raises:
          TooLongError: Ratios would leave the range of doubles.
        """
        places = step * (first + np.arange(masses.size, dtype=np.float64))
        _check_range(float(places[0]), float(places[-1]))
        one = Outline.of(places, masses, copies)
        outline = one.joined(Outline.of(places, moments, copies))
        _check_range(outline.low, outline.high)
        is_heavy = places[-1] > _HEAVY * one.deviation / math.sqrt(copies)
        if not is_heavy or one.deviation > _NARROW or not _MOST_RARE < copies < _MANY:
            return cls(first, step, copies, outline, None, ())
        above = np.cumsum(moments[::-1])[::-1]
        split = int(np.searchsorted(-above, -_RARE / copies))
        if not 0 < split < masses.size - 64 or not np.any(masses[split:] > 0.0):
            return cls(first, step, copies, outline, None, ())
        sides = [Outline.of(places[:split], v[:split], copies) for v in (masses, moments)]
        bulk = sides[0].joined(sides[1])
        # Without r there is a light tail, which steeper tilts show.
        found = [replace(outline, right=bulk.right, far=(outline.far[0], bulk.far[1]))]
        for rare in range(1, min(_MOST_RARE, copies - 1) + 1):
            sides = [
                Outline.of(places[split:], values[split:] / np.sum(values[split:]), rare)
                for values in (masses, moments)
            ]
            both = sides[0].joined(sides[1])
            found.append(replace(outline, left=both.left, between=both.between, right=both.right))
        return cls(first, step, copies, outline, split, tuple(found))

    def power(self, masses: FloatArray, tilt: float) -> "Power":
        """Bounds of the masses of the product; `tilt` is 1 for P-masses, 0 for Q-masses."""
        outline = self.outline.shifted(-tilt)
        if self.split is None:
            whole = sums(self.first, masses, self.step, self.copies, outline=outline)
            return Power(whole.first, whole.lower, whole.upper, 0.0)
        bulk = masses.copy()
        bulk[self.split :] = 0.0
        rare = masses[self.split :]
        begin = self.first + self.split
        light, *heavy = self.rare
        whole = sums(self.first, bulk, self.step, self.copies, outline=light.shifted(-tilt))
        lower, upper = whole.lower.copy(), whole.upper.copy()
        for count, seen in enumerate(heavy, start=1):
            factor = math.comb(self.copies, count) / (self.copies - count + 1)
            # Of r^{*m} both bounds; the first is r itself.
            several: tuple[int, FloatArray, FloatArray] = (begin, rare, rare)
            if count > 1:
                places = self.step * (begin + np.arange(rare.size, dtype=np.float64))
                around = Outline.of(places, rare, count)
                found = sums(begin, rare, self.step, count, outline=around)
                several = (found.first, found.lower, found.upper)
            for which in (0, 1):
                masses_of_rare = several[2] if which else several[1]
                if not np.any(masses_of_rare > 0.0):
                    continue
                term = self._term(bulk, several[0], masses_of_rare, count, seen.shifted(-tilt))
                if which:
                    upper += factor * (1.0 + 1e-12) * term[1]
                else:
                    lower += factor * (1.0 - 1e-12) * term[0]
        return Power(whole.first, lower, upper, self.rest(masses))

    def rest(self, masses: FloatArray) -> float:
        """What more rare factors than are counted add at most."""
        counted = len(self.rare) - 1
        if self.split is None or counted == self.copies:
            return 0.0
        total = float(np.sum(masses))
        share = self.copies * float(np.sum(masses[self.split :])) / total
        most = share ** (counted + 1) / math.factorial(counted + 1)
        return most * total**self.copies * (1.0 + 1e-6)

    def _term(
        self, bulk: FloatArray, begin: int, several: FloatArray, count: int, seen: Outline
    ) -> tuple[FloatArray, FloatArray]:
        """(n − m + 1)·b^{*(n−m)} * r^{*m}, from below and from above."""
        copies = self.copies - count + 1
        if copies == 1:
            raise TooLongError("nothing but rare factors")
        found = sums(
            self.first,
            bulk,
            self.step,
            copies,
            moments=several,
            moments_first=begin,
            outline=seen,
        )
        assert found.moment_lower is not None
        assert found.moment_upper is not None
        return found.moment_lower, found.moment_upper

    def beyond(self, masses: FloatArray, tilt: float, size: int, first: int) -> tuple[float, float]:
        """Bounds of the product's masses below and above `size` nodes from `first` on."""
        places = self.step * (self.first + np.arange(masses.size, dtype=np.float64))
        ends = (self.step * first, self.step * (first + size - 1))
        outline = self.outline.shifted(-tilt)
        found = [
            self.copies * log_moment(places, masses, side) - side * end + 1e-9
            for side, end in zip(outline.near, ends, strict=True)
        ]
        return math.exp(min(found[0], 300.0)), math.exp(min(found[1], 300.0))


class Power(NamedTuple):
    """Bounds of a product's masses.

    Attributes:
      first: The first node's index.
      lower, upper: Bounds of the masses, but for `rest`.
      rest: At most so much mass is nowhere in `upper`.
    """

    first: int
    lower: FloatArray
    upper: FloatArray
    rest: float


def _check_range(low: float, high: float) -> None:
    """Refuses losses whose exponentials doubles do not hold with room to spare."""
    if not max(abs(low), abs(high)) <= _LARGEST_LOSS:
        raise TooLongError(f"losses from {low} to {high}")
