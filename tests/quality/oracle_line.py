"""A rigorous ball for δ(ε) of a composition whose noise is Gaussian, by a line integral.

With M(z) = E_P[e^{zL}] of the whole composition and c > 0,

    δ(ε) = (1/π)·Re ∫_0^∞ M(c+it)·e^{−(c+it)ε} / ((c+it)(1+c+it)) dt.

* **M at a node**: the product of the factors' quadratures, whose errors they prove themselves
  (`oracle_sampled`, `oracle_fixed_size`).
* **Panels in t**: Gauss–Legendre of N points errs by at most (64/15)·B·ρ^{2−2N}/(1−ρ^{−2}) times
  half the panel, B a bound on the ellipse of radius ρ (Trefethen, ATAP, Theorem 19.3). |M(z)| ≤
  M(Re z) is log-convex in Re z, so B is attained at the leftmost or rightmost point.
* **The rest of the line**: the factors bound |M(c+it')| for all t' ≥ t.

Floats choose c, panels and where to stop; then all errors are proved in balls. Nothing is shared
with `accountants`: no code, no quadrature, no error model.
"""

import math

from flint import acb, acb_mat, arb, ctx
from oracle_exact import UnknownError
from oracle_rule import POINTS, rule

MOST_PRODUCTS = 1_500_000


