"""Writes fourier_poisson.json: exact eps(delta) and delta(eps) of the subsampled Gaussian.

    python tests/golden/make_fourier_poisson.py              (needs python-flint; 10 minutes)
    python tests/golden/make_fourier_poisson.py --validate   (T = 1, 2, 3 against direct integrals)

An oracle of the Fourier accountant: it imports nothing of `accountants`. Poisson sampling,
add/remove one record, T steps. With w(y) = 1-q+q exp(y/s - 1/(2s²)), y ~ N(0,1), F(ζ) = E[w^ζ]
(entire in ζ) and delta(eps) = E_P[(1 - e^(eps-L))_+], the Laplace inversion of the two directions
is one integral,

    remove: e^eps G(eps) with c > 1;   add: G(-eps) with c < 0, nought if eps >= -T log(1-q);
    G(a) = 1/(2πi) ∫ F(ζ)^T e^(-ζa) / (ζ(ζ-1)) dζ along any contour that crosses the real axis at c
           alone and on which the integrand decays.

The numbers in the JSON (s, q, delta or eps) are exact binary64 inputs; 0.01 means the double.

Outer integral. ζ(u) = c + r (i sinh u + τ (cosh u - 1)), trapezoid rule in u; c near the real
saddle of the integrand, r of the order of its width. τ = 0 is the vertical line; τ > 0 tilts the
arms to the right, where e^(-ζ(a - T log(1-q))) decays exponentially: small T or q, for which F
falls off slowly, need that. Cut off where the integrand is below 1e-33 of the result; the step is
halved until the rules on even and odd nodes agree to 20 digits, and their mean is used, whose
error is of the order of the square (the rule converges geometrically).

Inner expectation. F by the trapezoid rule in y on the real line (τ = 0), or on a curve y = x +
iη(x) below the zeros of w (at Im y = πs) and, right of them, with a slope above τ, where |w^ζ
φ(y)| does not exceed |F| by much. Its step is reduced until the rule and the one shifted by half a
step agree at six nodes ζ along the contour within about 1e-34 F(c)/T, or better by as much as the
outer sum cancels.

Error. Rounding: ball arithmetic (Arb) encloses it, and the precision is raised until the radius is
below 1e-32 relative. The four other errors (cut-off and step, inner and outer) are made smaller
than 1e-28 by the criteria above but measured, not proved. So each number is computed on two
contours with another c, r, τ, step and another inner curve; "digits" is the number of significant
digits to which the two agree, less one, at most 27 (the worst of both directions and of delta(0)
in "points"). This has caught an aliased contour (22 digits instead of 27) near a corner of the
saddle; a third contour is then tried. T = 1 and q = 1 are closed forms in erfc. `--validate`
compares contours with a direct method that has no transform in it (condition on a step,
recursively, closed form for the last step) for T = 1, 2, 3: wherever both converge they agree to
25 digits or more.
"""

import datetime
import json
import math
import random
import sys
import time
from pathlib import Path

import numpy as np

try:  # Arb's ball arithmetic: only whoever regenerates the file needs it, the tests read the JSON
    import flint
except ModuleNotFoundError:
    flint = None

LOG10 = math.log(10)
CUT = 88.0  # terms of the inner sum below e^-CUT of F(c)/T are left out; raised where needed


class NoConvergenceError(ArithmeticError):
    """A contour did not deliver the digits that it should."""


class _PrecisionError(ArithmeticError):
    pass


