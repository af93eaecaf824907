"""δ(ε) in balls where a finite formula exists: Gaussians, one sampled step, losses with atoms."""

from collections.abc import Callable, Sequence
from functools import reduce

from flint import acb, arb, arb_poly, arb_series, ctx

_MOST_TERMS = 20_000


class UndecidedError(ArithmeticError):
    """Nothing could be proved within the limits of work; the message is the reason."""


def adaptive(compute: Callable[[], arb], bits: int = 90) -> arb:
    """compute() at a precision at which its ball has so many significant bits, or is exactly 0."""
    for prec in (192, 576, 1728, 5184):
        with ctx.workprec(prec):
            value = compute()
        if value.is_finite() and (value.is_zero() or value.rel_accuracy_bits() >= bits):
            break
    return value


def tail(x: arb) -> arb:
    """P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def gaussian(mu_squared: arb, epsilon: arb) -> arb:
    """δ(ε) of N(0, 1) against N(μ, 1): Balle, Wang 2018, Theorem 8."""
    mu = mu_squared.sqrt()
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if far > 10_000:  # Mills' ratio is between x/(1+x²) and 1/x; Arb's erfc is loose out there
        density = (-near * near / 2).exp() / (2 * arb.pi()).sqrt()
        return tail(near) - (density * far / (1 + far * far)).union(density / far)
    return tail(near) - epsilon.exp() * tail(far)


def one_step(rate: arb, c: arb, kind: str, epsilon: arb) -> arb:
    """δ(ε), ε ≥ 0, of one step of `laws.Law` with weights (1−q, q) at (0, c), read off densities.

    P > e^ε·Q on a half-line. For "remove" and "symmetric" this is Balle, Barthe, Gaboardi 2018,
    Theorem 2, q·δ_G(log(1 + (e^ε − 1)/q)); "add" is the same pair reversed, at −ε.
    """
    if kind == "replace":  # w(y) = e^ε·w(−y) is quadratic in e^{cy}
        k, half = rate * (-c * c / 2).exp(), epsilon.expm1() * (1 - rate) / 2
        y = ((half + (half * half + epsilon.exp() * k * k).sqrt()) / k).log() / c
        above = (1 - rate) * tail(y) + rate * tail(y - c)
        return above - epsilon.exp() * ((1 - rate) * tail(y) + rate * tail(y + c))
    if kind != "add":
        return rate * gaussian(c * c, (epsilon.expm1() / rate).log1p())
    inside = (-epsilon).expm1() / rate + 1
    if inside <= 0:
        return arb(0)
    return epsilon.exp() * rate * (gaussian(c * c, inside.log()) - 1 + inside)


class Atoms:
    """Equidistant losses with their P-masses, the first at `first`."""

    laplace = 0

    def __init__(self, masses: Sequence[arb], first: arb, step: arb) -> None:
        self.masses, self.first, self.step = list(masses), first, step
        self.largest = first + step * (len(masses) - 1)

    def moment(self, z: acb) -> acb:
        """E[e^{zL}]."""
        return (z * self.first).exp() * arb_poly(self.masses)((z * self.step).exp())

    def beyond(self, x: arb, _: arb) -> arb:
        """A bound of |M(x+it')| for all t' ≥ t."""
        return self.moment(acb(x)).real


class Laplace(Atoms):
    """Lap(0, b) against Lap(1, b), with 1/b: M = ((1+z)e^{z/b} + z·e^{−(1+z)/b})/(1+2z).

    As atoms: those of M without (1+z)^k·z^(1−k)/(1+2z), k being 0 and 1.
    """

    laplace = 1

    def __init__(self, largest: arb) -> None:
        super().__init__([(-largest).exp(), arb(1)], -largest, 2 * largest)
        self.largest = largest

    def moment(self, z: acb) -> acb:
        """E[e^{zL}]."""
        top, bottom = (z * self.largest).exp(), (-(1 + z) * self.largest).exp()
        return ((1 + z) * top + z * bottom) / (1 + 2 * z)

    def beyond(self, x: arb, t: arb) -> arb:
        """|1+z|/|1+2z| falls in t, for x > 0, and |z|/|1+2z| < 1/2."""
        share = (((1 + x) ** 2 + t * t) / ((1 + 2 * x) ** 2 + 4 * t * t)).sqrt()
        return share * (x * self.largest).exp() + (-(1 + x) * self.largest).exp() / 2


def few(factors: Sequence[tuple[Atoms, int]], laplace: int) -> bool:
    """Whether `atomic` can take them all, so many of Laplace's at most."""
    terms = reduce(lambda all_, part: all_ * (1 + part[1] * (len(part[0].masses) - 1)), factors, 1)
    return terms <= _MOST_TERMS and sum(n * part.laplace for part, n in factors) <= laplace


def atomic(factors: Sequence[tuple[Atoms, int]], epsilon: arb) -> arb:
    """δ(ε) without Gaussians: residues of M(z)e^{−zε}/(z(z+1)).

    Each term of M is e^{zl}(1+z)^k z^(N−k)/(1+2z)^N. If l < ε the contour closes to the right,
    where there is no pole; else to the left, with z = 0 if k = N, z = −1 if k = 0, and z = −1/2 of
    order N.
    """
    releases = sum(n * factor.laplace for factor, n in factors)
    terms, residues, total = [(arb(1), arb(0), 0)], dict[int, list[arb]](), arb(0)
    for part, n in factors:
        powers = list(enumerate(list(arb_poly(part.masses) ** n)))
        terms = [
            (a * b, x + part.first * n + part.step * j, k + part.laplace * j)
            for a, x, k in terms
            for j, b in powers
        ]
    for coefficient, loss, k in terms:
        reach = loss - epsilon
        if reach <= 0:
            continue
        value, each = arb(0), arb(1)
        if releases and k not in residues:
            residues[k] = _at_minus_half(releases, k)
        for j, c in enumerate(reversed(residues[k]) if releases else ()):
            value += c * each
            each = each * reach / (j + 1)
        value *= (-reach / 2).exp()
        value += (1 if k == releases else 0) - ((-reach).exp() if k == 0 else 0)
        total += coefficient * (value if reach > 0 else value.union(arb(0)))
    return total


def _at_minus_half(count: int, k: int) -> list[arb]:
    """The first `count` coefficients of (½+x)^(k−1)·(x−½)^(count−k−1)·2^(−count)."""
    old, ctx.cap = ctx.cap, count
    try:
        x, series = arb_series([0, 1]), arb_series([1])
        for base, power in ((x + arb(0.5), k - 1), (x - arb(0.5), count - k - 1)):
            series = series * base**power if power >= 0 else series / base
        return [series[j] / arb(2) ** count for j in range(count)]
    finally:
        ctx.cap = old
