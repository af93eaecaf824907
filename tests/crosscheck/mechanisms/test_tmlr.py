"""TMLR's theorems about local averaging and virtual clients, as far as they can be computed."""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from scipy import stats

from mechanisms import (
    AGGREGATE,
    SERVER,
    Layout,
    LocalAveraging,
    NoNoise,
    ParameterPerturbation,
    Partition,
    Scope,
    Setting,
    VirtualClients,
    project,
)
from pvi import ExactSolver, LinearRegression, MeanFieldGaussian, Shard

MODEL = LinearRegression(dimension=1, noise_std=1.5)
PRIOR = MeanFieldGaussian(natural_mean=[0.3], precision=[2.0])
WIDE = MeanFieldGaussian(natural_mean=[0.0], precision=[1e6])
TRIALS = 4000


def data(clients, size=24):
    rng = np.random.default_rng(2)
    return [
        Shard(inputs=rng.normal(size=(size, 1)), targets=rng.normal(size=size))
        for _ in range(clients)
    ]


def quiet(mechanism, shards, parts, rounds=1, prior=PRIOR):
    run = mechanism(clip_norm=1e6, noise_multiplier=1.0, noise=NoNoise()).build(
        Setting(model=MODEL, prior=prior, solver=ExactSolver()),
        [Partition.by_position(shard, parts) for shard in shards],
        np.random.default_rng(0),
    )
    run.run(rounds)
    return run.posterior


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 24])
@pytest.mark.parametrize("mechanism", [LocalAveraging, VirtualClients])
def test_theorem_7_the_number_of_parts_does_not_change_a_conjugate_posterior(mechanism, parts):
    """Against the posterior in closed form: precision Λ₀ + Σx²/s², natural mean η₀ + Σxy/s²."""
    shards = data(3)
    x = np.concatenate([shard.inputs[:, 0] for shard in shards])
    y = np.concatenate([shard.targets for shard in shards])
    posterior = quiet(mechanism, shards, parts)
    assert posterior.precision[0] == pytest.approx(2.0 + (x**2).sum() / 1.5**2, rel=1e-12)
    assert posterior.natural_mean[0] == pytest.approx(0.3 + (x * y).sum() / 1.5**2, rel=1e-12)


def test_theorem_7_needs_conjugacy():
    """Mean field in two dimensions is not conjugate: correlated inputs make the parts matter."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(24, 1)) + 0.3 * rng.normal(size=(24, 2))
    shard = Shard(inputs=inputs, targets=rng.normal(size=24))
    means = []
    for parts in (1, 4):
        run = LocalAveraging(clip_norm=1e6, noise_multiplier=1.0, noise=NoNoise()).build(
            Setting(
                model=LinearRegression(dimension=2, noise_std=1.0),
                prior=MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2)),
                solver=ExactSolver(),
            ),
            [Partition.by_position(shard, parts)],
            np.random.default_rng(0),
        )
        run.run(1)
        means.append(run.posterior.mean)
    assert np.abs(means[0] - means[1]).max() > 1e-3


def sums(mechanism, parts, clients, **settings):
    """The released sums of one round over TRIALS repetitions."""
    run = mechanism(clip_norm=2.0, noise_multiplier=3.0, **settings).build(
        Setting(model=MODEL, prior=WIDE.broadcast_to((TRIALS,)), solver=ExactSolver()),
        [Partition.by_position(shard, parts) for shard in data(clients)],
        np.random.default_rng(17),
    )
    run.run(1)
    messages = [r.value for r in run.transcript if r.sender == 0]
    totals = [r.value for r in run.transcript if r.sender == SERVER]
    return messages[0], totals[0]


def plausible(samples, variance, tail=1e-10):
    """χ² as in test_mechanisms_thesis: at most a few checks of 1e-10 per test."""
    scaled = (len(samples) - 1) * samples.var(axis=0, ddof=1) / variance
    low, high = stats.chi2.ppf([tail / 2, 1 - tail / 2], len(samples) - 1)
    return bool(((scaled > low) & (scaled < high)).all())


@pytest.mark.parametrize("parts", [1, 4, 12])
def test_theorem_6_the_noise_of_an_average_falls_with_the_parts(parts):
    """σC/N per message, at the same event; virtual clients' noise stays σC (Theorem 9)."""
    message, _ = sums(LocalAveraging, parts, 1)
    assert plausible(message, (3.0 * 2.0 / parts) ** 2)
    message, _ = sums(VirtualClients, parts, 1)
    assert plausible(message, (3.0 * 2.0) ** 2)
    scope = Scope(relation=Relation.REPLACE_ONE)
    for mechanism in (LocalAveraging, VirtualClients):
        plan = mechanism(clip_norm=2.0, noise_multiplier=3.0).plan(
            Layout(clients=1, parts=parts), rounds=1
        )
        assert project(plan, scope).noise_multiplier == pytest.approx(3.0)


