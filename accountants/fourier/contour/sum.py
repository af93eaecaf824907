r"""The contour engine: δ(ε) as an integral along a line in the complex plane, from both sides.

Let L be the privacy loss of the whole composition in one direction and M(z) = E_P[e^{zL}], K = log
M, which adds over the composed events. Since ∫ δ(ε)e^{zε} dε = M(z)/(z(z+1)) for Re z > 0,

    δ(ε) = (1/2π) ∫ M(z)·e^{−zε} / (z(z+1)) dt,    z = θ + it,  any θ > 0.

**Both sides.** The trapezoid rule in t with step 2π/W is, by Poisson summation, exactly
Σ_k e^{θkW}·δ(ε + kW) over all integers k. All terms are non-negative, so the sum is an upper bound.
For the lower bound the terms k ≠ 0 are subtracted: those with k < 0 are at most 1/(e^{θW} − 1), as
δ ≤ 1; those with k > 0 at most e^{K(θ′)−θ′ε}/(e^{(θ′−θ)W} − 1) for any θ′ > θ (Chernoff: δ(ε) ≤
e^{K(θ′)−θ′ε}).

**Error model.** With S the finite sum relative to e^{K(θ)−θε}, and Φ = Π φ_e^{n_e} the
characteristic function of the tilted composition, δ(ε) lies between e^{K−θε}·(S ± E) up to the
relative error of e^{K−θε}, where E adds up

1. what is cut off at t_max: (1/π)·ρ(t_max)^n/t_max with the decreasing bound ρ of
   `accountants.fourier.contour.decay`, since |z(z+1)| ≥ t²;
2. the error of Φ at each node, |Φ|·(Π(1 + e_e/|φ_e|)^{n_e} − 1), where e_e bounds quadrature,
   truncation in y and rounding of φ_e (`accountants.fourier.contour.quadrature`);
3. the rounding of the phase Im log Φ − tε and of the sum over nodes.

Where the composition has an atom at loss 0 (batches of fixed size, `symmetrised`), it adds nothing
to δ(ε) for ε ≥ 0: a number A, no more than the atom relative to M, is taken off Φ, which leaves a
positive measure's transform; with ρ ≥ a/M + |φ − a/M|, what is cut off is (1/π)·(ρ^n − A)/t_max.

The relative error of e^{K−θε} is that of log M, times n, and the rounding of K − θε.
The Chernoff values are upper bounds, by `Line.tilted_error`, inflated by 1%.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.arrays import ComplexArray, FloatArray
from accountants.bounds import Bounds
from accountants.fourier.contour.decay import DecayBound
from accountants.fourier.contour.lines import AnyLine, line_of
from accountants.fourier.contour.quadrature import ContourError, Direction, Line
from accountants.fourier.contour.saddle import Saddle, decay, upper_log_moments
from accountants.likelihood_ratio import UNIT_ROUNDOFF
from accountants.releases import SampledGaussian

_MAX_NODES = 20_000
# Tilts at which the Chernoff bound is tried, and contours (with a penalty), relative to the saddle.
_TILTS = np.array([0.4, 0.6, 0.8, 0.9, 1.0, 1.15, 1.4, 1.8])
# Where the line is tried to be cut off, from the least place on: coarsely, then within a step.
_COARSE_CUTS = np.geomspace(1.0, 100.0, 11)
_FINE_CUTS = _COARSE_CUTS[1] ** np.array([0.25, 0.5, 0.75])
_PENALTIES = (2.0, 1.5, 1.2, 1.1, 1.0)
# Cancellation in the sum brings the rounding, about this, up to the tolerance.
_ROUNDING_FLOOR = math.log(1e-14)
_CHERNOFF_ERROR = 0.01
_SUM_ROUNDING = 4e-15
# Of the tolerance, what log M may be off by, times the count, for `tilted` to be good enough.
_MOMENTS_SHARE = 1e-3
# Where a saddle is misplaced, less than this would do; a line takes no errors above e^{−this}.
_LEAST_EXPONENT = 3.0


@dataclass(frozen=True)
class Contour:
    """The line Re z = θ with everything on it that does not depend on ε or on the counts.

    Attributes:
      theta: The tilt.
      period: W.
      t: The nodes 0, 2π/W, … .
      log_phi: log φ_e(t), one row per distinct event.
      phi_error: Bounds of the absolute error of φ_e(t), one row per distinct event.
      log_moments: log M_e(θ), one per event.
      log_moment_errors: Bounds of their absolute error.
      log_tail: log ρ_e(t_max), one per event.
      chernoff: Pairs (θ′, an upper bound of log M_e(θ′) per event).
      log_atoms: Lower bounds of log(a_e/M_e(θ)), a_e the probability of loss 0; −inf if it is 0.
    """

    theta: float
    period: float
    t: FloatArray
    log_phi: ComplexArray
    phi_error: FloatArray
    log_moments: FloatArray
    log_moment_errors: FloatArray
    log_tail: FloatArray
    chernoff: Sequence[tuple[float, FloatArray]]
    log_atoms: FloatArray

    def at(self, counts: FloatArray, mu_squared: float) -> "ContourSum":
        """The contour of the composition with these counts and this much plain Gaussian."""
        t, theta = self.t, self.theta
        gaussian = mu_squared * (1j * t * (theta + 0.5) - 0.5 * t * t)
        log_phi = counts @ self.log_phi + gaussian
        modulus = np.exp(log_phi.real)
        atom = math.exp(_log_atom(counts, self.log_atoms, mu_squared))
        # |φ|·(1 + e/|φ|) to the n-th, less |φ|^n, without an overflow in between.
        growth = counts @ np.log1p(np.exp(-self.log_phi.real) * self.phi_error)
        moved = np.exp(log_phi.real + growth) * -np.expm1(-growth)
        z: ComplexArray = theta + 1j * t.astype(np.complex128)
        pole = z * (z + 1.0)
        weight = np.full(len(t), 2.0 / self.period)
        weight[0] *= 0.5
        share = weight / np.abs(pole)
        size = share * (modulus + atom)
        phase_size = counts @ np.abs(self.log_phi) + np.abs(gaussian)
        t_end = float(t[-1])
        log_tail = float(counts @ self.log_tail) - 0.5 * mu_squared * t_end * t_end
        # Roundings per factor, of the phases and of the sums over the events.
        per_phase = 16.0 + len(counts)
        tail = math.exp(log_tail * (1.0 - 1e-13)) * (1.0 + 1e-14)
        error = max(tail - atom, 0.0) / (math.pi * t_end)
        error += float((share * moved).sum())
        error += float((size * (per_phase * phase_size + len(t) + 60.0)).sum()) * UNIT_ROUNDOFF
        log_moment = float(counts @ self.log_moments) + 0.5 * mu_squared * theta * (theta + 1.0)
        relative_error = float(counts @ self.log_moment_errors)
        relative_error += per_phase * UNIT_ROUNDOFF * abs(log_moment)
        return ContourSum(
            theta=theta,
            period=self.period,
            t=t,
            terms=(np.exp(log_phi) - atom) * (weight / pole),
            z=z,
            error=1.001 * error,
            phase_error=8.0 * UNIT_ROUNDOFF * float((size * t).sum()),
            log_moment=log_moment,
            relative_error=relative_error,
            chernoff=[
                (
                    tilt,
                    (float(counts @ values) + 0.5 * mu_squared * tilt * (tilt + 1.0))
                    * (1.0 + 1e-14)
                    + _CHERNOFF_ERROR,
                )
                for tilt, values in self.chernoff
            ],
        )


@dataclass(frozen=True)
class ContourSum:
    """δ(ε) of one composition, as a sum over the nodes of a contour.

    Attributes:
      theta: The tilt.
      period: W.
      t: The nodes.
      terms: Φ(t)·(weight of the node)/(z(z+1)): rotated by e^{−itε} and added, they are S.
      z: θ + it.
      error: E of the module's error model but for what grows with ε.
      phase_error: What E grows by per unit of |ε|: the rounding of tε.
      log_moment: K(θ).
      relative_error: A bound of the relative error of e^{K(θ)}.
      chernoff: Pairs (θ′, an upper bound of K(θ′)), θ′ > θ.
    """

    theta: float
    period: float
    t: FloatArray
    terms: ComplexArray
    z: ComplexArray
    error: float
    phase_error: float
    log_moment: float
    relative_error: float
    chernoff: Sequence[tuple[float, float]]

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        """(log of the trapezoid sum, its derivative in ε); −inf where the sum is not positive."""
        rotated = self.terms * np.exp(-1j * self.t * epsilon)
        total = float(rotated.real.sum())
        if total <= 0.0:
            return -math.inf, -self.theta
        slope = -float((rotated * self.z).real.sum()) / total
        return self.log_moment - self.theta * epsilon + math.log(total), slope

    def root(self, delta: float, start: float) -> float:
        """About the ε ≥ 0 at which the sum is δ, by Newton's method kept in a bracket."""
        target = math.log(delta)
        low, high, epsilon = 0.0, math.inf, max(0.0, start)
        for _ in range(60):
            value, slope = self.value_and_slope(epsilon)
            if value > target:
                low = epsilon
            else:
                high = epsilon
            if epsilon == 0.0 and value <= target:
                return 0.0
            proposal = (
                epsilon - (value - target) / slope if slope < 0.0 < value - -math.inf else -1.0
            )
            if not low < proposal < high:
                proposal = (
                    0.5 * (low + high) if high < math.inf else 2.0 * epsilon + 1.0 / self.theta
                )
            # No closer than the sum's own rounding.
            if abs(proposal - epsilon) <= 1e-14 * epsilon or abs(value - target) <= _SUM_ROUNDING:
                return epsilon
            epsilon = proposal
        return epsilon

    def delta_bounds(self, epsilon: float) -> Bounds:
        """A certified interval for δ(ε) in this direction."""
        total = float((self.terms * np.exp(-1j * self.t * epsilon)).real.sum())
        error = self.error + self.phase_error * abs(epsilon)
        log_scale = self.log_moment - self.theta * epsilon
        slack = self.relative_error + 8.0 * UNIT_ROUNDOFF * (4.0 + self.theta * abs(epsilon))
        upper = _scaled(total + error, log_scale + slack)
        lower = _scaled(total - error, log_scale - slack) - self._alias(epsilon)
        lower, upper = lower * (1.0 - 1e-14), upper * (1.0 + 1e-14) + 5e-324
        return Bounds(min(1.0, max(0.0, lower)), min(1.0, upper))

    def _alias(self, epsilon: float) -> float:
        """An upper bound of the terms k ≠ 0 of the Poisson sum."""
        left = 1.0 / math.expm1(min(self.theta * self.period, 700.0))
        right = min(
            math.exp(
                min(
                    log_moment - tilt * epsilon - (tilt - self.theta) * self.period,
                    700.0,
                )
            )
            / -math.expm1(-(tilt - self.theta) * self.period)
            for tilt, log_moment in self.chernoff
        )
        return (left + right) * (1.0 + 1e-12)


