"""Writes fourier_pairs.json: exact eps(delta) of other T-fold dominating pairs, by other means.

    python tests/golden/make_fourier_pairs.py     (needs python-flint; 20 seconds)

Independent of `accountants`: nothing of it is imported. All inputs are the exact binary64 values
of the JSON numbers. Each row says how many significant digits of its strings are certain
("digits").

replace_one          P = (1-q) N(0,s²) + q N(-1,s²), Q = (1-q) N(0,s²) + q N(+1,s²); symmetric.
fixed_size_lower     N(0,1) against A = (1-q) N(0,1) + q N(2/s,1); "remove" is P = A, "add"
                     P = N(0,1). This is the Poisson pair of noise multiplier s/2, so
                     `point` of make_fourier_poisson computes it.
fixed_size_upper     symmetrised: with Q0 = N(0,1) and w = A/Q0 the law of the loss under P has, for
                     l > 0, A's mass of log w, for l < 0 the mass that Q0 puts on log w = -l, and
                     the rest as an atom at 0.
laplace              Lap(0,b) against Lap(1,b); "scale" is b.
randomized_response  k "answers"; the truth with probability 1-p+p/k, any other answer with p/k.

Method of replace_one and fixed_size_upper: the moment-generating function of a step's loss under P
is M(z) = sum_k a_k exp(z l_k), a quadrature rule with geometric convergence: the trapezoid rule in
y on the whole line (replace_one), the exp-transformed trapezoid rule y = y* + exp(v - exp(-v)) on
the half line w > 1 (fixed_size_upper). Then

    delta(eps) = 1/(2 pi i) * integral of M(z)^T e^(-z eps) / (z (z+1)) dz,   Re z = theta > 0,

by the trapezoid rule in u, z = theta + i r sinh u, cut off where the integrand is 1e-40 of its
peak, the step halved until the rules on even and on odd nodes agree to 20 digits (the error of
their mean is then of the order of that squared). All sums are in ball arithmetic. Each number is
computed twice, with another theta, r, outer step and inner step; "digits" is the agreement of the
two, less one, at most 27. If T = 1: closed form in erfc, bracketed rigorously.

Method of laplace: M(z) = ((1+z) e^(z/b) + z e^(-(1+z)/b)) / (1+2z). Expanding M^T by the binomial
theorem and closing the contour term by term (right if the exponent is negative, which gives
nothing, left otherwise) leaves the residues at z = -1/2 and, from the term e^(zT/b), z = 0:

    delta(eps) = sum over k with B_k = (2k-T)/b - eps > 0 of C(T,k) e^(-(T-k)/b) ([k=T] + R_k),
    R_k = coefficient of x^(T-1) in (1/2+x)^(k-1) (x-1/2)^(T-k-1) 2^(-T) e^((x-1/2) B_k),

a finite sum of exact rationals times exponentials: ball arithmetic makes it rigorous. eps by
bisection, then bracketed within a relative 1e-28. T = 1 is compared with 1 - e^((eps-1/b)/2), T =
2 with a quadrature.

Method of randomized_response: a finite multinomial sum in ball arithmetic, solved for eps in
closed form between two consecutive atoms of the loss: rigorous.
"""

import datetime
import math
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from make_fourier_poisson import (
    LOG10,
    NoConvergenceError,
    agreed,
    bisect,
    flint,
    point,
    text,
    write,
)

PREC = 260
TAIL = 40 * LOG10


def normal(x):
    return (-x / flint.arb(2).sqrt()).erfc() / 2


# ---- quadrature rules: lists of (weight under P, loss) -------------------------------------------


def replace_one_rule(s, q, step):
    s, q = flint.arb(s), flint.arb(q)
    step = step * min(1.0, float(s.mid()))
    # P's tail: y down to about -1/s - 16; the tilt by z moves it by z/s more
    reach = 24 + 12 / float(s.mid())
    rule = []
    for k in range(-math.ceil(reach / step), math.ceil(reach / step) + 1):
        y = flint.arb(k) * flint.arb(step)
        minus = 1 - q + q * (-y / s - 1 / (2 * s * s)).exp()
        plus = 1 - q + q * (y / s - 1 / (2 * s * s)).exp()
        weight = flint.arb(step) * (-y * y / 2).exp() / (2 * flint.arb.pi()).sqrt()
        rule.append((weight * minus, (minus / plus).log()))
    return rule