class Poisson:
    """T steps of the Poisson-subsampled Gaussian; F(zeta) = E[(w/(1-q))^zeta], y ~ N(0,1)."""

    def __init__(self, s, q, steps):
        self.s, self.q, self.steps = float(s), float(q), int(steps)
        self.rho = self.q / (1 - self.q)  # double: only for the choice of contours
        self.edge = -self.steps * math.log1p(-self.q)  # a' = a + edge

    # ---- double precision: where is the saddle? -------------------------------------------

    def moments(self, c):
        """(log F(c), mean and variance of log(w/(1-q)) under the tilted law), in double."""
        low, high = -16.0, 16 + max(0.0, c) / self.s
        if c < 0:  # log-concave: the mass is within 16 of the mode y = c (d loss/dy) in [c/s, 0]
            left, right = c / self.s, 0.0
            for _ in range(80):
                mid = (left + right) / 2
                log_x = math.log(self.rho) + mid / self.s - 0.5 / self.s**2
                slope = c / self.s / (1 + math.exp(min(700.0, -log_x)))
                left, right = (left, mid) if mid > slope else (mid, right)
            low, high = left - 16, left + 16
        y = np.linspace(low, high, int(min(100000, max(2000, (high - low) * 10 / min(1, self.s)))))
        loss = np.logaddexp(0, math.log(self.rho) + y / self.s - 0.5 / self.s**2)
        log = c * loss - y**2 / 2
        top = log.max()
        weight = np.exp(log - top)
        total = weight.sum()
        mean = (weight * loss).sum() / total
        var = (weight * (loss - mean) ** 2).sum() / total
        return top + math.log(total * (y[1] - y[0]) / math.sqrt(2 * math.pi)), mean, var

    def saddle(self, c):
        """(a', sigma, log delta) of the saddle-point approximation whose saddle is c."""
        log_f, mean, var = self.moments(c)
        a = self.steps * mean - 1 / c - 1 / (c - 1)
        var = self.steps * var + 1 / c**2 + 1 / (c - 1) ** 2
        log_g = (
            self.steps * log_f - c * a - math.log(c * (c - 1)) - 0.5 * math.log(2 * math.pi * var)
        )
        return a, math.sqrt(var), log_g

    def find_saddle(self, direction, *, eps=None, delta=None):
        """The saddle c (> 1: remove, < 0: add) for a given eps, or for a given delta."""
        sign = 1 if direction == "remove" else -1

        def place(log_x):
            return 1 + math.exp(log_x) if sign > 0 else -math.exp(log_x)

        def too_far(log_x):
            a, _, log_g = self.saddle(place(log_x))
            at = (a - self.edge) * sign  # the eps of this saddle
            if eps is not None:
                return at > eps
            return log_g + (at if sign > 0 else 0.0) < math.log(delta) and at > 0

        low, high = -36.0, 20.0
        for _ in range(45):
            mid = (low + high) / 2
            low, high = (low, mid) if too_far(mid) else (mid, high)
        c = place((low + high) / 2)
        a, sigma, _ = self.saddle(c)
        return c, sigma, (a - self.edge) * sign

    # ---- the inner expectation, in ball arithmetic ----------------------------------------

    def path(self, step, offset, spec, low, high):
        """Nodes of the trapezoid rule on y(x) = x + i eta(x): (weights, losses), doubles too."""
        eta0, kappa, x1, b = spec
        s, q = flint.arb(self.s), flint.arb(self.q)
        log_rho = (q / (1 - q)).log()
        norm = flint.arb(step) / (2 * flint.arb.pi()).sqrt()
        weights, losses = [], []
        first, last = math.floor(low / step), math.ceil(high / step)
        for k in range(first, last + 1):
            x = (flint.arb(k) + flint.arb(offset)) * flint.arb(step)
            if eta0 == 0 and kappa == 0:
                y, dy = flint.acb(x), flint.acb(1)
            else:
                root = ((x - x1) ** 2 + flint.arb(b) ** 2).sqrt()
                y = flint.acb(x, eta0 + kappa * (root + (x - x1)) / 2)
                dy = flint.acb(1, kappa * ((x - x1) / root + 1) / 2)
            log_x = log_rho + y / s - 1 / (2 * s * s)
            small = log_x.real < 0  # else: the branch that continues along the path
            loss = ((log_x if small else -log_x).exp() + 1).log() + (0 if small else log_x)
            weights.append(norm * dy * (-y * y / 2).exp())
            losses.append(loss)
        log_weight = np.array(
            [float(w.abs_lower().log().mid()) if w != 0 else -1e9 for w in weights]
        )
        approx = np.array([complex(v) for v in losses])
        return weights, losses, log_weight, approx

    @staticmethod
    def transform(nodes, zeta, floor):
        """The trapezoid sum for F(zeta) without the terms below e^floor."""
        weights, losses, log_weight, approx = nodes
        size = log_weight + (complex(zeta) * approx).real
        total = flint.acb(0)
        for k in np.nonzero(size > floor)[0]:
            total += weights[k] * (zeta * losses[k]).exp()
        return total


