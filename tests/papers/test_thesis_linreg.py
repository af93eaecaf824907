"""The study `thesis-linreg`: its costs, the rule without a guarantee, and its record."""

import dataclasses
import io
import itertools
import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountants import gaussian
from audits.papers.studies import COST_COLUMN, load_study, recorded, run_study
from audits.papers.thesis.linreg.case import (
    BatchPercentile,
    Case,
    FixedNorm,
    LimitedSGD,
    PrivateQuantile,
)
from audits.papers.thesis.linreg.cases import cases
from audits.papers.thesis.linreg.costs import cost
from audits.papers.thesis.linreg.descent import ThesisDescent
from audits.papers.thesis.linreg.sparse_poisson import GapSampler, SparsePoisson
from audits.papers.thesis.linreg.statements import statements
from audits.papers.thesis.linreg.training import (
    certified,
    moments_epsilon,
    train,
    updates_within,
)
from audits.papers.thesis.linreg.variant import VARIANTS, Variant
from audits.specimens.batch_percentile import PercentileSum, batch_percentile
from mechanisms import DPOptimisation, Layout, Scope, Setting, epsilon_bounds, project
from pvi import (
    SGD,
    Context,
    LinearRegression,
    LocalProblem,
    MeanFieldGaussian,
    Model,
    Shard,
    StepContext,
    WholeShard,
)

STUDY = load_study("thesis-linreg")
DELTA = 1e-4
FULL_BATCH = Case(clip=FixedNorm(5.0), sampling_rate=1.0, learning_rate=0.03, steps=1, updates=50)
SUBSAMPLED = dataclasses.replace(FULL_BATCH, sampling_rate=0.03, steps=100)
FIGURES = ("4.1", "4.2", "4.3", "4.4", "4.5")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("thesis-linreg")
    return run_study(STUDY, quick=True, folder=folder, stream=io.StringIO()), folder


def test_the_quick_study_has_every_figure_with_its_cost(
    quick: tuple[dict[str, Any], Path],
) -> None:
    record, folder = quick
    titles = " ".join(table["title"] for table in record["tables"])
    assert all(figure in titles for figure in FIGURES)
    assert all(table["columns"][-1] == COST_COLUMN for table in record["tables"])
    assert json.loads((folder / "thesis-linreg-quick.json").read_text()) == record
    assert all((folder / name).stat().st_size > 5000 for name in record["figures"])


def test_rows_have_a_certified_cost_or_say_why_there_is_none(
    quick: tuple[dict[str, Any], Path],
) -> None:
    for table in quick[0]["tables"]:
        compared = "said to be better" in table["columns"]
        for row in table["rows"]:
            flawed = "batch percentile" in row[2 if compared else 0]
            assert row[-1].startswith("∞ (clip norm read from the data)") == flawed
            assert ("add/remove one record" in row[-1]) != flawed
            assert ("(void)" in " ".join(row)) == (flawed and not compared)


def test_certified_epsilon_grows_with_the_updates_and_stays_below_the_moments_accountant() -> None:
    for case in (FULL_BATCH, SUBSAMPLED):
        bounds = [certified(case, updates, DELTA) for updates in (1, 10, 100, 500)]
        found = [pair for pair in bounds if pair is not None]
        assert len(found) == 4
        assert all(low[1] < high[0] for low, high in itertools.pairwise(found))
        assert all(
            upper <= moments_epsilon(case, updates, DELTA)
            for (_, upper), updates in zip(found, (1, 10, 100, 500), strict=True)
        )


@pytest.mark.parametrize("clip", [FixedNorm(5.0), PrivateQuantile(20, 5.0)], ids=str)
def test_full_batches_cost_what_the_closed_form_says(
    clip: FixedNorm | PrivateQuantile,
) -> None:
    """T full-batch steps are one Gaussian with μ = √T/σ, the private quantile's count included."""
    for sigma in (1.0, 3.0):
        case = dataclasses.replace(FULL_BATCH, clip=clip, noise_multiplier=sigma)
        bounds = certified(case, 64, DELTA)
        assert bounds is not None
        exact = gaussian.epsilon(8.0 / sigma, DELTA)
        assert bounds[0] - 1e-6 <= exact <= bounds[1] + 1e-6
        assert bounds[1] - bounds[0] < 1e-3


