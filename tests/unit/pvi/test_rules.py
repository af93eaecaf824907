"""Gradient rules against torch.optim, samplers against counting."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

from pvi import SGD, Adagrad, Adam, FixedSizeSampling, FullBatch, PoissonSampling


@pytest.mark.parametrize(
    ("rule", "optimiser"),
    [
        (SGD(learning_rate=0.3), lambda p: torch.optim.SGD(p, lr=0.3)),
        (Adagrad(learning_rate=0.3), lambda p: torch.optim.Adagrad(p, lr=0.3, eps=1e-10)),
        (Adam(learning_rate=0.3), lambda p: torch.optim.Adam(p, lr=0.3)),
        (
            Adam(learning_rate=0.1, first_decay=0.5, second_decay=0.7, stability=1e-3),
            lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.5, 0.7), eps=1e-3),
        ),
    ],
)
def test_rule_follows_torch(rule, optimiser):
    rng = np.random.default_rng(0)
    start = rng.normal(size=3)
    tensor = torch.nn.Parameter(torch.from_numpy(start.copy()))
    reference = optimiser([tensor])
    ours, state = start, {}
    for _ in range(30):
        gradient = rng.normal(size=3)
        tensor.grad = torch.from_numpy(-gradient)  # torch descends
        reference.step()
        step, state = rule.step(gradient, state)
        ours = ours + step
    np.testing.assert_allclose(ours, tensor.detach().numpy(), rtol=0, atol=1e-12)


def test_learning_rate_schedule_counts_steps_from_one():
    rule = SGD(learning_rate=lambda t: 0.5 / math.sqrt(t))
    state, steps = {}, []
    for _ in range(3):
        step, state = rule.step(np.ones(1), state)
        steps.append(float(step[0]))
    assert steps == [0.5, 0.5 / math.sqrt(2), 0.5 / math.sqrt(3)]


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_bad_rates_are_refused(rate):
    with pytest.raises(ValueError, match="learning_rate"):
        Adam(learning_rate=rate)


def test_full_batch_takes_everything():
    batch = FullBatch().draw(7, (3,), np.random.default_rng(0))
    assert (batch.indices, batch.mask, batch.expected_size) == (None, None, 7.0)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_fixed_size_sampling_is_uniform_over_subsets(shape):
    """Chi-square over the 10 subsets of size 2 of 5; threshold at false alarm 1e-7."""
    rng, draws = np.random.default_rng(5), 20_000
    sampler = FixedSizeSampling(batch_size=2)
    if shape:
        batch = sampler.draw(5, (draws,), rng)
        rows = batch.indices
    else:
        rows = [sampler.draw(5, (), rng).indices for _ in range(draws)]
    counts = Counter(tuple(sorted(int(i) for i in row)) for row in rows)
    assert set(counts) == set(itertools.combinations(range(5), 2))
    expected = draws / 10
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())
    assert statistic < 50.8  # chi-square with 9 degrees of freedom: P(> 50.8) = 7.6e-8


def test_fixed_size_sampling_of_a_small_shard_gives_all():
    batch = FixedSizeSampling(batch_size=10).draw(4, (), np.random.default_rng(0))
    assert sorted(batch.indices) == [0, 1, 2, 3]
    assert batch.expected_size == 4.0


def test_poisson_sampling_scales_by_the_expected_size():
    """Inclusion counts within 6 standard deviations, 20 records: false alarm below 1e-7."""
    draws, rate, size = 10_000, 0.3, 20
    batch = PoissonSampling(sampling_rate=rate).draw(size, (draws,), np.random.default_rng(6))
    assert batch.expected_size == pytest.approx(6.0)
    assert batch.indices is None
    counts = batch.mask.sum(axis=0)
    assert (np.abs(counts - draws * rate) < 6 * math.sqrt(draws * rate * (1 - rate))).all()
    sizes = batch.mask.sum(axis=1)
    assert len(np.unique(sizes)) > 5
    single = PoissonSampling(sampling_rate=rate).draw(size, (), np.random.default_rng(6))
    np.testing.assert_array_equal(single.indices, np.flatnonzero(batch.mask[0]))


def test_sampler_arguments_are_checked():
    with pytest.raises(ValueError, match=r"`sampling_rate` must be .*, got 0"):
        PoissonSampling(sampling_rate=0)
    with pytest.raises(ValueError, match=r"`sampling_rate` must be .*, got 1\.5"):
        PoissonSampling(sampling_rate=1.5)
    with pytest.raises(TypeError, match=r"`batch_size` must be .*, got 2\.0"):
        FixedSizeSampling(batch_size=2.0)
