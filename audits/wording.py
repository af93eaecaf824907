"""Numbers and terms as people read them; a rounded bound stays a bound."""

import math

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants.rounding import DIGITS, down, interval, up

__all__ = [
    "DIGITS",
    "PAPERS",
    "RELATIONS",
    "down",
    "event_words",
    "finite",
    "interval",
    "up",
]

RELATIONS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "one record added or removed",
    NeighboringRelation.REPLACE_ONE: "one record replaced",
    NeighboringRelation.REPLACE_SPECIAL: "one record zeroed out",
}
"""How neighbouring data sets differ."""
PAPERS = {
    "Workshop": "Differentially Private Federated Variational Inference (workshop paper, 2019)",
    "Thesis": "Distributed Variational Inference and Privacy (MPhil thesis, Cambridge, 2019)",
    "TMLR": "Differentially private partitioned variational inference (submission to TMLR)",
    "TUM": "Federated Learning: Collaborative Machine Learning without Centralized Training Data "
    "(project report, TU München, 2018)",
}
"""The papers of the ledger, by the names that it has for them."""


def event_words(event: dpa.DpEvent) -> str:
    """An event in a few words; parameters to six digits. Rare events are left as they print.

    >>> step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0))
    >>> event_words(dpa.SelfComposedDpEvent(step, 1000))
    '1000 × (Gaussian σ = 1 on Poisson batches, q = 0.01)'
    >>> event_words(dpa.ComposedDpEvent([dpa.GaussianDpEvent(2.0), dpa.LaplaceDpEvent(1.5)]))
    'Gaussian σ = 2 and Laplace b = 1.5'
    """
    match event:
        case dpa.GaussianDpEvent():
            return f"Gaussian σ = {event.noise_multiplier:g}"
        case dpa.LaplaceDpEvent():
            return f"Laplace b = {event.noise_multiplier:g}"
        case dpa.PoissonSampledDpEvent():
            rate = f"q = {event.sampling_probability:g}"
            return f"{event_words(event.event)} on Poisson batches, {rate}"
        case dpa.SampledWithoutReplacementDpEvent():
            size = f"{event.sample_size} of {event.source_dataset_size}"
            return f"{event_words(event.event)} on fixed-size batches, {size}"
        case dpa.SelfComposedDpEvent():
            single = event_words(event.event)
            plain = isinstance(event.event, dpa.GaussianDpEvent | dpa.LaplaceDpEvent)
            return f"{event.count} × {single if plain else f'({single})'}"
        case dpa.ComposedDpEvent():
            return " and ".join(event_words(part) for part in event.events)
    return str(event)


def finite(value: float) -> float | None:
    """The value for JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None
