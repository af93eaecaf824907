"""Questions to the accountants, as plain values: random ones by number, and those that once failed.

A case is (accountant, relation, parts, question); `random_case(n)` is the same case on every
machine and in every run. Parts are tuples such as ("poisson", q, σ, count), so that a case is one
line of JSON.
"""

import json
import math
import random
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent

SEED = 2026111815
# A kind that stands here twice is drawn twice as often: what most users release.
KINDS = {
    "ADD_OR_REMOVE_ONE": ("gaussian", "poisson", "poisson", "laplace", "geometric", "mixture"),
    "REPLACE_SPECIAL": (
        "gaussian", "poisson", "poisson", "laplace", "geometric", "response", "mixture",
    ),
    "REPLACE_ONE": ("gaussian", "poisson", "fixed", "laplace", "geometric", "response"),
}  # fmt: skip
RENYI = {
    "ADD_OR_REMOVE_ONE": ("gaussian", "poisson", "laplace"),
    "REPLACE_SPECIAL": ("gaussian", "poisson", "laplace", "response"),
    "REPLACE_ONE": ("gaussian", "fixed", "laplace", "response"),
}
MOMENTS = {
    "ADD_OR_REMOVE_ONE": ("gaussian", "poisson"),
    "REPLACE_SPECIAL": ("gaussian", "poisson"),
}


@dataclass(frozen=True)
class Case:
    """A question.

    Attributes:
      name: The number of a random case, or what a known one is about.
      accountant: "fourier", "renyi" or "moments".
      relation: Name of a `NeighboringRelation`.
      parts: (kind, *parameters, count) of each release.
      question: "epsilon" or "delta": what is asked for.
      at: The δ or the ε that it is asked at.
      tolerance: Of the Fourier accountant.
    """

    name: str
    accountant: str
    relation: str
    parts: tuple
    question: str
    at: float
    tolerance: float = 1e-6

    @property
    def neighbours(self):
        return NeighboringRelation[self.relation]

    @property
    def composition(self):
        """[(event, count)]."""
        return [(event_of(kind, *rest), count) for kind, *rest, count in self.parts]

    def to_json(self):
        return asdict(self)

    @classmethod
    def from_json(cls, data):
        return cls(**(data | {"parts": tuple(tuple(part) for part in data["parts"])}))


def event_of(kind, *parameters):
    """The event that a part's kind and parameters name."""
    if kind == "gaussian":
        return dpa.GaussianDpEvent(*parameters)
    if kind == "poisson":
        rate, sigma = parameters
        return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    if kind == "fixed":
        size, batch, sigma = parameters
        return dpa.SampledWithoutReplacementDpEvent(size, batch, dpa.GaussianDpEvent(sigma))
    if kind == "laplace":
        return dpa.LaplaceDpEvent(*parameters)
    if kind == "geometric":
        return DiscreteLaplaceDpEvent(*parameters)
    if kind == "response":
        return dpa.RandomizedResponseDpEvent(*parameters)
    if kind == "mixture":
        deviation, sensitivities, probabilities = parameters
        return MixtureOfGaussiansDpEvent(deviation, list(sensitivities), list(probabilities))
    raise ValueError(f"`kind` must be a kind of release, got {kind!r}.")


def _log_uniform(rng, low, high):
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    return float(f"{value:.{rng.choice([2, 3, 17])}g}")


