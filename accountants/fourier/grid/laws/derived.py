r"""Loss laws that are made of others: of a Poisson sample, and of a public choice.

**A sample.** With r = dP/dQ = e^l, the pair ((1−q)Q + qP, Q) has the loss λ(l) = log(1 − q + q·e^l)
and the P-mass (1−q)·Q(dl) + q·P(dl), the pair (Q, (1−q)Q + qP) the loss −λ(l) and the P-mass
Q(dl). All masses are sums of the P- and the Q-masses of (P, Q) with positive weights. So the points
of a law of (P, Q), which are exact for both (`law`), are exact here at the moved losses, whether
they stand for atoms or for a density, and nothing cancels. For l < 0 the points are those of the
law of (Q, P), where Q-masses are the large ones, so that none of them underflows.

λ is computed as the likelihood ratio in `accountants.likelihood_ratio`, off by at most 64u·|λ| +
24u·λ′·|l|; an error of l arrives times λ′ = q·e^l/(1 − q + q·e^l).
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from accountants.arrays import FloatArray, IntArray
from accountants.fourier.grid.laws.law import UNIT, LossLaw, Points, Seam, Tails, joined, middles

# Losses beyond are as good as infinite.
_FAR = 1e300
_EXPM1_LIMIT = 700.0
# The least positive number: an atom at 0 belongs to one side only.
_LEAST = 5e-324


def _mixed(rate: float, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """λ(l) and λ′(l)."""
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    mixed = np.log1p(rate * np.expm1(np.minimum(loss, _EXPM1_LIMIT)))
    far = (mixed < -math.log(2.0)) | (loss > _EXPM1_LIMIT)
    if np.any(far):
        mixed[far] = np.logaddexp(log_rest, log_rate + loss[far])
    return mixed, np.exp(np.minimum(log_rate + loss - mixed, 0.0))


def _unmixed(rate: float, mixed: FloatArray) -> FloatArray:
    """The l with λ(l) = `mixed`; −∞ where there is none. Increasing, but for rounding."""
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    reachable = mixed > log_rest
    safe = np.where(reachable, mixed, 0.0)
    with np.errstate(divide="ignore"):
        near = np.log1p(np.maximum(np.expm1(np.clip(safe, -1.0, 30.0)) / rate, -1.0))
        far = safe - log_rate + np.log1p(-(1.0 - rate) * np.exp(-np.maximum(safe, 30.0)))
        # Where e^λ is small, 1 − e^λ has lost its digits: from e^λ − (1 − q) = q·e^l.
        rise = np.clip(safe - log_rest, 0.0, 60.0)
        low = log_rest - log_rate + np.log(np.expm1(rise))
    found = np.where(safe < 30.0, np.where(safe < -math.log(2.0), low, near), far)
    return np.where(reachable, found, -np.inf)


@dataclass(frozen=True)
class SampledLaw:
    """The loss of a sample's pair, see the module.

    Attributes:
      forward: The law of the pair (P, Q); if a loss may be infinite, `removes` must be true.
      backward: The law of the pair (Q, P).
      rate: q in (0, 1).
      removes: Whether the law with the record is the first of the pair.
    """

    forward: LossLaw
    backward: LossLaw
    rate: float
    removes: bool

    @property
    def infinite(self) -> float:
        """P(L = ∞), rounded up."""
        return self.rate * self.forward.infinite * (1.0 + 8.0 * UNIT) if self.removes else 0.0

    @property
    def cost(self) -> float:
        """Of both laws' points, half of each."""
        return 0.5 * (self.forward.cost + self.backward.cost)

    @property
    def seam(self) -> Seam:
        """Losses crowd at ±log(1 − q)."""
        return Seam.BOTTOM if self.removes else Seam.TOP

    def _at(self, loss: float) -> float:
        """The loss of this pair where that of (P, Q) is `loss`."""
        mixed = float(_mixed(self.rate, np.array([loss]))[0][0])
        return mixed if self.removes else -mixed

    @functools.cached_property
    def highest(self) -> float:
        """λ at the highest loss or −λ at the lowest, rounded up."""
        law = self.forward if self.removes else self.backward
        if math.isinf(law.highest):
            return math.inf if self.removes else -math.log1p(-self.rate) * (1.0 + 8.0 * UNIT)
        loss = law.highest * (1.0 + 16.0 * UNIT)
        loss = loss if self.removes else -loss
        mixed, slope = (float(value[0]) for value in _mixed(self.rate, np.array([loss])))
        return abs(mixed) * (1.0 + 64.0 * UNIT) + 24.0 * UNIT * slope * abs(loss)

    @property
    def lattice(self) -> tuple[float, float] | None:
        """The two atoms, if there are no others."""
        lattice = self.forward.lattice
        span = self.forward.highest + self.backward.highest
        if lattice is None or math.isinf(span) or lattice[1] < span * (1.0 - 1e-12):
            return None
        ends = sorted((self._at(self.forward.highest), self._at(-self.backward.highest)))
        return ends[1], ends[1] - ends[0]

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The images of what either law has as its range; see `LossLaw`."""
        first, second = (below, above) if self.removes else (above, below)
        low = -self.backward.loss_range(second, first)[1]
        high = -self.backward.loss_range(second, first)[0]
        if self.removes:  # P has a part in both ends.
            low = min(low, self.forward.loss_range(below, above)[0])
            high = max(high, self.forward.loss_range(below, above)[1])
        ends = sorted((self._at(low), self._at(high)))
        return ends[0], ends[1]

    def _places(self, losses: FloatArray) -> FloatArray:
        """Non-decreasing losses of (P, Q), for losses of this pair increasing, or decreasing."""
        mixed = losses if self.removes else -losses
        most, least = (min(_FAR, 2.0 * law.highest + 1.0) for law in (self.forward, self.backward))
        places = np.clip(_unmixed(self.rate, mixed), -least, most)
        # What lies at an end of all losses is within, whatever the rounding.
        for law, sign in ((self.forward, 1.0), (self.backward, -1.0)):
            if law.highest < math.inf:
                end, slope = _mixed(self.rate, np.array([sign * law.highest]))
                slack = 32.0 * UNIT * (abs(float(end[0])) + float(slope[0]) * law.highest)
                outside = sign * mixed >= sign * float(end[0]) - slack
                beyond = sign * (law.highest * (1.0 + 32.0 * UNIT) + _LEAST)
                places = np.where(outside, sign * np.maximum(sign * places, sign * beyond), places)
        return places

    def tails(self, low: float, high: float) -> Tails:
        """Sums of the tails of (P, Q) and (Q, P); see `LossLaw`."""
        rest = 1.0 - self.rate
        low, high = (float(self._places(np.array([loss]))[0]) for loss in (low, high))
        if not self.removes:
            below = math.exp(self.forward.tails(low, low).log_above_other)
            _, above, log_of_p = self.backward.tails(-high, -high)
            log_above = math.log(above) if above > 0.0 else -math.inf
            log_other = np.logaddexp(math.log(rest) + log_above, math.log(self.rate) + log_of_p)
            return Tails(below, above, float(log_other))
        at_low, at_high = self.forward.tails(low, low), self.forward.tails(high, high)
        below = rest * self.backward.tails(-low, -low).above + self.rate * at_low.below
        above = rest * math.exp(at_high.log_above_other) + self.rate * at_high.above
        return Tails(below, above, at_high.log_above_other)

    def points(self, edges: FloatArray) -> Points:
        """Points of (P, Q) for l ≥ 0 and of (Q, P) for l < 0, moved; see `LossLaw`."""
        places = np.maximum.accumulate(self._places(edges if self.removes else edges[::-1]))
        parts = []
        if places[-1] >= 0.0:
            at = self.forward.points(np.maximum(places, 0.0))
            parts.append(self._moved(at, at.cell, 1.0))
        mirrored = np.maximum(-places[::-1], _LEAST)
        if mirrored[-1] > _LEAST:
            at = self.backward.points(mirrored)
            parts.append(self._moved(at, edges.size - 2 - at.cell, -1.0))
        points = joined(*parts)
        return points if self.removes else points._replace(cell=edges.size - 2 - points.cell)

    def _moved(self, at: Points, cell: IntArray, sign: float) -> Points:
        """Points with loss ±l ≥ 0 and the mass of the larger law; `sign` 1: that law is P."""
        mixed, slope = _mixed(self.rate, sign * at.loss)
        error = slope * (at.loss_error + 24.0 * UNIT * np.abs(at.loss))
        error += 64.0 * UNIT * np.abs(mixed)
        fade = np.exp(-at.loss)
        other = self.rate if sign < 0.0 else 1.0 - self.rate
        mass = at.mass * ((1.0 - other) + other * fade)
        if not self.removes:
            mass = at.mass * fade if sign > 0.0 else at.mass
        return Points(
            cell,
            mixed if self.removes else -mixed,
            error,
            mass,
            at.mass_error + at.loss_error + 16.0 * UNIT,
        )

    def cuts(self, edges: FloatArray) -> FloatArray:
        """The cells' middles; see `LossLaw`."""
        return middles(edges)