class Line:
    """δ(ε) near one ε, for factors [(SampledLaw, count)], μ² of plain Gaussians and exact factors.

    sampled: laws with `log_moment(x)` and `tail(x, t)` (floats, to choose by) and `moment(x)`,
    `tail_bound(x, t)` and `nodes` (proved).
    exact: laws with `log_moment(x)` (float) and `moment(z)` (acb).
    """

    def __init__(self, sampled, mu_squared, exact, epsilon, *, digits=17, max_panels=600):
        self.sampled, self.exact = sampled, exact
        self.mu_squared, self.mu2 = mu_squared, float(mu_squared.mid())
        self.total = sum(count for _, count in sampled) + sum(count for _, count in exact) + 1
        self.log_target = -digits * math.log(10.0)
        self.max_panels = max_panels
        self.epsilon = epsilon
        self.tilt = self._saddle(epsilon)
        self._prepare()

    def log_moment(self, x):
        """log M(x) of the composition, about."""
        total = 0.5 * self.mu2 * x * (1.0 + x)
        for law, count in (*self.sampled, *self.exact):
            total += count * law.log_moment(x)
        return total

    def proved_log_moment(self, x, instead=None):
        """A ball with log M(x); instead(law, x) is taken where a factor's takes too much work."""
        total = self.mu_squared * x * (1 + arb(x)) / 2
        for law, count in self.sampled:
            try:
                total += count * law.moment(x).log()
            except UnknownError:
                if instead is None:
                    raise
                total += count * instead(law, x)
        for law, count in self.exact:
            total += count * law.moment(acb(x)).real.log()
        return total

    def _height(self, x):
        return self.log_moment(x) - x * self.epsilon - math.log(x) - math.log1p(x)

    def _saddle(self, epsilon):
        """The minimum of the integrand on the real axis; any c > 0 is valid."""
        return self._least(self._height, 8)

    def chernoff_tilt(self):
        """About where Chernoff's bound, K(x) − xε + x·log x − (1+x)·log(1+x), is least."""

        def bound(x):
            return self.log_moment(x) - x * self.epsilon - x * math.log1p(1 / x) - math.log1p(x)

        return self._least(bound, 42)

    def _least(self, function, rounds):
        """About the minimum of a convex function: factors of 4 in c, then a golden section."""
        best, value = None, math.inf
        walk = math.log(1e-9)
        while walk < math.log(1e13):
            try:
                here = function(math.exp(walk))
            except UnknownError:
                break
            if here < value:
                best, value = walk, here
            elif best is not None and here > value:
                break
            walk += 1.4
        if best is None:
            raise UnknownError("no saddle")
        low, high = best - 1.4, min(best + 1.4, walk)
        known = {best: value}

        def at(place):
            if place not in known:
                try:
                    known[place] = function(math.exp(place))
                except UnknownError:
                    known[place] = math.inf
            return known[place]

        gold = 0.5 * (math.sqrt(5.0) - 1.0)
        one, two = high - gold * (high - low), low + gold * (high - low)
        for _ in range(rounds):
            if at(one) < at(two):
                high, two = two, one
                one = high - gold * (high - low)
            else:
                low, one = one, two
                two = low + gold * (high - low)
        return math.exp(min(known, key=known.__getitem__))

    def _log_error(self, c, half):
        """(log of a panel's error on the line of c, about, and the ellipse's ρ)."""
        best = (math.inf, 0.0)
        for rho in (1.3, 1.7, 2.2, 3.0, 4.0, 6.0, 10.0):
            across = half * (rho - 1 / rho) / 2
            if c - across <= 0.05 * c:
                continue  # the moments left of zero are not bounded here
            size = -math.inf
            try:
                for x in (c - across, c + across):
                    size = max(size, self.log_moment(x) - x * self.epsilon)
            except UnknownError:
                continue
            size += math.log(64 / 15 * half / (1 - rho**-2) / math.pi)
            size -= math.log(c - across) + math.log(1.0 + c - across)
            best = min(best, (size - (2 * POINTS - 2) * math.log(rho), rho))
        return best

    def _longest(self, c, longest, goal):
        """Half the length of the longest panels on the line of c whose error is below a goal."""
        half = longest
        while self._log_error(c, half)[0] > goal:
            half /= 1.4
            if half < 1e-3 * longest:
                return 0.0
        return half

    def _proved_error(self, half, rho):
        """A ball whose upper end bounds the log of one panel's error, any panel's."""
        rho = arb(rho)
        across = float((arb(half) * (rho - 1 / rho) / 2).upper()) * (1.0 + 1e-15)
        left, right = self.tilt - across, self.tilt + across
        if left <= 0.0:
            raise UnknownError("the ellipse is too wide")
        size = [self.proved_log_moment(x) - x * arb(self.epsilon) for x in (left, right)]
        size = size[0].max(size[1])
        size += (arb(64) / 15 * arb(half) / (1 - rho**-2) / arb.pi()).log()
        size -= (arb(left) * (1 + arb(left))).log()
        return size - (2 * POINTS - 2) * rho.log()

    def _prepare(self):
        saddle = self.tilt
        # Scale of the result, for relative targets: the saddle's second derivative.
        width = 1e-3 * saddle
        second = sum(w * self._height(saddle + k * width) for k, w in ((1, 1), (-1, 1), (0, -2)))
        scale = 1.0 / math.sqrt(max(second / width**2, 1e-30))
        log_size = self._height(saddle) + math.log(min(scale, saddle)) - 3.0
        goal = log_size + self.log_target
        # Left of the saddle the panels may be longer: heavy tails grow on its right.
        lines = [(self._longest(c, 4.0 * scale, goal - 3.0), c) for c in self._places(saddle)]
        half, c = max(lines)
        if not half:
            raise UnknownError("no panel is short enough")
        self.tilt = c
        t_max = 4.0 * scale
        while self._beyond(t_max) > goal:
            t_max *= 1.4
            if t_max / (2 * half) > self.max_panels:
                raise UnknownError("the integrand falls too slowly")
        self.half, self.panels = half, math.ceil(t_max / (2 * half))
        t_max = 2 * half * self.panels
        base = self.log_moment(c) - c * self.epsilon
        bits = 64 + int((base - goal) * 1.45) + int(math.log2(self.total))
        biggest = abs(self.log_moment(c)) + c * abs(self.epsilon) + 1e3 * c
        self.prec = bits + int(math.log2(biggest + 2.0))
        with ctx.workprec(self.prec):
            panels = self.panels * self._proved_error(half, self._log_error(c, half)[1]).exp()
            self.missing = panels + self._proved_beyond(t_max).exp()
        # |1/(z(1+z))| is below 1/(c(1+c)), and the line is t_max long.
        self._evaluate(t_max, goal - base + math.log(c) + math.log1p(c) - math.log(t_max))

    def _places(self, saddle):
        base = self._height(saddle)
        for share in (1.0, 0.75, 0.5, 0.3):
            if self._height(share * saddle) < base + 35.0:
                yield share * saddle

    def _beyond(self, t):
        """log of (1/π)∫_t^∞ |…| dt, with e^{−cε}: at most about this."""
        c = self.tilt
        total = 0.5 * self.mu2 * (c * c + c - t * t)
        for law, count in self.sampled:
            total += count * law.tail(c, t)[0]
        for law, count in self.exact:
            total += count * law.log_moment(c)
        return total - c * self.epsilon - math.log(math.pi * t)

    def _proved_beyond(self, t):
        """The same as a ball; the plain Gaussians' factor falls in t as the others' bounds do."""
        c, t_ball = arb(self.tilt), arb(t)
        total = self.mu_squared * (c * c + c - t_ball * t_ball) / 2
        for law, count in self.sampled:
            total += count * law.tail_bound(self.tilt, t).log()
        for law, count in self.exact:
            total += count * law.moment(acb(c)).real.log()
        return total - c * arb(self.epsilon) - (arb.pi() * t_ball).log()

    def _evaluate(self, t_max, log_relative):
        with ctx.workprec(self.prec):
            nodes, c, half = rule(self.prec), arb(self.tilt), arb(self.half)
            i = acb(0, 1)
            centres = [half * (2 * p + 1) for p in range(self.panels)]
            points = [
                (acb(c, centres[p] + half * x), w) for p in range(self.panels) for x, w in nodes
            ]
            values = [acb(1)] * len(points)
            for law, count in self.sampled:
                room = log_relative - math.log(self.total) - 4.0
                weights, losses, log_error = law.nodes(self.tilt, t_max, room, self.prec)
                if len(points) * len(losses) > MOST_PRODUCTS:
                    raise UnknownError("too many products")
                inner = acb_mat(
                    [[(i * (half * x * loss)).exp() for loss in losses] for x, _ in nodes]
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
        with ctx.workprec(self.prec):
            moved = arb(self.tilt) * abs(epsilon - arb(self.epsilon))
            if not moved < 0.7:
                raise UnknownError("too far from the line's ε")
            total = arb(0)
            for (z, _), value in zip(self.points, self.values, strict=True):
                total += (value * (-z * epsilon).exp()).real
            # The bounds are attained at real parts below 2c.
            missing = self.missing * (2 * moved).exp()
            return total / arb.pi() + arb(0, missing.upper())
