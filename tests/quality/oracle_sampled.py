"""The loss of one sampled Gaussian step as a factor of M(z), for `oracle_line`.

A factor is ∫ φ(y)·e^{α(y)+zℓ(y)} dy, α = log dP/dN(0,1), ℓ the loss, both made of
w(y) = Σ pᵢ·e^{cᵢy − cᵢ²/2} with 0 ≤ cᵢ ≤ c. Four facts, for 0 ≤ c·η < π/2:

1. |w(y+iη)| ≤ w(y), and |w(y+iη)| ≥ cos(cη)·w(y): the arguments of all terms lie in [0, cη].
2. arg w(y+iη) lies in [0, cη] and increases in y and in η: the numerators of its derivatives are
   ½Σ(cᵢ−cⱼ)aᵢaⱼ·sin((cᵢ−cⱼ)η) and Σcᵢaᵢaⱼ·cos((cᵢ−cⱼ)η), neither of them negative.
3. |φ(y+iη)| = φ(y)·e^{η²/2}.
4. |d/dy (α + xℓ)| ≤ (1+2|x|)·c on the real line, x > −1.

So along the path on whose side Im ℓ ≥ 0 the modulus of the integrand is at most
e^{η²/2}·cos(cη)^{−k} times that on the real line for any Im z ≥ 0 (k = 0 where P is the mixture
and Q the Gaussian, else k = max(Re z, 0)), and falls as Im z grows.

The trapezoid rule of step h errs by at most (N₊ + N₋)/(e^{2πd/h} − 1), N± the integrals of the
modulus along Im y = ±d (Trefethen, Weideman 2014, Theorem 5.1). Floats choose steps and heights;
what is returned as a bound is a ball, or a float whose slack for rounding is said.
"""

import math

import numpy as np
from flint import acb, arb, ctx
from oracle_exact import UnknownError

_FINE = 8.0  # cells of majorants per unit of the narrowest feature
_BITS = 160
_SMALL = 52.0  # e^−52 = 2.6e-23: relative error of balls for moments
_LARGEST = 1e11  # of an exponent in floats: its rounding moves it by less than 1e-3