def test_the_private_quantile_counts_both_of_its_releases() -> None:
    """Under sampling too: 1/σ² + 1/(2σ_b)² of the planned event is the case's 1/σ²."""
    case = dataclasses.replace(SUBSAMPLED, clip=PrivateQuantile(60, 5.0))
    mechanism = case.mechanism()
    assert mechanism is not None
    event: Any = project(mechanism.plan(Layout(clients=1, dimension=2), rounds=1), Scope())
    multipliers = [part.noise_multiplier for part in event.event.event.events]
    assert len(multipliers) == 2
    assert sum(m**-2.0 for m in multipliers) == pytest.approx(case.noise_multiplier**-2.0)
    assert event.count == case.steps


def test_the_batch_percentile_has_no_finite_cost() -> None:
    case = dataclasses.replace(SUBSAMPLED, clip=BatchPercentile(60))
    assert case.mechanism() is None
    price = cost(case, 1, DELTA)
    assert price.lower == price.upper == math.inf
    assert str(price) == "∞ (clip norm read from the data)"


def test_one_record_sets_the_scale_of_the_percentile_rules_noise() -> None:
    """The same noise, on neighbours: its length differs by a factor of about a million."""
    small = np.array([[1e-6, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    large = np.array([[1e-6, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    lengths = []
    for gradients in (small, large):
        context = StepContext(
            client=0,
            round=1,
            rng=np.random.default_rng(3),
            step=0,
            size=2,
            expected_batch_size=2.0,
        )
        lengths.append(np.linalg.norm(PercentileSum(60, 1.0, 1.0)(gradients, context)))
    assert lengths[1] / lengths[0] > 1e4


def test_batch_percentile_agrees_with_numpy_on_the_rows_in_the_batch() -> None:
    rng = np.random.default_rng(0)
    norms = rng.random((50, 20)) * (rng.random((50, 20)) < 0.3)
    for percentile in (0, 20, 60, 100):
        naive = [
            np.percentile(row[row > 0.0], percentile) if (row > 0.0).any() else 0.0 for row in norms
        ]
        np.testing.assert_allclose(batch_percentile(norms, percentile), naive, rtol=1e-12)


def test_gap_sampling_has_the_law_of_poisson_sampling() -> None:
    """Marginals q and products of neighbours q², by Hoeffding: false alarm below 1e-7."""
    size, rate, repetitions = 30, 0.2, 20_000
    batch = GapSampler(rate).draw(size, (repetitions,), np.random.default_rng(1))
    assert batch.indices is not None
    assert batch.mask is not None
    chosen = np.zeros((repetitions, size + 1))
    rows = np.where(batch.mask > 0.0, batch.indices, size)
    np.put_along_axis(chosen, rows, 1.0, axis=-1)
    chosen = chosen[:, :size]
    assert (chosen.sum(axis=-1) == batch.mask.sum(axis=-1)).all()  # no record twice
    band = math.sqrt(math.log(2 * (2 * size - 1) / 1e-7) / (2 * repetitions))
    assert np.abs(chosen.mean(axis=0) - rate).max() < band
    pairs = (chosen[:, 1:] * chosen[:, :-1]).mean(axis=0)
    assert np.abs(pairs - rate**2).max() < band
    assert batch.expected_size == rate * size


def test_gap_sampling_goes_on_until_every_repetition_is_done() -> None:
    batch = GapSampler(1.0).draw(50, (3,), np.random.default_rng(0))
    assert batch.mask is not None
    assert batch.mask.sum(axis=-1).tolist() == [50.0, 50.0, 50.0]


def test_limited_steps_keep_their_direction() -> None:
    gradient = np.array([[30.0, 40.0], [0.3, 0.4]])
    step, _ = LimitedSGD(0.1, 10.0).step(gradient, {})
    np.testing.assert_allclose(step, [[0.6, 0.8], [0.03, 0.04]], rtol=1e-6)


ONE_CLIENT = Shard(
    inputs=np.random.default_rng(4).normal(size=(40, 2)),
    targets=np.random.default_rng(5).normal(size=40),
)
CAVITY = MeanFieldGaussian.from_mean_variance([0.3, -0.2], [0.5, 0.8])
START = MeanFieldGaussian.from_mean_variance([0.1, 0.4], [0.05, 0.02])


def _descend(variant: Variant, *, clip_norm: float, steps: int = 1) -> MeanFieldGaussian:
    """From `START` by steps of 0.1, with q = 0.5, σ = 2 and a fixed generator."""
    descent = ThesisDescent(
        rule=SGD(learning_rate=0.1),
        steps=steps,
        sampler=GapSampler(0.5),
        clip_norm=clip_norm,
        noise_multiplier=2.0,
        variant=variant,
    )
    return descent.solve(_problem(LinearRegression(dimension=2, noise_std=1.5))).q


def _problem(model: Model) -> LocalProblem:
    return LocalProblem(
        model=model,
        shard=ONE_CLIENT,
        cavity=CAVITY,
        start=START,
        state={},
        temperature=1.0,
        context=Context(client=0, round=1, rng=np.random.default_rng(6)),
    )


def test_the_thesiss_descent_without_its_ways_is_the_mechanisms() -> None:
    """The same generator, three steps with records clipped and perturbed: the same message."""
    mechanism = DPOptimisation(
        clip_norm=0.7,
        noise_multiplier=2.0,
        steps=3,
        rule=SGD(learning_rate=0.1),
        sampling=SparsePoisson(0.5),
        objective_divisor=ONE_CLIENT.size,
    )
    run = mechanism.build(
        Setting(model=LinearRegression(dimension=2, noise_std=1.5), prior=START),
        [ONE_CLIENT],
        np.random.default_rng(6),
    )
    strategy = run.federation.clients[0].strategy
    assert isinstance(strategy, WholeShard)
    expected = strategy.solver.solve(_problem(strategy.model)).q
    found = _descend(Variant(), clip_norm=0.7, steps=3)
    np.testing.assert_allclose(found.vector, expected.vector, rtol=1e-9)


@pytest.mark.parametrize("by_variance", [False, True])
@pytest.mark.parametrize("spread_prior", [False, True])
@pytest.mark.parametrize("realised_batch", [False, True])
def test_the_thesiss_descent_is_algorithm_2_with_equations_4_21_and_4_22(
    by_variance: bool, spread_prior: bool, realised_batch: bool
) -> None:
    """One step against the printed formulas, record by record."""
    rng = np.random.default_rng(6)
    batch = GapSampler(0.5).draw(40, (), rng)
    assert batch.indices is not None
    assert batch.mask is not None
    chosen = batch.indices[batch.mask > 0.0]
    variance, precision, clip_norm = START.variance, CAVITY.precision, 0.7
    total, prior = np.zeros(4), np.zeros(4)
    for n in chosen:
        x, y = ONE_CLIENT.inputs[n], ONE_CLIENT.targets[n]
        by_mean = -(x * (x @ START.mean) - x * y) / 1.5**2
        by_var = -(x**2) / (2.0 * 1.5**2)
        prior_mean = -(precision * START.mean - precision * CAVITY.mean) / 40.0
        prior_var = (1.0 / variance - precision) / (2.0 * 40.0)
        chain = np.ones(2) if by_variance else variance
        prior = np.concatenate([prior_mean, prior_var * chain])
        row = np.concatenate([by_mean, by_var * chain]) + (prior if spread_prior else 0.0)
        total += row / max(1.0, float(np.linalg.norm(row)) / clip_norm)
    total += 2.0 * clip_norm * rng.standard_normal(4)
    slope = total / (len(chosen) if realised_batch else 20.0) + (0.0 if spread_prior else prior)
    slope[2:] *= variance if by_variance else 1.0
    found = _descend(
        Variant(by_variance=by_variance, spread_prior=spread_prior, realised_batch=realised_batch),
        clip_norm=clip_norm,
    )
    np.testing.assert_allclose(found.mean, START.mean + 0.1 * slope[:2], rtol=1e-7)
    np.testing.assert_allclose(
        np.log(found.variance), np.log(variance) + 0.1 * slope[2:], rtol=1e-7
    )


def test_nothing_is_certified_for_the_division_by_the_realised_batch() -> None:
    case = dataclasses.replace(SUBSAMPLED, variant=Variant(realised_batch=True))
    price = cost(case, 10, DELTA)
    assert (price.lower, price.upper) == (0.0, math.inf)
    assert str(price).startswith("[0.0000, ∞] at δ = 0.0001; add/remove one record; Poisson")


def test_other_variants_cost_what_the_mechanism_does() -> None:
    for variant in VARIANTS:
        if not variant.realised_batch:
            mechanism = dataclasses.replace(SUBSAMPLED, clients=5, variant=variant).mechanism()
            assert mechanism is not None
            plan = mechanism.plan(Layout(clients=5, dimension=2), rounds=10)
            bounds = epsilon_bounds(plan, Scope(), DELTA)
            assert (bounds.lower, bounds.upper) == certified(SUBSAMPLED, 10, DELTA)


def test_a_run_that_diverges_says_when() -> None:
    """Steps thirty times too long."""
    wild = dataclasses.replace(
        cases(STUDY.quick)["4.1/σ=1"],
        learning_rate=3.0,
        steps=3,
        updates=50,
        variant=Variant(damped=False, limited=False),
    )
    found = train(wild, (0,), 50, DELTA, True)
    ended = found["diverged"]
    assert ended is not None
    assert max(found["updates"]) < ended
    assert len(found["natural"]) == len(found["updates"]) == len(found["median"])


def test_every_setting_of_the_thesiss_figures_is_run() -> None:
    """Section 4.3: which percentiles stand beside C = 5, and at which sampling rate.

    The sound rule has at least the lowest and the highest of them.
    """
    run: dict[tuple[str, float], dict[type, set[int]]] = {}
    for key, case in cases(STUDY.settings).items():
        if isinstance(case.clip, BatchPercentile | PrivateQuantile):
            own = run.setdefault((key.partition("/")[0], case.sampling_rate), {})
            own.setdefault(type(case.clip), set()).add(case.clip.percentile)
    four, three = {20, 40, 60, 80}, {20, 40, 60}
    expected = {("4.3", 1.0): four, ("4.3", 0.1): four, ("4.3", 0.03): four}
    expected |= {("4.4", 0.03): three, ("4.5", 0.03): three}
    assert {place: found[BatchPercentile] for place, found in run.items()} == expected
    for place, found in run.items():
        assert {min(expected[place]), max(expected[place])} <= found[PrivateQuantile]


def test_runs_end_where_the_thesiss_accountant_passes_the_stop() -> None:
    updates = updates_within(SUBSAMPLED, 10.0, DELTA, 1000)
    before, after = (moments_epsilon(SUBSAMPLED, u, DELTA) for u in (updates - 1, updates))
    assert before <= 10.0 < after


def test_statements_are_answered_by_runs_that_share_their_data() -> None:
    """All that sections 4.2.2 and 4.3 say of two runs, on the side that they favour."""
    every = cases(STUDY.settings)
    found = statements(every)
    assert len(found) == len({(said.first, said.second, said.measure) for said in found})
    for said in found:
        first, second = every[said.first], every[said.second]
        assert (first.theta, first.noise_scale) == (second.theta, second.noise_scale)
        assert first.clients * first.records == second.clients * second.records
        assert not isinstance(first.clip, PrivateQuantile)
    favoured = {(said.words, said.first, said.second) for said in found}
    assert (
        "a fixed C is better than percentiles",
        "4.3/q=0.1/fixed C = 5",
        "4.3/q=0.1/batch percentile 80",
    ) in favoured
    assert (
        "percentiles mitigate the instability",
        "4.5/batch percentile 20",
        "4.5/fixed C = 5",
    ) in favoured
    assert ("smaller q, smaller KL", "4.2/C=8/q=0.01", "4.2/C=8/q=0.03") in favoured


def test_the_shipped_record_covers_every_figure() -> None:
    record = recorded("thesis-linreg")
    assert record is not None
    assert record["command"] == f"dp-assay study thesis-linreg --seeds {STUDY.seeds}"
    assert record["settings"] == repr(STUDY.settings)
    assert set(record["results"]) == set(cases(STUDY.settings))
    titles = " ".join(table["title"] for table in record["tables"])
    assert all(figure in titles for figure in FIGURES)
    folder = resources.files("audits.papers").joinpath("recorded")
    for name in record["figures"]:
        assert 5_000 < len(folder.joinpath(name).read_bytes()) < 80_000
    assert len(folder.joinpath("thesis-linreg.json").read_bytes()) < 200_000
