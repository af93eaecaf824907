"""What the report asks the accountants: named settings for the cross-check, and curves."""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import (
    MomentsAccountant,
    RenyiAccountant,
    crosscheck,
    epsilon_bounds,
    epsilon_curve,
)
from accountants.base import IntervalAccountant
from accountants.sampling import SamplingKind
from audits.signing.run import READINGS
from audits.wording import RELATIONS, sampling_words

ADD_OR_REMOVE_ONE, REPLACE_ONE, _ = NeighboringRelation
_FORGETS_2C = frozenset({"dp-accounting RDP"})
NOISE, RATE, STEPS, DELTA = 1.0, 0.01, 1_000, 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSetting:
    """A setting to cross-check.

    Attributes:
      name: For people.
      event: What is released.
      delta: δ.
      relation: Which data sets are neighbours.
      known: Accountants known to report less than what is proved to be the least.
      reason: Why they do.
    """

    name: str
    event: dpa.DpEvent
    delta: float = DELTA
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE
    known: frozenset[str] = frozenset()
    reason: str = ""


def _sampled(rate: float, noise: float, steps: int) -> dpa.DpEvent:
    step = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise))
    return dpa.SelfComposedDpEvent(step, steps)


SETTINGS = (
    NamedSetting(
        name="DP-SGD: σ = 1, Poisson q = 0.01, 1,000 steps", event=_sampled(0.01, 1, 1000)
    ),
    NamedSetting(
        name="DP-PVI on Adult (Workshop): σ = 5, Poisson q = 0.02, 3,110 steps",
        event=_sampled(0.02, 5, 3110),
        delta=1e-4,
    ),
    NamedSetting(name="σ = 2, Poisson q = 0.05, 1,000 steps", event=_sampled(0.05, 2, 1000)),
    NamedSetting(name="One Gaussian release: σ = 1", event=dpa.GaussianDpEvent(1.0)),
    NamedSetting(
        name="100 Laplace releases: scale 10",
        event=dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(10.0), 100),
    ),
    NamedSetting(
        name="One Gaussian release, one record replaced: σ = 1",
        event=dpa.GaussianDpEvent(1.0),
        relation=REPLACE_ONE,
        known=_FORGETS_2C,
        reason="it counts C where one replaced record moves a sum by 2C.",
    ),
    NamedSetting(
        name="Batches of fixed size: σ = 1, 10 of 1,000 records, 1,000 steps",
        event=dpa.SelfComposedDpEvent(
            dpa.SampledWithoutReplacementDpEvent(1000, 10, dpa.GaussianDpEvent(1.0)), 1000
        ),
        relation=REPLACE_ONE,
        known=_FORGETS_2C,
        reason="it counts C where one replaced record moves a sum by 2C.",
    ),
)


def check(index: int) -> dict[str, Any]:
    """The cross-check of one of `SETTINGS` as plain data."""
    setting = SETTINGS[index]
    found = crosscheck(setting.event, setting.delta, setting.relation).as_dictionary()
    too_low = {low for low, _ in found["conflicts"]}
    return found | {
        "setting": setting.name,
        "known": sorted(setting.known),
        "reason": setting.reason,
        "as_expected": too_low == setting.known,
    }


def curves_over_steps() -> dict[str, Any]:
    """ε over the steps: our accountants on one mechanism."""
    steps = np.unique(np.geomspace(1, 1e5, 31).round().astype(int)).tolist()
    event = dpa.PoissonSampledDpEvent(RATE, dpa.GaussianDpEvent(NOISE))

    def upper(accountant: type[IntervalAccountant]) -> list[float]:
        return [accountant().compose(event, n).get_epsilon(DELTA) for n in steps]

    certified = epsilon_curve(noise_multiplier=NOISE, sampling_rate=RATE, steps=steps, delta=DELTA)
    return {
        "x": steps,
        "series": [
            _series("Fourier, certified from both sides", certified.lower, certified.upper),
            _series("Rényi, upper bound", None, upper(RenyiAccountant)),
            _series("moments, upper bound", None, upper(MomentsAccountant)),
        ],
    }


def curves_by_sampling() -> dict[str, Any]:
    """ε over the steps: one set of numbers, three mechanisms."""
    steps = np.unique(np.geomspace(10, 1e5, 17).round().astype(int)).tolist()
    series = []
    for name, relation, sampling in _READINGS:
        found = epsilon_curve(
            noise_multiplier=NOISE,
            sampling_rate=RATE,
            steps=steps,
            delta=DELTA,
            relation=relation,
            sampling=sampling,
            tolerance=1e-3,
        )
        series.append(_series(name, found.lower, found.upper))
    return {"x": steps, "series": series}


def curves_over_delta() -> dict[str, Any]:
    """ε over δ, under the same three readings."""
    deltas = np.geomspace(1e-12, 1e-2, 21).tolist()
    series = []
    for name, relation, sampling in _READINGS:
        found = [
            epsilon_bounds(
                noise_multiplier=NOISE,
                sampling_rate=RATE,
                steps=STEPS,
                delta=delta,
                relation=relation,
                sampling=sampling,
                tolerance=1e-3,
            )
            for delta in deltas
        ]
        series.append(_series(name, [b.lower for b in found], [b.upper for b in found]))
    return {"x": deltas, "series": series}


def readings() -> list[dict[str, Any]]:
    """ε of one set of numbers, by who is in a batch and which data sets are neighbours."""
    found = []
    for sampling, relation in READINGS:
        bounds = epsilon_bounds(
            noise_multiplier=NOISE,
            sampling_rate=RATE,
            steps=STEPS,
            delta=DELTA,
            relation=relation,
            sampling=sampling,
        )
        name = f"{sampling_words(sampling)}, {RELATIONS[relation]}"
        found.append({"name": name, "lower": bounds.lower, "upper": bounds.upper})
    return found


_READINGS: tuple[tuple[str, NeighboringRelation, SamplingKind], ...] = (
    ("Poisson sampling, one record added or removed", ADD_OR_REMOVE_ONE, "poisson"),
    ("Poisson sampling, one record replaced", REPLACE_ONE, "poisson"),
    ("batches of fixed size, one record replaced", REPLACE_ONE, "fixed_size"),
)


def _series(name: str, lower: Any, upper: Any) -> dict[str, Any]:
    return {
        "name": name,
        "lower": None if lower is None else [float(value) for value in lower],
        "upper": [float(value) for value in upper],
    }
