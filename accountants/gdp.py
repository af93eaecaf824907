r"""A composition as one number: the least μ for which it is μ-Gaussian DP.

M is μ-GDP if its trade-off curve f lies nowhere below that of N(0, 1) against N(μ, 1), G_μ(α) =
Φ(Φ⁻¹(1−α) − μ) (Dong, Roth, Su 2022, Definition 2.6). With a slack s it may lie that far below:
f ≥ G_μ − s, so that at no false positive rate an attack's true positive rate exceeds that of the
Gaussian by more than s. By duality (their Proposition 2.12), f ≥ G_μ − s everywhere if and only if

    δ(ε) ≤ δ_μ(ε) + s    for all ε ≥ 0,    δ_μ the profile of the Gaussian.

**Without slack, sampling is no help.** A sampled Gaussian of noise multiplier σ, whatever the rate,
is 1/σ-GDP, since mixing laws only raises a trade-off curve, and is μ-GDP for no smaller μ: with
probability q the record is in, and far out in the tail a constant factor q weighs less than any
shift, q·Φ(−t + 1/σ) > Φ(−t + μ) for large t if μ < 1/σ. The same test on the sum of T outputs,
with q^T for q, gives √T/σ for compositions. What sampling does is to make that tail improbable:
with a slack far below any δ of interest, μ becomes what people mean by it.

**Upper end**, a proof for all ε, not only on a grid. In x = e^ε the profile is convex, so in a cell
between two nodes it lies below the chord of δ_upper there, a line 1 − β − xα. If G_μ(α) ≤ β + s,
then δ_μ(x) + s = sup_a 1 − G_μ(a) − xa + s ≥ 1 − β − xα: the cell is settled by

    μ ≥ Φ⁻¹(1 − α) − Φ⁻¹(β + s).

Beyond the last node it is enough that δ_upper ≤ s there (δ = 0 beyond a pure ε); or, if some
releases of the composition are together ν-GDP and the others have a pure ε of E in all, that
μ ≥ ν/(1 − E/ε): the losses of the others are at most E, so δ(ε) ≤ δ_ν(ε − E), and with
a = ε/μ − μ/2 a Gaussian's δ(ε) is φ(a)(R(a) − R(a + μ)), R the Mills ratio, which decreases in a
and increases in μ; (ε − E)/ν − ν/2 ≥ ε/μ − μ/2 then holds from that ε on.

**Lower end**: at any node, δ_lower(ε) ≤ δ_μ(ε) + s; and the tails of sampled Gaussians.

Gomez, Kulynych, Kaissis, Hayes, Balle, Honkela 2025 argue for reporting μ and measure how far the
Gaussian's curve then is from the true one.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from accountants import base, gaussian, releases, validate
from accountants import pure as pure_losses
from accountants.arrays import FloatArray
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.fourier.accountant import FourierAccountant
from accountants.fourier.grid.outlook import GridError
from accountants.fourier.profile import Profile, one_by_one

_FIRST_NODES, _MOST_NODES, _MOST_ROUNDS, _CUTS = 65, 2000, 14, 4
# The profile's error relative to δ(0), and how many δ are asked for one by one.
_PROFILE_TOLERANCE, _MOST_SINGLE = 1e-10, 12
# A relative gap below this is not worth more nodes.
_FINE = 1e-7
# Where the profile is followed to if no slack ends it earlier.
_SMALLEST_DELTA = 1e-13
# Relative slack for sums and roots of squares, and for chords of a few roundings each.
_ROUNDING, _CHORD_ROUNDING = 1e-14, 3e-15
# Of a pure ε that is known but for rounding.
_PURE_ROUNDING = 1e-13
# Of Φ⁻¹, relative to its value and to that of its argument's error; the tests measure it.
_QUANTILE_ROUNDING = 4e-15
# scipy's Φ⁻¹(e^y) is off by up to 5e-13, relative, for y below these.
_FAR_OUT, _FAR_ROUNDING = -900.0, 5e-12


def gdp_bounds(accountant: IntervalAccountant, slack: float = 0.0) -> Bounds:
    """The least μ for which what `accountant` has composed is μ-GDP, up to `slack`.

    Args:
      accountant: Any; the Fourier accountant proves both ends.
      slack: How far an attack's true positive rate may exceed the Gaussian's, in [0, 1).

    Returns:
      An interval for the least μ with f ≥ G_μ − slack. The upper end is infinite where no finite μ
      is proved.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> step = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    >>> accountant = FourierAccountant().compose(step, 1000)
    >>> round(gdp_bounds(accountant).upper, 4)  # √1000: the tail is that of no sampling
    31.6228
    >>> round(gdp_bounds(accountant, slack=1e-6).upper, 4)
    0.4608
    """
    base.checked(accountant)
    slack = validate.non_negative("slack", slack)
    if slack >= 1.0:
        raise validate.refusal("slack", "below 1", slack)
    if accountant.non_private:
        return Bounds(math.inf, math.inf)
    if accountant.get_delta_bounds(0.0).upper <= slack:
        return Bounds(0.0, 0.0)
    tails = _Tails.of(accountant.composition.items())
    if slack == 0.0 and 0.0 < tails.all_gdp < math.inf and tails.certain == tails.all_gdp:
        return _outwards(Bounds(tails.certain, tails.all_gdp))
    proved = Bounds(tails.certain if slack == 0.0 else 0.0, tails.all_gdp)
    return _outwards(proved).intersect(_from_profile(accountant, tails, slack))


def _outwards(bounds: Bounds) -> Bounds:
    """Widened by the rounding of sums of squares and of their roots."""
    return Bounds(bounds.lower * (1.0 - _ROUNDING), bounds.upper * (1.0 + _ROUNDING))


class _Tails(NamedTuple):
    """What is known of a composition's tail.

    Attributes:
      certain: It is μ-GDP for no smaller μ, without slack.
      gaussian: The releases that are not pure are together so-many-GDP.
      pure: The pure ε of the others, in all.
      all_gdp: All of it is so-many-GDP.
    """

    certain: float
    gaussian: float
    pure: float
    all_gdp: float

    @classmethod
    def of(cls, parts: Iterable[tuple[releases.Elementary, int]]) -> "_Tails":
        certain, squares, pure, of_pure = [], [], [], []
        for release, count in parts:
            epsilon = pure_losses.largest_loss(release) * (1.0 + _PURE_ROUNDING)
            if epsilon < math.inf:
                pure.append(count * epsilon)
                of_pure.append(count * _of_pure(epsilon) ** 2)
            else:
                below, above = gaussian_parameters(release)
                certain.append(count * below**2)
                squares.append(count * above**2)
        return cls(
            math.sqrt(math.fsum(certain)),
            math.sqrt(math.fsum(squares)),
            math.fsum(pure) * (1.0 + _ROUNDING),
            math.sqrt(math.fsum([*squares, *of_pure])),
        )


def gaussian_parameters(release: releases.Elementary) -> tuple[float, float]:
    """μ below which one release is not μ-GDP, for its tail alone, and μ for which it is.

    (0, ∞) where nothing is known. The second is the release without its sampling, see the module's
    docstring; a fixed-size batch shifts by 2C, and does so with probability q where all other
    records are at one end; of a mixture the largest sensitivity counts.

    >>> gaussian_parameters(releases.PoissonGaussian(0.1, 2.0))
    (0.5, 0.5)
    """
    match release:
        case releases.Gaussian(mu):
            return mu, mu
        case releases.PoissonGaussian(_, noise_multiplier):
            return 1.0 / noise_multiplier, 1.0 / noise_multiplier
        case releases.PoissonGaussianReplace(_, noise_multiplier):
            # With a record at −1 left out and that at +1 in: shifts of one only are certain.
            return 1.0 / noise_multiplier, 2.0 / noise_multiplier
        case releases.FixedSizeGaussian(_, noise_multiplier):
            return 2.0 / noise_multiplier, 2.0 / noise_multiplier
        case releases.GroupGaussian(records, _, noise_multiplier, False, 0) as group:
            return records / noise_multiplier, group.reach / noise_multiplier
        case releases.GroupGaussian(_, _, noise_multiplier) as group:
            return 0.0, group.reach / noise_multiplier
        case releases.AllocatedGaussian(_, noise_multiplier):
            return 1.0 / noise_multiplier, 1.0 / noise_multiplier
        case releases.ShuffledGaussian(_, noise_multiplier, _, replaced):
            # Who knows the batch sees one Gaussian.
            return 0.0, (2.0 if replaced else 1.0) / noise_multiplier
        case releases.MixtureOfGaussians(deviation, sensitivities, probabilities):
            shifts = zip(sensitivities, probabilities, strict=True)
            largest = max(shift for shift, probability in shifts if probability > 0.0)
            return largest / deviation, largest / deviation
    return 0.0, math.inf


def _of_pure(epsilon: float) -> float:
    """The μ for which every ε-DP release is μ-GDP: −2Φ⁻¹(1/(1 + e^ε)).

    Its curve lies above max(1 − e^ε·α, e^{−ε}(1 − α)), whose corner is at 1/(1 + e^ε).
    """
    log_alpha = -float(np.logaddexp(0.0, epsilon))
    far = 1.0 + (_FAR_ROUNDING if log_alpha < _FAR_OUT else 0.0)
    return -2.0 * float(special.ndtri_exp(log_alpha)) * far


def _profile(accountant: IntervalAccountant) -> Profile:
    """δ at many ε; one at a time where the engines share no work."""
    if isinstance(accountant, FourierAccountant):
        try:
            return accountant.profile(_PROFILE_TOLERANCE)
        except GridError:
            pass
    return one_by_one(accountant.get_delta_bounds)


def _from_profile(accountant: IntervalAccountant, tails: _Tails, slack: float) -> Bounds:
    """What the profile proves, on nodes that are added where they matter."""
    profile = _profile(accountant)
    nodes = np.linspace(0.0, _top(profile, tails, slack), _FIRST_NODES)
    curve = _Curve.at(profile, nodes, tails)
    if slack == tails.gaussian == 0.0:
        # Far out, a shared profile knows δ relative to δ(0) only; one δ at a time is known better.
        vague = nodes[curve.upper > 4.0 * curve.lower]
        chosen = vague[:: -(-vague.size // _MOST_SINGLE) or 1]
        curve = curve.with_nodes(one_by_one(accountant.get_delta_bounds), chosen, tails)
    lower, upper, idle = 0.0, math.inf, 0
    for _ in range(_MOST_ROUNDS):
        before = lower, upper
        cells = _Cells.of(curve, slack)
        upper = cells.upper(tails, slack)
        low, node = _lower(curve, slack)
        lower = min(max(lower, low), upper)
        if upper - lower <= _FINE * upper or curve.epsilons.size > _MOST_NODES:
            break
        idle = idle + 1 if before[1] - upper < 0.05 * (upper - lower) >= lower - before[0] else 0
        if idle == 2:  # The profile itself is known no better.
            break
        near = curve.epsilons[max(node - 1, 0) : node + 2]
        new = np.concatenate((cells.cut(lower, upper), _between(near[:-1], near[1:])))
        curve = curve.with_nodes(profile, np.setdiff1d(new, curve.epsilons), tails)
    return Bounds(lower, upper)


def _top(profile: Profile, tails: _Tails, slack: float) -> float:
    """Where the slack, or the end of all losses, or of what is computed, is reached."""
    if slack == tails.gaussian == 0.0:
        return tails.pure
    ladder = np.exp2(np.arange(-60.0, 60.0))
    upper = profile(ladder).upper
    enough = upper <= (slack or max(_SMALLEST_DELTA, 2.0 * float(upper[-1])))
    top = float(ladder[int(np.argmax(enough))]) if enough.any() else float(ladder[-1])
    return top if slack else max(top, 2.0 * tails.pure)


def _between(left: FloatArray, right: FloatArray) -> FloatArray:
    """The nodes that cut cells into `_CUTS`."""
    shares = np.arange(1, _CUTS) / _CUTS
    return (left[:, None] + (right - left)[:, None] * shares).ravel()


class _Curve(NamedTuple):
    """Bounds of δ at increasing nodes; the upper ones decrease, as δ does."""

    epsilons: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def at(cls, profile: Profile, epsilons: FloatArray, tails: _Tails) -> "_Curve":
        """The profile at these nodes; δ = 0 at and beyond the pure ε."""
        found = profile(epsilons)
        upper = np.minimum.accumulate(np.minimum(found.upper, 1.0))
        if tails.gaussian == 0.0:
            upper = np.where(epsilons >= tails.pure, 0.0, upper)
        return cls(epsilons, np.minimum(found.lower, upper), upper)

    def with_nodes(self, profile: Profile, epsilons: FloatArray, tails: _Tails) -> "_Curve":
        """More nodes, and at old ones what both say."""
        more = _Curve.at(profile, epsilons, tails)
        nodes = np.union1d(self.epsilons, epsilons)
        lower, upper = np.zeros(nodes.size), np.ones(nodes.size)
        for curve in (self, more):
            places = np.searchsorted(nodes, curve.epsilons)
            lower[places] = np.maximum(lower[places], curve.lower)
            upper[places] = np.minimum(upper[places], curve.upper)
        upper = np.minimum.accumulate(upper)
        return _Curve(nodes, np.minimum(lower, upper), upper)


class _Cells(NamedTuple):
    """The cells between the corners of the least convex bound in x, and the μ that each needs."""

    epsilons: FloatArray
    delta: FloatArray
    needed: FloatArray

    @classmethod
    def of(cls, curve: _Curve, slack: float) -> "_Cells":
        """The lower hull of the points (x, δ_upper): δ lies below every chord of two of them."""
        corners: list[int] = []
        log_slopes: list[float] = []  # of −dδ/dx, decreasing
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for i in range(curve.epsilons.size):
                while corners:
                    j = corners[-1]
                    width = curve.epsilons[i] - curve.epsilons[j]
                    fall = np.log(curve.upper[j] - curve.upper[i]) - curve.epsilons[j]
                    slope = float(fall - (width + np.log(-np.expm1(-width))))
                    if len(corners) == 1 or slope < log_slopes[-1]:
                        log_slopes.append(slope)
                        break
                    corners.pop()
                    log_slopes.pop()
                corners.append(i)
        epsilons, delta = curve.epsilons[corners], curve.upper[corners]
        return cls(epsilons, delta, _needed(epsilons, delta, slack))

    def upper(self, tails: _Tails, slack: float) -> float:
        """The least μ that settles all cells up to some corner, and what lies beyond it."""
        beyond = np.full(self.epsilons.size, math.inf)
        if tails.pure < math.inf and tails.gaussian < math.inf:
            past = self.epsilons > tails.pure
            beyond[past] = tails.gaussian / (1.0 - tails.pure / self.epsilons[past])
            if tails.pure == 0.0:
                beyond[0] = tails.gaussian
        beyond = np.where(self.delta <= slack, 0.0, beyond * (1.0 + _ROUNDING))
        before = np.concatenate(([0.0], np.maximum.accumulate(self.needed)))
        return float(np.min(np.maximum(before, beyond)))

    def cut(self, lower: float, upper: float) -> FloatArray:
        """Nodes in the cells that need more than the profile's lower bounds do."""
        wide = (self.needed > 0.5 * (lower + upper)) & (self.needed <= upper)
        return _between(self.epsilons[:-1][wide], self.epsilons[1:][wide])