class Contour:
    """zeta(u) = c + r (i sinh u + tau (cosh u - 1)), u > 0 (and its mirror image), and F^T."""

    def __init__(
        self, law, direction, c, sigma, a, *, radius=2.0, tau=0.0, y_shift=1.0, digits=28, h0=0.25
    ):
        self.law, self.direction, self.c, self.tau, self.digits = law, direction, c, tau, digits
        self.r = radius / sigma
        self.a = a  # a' for which the contour is cut off
        self.T = law.steps
        self.log_fc = law.moments(c)[0]
        self.cut, self.tail = CUT, (digits + 5) * LOG10
        s = law.s
        if tau:
            x1 = s * -math.log(law.rho) + 0.5 / s
            self.spec = (min(0.9 * s, 2.5) * y_shift, 0.5 * y_shift, x1, min(2 * s, 4.0))
        else:
            self.spec = (0.0, 0.0, 0.0, 1.0)
        self.h = h0
        self.prec = 190 + int(1.5 * math.log2(self.T))
        self.nodes_used = 0
        for _ in range(6):
            self.floor = self.log_fc - self.cut - math.log(self.T)
            try:
                with flint.ctx.workprec(self.prec):
                    self._build()
                    missing = self._inner_error() + self.digits * LOG10
                    short = self.cancelled + (self.digits + 3) * LOG10 - self.tail
                if missing <= 0 and short <= 0:
                    return
                self.tail += max(0, short + 3)
                missing = max(0, missing)
                self.cut += missing + 3  # the outer sum cancels: more digits of F are needed
                self.prec += int(missing * 1.45) + 5
            except _PrecisionError:
                self.prec = int(self.prec * 1.5)
            if self.prec > 900:
                break
        raise NoConvergenceError("precision")

    def zeta(self, u):
        sinh, cosh = u.sinh(), u.cosh()
        i = flint.acb(0, 1)
        r, tau, c = flint.arb(self.r), flint.arb(self.tau), flint.arb(self.c)
        return c + r * (i * sinh + tau * (cosh - 1)), r * (i * cosh + tau * sinh)

    def _range(self):
        """x-range outside of which every term at the test nodes is below the floor (in double)."""
        s, (eta0, kappa, x1, b) = self.law.s, self.spec
        reach = math.sqrt(2 * max(0.0, -self.floor)) + 25 + 4 * max(0.0, self.c) / s
        x = np.linspace(-reach, reach, int(reach * 100))
        y = x + 1j * (eta0 + kappa * (np.hypot(x - x1, b) + x - x1) / 2)
        dy = 1 + 0.5j * kappa * ((x - x1) / np.hypot(x - x1, b) + 1)
        log_x = math.log(self.law.rho) + y / s - 0.5 / s**2
        small = log_x.real < 0
        loss = np.log(1 + np.exp(np.where(small, log_x, -log_x))) + np.where(small, 0, log_x)
        used = np.zeros(len(x), dtype=bool)
        for u in np.linspace(0, 9, 37):
            zeta = self.c + self.r * (1j * math.sinh(u) + self.tau * (math.cosh(u) - 1))
            log = -(y**2) / 2 + zeta * loss
            used |= log.real > self.floor - 3
            self.u_test = u
            log = np.minimum(log.real - self.log_fc, 600) + 1j * log.imag
            size = abs((dy * np.exp(log)).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi))
            size = (self.T - 1) * math.log(max(size, 1e-14)) - (zeta - self.c).real * self.a
            if size < -100:  # beyond this u the integrand is nil, whatever F's last digits
                break
        if used[0] or used[-1]:
            raise NoConvergenceError("inner cut-off")
        return x[used][0] - 0.5, x[used][-1] + 0.5

    def _terms(self, u_list):
        """Values (zeta, F^T zeta' / (zeta (zeta-1))) at the nodes."""
        out = []
        for u in u_list:
            zeta, dz = self.zeta(u)
            value = Poisson.transform(self.inner, zeta, self.floor)
            if value.rad() > 0 and float(value.rad().log().mid()) > self.floor + 8:
                raise _PrecisionError
            kernel = dz / (zeta * (zeta - 1))
            out.append((zeta, value**self.T * kernel, value ** (self.T - 1) * kernel))
            self.nodes_used += 1
        return out

    def _magnitude(self, term, which=1):
        zeta, value = term[0], term[which]
        value = value * (-(zeta - flint.arb(self.c)) * flint.arb(self.a)).exp()
        upper = value.abs_upper()
        return -1e9 if upper == 0 else float(upper.log().mid())

    def _where_nil(self, low, high):
        """Lowers u_test to where the integrand is nil; needed if F itself must be small."""
        fine = self.law.path(0.04 * min(1, self.law.s), 0.0, self.spec, low, high)
        top, below = -1e9, 0
        for u in np.arange(0, self.u_test, 0.25):
            zeta = self.zeta(flint.arb(float(u)))[0]
            value = Poisson.transform(fine, zeta, self.floor).abs_upper()
            size = self.T * float(value.log().mid()) if value > 0 else -1e9
            size -= float(((zeta.real - self.c) * self.a).mid())
            top = max(top, size)
            below = below + 1 if size < top - self.tail - 4 else 0
            if below == 2:
                self.u_test = u
                return

    def _inner_error(self):
        """Log of the relative error of delta if each F is off by e^(floor + 12)."""
        logs = np.array([self._magnitude(term, 2) for term in self.terms])
        top = logs.max()
        total = abs(self._sum(self.terms, True, self.h_now, self.a)[0])
        largest = max(self._magnitude(term) for term in self.terms)
        self.cancelled = largest - float(total.log().mid())
        amplified = top + math.log(np.exp(logs - top).sum() * self.T * self.h_now / math.pi)
        return amplified + self.floor + 12 - float(total.log().mid())

    def _build(self):
        arb = flint.arb
        # Inner step: the rule and the rule shifted by half a step must agree at test nodes.
        step = min(0.5, 0.35 * self.law.s) if self.tau == 0 else min(0.3, 0.2 * self.law.s)
        low, high = self._range()
        if self.T <= 30:
            self._where_nil(low, high)
        tests = [self.zeta(arb(float(u)))[0] for u in np.linspace(0, self.u_test, 6)]
        while True:
            self.inner = self.law.path(step, 0.0, self.spec, low, high)
            other = self.law.path(step, 0.5, self.spec, low, high)
            worst = -1e9
            for zeta in tests:
                one = Poisson.transform(self.inner, zeta, self.floor)
                gap = one - Poisson.transform(other, zeta, self.floor)
                if one.rad() > 0 and float(one.rad().log().mid()) > self.floor + 8:
                    raise _PrecisionError
                gap = gap.abs_upper()
                worst = max(worst, float(gap.log().mid()))
                if worst > self.floor + 10:
                    break
            if worst <= self.floor + 10:
                break
            step /= 1.3
            if step < 0.012 * min(1, self.law.s):
                raise NoConvergenceError("inner step")
        self.step = step
        # Cut-off in u, then steps halved until the two interleaved rules agree to half the digits.
        h = arb(self.h)
        terms = []
        top, below, k = -1e9, 0, 0
        while below < 3:
            terms += self._terms([h * k])
            size = self._magnitude(terms[-1])
            top = max(top, size)
            below = below + 1 if size < top - self.tail else 0
            k += 1
            if k * self.h > 25:
                raise NoConvergenceError("outer cut-off")
        u_max = k * float(self.h)
        self.terms, self.h_now = terms, float(self.h)
        while True:
            n = int(u_max / self.h_now)
            half = self._terms([arb(self.h_now) * (j + arb(0.5)) for j in range(n)])
            one, _ = self._sum(self.terms, True, self.h_now, self.a)
            two, _ = self._sum(half, False, self.h_now, self.a)
            merged = []
            for j in range(max(len(self.terms), len(half))):
                merged += self.terms[j : j + 1] + half[j : j + 1]
            self.terms, self.h_now = merged, self.h_now / 2
            mean = (one + two) / 2
            if mean.rad() > abs(mean.mid()) * arb(10) ** (-self.digits - 4):
                raise _PrecisionError
            gap = abs(((one - two) / mean).mid())
            self.gap = float(gap)
            if self.gap < 10 ** (-0.7 * self.digits):
                return
            if self.h_now < 1 / 300:
                raise NoConvergenceError(f"outer step: {self.gap:.1e}")

    def _sum(self, terms, with_zero, h, a):
        """(integral without its factor e^(-c a), its derivative in eps)."""
        total, slope = flint.acb(0), flint.acb(0)
        remove = self.direction == "remove"
        c, a = flint.arb(self.c), flint.arb(a)
        for j, (zeta, value, _) in enumerate(terms):
            item = value * (-(zeta - c) * a).exp()
            if with_zero and j == 0:
                item = item / 2
            total += item
            slope += item * (1 - zeta if remove else zeta)
        scale = flint.arb(h) / flint.arb.pi()
        return total.imag * scale, slope.imag * scale

    def delta(self, eps):
        """(delta, d delta/d eps) at eps (arb)."""
        with flint.ctx.workprec(self.prec):
            q = flint.arb(self.law.q)
            edge = -self.T * (1 - q).log()
            remove = self.direction == "remove"
            a = (eps if remove else -eps) + edge
            total, slope = self._sum(self.terms, True, self.h_now, a)
            factor = (-flint.arb(self.c) * a + (eps if remove else 0)).exp()
            return total * factor, slope * factor

    def epsilon(self, delta, start):
        """The root of delta(eps) = delta by Newton's method on log delta."""
        with flint.ctx.workprec(self.prec):
            eps, target = flint.arb(start), flint.arb(delta)
            for _ in range(60):
                value, slope = self.delta(eps)
                move = ((value / target).log() * value / slope).mid()
                eps = (eps - move).mid()
                if abs(move) < abs(eps) * flint.arb(10) ** (-self.digits - 3):
                    return eps
            raise NoConvergenceError("Newton")


