"""The symmetrised law of a batch of fixed size, for `oracle_line`.

P₀ = (1−q)N(0) + qN(c), w = P₀/N(0), c = 2/σ. The law of the loss has the P₀-mass of log w where
w > 1, N(0)'s mass of log w there with the sign turned, and the rest, (1−q)·erf(c/√8), at 0:

    M(z) = (1−q)·erf(c/√8) + ∫_{c/2}^∞ φ(y)·(w^{1+z} + w^{−z}) dy.

Gauss–Legendre panels; the error is bounded on Bernstein ellipses (Trefethen, ATAP, Theorem 19.3),
where the modulus is taken at points of the rim and carried to the arcs between them by its slope.
"""

import math

import numpy as np
from flint import arb, ctx
from oracle_exact import UnknownError
from oracle_line import POINTS, _rule

_RIM = 64
_RHO = (2.5, 5.0, 12.0)  # a smooth panel may take the largest


def _log1pexp(u):
    small = u.real < 0
    return np.log1p(np.exp(np.where(small, u, -u))) + np.where(small, 0, u)


class FixedSizeLaw:
    """A factor of M(z), with the interface of `oracle_line.SampledLaw`."""

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

    def _log_w(self, y):
        return self.keep + _log1pexp(self.c * y + self.u0)

    def _path(self, tilt, slope):
        """Nodes of a straight path from c/2 with their weights; complex if it is tilted."""
        reach = 14.0 + (1.0 + tilt) * self.c
        step = min(1.0, 1.0 / self.c)
        number = math.ceil(reach / step)
        if number > 4000:
            raise UnknownError("too wide")
        x, w = np.polynomial.legendre.leggauss(12)
        half = 0.5 * reach / number
        s = (half * (2 * np.arange(number)[:, None] + 1 + x)).ravel()
        return self.start + s * (1 + 1j * slope), np.tile(half * w, number) * abs(1 + 1j * slope)

    def _log_modulus(self, tilt, t, slope):
        y, weight = self._path(tilt, slope)
        total = [math.log(max(self.centre, 1e-300))]
        for sign in (1, -1):
            at = y if sign > 0 else y.conj()
            log_w = self._log_w(at)
            power = (1 + tilt) * log_w if sign > 0 else -tilt * log_w
            turn = sign * log_w.imag
            if turn.min() < -1e-12:
                raise UnknownError("the path turns back")
            log = (power - at * at / 2).real - t * turn + np.log(weight)
            if log[-1] > log.max() - 40:
                raise UnknownError("majorant is cut off")
            total.append(np.logaddexp.reduce(log) - 0.5 * math.log(2 * math.pi))
        return float(np.logaddexp.reduce(total))

    def log_moment(self, tilt):
        """log M(tilt), in doubles."""
        return self._log_modulus(tilt, 0.0, 0.0)

    def tail(self, tilt, t):
        """A bound of log|M(tilt + it')| for all t' ≥ t: on slanted paths the modulus falls in t."""
        odds = -self.u0 - 0.5 * self.c**2
        steepest = min(0.5, 1.9 / odds) if odds > 0 else 0.5
        slopes = steepest * np.array([0.0, 0.02, 0.1, 0.3, 0.6, 1.0])
        return min(self._log_modulus(tilt, t, slope) for slope in slopes) + 1e-9

    def _panel_error(self, start, end, tilt, t_max):
        """log of the rule's error on one panel, for both parts and all t ≤ t_max."""
        return min(self._error_on(rho, start, end, tilt, t_max) for rho in _RHO)

    def _error_on(self, rho, start, end, tilt, t_max):
        middle, half = 0.5 * (start + end), 0.5 * (end - start)
        zero = (1j * math.pi - self.u0) / self.c
        place = (zero - middle) / half
        if abs(place + 1) + abs(place - 1) < 1.05 * (rho + 1 / rho):
            return math.inf
        turn = np.exp(2j * math.pi * np.arange(_RIM) / _RIM)
        y = middle + half * (rho * turn + 1 / (rho * turn)) / 2
        move = half * (rho + 1 / rho) / 2 * math.pi / _RIM
        log_w = self._log_w(y)
        slope = self.c / np.abs(1 + np.exp(-(self.c * y + self.u0)))
        worst = -math.inf
        for t in (0.0, t_max, -t_max):
            z = complex(tilt, t)
            for power in (1 + z, -z):
                log = (power * log_w - y * y / 2).real
                log = log + 2.0 * move * (np.abs(y) + abs(power) * slope) + 1.0
                worst = max(worst, float(log.max()))
        scale = math.log(2 * half * 64 / 15 / (1 - rho**-2) / math.sqrt(2 * math.pi))
        return worst + scale - (2 * POINTS - 2) * math.log(rho)

    def nodes(self, tilt, t_max, log_error, prec):
        """Weights, losses and the error's log, as `SampledLaw.nodes`."""
        log_m = self.log_moment(tilt)
        goal = log_m + log_error - math.log(400.0)
        y, _ = self._path(tilt, 0.0)
        end = float(y.real.max())
        waiting, panels = [(self.start, end)], []
        while waiting:
            start, stop = waiting.pop()
            if self._panel_error(start, stop, tilt, t_max) < goal:
                panels.append((start, stop))
            elif len(panels) + len(waiting) > 200:
                raise UnknownError("too many panels")
            else:
                middle = 0.5 * (start + stop)
                waiting += [(start, middle), (middle, stop)]
        beyond = (1 + tilt) * self._log_w(np.array(end)).real - 0.5 * end * end
        if beyond > goal:  # the slope of the exponent there is below −1
            raise UnknownError("nodes are cut off")
        with ctx.workprec(prec):
            norm = 1 / (2 * arb.pi()).sqrt()
            weights, losses = [self.atom], [arb(0)]
            for start, stop in panels:
                half, middle = (arb(stop) - arb(start)) / 2, (arb(stop) + arb(start)) / 2
                for x, w in _rule(prec):
                    at = middle + half * x
                    loss = self.log_keep + (self.shift * at + self.offset).exp().log1p()
                    density = norm * half * w * (-at * at / 2).exp()
                    weights += [density * (loss * (1 + arb(tilt))).exp()]
                    weights += [density * (-loss * arb(tilt)).exp()]
                    losses += [loss, -loss]
        return weights, losses, log_m + log_error + math.log(4.0)
