"""From an event and a relation, as a certificate's JSON says them, to ordered pairs of laws.

`noise_multiplier` is the noise's standard deviation over C, the norm bound of one record. Under
REPLACE_ONE a sum moves by 2C, else by C. For most events one pair of data sets is the worst and all
that is needed, in both orders; for a batch of fixed size the worst is not known:

* *dominating* pairs have at least every neighbours' profile, composed or not: Zhu, Dong, Wang 2022,
  Theorem 10; Theorem 11 for a Poisson sample; a symmetrised profile for a batch of fixed size;
* *explicit* pairs are attained: all other records at −C, one swapped from −C to +C, turn N(0) into
  (1−q)N(0) + qN(2/σ).

Poisson sampling under REPLACE_ONE: (1−q)N(0) + qN(±1/σ), a record at one end of the ball becomes
one at the other; mixtures: N(0, σ²) and Σ pᵢN(cᵢ, σ²). Balls in bins: Chua et al. 2024.
"""

import math
from collections.abc import Mapping
from typing import Any

from flint import arb, ctx

from accountants.verify.contour import PREC, Composition
from accountants.verify.exact import Atoms, Laplace
from accountants.verify.laws import Law

RELATIONS = ("ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL")
_DEEPEST, _MOST_ATOMS = 64, 20_000


class NotCoveredError(Exception):
    """This checker knows no pair for it; the message is the reason."""


def pairs(event: Any, relation: str) -> tuple[list[Composition], list[Composition]]:
    """(explicit pairs, dominating pairs) of an event: the largest δ(ε) of either list counts."""
    with ctx.workprec(PREC):
        explicit, dominating = _read(event, relation, True), _read(event, relation, False)
    symmetric = any(law.kind == "symmetric" for pair in dominating for law, _ in pair.laws)
    return explicit, dominating if symmetric else explicit


def _read(event: Any, relation: str, explicit: bool) -> list[Composition]:
    found = []
    for kind in ("remove", "add"):
        order = _Reader(relation, kind, explicit)
        order.add(event, 1, 0)
        found.append(order.composition)
    # Where the two orders are one and the same, the second says nothing new.
    sampled = any(law.kind == "add" for law, _ in found[1].laws)
    return found if sampled or (relation == "REPLACE_SPECIAL" and found[1].discrete) else found[:1]


