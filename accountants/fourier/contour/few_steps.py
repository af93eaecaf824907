"""Where to split a law of few steps, and the ε that comes out: the driver of `band`.

Nothing in the choices needs a proof: `BandSum` bounds whatever it is given, and a bad choice only
makes a wide interval. A first sum, coarse, around the ε of one step at δ/n says where ε is; the
next one has the tolerance.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr

from accountants.arrays import FloatArray
from accountants.bounds import Bounds
from accountants.fourier import invert
from accountants.fourier.contour import one_step
from accountants.fourier.contour.band import BandSum, Top
from accountants.fourier.contour.quadrature import ADD, ContourError, Line, log_sum
from accountants.fourier.contour.split import Guide, Split
from accountants.likelihood_ratio import ratio
from accountants.releases import PoissonGaussian

_COARSE, _FINEST = 1e-3, 1e-11
_LITTLE, _FEW = 0.1, 300.0
# How far from where a sum was made its root is looked for, as a factor.
_REACH = 3.0
_LEAST_DELTA, _LARGEST_EPSILON = 1e-290, 300.0
_PASSES = 5
# Of what is asked, the share of each source of errors.
_SHARE = 0.1
# Widths of the band's ends, relative to how far y must go for the loss to change by itself.
_END_WIDTHS = (0.07, 0.035)
_START_WIDTHS = (0.12, 0.07, 0.2)
_START_LOSSES = np.geomspace(0.8, 0.03, 14)
_FLANK = 6.0
_LEAST_EXPONENT = 20.0
_TILTS = np.geomspace(0.4, 40.0, 17)
_BULK_TILTS = np.geomspace(4.0, 500.0, 14)
_LEAK_TILTS = np.geomspace(3.0, 300.0, 8)
_CHERNOFF_TILTS = np.geomspace(0.5, 1e3, 32)
# How much smaller than the aim the density at the cut is to be, for rectangles to end there.
_QUIET = 22.0
# The logarithm of the cancellation in the sum that doubles allow for.
_MOST_CANCELLED = 31.0


def suits(step: PoissonGaussian, count: float) -> bool:
    """Whether bands are likely to be less work than lines, and no number is extreme.

    The less noise there is, the longer single steps decide.
    """
    sigma = step.noise_multiplier
    is_few = count * min(sigma, 1.0) ** 4 <= _FEW
    return is_few and 0.05 < sigma < 100.0 and step.sampling_rate > 1e-12 and count <= 1e5


def epsilon_bounds(step: PoissonGaussian, count: int, delta: float, tolerance: float) -> Bounds:
    """A certified interval for ε(δ) of `count` steps in the remove direction.

    Raises:
      ContourError: There is no good split, or ε is 0.
    """
    epsilon = one_step.epsilon_bounds(step, delta / count).upper
    # The others' loss deviates by √n·q·(e^{1/σ²} − 1)^{1/2} or so; if that is little, ε is known.
    rate, variance = step.sampling_rate, math.expm1(min(step.noise_multiplier**-2, 100.0))
    is_near = math.sqrt(count * variance) * rate < _LITTLE * epsilon
    asked = max(_FINEST, tolerance) if is_near else _COARSE
    best = Bounds(0.0, math.inf)
    for _ in range(_PASSES):
        if not 0.0 < epsilon < _LARGEST_EPSILON or delta < _LEAST_DELTA:
            raise ContourError(f"no band at epsilon {epsilon}, delta {delta}")
        total = build(step, count, epsilon, delta, asked)
        last, epsilon = epsilon, _root(total, delta, epsilon)
        slope = -total.value_and_slope(epsilon)[1] / delta
        try:
            found = invert.epsilon_bounds(
                total.delta_bounds, delta, epsilon, max(slope, 1e-3 / epsilon)
            )
        except invert.InversionError:
            found = Bounds(0.0, math.inf)
        best = best.intersect(found)
        if best.upper < math.inf and best.gap <= tolerance * best.upper:
            return best
        near = abs(epsilon - last) < 0.3 * epsilon
        fine = max(_FINEST, 0.5 * tolerance * slope * epsilon)
        if asked <= fine and near:
            asked = max(_FINEST, 0.1 * asked)
        elif near or best.gap < 0.1 * best.upper:
            asked = fine
    return best


def delta_bounds(step: PoissonGaussian, count: int, epsilon: float, tolerance: float) -> Bounds:
    """A certified interval for δ(ε) of `count` steps in the remove direction.

    Raises:
      ContourError: There is no good split, or ε is 0, or δ is far below 1e-300.
    """
    delta = count * one_step.delta_bounds(step, epsilon).upper
    best, asked = Bounds(0.0, 1.0), 0.5 * tolerance
    for _ in range(_PASSES):
        if not 0.0 < epsilon < _LARGEST_EPSILON or delta < _LEAST_DELTA:
            raise ContourError(f"no band at epsilon {epsilon}, delta {delta}")
        best = best.intersect(build(step, count, epsilon, delta, asked).delta_bounds(epsilon))
        if best.gap <= tolerance * best.upper:
            break
        # The errors are relative to `delta`, of which the first guess may be wrong.
        if best.lower > 0.0:
            asked = asked if best.lower < 0.5 * delta else 0.1 * asked
            delta = best.lower
        else:
            delta *= 0.01
    return best


def _root(total: BandSum, delta: float, start: float) -> float:
    """About where the sum is δ, by Newton's method on log δ, not far from where it was made."""
    low, high, epsilon = start / _REACH, start * _REACH, start
    for _ in range(60):
        value, slope = total.value_and_slope(epsilon)
        if value > delta:
            low = epsilon
        else:
            high = epsilon
        size = max(value, 1e-3 * delta)
        proposal = epsilon - math.log(size / delta) * size / slope if slope < 0.0 else -1.0
        if abs(proposal - epsilon) <= 1e-13 * epsilon or high - low <= 1e-13 * high:
            break
        epsilon = proposal if low < proposal < high else math.sqrt(low * high)
    return epsilon


