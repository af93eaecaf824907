"""A rigorous ball for δ(ε) of a composition whose noise is Gaussian, by a line integral.

With M(z) = E_P[e^{zL}] of the whole composition and c > 0,

    δ(ε) = (1/π)·Re ∫_0^∞ M(c+it)·e^{−(c+it)ε} / ((c+it)(1+c+it)) dt.

What is computed in balls (Arb) and what is bounded beside:

* **M at a node**: a factor of a sampled Gaussian is ∫ φ(y)·e^{α(y)+zℓ(y)} dy with
  α = log dP/dN(0,1) and ℓ the loss; trapezoid rule on the whole line in balls. φ·e^{α+zℓ} is
  analytic where no mixture vanishes, |Im y| < π/c_max (there all terms of a mixture lie in an open
  half-plane), so the rule errs by at most (N₊ + N₋)/(e^{2πd/h} − 1), N± the integrals of the
  modulus along Im y = ±d. Nodes left out are summed up in modulus.
* **Panels in t**: Gauss–Legendre of N points errs by at most (64/15)·B·ρ^{2−2N}/(1−ρ^{−2}) times
  half the panel, B a bound on the ellipse of radius ρ (Trefethen, ATAP, Theorem 19.3). |M(z)| ≤
  M(Re z) is log-convex in Re z, so B is attained at the leftmost or rightmost point.
* **The rest of the line**: moving y to Im y = η gives |M(c+it)| ≤ ∫|φ e^{α+cℓ}|·e^{−t·Im ℓ} with
  Im ℓ ≥ 0: a bound that falls in t, so that it holds for all larger t.

Bounds (not values) are taken in doubles, as sums of positive analytic functions at a step that
resolves them: not ball arithmetic, but they only ever multiply something like 1e-20. Nothing is
shared with `accountants`: no code, no quadrature, no error model.
"""

import math
from functools import lru_cache

import numpy as np
from flint import acb, acb_mat, arb, ctx
from oracle_exact import UnknownError

POINTS = 24
_STEEP = 8.0  # steps of the majorants' sums per unit of the narrowest feature


@lru_cache(maxsize=8)
def _rule(prec):
    with ctx.workprec(prec):
        return [arb.legendre_p_root(POINTS, k, weight=True) for k in range(POINTS)]


class SampledLaw:
    """Σ pᵢ·N(cᵢ, 1) with N(0, 1), as the loss of one ordered pair.

    kind: "remove": P is the mixture; "add": P is N(0, 1); "replace": P is the mixture mirrored, Q
    the mixture.
    """

    def __init__(self, weights, shifts, kind):
        self.weights, self.shifts, self.kind = weights, shifts, kind
        with np.errstate(divide="ignore"):
            self.log_p = np.array([float(p.log().mid()) for p in weights])
        self.c = np.array([float(c.mid()) for c in shifts])
        self.c_max = float(self.c.max())
        self.sign = 1.0 if kind == "remove" else -1.0  # the side of the y-line where Im ℓ > 0
        self.step = min(1.0, 1.0 / self.c_max) / _STEEP

    def _log_w(self, y):
        terms = self.log_p[:, None] + np.multiply.outer(self.c, y) - 0.5 * self.c[:, None] ** 2
        top = terms.real.max(axis=0)
        first = np.exp(terms - top)
        return top + np.log(first.sum(axis=0))

    def parts(self, y):
        """(α, ℓ) at real or complex y, in doubles."""
        if self.kind == "replace":
            ours = self._log_w(-y)
            return ours, ours - self._log_w(y)
        log_w = self._log_w(y)
        return (log_w, log_w) if self.kind == "remove" else (0.0 * y, -log_w)

    def grid(self, tilt):
        """Places that cover all of e^{E}, and a bound of E's slope without −y²/2."""
        slope = (1.0 + 2.0 * tilt) * self.c_max
        reach = slope + 12.0
        count = 2.0 * reach / self.step
        if count > 3e5:
            raise UnknownError("too wide")
        return np.linspace(-reach, reach, max(400, int(count))), slope

    def log_integral(self, tilt, height=0.0, t=0.0):
        """A bound of log ∫|φ e^{α+zℓ}| along Im y = height, z = tilt + it; twice the integral."""
        y, _ = self.grid(tilt)
        alpha, loss = self.parts(y + 1j * height if height else y)
        log = alpha.real + tilt * loss.real - t * loss.imag - 0.5 * (y * y - height * height)
        top = log.max()
        if log[0] > top - 40 or log[-1] > top - 40:
            raise UnknownError("majorant is cut off")
        return top + math.log(np.exp(log - top).sum() * (y[1] - y[0]) / math.sqrt(2 * math.pi))

    def log_moment(self, tilt):
        """log M(tilt), in doubles: to about 1e-13."""
        return self.log_integral(tilt)

    def tail(self, tilt, t):
        """A bound of log|M(tilt + it')| for all t' ≥ t."""
        best = self.log_moment(tilt)
        limit = min(0.9 * math.pi / self.c_max, 6.0)
        for height in limit * 2.0 ** -np.arange(0.0, 24.0, 1.0):
            here = self.log_integral(tilt, self.sign * height, t)
            if here > best + 1e-12 and best < self.log_moment(tilt) - 1e-12:
                break
            best = min(best, here)
        return best + 1e-12

    def nodes(self, tilt, t_max, log_error, prec):
        """Weights e^{α+cℓ}φ·h, losses and the error's log, for all z = tilt + it, t ≤ t_max."""
        log_m = self.log_moment(tilt)
        step = 0.0
        for share in (0.95, 0.8, 0.6, 0.4, 0.2):
            d = min(share * math.pi / self.c_max, 8.0 * share)
            size = max(
                self.log_integral(tilt, self.sign * d, 0.0),
                self.log_integral(tilt, -self.sign * d, t_max),
            )
            step = max(step, 2 * math.pi * d / (size + math.log(4.0) - log_m - log_error + 1.0))
        step = float(2.0 ** math.floor(math.log2(step) * 8) if step > 1e6 else step)
        y, slope = self.grid(tilt)
        reach = y[-1]
        if 2 * reach / step > 1e5:
            raise UnknownError("too many inner nodes")
        k = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)
        alpha, loss = self.parts(k * step)
        log = alpha + tilt * loss - 0.5 * (k * step) ** 2 + math.log(step / math.sqrt(2 * math.pi))
        order = np.argsort(log)
        left_out = np.logaddexp.accumulate(log[order]) < log_m + log_error - 1.0
        beyond = max(log[0], log[-1]) + math.log(2.0 + 2.0 / (step * (reach - slope)))
        if beyond > log_m + log_error:
            raise UnknownError("nodes are cut off")
        kept = np.sort(k[order[~left_out]])
        if len(kept) > 6000:
            raise UnknownError("too many inner nodes")
        with ctx.workprec(prec):
            norm = arb(step) / (2 * arb.pi()).sqrt()
            weights, losses = [], []
            for j in kept.tolist():
                at = arb(step) * j
                alpha, loss = self._ball_parts(at)
                weights.append(norm * (alpha + arb(tilt) * loss - at * at / 2).exp())
                losses.append(loss)
        return weights, losses, log_m + log_error + math.log(4.0)

    def _ball_log_w(self, y):
        return sum(
            (p * (c * y - c * c / 2).exp() for p, c in zip(self.weights, self.shifts, strict=True)),
            arb(0),
        ).log()

    def _ball_parts(self, y):
        if self.kind == "replace":
            ours = self._ball_log_w(-y)
            return ours, ours - self._ball_log_w(y)
        log_w = self._ball_log_w(y)
        return (log_w, log_w) if self.kind == "remove" else (arb(0), -log_w)