def _needed(epsilons: FloatArray, delta: FloatArray, slack: float) -> FloatArray:
    """Per cell Φ⁻¹(1−α) − Φ⁻¹(β+s) of its chord in x, rounded up.

    With w the cell's width the chord has α = e^{−ε}(δ − δ′)/(e^w − 1) and 1 − β = δ + (δ −
    δ′)/(e^w − 1), raised by the roundings of both: xα ≤ 1 − β in the whole cell.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        slope = (delta[:-1] - delta[1:]) / np.expm1(np.diff(epsilons))
        height = (delta[:-1] + slope) * (1.0 + _CHORD_ROUNDING) - slack
        log_slope = np.log(slope)
        # Rounded down: a smaller α needs more.
        unsure = 2e-15 * (1.0 + np.abs(log_slope) + epsilons[:-1])
        log_alpha = np.minimum(log_slope - epsilons[:-1] - unsure, -1e-300)
        first = -special.ndtri_exp(log_alpha)
        second = special.ndtri(np.clip(height, 0.0, 1.0))
        error = _QUANTILE_ROUNDING * (2.0 + np.abs(first) + np.abs(second))
        error += np.where(log_alpha < _FAR_OUT, _FAR_ROUNDING * np.abs(first), 0.0)
        needed = first + second + error
    # A chord at slope 0 needs the Gaussian to reach δ at no α at all; one below the slack, nothing.
    needed = np.where(slope > 0.0, needed, math.inf)
    return np.where(height <= 0.0, 0.0, np.where(height >= 1.0, math.inf, needed))


def _lower(curve: _Curve, slack: float) -> tuple[float, int]:
    """The largest μ that is seen not to be enough, and the node that shows it."""
    target = curve.lower - slack
    # By bisection on δ_μ(ε) = Q(a) − e^ε·Q(b), not to the last digit: only to find the node.
    low, high = np.full(target.size, -12.0), np.full(target.size, 8.0)
    for _ in range(40):
        log_mu = 0.5 * (low + high)
        mu = np.exp(log_mu)
        a = curve.epsilons / mu - 0.5 * mu
        second = np.exp(np.minimum(curve.epsilons + special.log_ndtr(-a - mu), 0.0))
        short = special.ndtr(-a) - second < target
        low, high = np.where(short, log_mu, low), np.where(short, high, log_mu)
    node = int(np.argmax(np.where(target > 1e-12, low, -math.inf)))
    return _refuted(float(curve.epsilons[node]), float(target[node])), node


def _refuted(epsilon: float, delta: float) -> float:
    """A μ whose δ_μ(ε) is proved to be below `delta`, close to the largest such."""
    low, high = 1e-12, 2.0
    if not gaussian.delta(low, epsilon) < delta < 1.0:
        return 0.0
    while gaussian.delta(high, epsilon) < delta and high < 1e6:
        low, high = high, 2.0 * high
    root = low
    if gaussian.delta(high, epsilon) >= delta:
        root = float(
            optimize.brentq(lambda mu: gaussian.delta(mu, epsilon) - delta, low, high, rtol=1e-13)
        )
    step = 1e-13
    while step < 1.0:
        if gaussian.delta_bounds(root * (1.0 - step), epsilon).upper < delta:
            return root * (1.0 - step)
        step *= 4.0
    return 0.0
