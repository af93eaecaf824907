"""The runs of the study: experiments, candidates for hyperparameters, and the job of one run."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from audits.papers.study import Job, Result, Results
from audits.papers.tmlr.adult.data import Division, Part, Source, divide, likelihood, load, score
from audits.papers.tmlr.adult.methods import METHODS, Tuning, calibrate, parts_of, train
from pvi import MeanFieldGaussian

SEARCH_SEED = 1000
"""Not among the reported seeds, which count from 0."""
MOST_POINTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What was tried for a method, and what is used.

    Attributes:
      method: Its name.
      candidates: Tried on the search seed.
      chosen: The index of the candidate with the best mean validation log-likelihood, as found by
        the recorded search; the study says so if its own search disagrees.
    """

    method: str
    candidates: tuple[Tuning, ...]
    chosen: int = 0

    @property
    def tuning(self) -> Tuning:
        """What reported runs use."""
        return self.candidates[self.chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One of TMLR's figures.

    Attributes:
      figure: Its number, as "Fig. 1".
      model: The likelihood.
      clients: M.
      target_epsilon: What each client's certified ε may be, at δ = 1e-5.
      seeds: How many of the study's seeds at most.
      grids: One per method.
      search_divisions: On which divisions candidates are compared.
      hidden: The network's hidden units.
      predicted: How many records are predicted; 0 for all.
    """

    figure: str
    model: Literal["logistic", "bnn"]
    clients: int
    target_epsilon: float
    seeds: int
    grids: tuple[Grid, ...]
    search_divisions: tuple[str, ...]
    hidden: int = 50
    predicted: int = 0

    @property
    def key(self) -> str:
        """The beginning of its jobs' keys."""
        return self.figure.replace("Fig. ", "fig")

    @property
    def possible(self) -> bool:
        """Whether what it needs is installed."""
        return self.model == "logistic" or importlib.util.find_spec("torch") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """All that a run depends on, but for its seed."""

    source: Source
    part: Part
    model: Literal["logistic", "bnn"]
    hidden: int
    predicted: int
    clients: int
    division: Division
    target_epsilon: float
    method: str
    tuning: Tuning


def run(task: Task, seed: int) -> Result:
    """Trains, and predicts on the way: accuracy and log-likelihood against communications."""
    bias = task.model == "logistic"
    learn, predict = load(task.source, task.part, bias=bias)
    if task.predicted:
        predict = predict.take(np.arange(min(task.predicted, len(predict))))
    own = likelihood(task.model, learn.features.shape[-1], task.hidden)
    # Methods of one seed share the division; what follows is each method's own randomness.
    shards = divide(learn, task.division, task.clients, np.random.default_rng((seed, 0)))
    rng = np.random.default_rng((seed, 1))
    method = METHODS[task.method]
    parts = tuple(parts_of(method, task.tuning, [shard.size for shard in shards]))
    sigma, cost = calibrate(method, task.tuning, parts, task.target_epsilon)
    rounds = task.tuning.rounds
    looks = set(np.linspace(rounds, 1, min(rounds, MOST_POINTS)).round().astype(int).tolist())
    points: list[tuple[int, float, float]] = []
    seen = 0

    def watch(communications: int, q: MeanFieldGaussian) -> None:
        nonlocal seen
        seen += 1
        if seen in looks and (task.part == "test" or seen == rounds):
            points.append((communications, *score(own, q, predict, np.random.default_rng(seed))))

    train(method, task.tuning, sigma, likelihood=own, shards=shards, rng=rng, watch=watch)
    return {
        "communications": [point[0] for point in points],
        "accuracy": [round(point[1], 3) for point in points],
        "log_likelihood": [round(point[2], 5) for point in points],
        "noise_multiplier": round(sigma, 4),
        "epsilon": [cost.lower, cost.upper],
    }


def divisions_of(method: str, divisions: Sequence[Division]) -> Sequence[Division]:
    """The first only for global VI, which does not see how records are divided (footnote 6)."""
    return divisions[:1] if METHODS[method].kind == "global" else divisions


def run_key(experiment: Experiment, division: Division, method: str, seed: int) -> str:
    """Names a reported run."""
    return f"{experiment.key}/{division.name}/{method}/seed={seed}"


def search_key(experiment: Experiment, division: Division, method: str, candidate: int) -> str:
    """Names a run of the search."""
    return f"search/{experiment.key}/{division.name}/{method}/{candidate}"


def jobs_of(
    experiment: Experiment, source: Source, divisions: Sequence[Division], seeds: Sequence[int]
) -> list[Job]:
    """The search on its own seed and records, then the reported runs."""
    if not experiment.possible:
        return []

    def task(grid: Grid, division: Division, tuning: Tuning, part: Part) -> Task:
        return Task(
            source=source,
            part=part,
            model=experiment.model,
            hidden=experiment.hidden,
            predicted=experiment.predicted,
            clients=experiment.clients,
            division=division,
            target_epsilon=experiment.target_epsilon,
            method=grid.method,
            tuning=tuning,
        )

    search, reported = [], []
    for grid in experiment.grids:
        for division in divisions_of(grid.method, divisions):
            if division.name in experiment.search_divisions:
                search += [
                    Job(
                        key=search_key(experiment, division, grid.method, number),
                        function=run,
                        arguments=(task(grid, division, candidate, "validation"), SEARCH_SEED),
                    )
                    for number, candidate in enumerate(grid.candidates)
                ]
            reported += [
                Job(
                    key=run_key(experiment, division, grid.method, seed),
                    function=run,
                    arguments=(task(grid, division, grid.tuning, "test"), seed),
                )
                for seed in seeds[: experiment.seeds]
            ]
    return search + reported


def searched(
    experiment: Experiment, divisions: Sequence[Division], grid: Grid, results: Results
) -> list[float]:
    """Each candidate's validation log-likelihood, its mean over the divisions of the search."""
    keys = [
        [
            search_key(experiment, division, grid.method, number)
            for division in divisions_of(grid.method, divisions)
            if division.name in experiment.search_divisions
        ]
        for number in range(len(grid.candidates))
    ]
    return [float(np.mean([results[key]["log_likelihood"][-1] for key in own])) for own in keys]