@dataclass(frozen=True)
class MixedLaw:
    """The loss where one of several pairs is chosen, with the same chances on both sides, and seen.

    Attributes:
      laws: One per choice.
      weights: Their chances, positive.
      revealed: The chance, rounded up, of a further one that gives all away.
    """

    laws: tuple[LossLaw, ...]
    weights: tuple[float, ...]
    revealed: float = 0.0

    @property
    def infinite(self) -> float:
        """P(L = ∞), rounded up."""
        sizes = (weight * law.infinite for weight, law in zip(self.weights, self.laws, strict=True))
        return (math.fsum(sizes) + self.revealed) * (1.0 + 8.0 * UNIT)

    @property
    def cost(self) -> float:
        """Of all laws together."""
        return math.fsum(law.cost for law in self.laws)

    @property
    def seam(self) -> Seam:
        """That of the likeliest choice."""
        return self.laws[self.weights.index(max(self.weights))].seam

    @property
    def highest(self) -> float:
        """The largest of all."""
        return max(law.highest for law in self.laws)

    @property
    def lattice(self) -> tuple[float, float] | None:
        """The one lattice of those that have one."""
        found = {law.lattice for law in self.laws} - {None}
        return found.pop() if len(found) == 1 else None

    def loss_range(self, below: float, above: float) -> tuple[float, float]:
        """The widest of all ranges, each with its share of the mass; see `LossLaw`."""
        # A mass of which no more than this share is left out is below 1 again.
        ranges = [
            law.loss_range(min(below / weight, 0.5), min(above / weight, 0.5))
            for weight, law in zip(self.weights, self.laws, strict=True)
        ]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def tails(self, low: float, high: float) -> Tails:
        """Sums; see `LossLaw`."""
        found = [law.tails(low, high) for law in self.laws]
        shares = list(zip(self.weights, found, strict=True))
        log_other = special.logsumexp(
            [math.log(weight) + tails.log_above_other for weight, tails in shares]
        )
        return Tails(
            math.fsum(weight * tails.below for weight, tails in shares),
            math.fsum(weight * tails.above for weight, tails in shares),
            float(log_other),
        )

    def points(self, edges: FloatArray) -> Points:
        """All points; see `LossLaw`."""
        parts = []
        for weight, law in zip(self.weights, self.laws, strict=True):
            at = law.points(edges)
            parts.append(at._replace(mass=weight * at.mass, mass_error=at.mass_error + 4.0 * UNIT))
        return joined(*parts)

    def cuts(self, edges: FloatArray) -> FloatArray:
        """Those of the likeliest choice; see `LossLaw`."""
        return self.laws[self.weights.index(max(self.weights))].cuts(edges)