def _scaled(value: float, log_scale: float) -> float:
    """`value`·e^`log_scale`, or 0 if that is negative; in two factors, for want of range."""
    factor = math.exp(0.5 * min(log_scale, 1400.0))
    return max(0.0, value * factor * factor)


def build(
    events: Sequence[SampledGaussian],
    counts: FloatArray,
    mu_squared: float,
    direction: Direction,
    saddle: Saddle,
    tolerance: float,
    max_work: int,
) -> Contour:
    """A contour through the saddle point whose errors are about `tolerance`, relative to δ.

    `max_work` limits the evaluations of the loss per event, nodes in y times nodes in t; a million
    take about 50 ms.

    Raises:
      ContourError: The characteristic function decays too slowly (few steps, or a heavy atom).
    """
    log_tolerance = math.log(tolerance)
    tilts = saddle.theta * _TILTS
    uppers = upper_log_moments(saddle.lines, counts, tilts)
    chernoff = list(zip(tilts.tolist(), uppers, strict=True))
    theta, period = _tilt_and_period(counts, mu_squared, saddle, chernoff, log_tolerance)
    decays = [decay(line, theta) for line in saddle.lines]
    # All errors are relative to e^{K(θ)−θε}; this is the logarithm of δ relative to it.
    moments = dict(chernoff)[theta]
    log_size = saddle.log_delta + theta * saddle.epsilon - float(counts @ moments)
    log_size -= 0.5 * mu_squared * theta * (theta + 1.0)
    log_atoms = np.array([_event_log_atom(line, theta) for line in saddle.lines])
    log_atom = _log_atom(counts, log_atoms, mu_squared)
    t_max = _cut_off(
        decays, counts, mu_squared, saddle.variance, log_size + log_tolerance - 2.0, log_atom
    )
    nodes = math.ceil(t_max * period / (2.0 * math.pi)) + 1
    if nodes > _MAX_NODES:
        raise ContourError(f"{nodes} nodes")
    t = (2.0 * math.pi / period) * np.arange(nodes, dtype=np.float64)

    exponent = 3.0 - log_tolerance - log_size + math.log(max(1.0, float(counts.max())))
    exponent += math.log(1.0 + 2.0 * len(events)) + math.log1p(theta)
    exponent = max(exponent, _LEAST_EXPONENT)
    rows, errors, log_moments, moment_errors = [], [], [], []
    for event in events:
        line = line_of(direction, event, theta, float(t[-1]), exponent, refine=True)
        if line.size * nodes > max_work:
            raise ContourError(f"{line.size} x {nodes} nodes")
        log_phi, error = line.characteristic(theta, t)
        moment, moment_error = line.tilted(theta)[1], line.tilted_error
        if counts.max() * moment_error > _MOMENTS_SHARE * tolerance:
            real_line = line_of(direction, event, theta, 0.0, exponent)
            moment, moment_error = real_line.log_moment(theta)
        rows.append(log_phi)
        errors.append(error)
        log_moments.append(moment)
        moment_errors.append(moment_error)
    return Contour(
        theta=theta,
        period=period,
        t=t,
        log_phi=np.array(rows),
        phi_error=np.array(errors),
        log_moments=np.array(log_moments),
        log_moment_errors=np.array(moment_errors),
        log_tail=np.array([float(bound.log(t[-1:])[0]) for bound in decays]),
        chernoff=[(tilt, values) for tilt, values in chernoff if tilt > theta],
        log_atoms=log_atoms,
    )