def upper_rule(s, q, step):
    half, q = (
        flint.arb(s) / 2,
        flint.arb(q),
    )  # w = 1-q+q exp(y/half - 1/(2 half²)), w > 1 for y > y*
    start = 1 / (2 * half)
    step = flint.arb(step)
    rule = []
    for k in range(math.floor(-4.8 / float(step)), math.ceil(4.2 / float(step)) + 1):
        v = step * k
        gap = (v - (-v).exp()).exp()
        dy = step * gap * (1 + (-v).exp())
        y = start + gap
        weight = dy * (-y * y / 2).exp() / (2 * flint.arb.pi()).sqrt()
        # w - 1 = q (exp(gap/half) - 1)
        excess = q * (gap / half).expm1()
        loss = excess.log1p()
        rule.append((weight * (1 + excess), loss))
        rule.append((weight, -loss))
    above = normal(-start)
    atom = 1 - above - ((1 - q) * above + q * normal(start))
    rule.append((atom, flint.arb(0)))
    return rule


# ---- the vertical contour ------------------------------------------------------------------------


class Vertical:
    """delta(eps) of T steps whose loss under P has E[e^(zL)] = sum a e^(zl) over the rule."""

    def __init__(self, rule, steps):
        self.rule = [(a, loss) for a, loss in rule if a.mid() > flint.arb(10) ** -200]
        self.T = steps
        self.log_a = np.array([float(a.log().mid()) for a, _ in self.rule])
        self.loss = np.array([float(loss.mid()) for _, loss in self.rule])

    def saddle(self, theta):
        """(eps, sigma, log delta) of the saddle-point approximation, in double."""
        log = self.log_a + theta * self.loss
        top = log.max()
        weight = np.exp(log - top)
        total = weight.sum()
        mean = (weight * self.loss).sum() / total
        var = self.T * (weight * (self.loss - mean) ** 2).sum() / total
        var += 1 / theta**2 + 1 / (theta + 1) ** 2
        eps = self.T * mean - 1 / theta - 1 / (theta + 1)
        log_delta = self.T * (top + math.log(total)) - theta * eps - math.log(theta * (theta + 1))
        return eps, math.sqrt(var), log_delta - 0.5 * math.log(2 * math.pi * var)

    def find_saddle(self, delta):
        low, high = -30.0, 6.0
        for _ in range(60):
            mid = (low + high) / 2
            eps, _, log_delta = self.saddle(math.exp(mid))
            low, high = (low, mid) if eps > 0 and log_delta < math.log(delta) else (mid, high)
        return math.exp(low)

    def build(self, theta, radius, h):
        """Nodes (z, M^T z' / (z (z+1))) with the step that is needed for 28 digits."""
        self.theta, self.a = theta, self.saddle(theta)[0]
        self.r = radius / self.saddle(theta)[1]
        peak = self.log_a + theta * self.loss
        kept = peak > peak.max() - 105 - math.log(self.T)
        if kept[0] and self.log_a[0] > -60:
            raise NoConvergenceError("rule too short")
        self.kept = [term for term, keep in zip(self.rule, kept, strict=True) if keep]
        nodes, k, top, below = [], 0, -1e9, 0
        while below < 3:
            nodes.append(self.node(flint.arb(h) * k))
            size = self.size(nodes[-1])
            top, k = max(top, size), k + 1
            below = below + 1 if size < top - TAIL else 0
            if k * h > 14:
                raise NoConvergenceError("outer cut-off")
        while True:
            odd = [
                self.node(flint.arb(h) * (flint.arb(j) + flint.arb(0.5))) for j in range(len(nodes))
            ]
            one, two = self.total(nodes, h, True)[0], self.total(odd, h, False)[0]
            nodes = [node for pair in zip(nodes, odd, strict=True) for node in pair]
            h /= 2
            gap = float(abs(((one - two) / (one + two)).mid()))
            if gap < 1e-20:
                self.nodes, self.h = nodes, h
                return self
            if h < 1 / 300:
                raise NoConvergenceError(f"outer step {gap:.1e}")

    def node(self, u):
        z = flint.acb(flint.arb(self.theta), flint.arb(self.r) * u.sinh())
        value = flint.acb(0)
        for a, loss in self.kept:
            value += a * (z * loss).exp()
        return z, value**self.T * flint.arb(self.r) * u.cosh() / (z * (z + 1))

    def size(self, node):
        upper = node[1].abs_upper()
        return float(upper.log().mid()) if upper > 0 else -1e9

    def total(self, nodes, h, with_zero, eps=None):
        """(integral, its derivative in eps)."""
        eps = flint.arb(self.a if eps is None else eps)
        total, slope = flint.acb(0), flint.acb(0)
        for j, (z, value) in enumerate(nodes):
            item = value * (-z * eps).exp()
            if with_zero and j == 0:
                item = item / 2
            total += item
            slope -= z * item
        scale = flint.arb(h) / flint.arb.pi()
        return total.real * scale, slope.real * scale

    def epsilon(self, delta, start):
        eps, target = flint.arb(start), flint.arb(delta)
        for _ in range(80):
            value, slope = self.total(self.nodes, self.h, True, eps)
            move = ((value / target).log() * value / slope).mid()
            eps = (eps - move).mid()
            if abs(move) < abs(eps) * flint.arb(10) ** -31:
                return eps
        raise NoConvergenceError("Newton")


