"""Makes `accountants/known_answers/answers.json`: settings with intervals of ε that are proved.

python benchmarks/make_known_answers.py JOURNAL    # resumes; about 15 CPU minutes for all

The Fourier accountant proposes ε, or, where its interval is wide, a secant on what the checker
proves of δ; the ends are put 4e-10 beside it, relative, and kept only if `accountants.verify`,
which shares no code with the accountant, proves both. Where it cannot, the accountant's own
interval is taken, with its own width, if that is proved; else the setting is left out. Answers that
the file has already are kept: a test proves them again.
"""

import datetime
import itertools
import json
import math
import sys
import time
from pathlib import Path

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    LaplaceDpEvent,
    MixtureOfGaussiansDpEvent,
    RandomizedResponseDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)

from accountants import (
    BallsInBinsDpEvent,
    Certificate,
    FourierAccountant,
    known_answers,
    seals,
    versions,
)
from accountants.codec import decode_event, encode_event
from accountants.verify import VERIFIED, verify

TARGET = Path(__file__).parents[1] / "accountants" / "known_answers" / "answers.json"
ADD, ONE, ZERO = (
    NeighboringRelation[name] for name in ("ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL")
)
WIDTH = 4e-10


def gaussian(sigma):
    return dpa.GaussianDpEvent(sigma)


def poisson(rate, sigma):
    return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))


def times(event, count):
    return SelfComposedDpEvent(event, count)