def build(step: PoissonGaussian, count: int, epsilon: float, delta: float, asked: float) -> BandSum:
    """A sum near `epsilon`, where δ(ε) is about `delta`, with about the relative error `asked`.

    Raises:
      ContourError: There is no good split.
    """
    aim = math.log(_SHARE * asked * delta)
    tilts = _CHERNOFF_TILTS / epsilon
    others = _Others(step, count, epsilon)
    split, tilt, exponent = _end(step, count, epsilon, aim, others)
    guide = _start(split, epsilon, aim, exponent)
    scale = count * guide.tilted(tilt)[2] - tilt * epsilon
    band = float(guide.log_moments(np.zeros(1), band=True)[0]) + math.log(count)
    period = max(0.0, band - aim) / tilt + 1.0 / tilt
    moments = count * guide.log_moments(tilts) - tilts * epsilon
    beyond = tilts > 1.05 * tilt
    right = np.maximum(moments[beyond] - aim, 0.0) + 1.0
    period = max(period, float(np.min(right / (tilts[beyond] - tilt))))
    t = np.geomspace(3.0, 3e4, 65) / epsilon
    first, last = 0, t.size
    while first < last:
        middle = (first + last) // 2
        log_tail = float(guide.log_decay(tilt, t[middle : middle + 1])[0])
        log_tail += math.log(count / (math.pi * t[middle]))
        first, last = (first, middle) if log_tail <= aim - scale else (middle + 1, last)
    if first == t.size:
        raise ContourError("the band's characteristic function decays too slowly")
    return BandSum(
        guide,
        tilt=tilt,
        period=period,
        t_max=float(t[first]),
        exponent=exponent,
        tilts=tilts,
        top=others.top(guide.split),
    )


def _place(step: PoissonGaussian, loss: float) -> float:
    """The y of a positive loss."""
    sigma = step.noise_multiplier
    exponent = (
        math.log1p(math.expm1(loss) / step.sampling_rate)
        if loss < 600.0
        else loss - math.log(step.sampling_rate)
    )
    return sigma * exponent + 0.5 / sigma


def _slope(step: PoissonGaussian, y: FloatArray) -> FloatArray:
    """dL/dy."""
    at = ratio(step.sampling_rate, step.noise_multiplier, y)
    result: FloatArray = at.posterior / step.noise_multiplier
    return result