def solve(rule, s, q, steps, delta, inner):
    """(eps, digits): two contours, two inner rules."""
    values = []
    for step, move, radius, h in (
        (inner[0], 1.0, 2.0, 0.25),
        (inner[1], 0.9, 1.4, 0.21),
        (inner[1], 0.8, 1.2, 0.23),
        (inner[0], 0.7, 1.0, 0.22),
    ):
        engine = Vertical(rule(s, q, step), steps)
        theta = engine.find_saddle(delta)
        start = engine.saddle(theta)[0]
        try:
            values.append(engine.build(theta * move, radius, h).epsilon(delta, start))
        except NoConvergenceError as reason:
            print("   ", s, q, steps, reason, file=sys.stderr)
        if len(values) == 2:
            return values[0], agreed(*values)
    raise NoConvergenceError(f"{s} {q} {steps} {delta}")


# ---- T = 1 in closed form ------------------------------------------------------------------------


def replace_one_single(s, q, eps):
    """delta(eps) of one step: P > e^eps Q left of the root of minus = e^eps plus."""
    s, q = flint.arb(s), flint.arb(q)
    big = eps.exp()
    # q c x^-1 + (1-q) - big ((1-q) + q c x) = 0 with x = e^(y/s), c = exp(-1/(2s²))
    c = (-1 / (2 * s * s)).exp()
    b = (big - 1) * (1 - q)
    x = (-b + (b * b + 4 * big * q * q * c * c).sqrt()) / (2 * big * q * c)
    y = s * x.log()
    return (1 - q) * (1 - big) * normal(y) + q * normal(y + 1 / s) - big * q * normal(y - 1 / s)


# ---- Laplace and randomised response, exactly ----------------------------------------------------


class Laplace:
    def __init__(self, scale, steps):
        self.b, self.T = flint.arb(scale), steps
        self.terms = []
        half = flint.fmpq(1, 2)
        plus, minus = flint.fmpq_poly([half, 1]), flint.fmpq_poly([-half, 1])
        for k in range(1, steps + 1):
            if 2 * k <= steps:  # B_k > 0 needs 2k > T for eps >= 0
                continue
            poly = plus ** (k - 1)
            if k < steps:
                poly = poly * minus ** (steps - k - 1)
                coefficients = [poly[j] for j in range(steps)]
            else:  # 1/(x - 1/2) = -2 sum (2x)^i
                coefficients = [
                    sum(
                        (-poly[i] * 2 * flint.fmpz(2) ** (j - i) for i in range(j + 1)),
                        flint.fmpq(0),
                    )
                    for j in range(steps)
                ]
            # coefficient of x^(T-1) of poly e^(xB) is sum_j p_j B^(T-1-j)/(T-1-j)!
            inverse = flint.fmpq(1) / flint.fmpz(2) ** steps
            row = []
            for power in range(steps):
                factorial = flint.fmpz(math.factorial(power))
                row.append(flint.arb(coefficients[steps - 1 - power] * inverse / factorial))
            weight = math.comb(steps, k) * (-flint.arb(steps - k) / self.b).exp()
            self.terms.append((k, weight, row))

    def delta(self, eps):
        total = flint.arb(0)
        for k, weight, row in self.terms:
            exponent = flint.arb(2 * k - self.T) / self.b - eps
            if not exponent > 0:
                continue
            value = flint.arb(0)
            for coefficient in reversed(row):
                value = value * exponent + coefficient
            value = value * (-exponent / 2).exp()
            total += weight * (value + (1 if k == self.T else 0))
        return total

    def epsilon(self, delta):
        delta = flint.arb(delta)
        if self.delta(flint.arb(0)) < delta:
            return flint.arb(0)
        return bisect(self.delta, delta, 0, self.T / self.b)