def _event_log_atom(line: AnyLine, theta: float) -> float:
    """A lower bound of log(a/M(θ))."""
    if isinstance(line, Line):
        return -math.inf
    value, relative_error = line.atom
    return math.log(value) - relative_error - line.tilted(theta)[1] - line.tilted_error - 1e-14


def _log_atom(counts: FloatArray, log_atoms: FloatArray, mu_squared: float) -> float:
    """A lower bound of the composition's; a plain Gaussian leaves no atom."""
    if mu_squared > 0.0:
        return -math.inf
    total = float(counts @ log_atoms)
    return total + 1e-13 * total - 1e-14


def _cut_off(
    decays: Sequence[DecayBound],
    counts: FloatArray,
    mu_squared: float,
    variance: float,
    log_target: float,
    log_atom: float,
) -> float:
    """About the least t at which what is cut off is below e^{log_target}."""
    # In units of 1/sd: some 8 for a nearly Gaussian loss, more if a few large losses make the sd.
    unit = 1.0 / math.sqrt(variance)

    def is_enough(t: FloatArray) -> NDArray[np.bool_]:
        log_tail = counts @ np.array([bound.log(t) for bound in decays])
        log_tail = log_tail - 0.5 * mu_squared * t * t
        # Less the atom, which is taken out.
        log_tail += np.log(np.maximum(-np.expm1(log_atom - log_tail), 1e-17))
        result: NDArray[np.bool_] = log_tail - np.log(math.pi * t) < log_target
        return result

    for low in (4.0, 400.0, 4e4):
        coarse = unit * low * _COARSE_CUTS
        found = np.flatnonzero(is_enough(coarse))
        if not len(found):
            continue
        first = int(found[0])
        if first == 0:
            return float(coarse[0])
        fine = coarse[first - 1] * _FINE_CUTS
        enough = np.flatnonzero(is_enough(fine))
        return float(fine[enough[0]]) if len(enough) else float(coarse[first])
    raise ContourError("the characteristic function decays too slowly")