# ---- two contours per number ---------------------------------------------------------------------

VERTICAL = [
    {"tau": 0.0, "radius": 2.0, "move": 1.0, "y_shift": 0.0, "h0": 0.25},
    {"tau": 0.0, "radius": 1.3, "move": 0.9, "y_shift": 0.0, "h0": 0.21},
]
TILTED = [
    {"tau": 0.3, "radius": 2.0, "move": 1.0, "y_shift": 1.0, "h0": 0.25},
    {"tau": 0.2, "radius": 1.4, "move": 0.93, "y_shift": 0.7, "h0": 0.21},
    {"tau": 0.1, "radius": 1.7, "move": 0.97, "y_shift": 0.4, "h0": 0.23},
]

# Where one large loss competes with many small ones, the saddle is a corner: keep away from it.
MOVED = [
    {"tau": 0.0, "radius": 1.5, "move": 0.8, "y_shift": 0.0, "h0": 0.25},
    {"tau": 0.0, "radius": 1.2, "move": 0.7, "y_shift": 0.0, "h0": 0.21},
    {"tau": 0.3, "radius": 1.5, "move": 0.75, "y_shift": 1.0, "h0": 0.25},
    {"tau": 0.2, "radius": 1.2, "move": 0.65, "y_shift": 0.7, "h0": 0.21},
    {"tau": 0.1, "radius": 1.0, "move": 0.7, "y_shift": 0.4, "h0": 0.23},
]