def settings():
    """(name, event, relation, δ)."""
    for relation in (ADD, ONE, ZERO):
        for sigma, n, delta in (
            (1.0, 1, 1e-5), (0.3, 1, 1e-10), (10.0, 10**4, 1e-6), (100.0, 10**9, 1e-8),
            (5.0, 100, 1e-50), (50.0, 1, 1e-3),
        ):  # fmt: skip
            yield "Gaussian", times(gaussian(sigma), n), relation, delta
    typical = (
        (0.01, 1.0, 1000, 1e-5), (0.001, 0.8, 10**4, 1e-6), (0.1, 8.0, 200, 1e-5),
        (0.05, 2.0, 1000, 1e-5), (0.5, 4.0, 100, 1e-5), (256 / 60000, 1.1, 14062, 1e-5),
        (0.01, 1.0, 1000, 1e-50), (0.9, 3.0, 50, 1e-8), (0.01, 0.5, 300, 1e-5),
        (0.02, 0.6, 5000, 1e-7), (0.004, 1.3, 20000, 1e-20),
    )  # fmt: skip
    for relation, (q, sigma, n, delta) in itertools.product((ADD, ONE, ZERO), typical):
        yield "Poisson sampling", times(poisson(q, sigma), n), relation, delta
    corners = (
        (1e-5, 2.0, 10**9, 1e-6), (1e-4, 0.8, 10**6, 1e-8), (1e-3, 5.0, 10**7, 1e-9),
        (1e-6, 1.0, 10**9, 1e-7), (3e-4, 1.5, 10**8, 1e-10), (0.01, 30.0, 10**6, 1e-12),
    )  # fmt: skip
    for relation, (q, sigma, n, delta) in itertools.product((ADD, ONE), corners):
        yield "Poisson sampling, many steps", times(poisson(q, sigma), n), relation, delta
    once = (
        (0.01, 1.0, 1e-5),
        (1e-6, 0.7, 1e-9),
        (0.5, 2.0, 1e-4),
        (0.99, 0.3, 1e-20),
        (0.2, 1.0, 1e-40),
    )
    for relation, (q, sigma, delta) in itertools.product((ADD, ONE, ZERO), once):
        yield "Poisson sampling, one step", poisson(q, sigma), relation, delta
    few = (
        (0.3, 1.0, 3, 1e-5),
        (0.1, 1.0, 5, 1e-5),
        (0.05, 1.0, 10, 1e-6),
        (0.5, 0.8, 2, 1e-8),
        (0.2, 2.0, 20, 1e-6),
    )
    for relation, (q, sigma, n, delta) in itertools.product((ADD, ONE), few):
        yield "Poisson sampling, few steps", times(poisson(q, sigma), n), relation, delta
    for relation in (ADD, ONE, ZERO):
        for scale, n, delta in (
            (1.0, 1, 1e-5), (2.0, 10, 1e-5), (20.0, 100, 1e-8), (10.0, 1000, 1e-5), (5.0, 3, 1e-4),
            (30.0, 250, 1e-20),
        ):  # fmt: skip
            yield "Laplace", times(LaplaceDpEvent(scale), n), relation, delta
        for a, shift, n, delta in (
            (0.3, 2, 5, 1e-5), (1.0, 1, 1, 1e-3), (0.05, 1, 100, 1e-6), (0.02, 10, 20, 1e-10),
            (0.1, 3, 12, 1e-30),
        ):  # fmt: skip
            yield "discrete Laplace", times(DiscreteLaplaceDpEvent(a, shift), n), relation, delta
    for relation in (ONE, ZERO):
        for noise, buckets, n, delta in (
            (0.5, 2, 1, 1e-2), (0.5, 5, 10, 1e-5), (0.9, 10, 100, 1e-6), (0.75, 2, 200, 1e-8),
            (0.2, 100, 4, 1e-4), (0.95, 4, 500, 1e-5),
        ):  # fmt: skip
            yield (
                "randomised response",
                times(RandomizedResponseDpEvent(noise, buckets), n),
                relation,
                delta,
            )
    for relation in (ADD, ZERO):
        for deviation, shifts, weights, n, delta in (
            (2.0, (0.0, 1.0, 2.0), (0.9, 0.05, 0.05), 100, 1e-5),
            (4.0, (0.0, 1.0, 2.0, 3.0), (0.6, 0.2, 0.1, 0.1), 50, 1e-6),
            (1.0, (0.5, 1.5), (0.5, 0.5), 20, 1e-5),
            (8.0, (0.0, 1.0, 4.0), (0.98, 0.01, 0.01), 10**5, 1e-8),
        ):
            event = MixtureOfGaussiansDpEvent(deviation, list(shifts), list(weights))
            yield "mixture of Gaussians", times(event, n), relation, delta
    for n, b, sigma, steps, delta in (
        (1000, 10, 1.0, 1, 1e-5), (100, 50, 2.0, 1, 1e-6), (10**6, 100, 0.8, 1, 1e-9),
        (1000, 10, 4.0, 300, 1e-5), (10**4, 100, 2.0, 1000, 1e-5), (100, 30, 8.0, 50, 1e-6),
    ):  # fmt: skip
        event = SampledWithoutReplacementDpEvent(n, b, gaussian(sigma))
        yield "batches of fixed size", times(event, steps), ONE, delta
    for relation in (ADD, ZERO):
        for parts, delta in (
            (((poisson(0.01, 1.0), 1000), (gaussian(5.0), 2)), 1e-5),
            (((poisson(0.01, 1.0), 300), (poisson(0.02, 1.5), 700)), 1e-6),
            (((poisson(0.01, 1.0), 300), (gaussian(5.0), 2), (LaplaceDpEvent(3.0), 2)), 1e-5),
            (((gaussian(2.0), 1), (LaplaceDpEvent(2.0), 1)), 1e-6),
            (((LaplaceDpEvent(2.0), 2), (LaplaceDpEvent(3.0), 1)), 1e-5),
            (((gaussian(3.0), 4), (DiscreteLaplaceDpEvent(0.1, 2), 3)), 1e-8),
            (((LaplaceDpEvent(4.0), 5), (DiscreteLaplaceDpEvent(0.2, 1), 5)), 1e-5),
        ):
            event = ComposedDpEvent([times(event, count) for event, count in parts])
            yield "heterogeneous", event, relation, delta
    for parts, delta in (
        (((gaussian(4.0), 2), (RandomizedResponseDpEvent(0.8, 4), 3)), 1e-5),
        (((LaplaceDpEvent(4.0), 2), (RandomizedResponseDpEvent(0.8, 4), 3)), 1e-5),
        (((poisson(0.01, 1.0), 1000), (RandomizedResponseDpEvent(0.9, 4), 1)), 1e-6),
        (((poisson(0.02, 2.0), 500), (poisson(0.01, 1.0), 500), (gaussian(9.0), 1)), 1e-7),
    ):
        event = ComposedDpEvent([times(event, count) for event, count in parts])
        yield "heterogeneous", event, ONE, delta

    for relation in (ADD, ONE, ZERO):
        for q, sigma, n, delta in (
            (0.02, 1.0, 2000, 1e-5), (0.03, 3.0, 500, 1e-9), (0.2, 5.0, 400, 1e-6),
            (0.005, 0.9, 3000, 1e-5), (0.7, 6.0, 200, 1e-30),
        ):  # fmt: skip
            yield "Poisson sampling", times(poisson(q, sigma), n), relation, delta