def _end(
    step: PoissonGaussian, count: int, epsilon: float, aim: float, others: "_Others"
) -> tuple[Split, float, float]:
    """The split's upper end, the tilt, and the exponent: those with the least work."""
    place = _place(step, epsilon)
    scale = min(epsilon / float(_slope(step, np.array([place]))[0]), 2.0)
    tilts = _TILTS / epsilon
    log_band = math.log(count) + _log_tail(step, _place(step, 0.15 * epsilon))
    best: tuple[float, Split, float, float] | None = None
    for width in _END_WIDTHS:
        tau = width * scale
        split = Split(
            step=step,
            count=count,
            start=0.0,
            start_width=1.0,
            end=place,
            end_width=tau,
            cut=math.inf,
        )
        end = others.end(split, epsilon, aim)
        y = np.concatenate(
            (np.arange(-8.0, place, 0.2), np.arange(place, end + 14.0 * tau, 0.5 * tau))
        )
        log_w = ratio(step.sampling_rate, step.noise_multiplier, y).log_w
        base = log_ndtr((end - y) / tau) - 0.5 * y * y - 0.92
        densities = np.multiply.outer(tilts + 1.0, log_w) + base
        cuts = np.argmin(np.where(y > end, densities, np.inf), axis=1)
        within = np.arange(y.size) <= cuts[:, None]
        moments = log_sum(np.where(within, densities + np.log(np.gradient(y)), -np.inf))
        scales = count * moments - tilts * epsilon
        needed = np.maximum(scales - aim + 2.0 * math.log(count), _LEAST_EXPONENT) + 3.0
        quiet = densities[np.arange(tilts.size), cuts] - moments + needed + _QUIET
        for index in np.flatnonzero((quiet <= 0.0) & (scales - aim < _MOST_CANCELLED)):
            beyond = tilts[index + 1 :] - tilts[index]
            right = np.min((scales[index + 1 :] - aim) / beyond, initial=math.inf)
            period = max((log_band - aim) / tilts[index], float(right))
            work = period * float(log_w[cuts[index]])
            if best is None or work < best[0]:
                chosen = replace(split, end=end, cut=float(y[cuts[index]]))
                best = work, chosen, float(tilts[index]), float(needed[index])
    if best is None:
        raise ContourError("no end for the band")
    return best[1:]


def _log_tail(step: PoissonGaussian, y: float) -> float:
    """About log P(y′ > y)."""
    q, mean = step.sampling_rate, 1.0 / step.noise_multiplier
    return float(np.logaddexp(log_ndtr(-y), math.log(q) + log_ndtr(mean - y)))


class _Others:
    """Bounds of log E_P[e^{−λL}] = log E_Q[w^{1−λ}] of one step, for the leak at the top."""

    def __init__(self, step: PoissonGaussian, count: int, epsilon: float) -> None:
        self.powers = _LEAK_TILTS / epsilon
        # M of the add direction at θ = λ − 1.
        line = Line(*_parameters(step), ADD, float(self.powers[-1]), 0.0, 30.0 + math.log(count))
        logs = [line.tilted(power)[1] + line.tilted_error for power in self.powers.tolist()]
        self.log_moments = np.array(logs)

    def top(self, split: Split) -> Top:
        return Top(split, self.powers, self.log_moments)

    def end(self, split: Split, epsilon: float, aim: float) -> float:
        """The least y₁ at which the top's leak is below the aim."""
        low = _place(split.step, epsilon)
        high = low + 60.0 * split.end_width
        for _ in range(7):
            end = 0.5 * (low + high)
            if self.top(replace(split, end=end)).leak(epsilon) <= math.exp(aim):
                high = end
            else:
                low = end
        return high


def _parameters(step: PoissonGaussian) -> tuple[float, float]:
    return step.sampling_rate, step.noise_multiplier


def _start(split: Split, epsilon: float, aim: float, exponent: float) -> Guide:
    """The split's lower end: the smoothest in the loss whose bulk stays below ε."""
    step = split.step
    places = np.array([_place(step, share * epsilon) for share in _START_LOSSES.tolist()])
    scales = np.minimum(_START_LOSSES * epsilon / _slope(step, places), 2.0)
    tilts = _BULK_TILTS / epsilon
    factor = tilts * np.log(tilts) - (1.0 + tilts) * np.log1p(tilts) - tilts * epsilon
    best: tuple[float, Split] | None = None
    for width in _START_WIDTHS:
        for place, tau in zip(places.tolist(), (width * scales).tolist(), strict=True):
            # The transform is as wide as the loss is smooth, far down the band's lower flank.
            smooth = tau * float(_slope(step, np.array([place - _FLANK * tau]))[0])
            if best is not None and smooth <= best[0]:
                break
            y = np.concatenate(
                (np.arange(-8.0, place - 4.0 * tau, 0.5), place + tau * np.arange(-4.0, 9.1, 0.5))
            )
            log_w = ratio(step.sampling_rate, step.noise_multiplier, y).log_w
            base = np.log(np.gradient(y)) - 0.5 * y * y - 0.92 + log_ndtr((place - y) / tau)
            moments = split.count * log_sum(np.multiply.outer(tilts + 1.0, log_w) + base)
            if float(np.min(moments + factor)) <= aim:
                best = smooth, replace(split, start=place, start_width=tau)
                break
    if best is None:
        raise ContourError("no start for the band")
    return Guide(best[1], exponent)
