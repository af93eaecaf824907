"""δ(ε) of a composition with Gaussian noise, by a contour integral in balls.

With M(z) = E_P[e^{zL}] of the whole composition and any path from a point c > 0 to i·∞ that stays
in the upper half plane, δ(ε) = (1/π)·Im ∫ M(z)·e^{−zε} / (z(1+z)) dz. Two paths are tried.
*Upright*, from c: for many steps, whose |M| falls fast. *Leaning*, to x + iR and then upright: for
few steps, where L has nearly an atom and |M(c+it)| hardly falls; e^{z(atom−ε)} does if the path
leans right (atom below ε) or left (above). Each sampled step's M is replaced by a sum of
exponentials (`laws`), S. What is left is

* Gauss–Legendre of N points on each straight piece: (64/15)·B·ρ^{2−2N}/(1−ρ^{−2})·|half|, B a bound
  on the ellipse of radius ρ (Trefethen, ATAP, Theorem 19.3). |S| and |e^{−zε}| are bounded by sums
  of e^{linear in (x, t)}, whose logs are convex: B is attained at a corner of the rectangle around
  the ellipse, up to the factors that are bounded apart;
* |ΠM^n − ΠS^n| ≤ Σ n·e/(|S|+e)·Π(|S|+e)^n along the path, e the proved error of S;
* the rest of the path: |M(x+it)| for all t ≥ R is at most the modulus there, and 1/|z|² ≤ 1/t².
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb, ctx

from accountants.verify.exact import Atoms, Laplace, UndecidedError
from accountants.verify.laws import Law, Sum

_POINTS, _RADII, _MOST_PANELS = 24, (1.5, 2.0, 2.7, 4.0, 6.0, 10.0), 900
_FARTHEST = 600.0  # times the largest shift: how far an upright path may go
_FEW = 40  # releases for which a leaning path is tried


@lru_cache(maxsize=8)
def _rule(prec: int) -> list[tuple[arb, arb]]:
    """Gauss–Legendre on [−1, 1]."""
    with ctx.workprec(prec):
        return [arb.legendre_p_root(_POINTS, k, weight=True) for k in range(_POINTS)]


@dataclass
class Composition:
    """Factors of M with their counts: sampled steps, plain Gaussians as μ², discrete losses."""

    laws: list[tuple[Law, int]] = field(default_factory=list)
    mu_squared: arb = field(default_factory=lambda: arb(0))
    discrete: list[tuple[Atoms | Laplace, int]] = field(default_factory=list)

    def largest_loss(self) -> arb:
        """The sum of the largest losses; infinite where one is not bounded."""
        if not self.mu_squared.is_zero():
            return arb("inf")
        return sum((n * part.largest for part, n in (*self.laws, *self.discrete)), arb(0))

    def log_discrete(self, x: float) -> arb:
        """Log M(x) of the discrete losses; |M(z)| ≤ M(Re z), and it is convex."""
        parts = ((factor.moment(acb(x)).real.log(), n) for factor, n in self.discrete)
        return sum((n * log for log, n in parts), arb(0))

    def chernoff(self, epsilon: arb) -> arb:
        """A bound of δ(ε): the least of e^{K(x)−xε}·x^x/(1+x)^{1+x} at some x, and 1."""
        best = arb(1)
        for x in (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0):
            try:
                log = self.log_discrete(x) + self.mu_squared * x * (1 + arb(x)) / 2 - x * epsilon
                for law, n in self.laws:
                    log += n * law.modulus(x, bits=20 + n.bit_length()).upper().log()
                best = best.min((log + x * arb(x).log() - (1 + x) * arb(x).log1p()).exp().upper())
            except UndecidedError:
                continue
        return best

    def delta(self, epsilons: Sequence[arb], log_goal: float) -> list[arb]:
        """Balls for δ at each ε, which are close together; their radii aim at e^log_goal."""
        path = _Path(self, epsilons, log_goal)
        try:
            return path.upright()
        except UndecidedError:
            few = self.mu_squared.is_zero() and not self.discrete and path.count <= _FEW
            if not few:
                raise
        return path.leaning(float(epsilons[0].mid()) - sum(n * law.usual for law, n in self.laws))


class _Path:
    """One evaluation: the composition, ε's and the goal."""

    def __init__(self, whole: Composition, epsilons: Sequence[arb], log_goal: float) -> None:
        self.whole, self.laws, self.epsilons, self.goal = whole, whole.laws, epsilons, log_goal
        self.mu2 = float(whole.mu_squared.mid())
        self.floats = [float(epsilon.mid()) for epsilon in epsilons]
        self.count = 1 + sum(n for _, n in (*whole.laws, *whole.discrete))
        self.steepest = max((law.c for law, _ in whole.laws), default=0.0)
        self._memory: dict[float, float] = {}

    def _log_discrete(self, x: float) -> float:
        """An upper bound, about."""
        if x not in self._memory:
            with ctx.workprec(160):
                self._memory[x] = float(self.whole.log_discrete(x).mid()) + 1e-9
        return self._memory[x]

    def _log_kernel(self, x: float) -> float:
        return max(-x * epsilon for epsilon in self.floats)

    def _saddle(self) -> float:
        """About the minimum of the integrand on the positive axis; any c > 0 is valid."""

        def at(log_x: float) -> float:
            x = math.exp(log_x)
            try:
                total = sum(n * law.log_modulus(x) for law, n in self.laws) + self._log_discrete(x)
            except UndecidedError:
                return math.inf
            return total + self.mu2 * x * (1 + x) / 2 - x * self.floats[0] - log_x - math.log1p(x)

        best = min(np.arange(-13.0, 16.0, 1.0).tolist(), key=at)
        for width in (0.5, 0.25, 0.12, 0.06, 0.03):
            best = min((best - width, best, best + width), key=at)
        if at(best) == math.inf:
            raise UndecidedError("no saddle")
        return math.exp(best)

    def _beyond(self, x: float, t: float) -> arb:
        """The log of a bound of what lies beyond x + it, about."""
        total = self.mu2 * (x * x + x - t * t) / 2 - math.log(math.pi * t) + self._log_kernel(x)
        total += sum(n * law.best_height(x, t)[0] for law, n in self.laws)
        beyond = ((f.beyond(arb(x), arb(t)).log(), n) for f, n in self.whole.discrete)
        return total + sum((n * log for log, n in beyond), arb(0))

    def _proved_beyond(self, x: float, t: float) -> arb:
        """A bound of the same: a ball's upper end."""
        total = self.whole.mu_squared * (arb(x) ** 2 + x - arb(t) ** 2) / 2 - (arb.pi() * t).log()
        for law, n in self.laws:
            height = law.best_height(x, t)[1]
            total += n * law.modulus(x, t, height, 20 + n.bit_length()).upper().log()
        total += sum((n * f.beyond(arb(x), arb(t)).log() for f, n in self.whole.discrete), arb(0))
        return max(((total - x * e).exp().upper() for e in self.epsilons), key=float)

    def upright(self) -> list[arb]:
        """Along Re z = c."""
        c = self._saddle()
        t = 0.5 * c
        while self._beyond(c, t) > self.goal - 2.0:
            t *= 1.3
            if t > 1e4 * max(c, 1.0) or t * self.steepest > _FARTHEST:
                raise UndecidedError("the integrand falls too slowly")
        return self._along(complex(c), complex(c, t), 0.0)

    def leaning(self, gap: float) -> list[arb]:
        """To where e^{z(atom−ε)} is small; `gap` is ε − atom."""
        found = []
        for share in (1.05, 1.6, 2.5) if gap else ():
            x = share * -self.goal / gap
            t = 2.0 * abs(x) + 10.0 * self.steepest
            while (
                t < 1e7
                and abs(x) < 1e4
                and (
                    self._beyond(x, t) > self.goal - 2.0
                    # Many nodes would be needed where the modulus at a lower height is large.
                    or any(law.log_modulus(x, t, 0.3 * law.highest) > 8.0 for law, _ in self.laws)
                )
            ):
                t *= 1.5
            if t < 1e7 and abs(x) < 1e4:
                found.append((t, x))
        if not found:
            raise UndecidedError("the integrand falls too slowly")
        t, x = min(found)
        return self._along(complex(self._saddle()), complex(x, t), 0.6)

    def _along(self, start: complex, end: complex, share: float) -> list[arb]:
        """From `start` to `end` and beyond; nodes at this share of the greatest height."""
        self.start, self.end, sizes = start, end, []
        for z in (start, end):  # logs of the integrand at both ends, with the nodes' inflation
            logs = (
                n * law.log_modulus(z.real, z.imag, share * law.highest) for law, n in self.laws
            )
            size = self._log_discrete(z.real) + self._log_kernel(z.real) + sum(logs)
            sizes.append(size + self.mu2 * (z * (z + 1)).real / 2 - math.log(abs(z * (1 + z))))
        if not share:  # on an upright path |S| may stay as large as at its start
            sizes = [max(sizes)] * 2
        largest = abs(sizes[0]) + abs(start * self.floats[0]) + 2.0
        bits = (max(*sizes, self.goal) - self.goal + math.log(largest)) / math.log(2.0)
        with ctx.workprec(80 + int(bits) + self.count.bit_length()):
            room, sums = self.goal - math.log(abs(end - start) * 20.0 * self.count), []
            for law, n in self.laws:
                height = share * law.highest
                goals = [
                    min(room - size, -20.0) + law.log_modulus(z.real, z.imag, height)
                    for z, size in zip((start, end), sizes, strict=True)
                ]
                sums.append((law.nodes((start, end), height, goals), n))
            panels, missing = self._panels(sums)
            missing += self._proved_beyond(end.real, end.imag)
            return [total / arb.pi() + arb(0, missing.upper()) for total in self._sum(panels, sums)]

    def _panels(self, sums: Sequence[tuple[Sum, int]]) -> tuple[list[Any], arb]:
        """Shares (low, high) of the path, and a bound of the sum of all errors."""
        waiting, done, missing = [(0.0, 1.0)], [], -math.inf
        while waiting:
            low, high = waiting.pop()
            half, middle = (self.end - self.start) * ((high - low) / 2), (low + high) / 2
            centre = self.start + (self.end - self.start) * middle
            error = min(self._log_error(centre, half, rho, sums) for rho in _RADII)
            if error < self.goal - 9.0:
                done.append((low, high))
                replaced = self._log_replaced(centre, half, sums)
                missing = float(np.logaddexp.reduce([missing, error, replaced]))
            elif len(done) + len(waiting) > _MOST_PANELS:
                raise UndecidedError("too many panels")
            else:
                waiting += [(middle, high), (low, middle)]
        return done, arb(missing + 1e-3).exp()

    def _log_rest(self, centre: complex, corners: Sequence[complex], radius: float) -> float:
        """Log of a bound within the corners of all but the sums and e^{−zε}."""
        near = [abs(centre - pole) - radius for pole in (0, -1)]
        if min(near) <= 0.0:
            return math.inf
        square = max(z.real**2 + z.real for z in corners)
        square -= max(min(z.imag for z in corners), 0.0) ** 2
        most = self.mu2 * (square + 1e-12 * max(abs(z) ** 2 for z in corners)) / 2
        discrete = max(self._log_discrete(z.real) for z in corners) if self.whole.discrete else 0.0
        return discrete + most - math.log(near[0] * near[1]) + 1e-6

    def _log_error(self, centre: complex, half: complex, rho: float, sums: Any) -> float:
        """Log of the rule's error on a panel, by its ellipse of radius ρ."""
        a, b = half * (rho + 1 / rho) / 2, 1j * half * (rho - 1 / rho) / 2
        corners = [centre + a + b, centre + a - b, centre - a + b, centre - a - b]
        rest = self._log_rest(centre, corners, abs(a))
        if rest == math.inf:
            return rest
        logs = [sum(n * s.log_bound(z - self.start) for s, n in sums) for z in corners]
        size = max(log + self._log_kernel(z.real) for log, z in zip(logs, corners, strict=True))
        scale = math.log(64 / 15 * abs(half) / (1 - rho**-2) / math.pi)
        return float(size + rest + scale - (2 * _POINTS - 2) * math.log(rho))

    def _log_replaced(self, centre: complex, half: complex, sums: Any) -> float:
        """Log of ∫|ΠM^n − ΠS^n|·… along a panel: convex on it, log e below its chord."""
        total, ends = -math.inf, (centre - half, centre + half)
        for z in ends:
            p = abs(z - self.start) / abs(self.end - self.start)
            errors = [(1 - p) * s.errors[0] + p * s.errors[1] for s, _ in sums]
            bounds, counts = [s.log_bound(z - self.start) for s, _ in sums], [n for _, n in sums]
            logs = [float(log) for log in np.logaddexp(bounds, errors)]
            parts = list(zip(counts, errors, logs, strict=True))
            ways = [math.log(n) + e - log for n, e, log in parts]
            here = self._log_kernel(z.real) + sum(n * log for n, _, log in parts)
            total = max(total, here + float(np.logaddexp.reduce(ways, initial=-math.inf)))
        return total + self._log_rest(centre, ends, abs(half)) + math.log(2 * abs(half) / math.pi)

    def _sum(self, panels: list[Any], sums: Sequence[tuple[Sum, int]]) -> list[arb]:
        """The rule on all panels, in balls."""
        rule, base = _rule(ctx.prec), acb(self.start)
        whole = acb(arb(self.end.real) - self.start.real, self.end.imag)
        totals, inner = [arb(0) for _ in self.epsilons], dict[float, list[acb_mat]]()
        for low, high in panels:
            middle, half = whole * (arb(low) + arb(high)) / 2, whole * (arb(high) - arb(low)) / 2
            if high - low not in inner:
                inner[high - low] = [
                    acb_mat([[(half * x * loss).exp() for x, _ in rule] for loss in s.losses])
                    for s, _ in sums
                ]
            values = [w * half for _, w in rule]
            for (s, n), matrix in zip(sums, inner[high - low], strict=True):
                turned = [(middle * loss).exp() for loss in s.losses]
                row = acb_mat([[w * turn for w, turn in zip(s.weights, turned, strict=True)]])
                product = row * matrix
                values = [value * product[0, k] ** n for k, value in enumerate(values)]
            for value, (x, _) in zip(values, rule, strict=True):
                z = base + middle + half * x
                value *= (self.whole.mu_squared * z * (1 + z) / 2).exp() / (z * (1 + z))
                for factor, n in self.whole.discrete:
                    value *= factor.moment(z) ** n
                here = [(value * (-z * epsilon).exp()).imag for epsilon in self.epsilons]
                totals = [a + b for a, b in zip(totals, here, strict=True)]
        return totals
