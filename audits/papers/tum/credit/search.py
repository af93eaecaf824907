"""The search for learning rates and projection radii: its jobs, scores and table."""

from collections.abc import Sequence

import numpy as np

from audits.papers.study import Job, Result, Results, Row, Table
from audits.papers.tum.credit.costs import RECORD, RECORD_IN_SUM, cost
from audits.papers.tum.credit.grids import SEARCH_SEED, TUM_NOISE, Grid
from audits.papers.tum.credit.settings import Settings, private_method, tum_method
from audits.papers.tum.credit.training import Method, train


def validate(method: Method, records: int, rounds: int) -> Result:
    """AUC and log-loss on the records of the search seed that do not train."""
    final = train(method, records, rounds, (SEARCH_SEED,), ())["final"]
    return {name: final[name][0] for name in ("auc", "log_loss")}


def search_runs(settings: Settings) -> dict[str, tuple[Method, int]]:
    """The method and the rounds of every run of the search, by the key of its job."""
    found = {}
    for grid in settings.grids:
        for number, candidate in enumerate(grid.candidates):
            keys = _keys(settings, grid, number)
            if grid.way == TUM_NOISE:
                found[keys[0]] = (tum_method(candidate), settings.noisy_rounds)
                continue
            for key, epsilon in zip(keys, settings.epsilons, strict=True):
                method = private_method(settings, epsilon, grid.way, candidate)
                found[key] = (method, settings.private_rounds)
    return found


def search_jobs(settings: Settings) -> list[Job]:
    """One for each candidate and ε."""
    return [
        Job(key=key, function=validate, arguments=(method, settings.records, rounds))
        for key, (method, rounds) in search_runs(settings).items()
    ]


def _keys(settings: Settings, grid: Grid, number: int) -> list[str]:
    start = f"search/{grid.way}/{number}"
    if grid.way == TUM_NOISE:
        return [start]
    return [f"{start}/ε={epsilon:g}" for epsilon in settings.epsilons]


def search_table(settings: Settings, results: Results) -> Table:
    """Every candidate with its validation AUC."""
    rows = []
    runs = search_runs(settings)
    for grid in settings.grids:
        found = [
            [results[key]["auc"] for key in _keys(settings, grid, number)]
            for number in range(len(grid.candidates))
        ]
        means = [float(np.mean(values)) for values in found]
        for number, (candidate, values) in enumerate(zip(grid.candidates, found, strict=True)):
            method, rounds = runs[_keys(settings, grid, number)[-1]]
            assert method.noise is not None
            scope = RECORD if method.noise.aggregator == "none" else RECORD_IN_SUM
            cells = (
                grid.way,
                f"{candidate.learning_rate:g}/√t",
                f"{candidate.clip_norm:g}",
                ", ".join(f"{value:.3f}" for value in values),
                f"{means[number]:.4f}",
                _mark(grid, means, number),
            )
            price = cost(method.noise, settings.records, rounds, scope, settings.delta)
            rows.append(Row(cells=cells, cost=price))
    asked = ", ".join(f"{epsilon:g}" for epsilon in settings.epsilons)
    return Table(
        title="The search for learning rates and C",
        columns=("for", "learning rate", "C", "validation AUC", "mean", "used"),
        rows=tuple(rows),
        note=f"On seed {SEARCH_SEED}, whose data are a draw of their own: a random fifth of each "
        "client's records validates and does not train, and no reported run trains or tests on "
        f"that draw. “{TUM_NOISE}”: noise of standard deviation 0.5, {settings.noisy_rounds} "
        f"rounds; its rate is Adam's in the tables of Figs 9, 10 and 12. Others: "
        f"{settings.private_rounds} rounds at each of ε = {asked}, chosen by the mean; the cost is "
        "that of the last. One seed and small grids, whose ranges were set when seeds 0 and 1 had "
        "been looked at: candidates differ by less than seeds do, and where the best is at an edge "
        "more may be possible. By AUC alone: the log-loss, for which a large rate is bad at "
        "ε = 1, was no criterion. The search's own leakage is not in any ε here.",
    )


def _mark(grid: Grid, scores: Sequence[float], number: int) -> str:
    best = int(np.argmax(scores))
    if number == grid.chosen:
        return "yes" if number == best else f"yes, though this search prefers candidate {best + 1}"
    return ""
