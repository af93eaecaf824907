"""The budget: never exceeded, saved before it is used, and the rule that it replaces."""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from mechanism_tools import gaussian_epsilon

from accountants import MomentsAccountant
from mechanisms import (
    AGGREGATE,
    Budget,
    BudgetExceededError,
    DPOptimisation,
    NoiseSplitting,
    ParameterPerturbation,
    Poisson,
    ReleaseNoise,
    Scope,
    Setting,
    UnsupportedEventError,
    colluding,
    epsilon_bounds,
    project_clients,
)
from pvi import (
    SGD,
    ExactSolver,
    LinearRegression,
    MeanFieldGaussian,
    Shard,
)

MODEL = LinearRegression(dimension=1, noise_std=1.0)
PRIOR = MeanFieldGaussian(natural_mean=[0.0], precision=[1e6])
GAUSSIAN = dpa.GaussianDpEvent(1.0)


def shards(count):
    return [Shard(inputs=[[1.0]], targets=[float(m)]) for m in range(count)]


def test_the_workshops_stop_rule_overshoots():
    """Thesis 4.2.2 at q = 1: σ = 1, δ = 1e-4, 50 steps per update. With a budget of 10, the rule
    "stop once exceeded" makes one update, after which the moments accountant says
    min over λ of (50·λ(λ+1)/2 + log 1e4)/λ = 50 + 9.21 = 59.2 (at λ = 1).
    """
    limit, delta, steps = 10.0, 1e-4, 50
    accountant, updates = MomentsAccountant(), 0
    while updates == 0 or accountant.get_epsilon(delta) <= limit:
        accountant.compose(GAUSSIAN, steps)
        updates += 1
    by_hand = min(steps * (x + 1) / 2 + math.log(1 / delta) / x for x in range(1, 65))
    assert updates == 1
    assert by_hand == pytest.approx(59.2, abs=0.05)
    assert accountant.get_epsilon(delta) == pytest.approx(by_hand, rel=1e-9)
    # The exact cost of that update is 50.5, still far above; so here it is not made.
    exact = gaussian_epsilon(math.sqrt(50), delta)
    budget = Budget(target_epsilon=limit, delta=delta)
    assert exact > 4 * limit
    assert not budget.admits(0, GAUSSIAN, steps)
    with pytest.raises(BudgetExceededError, match="client 0's budget"):
        budget.spend(0, GAUSSIAN, steps)
    assert budget.epsilon_upper(0) == 0.0


def test_a_run_stops_before_the_limit():
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=1.0,
        steps=5,
        rule=SGD(learning_rate=1e-3),
        sampling=Poisson(0.1),
    )
    budget = Budget(target_epsilon=3.0, delta=1e-5)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR), shards(2), np.random.default_rng(0), budget=budget
    )
    run.run(60)
    spent = epsilon_bounds(run.transcript, budget.scope, 1e-5)
    assert spent.upper <= 3.0
    assert spent.upper == pytest.approx(budget.epsilon_upper(0), rel=1e-12)
    messages = len([r for r in run.transcript if r.sender == 0])
    assert 0 < messages < 60
    step = dpa.PoissonSampledDpEvent(0.1, GAUSSIAN)
    assert not budget.admits(0, step, 5)  # one more update would not have fitted


def test_each_client_has_its_own_limit():
    budget = Budget(target_epsilon=5.0, delta=1e-5, limits={1: (20.0, 1e-6)})
    mechanism = ParameterPerturbation(clip_norm=1.0, noise_multiplier=3.0)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
        shards(2),
        np.random.default_rng(0),
        budget=budget,
    )
    run.run(30)
    counts = [len([r for r in run.transcript if r.sender == m]) for m in (0, 1)]
    for client, (limit, delta) in enumerate([(5.0, 1e-5), (20.0, 1e-6)]):
        # σ/2 per round under add/remove: μ = 2√T/3.
        assert gaussian_epsilon(2 * math.sqrt(counts[client]) / 3, delta) <= limit
        assert gaussian_epsilon(2 * math.sqrt(counts[client] + 1) / 3, delta) > limit


