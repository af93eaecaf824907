"""The symmetrised law of a batch of fixed size, for `oracle_line`.

P₀ = (1−q)N(0) + qN(c), w = P₀/N(0), c = 2/σ. The law of the loss has the P₀-mass of log w where
w > 1, N(0)'s mass of log w there with the sign turned, and the rest, (1−q)·erf(c/√8), at 0:

    M(z) = (1−q)·erf(c/√8) + ∫_{c/2}^∞ φ(y)·(w^{1+z} + w^{−z}) dy,

w = (1−q)(1 + e^u), u = cy + u₀.

Gauss–Legendre panels; the error is bounded on Bernstein ellipses (Trefethen, ATAP, Theorem 19.3).
The rim is covered by boxes, on each of which, where |Im u| ≤ v < π/2 and a ≤ Re u ≤ b,

    1 + e^a·cos v ≤ |1 + e^u| ≤ 1 + e^b   and   |arg(1 + e^u)| ≤ atan(e^b·sin v/(1 + e^b·cos v)).

Where floats are used for a bound, exponents are at most 1e11 (checked) and e^1 is left for their
rounding.
"""

import math

import numpy as np
from flint import arb, ctx
from oracle_exact import UnknownError
from oracle_rule import POINTS, rule

_RIM = 64
_RHO = (1.8, 2.5, 3.5, 5.0, 8.0, 12.0)  # a smooth panel may take the largest
_BITS = 160
_SMALL = 52.0
_CELLS = 100_000
_LARGEST = 1e11


def _log1pexp(u):
    small = u.real < 0
    return np.log1p(np.exp(np.where(small, u, -u))) + np.where(small, 0, u)


