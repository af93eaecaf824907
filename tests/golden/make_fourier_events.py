"""Writes fourier_events.json: exact delta(epsilon) of T-fold events, by finite sums and erfc.

    python tests/golden/make_fourier_events.py     (needs python-flint; 2 seconds)

Independent of `accountants`: nothing of it is imported. All inputs are the exact binary64 values of
the JSON numbers; "digits" significant digits of "delta" are certain, being those of a ball.

"side" says what the value is for the event: "both" the exact delta; "lower" that of data sets that
the event allows, so that delta is at least this; "upper" that of a mechanism that dominates it.

discrete_gaussian   masses ~ e^(-x²/2s²) on the integers and the same moved by m. The loss is linear
                    in x, so T of them are a power of one polynomial. Cut off at 60 s, which leaves
                    out less than e^-1700.
epsilon_delta       Kairouz, Oh, Viswanath 2015, Theorem 3: 1 - (1-d)^T (1 - binomial sum).
two_outcomes        binomial sums of two losses: of permute-and-flip, 1/2 against e^(-e)/2; of the
                    exponential mechanism, two candidates with losses e/2 and -e/2.
sampled_laplace     T = 1: with P0 = Lap(0, b), Q0 = Lap(1, b) and H(a) = 1 - e^((log a - 1/b)/2),
                    to remove q H(1 + (a-1)/q), to add (1-a(1-q)) H(a q/(1-a(1-q))), a = e^epsilon.
shifted_gaussians   T = 1: sum of p_j N(j c, s²) against N(0, s²), where the ratio crosses e^epsilon
                    found by bisection; an interval of places gives a ball.
gaussian            erfc: of a tree, depth nodes of N(0, s²).
"""

import datetime
import json
import math
from pathlib import Path

import flint

arb = flint.arb
flint.ctx.prec = 400


def exact(value):
    return arb(value)


def normal(x):
    return (-x / arb(2).sqrt()).erfc() / 2


def sticks(masses_and_losses, epsilon):
    """The sum of p (1 - e^(epsilon - l)) over losses l > epsilon."""
    total = arb(0)
    for mass, loss in masses_and_losses:
        if loss > epsilon:
            total += mass * (1 - (epsilon - loss).exp())
        else:
            assert loss <= epsilon, "a ball at the kink"
    return total


def discrete_gaussian(deviation, moved, steps, epsilon):
    s, reach = exact(deviation), math.ceil(60 * deviation)
    masses = [(-exact(x * x) / (2 * s * s)).exp() for x in range(-reach, reach + 1)]
    whole = sum(masses, arb(0))
    power = flint.arb_poly([mass / whole for mass in masses]) ** steps
    found = []
    for index in range(power.length()):
        n = index - steps * reach
        loss = exact(steps * moved * moved - 2 * moved * n) / (2 * s * s)
        found.append((power[index], loss))
    return sticks(found, epsilon)


def binomial_sum(outcomes, steps, epsilon):
    """T of two outcomes ((mass, loss), (mass, loss))."""
    (p, yes), (r, no) = outcomes
    return sticks(
        [
            (math.comb(steps, k) * p**k * r ** (steps - k), k * yes + (steps - k) * no)
            for k in range(steps + 1)
        ],
        epsilon,
    )


def epsilon_delta(pure, reveals, steps, epsilon):
    e = exact(pure)
    yes = e.exp() / (1 + e.exp())
    hidden = binomial_sum(((yes, e), (1 - yes, -e)), steps, epsilon)
    return 1 - (1 - exact(reveals)) ** steps * (1 - hidden)


def permute_and_flip(pure, steps, epsilon):
    """Two candidates, 1/2 each, against 1 - e^(-e)/2 and e^(-e)/2; either order."""
    half, low = arb(1) / 2, (-exact(pure)).exp() / 2
    here, there = (half, half), (1 - low, low)
    values = [
        binomial_sum(
            tuple((a, (a / b).log()) for a, b in zip(one, other, strict=True)), steps, epsilon
        )
        for one, other in ((here, there), (there, here))
    ]
    return max(values)


def two_candidates(whole, steps, epsilon):
    """Bounded range: losses e/2 and -e/2."""
    half = exact(whole) / 2
    yes = half.exp() / (1 + half.exp())
    return binomial_sum(((yes, half), (1 - yes, -half)), steps, epsilon)


def sampled_laplace(scale, rate, epsilon):
    b, q, a = exact(scale), exact(rate), epsilon.exp()

    def stick(level):
        gap = level.log() - 1 / b
        return 1 - (gap / 2).exp() if gap < 0 else arb(0)

    remove = q * stick(1 + (a - 1) / q)
    rest = 1 - a * (1 - q)
    add = rest * stick(a * q / rest) if rest > 0 else arb(0)
    return max(remove, add)