@pytest.mark.parametrize("clients", [1, 4, 9])
@pytest.mark.parametrize(("mechanism", "parts"), [(LocalAveraging, 3), (VirtualClients, 3)])
def test_theorems_8_and_11_shares_fall_with_the_root_of_the_clients(mechanism, parts, clients):
    """One client's noise is σC/√M (over N for averages); the sum's does not depend on M."""
    message, total = sums(mechanism, parts, clients, trusted_aggregator=True, memory="forgets")
    unit = 3.0 * 2.0 / (parts if mechanism is LocalAveraging else 1)
    assert plausible(message, unit**2 / clients)
    assert plausible(total, unit**2)
    plan = mechanism(
        clip_norm=2.0, noise_multiplier=3.0, trusted_aggregator=True, memory="forgets"
    ).plan(Layout(clients=clients, parts=parts), rounds=1)
    outside = project(plan, Scope(relation=Relation.REPLACE_ONE, view=AGGREGATE))
    assert outside.noise_multiplier == pytest.approx(3.0, rel=1e-12)
    seen = project(plan, Scope(relation=Relation.REPLACE_ONE))
    assert seen.noise_multiplier == pytest.approx(3.0 / math.sqrt(clients), rel=1e-12)


@pytest.mark.parametrize("memory", ["remembers", "forgets", "resets"])
@pytest.mark.parametrize(
    ("mechanism", "parts"), [(ParameterPerturbation, 1), (LocalAveraging, 3), (VirtualClients, 3)]
)
def test_the_three_memories_side_by_side(mechanism, parts, memory):
    """In the conjugate model, α = 1, M = 4: remembered noise is replaced each round, forgotten
    noise piles up, resets every 2 rounds cap it at 2."""
    run = mechanism(
        clip_norm=40.0,
        noise_multiplier=0.1,
        trusted_aggregator=True,
        memory=memory,
        reset_every=2,
    ).build(
        Setting(model=MODEL, prior=WIDE.broadcast_to((TRIALS,)), solver=ExactSolver()),
        [Partition.by_position(shard, parts) for shard in data(4)],
        np.random.default_rng(23),
        keep_values=False,
    )
    unit = (4.0 / (parts if mechanism is LocalAveraging else 1)) ** 2
    expected = {"remembers": [1, 1, 1, 1, 1], "forgets": [1, 2, 3, 4, 5], "resets": [1, 2, 1, 2, 1]}
    for factor in expected[memory]:
        run.run(1)
        assert plausible(run.posterior.vector, factor * unit)


@pytest.mark.parametrize("mechanism", [LocalAveraging, VirtualClients])
def test_factors_and_posterior_agree_as_the_memory_says(mechanism):
    for memory, agrees in (("remembers", True), ("forgets", False)):
        run = mechanism(clip_norm=10.0, noise_multiplier=0.1, memory=memory).build(
            Setting(model=MODEL, prior=WIDE, solver=ExactSolver()),
            [Partition.by_position(shard, 2) for shard in data(2)],
            np.random.default_rng(1),
        )
        run.run(3)
        if mechanism is LocalAveraging:
            factors = [client.factor.vector for client in run.federation.clients]
        else:
            factors = [
                client.state[part].factor.vector
                for client in run.federation.clients
                for part in range(2)
            ]
        gap = np.abs(WIDE.vector + sum(factors) - run.posterior.vector).max()
        assert (gap < 1e-8) == agrees


def test_a_client_with_fewer_parts_is_the_worst_of_an_average_under_an_aggregator():
    """Weights 1/4 and 1/8: the sum's noise counts against the first as √(4⁻² + 8⁻²)·4 shares."""
    mechanism = LocalAveraging(
        clip_norm=1.0, noise_multiplier=6.0, trusted_aggregator=True, memory="forgets"
    )
    plan = mechanism.plan(Layout(clients=2, parts=(4, 8), assignment="position"), rounds=1)
    event = project(plan, Scope(relation=Relation.REPLACE_ONE, view=AGGREGATE))
    share = 6.0 / math.sqrt(2.0)
    assert event.noise_multiplier == pytest.approx(share * math.hypot(1.0, 0.5), rel=1e-12)
    with pytest.raises(ValueError, match=r"`parts` must have one entry per client \(2\)"):
        mechanism.plan(Layout(clients=2, parts=(4,)), rounds=1)
