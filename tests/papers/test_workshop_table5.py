"""The study of the Workshop's Table 5: its quick version, its laws, and the record that ships."""

import io
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant

import audits
import pvi
from audits.papers.studies import COST_COLUMN, Table, load_study, recorded, run_study
from audits.papers.workshop.adult import divided_adult
from audits.papers.workshop.published import TABLE_1
from audits.papers.workshop.table5 import budget, summary, training
from audits.papers.workshop.table5.settings import FULL, QUICK

STUDY = load_study("workshop-table5")
# Typed from the paper (Table 5, test accuracy in per cent), not taken from the study.
PUBLISHED_ACCURACY = {
    "PVI": {"A": 85.23, "B": 85.15, "C": 85.13},
    "DP-PVI 0.5, Poisson": {"A": 84.57, "B": 84.43, "C": 81.83},
    "DP-PVI 0.75, Poisson": {"A": 84.78, "B": 84.87, "C": 82.38},
    "DP-PVI 1, Poisson": {"A": 85.02, "B": 84.94, "C": 82.46},
}
PUBLISHED_GLOBAL = {"A": 85.21, "B": 78.76, "C": 53.96}
# (method, split) that is off by more than 0.5 points: which recorded method closes the gap.
EXPLAINED: dict[tuple[str, str], str] = {}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("study")
    record = run_study(STUDY, quick=True, folder=folder, stream=io.StringIO())
    record["folder"] = folder
    return record


@pytest.fixture(scope="module")
def full() -> dict[str, Any]:
    record = recorded("workshop-table5")
    assert record is not None, "the record of the full run must ship with the package"
    return record


