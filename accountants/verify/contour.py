"""δ(ε) of a composition with Gaussian noise, by Fourier inversion in balls.

With M(z) = E_P[e^{zL}] of the whole composition, F(z) = M(z)·e^{−zε}/(z(1+z)) is the transform of
s ↦ δ(ε+s). Each sampled step's M is replaced by a sum S of exponentials (`laws`).

*Upright*, for many steps, whose |M| falls fast. Poisson's summation over c + ihk, with P = 2π/h:
(h/2π)·Σ F(c+ihk) = Σ δ(ε+mP)·e^{cmP} over all whole m. No term is negative; those with m < 0 add up
to at most 1/(e^{cP}−1), as δ ≤ 1, those with m > 0 to at most M(x)e^{−xε}/(e^{(x−c)P}−1) for any
x > c, as δ(s) ≤ M(x)e^{−xs}. The terms k > K are at most B·h/(hk)² with B ≥ |M(c+it)|, t ≥ hK.

*Leaning*, for few steps, where L has nearly an atom and |M(c+it)| hardly falls; e^{z(atom−ε)} does
if the path leans right (atom below ε) or left (above): δ(ε) = (1/π)·Im ∫ F from c straight to
x + iR, by Arb's integration with its proved error, and then upright, where |F| ≤ B·e^{−xε}/t².
Taking S for M costs Σ n·e·Π(|S|+e)^n/(|S|+e), e the error of S: a sum of functions whose logs are
convex along the path, so it is largest at an end.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb, ctx

from accountants.verify.exact import (
    Atoms,
    UndecidedError,
    adaptive,
    atomic,
    few,
    gaussian,
    one_step,
)
from accountants.verify.laws import Law

PREC = 500  # of parameters: more than any computation uses but the adaptive ones
_FARTHEST = 600.0  # times the largest shift: how far an upright path may go
_MOST_TERMS = 30_000_000  # points of the path times terms of S
_FEW_LAPLACE, _MOST_LAPLACE = 300, 1_000  # taken exactly at once, and at last
_FEW = 150  # releases for which a leaning path is tried


@dataclass(eq=False)
class Composition:
    """Factors of M with their counts: sampled steps, plain Gaussians as μ², discrete losses."""

    laws: list[tuple[Law, int]] = field(default_factory=list)
    mu_squared: arb = field(default_factory=lambda: arb(0))
    discrete: list[tuple[Atoms, int]] = field(default_factory=list)

    def largest_loss(self) -> arb:
        """The sum of the largest losses; infinite where one is not bounded."""
        if not self.mu_squared.is_zero():
            return arb("inf")
        largest = [(part.largest, n) for part, n in self.laws]
        largest += [(part.largest, n) for part, n in self.discrete]
        return sum((n * loss for loss, n in largest), arb(0))

    def log_moment(self, x: float) -> arb:
        """A ball for log M(x), x > 0."""
        total = self.mu_squared * x * (1 + arb(x)) / 2
        total += sum((n * part.moment(acb(x)).real.log() for part, n in self.discrete), arb(0))
        laws = ((law.modulus(x, bits=20 + n.bit_length()).log(), n) for law, n in self.laws)
        return sum((n * log for log, n in laws), total)

    def profile(
        self, epsilons: Sequence[float], delta: float, goal: float
    ) -> list[tuple[arb, str]]:
        """For each ε a ball for δ(ε), and why it is no better; radii aim at δ·e^goal."""
        with ctx.workprec(PREC):
            exact = [arb(epsilon) for epsilon in epsilons]
            try:
                return [(ball, "") for ball in self.delta(exact, math.log(delta) + goal)]
            except (UndecidedError, OverflowError, ZeroDivisionError) as error:
                bounds = [self.chernoff(epsilon) for epsilon in exact]
                return [(b.union(arb(0)), "" if b < delta else str(error)) for b in bounds]

    def delta(self, epsilons: Sequence[arb], log_goal: float) -> list[arb]:
        """Balls for δ at each ε, ε's that are close together; their radii aim at e^log_goal."""
        top, plain = self.largest_loss(), not self.mu_squared.is_zero()
        if all(top <= epsilon for epsilon in epsilons):
            return [arb(0) for _ in epsilons]
        if not self.laws and not self.discrete:
            return [adaptive(partial(gaussian, self.mu_squared, e)) for e in epsilons]
        by_residues = [partial(atomic, self.discrete, epsilon) for epsilon in epsilons]
        atoms_only = not self.laws and not plain
        if atoms_only and few(self.discrete, _FEW_LAPLACE):
            return [adaptive(residues) for residues in by_residues]
        law, n = self.laws[0] if self.laws else (None, 0)
        if law and n == len(self.laws) and not plain and not self.discrete and law.rate:
            return [adaptive(partial(one_step, law.rate, law.shift, law.kind, e)) for e in epsilons]
        path = _Path(self, epsilons, log_goal)
        try:
            return path.upright()
        except UndecidedError:
            if atoms_only and few(self.discrete, _MOST_LAPLACE):
                return [adaptive(residues) for residues in by_residues]
            if path.count > _FEW or plain or self.discrete:
                raise
        return path.leaning()

    def chernoff(self, epsilon: arb) -> arb:
        """A bound of δ(ε): the least of e^{K(x)−xε}·x^x/(1+x)^{1+x} at some x, and 1."""
        best = arb(1)
        for x in (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0):
            try:
                log = self.log_moment(x) - x * epsilon
            except UndecidedError:
                continue
            best = best.min((log + x * arb(x).log() - (1 + x) * arb(x).log1p()).exp().upper())
        return best