def laplace_two_by_quadrature(scale, eps):
    """T = 2: one step by Arb's rigorous integral over its loss, the other in closed form."""
    b, eps = flint.arb(scale), flint.arb(eps)

    def single(e):  # delta_1 at any real e
        if e >= 1 / b:
            return flint.arb(0)
        if e <= -1 / b:
            return 1 - e.exp()
        return 1 - ((e - 1 / b) / 2).exp()

    # loss 1/b with 1/2, -1/b with e^(-1/b)/2, (1-2x)/b with density e^(-x/b)/(2b) on 0 < x < 1
    total = single(eps - 1 / b) / 2 + (-1 / b).exp() / 2 * single(eps + 1 / b)
    # delta_1(eps - (1-2x)/b): 1 - exp((eps - 2/b + 2x/b)/2) as long as eps + 2x/b < 2/b
    end = 1 - b * eps / 2
    end = end if end < 1 else flint.arb(1)
    if end > 0:

        def integrand(x, _):
            inner = 1 - ((flint.acb(eps) - 2 / b + 2 * x / b) / 2).exp()
            return (-x / b).exp() / (2 * b) * inner

        total += flint.acb.integral(integrand, flint.acb(0), flint.acb(end)).real
    return total


def response_epsilon(p, k, steps, delta):
    """(eps(delta), delta(0)) of randomised response, from the law of #truth - #other."""
    p, delta = flint.arb(p), flint.arb(delta)
    high, low = 1 - p + p / k, p / k
    rest = 1 - high - low if k > 2 else flint.arb(0)
    unit = (high / low).log()
    under_p, under_q = {}, {}
    for i in range(steps + 1):
        for j in range(steps + 1 - i):
            if i <= j or (k == 2 and i + j < steps):
                continue
            ways = math.comb(steps, i) * math.comb(steps - i, j) * rest ** (steps - i - j)
            under_p[i - j] = under_p.get(i - j, 0) + ways * high**i * low**j
            under_q[i - j] = under_q.get(i - j, 0) + ways * high**j * low**i
    # delta(eps) = A_m - e^eps B_m while the losses m, m+1, ... (times unit) exceed eps
    zero = sum(under_p.values()) - sum(under_q.values())
    if zero <= delta:
        return flint.arb(0), zero
    for m in sorted(under_p):
        a = sum(value for d, value in under_p.items() if d >= m)
        b = sum(value for d, value in under_q.items() if d >= m)
        if a - (m * unit).exp() * b <= delta:  # the root is below this atom
            return ((a - delta) / b).log(), zero
    raise NoConvergenceError("randomised response")


# ---- which points --------------------------------------------------------------------------------

REPLACE = [
    (1.0, 0.01, 1000, 1e-5),
    (5.0, 0.02, 2500, 1e-4),
    (2.0, 0.1, 500, 1e-5),
    (0.8, 0.001, 10**5, 1e-6),
    (0.5, 0.05, 200, 1e-6),
    (10.0, 0.5, 10**4, 1e-5),
    (1.0, 0.01, 10**4, 1e-10),
    (1.5, 0.3, 50, 1e-8),
    (3.0, 0.01, 10**6, 1e-6),
    (1.0, 1.0, 20, 1e-5),
    (1.0, 0.1, 1, 1e-3),
    (2.0, 0.5, 1, 1e-5),
]
LOWER = [
    (1.0, 0.01, 1000, 1e-5),
    (5.0, 0.02, 2500, 1e-4),
    (2.0, 0.1, 500, 1e-5),
    (4.0, 0.05, 1, 1e-6),
    (10.0, 0.2, 1000, 1e-8),
]
UPPER = [
    (1.0, 0.01, 1000, 1e-5),
    (5.0, 0.02, 2500, 1e-4),
    (2.0, 0.1, 500, 1e-5),
    (1.5, 0.002, 10**5, 1e-6),
    (10.0, 0.2, 1000, 1e-8),
    (3.0, 0.05, 300, 1e-6),
    (1.0, 0.01, 1000, 1e-12),
]
LAPLACE = [
    (scale, steps, delta)
    for scale in (0.5, 1.0, 3.0, 10.0)
    for steps in (1, 2, 5, 20, 100)
    for delta in (1e-2, 1e-6, 1e-12)
] + [(10.0, 1, 0.1), (10.0, 2, 0.0625)]
RESPONSE = [
    (p, k, steps, delta)
    for p, k in ((0.5, 2), (0.9, 2), (0.25, 3), (0.75, 10))
    for steps, delta in ((1, 1e-3), (2, 1e-6), (5, 1e-3), (20, 1e-6), (100, 1e-5), (100, 1e-12))
] + [(0.9, 2, 1, 0.125), (0.9, 2, 2, 0.0625)]


def certain(value, radius):
    """Digits of a rigorous ball or bracket."""
    if value == 0:
        return 27
    return min(27, int(-float((abs(flint.arb(radius)) / abs(value)).log().mid()) / LOG10) - 1)