def _part(rng, kind, far):
    """One release; `far`: parameters from the whole range, not from where users are."""
    sigma = _log_uniform(rng, 1e-3, 1e4) if far else _log_uniform(rng, 0.3, 20.0)
    rate = _log_uniform(rng, 1e-12, 1.0) if far else _log_uniform(rng, 1e-4, 0.9)
    if rng.random() < 0.03:
        rate = rng.choice([1.0, 1.0 - 1e-9, 0.999])
    if rng.random() < 0.4:
        count = rng.choice([1, 1, 2, 2, 3, 5])
    else:
        count = round(_log_uniform(rng, 1, 1e9 if far else 1e5))
    if kind == "gaussian":
        return ("gaussian", sigma, count)
    if kind == "poisson":
        return ("poisson", rate, sigma, count)
    if kind == "fixed":
        size = round(_log_uniform(rng, 2, 1e12 if far else 1e6))
        batch = min(size - 1, max(1, round(rate * size)))
        return ("fixed", size, batch, sigma, count)
    small = round(_log_uniform(rng, 1, 1e4 if far else 50))
    if kind == "laplace":
        scale = _log_uniform(rng, 1e-3, 1e4) if far else _log_uniform(rng, 0.3, 50.0)
        return ("laplace", scale, small)
    if kind == "geometric":
        parameter = _log_uniform(rng, 1e-4, 100.0) if far else _log_uniform(rng, 0.05, 3.0)
        return ("geometric", parameter, rng.choice([1, 1, 2, 3, 10, 1000 if far else 20]), small)
    if kind == "response":
        noise = _log_uniform(rng, 1e-12, 0.99) if far else rng.uniform(0.05, 0.99)
        return ("response", noise, rng.choice([2, 2, 3, 10, 10**6 if far else 100]), small)
    number = rng.choice([2, 2, 3, 4])
    weights = [rng.random() ** 4 + 1e-6 for _ in range(number)]
    if rng.random() < 0.5:
        weights[0] += number / rate
    total = math.fsum(weights)
    weights = [weight / total for weight in weights]
    shifts = [0.0 if rng.random() < 0.7 else _log_uniform(rng, 0.1, 1.0)]
    shifts += [_log_uniform(rng, 0.05, 30.0 if far else 3.0) for _ in weights[1:]]
    return ("mixture", sigma, tuple(shifts), tuple(weights), min(count, 10**6))


def random_case(number):
    """The random case of this number."""
    rng = random.Random(f"{SEED}:{number}")
    if rng.random() < 0.03:
        return replace(tight_case(number), name=str(number))
    accountant = rng.choices(["fourier", "renyi", "moments"], [0.72, 0.16, 0.12])[0]
    kinds = {"fourier": KINDS, "renyi": RENYI, "moments": MOMENTS}[accountant]
    relation = rng.choice(sorted(kinds))
    far = rng.random() < 0.35
    parts = tuple(
        _part(rng, rng.choice(kinds[relation]), far)
        for _ in range(rng.choices([1, 2, 3], [0.5, 0.35, 0.15])[0])
    )
    tolerance = rng.choice([1e-6] * 5 + [1e-8, 1e-10, 1e-11, 1e-12, 1e-13])
    if rng.random() < 0.75:
        at = 10.0 ** rng.uniform(-300.0, -1e-3) if far else _log_uniform(rng, 1e-13, 0.2)
        if far and rng.random() < 0.3:
            at = rng.choice([0.99, 0.9, 0.5, 0.1, 1e-300, 1e-100, 1e-30])
        return Case(str(number), accountant, relation, parts, "epsilon", at, tolerance)
    at = 0.0 if rng.random() < 0.1 else _log_uniform(rng, 1e-6 if far else 0.05, 1e3 if far else 20)
    return Case(str(number), accountant, relation, parts, "delta", at, tolerance)


def tight_case(number):
    """One sampled step and a Gaussian at a tight tolerance: errors of 1e-12 show here."""
    rng = random.Random(f"tight:{SEED}:{number}")
    step = ("poisson", rng.choice([0.5, rng.uniform(0.05, 0.95)]), rng.uniform(0.8, 2.5), 1)
    parts = (step, ("gaussian", rng.uniform(1.5, 4.0), 1))
    tolerance = rng.choice([1e-10, 1e-11, 1e-12])
    at = rng.uniform(1.0, 5.0)
    return Case(f"tight {number}", "fourier", "ADD_OR_REMOVE_ONE", parts, "delta", at, tolerance)


def _known(name, *parts, at, relation="ADD_OR_REMOVE_ONE", accountant="fourier", **rest):
    return Case(name, accountant, relation, parts, rest.pop("question", "epsilon"), at, **rest)