def on_two_contours(law, direction, *, eps=None, delta=None, again=False):
    """delta(eps), or eps(delta), on different contours until two agree: (value, digits)."""
    c, sigma, start = law.find_saddle(direction, eps=eps, delta=delta)
    corner = sigma > 2.5 * law.saddle(moved(c, 0.9))[1]
    if delta is not None and (corner or again):
        # the guess is worth nothing: take it from the contour of eps = 0
        start = guess(law, direction, delta)
        c, _, _ = law.find_saddle(direction, eps=start)
    elif eps is not None:
        start = eps
    a = (start if direction == "remove" else -start) + law.edge
    values, best = [], (None, -1)
    for contour in contours(law, direction, c, a, corner):
        try:
            value = (
                contour.delta(flint.arb(eps))[0] if delta is None else contour.epsilon(delta, start)
            )
        except NoConvergenceError:
            continue
        for other in values:
            digits = agreed(value, other)
            if digits > best[1]:
                best = (value, digits)
        values.append(value)
        if best[1] >= 25:
            return best
    if best[1] < 15 and delta is not None and not (corner or again):
        return on_two_contours(law, direction, delta=delta, again=True)
    if best[1] < 15:
        raise NoConvergenceError(f"{law.s} {law.q} {law.steps} {direction} {eps} {delta} {best}")
    return best


def moved(c, factor):
    return 1 + (c - 1) * factor if c > 0 else c * factor


def guess(law, direction, delta):
    """eps(delta) to a few digits, by bisection on one contour that suits eps = 0."""
    c, sigma, _ = law.find_saddle(direction, eps=0.0)
    corner = sigma > 2.5 * law.saddle(moved(c, 0.9))[1]
    contour = next(contours(law, direction, c, law.edge, corner), None)
    if contour is None:
        raise NoConvergenceError("guess")
    low, high = 0.0, 1e-6
    while contour.delta(flint.arb(high))[0] > delta and high < 1e3:
        high *= 2
    for _ in range(30):
        mid = (low + high) / 2
        low, high = (mid, high) if contour.delta(flint.arb(mid))[0] > delta else (low, mid)
    return mid


def contours(law, direction, c, a, corner):
    """The contours that converge, the likely ones first."""
    start_at = moved(c, 0.85) if corner else c
    t = 12 / law.saddle(start_at)[1]  # does the integrand die soon on the vertical line?
    y = np.linspace(-40, 40 + max(0, c) / law.s, 16000)
    loss = np.logaddexp(0, math.log(law.rho) + y / law.s - 0.5 / law.s**2)
    log = start_at * loss - y**2 / 2
    weight = np.exp(log - log.max())
    drop = abs((weight * np.exp(1j * t * loss)).sum()) / weight.sum()
    soon = law.steps * math.log(max(1e-300, drop)) < -60
    if corner:
        order = MOVED if soon else MOVED[2:] + MOVED[:2]
    else:
        order = VERTICAL + TILTED[1:] if soon else TILTED + VERTICAL
        order = order + MOVED
    for option in order:
        kind = {key: value for key, value in option.items() if key != "move"}
        there = moved(c, option["move"])
        try:
            contour = Contour(law, direction, there, law.saddle(there)[1], a, **kind)
        except NoConvergenceError as reason:
            print("   ", direction, f"tau={option['tau']}", reason, file=sys.stderr)
        else:
            yield contour


def agreed(one, two):
    """The digits to which two balls' midpoints agree, at most 28, less one for caution."""
    gap = abs((one - two).mid())
    if gap == 0:
        return 27
    return min(27, int(-float((gap / abs(one.mid())).log().mid()) / LOG10) - 1)


def text(value, digits=28):
    return value.mid().str(digits, radius=False)


def gauss_delta(s, steps, eps):
    """q = 1: the Gaussian mechanism, in closed form; both directions."""
    mu = flint.arb(steps).sqrt() / flint.arb(s)

    def phi(x):
        return (-x / flint.arb(2).sqrt()).erfc() / 2

    return phi(mu / 2 - eps / mu) - eps.exp() * phi(-mu / 2 - eps / mu)