def _tilt_and_period(
    counts: FloatArray,
    mu_squared: float,
    saddle: Saddle,
    chernoff: Sequence[tuple[float, FloatArray]],
    log_tolerance: float,
) -> tuple[float, float]:
    """The θ with the smallest period W, such that both alias sums are below tolerance·δ.

    Usually θ is the saddle's. Where K explodes beyond the saddle (a rare large loss under small q),
    a smaller θ leaves the Chernoff bound room, for a little cancellation in the sum.
    """
    log_floor = saddle.log_delta + log_tolerance - 1.0
    excesses = []
    for tilt, values in chernoff:
        total = float(counts @ values) + 0.5 * mu_squared * tilt * (tilt + 1.0)
        excesses.append((tilt, total - tilt * saddle.epsilon - saddle.log_delta))
    chosen, cost = (saddle.theta, math.inf), math.inf
    for (theta, amplitude), penalty in zip(excesses, _PENALTIES, strict=False):
        right = min(
            (excess - log_tolerance + 1.0) / (tilt - theta)
            for tilt, excess in excesses
            if tilt > theta
        )
        period = max(-log_floor / theta, right)
        lost = max(0.0, amplitude + _ROUNDING_FLOOR - log_tolerance)
        expense = math.log(period * penalty) + lost
        if expense < cost:
            chosen, cost = (theta, period), expense
    return chosen