class Line:
    """δ(ε) near one ε, for factors [(SampledLaw, count)], μ² of plain Gaussians and exact factors.

    exact: objects with `moment(z)` (acb) and `log_moment(x)` (float), MGFs of laws of losses.
    """

    def __init__(
        self, sampled, mu_squared, exact, epsilon, *, digits=17, tilt=None, max_panels=400
    ):
        self.sampled, self.exact = sampled, exact
        self.mu_squared, self.mu2 = mu_squared, float(mu_squared.mid())
        self.total = sum(count for _, count in sampled) + sum(count for _, count in exact) + 1
        self.log_target = -digits * math.log(10.0)
        self.max_panels = max_panels
        self.epsilon = epsilon
        self.tilt = tilt or self._saddle(epsilon)
        self._prepare()

    def log_moment(self, x):
        """Bound of log M(x) of the composition, in doubles."""
        total = 0.5 * self.mu2 * x * (1.0 + x)
        for law, count in (*self.sampled, *self.exact):
            total += count * (law.log_moment(x) + 2e-13)
        return total

    def _height(self, x):
        return self.log_moment(x) - x * self.epsilon - math.log(x) - math.log1p(x)

    def _saddle(self, epsilon):
        """The minimum of the integrand on the real axis; any c > 0 is valid."""
        low, high = math.log(1e-9), math.log(1e-9)
        best, value = None, math.inf
        # The function is convex; walk up in factors of 4, then golden section in log c.
        walk = high
        while walk < math.log(1e13):
            try:
                here = self._height(math.exp(walk))
            except UnknownError:
                break
            if here < value:
                best, value = walk, here
            elif best is not None and walk > best + 3:
                break
            walk += 1.4
        if best is None:
            raise UnknownError("no saddle")
        low, high = best - 1.4, min(best + 1.4, walk)
        known = {best: value}

        def at(place):
            if place not in known:
                try:
                    known[place] = self._height(math.exp(place))
                except UnknownError:
                    known[place] = math.inf
            return known[place]

        gold = 0.5 * (math.sqrt(5.0) - 1.0)
        one, two = high - gold * (high - low), low + gold * (high - low)
        for _ in range(14):
            if at(one) < at(two):
                high, two = two, one
                one = high - gold * (high - low)
            else:
                low, one = one, two
                two = low + gold * (high - low)
        return math.exp(min(known, key=known.__getitem__))

    def _log_error(self, half, centre):
        """log of the panel's error relative to e^{log M(c) − cε}, best over ellipses."""
        c, best = self.tilt, math.inf
        base = self.log_moment(c) - c * self.epsilon
        for rho in (1.3, 1.7, 2.2, 3.0, 4.0, 6.0, 10.0):
            across, along = half * (rho - 1 / rho) / 2, half * (rho + 1 / rho) / 2
            distance = max(c - across, centre - along)
            if distance <= 0.05 * c or (c - across <= -0.5 and centre < along):
                continue
            if c - across <= 0.0:
                continue  # the moments left of zero are not bounded here
            size = -math.inf
            for x in (c - across, c + across):
                size = max(size, self.log_moment(x) - x * self.epsilon)
            size += math.log(64 / 15 * half / (1 - rho**-2) / math.pi)
            size -= math.log(distance) + math.log(max(distance, 1.0 + c - across))
            best = min(best, size - (2 * POINTS - 2) * math.log(rho))
        return best - base

    def _prepare(self):
        c = self.tilt
        base = self.log_moment(c) - c * self.epsilon
        # Scale of the result, for relative targets: the saddle's second derivative.
        width = 1e-3 * c
        second = (
            self._height(c + width) + self._height(c - width) - 2 * self._height(c)
        ) / width**2
        scale = 1.0 / math.sqrt(max(second, 1e-30))
        log_size = -math.log(c) - math.log1p(c) + math.log(min(scale, c)) - 3.0
        goal = log_size + self.log_target
        half = 4.0 * scale
        while self._log_error(half, half) > goal - 3.0:
            half /= 1.4
            if half < 1e-3 * scale:
                raise UnknownError("no panel is short enough")
        t_max = 4.0 * scale
        while self._beyond(t_max) - base > goal:
            t_max *= 1.5
            if t_max / (2 * half) > self.max_panels:
                raise UnknownError("the integrand falls too slowly")
        self.half, self.panels = half, math.ceil(t_max / (2 * half))
        t_max = 2 * half * self.panels
        error = self._log_error(half, half) + math.log(self.panels)
        self.log_missing = np.logaddexp(self._beyond(t_max) - base, error) + base
        bits = 64 + int(-self.log_target * 1.45) + int(math.log2(self.total))
        biggest = abs(self.log_moment(c)) + c * abs(self.epsilon) + 1e3 * c
        self.prec = bits + int(math.log2(biggest + 2.0))
        self._evaluate(t_max, goal - log_size)

    def _beyond(self, t):
        """log of a bound of (1/π)∫_t^∞ |…| dt, with e^{−cε}."""
        c = self.tilt
        total = 0.5 * self.mu2 * (c * c + c - t * t)
        for law, count in self.sampled:
            total += count * law.tail(c, t)
        for law, count in self.exact:
            total += count * (law.log_moment(c) + 2e-13)
        return total - c * self.epsilon - math.log(math.pi * t)

    def _evaluate(self, t_max, log_relative):
        with ctx.workprec(self.prec):
            rule, c, half = _rule(self.prec), arb(self.tilt), arb(self.half)
            i = acb(0, 1)
            centres = [half * (2 * p + 1) for p in range(self.panels)]
            points = [
                (acb(c, centres[p] + half * x), w) for p in range(self.panels) for x, w in rule
            ]
            values = [acb(1)] * len(points)
            for law, count in self.sampled:
                room = log_relative - math.log(self.total) - 4.0
                weights, losses, log_error = law.nodes(self.tilt, t_max, room, self.prec)
                inner = acb_mat(
                    [[(i * (half * x * loss)).exp() for loss in losses] for x, _ in rule]
                )
                turn = [(i * (2 * half * loss)).exp() for loss in losses]
                column = [
                    w * (i * (half * loss)).exp() for w, loss in zip(weights, losses, strict=True)
                ]
                columns = []
                for _ in range(self.panels):
                    columns.append(column)
                    column = [a * b for a, b in zip(column, turn, strict=True)]
                product = acb_mat(columns) * inner.transpose()
                radius = arb(log_error).exp().upper()
                ball = acb(arb(0, radius), arb(0, radius))
                for p in range(self.panels):
                    for k in range(POINTS):
                        at = p * POINTS + k
                        values[at] = values[at] * (product[p, k] + ball) ** count
            for at, (z, w) in enumerate(points):
                value = values[at] * (self.mu_squared * z * (1 + z) / 2).exp()
                for law, count in self.exact:
                    value *= law.moment(z) ** count
                values[at] = value * w * half / (z * (1 + z))
            self.points, self.values = points, values

    def delta(self, epsilon):
        """The ball for δ at an ε near the one that the line was made for."""
        if abs(float(epsilon.mid()) - self.epsilon) * self.tilt > 0.7:
            raise UnknownError("too far from the line's ε")
        with ctx.workprec(self.prec):
            total = arb(0)
            for (z, _), value in zip(self.points, self.values, strict=True):
                total += (value * (-z * epsilon).exp()).real
            missing = (arb(self.log_missing) + 1).exp().upper()
            return total / arb.pi() + arb(0, missing)