class _Reader:
    """Adds releases to one ordered pair; "remove": P is the law of the data with the record."""

    def __init__(self, relation: str, kind: str, explicit: bool) -> None:
        self.relation, self.kind, self.explicit = relation, kind, explicit
        self.factor = 2 if relation == "REPLACE_ONE" else 1
        self.composition = Composition()

    def add(self, event: Any, count: int, depth: int) -> None:
        """`count` releases of an event."""
        if depth > _DEEPEST or not isinstance(event, Mapping):
            raise NotCoveredError("the event is nested too deep, or is none")
        name = event.get("type")
        known = {
            "GaussianDpEvent": self._gaussian,
            "LaplaceDpEvent": self._laplace,
            "DiscreteLaplaceDpEvent": self._geometric,
            "RandomizedResponseDpEvent": self._response,
            "MixtureOfGaussiansDpEvent": self._components,
            "PoissonSampledDpEvent": self._poisson,
            "SampledWithoutReplacementDpEvent": self._fixed_size,
            "BallsInBinsDpEvent": self._balls_in_bins,
        }
        if name == "SelfComposedDpEvent":
            self.add(event["event"], count * _whole(event["count"]), depth + 1)
        elif name == "ComposedDpEvent":
            for inner in event["events"]:
                self.add(inner, count, depth + 1)
        elif name not in (*known, "NoOpDpEvent"):
            raise NotCoveredError(f"no pair for {str(name)[:60]}")
        elif count and name in known:
            known[name](event, count)

    def _gaussian(self, event: Any, count: int) -> None:
        self.composition.mu_squared += count * self.factor**2 * _inverse_square(event)

    def _laplace(self, event: Any, count: int) -> None:
        scale = _real(event["noise_multiplier"], least=1e-100)
        self.composition.discrete.append((Laplace(self.factor / scale), count))

    def _geometric(self, event: Any, count: int) -> None:
        """Discrete Laplace noise, ∝ e^{−a|x|}, against its shift: shift + 1 losses."""
        a, shift = (
            _real(event["noise_parameter"], 1e-100),
            self.factor * _whole(event["sensitivity"]),
        )
        if not 0 < shift < _MOST_ATOMS:
            raise NotCoveredError(f"a sensitivity of {shift}")
        end, middle = 1 / (1 + (-a).exp()), (a / 2).tanh()
        masses = [middle * (-a * x).exp() for x in range(shift - 1, 0, -1)]
        masses = [end * (-a * shift).exp(), *masses, end]
        self.composition.discrete.append((Atoms(masses, -a * shift, 2 * a), count))

    def _response(self, event: Any, count: int) -> None:
        noise, buckets = _real(event["noise_parameter"]), _whole(event["num_buckets"])
        if self.relation == "ADD_OR_REMOVE_ONE" or not 0 < noise < 1 or buckets < 2:
            raise NotCoveredError("responses without noise, or of a record that may be absent")
        other = noise / buckets
        same = 1 - noise + other
        if self.relation == "REPLACE_ONE":  # one bucket's response against another's
            step = (same / other).log()
            law = Atoms([other, (buckets - 2) * other, same], -step, step)
        else:  # against the uniform response
            low, high, each = noise.log(), (buckets * same).log(), arb(1) / buckets
            law = Atoms([(buckets - 1) * other, same], low, high - low)
            if self.kind == "add":
                law = Atoms([each, (buckets - 1) * each], -high, high - low)
        self.composition.discrete.append((law, count))

    def _components(self, event: Any, count: int) -> None:
        if self.relation == "REPLACE_ONE":
            raise NotCoveredError("no pair of a mixture is known under REPLACE_ONE")
        scale, merged = _real(event["standard_deviation"], least=1e-100), dict[float, arb]()
        for c, p in zip(event["sensitivities"], event["sampling_probs"], strict=True):
            if _real(p) > 0:
                merged[float(c)] = merged.get(float(c), arb(0)) + p
        total = sum(merged.values(), arb(0))  # 1, but for the rounding of the event's floats
        if not abs(total - 1) < 1e-6:
            raise NotCoveredError("probabilities that do not sum to one")
        shifts = sorted(merged)
        self._mixture(
            [merged[c] / total for c in shifts], [_real(c) / scale for c in shifts], count
        )

    def _poisson(self, event: Any, count: int) -> None:
        rate = arb(1)
        while event["type"] == "PoissonSampledDpEvent":  # a sample of a sample is a sample
            rate, event = rate * _real(event["sampling_probability"], most=1.0), event["event"]
        inverse_square = _inverse_square(event)
        kind = "replace" if self.relation == "REPLACE_ONE" else self.kind
        self._sampled(rate, inverse_square, inverse_square.sqrt(), count, kind)

    def _fixed_size(self, event: Any, count: int) -> None:
        rate = arb(_whole(event["sample_size"])) / _whole(event["source_dataset_size"])
        if self.relation != "REPLACE_ONE" or not rate <= 1:
            raise NotCoveredError("batches of fixed size are covered under REPLACE_ONE only")
        inverse_square = _inverse_square(event["event"])
        kind = self.kind if self.explicit else "symmetric"
        self._sampled(rate, inverse_square, 2 * inverse_square.sqrt(), count, kind)

    def _balls_in_bins(self, event: Any, count: int) -> None:
        """N(0, I_T) and the mixture of N(μe_t, I_T), T = 1 or 2: turned, μ/√2 and then ±μ/√2."""
        steps, inverse_square = _whole(event["steps_per_epoch"]), _inverse_square(event["event"])
        if self.relation == "REPLACE_ONE" or not 1 <= steps <= 2:
            raise NotCoveredError("balls in bins are covered for two steps, not replaced")
        self.composition.mu_squared += count * inverse_square / steps
        if steps == 2 and inverse_square > 0:
            shift = (inverse_square / 2).sqrt()
            self._mixture([arb(0.5), arb(0.5)], [-shift, shift], count)

    def _sampled(self, rate: arb, inverse_square: arb, shift: arb, count: int, kind: str) -> None:
        if rate == 1:
            self.composition.mu_squared += count * self.factor**2 * inverse_square
        elif rate > 0:
            self._mixture([1 - rate, rate], [arb(0), shift], count, kind)

    def _mixture(self, p: list[arb], shifts: list[arb], count: int, kind: str = "") -> None:
        if len(shifts) == 1:
            self.composition.mu_squared += count * shifts[0] ** 2
        elif any(not shift.is_zero() for shift in shifts):
            self.composition.laws.append((Law(p, shifts, kind or self.kind), count))


def _real(value: Any, least: float = 0.0, most: float = math.inf) -> arb:
    wrong = isinstance(value, bool) or not isinstance(value, int | float)
    if wrong or not math.isfinite(value) or not least <= value <= most:
        raise NotCoveredError(f"a parameter of {str(value)[:40]!r}")
    return arb(value)


def _whole(value: Any) -> int:
    if not _real(value) <= 1e18 or value != int(value):
        raise NotCoveredError(f"a count of {value!r}")
    return int(value)


def _inverse_square(event: Any, depth: int = 0) -> arb:
    """Σ 1/σ² of Gaussians on one batch: together they are one Gaussian."""
    name = event.get("type") if isinstance(event, Mapping) and depth < _DEEPEST else None
    if name == "GaussianDpEvent":
        sigma = event["noise_multiplier"]
        return arb(0) if sigma == "inf" else 1 / _real(sigma, least=1e-100) ** 2
    if name == "SelfComposedDpEvent":
        return _whole(event["count"]) * _inverse_square(event["event"], depth + 1)
    if name == "ComposedDpEvent":
        return sum((_inverse_square(inner, depth + 1) for inner in event["events"]), arb(0))
    raise NotCoveredError(f"a sample or a noise around {name}")