def test_shared_noise_gets_dearer_as_clients_drop_out():
    """Client 0 can afford one round. Without its share the others' multiplier is 4·√(2/3)."""
    scope = Scope(relation=Relation.REPLACE_ONE, view=AGGREGATE)
    first = gaussian_epsilon(2 / 4.0, 1e-5)
    budget = Budget(target_epsilon=100.0, delta=1e-5, scope=scope, limits={0: (1.01 * first, 1e-5)})
    mechanism = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=4.0, trusted_aggregator=True, memory="forgets"
    )
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
        shards(3),
        np.random.default_rng(0),
        budget=budget,
    )
    run.run(3)
    events = project_clients(run.transcript, scope)
    assert events[0].noise_multiplier == pytest.approx(4.0)
    square = (2 / 4.0) ** 2 + 2 * (2 / 4.0) ** 2 * 3 / 2
    assert budget.epsilon_upper(1) == pytest.approx(
        gaussian_epsilon(math.sqrt(square), 1e-5), rel=1e-9
    )


def test_what_cannot_be_answered_cannot_be_budgeted():
    mechanism = NoiseSplitting(clip_norm=1.0, noise_multiplier=4.0)
    with pytest.raises(UnsupportedEventError, match="remembers noise"):
        mechanism.build(
            Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
            shards(3),
            np.random.default_rng(0),
            budget=Budget(
                target_epsilon=1.0,
                delta=1e-5,
                scope=Scope(relation=Relation.REPLACE_ONE, view=AGGREGATE),
            ),
        )


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_budget_survives_a_save_and_a_resume(tmp_path, adaptive):
    path = tmp_path / "budget.json"
    scope = Scope(relation=Relation.REPLACE_SPECIAL)
    budget = Budget(
        target_epsilon=6.0,
        delta=1e-5,
        scope=scope,
        limits={3: (1.0, 1e-6)},
        adaptive=adaptive,
        path=path,
    )
    budget.spend(0, dpa.GaussianDpEvent(5.0), 3)
    budget.spend(0, dpa.PoissonSampledDpEvent(0.25, dpa.GaussianDpEvent(5.0)))
    budget.spend(2, dpa.ComposedDpEvent([dpa.GaussianDpEvent(9.0), dpa.GaussianDpEvent(8.0)]))
    spent = budget.epsilon_upper(0)
    del budget  # the process dies here
    resumed = Budget.load(path)
    assert resumed.epsilon_upper(0) == spent > 0.0
    assert resumed.scope == scope
    assert resumed.limit(3) == (1.0, 1e-6)
    assert resumed.adaptive is adaptive
    before = resumed.to_json()
    event = dpa.GaussianDpEvent(5.0)
    while resumed.admits(0, event):
        resumed.spend(0, event)
    assert resumed.epsilon_upper(0) <= 6.0
    assert Budget.load(path).to_json() == resumed.to_json() != before
    with pytest.raises(FileExistsError, match=r"Budget\.load resumes it"):
        Budget(target_epsilon=6.0, delta=1e-5, path=path)


def test_an_update_is_paid_for_before_it_is_made(tmp_path):
    """A client that dies in its update has spent; resuming from an older run forgets nothing."""

    class Dying:
        def solve(self, *args, **kwargs):
            raise KeyboardInterrupt

    path = tmp_path / "budget.json"
    run = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0, noise=ReleaseNoise()).build(
        Setting(model=MODEL, prior=PRIOR, solver=Dying()),
        shards(1),
        np.random.default_rng(0),
        budget=Budget(target_epsilon=9.0, delta=1e-5, path=path),
    )
    with pytest.raises(KeyboardInterrupt):
        run.run(1)
    assert Budget.load(path).ledger(0) == ((dpa.GaussianDpEvent(2.0), 1),)


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": "dp-assay/budget", "version": 1}'])
def test_other_files_are_refused(text):
    with pytest.raises(ValueError, match="must"):
        Budget.from_json(text)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"target_epsilon": 0.0}, "`target_epsilon` must be positive"),
        ({"delta": 1.0}, r"`delta` must be in \(0, 1\)"),
        ({"limits": {0: (-1.0, 0.1)}}, "`limits` must be positive"),
        ({"limits": {-1: (1.0, 0.1)}}, "`limits` must be at least 0, got -1"),
    ],
)
def test_impossible_budgets_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        Budget(**{"target_epsilon": 1.0, "delta": 1e-5} | arguments)