def shifted_gaussians(probabilities, distance, deviation, epsilon):
    c, s, level = exact(distance), exact(deviation), epsilon.exp()

    def ratio(y):
        return sum(
            (p * ((j * c * y - (j * c) ** 2 / 2) / (s * s)).exp())
            for j, p in enumerate(probabilities)
        )

    low, high = arb(-100) * s, arb(100) * s + len(probabilities) * c
    for _ in range(300):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if ratio(middle) < level else (low, middle)
    y = low.union(high)
    over = sum(p * normal((j * c - y) / s) for j, p in enumerate(probabilities))
    return over - level * normal(-y / s)


def binomial(count, rate):
    q = exact(rate)
    return [math.comb(count, j) * q**j * (1 - q) ** (count - j) for j in range(count + 1)]


def gaussian(mu, epsilon):
    return normal(mu / 2 - epsilon / mu) - epsilon.exp() * normal(-mu / 2 - epsilon / mu)


def row(kind, side, steps, epsilon, value, **parameters):
    digits = min(40, int(value.rel_accuracy_bits() * math.log10(2.0)) - 1)
    assert digits >= 20, (kind, parameters, value)
    text = value.str(digits, radius=False)
    return {
        "kind": kind,
        "side": side,
        **parameters,
        "steps": steps,
        "epsilon": epsilon,
        "delta": text,
        "digits": digits,
    }


def rows():
    for deviation, moved, steps, epsilon in (
        (1.0, 1, 1, 0.3),
        (1.0, 2, 5, 7.3),
        (4.0, 1, 30, 1.1),
        (0.5, 1, 2, 4.1),
        (10.0, 3, 10, 3.3),
        (2.5, 2, 4, 12.7),
    ):
        value = discrete_gaussian(deviation, moved, steps, exact(epsilon))
        yield row(
            "discrete_gaussian",
            "both",
            steps,
            epsilon,
            value,
            standard_deviation=deviation,
            sensitivity=moved,
        )
    for pure, reveals, steps, epsilon in (
        (0.5, 1e-6, 1, 0.2),
        (0.1, 1e-8, 100, 1.3),
        (1.0, 1e-3, 10, 5.5),
        (2.0, 1e-12, 5, 9.1),
    ):
        value = epsilon_delta(pure, reveals, steps, exact(epsilon))
        yield row("epsilon_delta", "both", steps, epsilon, value, pure=pure, reveals=reveals)
    for pure, steps, epsilon in ((0.5, 1, 0.1), (1.0, 10, 2.2), (0.1, 50, 0.7)):
        value = permute_and_flip(pure, steps, exact(epsilon))
        yield row("permute_and_flip", "lower", steps, epsilon, value, pure=pure)
        value = epsilon_delta(pure, 0.0, steps, exact(epsilon))
        yield row("permute_and_flip", "upper", steps, epsilon, value, pure=pure)
        value = two_candidates(pure, steps, exact(epsilon))
        yield row("exponential", "lower", steps, epsilon, value, pure=pure)
    for scale, rate, epsilon in ((1.0, 0.1, 0.05), (0.5, 0.01, 0.03), (2.0, 0.9, 0.3)):
        value = sampled_laplace(scale, rate, exact(epsilon))
        yield row("sampled_laplace", "both", 1, epsilon, value, scale=scale, rate=rate)
    for records, rate, deviation, epsilon in (
        (2, 0.1, 1.0, 0.5),
        (8, 0.01, 2.0, 0.9),
        (32, 0.05, 4.0, 1.7),
    ):
        value = shifted_gaussians(binomial(records, rate), 1.0, deviation, exact(epsilon))
        yield row("user", "lower", 1, epsilon, value, records=records, rate=rate, noise=deviation)
    for size, draws, noise, epsilon in ((10, 4, 2.0, 0.4), (100, 20, 1.0, 2.1)):
        probabilities = binomial(draws, 1.0 / size)
        value = shifted_gaussians(probabilities, 2.0, noise, exact(epsilon))
        yield row(
            "with_replacement", "lower", 1, epsilon, value, size=size, draws=draws, noise=noise
        )
    for noise, leaves, depth, steps, epsilon in ((1.0, 7, 3, 1, 1.9), (5.0, 1000, 10, 4, 2.3)):
        mu = (exact(depth * steps)).sqrt() / exact(noise)
        value = gaussian(mu, exact(epsilon))
        yield row("tree", "both", steps, epsilon, value, noise=noise, leaves=leaves)


def main():
    golden = {
        "what": "delta(epsilon) of T-fold events; the JSON numbers are exact binary64 inputs",
        "library": "python-flint (Arb); see make_fourier_events.py for each kind",
        "version": flint.__version__,
        "command": "python tests/golden/make_fourier_events.py",
        "date": datetime.date.today().isoformat(),
        "points": list(rows()),
    }
    text = json.dumps(golden, indent=1, ensure_ascii=False) + "\n"
    Path(__file__).with_name("fourier_events.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