class _Path:
    """One evaluation: the composition, ε's and the goal."""

    def __init__(self, whole: Composition, epsilons: Sequence[arb], log_goal: float) -> None:
        self.whole, self.laws, self.epsilons, self.goal = whole, whole.laws, epsilons, log_goal
        self.mu2, self.epsilon = float(whole.mu_squared.mid()), float(epsilons[0].mid())
        self.count = 1 + sum(n for _, n in (*whole.laws, *whole.discrete))
        self.start = self._saddle()

    def _log_integrand(self, x: float, t: float = 0.0, share: float = 0.0) -> float:
        """About log |F(x+it)|, or a bound with nodes at this share of the greatest height."""
        z, logs = complex(x, t), 0.0
        for part, n in self.whole.discrete:
            logs += n * float(part.moment(acb(x)).real.log().mid())
        for law, n in self.laws:
            logs += n * law.log_modulus(x, t, share * law.highest)
        square = self.mu2 * (z * (1 + z)).real / 2
        return logs + square - x * self.epsilon - math.log(abs(z * (1 + z)))

    def _saddle(self) -> float:
        """About the minimum of F on the positive axis; any c > 0 is valid."""

        def at(log_x: float) -> float:
            try:
                return self._log_integrand(math.exp(log_x))
            except UndecidedError:
                return math.inf

        best = min(np.arange(-13.0, 16.0, 1.0).tolist(), key=at)
        for width in (0.5, 0.25, 0.12, 0.06, 0.03):
            best = min((best - width, best, best + width), key=at)
        if at(best) == math.inf:
            raise UndecidedError("no saddle")
        return math.exp(best)

    def _beyond(self, x: float, t: float, proved: bool = False) -> arb:
        """(1/π)∫|F| beyond x + it: a bound, or its log, about."""
        total = self.whole.mu_squared * (arb(x) ** 2 + x - arb(t) ** 2) / 2 - (arb.pi() * t).log()
        total += sum((n * f.beyond(arb(x), arb(t)).log() for f, n in self.whole.discrete), arb(0))
        for law, n in self.laws:
            log, height = law.best_height(x, t)
            bits = 20 + n.bit_length()
            total += n * (law.modulus(x, t, height, bits).upper().log() if proved else arb(log))
        logs = [total - x * epsilon for epsilon in self.epsilons]
        return max((log.exp().upper() for log in logs), key=float) if proved else logs[0]

    def upright(self) -> list[arb]:
        """Along Re z = c."""
        c, steepest = self.start, max((law.c for law, _ in self.laws), default=0.0)
        t, size = 0.5 * c, self._log_integrand(c)
        while not self._beyond(c, t) < self.goal - 2.0:
            t *= 1.3
            if t > 1e4 * max(c, 1.0) or t * steepest > _FARTHEST:
                raise UndecidedError("the integrand falls too slowly")
        period, x = min(self._periods(c))
        h = 2.0 * math.pi / period
        points = math.ceil(t / h)
        with ctx.workprec(self._bits(size)):
            exact = 2 * arb.pi() / h
            sums = self._sums((complex(c), complex(c, points * h)), 0.0, [size, size])
            if points * sum(len(terms) for terms, _, _ in sums) > _MOST_TERMS:
                raise UndecidedError("too many terms")
            side, totals = math.isqrt(points) + 1, [arb(0) for _ in self.epsilons]
            values = [_grid(terms, h, side) for terms, _, _ in sums]
            for k in range(points + 1):
                z, value = acb(c, arb(h) * k), acb(0.5 if k == 0 else 1.0)
                for grid, (_, n, (first, last)) in zip(values, sums, strict=True):
                    wrong = arb(0, (first + (arb(last) - first) * k / points).exp().upper())
                    value *= (grid[k // side, k % side] + acb(wrong, wrong)) ** n
                value *= self._rest(z)
                here = [(value * (-z * epsilon).exp()).real for epsilon in self.epsilons]
                totals = [a + b for a, b in zip(totals, here, strict=True)]
            left = self._beyond(c, points * h, proved=True)
            low, moment = 1 / (c * exact).expm1(), self.whole.log_moment(x)
            high = [(moment - x * e).exp() / ((x - arb(c)) * exact).expm1() for e in self.epsilons]
            missing = [arb(0, (left + low + one).upper()) for one in high]
            return [h * a / arb.pi() + b for a, b in zip(totals, missing, strict=True)]

    def _periods(self, c: float) -> list[tuple[float, float]]:
        """(P for which both sums of what is not wanted are small, x) for some x."""
        found = []
        for share in (1.001, 1.003, 1.01, 1.03, 1.1, 1.3, 1.7, 2.5, 5.0):
            x = share * c
            try:
                log = self._log_integrand(x) + math.log(x * (1.0 + x))
            except UndecidedError:
                continue
            wanted = 3.0 - self.goal
            found.append((max(wanted / c, (wanted + log) / (x - c)), x))
        if not found:
            raise UndecidedError("no moment beyond the saddle")
        return found

    def leaning(self) -> list[arb]:
        """To where e^{z(atom−ε)} is small."""
        ends, gap = [], self.epsilon - sum(n * law.usual for law, n in self.laws)
        for share in (1.05, 1.6, 2.5) if gap else ():
            x = share * -self.goal / gap
            t = 2.0 * abs(x) + 10.0 * max(law.c for law, _ in self.laws)
            while (
                t < 1e7
                and abs(x) < 1e4
                and (
                    not self._beyond(x, t) < self.goal - 2.0
                    # Many nodes would be needed where the modulus at a lower height is large.
                    or any(law.log_modulus(x, t, 0.3 * law.highest) > 8.0 for law, _ in self.laws)
                )
            ):
                t *= 1.5
            if t < 1e7 and abs(x) < 1e4:
                ends.append((t, x))
        if not ends:
            raise UndecidedError("the integrand falls too slowly")
        t, x = min(ends)
        start, end = complex(self.start), complex(x, t)
        sizes = [self._log_integrand(z.real, z.imag, 0.6) for z in (start, end)]
        with ctx.workprec(self._bits(max(sizes))):
            sums = self._sums((start, end), 0.6, sizes)
            missing = self._replaced(sums, start, end) + self._beyond(x, t, proved=True)
            found = list[arb]()
            for epsilon in self.epsilons:

                def integrand(z: acb, analytic: bool, epsilon: arb = epsilon) -> acb:
                    value = self._rest(z) * (-z * epsilon).exp()
                    for terms, n, _ in sums:
                        value *= sum((w * ((z - start) * at).exp() for w, at in terms), acb(0)) ** n
                    return value

                small = arb(self.goal - 3.0).exp()
                integral = acb.integral(
                    integrand, acb(start), acb(end), abs_tol=small, rel_tol=small, eval_limit=9_000
                )
                found.append(integral.imag / arb.pi() + arb(0, missing.upper()))
            return found

    def _sums(
        self, path: tuple[complex, complex], share: float, sizes: Sequence[float]
    ) -> list[tuple[list[tuple[acb, acb]], int, tuple[float, float]]]:
        """For each sampled step: terms of S, count, logs of its errors at the path's ends."""
        room, sums = self.goal - math.log(abs(path[1] - path[0]) * 20.0 * self.count), []
        for law, n in self.laws:
            height = share * law.highest
            goals = [
                min(room - size, -20.0) + law.log_modulus(z.real, z.imag, height)
                for z, size in zip(path, sizes, strict=True)
            ]
            terms, errors = law.exponentials(path, height, goals)
            sums.append((terms, n, errors))
        return sums

    def _replaced(self, sums: Sequence[Any], start: complex, end: complex) -> arb:
        """A bound of (1/π)∫|F − F with S for M| along the path."""
        length, worst = acb(end - start).abs_upper(), []
        for k, z in enumerate((start, end)):
            product, ways = arb(1), arb(0)
            for terms, n, errors in sums:
                wrong, along = arb(errors[k]).exp(), acb(z) - acb(start)
                sizes = ((w * (along * at).exp()).abs_upper() for w, at in terms)
                size = sum(sizes, wrong)
                product, ways = product * size**n, ways + n * wrong / size
            worst += [(product * ways * (-z.real * e).exp()).upper() for e in self.epsilons]
        # From 0 and −1 to the path's line.
        near = arb(start.real) * (1 + arb(start.real)) * (end.imag / length) ** 2
        return max(worst, key=float) * length / (arb.pi() * near)

    def _bits(self, size: float) -> int:
        angle = abs(self.start * self.epsilon) + 2.0
        bits = (max(size, self.goal) - self.goal + math.log(angle)) / math.log(2.0)
        return 80 + int(bits) + self.count.bit_length()

    def _rest(self, z: acb) -> acb:
        """F without sampled steps and without e^{−zε}."""
        value = (self.whole.mu_squared * z * (1 + z) / 2).exp() / (z * (1 + z))
        for part, n in self.whole.discrete:
            value *= part.moment(z) ** n
        return value


def _grid(terms: Sequence[tuple[acb, acb]], h: float, side: int) -> acb_mat:
    """S at start + ihk, in row k // side and column k % side."""
    coarse = [[w * (acb(0, h) * (side * k) * at).exp() for w, at in terms] for k in range(side)]
    fine = [[(acb(0, h) * k * at).exp() for k in range(side)] for _, at in terms]
    return acb_mat(coarse) * acb_mat(fine)
