"""Reported runs, gathered by method and division."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountants import Bounds
from accountants.arrays import FloatArray
from audits.papers.study import Cost, Results
from audits.papers.tmlr.adult.data import Division
from audits.papers.tmlr.adult.methods import DELTA, METHODS
from audits.papers.tmlr.adult.runs import Experiment, divisions_of, run_key

METRICS = ("accuracy", "log_likelihood")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """What a method did on one division.

    Attributes:
      communications: Messages exchanged between all clients and the server, shape (points,).
      accuracy: In per cent, shape (seeds, points).
      log_likelihood: Mean over predicted records, shape (seeds, points).
      noise_multiplier: σ.
      cost: Certified, for the worst client.
    """

    communications: FloatArray
    accuracy: FloatArray
    log_likelihood: FloatArray
    noise_multiplier: float
    cost: Cost

    def values(self, metric: str) -> FloatArray:
        """Accuracy or log-likelihood."""
        return self.accuracy if metric == "accuracy" else self.log_likelihood

    def final(self, metric: str) -> list[float]:
        """After the last round, one for each seed."""
        return [float(value) for value in self.values(metric)[:, -1]]


def curve(
    experiment: Experiment,
    divisions: Sequence[Division],
    division: Division,
    method: str,
    results: Results,
) -> Curve:
    """Gathers the seeds of one method and division."""
    shown = division if len(divisions_of(method, divisions)) > 1 else divisions[0]
    start = run_key(experiment, shown, method, 0).removesuffix("0")
    runs = [results[key] for key in results if re.fullmatch(re.escape(start) + r"\d+", key)]
    own = METHODS[method]
    return Curve(
        communications=np.array(runs[0]["communications"], dtype=float),
        accuracy=np.array([run["accuracy"] for run in runs], dtype=float),
        log_likelihood=np.array([run["log_likelihood"] for run in runs], dtype=float),
        noise_multiplier=float(runs[0]["noise_multiplier"]),
        cost=Cost.from_bounds(Bounds(*runs[0]["epsilon"]), own.scope, DELTA, own.sampling),
    )


def standard_error(values: FloatArray) -> FloatArray:
    """Of the mean over the first axis; NaN for a single seed."""
    if len(values) < 2:
        return np.full(values.shape[1:], math.nan)
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(len(values)))