class SampledLaw:
    """Σ pᵢ·N(cᵢ, 1) with N(0, 1), as the loss of one ordered pair.

    kind: "remove": P is the mixture; "add": P is N(0, 1); "replace": P is the mixture mirrored, Q
    the mixture.
    """

    def __init__(self, weights, shifts, kind):
        self.weights, self.shifts, self.kind = weights, shifts, kind
        self.log_p = np.array([float(p.log().mid()) for p in weights])
        self.c = np.array([float(c.mid()) for c in shifts])
        self.c_max = float(self.c.max()) * (1.0 + 1e-15)
        self.arguments = 2 if kind == "replace" else 1  # how many times arg w is in Im ℓ
        self.fine, self.coarse = (min(1.0, 1.0 / self.c_max) / part for part in (_FINE, 2.5))
        self._moments, self._logs, self._last_height = {}, {}, 1e-3

    def largest_shift(self):
        """A ball with the distance of the means if the record is always there."""
        return self.arguments * max(self.shifts, key=lambda c: float(c.mid()))

    # Floats, to choose by.

    def _log_w(self, y):
        terms = self.log_p[:, None] + np.multiply.outer(self.c, y) - 0.5 * self.c[:, None] ** 2
        top = terms.real.max(axis=0)
        return top + np.log(np.exp(terms - top).sum(axis=0))

    def _exponent(self, tilt, y, height=0.0, t=0.0):
        """log|φ e^{α+zℓ}| without φ's constant, on the path where Im ℓ ≥ 0 (t < 0: the other)."""
        up = 1j * height if height else 0.0
        first = self._log_w((-y if self.kind == "replace" else y) + up)
        if self.kind == "remove":
            log = (1.0 + tilt) * first.real - t * first.imag
        elif self.kind == "add":
            log = -tilt * first.real - t * first.imag
        else:
            other = self._log_w(y + up)
            log = (1.0 + tilt) * first.real - tilt * other.real - t * (first.imag + other.imag)
        return log - 0.5 * (y * y - height * height)

    def _window(self, tilt, step, more=12.0):
        """Numbers of nodes; at both ends and beyond, log|φ e^{α+xℓ}| falls by `more` a unit.

        α + xℓ, x ≥ 0, rises in y where P is the mixture, else it falls.
        """
        slope = (1.0 + 2.0 * abs(tilt)) * self.c_max
        low, high = slope + more, more
        if self.kind == "remove":
            low, high = high, low
        if tilt < 0.0:
            low = high = slope + more
        largest = np.abs(self.log_p).max() + self.c_max * (low + high + self.c_max)
        if not (low + high) / step < 1e5 or (1.0 + 2.0 * tilt) * largest > _LARGEST:
            raise UnknownError("too wide")
        return np.arange(-math.ceil(low / step), math.ceil(high / step) + 1)

    def log_integral(self, tilt, height=0.0, t=0.0):
        """log ∫|φ e^{α+zℓ}| along a path, about."""
        y = self.coarse * self._window(tilt, self.coarse)
        log = self._exponent(tilt, y, height, t)
        top = log.max()
        return top + math.log(np.exp(log - top).sum() * self.coarse / math.sqrt(2 * math.pi))

    def log_moment(self, tilt):
        """log M(tilt), about."""
        if tilt not in self._logs:
            self._logs[tilt] = self.log_integral(tilt)
        return self._logs[tilt]

    def tail(self, tilt, t):
        """(log|M(tilt + it')| for all t' ≥ t is at most about this, the path's height)."""
        best = self.log_moment(tilt), 0.0
        top = min(0.8 / self.c_max, 20.0)
        height = min(self._last_height, top)
        for factor in (2.0, 0.5):
            while 1e-9 * top < height <= top:
                here = self.log_integral(tilt, height, t)
                if here >= best[0]:
                    break
                best = here, height
                height *= factor
            height = min(self._last_height, top) / 2.0
            if best[1] > height * 2.0:
                break
        self._last_height = best[1] or top
        return best

    # Proved.

    def _log_growth(self, tilt, height):
        """log of the factor between a path's modulus and the real line's."""
        angle = self.c_max * height
        power = 0.0 if self.kind == "remove" else max(tilt, 0.0)
        if angle > 1.55:
            raise UnknownError("path is too high")
        return 0.5 * height**2 + power * max(-math.log(math.cos(angle)), 0.0) + 1e-9

    def _left_out(self, tilt, k, step, log, kept):
        """log of the sum of the nodes that are not kept: those here (floats), those beyond.

        e^1 for the exponents' rounding. Beyond the window the slope is below −11: a geometric sum.
        """
        rest = np.logaddexp.reduce(log[~kept]) if not kept.all() else -math.inf
        ends = max(log[0], log[-1]) + math.log(2.0 / -math.expm1(-11.0 * step))
        return np.logaddexp(rest, ends) + 1.0 + math.log(step / math.sqrt(2 * math.pi))

    def integral(self, tilt, height=0.0, t=0.0, small=_SMALL):
        """A ball, to e^−small of M(tilt), with ∫|φ e^{α+zℓ}| along a path, z = tilt + it.

        At height 0 it is M(tilt).

        As a function of y it is analytic: with A(y) = log w(y+iη) and B(y) = log w(y−iη), log|w| is
        (A+B)/2 and arg w is (A−B)/2i. At y ± id the modulus has log|w| at the heights η+d and η−d,
        and arg w(η+d) + arg w(η−d) ≥ 0 by fact 2.
        """
        step, reach = 0.0, 1.5 / self.c_max - height
        for d in np.minimum(reach * np.array([1.0, 0.6, 0.3, 0.1, 0.03, 0.01]), 9.0):
            d = float(d)
            # |w| at η±d is at least cos(c(η+d))·w, and e^{(η²−d²)/2…}: |φ| gains e^{(η²+d²)/2}.
            growth = self._log_growth(tilt, height + d) - height * d
            here = 2 * math.pi * d / (small + max(growth, 0.0) + 1.0)
            step = max(step, here)
        step = min(step, 1.0)
        growth = self._log_growth(tilt, height)
        k = self._window(tilt, step, more=max(12.0, math.sqrt(2.0 * (small + growth)) + 1.0))
        log = self._exponent(tilt, k * step)
        kept = log > log.max() - small - growth - math.log(len(k)) - 3.0
        if kept.sum() > 5_000:
            raise UnknownError("too many nodes")
        missing = self._left_out(tilt, k, step, log, kept) + growth
        with ctx.workprec(_BITS):
            total = arb(0)
            for j in k[kept].tolist():
                total += self._ball(arb(step) * j, tilt, height, t).exp()
            total *= arb(step) / (2 * arb.pi()).sqrt()
            total += arb(0, arb(missing).exp().upper())
            # N₊ + N₋ ≤ 2·M·e^{growth} at the best d: its share of M is at most 4·e^{−small}.
            share = 4 * arb(-small).exp()
            moment = total / (1 - share) if height == 0.0 else self.moment(tilt)
            return total + arb(0, (share * moment).upper())

    def moment(self, tilt):
        """A ball with M(tilt)."""
        if tilt not in self._moments:
            self._moments[tilt] = self.integral(tilt)
        return self._moments[tilt]

    def tail_bound(self, tilt, t):
        """A ball whose upper end is a bound of |M(tilt + it')| for all t' ≥ t."""
        value, height = self.tail(tilt, t)
        if height == 0.0:
            return self.moment(tilt)
        fallen = float(self.moment(tilt).log().mid()) - value
        return self.integral(tilt, height, t, small=_SMALL + max(fallen, 0.0))

    def _ball(self, y, tilt, height, t):
        """The exponent on a path, as a ball."""
        tilt, t = arb(tilt), arb(t)
        eta = arb(height)
        outside = (eta * eta - y * y) / 2
        if self.kind == "replace":
            first, other = self._ball_log_w(-y, eta), self._ball_log_w(y, eta)
            turn = t * (first.imag + other.imag)
            return (1 + tilt) * first.real - tilt * other.real - turn + outside
        first = self._ball_log_w(y, eta)
        power = 1 + tilt if self.kind == "remove" else -tilt
        return power * first.real - t * first.imag + outside

    def _ball_log_w(self, y, eta):
        if eta.is_zero():
            return acb(self._real_log_w(y))
        y = acb(y, eta)
        terms = zip(self.weights, self.shifts, strict=True)
        return sum((p * (c * y - c * c / 2).exp() for p, c in terms), acb(0)).log()

    def _real_log_w(self, y):
        terms = zip(self.weights, self.shifts, strict=True)
        return sum((p * (c * y - c * c / 2).exp() for p, c in terms), arb(0)).log()

    def _log_other_side(self, tilt, height, t):
        """A bound of log ∫|φ e^{α+zℓ}| along the path where Im ℓ ≤ 0, z = tilt + it'; t' ≤ t.

        On a cell each factor is at most what it is at one of the ends, by facts 1 and 2. Beyond the
        cells the arguments are at most c·height each; they are so many that this is nothing.
        """
        turn = self.arguments * t * self.c_max * height
        k = self._window(tilt, self.fine, more=12.0 + math.sqrt(2.0 * turn))
        y = self.fine * k
        low, high = y[:-1], y[1:]
        gauss = -0.5 * np.where(low * high <= 0.0, 0.0, np.minimum(low**2, high**2))
        if self.kind == "remove":
            log = (1 + tilt) * self._log_w(high) + t * self._log_w(high + 1j * height).imag
        elif self.kind == "add":
            log = -tilt * self._log_w(low) + t * self._log_w(high + 1j * height).imag
        else:
            log = (1 + tilt) * self._log_w(-low) - tilt * self._log_w(low)
            log = log + t * self._log_w(-low + 1j * height).imag
            log = log + t * self._log_w(high + 1j * height).imag
        inside = np.logaddexp.reduce(log + gauss) + math.log(self.fine)
        ends = max(self._exponent(tilt, y[[0, -1]])) + turn
        return np.logaddexp(inside, ends) + self._log_growth(tilt, height) + 1.0

    def nodes(self, tilt, t_max, log_error, prec):
        """Weights e^{α+cℓ}φ·h, losses and the error's log, for all z = tilt + it, t ≤ t_max."""
        log_m = float(self.moment(tilt).log().lower()) - 1e-9
        step = 0.0
        for share in (0.95, 0.7, 0.4, 0.15, 0.03):
            d = min(share * 1.55 / self.c_max, 8.0 * share)
            growth = self._log_growth(tilt, d) + 1e-9
            size = np.logaddexp(growth, self._log_other_side(tilt, d, t_max) - log_m)
            step = max(step, 2 * math.pi * d / (size - log_error + 1.0))
        k = self._window(tilt, step)
        log = self._exponent(tilt, k * step)
        order = np.argsort(log)
        room = log_m + log_error - 2.0 - math.log(step / math.sqrt(2 * math.pi))
        kept = np.ones(len(k), bool)
        kept[order[np.logaddexp.accumulate(log[order]) < room]] = False
        if kept.sum() > 6000:
            raise UnknownError("too many inner nodes")
        missing = self._left_out(tilt, k, step, log, kept)
        with ctx.workprec(prec):
            norm = arb(step) / (2 * arb.pi()).sqrt()
            weights, losses = [], []
            for j in k[kept].tolist():
                at = arb(step) * j
                alpha, loss = self._ball_parts(at)
                weights.append(norm * (alpha + arb(tilt) * loss - at * at / 2).exp())
                losses.append(loss)
        return weights, losses, float(np.logaddexp(log_m + log_error, missing)) + 1e-6

    def _ball_parts(self, y):
        if self.kind == "replace":
            ours = self._real_log_w(-y)
            return ours, ours - self._real_log_w(y)
        log_w = self._real_log_w(y)
        return (log_w, log_w) if self.kind == "remove" else (arb(0), -log_w)