def balls_in_bins():
    """(name, event, relation, δ), of two bins: more are not covered."""
    for relation in (ADD, ZERO):
        for sigma, epochs, delta in (
            (1.0, 1, 1e-5), (3.0, 1, 1e-8), (0.5, 1, 1e-4), (1.0, 10, 1e-5), (3.0, 100, 1e-6),
            (20.0, 1000, 1e-6),
        ):  # fmt: skip
            event = times(BallsInBinsDpEvent(2, gaussian(sigma)), epochs)
            yield "balls in two bins", event, relation, delta
        parts = times(BallsInBinsDpEvent(2, gaussian(2.0)), 5), times(gaussian(4.0), 3)
        yield "balls in two bins", ComposedDpEvent(list(parts)), relation, 1e-5


def proved(event, relation, points):
    """The checker's verification."""
    return verify(
        Certificate(
            event=event, neighboring_relation=relation, points=tuple(points), method="known answer"
        ).to_json()
    )


def sharper(event, relation, delta, ends):
    """About ε(δ), by a secant on the logarithm of the proved δ(ε); None where that is wide."""
    (a, b), excesses = ends, []
    for epsilon in ends:
        (_, end) = proved(event, relation, [(delta, 0.0, epsilon)]).ends
        excesses.append(math.log(max(end.least, 1e-300) / delta))
    for _ in range(8):
        if excesses[0] == excesses[1] or abs(b - a) < 1e-12 * b:
            return b
        a, b = b, b - excesses[1] * (b - a) / (excesses[1] - excesses[0])
        (_, end) = proved(event, relation, [(delta, 0.0, b)]).ends
        if end.most - end.least > 1e-9 * delta:
            return None
        excesses = [excesses[1], math.log(end.least / delta)]
    return b


def answer(event, relation, delta):
    """(lower, upper, seconds of the proof), or None."""
    for tolerance in (1e-10, 1e-12):
        accountant = FourierAccountant(relation, tolerance=tolerance).compose(event)
        lower, upper = accountant.get_epsilon_bounds(delta)
        if upper - lower <= WIDTH * upper:
            break
    middle = 0.5 * (lower + upper)
    if upper - lower > WIDTH * upper > 0.0:
        middle = sharper(event, relation, delta, (lower, upper)) or middle
    for ends in ((middle * (1 - WIDTH), middle * (1 + WIDTH)), (lower, upper)):
        start = time.process_time()
        found = proved(event, relation, [(delta, *ends)])
        if found.word == VERIFIED and ends[0] > 0.0:
            return [*ends, round(time.process_time() - start, 2)]
    return None


def main(journal):
    done = {}
    for row in known_answers.load():
        relation, delta = row["neighboring_relation"], row["delta"]
        kept = [row[name] for name in ("epsilon_lower", "epsilon_upper", "seconds_to_verify")]
        done[f"{decode_event(row['event'])!r} {relation} {delta!r}"] = kept
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            done[row["key"]] = row["answer"]
    rows = []
    for name, event, relation, delta in itertools.chain(settings(), balls_in_bins()):
        key = f"{event!r} {relation.name} {delta!r}"
        if key not in done:
            done[key] = answer(event, relation, delta)
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "answer": done[key]}) + "\n")
            print(name, key[:90], done[key], flush=True)
        if done[key]:
            lower, upper, seconds = done[key]
            rows.append({
                "name": name, "event": encode_event(event), "neighboring_relation": relation.name,
                "delta": delta, "epsilon_lower": lower, "epsilon_upper": upper,
                "relative_width": upper / lower - 1.0, "seconds_to_verify": seconds,
            })  # fmt: skip
    seals.write_sealed(TARGET, {
        "format": "dp-assay/known-answers",
        "version": 1,
        "date": datetime.date.today().isoformat(),
        "command": "python benchmarks/make_known_answers.py JOURNAL",
        "proof": "accountants.verify: delta(epsilon_lower) >= delta >= delta(epsilon_upper), in "
        "ball arithmetic; epsilon proposed by the Fourier accountant",
        "versions": versions.installed("python-flint"),
        "answers": rows,
    })  # fmt: skip
    tight = sum(row["relative_width"] <= 1e-9 for row in rows)
    print(len(rows), "answers,", tight, "within 1e-9, of", len(done), "settings")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