def single_delta(s, q, direction, eps):
    """T = 1 in closed form."""
    s, q, big = flint.arb(s), flint.arb(q), eps.exp()

    def phi(x):
        return (-x / flint.arb(2).sqrt()).erfc() / 2

    if direction == "remove":
        y = s * (((big - 1 + q) / q).log() + 1 / (2 * s * s))
        return (1 - q - big) * phi(-y) + q * phi(1 / s - y)
    ratio = 1 / big - 1 + q
    if not ratio > 0:
        return flint.arb(0)
    y = s * ((ratio / q).log() + 1 / (2 * s * s))
    return (1 - big * (1 - q)) * phi(y) - big * q * phi(y - 1 / s)


def bisect(function, target, low, high):
    """Root of a decreasing function of an arb, by bisection in 300 bits."""
    low, high = flint.arb(low), flint.arb(high)
    for _ in range(150):
        mid = ((low + high) / 2).mid()
        low, high = (mid, high) if function(mid) > target else (low, mid)
    return mid


def delta_at(s, q, steps, direction, eps):
    """(delta(eps), digits)."""
    if q == 1:
        with flint.ctx.workprec(400):
            return gauss_delta(s, steps, flint.arb(eps)), 27
    if steps == 1:
        with flint.ctx.workprec(400):
            return single_delta(s, q, direction, flint.arb(eps)), 27
    law = Poisson(s, q, steps)
    if direction == "add":
        with flint.ctx.workprec(200):
            if flint.arb(eps) >= -steps * (1 - flint.arb(q)).log():
                return flint.arb(0), 27
    try:
        return on_two_contours(law, direction, eps=eps)
    except NoConvergenceError:
        if steps > 3:
            raise
        with flint.ctx.workprec(300):  # far in the tail of few steps: without a transform
            values = [direct_delta(s, q, steps, direction, eps, 1 / n) for n in (60, 43)]
        if agreed(*values) < 20:
            raise
        return values[0], agreed(*values)


def point(s, q, steps, delta):
    """A row of "points"; delta may be a function of delta(0)."""
    zero, zero_digits = delta_at(s, q, steps, "add", 0.0)
    if callable(delta):
        delta = delta(float(zero.mid()))
    row = {"noise_multiplier": s, "sampling_rate": q, "steps": steps, "delta": delta}
    if zero < delta:
        values, digits = {"remove": flint.arb(0), "add": flint.arb(0)}, zero_digits
    elif q == 1:
        with flint.ctx.workprec(400):
            high = 1.0
            while gauss_delta(s, steps, flint.arb(high)) > delta:
                high *= 2
            root = bisect(lambda e: gauss_delta(s, steps, e), delta, 0, high)
        values, digits = {"remove": root, "add": root}, 27
    elif steps == 1:
        values, digits = {}, 27
        for direction in ("remove", "add"):
            with flint.ctx.workprec(400):
                high = 1e-9
                while single_delta(s, q, direction, flint.arb(high)) > delta:
                    high *= 2
                values[direction] = bisect(
                    lambda e, direction=direction: single_delta(s, q, direction, e), delta, 0, high
                )
    else:
        values, digits = {}, zero_digits
        for direction in ("remove", "add"):
            law = Poisson(s, q, steps)
            values[direction], certain = on_two_contours(law, direction, delta=delta)
            digits = min(digits, certain)
    larger = values["remove"] if values["remove"] >= values["add"] else values["add"]
    return row | {
        "epsilon": text(larger),
        "epsilon_remove": text(values["remove"]),
        "epsilon_add": text(values["add"]),
        "delta_at_zero": text(zero),
        "digits": digits,
    }


def delta_point(s, q, steps, eps):
    """A row of "delta_points"."""
    remove, one = delta_at(s, q, steps, "remove", eps)
    add, two = delta_at(s, q, steps, "add", eps)
    return {
        "noise_multiplier": s,
        "sampling_rate": q,
        "steps": steps,
        "epsilon": eps,
        "delta_remove": text(remove),
        "delta_add": text(add),
        "digits": min(one, two),
    }


# ---- which points --------------------------------------------------------------------------------

KNOWN = [
    (1.0, 0.01, 1000, 1e-5, "1.82823666652"),
    (1.0, 0.01, 10**4, 1e-5, "6.1877123900"),
    (0.8, 0.001, 10**5, 1e-6, "2.9144783350"),
    (5.0, 0.02, 2500, 1e-4, "0.612117281132"),
    (2.0, 0.1, 500, 1e-5, "5.5554682144"),
    (0.5, 0.005, 2000, 1e-6, "11.810115458"),
    (10.0, 0.5, 10**6, 1e-5, "1464.265776"),
    (1.0, 1.0, 100, 1e-5, "91.8172896247"),
    (1.0, 0.01, 1000, 1e-10, "3.2904437509"),
    (1.0, 0.01, 1000, 1e-15, "4.8545377506"),
    (1.0, 0.01, 1000, 1e-20, "6.3617002041"),
    (1.0, 0.01, 1000, 1e-50, "15.2097614965"),
    (1.0, 1e-4, 10**7, 1e-6, "1.838199807"),
]