_ONE, _ZERO = "REPLACE_ONE", "REPLACE_SPECIAL"
KNOWN = (
    _known(
        "one sampled step and a Gaussian at a tight tolerance",
        ("poisson", 0.5, 1.37, 1),
        ("gaussian", 2.9, 1),
        question="delta",
        at=4.03,
        tolerance=1e-11,
    ),
    *(  # upper end short by 2.6e-13 and 3.1e-12, lower end above by 6.1e-12 (mpmath agrees)
        _known(
            f"one sampled step and a Gaussian, {rate}, {sigma}",
            ("poisson", rate, sigma, 1),
            ("gaussian", plain, 1),
            question="delta",
            at=epsilon,
            tolerance=tolerance,
        )
        for rate, sigma, plain, epsilon, tolerance in (
            (0.46019744021739156, 1.337399607166403, 3.084946973423539, 3.948966160471965, 1e-10),
            (0.5, 1.394020865278916, 3.0769080322335634, 3.8402339398592673, 1e-11),
            (0.5, 1.3161360775639828, 2.924562043127185, 4.096310929190421, 1e-11),
        )
    ),
    _known(
        "nearly every record, hardly any noise",
        ("poisson", 0.999999999, 0.0075325935646227, 3),
        question="delta",
        at=0.00594,
        tolerance=1e-12,
    ),
    _known("two Laplace scales, 1e-5", ("laplace", 1.0, 1), ("laplace", 3.0, 1), at=1e-5),
    _known("two Laplace scales, 1e-8", ("laplace", 1.0, 1), ("laplace", 3.0, 1), at=1e-8),
    _known(
        "Laplace and responses, replaced",
        ("laplace", 1.0, 1),
        ("response", 0.4, 5, 1),
        at=1e-6,
        relation=_ONE,
    ),
    _known(
        "Laplace and responses, zeroed",
        ("laplace", 1.0, 1),
        ("response", 0.4, 5, 1),
        at=1e-6,
        relation=_ZERO,
    ),
    _known("Laplace and discrete Laplace", ("laplace", 1.0, 1), ("geometric", 0.3, 2, 1), at=1e-6),
    _known("small noise and Laplace", ("poisson", 0.005, 0.2, 1), ("laplace", 1.0, 1), at=1e-7),
    _known("little noise, δ above δ(0)", ("poisson", 0.6, 0.1, 2), at=0.9),
    _known("tiny rate, two steps", ("poisson", 1e-8, 1.0, 2), at=1e-10),
    _known("little noise, many steps", ("poisson", 7e-5, 0.1, 5 * 10**6), at=1e-10),
    _known("five steps at 1e-300", ("poisson", 0.01, 1.0, 5), at=1e-300),
    _known("almost all in the batch", ("fixed", 100, 99, 0.5, 2), at=1e-8, relation=_ONE),
    _known("a wide mixture", ("mixture", 1e-3, (0.0, 1.0), (0.9, 0.1), 1), at=1e-6),
    _known(
        "a wide mixture, twice", ("mixture", 1e-3, (0.0, 1.0, 2.0), (0.8, 0.1, 0.1), 2), at=1e-6
    ),
    _known("a wider mixture", ("mixture", 1.0, (0.0, 1e4), (0.5, 0.5), 2), at=1e-6),
    _known("hardly any noise, two steps", ("poisson", 0.1, 1e-3, 2), at=1e-6),
    _known("Laplace of scale 1e-4", ("laplace", 1e-4, 1), at=1e-6),
    _known("Laplace of scale 1e-4, twice", ("laplace", 1e-4, 2), at=1e-6),
    _known("Laplace of scale 1e-8", ("laplace", 1e-8, 1), at=1e-6),
    _known("many losses", ("geometric", 1e-6, 2**21, 1), at=1e-6),
    _known(
        "hardly any noise, ten answers",
        ("response", 2e-323, 10, 1),
        at=1e-6,
        relation=_ONE,
        accountant="renyi",
    ),
    _known(
        "as many answers as 1e30",
        ("response", 1e-300, 10**30, 1),
        at=1e-6,
        relation=_ONE,
        accountant="renyi",
    ),
    _known("rate of 1e-200", ("poisson", 1e-200, 1.0, 10), at=1e-6, accountant="moments"),
    _known("rate of 1e-300", ("poisson", 1e-300, 1.0, 10), at=1e-6, accountant="moments"),
    _known("rate of 1e-200, Rényi", ("poisson", 1e-200, 1.0, 10), at=1e-6, accountant="renyi"),
    _known("rate of 1e-200, Fourier", ("poisson", 1e-200, 1.0, 10), at=1e-6),
)
"""Questions that were once answered wrongly, with NaN, with infinity or not at all."""

ONCE_FAILED = tuple(
    Case.from_json(json.loads(line))
    for line in (Path(__file__).with_name("attack_once_failed.jsonl"))
    .read_text(encoding="utf-8")
    .splitlines()
)
"""Random cases, of this and of earlier draws, at which an earlier version failed."""
