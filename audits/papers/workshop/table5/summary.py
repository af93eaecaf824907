"""What the jobs' results say of one row: means over seeds, and the cost of the worst client."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audits.papers.study import Cost, Result, Results

KINDS = ("small", "large")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Means over seeds, with standard deviations between seeds (0 for a single one)."""

    accuracy: float
    accuracy_spread: float
    log_likelihood: float
    log_likelihood_spread: float
    communications: int
    seeds: int

    @property
    def accuracy_error(self) -> float:
        """The standard error of the mean accuracy, as far as seeds go."""
        return self.accuracy_spread / math.sqrt(self.seeds)


def runs_of(results: Results, letter: str, method: str) -> list[Result]:
    """The results of all seeds."""
    found = [
        result for key, result in results.items() if key.startswith(f"{letter}/{method}/seed=")
    ]
    if not found:
        raise ValueError(f"`results` must have runs of {method!r} on split {letter}, got none.")
    return found


def summarise(results: Results, letter: str, method: str) -> Summary:
    """Of a method on a split."""
    runs = runs_of(results, letter, method)
    accuracy, accuracy_spread = _mean([run["accuracy"] for run in runs])
    likelihood, likelihood_spread = _mean([run["log_likelihood"] for run in runs])
    return Summary(
        accuracy=accuracy,
        accuracy_spread=accuracy_spread,
        log_likelihood=likelihood,
        log_likelihood_spread=likelihood_spread,
        communications=int(runs[0]["communications"]),
        seeds=len(runs),
    )


def kind_cost(results: Results, letter: str, target: float, question: str, kind: str) -> Cost:
    """The cost of a small or a large client; `question` as in `budget.QUESTIONS`."""
    return Cost(**results[f"{letter}/cost/{target:g}"][f"{question}/{kind}"]["cost"])


def worst_cost(results: Results, letter: str, target: float, question: str) -> Cost:
    """The larger of both, each at its own δ."""
    costs = [kind_cost(results, letter, target, question, kind) for kind in KINDS]
    return max(costs, key=lambda cost: cost.upper)


def _mean(values: Sequence[float]) -> tuple[float, float]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return float(np.mean(values)), spread