class FixedSizeLaw:
    """A factor of M(z), with the interface of `oracle_sampled.SampledLaw`."""

    kind = "symmetric"

    def __init__(self, rate, shift):
        self.rate, self.shift = rate, shift
        with ctx.workprec(300):
            self.log_keep = (1 - rate).log()
            self.offset = (rate / (1 - rate)).log() - shift * shift / 2
            self.atom = (1 - rate) * (shift / arb(8).sqrt()).erf()
        self.c, self.u0 = float(shift.mid()), float(self.offset.mid())
        self.keep, self.centre = float(self.log_keep.mid()), float(self.atom.mid())
        self.start = 0.5 * self.c
        self._moments = {}

    def largest_shift(self):
        """A ball with the distance of the means if the record is always there."""
        return self.shift

    def _log_w(self, y):
        return self.keep + _log1pexp(self.c * y + self.u0)

    def _reach(self, tilt, slope=0.0):
        """Beyond c/2 + this, exponents on a path fall by 13 a unit.

        There |w′/w| ≤ c·|1 + e^{−u}|⁻¹ and |1 + e^{−u}|² ≥ 1 − e^{−a}(a − .14) ≥ .68: where Re u is
        a > 0, Im u is at most 1.5 + a/2. Hence 1.4 for |w′/w|·|1 + iκ|/c, κ ≤ 1/2. On the real
        line it is 1. arg w rises along a path and is of no concern.
        """
        reach = (14.0 + (1.4 if slope else 1.0) * (1.0 + tilt) * self.c) / (1.0 - slope**2)
        largest = (1 + tilt) * (self.c * (self.start + reach) + abs(self.u0))
        if largest > _LARGEST:
            raise UnknownError("too wide")
        return reach

    # Floats, to choose by.

    def _path(self, tilt, slope):
        """Nodes of a straight path from c/2 with their weights; complex if it is tilted."""
        reach = self._reach(tilt, slope)
        number = math.ceil(reach / min(1.0, 1.0 / self.c))
        if number > 4000:
            raise UnknownError("too wide")
        x, w = np.polynomial.legendre.leggauss(12)
        half = 0.5 * reach / number
        s = (half * (2 * np.arange(number)[:, None] + 1 + x)).ravel()
        return self.start + s * (1 + 1j * slope), np.tile(half * w, number) * abs(1 + 1j * slope)

    def _log_modulus(self, tilt, t, slope):
        y, weight = self._path(tilt, slope)
        log_w = self._log_w(y)
        total = [np.array([math.log(max(self.centre, 1e-300))])]
        for power in (1 + tilt, -tilt):
            log = power * log_w.real - t * log_w.imag - (y * y).real / 2
            total.append(log + np.log(weight) - 0.5 * math.log(2 * math.pi))
        return float(np.logaddexp.reduce(np.concatenate(total)))

    def log_moment(self, tilt):
        """log M(tilt), about."""
        return self._log_modulus(tilt, 0.0, 0.0)

    def tail(self, tilt, t):
        """(log|M(tilt + it')| for all t' ≥ t is at most about this, the path's slope)."""
        return min((self._log_modulus(tilt, t, slope), slope) for slope in self._slopes())

    def _slopes(self):
        """Paths that pass below the zero of w at u = iπ: where Re u = 0, Im u is at most 1.5."""
        odds = -self.u0 - 0.5 * self.c**2
        steepest = min(0.5, 1.5 / odds) if odds > 0 else 0.5
        return steepest * np.array([0.0, 0.02, 0.1, 0.3, 0.6, 1.0])

    # Proved.

    def moment(self, tilt):
        """A ball with M(tilt)."""
        if tilt not in self._moments:
            weights, _, log_error = self.nodes(tilt, 0.0, -_SMALL, _BITS)
            with ctx.workprec(_BITS):
                ball = arb(0, arb(log_error).exp().upper())
                self._moments[tilt] = sum(weights, arb(0)) + ball
        return self._moments[tilt]

    def tail_bound(self, tilt, t):
        """A bound of |M(tilt + it')| for all t' ≥ t, as a ball: the modulus on a slanted path.

        w^{1+z} goes along y = c/2 + s(1+iκ), w^{−z} along its mirror image; on both the modulus has
        e^{−t·arg w} with arg w ≥ 0: where Re u ≤ 0, Im u ≤ 1.5 and sin(Im u) ≥ 0; beyond, Im u
        exceeds |arg(1+e^{−u})|, which is at most Im u/2 up to π and at most π/2 always.
        Each cell of half width r counts as 2r·e^{g}·(sinh(g′r)/(g′r))·e^{Cr²/2}, g and g′ the
        exponent and its slope in the middle and C a bound of |g″| on the cell. Rounding: 1e-12, and
        8 ulp of the largest product in an exponent.
        """
        _, slope = self.tail(tilt, t)
        if slope == 0.0:
            return self.moment(tilt)
        turn = 1 + 1j * slope
        reach = self._reach(tilt, slope)
        r = 0.5 * reach / _CELLS
        y = self.start + r * (2 * np.arange(_CELLS) + 1) * turn
        u = self.c * y + self.u0
        share = 1.0 / (1.0 + np.exp(-np.where(u.real < -700, -700 + 1j * u.imag, u)))
        # |d²/dy² log(1+e^u)| = c²/(4·|cosh(u/2)|²), |cosh(u/2)|² = sinh²(Re u/2) + cos²(Im u/2).
        move = self.c * r * abs(turn)
        near = np.maximum(np.abs(u.real) - move, 0.0)
        with np.errstate(over="ignore"):
            far = np.sinh(np.minimum(near / 2, 300.0)) ** 2
        most = np.maximum(np.cos(u.imag / 2) ** 2 - move, 0.0) + far
        if most.min() < 1e-3:
            raise UnknownError("the path comes near a zero")
        bend = self.c**2 * abs(turn) ** 2 / (4 * most)
        log_w = self._log_w(y)
        slopes = self.c * share * turn
        total = []
        for power in (1 + tilt, -tilt):
            log = power * log_w.real - t * log_w.imag - (y * y).real / 2
            first = power * slopes.real - t * slopes.imag - (y * turn).real
            second = (abs(power) + t) * bend + abs(turn) ** 2
            x = np.abs(first) * r
            wide = np.log1p(x * x / 6 * np.exp(np.minimum(x, 500.0)))  # sinh(x)/x ≤ 1 + x²eˣ/6
            total.append(log + wide + second * r * r / 2)
        exponents = np.concatenate(total)
        top = float(exponents.max())
        ends = math.exp(max(part[-1] for part in total) - top)
        whole = abs(turn) * (2 * r * float(np.sum(np.exp(exponents - top))) + ends)
        largest = (1 + tilt + t) * (self.c * abs(y[-1]) + abs(self.u0)) + abs(y[-1]) ** 2
        slack = 1e-12 + 2e-15 * largest
        with ctx.workprec(_BITS):
            return self.atom + (arb(top) + slack).exp() * whole / (2 * arb.pi()).sqrt()

    def _log_panel_error(self, start, end, tilt, t_max):
        """log of the rule's error on one panel, for both parts and all t ≤ t_max."""
        return min(self._log_error_on(rho, start, end, tilt, t_max) for rho in _RHO)

    def _log_error_on(self, rho, start, end, tilt, t_max):
        middle, half = 0.5 * (start + end), 0.5 * (end - start)
        high = half * (rho - 1 / rho) / 2
        if self.c * high > 1.5:
            return math.inf
        angle = np.linspace(0.0, math.pi, _RIM + 1)  # the lower half of the rim is the mirror image
        along = middle + half * (rho + 1 / rho) / 2 * np.cos(angle)
        low, far = along[1:], along[:-1]
        middles = 0.5 * (angle[1:] + angle[:-1])
        up = high * np.minimum(np.sin(middles) + math.pi / _RIM, 1.0)
        a, b, v = self.c * low + self.u0, self.c * far + self.u0, self.c * up
        top, bottom = self.keep + _log1pexp(b), self.keep + _log1pexp(a + np.log(np.cos(v)))
        # Where e^b is large, divided by it.
        turn = np.arctan2(np.sin(v), np.exp(np.minimum(-b, 700.0)) + np.cos(v))
        gauss = -0.5 * np.where(low * far <= 0, 0.0, np.minimum(low**2, far**2)) + 0.5 * up**2
        larger = (1 + tilt) * top
        smaller = -tilt * bottom if tilt >= 0 else -tilt * top
        worst = np.logaddexp(larger, smaller) + t_max * turn + gauss
        scale = math.log(half * 64 / 15 / (1 - rho**-2) / math.sqrt(2 * math.pi))
        return float(worst.max()) + 1.0 + scale - (2 * POINTS - 2) * math.log(rho)

    def nodes(self, tilt, t_max, log_error, prec):
        """Weights, losses and the error's log, as `SampledLaw.nodes`."""
        log_m = self.log_moment(tilt)
        goal = log_m + log_error - math.log(400.0)
        end = self.start + self._reach(tilt)
        waiting, panels, total = [(self.start, end)], [], -math.inf
        while waiting:
            start, stop = waiting.pop()
            here = self._log_panel_error(start, stop, tilt, t_max)
            if here < goal:
                panels.append((start, stop))
                total = np.logaddexp(total, here)
            elif len(panels) + len(waiting) > 250:
                raise UnknownError("too many panels")
            else:
                middle = 0.5 * (start + stop)
                waiting += [(start, middle), (middle, stop)]
        # w ≥ 1 there, so that both parts are at most w^{1+z}; the slope is below −13.
        beyond = (1 + tilt) * float(self._log_w(np.array(end)).real) - 0.5 * end * end + 1.0
        total = float(np.logaddexp(total, beyond))
        with ctx.workprec(prec):
            norm = 1 / (2 * arb.pi()).sqrt()
            weights, losses = [self.atom], [arb(0)]
            for start, stop in panels:
                half, middle = (arb(stop) - arb(start)) / 2, (arb(stop) + arb(start)) / 2
                for x, w in rule(prec):
                    at = middle + half * x
                    loss = self.log_keep + (self.shift * at + self.offset).exp().log1p()
                    density = norm * half * w * (-at * at / 2).exp()
                    weights += [density * (loss * (1 + arb(tilt))).exp()]
                    weights += [density * (-loss * arb(tilt)).exp()]
                    losses += [loss, -loss]
        return weights, losses, total
