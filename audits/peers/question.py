"""Events in plain words, for those that do not speak dp-accounting.

>>> import dp_accounting as dpa
>>> step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0))
>>> question(dpa.SelfComposedDpEvent(step, 10), dpa.NeighboringRelation.ADD_OR_REMOVE_ONE, 1e-5)
{'releases': [{'kind': 'poisson_gaussian', 'noise_multiplier': 1.0, 'sampling_rate': 0.01, \
'count': 10}], 'relation': 'ADD_OR_REMOVE_ONE', 'delta': 1e-05}
"""

from collections.abc import Iterator
from typing import Any

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent

from accountants import BallsInBinsDpEvent

Question = dict[str, Any]


def question(event: dpa.DpEvent, relation: NeighboringRelation, delta: float) -> Question:
    """Releases with their counts, one entry for equal ones that follow each other."""
    releases: list[dict[str, Any]] = []
    for words, count in _leaves(event, 1):
        if releases and {**releases[-1], "count": 0} == {**words, "count": 0}:
            releases[-1]["count"] += count
        else:
            releases.append({**words, "count": count})
    return {"releases": releases, "relation": relation.name, "delta": delta}


def in_words(asked: Question) -> str:
    """A question in a line.

    >>> in_words(question(dpa.GaussianDpEvent(2.0), dpa.NeighboringRelation.REPLACE_ONE, 1e-5))
    'gaussian (noise multiplier 2), REPLACE_ONE, δ = 1e-05'
    """
    parts = []
    for release in asked["releases"]:
        said = ", ".join(
            f"{name.replace('_', ' ')} {value:g}"
            if isinstance(value, float)
            else f"{name.replace('_', ' ')} {value}"
            for name, value in release.items()
            if name not in ("kind", "count")
        )
        times = f"{release['count']:,} × " if release["count"] > 1 else ""
        parts.append(f"{times}{release['kind'].replace('_', ' ')} ({said})")
    return f"{' + '.join(parts)}, {asked['relation']}, δ = {asked['delta']:g}"


def _leaves(event: dpa.DpEvent, count: int) -> Iterator[tuple[dict[str, Any], int]]:
    if isinstance(event, dpa.ComposedDpEvent):
        for part in event.events:
            yield from _leaves(part, count)
    elif isinstance(event, dpa.SelfComposedDpEvent):
        yield from _leaves(event.event, count * event.count)
    else:
        yield _words(event), count


def _words(event: dpa.DpEvent) -> dict[str, Any]:
    match event:
        case dpa.GaussianDpEvent():
            return {"kind": "gaussian", "noise_multiplier": event.noise_multiplier}
        case dpa.LaplaceDpEvent():
            return {"kind": "laplace", "noise_multiplier": event.noise_multiplier}
        case dpa.PoissonSampledDpEvent(event=dpa.GaussianDpEvent() as noise):
            return {
                "kind": "poisson_gaussian",
                "noise_multiplier": noise.noise_multiplier,
                "sampling_rate": event.sampling_probability,
            }
        case dpa.SampledWithoutReplacementDpEvent(event=dpa.GaussianDpEvent() as noise):
            return {
                "kind": "fixed_size_gaussian",
                "noise_multiplier": noise.noise_multiplier,
                "dataset_size": event.source_dataset_size,
                "batch_size": event.sample_size,
            }
        case DiscreteLaplaceDpEvent():
            return {
                "kind": "discrete_laplace",
                "noise_parameter": event.noise_parameter,
                "sensitivity": event.sensitivity,
            }
        case dpa.RandomizedResponseDpEvent():
            return {
                "kind": "randomized_response",
                "noise_parameter": event.noise_parameter,
                "num_buckets": event.num_buckets,
            }
        case MixtureOfGaussiansDpEvent():
            return {
                "kind": "mixture_of_gaussians",
                "standard_deviation": event.standard_deviation,
                "sensitivities": list(event.sensitivities),
                "probabilities": list(event.sampling_probs),
            }
        case BallsInBinsDpEvent(event=dpa.GaussianDpEvent() as noise):
            return {
                "kind": "balls_in_bins",
                "noise_multiplier": noise.noise_multiplier,
                "steps_per_epoch": event.steps_per_epoch,
            }
    return {"kind": type(event).__name__}
