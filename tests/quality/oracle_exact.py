"""Balls for δ(ε) where a finite formula exists: Gaussians, single sampled steps, losses with atoms.

`adaptive` raises the precision until a ball has enough significant bits, so that cancellation costs
time and never digits.
"""

import math
from functools import lru_cache

import numpy as np
from flint import acb, arb, arb_poly, arb_series, ctx

MOST_TERMS = 20_000
MOST_LAPLACE = 300


class UnknownError(ArithmeticError):
    """Nothing could be proved within the limits of work."""


def adaptive(compute, bits=70, most=6000):
    """compute() at a precision at which its ball has `bits` significant bits, or is exactly 0."""
    prec = 160
    while True:
        with ctx.workprec(prec):
            value = compute()
        if value.is_finite() and (value.is_zero() or value.rel_accuracy_bits() >= bits):
            return value
        prec *= 3
        if prec > most:
            return value


def upper_tail(x):
    """P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def gaussian(mu_squared, epsilon):
    """δ(ε) of N(0, 1) against N(μ, 1)."""
    mu = mu_squared.sqrt()
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if far > 10_000:  # Mills' ratio, since e^ε·φ(far) = φ(near); Arb's erfc is loose out there
        density = (-near * near / 2).exp() / (2 * arb.pi()).sqrt()
        second = (density * far / (1 + far * far)).union(density / far)
    else:
        second = epsilon.exp() * upper_tail(far)
    return upper_tail(near) - second


def fixed_size(rate, mu, epsilon):
    """q·δ_G(log(1 + (e^ε − 1)/q)): the symmetrised profile of one batch of fixed size, ε ≥ 0."""
    return rate * gaussian(mu * mu, (epsilon.expm1() / rate).log1p())


def _crossing(log_w, level):
    """A ball around the y at which the increasing function log_w is `level`."""
    low, high = arb(-1), arb(1)
    while not log_w(low) < level:
        low *= 2
    while not log_w(high) > level:
        high *= 2
    for _ in range(ctx.prec):
        middle = ((low + high) / 2).mid()
        here = log_w(middle)
        if here < level:
            low = middle
        elif here > level:
            high = middle
        else:
            break
    return low.union(high)


def one_step(weights, shifts, kind, epsilon):
    """δ(ε), ε ≥ 0, of the pair that `oracle_line.SampledLaw` describes."""
    alpha = epsilon.exp()

    def log_w(y):
        terms = zip(weights, shifts, strict=True)
        return sum((p * (c * y - c * c / 2).exp() for p, c in terms), arb(0)).log()

    def mixture(y):
        terms = zip(weights, shifts, strict=True)
        return sum((p * upper_tail(y - c) for p, c in terms), arb(0))

    floor = sum((p for p, c in zip(weights, shifts, strict=True) if c == 0), arb(0))
    if kind == "remove":
        y = _crossing(log_w, epsilon)
        return mixture(y) - alpha * upper_tail(y)
    if kind == "add":
        if not floor < 1 / alpha:
            if floor > 1 / alpha:
                return arb(0)
            raise UnknownError("ε is the largest loss")
        y = _crossing(log_w, -epsilon)
        return upper_tail(-y) - alpha * (1 - mixture(y))
    # Mirrored: P(x) = w(x), Q(x) = w(−x) with respect to N(0, 1), large losses at large x.
    y = _crossing(lambda x: log_w(x) - log_w(-x), epsilon)
    return mixture(y) - alpha * sum(
        (p * upper_tail(y + c) for p, c in zip(weights, shifts, strict=True)), arb(0)
    )


def discrete_laplace(a, shift, epsilon):
    """δ(ε) of the two-sided geometric law against its shift, once: a half-line is the best test."""
    if epsilon >= a * shift:
        return arb(0)
    bound = (shift - epsilon / a) / 2  # losses above ε are at the integers x < bound
    last = (bound.ceil() - 1).unique_fmpz()
    if last is None:
        last = bound.mid().floor().unique_fmpz()  # the loss there is ε itself: counts for nothing
    last = int(last)
    end = 1 / (1 + (-a).exp())
    below = end * (a * last).exp() if last < 0 else 1 - end * (-a * (last + 1)).exp()
    beyond = shift - last
    shifted = end * (-a * beyond).exp() if beyond >= 0 else 1 - end * (a * (beyond - 1)).exp()
    return below - epsilon.exp() * shifted


class Atoms:
    """A loss with finitely many values, as an exact factor: [(P-mass, loss)]."""

    laplace = 0

    def __init__(self, atoms, lattice=None):
        self.atoms = [(mass, loss) for mass, loss in atoms if not mass.is_zero()]
        self.lattice = lattice  # (first loss, step) if the losses are equidistant
        if len(self.atoms) > MOST_TERMS:
            raise UnknownError("too many atoms")

    def largest(self):
        """A ball with the largest loss."""
        value = self.atoms[0][1]
        for _, loss in self.atoms[1:]:
            value = value.max(loss)
        return value

    def moment(self, z):
        """E[e^{zL}], a ball."""
        return sum((mass * (z * loss).exp() for mass, loss in self.atoms), acb(0))

    @property
    @lru_cache(maxsize=1)  # noqa: B019
    def _floats(self):
        return (
            np.array([float(mass.log().mid()) for mass, _ in self.atoms]),
            np.array([float(loss.mid()) for _, loss in self.atoms]),
        )

    def log_moment(self, x):
        """log E[e^{xL}], in doubles."""
        return float(np.logaddexp.reduce(self._floats[0] + x * self._floats[1]))

    def power(self, count):
        """[(coefficient, loss, number of Laplace factors at their upper end)] of the n-th power."""
        if len(self.atoms) == 1:
            mass, loss = self.atoms[0]
            return [(mass**count, loss * count, 0)]
        if len(self.atoms) == 2:
            (m0, l0), (m1, l1) = self.atoms
            return [
                (c * m0 ** (count - k) * m1**k, l0 * (count - k) + l1 * k, 0)
                for k, c in enumerate(_binomials(count))
            ]
        if self.lattice is None or (len(self.atoms) - 1) * count > MOST_TERMS:
            raise UnknownError("too many atoms")
        first, step = self.lattice
        powers = list(arb_poly([mass for mass, _ in self.atoms]) ** count)
        return [(mass, first * count + step * k, 0) for k, mass in enumerate(powers)]


class Laplace:
    """Lap(0, b) against Lap(1, b), `top` = 1/b; M(z) = ((1+z)e^{z/b} + z·e^{−(1+z)/b})/(1+2z)."""

    laplace = 1

    def __init__(self, top):
        self.top = top

    def largest(self):
        """A ball with the largest loss."""
        return self.top

    def moment(self, z):
        """E[e^{zL}], a ball."""
        return ((1 + z) * (z * self.top).exp() + z * (-(1 + z) * self.top).exp()) / (1 + 2 * z)

    def log_moment(self, x):
        """log E[e^{xL}], in doubles."""
        top = float(self.top.mid())
        return x * top + math.log((1 + x + x * math.exp(-(1 + 2 * x) * top)) / (1 + 2 * x))

    def power(self, count):
        """Terms of M^n without (1+z)^k z^(n−k)/(1+2z)^n; see `Atoms.power`."""
        return [
            (c * (-self.top * (count - k)).exp(), self.top * (2 * k - count), k)
            for k, c in enumerate(_binomials(count))
        ]


def _binomials(count):
    if count > MOST_TERMS:
        raise UnknownError("too many terms")
    value, found = arb(1), []
    for k in range(count + 1):
        found.append(value)
        value = value * (count - k) / (k + 1)
    return found


def terms(factors):
    """M of the composition as a sum: [(coefficient, loss, Laplace factors at their upper end)]."""
    found = [(arb(1), arb(0), 0)]
    for factor, count in factors:
        power = factor.power(count)
        if len(found) * len(power) > MOST_TERMS:
            raise UnknownError("too many terms")
        found = [(a * b, x + y, j + k) for a, x, j in found for b, y, k in power]
    return found


def atomic(factors, epsilon):
    """δ(ε) of a composition of `Atoms` and `Laplace`: residues of M(z)e^{−zε}/(z(z+1)).

    Each term of M is e^{zl}·(1+z)^K·z^{N−K}/(1+2z)^N. If l < ε the contour closes to the right,
    where there is no pole; else to the left: z = 0 if K = N, z = −1 if K = 0, and z = −1/2 of order
    N.
    """
    total_laplace = sum(count for factor, count in factors if factor.laplace)
    if total_laplace > MOST_LAPLACE:
        raise UnknownError("too many Laplace releases")
    residues = {}
    total = arb(0)
    for coefficient, loss, upper in terms(factors):
        reach = loss - epsilon
        if reach <= 0:
            continue
        value = arb(0)
        if total_laplace == 0:
            value = -(-reach).expm1()
        else:
            if upper not in residues:
                residues[upper] = _at_minus_half(total_laplace, upper)
            power, inner = arb(1), arb(0)
            for j, c in enumerate(reversed(residues[upper])):
                inner += c * power
                power = power * reach / (j + 1)
            value = inner * (-reach / 2).exp()
            if upper == total_laplace:
                value += 1
            if upper == 0:
                value -= (-reach).exp()
        if not reach > 0:
            value = value.union(arb(0))
        total += coefficient * value
    return total


def _at_minus_half(count, upper):
    """Coefficients x^0 … x^(N−1) of (½+x)^(K−1)·(x−½)^(N−K−1)·2^(−N), padded to length N."""
    old = ctx.cap
    ctx.cap = count
    try:
        x = arb_series([0, 1])
        series = arb_series([1])
        for base, power in ((x + arb(0.5), upper - 1), (x - arb(0.5), count - upper - 1)):
            series = series * base**power if power >= 0 else series / base
        found = [series[j] / arb(2) ** count for j in range(count)]
    finally:
        ctx.cap = old
    return found