def check_root(function, eps, delta):
    """Proves 27 digits: the (rigorous) function is above and below delta at eps (1 -+ 1e-28)."""
    if eps != 0:
        tiny, delta = eps * flint.arb(10) ** -28, flint.arb(delta)
        assert function(eps - tiny) > delta > function(eps + tiny), (eps, delta)


def main():
    flint.ctx.prec = PREC
    begin = time.time()
    pairs = {}
    rows = pairs["replace_one"] = []
    for s, q, steps, delta in REPLACE:
        if steps == 1:
            high = 1.0
            while replace_one_single(s, q, flint.arb(high)) > delta:
                high *= 2
            root = bisect(lambda e, s=s, q=q: replace_one_single(s, q, e), delta, 0, high)
            check_root(lambda e, s=s, q=q: replace_one_single(s, q, e), root, delta)
            eps, digits, why = root, 27, "closed form in ball arithmetic, bracketed"
        else:
            eps, digits = solve(replace_one_rule, s, q, steps, delta, (0.12, 0.09))
            why = "two contours and inner rules agree"
        rows.append(row(s, q, steps, delta, eps, digits, why))
        print("replace_one", *rows[-1].values(), f"{time.time() - begin:.0f}s", flush=True)
    rows = pairs["fixed_size_upper"] = []
    for s, q, steps, delta in UPPER:
        eps, digits = solve(upper_rule, s, q, steps, delta, (1 / 32, 1 / 43))
        rows.append(row(s, q, steps, delta, eps, digits, "two contours and inner rules agree"))
        print("fixed_size_upper", *rows[-1].values(), f"{time.time() - begin:.0f}s", flush=True)
    rows = pairs["fixed_size_lower"] = []
    for s, q, steps, delta in LOWER:
        rows.append(point(s / 2, q, steps, delta) | {"noise_multiplier": s})
        rows[-1]["why"] = "two contours agree" if steps > 1 else "closed form"
        print("fixed_size_lower", *rows[-1].values(), f"{time.time() - begin:.0f}s", flush=True)
    flint.ctx.prec = 1200
    rows = pairs["laplace"] = []
    for scale, steps, delta in LAPLACE:
        law = Laplace(scale, steps)
        zero = law.delta(flint.arb(0))
        for eps in (0.0, 0.3 / scale, 1.1 / scale):
            value = law.delta(flint.arb(eps))
            if steps == 1 and eps * scale < 1:
                other = 1 - ((flint.arb(eps) - 1 / flint.arb(scale)) / 2).exp()
                assert abs(value - other) < 1e-60, (scale, eps)
            if steps == 2:
                gap = value - laplace_two_by_quadrature(scale, eps)
                assert abs(gap) < 1e-60, (scale, eps, gap)
        eps = law.epsilon(delta)
        check_root(law.delta, eps, delta)
        rows.append(
            {
                "scale": scale,
                "steps": steps,
                "delta": delta,
                "epsilon": text(eps),
                "delta_at_zero": text(zero),
                "digits": 27,
                "why": "finite sum in ball arithmetic, bracketed",
            }
        )
    print("laplace", len(rows), f"{time.time() - begin:.0f}s", flush=True)
    rows = pairs["randomized_response"] = []
    for p, k, steps, delta in RESPONSE:
        eps, zero = response_epsilon(p, k, steps, delta)
        rows.append(
            {
                "p": p,
                "answers": k,
                "steps": steps,
                "delta": delta,
                "epsilon": text(eps),
                "delta_at_zero": text(zero),
                "digits": certain(eps, eps.rad() + flint.arb(10) ** -60),
                "why": "finite sum in ball arithmetic, closed form in eps",
            }
        )
    print("randomized_response", len(rows), f"{time.time() - begin:.0f}s", flush=True)
    golden = {
        "what": "Exact eps(delta) of T-fold pairs: Poisson under replace-one, fixed-size lower and "
        "upper pair, Laplace, randomised response; the JSON numbers are exact binary64 inputs",
        "library": "python-flint (Arb); see make_fourier_pairs.py for each method",
        "version": flint.__version__,
        "command": "python tests/golden/make_fourier_pairs.py",
        "date": datetime.date.today().isoformat(),
        **pairs,
    }
    write(Path(__file__).with_name("fourier_pairs.json"), golden)


def row(s, q, steps, delta, eps, digits, why):
    return {
        "noise_multiplier": s,
        "sampling_rate": q,
        "steps": steps,
        "delta": delta,
        "epsilon": text(eps),
        "digits": digits,
        "why": why,
    }


if __name__ == "__main__":
    main()
