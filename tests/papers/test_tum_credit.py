"""The study `tum-credit`: its costs against closed forms, its measures, and its record."""

import dataclasses
import io
import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountants import classical, gaussian
from audits.papers.studies import COST_COLUMN, load_study, recorded, run_study
from audits.papers.tum import published
from audits.papers.tum.credit.costs import (
    CLIENT,
    CLIENT_IN_SUM,
    RECORD,
    RECORD_IN_SUM,
    bounds,
    calibrated,
    training_sizes,
)
from audits.papers.tum.credit.grids import GRIDS, SEARCH_SEED, TUM_NOISE, WAYS
from audits.papers.tum.credit.search import search_runs, search_table
from audits.papers.tum.credit.settings import (
    CENTRAL,
    GD,
    QUICK,
    methods,
)
from audits.papers.tum.credit.training import (
    NOMINAL_DEFAULT_RATE,
    BalancedLogistic,
    Noise,
    _weights,
    auc,
    measures,
    split,
)
from audits.papers.tum.theorems import composed_by_tum, composed_exact_rounds
from pvi import Shard

STUDY = load_study("tum-credit")
RECORDS, DELTA = 3000, 1e-5
MU = published.CLIP / published.SIGMA


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("tum-credit")
    return run_study(STUDY, quick=True, folder=folder, stream=io.StringIO()), folder


def test_the_quick_study_runs_and_every_table_ends_with_the_cost(
    quick: tuple[dict[str, Any], Path],
) -> None:
    record, folder = quick
    assert all(table["columns"][-1] == COST_COLUMN for table in record["tables"])
    assert json.loads((folder / "tum-credit-quick.json").read_text()) == record
    assert all((folder / name).stat().st_size > 5000 for name in record["figures"])
    views = {row[-1].rsplit("; ")[-1] for table in record["tables"] for row in table["rows"]}
    assert views == {"∞ (no noise)", "messages", "aggregate"}


def test_private_rows_meet_their_target(quick: tuple[dict[str, Any], Path]) -> None:
    found = methods(QUICK)
    for epsilon in QUICK.epsilons:
        private = [key for key in found if key.startswith(f"private/ε={epsilon:g}/")]
        assert len(private) == len(WAYS)
        for method, rounds in (found[key] for key in private):
            assert method.noise is not None
            scope = RECORD if method.noise.aggregator == "none" else RECORD_IN_SUM
            cost = bounds(method.noise, QUICK.records, rounds, scope, QUICK.delta)
            assert 0.999 * epsilon < cost.lower <= cost.upper <= epsilon * (1.0 + 1e-9)


def test_the_search_is_on_a_seed_and_on_records_that_no_reported_run_has() -> None:
    """Seeds count from 0; another seed's data share no record with the search's."""
    assert range(STUDY.seeds).stop <= SEARCH_SEED
    assert {grid.way for grid in GRIDS} == {TUM_NOISE, *WAYS}
    own, reported = split(RECORDS, SEARCH_SEED), split(RECORDS, 0)
    rows = [
        {tuple(row) for shard in (*data.train, data.test) for row in shard.inputs.tolist()}
        for data in (own, reported)
    ]
    assert not rows[0] & rows[1]
    trained = {tuple(row) for shard in own.train for row in shard.inputs.tolist()}
    assert not trained & {tuple(row) for row in own.test.inputs.tolist()}


def test_reported_runs_use_the_chosen_candidate(quick: tuple[dict[str, Any], Path]) -> None:
    for grid in QUICK.grids:
        keys = [f"private/ε={e:g}/{grid.way}" for e in QUICK.epsilons]
        for key in [f"tum/C={published.CLIP:g}"] if grid.way == TUM_NOISE else keys:
            method, _ = methods(QUICK)[key]
            assert method.noise is not None
            found = (method.learning_rate, method.noise.clip_norm)
            assert found == (grid.used.learning_rate, grid.used.clip_norm)
    table = quick[0]["tables"][-1]
    assert len(table["rows"]) == sum(len(grid.candidates) for grid in QUICK.grids)


def test_a_choice_that_the_search_does_not_prefer_is_marked() -> None:
    settings = dataclasses.replace(QUICK, grids=(QUICK.grids[1],))
    for better, mark in ((0, "yes"), (1, "yes, though this search prefers candidate 2")):
        results = {
            key: {"auc": 0.7 if key.startswith(f"search/GD/{better}") else 0.6}
            for key in search_runs(settings)
        }
        rows = search_table(settings, results).rows
        assert [row.cells[-1] for row in rows] == [mark, ""]


@pytest.mark.parametrize("rounds", [1, 16, 225])
def test_costs_contain_the_closed_form(rounds: int) -> None:
    """k rounds are one Gaussian: μ = √k · shift/std, with 2C for a record and C for a client."""
    noise, root = Noise(clip_norm=0.2, noise_multiplier=2.5), math.sqrt(rounds)
    for scope, mu in ((RECORD, 2.0 * root / 2.5), (CLIENT, root / 2.5)):
        assert_contains(bounds(noise, RECORDS, rounds, scope, DELTA), gaussian.epsilon(mu, DELTA))
    # In the average, the largest client is hidden by all clients' noise.
    sizes = np.array(training_sizes(RECORDS))
    hidden = float(np.linalg.norm(sizes)) / sizes.max()
    for scope, mu in ((RECORD_IN_SUM, 2.0 * root / 2.5), (CLIENT_IN_SUM, root / 2.5)):
        exact = gaussian.epsilon(mu / hidden, DELTA)
        assert_contains(bounds(noise, RECORDS, rounds, scope, DELTA), exact)


def assert_contains(found: Any, exact: float) -> None:
    assert found.lower - 1e-6 <= exact <= found.upper + 1e-6
    assert found.gap < 1e-3