def log_uniform(rng, low, high, digits=3):
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.{digits}g}")


def settings(rng):
    """The random settings: 60 anywhere, 36 of few steps, 24 with T q^2 < 0.01."""
    for _ in range(60):
        s, q = log_uniform(rng, 0.4, 20), log_uniform(rng, 1e-5, 1)
        yield s, q, round(log_uniform(rng, 1, 1e7)), log_uniform(rng, 1e-14, 1e-2)
    for steps in (1, 2, 3, 5, 10, 30):
        for k in range(6):
            s, q = log_uniform(rng, 0.4, 20), log_uniform(rng, 1e-5 if k % 2 else 1e-2, 1)
            yield s, q, steps, below_zero(rng)
    for k in range(24):
        q = log_uniform(rng, 1e-5, 0.05)
        steps = max(1, round(log_uniform(rng, 1, 0.0099 / q**2)))
        delta = log_uniform(rng, 1e-14, 1e-2) if k % 4 == 0 else below_zero(rng)
        yield log_uniform(rng, 0.4, 20), q, min(steps, 10**7), delta


AROUND_ZERO = [  # (s, q, T), delta/delta(0): eps = 0 from 1 on
    (1.0, 0.01, 1000, 1.001),
    (1.0, 0.01, 1000, 0.999),
    (1.0, 0.01, 1000, 0.999999),
    (5.0, 0.02, 2500, 2.0),
    (1.0, 1e-4, 100, 1.5),
    (1.0, 1e-4, 100, 0.99),
    (20.0, 1e-5, 1, 10.0),
    (20.0, 1e-5, 1, 0.5),
    (0.5, 1e-3, 30, 1.01),
    (1.0, 1e-3, 300, 0.9),
    (10.0, 1e-3, 10**5, 1.2),
    (10.0, 1e-3, 10**5, 0.99999),
]


def below_zero(rng):
    """A delta that is log-uniform between 1e-14 (if that is below) and delta(0)."""
    share = rng.uniform(0, 1)

    def choose(zero):
        low = min(1e-14, zero / 10)
        return float(f"{math.exp(math.log(low) + share * math.log(zero / low)):.3g}")

    return choose


def delta_settings(rng):
    """60 settings (s, q, T, eps) whose delta is log-uniform down to 1e-60."""
    for k in range(60):
        s, q = log_uniform(rng, 0.4, 20), log_uniform(rng, 1e-4 if k % 3 else 1e-2, 0.99)
        steps = rng.choice([1, 2, 3, 7, 30]) if k % 4 == 0 else round(log_uniform(rng, 50, 1e6))
        target = 10 ** -rng.uniform(1, 60)
        if steps <= 30:  # one step's eps is the better guess
            with flint.ctx.workprec(400):
                eps = bisect(lambda e, s=s, q=q: single_delta(s, q, "remove", e), target, 0, 1000)
            eps = float(eps)
        else:
            c, sigma, eps = Poisson(s, q, steps).find_saddle("remove", delta=target)
            if sigma > 2.5 * Poisson(s, q, steps).saddle(moved(c, 0.9))[1]:
                eps = min(eps, guess(Poisson(s, q, steps), "remove", max(target, 1e-20)))
        yield s, q, steps, float(f"{max(eps, 0.0):.4g}")


def write(path, golden):
    path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


def main():
    path = Path(__file__).with_suffix("").with_name("fourier_poisson.json")
    flint.ctx.prec = 200
    golden = {
        "what": "T-fold Poisson-subsampled Gaussian, add/remove one record: exact eps(delta) and "
        "delta(eps); the JSON numbers are exact binary64 inputs, the strings are rounded "
        "decimals, of which the first `digits` significant ones are certain",
        "library": "python-flint (Arb), contour integral; see make_fourier_poisson.py",
        "version": flint.__version__,
        "command": "python tests/golden/make_fourier_poisson.py",
        "date": datetime.date.today().isoformat(),
        "points": [],
        "delta_points": [],
    }
    rng = random.Random(20240229)
    begin = time.time()
    todo = [(*known[:4], known[4]) for known in KNOWN] + [(*s, None) for s in settings(rng)]
    for s, q, steps, factor in AROUND_ZERO:
        todo.append((s, q, steps, lambda zero, factor=factor: float(f"{zero * factor:.9g}"), None))
    for s, q, steps, delta, known in todo:
        start = time.time()
        try:
            row = point(s, q, steps, delta)
        except (NoConvergenceError, OverflowError) as reason:
            print("FAILED", s, q, steps, reason, flush=True)
            continue
        golden["points"].append(row)
        off = ""
        if known and abs(float(row["epsilon"]) - float(known)) > 10.0 ** -len(known.split(".")[1]):
            off = f"DISAGREES with {known}"
        print(*row.values(), f"{time.time() - start:.1f}s", off, flush=True)
        write(path, golden)
    for s, q, steps, eps in delta_settings(rng):
        start = time.time()
        try:
            row = delta_point(s, q, steps, eps)
        except (NoConvergenceError, OverflowError) as reason:
            print("FAILED", s, q, steps, eps, reason, flush=True)
            continue
        golden["delta_points"].append(row)
        print(*row.values(), f"{time.time() - start:.1f}s", flush=True)
        write(path, golden)
    print(f"{time.time() - begin:.0f} s")