def both(quick: dict[str, Any], full: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    yield QUICK, quick["results"]
    yield FULL, full["results"]


def titled(tables: list[Table], word: str) -> Table:
    (found,) = [table for table in tables if word in table.title]
    return found


def test_the_quick_version_writes_what_it_says(quick: dict[str, Any]) -> None:
    written = json.loads((quick["folder"] / "workshop-table5-quick.json").read_text("utf-8"))
    assert written["tables"] == quick["tables"]
    for name in quick["figures"]:
        assert (quick["folder"] / name).stat().st_size > 0
    assert all(table["columns"][-1] == COST_COLUMN for table in quick["tables"])
    assert any("GENERATED DATA" in table["note"] for table in quick["tables"])


def test_noise_has_a_finite_cost_and_its_absence_an_infinite_one(
    quick: dict[str, Any], full: dict[str, Any]
) -> None:
    for settings, results in both(quick, full):
        rows = titled(STUDY.tables(settings, results), "Table 5").rows
        assert {row.cells[0] for row in rows} == set(settings.splits)
        for row in rows:
            private = row.cells[1].startswith("DP-PVI")
            assert math.isfinite(row.cost.upper) == private
            assert 0.0 < row.cost.lower <= row.cost.upper


def test_poisson_stays_within_the_target_and_fixed_size_costs_more(
    quick: dict[str, Any], full: dict[str, Any]
) -> None:
    for settings, results in both(quick, full):
        for letter, target, kind in itertools.product(
            settings.splits, settings.targets, summary.KINDS
        ):
            cost = {
                question: summary.kind_cost(results, letter, target, question, kind)
                for question in budget.QUESTIONS
            }
            assert cost["Poisson"].upper <= target
            assert cost["Fourier budget"].upper <= target
            assert cost["Poisson"].upper < cost["Fourier budget"].lower
            assert cost["fixed size"].lower > cost["Poisson"].upper
            # ε_max does not hold for the noisy gradients of batches that the paper draws.
            assert cost["fixed size"].lower > target


def test_the_tighter_the_accountant_the_more_steps(
    quick: dict[str, Any], full: dict[str, Any]
) -> None:
    for settings, results in both(quick, full):
        steps = results["budget"]
        for target, delta in itertools.product(settings.targets, (1e-3, 1e-4)):
            moments, renyi, fourier = (
                steps[f"{name}/{target:g}/{delta:g}"] for name in ("moments", "Rényi", "Fourier")
            )
            assert moments < renyi < fourier


@pytest.mark.parametrize("target", QUICK.targets)
def test_the_fourier_budget_is_that_of_another_library(target: float, quick: Any) -> None:
    steps = quick["results"]["budget"][f"Fourier/{target:g}/0.0001"]
    step = dpa.PoissonSampledDpEvent(
        QUICK.sampling_rate, dpa.GaussianDpEvent(QUICK.noise_multiplier)
    )
    peer = PLDAccountant().compose(step, steps).get_epsilon(1e-4)
    assert peer == pytest.approx(target, rel=0.02)


@pytest.mark.parametrize("accountant", budget.ACCOUNTANTS)
def test_one_step_more_would_not_fit(accountant: budget.Accountant) -> None:
    step = dpa.PoissonSampledDpEvent(
        QUICK.sampling_rate, dpa.GaussianDpEvent(QUICK.noise_multiplier)
    )
    most = budget.steps_within(accountant, QUICK, 0.6, 1e-4)
    allowed = {"moments": budget.MomentsAccountant, "Rényi": budget.RenyiAccountant}.get(
        accountant, budget.FourierAccountant
    )
    assert allowed().compose(step, most).get_epsilon(1e-4) <= 0.6
    assert allowed().compose(step, most + 1).get_epsilon(1e-4) > 0.6


def test_clients_report_as_often_as_they_may_and_small_ones_sooner() -> None:
    sizes, updates = [10, 10, 1000, 1000], [7, 5, 6, 8]
    order = training._reporting_order(sizes, updates, np.random.default_rng(0))
    assert [order.count(client) for client in range(4)] == updates
    last = [max(where for where, who in enumerate(order) if who == client) for client in range(4)]
    assert max(last[:2]) < min(last[2:])


def test_a_run_is_its_seed() -> None:
    once, again = (training.pvi_job(QUICK, "C", 3) for _ in range(2))
    other = training.pvi_job(QUICK, "C", 4)
    assert once == again
    assert once["trajectory"] != other["trajectory"]
    path = once["trajectory"]
    assert path["communications"][-1] == once["communications"] == QUICK.pvi_updates
    assert path["accuracy"][-1] == once["accuracy"]
    assert len(path["accuracy"]) <= QUICK.trajectory_points


def test_scores_are_those_of_a_loop_over_test_records() -> None:
    clients = divided_adult(QUICK.data, rho=0.0, kappa=0.0, prior_variance=1.0)
    dimension = clients.model.dimension
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal(dimension), rng.uniform(0.1, 1.0, dimension)
    score = clients.score(pvi.MeanFieldGaussian.from_mean_variance(mean, variance))
    right, total = 0, 0.0
    for x, label in zip(clients.test_features, clients.test_labels, strict=True):
        margin = x @ mean / math.sqrt(1.0 + math.pi / 8.0 * (x**2 @ variance))
        chance = 1.0 / (1.0 + math.exp(-margin if label == 1 else margin))
        right += chance > 0.5
        total += math.log(chance)
    assert score.accuracy == pytest.approx(100.0 * right / len(clients.test_labels))
    assert score.log_likelihood == pytest.approx(total / len(clients.test_labels))


def test_the_record_is_of_the_present_settings_and_five_seeds(full: dict[str, Any]) -> None:
    assert full["settings"] == repr(FULL)
    assert full["seeds"] == list(range(5))
    assert full["command"] == "dp-assay study workshop-table5 --seeds 5"
    assert set(full["results"]) == {job.key for job in STUDY.jobs(FULL, range(5))}
    folder = Path(audits.__file__).parent / "papers" / "recorded"
    assert full["figures"]
    assert all((folder / name).is_file() for name in full["figures"])


@pytest.mark.parametrize("method", PUBLISHED_ACCURACY)
@pytest.mark.parametrize("letter", ["A", "B", "C"])
def test_recorded_accuracy_is_within_half_a_point_of_the_published_one(
    full: dict[str, Any], method: str, letter: str
) -> None:
    runs = [full["results"][f"{letter}/{method}/seed={seed}"] for seed in range(5)]
    ours = float(np.mean([run["accuracy"] for run in runs]))
    published = PUBLISHED_ACCURACY[method][letter]
    (line,) = [row for row in full["tables"][0]["rows"] if row[0] == letter and row[1] == method]
    assert float(line[3]) == published
    assert float(line[2].split(" ± ")[0]) == pytest.approx(ours, abs=0.0051)
    if (method, letter) in EXPLAINED:
        assert abs(ours - published) > 0.5, "no exception is needed"
        ours = summary.summarise(full["results"], letter, EXPLAINED[method, letter]).accuracy
    assert abs(ours - published) <= 0.5


def test_global_vi_on_split_c_depends_on_who_is_asked(full: dict[str, Any]) -> None:
    accuracy = {
        variant: summary.summarise(full["results"], "C", f"global VI, {variant}").accuracy
        for variant in training.GLOBAL_VARIANTS
    }
    assert abs(accuracy["clients 1/N, own scales"] - PUBLISHED_GLOBAL["C"]) < 1.5
    assert abs(accuracy["clients 1/N, own states"] - PUBLISHED_GLOBAL["C"]) < 3.0
    assert abs(accuracy["clients alike"] - 80.0) < 3.0
    assert accuracy["records"] > 84.0


@pytest.mark.parametrize("letter", ["A", "B"])
def test_global_vi_of_the_public_code_comes_near_the_other_cells(
    full: dict[str, Any], letter: str
) -> None:
    ours = summary.summarise(full["results"], letter, "global VI, clients 1/N, own states")
    assert abs(ours.accuracy - PUBLISHED_GLOBAL[letter]) <= 0.5


def test_recorded_client_sizes_are_those_of_table_1(full: dict[str, Any]) -> None:
    for letter, row in TABLE_1.items():
        for kind in summary.KINDS:
            ours, theirs = full["results"][f"{letter}/split"][kind], getattr(row, kind)
            assert ours["records"] == theirs.records
            # Printed to whole per cents, but for the small clients of B.
            assert abs(ours["positive"] - theirs.positive) <= (0.05 if theirs.positive < 2 else 0.5)