@pytest.mark.parametrize("rounds", published.ITERATIONS)
def test_advanced_composition_is_above_the_exact_curve(rounds: int) -> None:
    for delta in (1e-5, published.TOTAL_DELTA):
        exact = gaussian.epsilon(MU * math.sqrt(rounds), delta)
        assert (
            exact < composed_exact_rounds(MU, rounds, delta) < composed_by_tum(MU, rounds, delta)[0]
        )


def test_epsilon_grows_with_the_rounds() -> None:
    noise = Noise(clip_norm=published.CLIP, noise_multiplier=published.SIGMA / published.CLIP)
    found = [bounds(noise, RECORDS, k, RECORD, DELTA) for k in published.ITERATIONS]
    assert found[0].upper < found[1].lower
    assert found[1].upper < found[2].lower


@pytest.mark.parametrize("rounds", published.ITERATIONS)
def test_tums_single_round_is_outside_of_its_theorem(rounds: int) -> None:
    """The accountants' version of Theorem 1 refuses the division that TUM's Figure 12 needs."""
    assert composed_by_tum(MU, rounds, published.TOTAL_DELTA)[1] >= 1.0
    with pytest.raises(ValueError, match="must exceed"):
        classical.gaussian_epsilon(1.0 / MU, published.TOTAL_DELTA / rounds)


def test_calibrated_noise_is_the_least() -> None:
    for aggregator, scope in (("none", RECORD), ("sizes", RECORD_IN_SUM), ("equal", RECORD_IN_SUM)):
        noise = calibrated(2.0, DELTA, 10, 0.1, RECORDS, aggregator)
        less = Noise(
            clip_norm=0.1,
            noise_multiplier=0.999 * noise.noise_multiplier,
            aggregator=noise.aggregator,
        )
        assert bounds(noise, RECORDS, 10, scope, DELTA).upper <= 2.0 + 1e-9
        assert bounds(less, RECORDS, 10, scope, DELTA).lower > 2.0
    with pytest.raises(ValueError, match="`noise` must"):
        calibrated(2.0, DELTA, 10, 0.1, RECORDS, "some")


def test_auc_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    score = rng.integers(0, 6, 40).astype(float)  # with ties
    targets = np.where(rng.random(40) < 0.3, 1.0, -1.0)
    wins = [0.5 if a == b else float(a > b) for a in score[targets > 0] for b in score[targets < 0]]
    assert auc(score, targets) == pytest.approx(np.mean(wins), rel=1e-12)
    with pytest.raises(ValueError, match="both classes"):
        auc(score, np.ones(40))


def test_scores_are_the_gradient_of_the_weighted_likelihood() -> None:
    rng = np.random.default_rng(1)
    shard = Shard(inputs=rng.normal(size=(6, 3)), targets=np.array([1.0, -1, -1, 1, -1, -1]))
    model, weights, step = BalancedLogistic(3), rng.normal(size=3), 1e-6
    for j in range(3):
        shift = step * np.eye(3)[j]
        slope = model.log_likelihood(weights + shift, shard) - model.log_likelihood(
            weights - shift, shard
        )
        np.testing.assert_allclose(
            model.scores(weights, shard)[:, j], slope / (2 * step), rtol=1e-6, atol=1e-8
        )


def test_log_loss_undoes_the_class_weights() -> None:
    """With no information the balanced score is 0, and the calibrated rate the nominal one."""
    test = Shard(inputs=np.ones((4, 1)), targets=np.array([1.0, -1.0, -1.0, -1.0]))
    found = measures(np.zeros(1), test)
    rate = NOMINAL_DEFAULT_RATE
    assert found["log_loss"] == pytest.approx(-(math.log(rate) + 3 * math.log(1 - rate)) / 4)
    assert found["auc"] == 0.5


def test_one_local_step_without_noise_is_gradient_descent_on_all_data() -> None:
    data = split(RECORDS, 0)
    found = _weights(GD, data.train, 3, np.random.default_rng(0))[-1]
    inputs = np.concatenate([shard.inputs for shard in data.train])
    targets = np.concatenate([shard.targets for shard in data.train])
    weigh = np.where(targets > 0, 0.5 / NOMINAL_DEFAULT_RATE, 0.5 / (1 - NOMINAL_DEFAULT_RATE))
    weights = np.zeros(inputs.shape[1])
    for t in (1, 2, 3):
        slope = weigh * targets / (1.0 + np.exp(targets * (inputs @ weights)))
        gradient = (slope[:, None] * inputs).mean(axis=0) - weights / len(targets)
        weights = weights + 0.5 / math.sqrt(t) * gradient
    np.testing.assert_allclose(found, weights, rtol=1e-9, atol=1e-12)


def test_the_shipped_record_covers_every_method() -> None:
    record = recorded("tum-credit")
    assert record is not None
    assert record["command"] == f"dp-assay study tum-credit --seeds {STUDY.seeds}"
    assert record["settings"] == repr(STUDY.settings)
    runs = {CENTRAL, *methods(STUDY.settings), *search_runs(STUDY.settings)}
    assert set(record["results"]) == runs
    table = search_table(STUDY.settings, record["results"])
    assert [row.cells[-1] for row in table.rows].count("yes") == len(GRIDS)
    assert {row.cells[-1] for row in table.rows} == {"yes", ""}
    titles = " ".join(table["title"] for table in record["tables"])
    assert all(f"Fig. {number}" in titles for number in (9, 10, 12))
    folder = resources.files("audits.papers").joinpath("recorded")
    for name in record["figures"]:
        assert 5_000 < len(folder.joinpath(name).read_bytes()) < 80_000
    assert len(folder.joinpath("tum-credit.json").read_bytes()) < 200_000
