r"""Sums of clients' vectors that are hidden by the clients' own shares of discrete noise.

Each client rounds its clipped vectors to whole numbers of steps (`Rounding`), adds integer noise of
variance V/(least − colluders) and sends the result into a secure sum modulo 2^bits. `least` clients
or more are in the sum, or there is none; `colluders` of them may tell their noise. So noise of
variance V at least is unknown; more of it is post-processing, and so are the modulus, with or
without a wrap-around, and the division by the steps that follows.

**From above**, for a pair of neighbours that moves the integer sum by a vector of norm Δ:

* Discrete Gaussian shares (Kairouz, Liu, Steinke 2021): N_Z(0, V) has D_α ≤ α·Δ²/2V in every
  dimension (Canonne, Kamath, Steinke 2020, Theorem 14), and the law of the sum is pointwise within
  e^{±τ} of it (`discrete_sums`). With τ in all, of all coordinates and releases, (ε, δ) of N_Z
  becomes (ε + 2τ, e^τ·δ). On a fine grid N(0, V) with the slack of total variation is sharper;
  the smaller of the two is taken.
  Of one coordinate the law itself is accounted for.
* Skellam shares (Agarwal, Kairouz, Liu 2021) add up to Skellam noise, whose Rényi divergences of
  whole orders are bounded in `skellam`.

**From below**, for discrete Gaussian shares: a clipped vector along an axis moves one coordinate by
⌊C/γ⌋ steps, whatever the coins of rounding. That coordinate's law is accounted for from below,
(ε, δ) giving (ε − 2τ, e^−τ·δ), or on a fine grid with the slack; other rows may cost more. For
Skellam shares: by the best half-line of that one coordinate, in one release.

Not counted, because they cost nothing: who drops out and when, provided that it does not depend on
the data.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

import dp_accounting as dpa
import numpy as np
import numpy.typing as npt
from dp_accounting import NeighboringRelation
from scipy import special

from accountants import (
    Bounds,
    Certificate,
    FourierAccountant,
    IntervalAccountant,
    RenyiAccountant,
    validate,
)
from accountants.certificate import deltas_of
from accountants.events import DiscreteGaussianDpEvent
from accountants.renyi import epsilon_from_divergence
from mechanisms.errors import refuse
from mechanisms.primitives.discrete_gaussian import delta_slack, sample_array
from mechanisms.primitives.discrete_sums import log_ratio, sum_distance
from mechanisms.primitives.rounding import ROUNDING, Rounding
from mechanisms.primitives.sampling import repeated
from mechanisms.primitives.skellam import concentration, divergence, sample_skellam
from mechanisms.projection import SLACK_SHARE, bounds_with_slack
from mechanisms.scope import UNITS, Unit

Law: TypeAlias = Literal["discrete_gaussian", "skellam"]
LAWS: tuple[Law, ...] = ("discrete_gaussian", "skellam")

_REPLACE = NeighboringRelation.REPLACE_ONE
_ROUNDING = 1e-12
# Standard deviations up to which the one-dimensional law is accounted for point by point.
_POINT_BY_POINT = 4096.0
# Of a sum of scaled Bessel functions, generously.
_BESSEL = 1e-9
_MOVED = {"whole": 0, "toward_zero": 1, "stochastic": 2, "conditional": 2}
_MOST_SUMMANDS = 10**12
_ORDERS = (*range(2, 129), *(2**k for k in range(8, 21)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedSum:
    """One secure sum of rounded vectors with noise from all clients, and what it costs.

    Attributes:
      rounding: Clip norm, grid and rounding of each vector.
      noise_multiplier: σ: the unknown noise has standard deviation σC or more.
      clients: n.
      least: How many of them are in the sum at least.
      colluders: How many may tell the adversary their noise; fewer than `least`.
      law: Of the shares.
      bits: The sum is modulo 2^bits.
      vectors: How many vectors are in a sum at most, all clients together; for the chance of
        wrapping around only. n if not given.
      unit: Whose vector is rounded on its own: a "record"'s, so that a record more or less moves
        the sum by one vector, or a "client"'s, whose number is a public constant.
      diameter: How far two vectors are apart at most, where they are not all of the ball of radius
        C: less than 2C. Then no lower end of ε is known, and it is 0.

    >>> total = DistributedSum(
    ...     rounding=Rounding(clip_norm=1.0, spacing=2.0**-20, coordinates=10),
    ...     noise_multiplier=2.0, clients=10, least=8, colluders=2,
    ... )
    >>> found = total.epsilon_bounds(1e-5, NeighboringRelation.REPLACE_SPECIAL)
    >>> [round(end, 3) for end in found]
    [1.993, 1.993]
    >>> total.wrap_around < 1e-100
    True
    """

    rounding: Rounding
    noise_multiplier: float
    clients: int
    least: int
    colluders: int = 0
    law: Law = "discrete_gaussian"
    bits: int = 32
    vectors: int | None = None
    unit: Unit = "client"
    diameter: float | None = None

    def __post_init__(self) -> None:
        validate.instance("rounding", self.rounding, Rounding)
        validate.positive("noise_multiplier", self.noise_multiplier)
        validate.count("clients", self.clients)
        validate.count("least", self.least, maximum=self.clients)
        validate.count("colluders", self.colluders, minimum=0, maximum=self.least - 1)
        validate.one_of("law", self.law, LAWS)
        validate.count("bits", self.bits, maximum=64)
        if self.vectors is not None:
            validate.count("vectors", self.vectors, maximum=_MOST_SUMMANDS)
        validate.one_of("unit", self.unit, UNITS)
        if self.diameter is not None:
            validate.positive("diameter", self.diameter)
        std = self.noise_multiplier * self.rounding.clip_norm / self.rounding.spacing
        if not 0.0 < std < 2.0**52:
            raise validate.refusal("noise_multiplier", "below 2**52 steps", self.noise_multiplier)

    @property
    def hiding(self) -> int:
        """How many shares an adversary does not know, at least."""
        return self.least - self.colluders

    @property
    def share_variance(self) -> Fraction:
        """Of one client's share, in squared steps: exactly what is drawn."""
        rounding = self.rounding
        steps = Fraction(rounding.clip_norm) / Fraction(rounding.spacing)
        return (Fraction(self.noise_multiplier) * steps) ** 2 / self.hiding

    @property
    def variance(self) -> float:
        """V: of the noise that is unknown at least, in squared steps; rounded down."""
        return float(self.share_variance * self.hiding) * (1.0 - _ROUNDING)

    def share(self) -> npt.NDArray[np.object_]:
        """One client's noise: exact, from the operating system's entropy."""
        d = self.rounding.coordinates
        if self.law == "discrete_gaussian":
            return sample_array(self.share_variance, (d,))
        values = np.empty(d, dtype=object)
        values[:] = [sample_skellam(self.share_variance) for _ in range(d)]
        return values

    def encode(self, rows: npt.ArrayLike, rng: np.random.Generator) -> npt.NDArray[np.object_]:
        """What a client sends into the secure sum: its rounded rows and its share of noise.

        Args:
          rows: (n, d), each clipped on its own: one row where a client is the unit.
          rng: For the coins of rounding, on which privacy does not rest.
        """
        rounded = self.rounding(rows, rng)
        if self.unit == "client" and rounded.shape[0] != 1:
            raise ValueError(f"`rows` must be one row of the client, got {rounded.shape[0]}.")
        total = rounded.sum(axis=0).astype(object)
        return np.asarray(total + self.share(), dtype=object)

    def decode(self, total: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """A secure sum's total in the vectors' own unit."""
        steps = validate.reals("total", total)
        if not np.isfinite(steps).all() or not (steps == np.floor(steps)).all():
            raise validate.refusal("total", "whole numbers of steps", total)
        return steps * self.rounding.spacing

    @property
    def wrap_around(self) -> float:
        """An upper bound of the chance that any coordinate of the sum leaves [−2^(b−1), 2^(b−1)).

        Vectors move a coordinate by their norm at most; the noise of all n shares is beyond r with
        chance 2·exp(−r²/2V) (the discrete Gaussian is subgaussian: Canonne, Kamath, Steinke 2020),
        for Skellam by Chernoff's bound: E exp(tZ) = exp(V·(cosh t − 1)). A wrapped sum is wrong,
        not less private.
        """
        vectors = self.clients if self.vectors is None else self.vectors
        room = (2.0 ** (self.bits - 1) - 1.0) * (1.0 - _ROUNDING) - vectors * self.rounding.norm
        if room <= 0.0:
            return 1.0
        variance = float(self.share_variance * self.clients)
        if self.law == "discrete_gaussian":
            exponent = 0.5 * room * (room / variance)
        else:
            # At tanh-free t = asinh(r/V): r·t − V·(cosh t − 1), and cosh t − 1 = r²/V²/(√(…) + 1).
            scaled = room / variance
            more = scaled * scaled / (math.sqrt(1.0 + scaled * scaled) + 1.0)
            exponent = room * math.asinh(scaled) - variance * more
        chance = 2.0 * self.rounding.coordinates * math.exp(-exponent * (1.0 - 1e-9))
        return min(1.0, chance * (1.0 + _ROUNDING) + 5e-324)

    def _factor(self, relation: NeighboringRelation) -> float:
        """By how many of `rounding.norm` neighbours move the sum at most.

        Rounding towards zero moves a coordinate by less than a step, and two of them apart by less
        than one; roundings by coins less than two; what is whole already not at all.
        """
        validate.relation("relation", relation)
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE and self.unit == "client":
            raise refuse(
                "the number of clients is a public constant: an absent client contributes zero, "
                "which is REPLACE_SPECIAL"
            )
        if relation is not _REPLACE:
            return 1.0
        if self.diameter is None:
            return 2.0
        rounding = self.rounding
        apart = self.diameter / rounding.spacing * (1.0 + ROUNDING)
        apart += math.sqrt(rounding.coordinates) * _MOVED[rounding.how]
        return min(2.0, apart / rounding.norm * (1.0 + _ROUNDING))

    def concentrated(self, relation: NeighboringRelation, releases: int = 1) -> dpa.DpEvent:
        """The zero-concentrated event that dominates `releases` of these sums but for τ."""
        factor = self._factor(relation)
        if self.law == "skellam":
            rounding = self.rounding
            rho, xi = concentration(
                self.variance, factor * rounding.norm, factor * rounding.taxicab
            )
        else:
            shift = factor * self.rounding.norm
            rho, xi = 0.5 * shift * shift / self.variance * (1.0 + _ROUNDING), 0.0
        return repeated(dpa.ZCDpEvent(rho, xi), validate.count("releases", releases))

    def gaussian(self, relation: NeighboringRelation, releases: int = 1) -> dpa.DpEvent:
        """The event of N(0, V), in which an accountant of this relation finds the right shift."""
        counted = self._factor(relation) / (2.0 if relation is _REPLACE else 1.0)
        shift = counted * self.rounding.norm
        multiplier = math.sqrt(self.variance) / shift * (1.0 - _ROUNDING)
        return repeated(dpa.GaussianDpEvent(multiplier), validate.count("releases", releases))

    def epsilon_bounds(
        self, delta: float, relation: NeighboringRelation, *, releases: int = 1
    ) -> Bounds:
        """A certified interval for ε(δ) of so many sums, each with fresh noise.

        Raises:
          UnsupportedEventError: The relation adds or removes clients.
        """
        upper = self._upper(delta, relation, releases).epsilon
        return Bounds(min(upper, self._lower(delta, relation, releases, upper)), upper)

    def _log_ratio(self, coordinates: int) -> float:
        """τ of so many coordinates in all, from above."""
        if self.law == "skellam":
            return 0.0
        std = math.sqrt(float(self.share_variance)) * (1.0 - _ROUNDING)
        return log_ratio([std] * self.hiding) * coordinates * (1.0 + _ROUNDING)

    def _distance(self, coordinates: int) -> float:
        """Of so many coordinates in all from rounded Gaussians; 1 where nothing is proved."""
        std = math.sqrt(float(self.share_variance)) * (1.0 - _ROUNDING)
        if self.law == "skellam" or std < 1.0:
            return 1.0
        return sum_distance(std, self.hiding, coordinates)

    def _upper(self, delta: float, relation: NeighboringRelation, releases: int) -> "_Upper":
        """The smallest of what is proved."""
        delta = validate.open_unit("delta", delta)
        releases = validate.count("releases", releases)
        return min(self._uppers(delta, relation, releases), key=lambda found: found.epsilon)

    def _uppers(
        self, delta: float, relation: NeighboringRelation, releases: int
    ) -> Iterator["_Upper"]:
        draws = self.rounding.coordinates * releases
        event, tau = self.concentrated(relation, releases), self._log_ratio(draws)
        near = f"its epsilon, of a law within a factor e^{tau:.2g} at every point"
        yield _Upper(_within(RenyiAccountant(relation), event, delta, tau), event, near)
        if self.law == "skellam":
            divergences = self._divergences(relation, releases)
            epsilon = min(epsilon_from_divergence(a, d, delta) for a, d in divergences.items())
            yield _Upper(
                max(0.0, epsilon * (1.0 + 1e-9)), event, "Rényi divergences of whole orders"
            )
            return
        std, norm = math.sqrt(self.variance), self.rounding.norm
        single = self.rounding.coordinates == 1 and self.diameter is None
        if single and std <= _POINT_BY_POINT and norm >= 1.0:
            event = repeated(DiscreteGaussianDpEvent(std, math.floor(norm)), releases)
            yield _Upper(_within(FourierAccountant(relation), event, delta, tau), event, near)
        distance = self._distance(draws)
        if distance < SLACK_SHARE * delta:
            event = self.gaussian(relation, releases)
            accountant = FourierAccountant(relation).compose(event)
            with contextlib.suppress(dpa.UnsupportedEventError):  # too coarse at this ε
                epsilon = bounds_with_slack(accountant, delta, distance).upper
                words = f"its epsilon, of a law within {distance:.2g} in total variation"
                yield _Upper(epsilon, event, words)

    def _divergences(self, relation: NeighboringRelation, releases: int) -> dict[int, float]:
        """Of Skellam noise, at whole orders, from above."""
        factor, norms = self._factor(relation), (self.rounding.norm, self.rounding.taxicab)
        shift, taxicab = (factor * norm for norm in norms)
        return {
            order: releases * divergence(order, self.variance, shift, taxicab) for order in _ORDERS
        }

    def _lower(
        self, delta: float, relation: NeighboringRelation, releases: int, upper: float
    ) -> float:
        """ε from below, by one coordinate."""
        steps = self.rounding.attained
        if steps < 1 or self.diameter is not None:
            return 0.0
        if self.law == "skellam":
            moved = steps * (2 if relation is _REPLACE else 1)
            return _half_line(self.variance * (1.0 + 2.0 * _ROUNDING), moved, delta)
        std = math.sqrt(self.variance) * (1.0 + _ROUNDING)
        accountant = FourierAccountant(relation)
        if std <= _POINT_BY_POINT:
            tau = self._log_ratio(releases)
            outer = delta * math.exp(tau) * (1.0 + _ROUNDING)
            if not outer < 1.0:
                return 0.0
            accountant.compose(DiscreteGaussianDpEvent(std, steps), releases)
            return max(0.0, accountant.get_epsilon_bounds(outer).lower - 2.0 * tau)
        slack = delta_slack(upper, self._distance(releases)) if upper < math.inf else 1.0
        if not delta + slack < 1.0:
            return 0.0
        accountant.compose(dpa.GaussianDpEvent(std / steps * (1.0 + _ROUNDING)), releases)
        return accountant.get_epsilon_bounds((delta + slack) * (1.0 + _ROUNDING)).lower

    def certify(
        self, deltas: Sequence[float], relation: NeighboringRelation, *, releases: int = 1
    ) -> Certificate:
        """What so many sums cost, with rounding, modulus and the chance of wrapping around.

        Its event is that behind the upper end at the first δ.
        """
        wanted = deltas_of(deltas)
        points = [
            (delta, *self.epsilon_bounds(delta, relation, releases=releases)) for delta in wanted
        ]
        behind = self._upper(wanted[0], relation, releases)
        rounding = self.rounding
        return Certificate(
            event=behind.event,
            neighboring_relation=relation,
            points=tuple(points),
            method=f"distributed noise: {behind.words}",
            assumptions=(
                f"The unit is one {self.unit}'s vector, clipped to {rounding.clip_norm:g} and "
                f"rounded ({rounding.how}) to steps of {rounding.spacing:g}: at most "
                f"{rounding.norm:.6g} steps long.",
                f"{self.least} of {self.clients} clients or more are in each sum and draw their "
                f"shares ({self.law}) as stated; at most {self.colluders} of them tell theirs.",
                "The adversary sees sums from secure aggregation, modulo "
                f"2^{self.bits}, and nothing of the summands.",
                f"A sum wraps around, and is wrong, with probability {self.wrap_around:.2g} at "
                "most; privacy does not depend on it.",
                "Who drops out does not depend on the data.",
            ),
            unit=self.unit,
        )


class _Upper(NamedTuple):
    """ε from above, the event that dominates, and how the one follows from the other."""

    epsilon: float
    event: dpa.DpEvent
    words: str


def _within(accountant: IntervalAccountant, event: dpa.DpEvent, delta: float, tau: float) -> float:
    """ε of laws within a factor e^{±τ} of the event's, from above."""
    if tau >= 0.5:
        return math.inf
    inner = delta * math.exp(-tau) * (1.0 - _ROUNDING)
    upper = accountant.compose(event).get_epsilon_bounds(inner).upper
    return float((upper + 2.0 * tau) * (1.0 + _ROUNDING))


def _half_line(variance: float, moved: int, delta: float) -> float:
    """ε that Skellam noise has at least on integers that are `moved` apart.

    P(S) ≤ e^ε·Q(S) + δ for every S; here S = {x ≥ t}, with the noise moved by P and not by Q.
    """
    reach = math.ceil(40.0 * math.sqrt(variance) + 40.0) + moved
    if reach > 10**6:
        return 0.0
    x = np.arange(-reach, reach + 1)
    mass = special.ive(np.abs(x).astype(float), variance)
    tail = np.cumsum(mass[::-1])[::-1]
    first, second = tail[:-moved], tail[moved:]
    good = second > 1e-250
    gain = first[good] * (1.0 - _BESSEL) - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(gain > 0.0, gain / (second[good] * (1.0 + _BESSEL)), 0.0)
    return max(0.0, math.log(max(float(np.max(ratios, initial=0.0)), 1e-300)))
