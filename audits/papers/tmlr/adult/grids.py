"""Candidates for each figure's hyperparameters, and which of them the search has chosen."""

from dataclasses import replace

from audits.papers.tmlr.adult.methods import Tuning
from audits.papers.tmlr.adult.orderings import (
    AVERAGE,
    AVERAGE_TRUSTED,
    GLOBAL,
    OPTIMISATION,
    SAME,
    SPLIT,
    VIRTUAL,
    VIRTUAL_TRUSTED,
)
from audits.papers.tmlr.adult.runs import Experiment, Grid


def _gradients(base: Tuning, *pairs: tuple[float, float], method: str, chosen: int) -> Grid:
    """Learning rate and damping."""
    candidates = (replace(base, learning_rate=rate, damping=damping) for rate, damping in pairs)
    return Grid(method=method, candidates=tuple(candidates), chosen=chosen)


def _changes(base: Tuning, *pairs: tuple[float, float], method: str, chosen: int) -> Grid:
    """Clip norm and damping."""
    candidates = (replace(base, clip_norm=norm, damping=damping) for norm, damping in pairs)
    return Grid(method=method, candidates=tuple(candidates), chosen=chosen)


def _more_parts(grid: Grid) -> Grid:
    """One candidate more: the last with three times as many parts."""
    last = grid.candidates[-1]
    return replace(grid, candidates=(*grid.candidates, replace(last, parts=3 * last.parts)))


def _with_resets(base: Tuning) -> Tuning:
    return replace(base, reset_every=1)


_POOLED = Tuning(rounds=10, steps=100, learning_rate=0.02, clip_norm=2.0, sampling_rate=0.02)
_LOCAL = Tuning(rounds=5, steps=20, learning_rate=0.02, clip_norm=2.0, sampling_rate=0.1)
_ONCE = replace(_LOCAL, rounds=1, steps=100)
_CUT = Tuning(rounds=4, steps=8, learning_rate=0.02, clip_norm=1.0, parts=200)

FIGURE_1 = Experiment(
    figure="Fig. 1",
    model="logistic",
    clients=10,
    target_epsilon=1.0,
    seeds=5,
    search_divisions=("balanced", "unbalanced 2"),
    grids=(
        _gradients(_POOLED, (0.02, 1.0), (0.01, 1.0), (0.005, 1.0), method=GLOBAL, chosen=1),
        _gradients(
            _LOCAL,
            (0.02, 0.4),
            (0.02, 0.2),
            (0.01, 0.4),
            (0.05, 0.2),
            (0.05, 0.4),
            (0.1, 0.2),
            method=OPTIMISATION,
            chosen=3,
        ),
        _changes(_CUT, (3.0, 0.2), (3.0, 0.4), (1.0, 0.8), method=AVERAGE, chosen=1),
        _changes(
            _with_resets(_CUT),
            (3.0, 0.4),
            (3.0, 0.8),
            (10.0, 0.4),
            method=AVERAGE_TRUSTED,
            chosen=1,
        ),
        _changes(
            _with_resets(_CUT), (0.03, 0.2), (0.03, 0.4), (0.1, 0.1), method=VIRTUAL, chosen=0
        ),
        _changes(
            _with_resets(_CUT),
            (0.03, 0.4),
            (0.03, 0.8),
            (0.1, 0.3),
            method=VIRTUAL_TRUSTED,
            chosen=1,
        ),
        _gradients(
            _ONCE, (0.02, 1.0), (0.01, 1.0), (0.005, 1.0), (0.05, 1.0), method=SAME, chosen=3
        ),
        _gradients(
            _ONCE, (0.02, 1.0), (0.01, 1.0), (0.005, 1.0), (0.05, 1.0), method=SPLIT, chosen=1
        ),
    ),
)

_POOLED_200 = replace(_POOLED, steps=60)
_LOCAL_200 = Tuning(rounds=4, steps=10, learning_rate=0.02, clip_norm=1.0, sampling_rate=0.2)
_ONCE_200 = replace(_LOCAL_200, rounds=1, steps=40)
_CUT_200 = Tuning(rounds=4, steps=5, learning_rate=0.02, clip_norm=1.0, parts=24)

