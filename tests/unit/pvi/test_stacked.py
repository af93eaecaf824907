"""Parts solved together give what they give one after the other."""

import numpy as np
import pytest

import mechanisms
from mechanisms import Setting
from pvi import (
    Adam,
    AveragedShards,
    Client,
    Federation,
    FixedSizeSampling,
    GradientSolver,
    LogisticRegression,
    MeanFieldGaussian,
    Sequential,
    Shard,
    StackedSolver,
    VirtualShards,
)

MODEL = LogisticRegression(dimension=3)
PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(3), np.ones(3))


def parts(sizes):
    rng = np.random.default_rng(5)
    return [
        Shard.from_classes(rng.normal(size=(size, 3)), rng.integers(0, 2, size=size))
        for size in sizes
    ]


def posterior(strategy, solver):
    """Two rounds of two clients, so that cavities, states and virtual factors are in use."""
    clients = [
        Client(m, strategy(model=MODEL, shards=parts(sizes), solver=solver), damping=0.5)
        for m, sizes in enumerate([(4, 7, 4, 5), (2, 2, 3)])
    ]
    federation = Federation(PRIOR, clients, Sequential(), rng=np.random.default_rng(0))
    return federation.run(2).posterior.vector


@pytest.mark.parametrize("strategy", [AveragedShards, VirtualShards])
@pytest.mark.parametrize("persistent", [True, False])
def test_parts_do_not_see_each_other(strategy, persistent):
    solver = GradientSolver(rule=Adam(learning_rate=0.1), steps=6, persistent=persistent)
    together = posterior(strategy, StackedSolver(solver))
    np.testing.assert_allclose(together, posterior(strategy, solver), rtol=1e-10)
    assert np.abs(together - PRIOR.vector).max() > 0.1


@pytest.mark.parametrize("strategy", [AveragedShards, VirtualShards])
def test_what_alters_one_part_is_never_left_out(strategy):
    """A clipping that only knows single parts must act on parts that were solved together."""
    seen = []

    def halve(change, part, context):
        seen.append(part)
        return change**0.5

    solver = GradientSolver(rule=Adam(learning_rate=0.1), steps=6)
    results = []
    for own in (solver, StackedSolver(solver)):
        client = Client(
            0, strategy(model=MODEL, shards=parts((4, 7, 4)), solver=own, alter_part=halve)
        )
        federation = Federation(PRIOR, [client], Sequential(), rng=np.random.default_rng(0))
        results.append(federation.run(2).posterior.vector)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-10)
    assert seen == [0, 1, 2] * 4


@pytest.mark.parametrize(
    ("mechanism", "memory"),
    [
        (mechanisms.LocalAveraging, "remembers"),
        (mechanisms.VirtualClients, "remembers"),
        (mechanisms.VirtualClients, "forgets"),
        (mechanisms.VirtualClients, "resets"),
    ],
)
def test_mechanisms_clip_and_perturb_the_same(mechanism, memory):
    solver = GradientSolver(rule=Adam(learning_rate=0.1), steps=6)
    runs = []
    for own in (solver, StackedSolver(solver)):
        run = mechanism(
            clip_norm=0.3, noise_multiplier=0.5, damping=0.5, memory=memory, precision_floor=0.5
        ).build(
            Setting(model=MODEL, prior=PRIOR, solver=own),
            [mechanisms.Partition.by_position(shard, 4) for shard in parts((13, 9))],
            np.random.default_rng(1),
        )
        run.run(3)
        runs.append(run)
    np.testing.assert_allclose(
        runs[1].posterior.vector, runs[0].posterior.vector, rtol=1e-9, atol=1e-12
    )
    for first, second in zip(runs[0].transcript, runs[1].transcript, strict=True):
        np.testing.assert_allclose(second.value, first.value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("strategy", [AveragedShards, VirtualShards])
def test_repetitions_run_one_part_after_the_other(strategy):
    """With batch axes there is nothing to stack: the inner solver's run, chance included."""
    solver = GradientSolver(
        rule=Adam(learning_rate=0.1), steps=3, sampler=FixedSizeSampling(batch_size=2)
    )
    results = []
    for own in (solver, StackedSolver(solver)):
        client = Client(0, strategy(model=MODEL, shards=parts((4, 4, 3)), solver=own))
        prior = PRIOR.broadcast_to((3,))
        federation = Federation(prior, [client], Sequential(), rng=np.random.default_rng(0))
        results.append(federation.run(2).posterior.vector)
    assert results[0].shape == (3, 6)
    assert np.abs(results[0][0] - results[0][1]).max() > 0.0
    np.testing.assert_array_equal(results[1], results[0])