# ---- validation by a direct method: python tests/golden/make_fourier_poisson.py --validate -------


def direct_delta(s, q, steps, direction, eps, step):
    """delta(eps) without any transform: condition on the first step, recursively; T = 1 closed.

    With x = e^eps: R_n(x) = E[(w_1...w_n - x)_+] = E[w R_(n-1)(x/w)] (remove) and
    A_n(x) = E[(1 - x w_1...w_n)_+] = E[A_(n-1)(x w)] (add); the integrand is elementary beyond the
    point where the other steps cannot matter, and before it y = y_k - exp(v - exp(-v)), trapezoid.
    """
    s, q = flint.arb(s), flint.arb(q)
    rule = []
    for k in range(math.floor(-4.7 / step), math.ceil(4.0 / step) + 1):
        v = flint.arb(k) * flint.arb(step)
        gap = (v - (-v).exp()).exp()
        rule.append((gap, flint.arb(step) * gap * (1 + (-v).exp()) / (2 * flint.arb.pi()).sqrt()))

    def phi(x):
        return (-x / flint.arb(2).sqrt()).erfc() / 2

    def weight(y):
        return 1 - q + q * (y / s - 1 / (2 * s * s)).exp()

    def where(ratio):
        return s * (((ratio - 1 + q) / q).log() + 1 / (2 * s * s))

    def remove(n, x):
        if not x / (1 - q) ** n - 1 > 1e-60:
            return 1 - x
        y = where(x / (1 - q) ** (n - 1))
        total = (1 - q - x) * phi(-y) + q * phi(1 / s - y)  # E[w - x; beyond y]
        if n > 1:
            for gap, dy in rule:
                here = y - gap
                w = weight(here)
                total += dy * (-here * here / 2).exp() * w * remove(n - 1, x / w)
        return total

    def add(n, x):
        if not 1 / (x * (1 - q) ** n) - 1 > 1e-60:
            return flint.arb(0)
        y = where(1 / (x * (1 - q) ** (n - 1)))
        if n == 1:
            return (1 - x * (1 - q)) * phi(y) - x * q * phi(y - 1 / s)
        total = flint.arb(0)
        for gap, dy in rule:
            here = y - gap
            total += dy * (-here * here / 2).exp() * add(n - 1, x * weight(here))
        return total

    return (remove if direction == "remove" else add)(steps, flint.arb(eps).exp())


def validate():
    """Contour against direct integration, T = 1, 2, 3; prints the digits of agreement."""
    flint.ctx.prec = 240
    rng = random.Random(7)
    for steps, count in ((1, 12), (2, 12), (3, 6)):
        for _ in range(count):
            s, q = log_uniform(rng, 0.5, 8), log_uniform(rng, 1e-4, 0.9)
            law = Poisson(s, q, steps)
            for direction in ("remove", "add"):
                share = rng.choice([0.0, 0.2, 0.6])
                eps = share * law.edge if direction == "add" else share * 4 * (q * steps + 0.1)
                begin = time.time()
                try:
                    contour, digits = on_two_contours(law, direction, eps=eps)
                except NoConvergenceError as reason:
                    print("no convergence", reason, flush=True)
                    continue
                between = time.time()
                fine = direct_delta(s, q, steps, direction, eps, 1 / 27)
                coarse = direct_delta(s, q, steps, direction, eps, 1 / 20) if steps > 1 else fine
                print(
                    f"T={steps} s={s} q={q} {direction} eps={eps:.4g} delta={text(fine, 8)}:",
                    f"contours agree {digits}, direct steps agree {agreed(fine, coarse)},",
                    f"contour-direct {agreed(contour, fine)}",
                    f"({between - begin:.1f} s, {time.time() - between:.1f} s)",
                    flush=True,
                )


if __name__ == "__main__":
    validate() if "--validate" in sys.argv else main()