FIGURE_3 = Experiment(
    figure="Fig. 3",
    model="logistic",
    clients=200,
    target_epsilon=0.5,
    seeds=5,
    search_divisions=("balanced",),
    grids=(
        _gradients(_POOLED_200, (0.02, 1.0), (0.01, 1.0), (0.05, 1.0), method=GLOBAL, chosen=0),
        _gradients(
            _LOCAL_200,
            (0.02, 0.2),
            (0.02, 0.05),
            (0.01, 0.2),
            (0.05, 0.2),
            method=OPTIMISATION,
            chosen=0,
        ),
        _changes(_CUT_200, (0.3, 0.05), (0.3, 0.2), (0.3, 0.1), method=AVERAGE, chosen=0),
        _changes(_with_resets(_CUT_200), (0.3, 0.2), (1.0, 0.2), method=AVERAGE_TRUSTED, chosen=0),
        _changes(
            _with_resets(_CUT_200),
            (0.03, 0.05),
            (0.03, 0.2),
            (0.03, 0.02),
            method=VIRTUAL,
            chosen=2,
        ),
        _changes(
            _with_resets(_CUT_200), (0.03, 0.2), (0.03, 0.5), method=VIRTUAL_TRUSTED, chosen=0
        ),
        _gradients(_ONCE_200, (0.02, 1.0), (0.005, 1.0), (0.001, 1.0), method=SAME, chosen=2),
        _gradients(
            _ONCE_200, (0.02, 1.0), (0.005, 1.0), (0.001, 1.0), (0.05, 1.0), method=SPLIT, chosen=3
        ),
    ),
)

_POOLED_BNN = Tuning(rounds=5, steps=30, learning_rate=0.02, clip_norm=1.0, sampling_rate=0.005)
_LOCAL_BNN = Tuning(rounds=4, steps=10, learning_rate=0.02, clip_norm=1.0, sampling_rate=0.02)
_ONCE_BNN = replace(_LOCAL_BNN, rounds=1, steps=40)
_CUT_BNN = Tuning(rounds=2, steps=5, learning_rate=0.02, clip_norm=1.0, parts=20)

FIGURE_4 = Experiment(
    figure="Fig. 4",
    model="bnn",
    clients=10,
    target_epsilon=2.0,
    seeds=5,
    search_divisions=("balanced",),
    predicted=3000,
    grids=(
        _gradients(_POOLED_BNN, (0.02, 1.0), (0.01, 1.0), method=GLOBAL, chosen=1),
        _gradients(
            _LOCAL_BNN, (0.02, 0.4), (0.01, 0.4), (0.02, 0.2), method=OPTIMISATION, chosen=2
        ),
        _more_parts(
            _changes(
                _CUT_BNN,
                (20.0, 0.4),
                (5.0, 0.4),
                (20.0, 0.1),
                (60.0, 0.4),
                method=AVERAGE,
                chosen=4,
            )
        ),
        _more_parts(
            _changes(
                _with_resets(_CUT_BNN),
                (1.0, 0.4),
                (0.3, 0.4),
                (1.0, 0.1),
                (3.0, 0.4),
                method=VIRTUAL,
                chosen=4,
            )
        ),
        _gradients(_ONCE_BNN, (0.02, 1.0), (0.01, 1.0), (0.05, 1.0), method=SAME, chosen=0),
        _gradients(_ONCE_BNN, (0.02, 1.0), (0.01, 1.0), (0.05, 1.0), method=SPLIT, chosen=0),
    ),
)


def _quick(experiment: Experiment, clients: int, hidden: int) -> Experiment:
    """The same methods and targets at a size for tests."""
    grids = tuple(
        Grid(
            method=grid.method,
            candidates=tuple(
                replace(
                    candidate,
                    rounds=min(2, candidate.rounds),
                    steps=2,
                    # Without sampling the accounting is a formula; one method samples.
                    sampling_rate=0.5 if grid.method == OPTIMISATION else 1.0,
                    parts=min(4, candidate.parts),
                )
                for candidate in grid.candidates[:1]
            ),
        )
        for grid in experiment.grids
    )
    return replace(
        experiment,
        clients=clients,
        hidden=hidden,
        grids=grids,
        search_divisions=("balanced",),
        predicted=200,
    )


QUICK_FIGURES = (
    _quick(FIGURE_1, clients=4, hidden=0),
    _quick(FIGURE_3, clients=8, hidden=0),
    _quick(FIGURE_4, clients=4, hidden=3),
)