def test_a_group_too_small_for_the_view_does_not_update():
    scope = Scope(relation=Relation.REPLACE_ONE, view=colluding(1))
    first = gaussian_epsilon(2 / 4.0 * math.sqrt(2), 1e-5)
    budget = Budget(target_epsilon=100.0, delta=1e-5, scope=scope, limits={0: (1.01 * first, 1e-5)})
    mechanism = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=4.0, trusted_aggregator=True, memory="forgets"
    )
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
        shards(2),
        np.random.default_rng(0),
        budget=budget,
    )
    run.run(3)
    assert [r.sender for r in run.transcript] == [0, 1, -1]


@pytest.mark.parametrize("adaptive", [False, True])
def test_discrete_noise_is_paid_for_with_its_slack(tmp_path, adaptive):
    """A distance that costs more than a thousandth of δ is not admitted, however small ε is."""
    budget = Budget(
        target_epsilon=2.0, delta=1e-5, adaptive=adaptive, path=tmp_path / "budget.json"
    )
    event = dpa.GaussianDpEvent(30.0)
    budget.spend(0, event, distance=1e-10)
    assert Budget.load(tmp_path / "budget.json").to_json() == budget.to_json()
    assert not budget.admits(0, event, distance=1e-8)  # (1 + e^ε)·1e-8 > 1e-8
    assert budget.admits(0, event, distance=1e-12)


def test_a_real_release_stays_within_its_budget():
    budget = Budget(target_epsilon=3.0, delta=1e-5)
    run = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0, noise=ReleaseNoise()).build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
        shards(2),
        np.random.default_rng(0),
        budget=budget,
    )
    run.run(5)
    assert 0 < epsilon_bounds(run.transcript, Scope(), 1e-5).upper <= 3.0


def test_a_file_of_the_format_before_goes_on_with_its_renyi_filter(tmp_path):
    """Such a file says `adaptive` and no filter; it is read, and written, as it was."""
    path = tmp_path / "budget.json"
    Budget(target_epsilon=1.0, delta=1e-5, adaptive=True, filter_kind="renyi", path=path)
    assert '"dp-assay/budget-2"' in path.read_text()
    assert '"filter"' not in path.read_text()
    resumed = Budget.load(path)
    assert resumed.filter_kind == "renyi"
    resumed.spend(0, dpa.GaussianDpEvent(50.0), 152)
    assert not resumed.admits(0, dpa.GaussianDpEvent(50.0))
    assert '"dp-assay/budget-2"' in path.read_text()


@pytest.mark.parametrize(("kind", "most"), [("gaussian", 179), ("combined", 165), ("renyi", 152)])
def test_the_filter_is_chosen_once_and_kept(tmp_path, kind, most):
    """Counts of σ = 50 at (1, 1e-5): the exact 179 is by μ = √n/50; the others are below it."""
    path = tmp_path / "budget.json"
    Budget(target_epsilon=1.0, delta=1e-5, adaptive=True, filter_kind=kind, path=path)
    budget = Budget.load(path)
    assert budget.filter_kind == kind
    budget.spend(0, dpa.GaussianDpEvent(50.0), most)
    assert not Budget.load(path).admits(0, dpa.GaussianDpEvent(50.0))
    assert gaussian_epsilon(math.sqrt(most) / 50.0, 1e-5) <= 1.0
    assert budget.admits(1, dpa.LaplaceDpEvent(1e3)) is (kind != "gaussian")


def test_a_filter_is_for_adaptive_budgets():
    assert Budget(target_epsilon=1.0, delta=1e-5, adaptive=True).filter_kind == "combined"
    assert Budget(target_epsilon=1.0, delta=1e-5).filter_kind is None
    with pytest.raises(ValueError, match="`filter_kind` must be left out"):
        Budget(target_epsilon=1.0, delta=1e-5, filter_kind="renyi")
    with pytest.raises(ValueError, match="`filter_kind` must be one of"):
        Budget(target_epsilon=1.0, delta=1e-5, adaptive=True, filter_kind="natural")
