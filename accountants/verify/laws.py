"""The loss of one sampled Gaussian step, as a sum of exponentials with a proved error.

With w(y) = Σ pᵢ·e^{cᵢy − cᵢ²/2} and L the loss under P, M(z) = E_P[e^{zL}] is a sum of integrals
over the noise, ∫ φ(y)·w(y)^{p(z)}·w(−y)^{m(z)} dy:

* "remove", P is Σ pᵢN(cᵢ, 1) and Q is N(0, 1): p = 1+z, m = 0;   "add", reversed: p = −z, m = 0;
* "replace", P is the mixture and Q its mirror image: p = 1+z, m = −z;
* "symmetric", the profile of a batch of fixed size: an atom (1−q)·erf(c/√8) at 0, and over y > c/2,
  where w > 1, both p = 1+z and p = −z. There y = c/2 + log(1+e^v), and v is the variable;
* "remove" and "add" with shifts −c and c of equal weight: w is even, and so all is twice the
  integral over y = log(1+e^v) > 0.

Facts, for 0 ≤ c·η < π/2, c the largest shift: (1) cos(cη)·w(y) ≤ |w(y+iη)| ≤ w(y), as the terms'
arguments are in [0, cη], and so is that of the even w, a multiple of cosh(c(y+iη)), where y ≥ 0;
(2) arg w(y+iη) ≥ 0; (3) |φ(y+iη)| = φ(y)e^{η²/2}; (4) on the real line the exponent without φ has
a slope of at most (1+2|Re z|)·c. The *modulus* N(z) at height η is the integral of the integrand's
modulus along Im v = ±η, the sign such that Im L ≥ 0 by (2): there |e^{zL}| falls in Im z, and N
bounds |M(x+it')| for all t' ≥ t. log N is convex in (x, t).

The trapezoid rule of step h at height η errs by at most (N₊ + N₋)/(e^{2πd/h} − 1), N± the moduli at
heights η±d (Trefethen, Weideman 2014, Theorem 5.1). Floats choose; bounds are balls, or floats of
which it is said what they leave for rounding.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import acb, arb

from accountants.verify.exact import UndecidedError

_BRANCHES = {  # (side of the path, p(0), p', m')
    "remove": [(1, 1, 1, 0)],
    "add": [(-1, 0, -1, 0)],
    "replace": [(1, 1, 1, -1)],
    "symmetric": [(1, 1, 1, 0), (-1, 0, -1, 0)],
}
_MORE = 14.0  # beyond the window the exponent falls by this much a unit
_MOST_NODES = 5_000
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


class Law:
    """One sampled step in one direction; see the module."""

    def __init__(self, weights: list[arb], shifts: list[arb], kind: str) -> None:
        self.weights, self.shifts, self.kind = weights, shifts, kind
        self.even = bool(shifts[0] < 0)
        self.branches, self.folded = _BRANCHES[kind], kind == "symmetric" or self.even
        self._log_p = np.array([[float(p.log().mid())] for p in weights])
        self._c = np.array([float(c.mid()) for c in shifts])
        self.shift = max(shifts, key=lambda c: float(c.mid()))
        self.c = float(self._c.max()) * (1.0 + 1e-15)
        self.highest = min(1.5 / self.c, 1.3 if self.folded else 9.0)
        self.fold = arb(0) if self.even else self.shift / 2
        half = weights[0] * (self.fold / arb(2).sqrt()).erf()
        self.atom = half if kind == "symmetric" else arb(0)
        # Where the loss that a rate near 0 leaves nearly always is.
        none = sum((p for p, c in zip(weights, shifts, strict=True) if c.is_zero()), arb(0))
        sign = {"remove": 1, "add": -1}.get(kind, 0)
        self.largest = -none.log() if kind == "add" and none > 0 else arb("inf")
        self.rate = weights[1] if len(shifts) == 2 and shifts[0].is_zero() else None
        self.usual = sign * float(none.log().mid()) if none > 0 and sign else 0.0

    def _at(self, branch: tuple[int, ...], v: Any, analytic: bool = False) -> tuple[Any, Any]:
        """(exponent at z = 0, loss) at places v: a ball, or an array of floats to choose by."""
        ball, (_, p0, p1, m1) = isinstance(v, acb), branch
        base: Any = 0
        if self.folded and ball:
            base, v = -(1 + (-v).exp()).log(analytic), self.fold + (1 + v.exp()).log(analytic)
        elif self.folded:
            right = v.real > 0  # log(1+e^v) without overflow
            grown = np.where(right, v, 0) + np.log1p(np.exp(np.where(right, -v, v)))
            base, v = v - grown, float(self.fold) + grown
        log_w = self._log_w(v, analytic)
        loss = p1 * log_w + (m1 * self._log_w(-v, analytic) if m1 else 0)
        if self.even:  # twice the half line
            base += arb(2).log() if ball else math.log(2.0)
        return base + p0 * log_w - v * v / 2, loss

    def _log_w(self, y: Any, analytic: bool) -> Any:
        if isinstance(y, acb):
            parts = zip(self.weights, self.shifts, strict=True)
            return sum((p * (c * y - c * c / 2).exp() for p, c in parts), acb(0)).log(analytic)
        terms = self._log_p + np.multiply.outer(self._c, y) - 0.5 * self._c[:, None] ** 2
        top = terms.real.max(axis=0)
        return top + np.log(np.exp(terms - top).sum(axis=0))

    def _window(self, x: float, wrong: float = 0.0) -> tuple[float, float]:
        """Where the integrand is not negligible, even times e^wrong."""
        slope = (1.0 + 2.0 * abs(x)) * self.c + math.sqrt(2.0 * wrong)
        if slope > 3e4:
            raise UndecidedError("the window is too wide")
        low = -60.0 - wrong - math.log1p(slope) if self.folded else -slope - _MORE
        return low, slope + _MORE

    def log_modulus(self, x: float, t: float = 0.0, height: float = 0.0) -> float:
        """About log N(x+it); log M(x) at height 0."""
        low, high = self._window(x)
        step = 0.4 * min(1.0, 1.0 / self.c)
        v = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
        terms = [np.array([math.log(max(float(self.atom.mid()), 1e-300) / step) + _LOG_ROOT])]
        for branch in self.branches:
            exponent, loss = self._at(branch, v + 1j * branch[0] * height if height else v)
            terms.append((exponent + complex(x, t) * loss).real)
        return float(np.logaddexp.reduce(np.concatenate(terms))) + math.log(step) - _LOG_ROOT

    def best_height(self, x: float, t: float) -> tuple[float, float]:
        """(about log N(x+it), height) where N is least."""
        heights = [0.0] + [self.highest * 0.63**k for k in range(0, 26)]
        return min((self.log_modulus(x, t, height), height) for height in heights)

    def _left_out(self, x: float, height: float, wrong: float = 0.0) -> float:
        """Log of what lies beyond the window, of integrals and of sums; e^1 is for rounding.

        On the real line by (4): a geometric sum; at a height by (1) and (3) times e^growth, Im z
        being of the good sign. Folded: the path's slope, 1/cos(height), too.
        """
        log_cos = math.log(math.cos(self.c * abs(height)))
        growth = 0.5 * height**2 - (math.log(math.cos(height)) if self.folded else 0.0)
        ends, total = np.array(self._window(x, wrong)), -math.inf
        for branch in self.branches:
            _, p0, p1, m1 = branch
            negative = max(0.0, -(p0 + p1 * x)) + max(0.0, -m1 * x)
            exponent, loss = self._at(branch, ends)
            here = float(np.logaddexp.reduce(exponent + x * loss))
            total = np.logaddexp(total, here + growth - negative * log_cos)
        return float(total) + wrong + 1.0

    def modulus(self, x: float, t: float = 0.0, height: float = 0.0, bits: int = 12) -> arb:
        """A ball whose upper end bounds N(x+it) at the height; M(x) itself at height 0, t = 0."""
        z, turned = acb(x, t), acb(x, -t)
        # On the wrong side arguments, two of them in "replace", grow by c·|height| each.
        wrong = max(0.0, -t * height) * self.c * (2.0 if self.kind == "replace" else 1.0)
        (low, high), about = self._window(x, wrong), self.log_modulus(x, t, height)
        total = self.atom + arb(0, arb(self._left_out(x, height, wrong)).exp().upper())
        for branch in self.branches:
            up = acb(0, branch[0] * height)

            def integrand(v: acb, analytic: bool, branch: Any = branch, up: acb = up) -> Any:
                if not height:
                    exponent, loss = self._at(branch, v, analytic)
                    return (exponent + x * loss).exp()
                first, second = (self._at(branch, v + s, analytic) for s in (up, -up))
                return ((first[0] + z * first[1] + second[0] + turned * second[1]) / 2).exp()

            small = arb(2) ** -bits
            total += (
                acb.integral(
                    integrand,
                    acb(low),
                    acb(high),
                    rel_tol=small,
                    abs_tol=arb(about).exp() * small,
                    eval_limit=20_000,
                ).real
                / (2 * arb.pi()).sqrt()
            )
        if not total.is_finite() or total.rad() > abs(total.mid()) / 2:
            raise UndecidedError("a moment needs too much work")
        return total

    def exponentials(
        self, path: tuple[complex, complex], height: float, goals: Sequence[float]
    ) -> tuple[list[tuple[acb, acb]], tuple[float, float]]:
        """M(z) ≈ Σ weight·e^{(z−start)·loss} on a straight path in Im z ≥ 0.

        Returns the pairs (weight, loss), and logs of the errors at the path's ends, between which
        they are convex; `goals` are what these should be.
        """
        best = (0.0, 0.0)
        for share in (0.97, 0.8, 0.5, 0.25, 0.1, 0.04, 0.015):
            above = self.highest - height
            d = share * (min(above, height) if height else above)
            sizes = [
                max(self.log_modulus(z.real, z.imag, height + s * d) for s in (1, -1)) + 0.7
                for z in path
            ]
            worst = max(size - goal for size, goal in zip(sizes, goals, strict=True))
            best = max(best, (2.0 * math.pi * d / (max(worst, 0.0) + 2.0), d))
        step, reach = best
        windows = [self._window(z.real) for z in path]
        low, high = min(w[0] for w in windows), max(w[1] for w in windows)
        if (high - low) / step > 2e6:
            raise UndecidedError("too many inner nodes")
        k = np.arange(math.floor(low / step), math.ceil(high / step) + 1)
        alias, errors = (2 * arb.pi() * reach / arb(step)).expm1(), []
        for z in path:
            moduli = [self.modulus(z.real, z.imag, height + s * reach, 4) for s in (1, -1)]
            ends = arb(self._left_out(z.real, height)).exp()
            errors.append((sum(moduli, arb(0)) / alias).upper() + ends)
        found = [(acb(self.atom), acb(0))] if self.folded else []
        norm, log_norm = arb(step) / (2 * arb.pi()).sqrt(), math.log(step) - _LOG_ROOT
        for branch in self.branches:
            up = branch[0] * height
            exponent, loss = self._at(branch, k * step + 1j * up if up else k * step)
            logs = [(exponent + z * loss).real + log_norm for z in path]
            room = [goal - math.log(len(k)) - 2.0 for goal in goals]
            kept = (logs[0] > room[0]) | (logs[1] > room[1])
            if kept.sum() > _MOST_NODES:
                raise UndecidedError("too many inner nodes")
            for end, log in enumerate(logs):
                dropped = float(np.logaddexp.reduce(log[~kept], initial=-math.inf))
                errors[end] += arb(dropped + 0.5).exp() if dropped > -1e9 else 0
            for j in k[kept].tolist():
                value, at = self._at(branch, acb(arb(step) * j, up))
                found.append(((value + path[0].real * at).exp() * norm, at))
        first, last = (float(error.upper().log().upper()) + 1e-9 for error in errors)
        return found, (first, last)
