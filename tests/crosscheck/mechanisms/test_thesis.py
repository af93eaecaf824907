"""The Thesis's data-set level algorithms: random walk, resets and their price, two rounds' sums.

Variances are those of Gaussians with known variance, so (n−1)·s²/σ² is χ² with n−1 degrees of
freedom, exactly; each is held to a two-sided quantile of 1e-10, and no test checks more than 100 of
them: false alarms below 1e-8 per test.
"""

import numpy as np
import pytest
from mechanism_tools import RecordingNoise
from scipy import stats

from mechanisms import SERVER, CentralNoise, NoiseSplitting, NoNoise, Setting
from pvi import ExactSolver, LinearRegression, MeanFieldGaussian, Shard

TRIALS = 4000
SIGMA, CLIP = 0.02, 1000.0  # σC = 20, and nothing is clipped
MODEL = LinearRegression(dimension=1, noise_std=1.0)
# The natural parameters of a client's likelihood: (Σxy, Σx²). In one dimension the exact local
# update gives them whatever the cavity, so a client that has said its word has no more to say.
SHARDS = [Shard(inputs=[[1.0], [2.0]], targets=[3.0, -1.0]), Shard(inputs=[[0.5]], targets=[4.0])]
SIGNAL = np.array([1.0 * 3.0 - 2.0 * 1.0 + 0.5 * 4.0, 1.0 + 4.0 + 0.25])
# A prior of precision 1e6: 200 rounds of noise of standard deviation 20 cannot make q improper.
PRIOR = MeanFieldGaussian(natural_mean=[0.0], precision=[1e6])


def within_sampling_error(samples, variance, tail=1e-10):
    """Whether every column's sample variance is a plausible one."""
    count = samples.shape[0]
    scaled = (count - 1) * samples.var(axis=0, ddof=1) / variance
    low, high = stats.chi2.ppf([tail / 2, 1 - tail / 2], count - 1)
    return bool(((scaled > low) & (scaled < high)).all())


def variances(mechanism, rounds):
    """λ − prior after each round in `rounds`, for TRIALS repetitions of a run."""
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR.broadcast_to((TRIALS,)), solver=ExactSolver()),
        SHARDS,
        np.random.default_rng(11),
        keep_values=False,
    )
    run.federation.record = False
    seen = {}
    run.run(
        max(rounds),
        callbacks=[
            lambda event: (
                seen.update({event.round: event.posterior.vector - PRIOR.vector})
                if event.round in rounds
                else None
            )
        ],
    )
    return seen


@pytest.mark.parametrize("damping", [1.0, 0.3])
def test_central_noise_walks_at_random(damping):
    """Algorithm 4: Var(λ) = α²·T·(σC)², for T = 1, 10, 50, 100, 200."""
    mechanism = CentralNoise(clip_norm=CLIP, noise_multiplier=SIGMA, damping=damping)
    seen = variances(mechanism, (1, 10, 50, 100, 200))
    for rounds, values in seen.items():
        variance = damping**2 * rounds * (SIGMA * CLIP) ** 2
        assert within_sampling_error(values, variance)
        # a walk with another rate would be seen: 1 + 1/4 of the variance is implausible
        assert not within_sampling_error(values, 1.25 * variance)


def test_resets_cap_the_walk_at_their_interval():
    """α = 1, reset every 5 rounds: the variance is (σC)² times the rounds since the reset."""
    mechanism = CentralNoise(clip_norm=CLIP, noise_multiplier=SIGMA, memory="resets", reset_every=5)
    seen = variances(mechanism, tuple(range(1, 24)))
    for rounds, values in seen.items():
        since = (rounds - 1) % 5 + 1
        assert within_sampling_error(values, since * (SIGMA * CLIP) ** 2)
        error = np.abs(values.mean(axis=0) - SIGNAL)
        assert (error < 7 * SIGMA * CLIP * np.sqrt(since / TRIALS)).all()  # 2e-12 each


def test_damped_resets_every_round_settle():
    """Reset every round: λ ← (1−α)λ + α(S + noise), of variance α/(2−α)·(σC)² in the end."""
    damping = 0.4
    mechanism = CentralNoise(
        clip_norm=CLIP, noise_multiplier=SIGMA, damping=damping, memory="resets", reset_every=1
    )
    seen = variances(mechanism, (1, 2, 60))
    unit = (SIGMA * CLIP) ** 2
    assert within_sampling_error(seen[1], damping**2 * unit)
    assert within_sampling_error(seen[2], damping**2 * (1 + (1 - damping) ** 2) * unit)
    assert within_sampling_error(seen[60], damping / (2 - damping) * unit)


def test_told_noise_does_not_walk():
    """Factors that remember: each round replaces the last round's noise."""
    mechanism = CentralNoise(clip_norm=CLIP, noise_multiplier=SIGMA, memory="remembers")
    for values in variances(mechanism, (1, 2, 30)).values():
        assert within_sampling_error(values, (SIGMA * CLIP) ** 2)


def far_client():
    """Natural means 12, 0, 0, with precisions of 1e-6: clipping acts on the natural mean alone."""
    return [Shard(inputs=[[1e-3]], targets=[12e3])] + [
        Shard(inputs=[[1e-3]], targets=[0.0]) for _ in range(2)
    ]


@pytest.mark.parametrize(("memory", "limit"), [("forgets", 12.0), ("resets", 1.5)])
def test_resets_cost_a_bias_where_clients_differ_and_clipping_bites(memory, limit):
    """Without noise, C = 1. Clients that remember walk to the sum 12, one step of 1 a round.

    With resets, s = λ − prior is shared out as s/3 each round: the first client pulls by 1
    (clipped), the others push back by s/3 each, and all stops at 1 = 2s/3, far from 12.
    """
    mechanism = CentralNoise(
        clip_norm=1.0, noise_multiplier=1.0, noise=NoNoise(), memory=memory, reset_every=1
    )
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
        far_client(),
        np.random.default_rng(0),
    )
    run.run(40)
    assert run.posterior.natural_mean[0] == pytest.approx(limit, rel=1e-4)


def test_noise_splitting_rounds_add_up_to_signal_and_second_noise():
    """Algorithm 3, α = 1, nothing clipped: R₁ + R₂ = S + N₂, so two sums tell no more than one."""
    noise = RecordingNoise()
    mechanism = NoiseSplitting(clip_norm=1e3, noise_multiplier=0.01, noise=noise)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR.broadcast_to((50,)), solver=ExactSolver()),
        SHARDS,
        np.random.default_rng(5),
    )
    run.run(2)
    first, second = (r.value for r in run.transcript if r.sender == SERVER)
    second_noise = noise.drawn[2] + noise.drawn[3]
    scale = np.abs(PRIOR.vector).max()  # natural parameters near 1e6 are differenced
    assert np.abs(first + second - (SIGNAL + second_noise)).max() <= 1e-12 * scale
    small = NoiseSplitting(clip_norm=1e3, noise_multiplier=1e-4, noise=RecordingNoise())
    prior = MeanFieldGaussian(natural_mean=[0.0], precision=[1.0])
    run = small.build(
        Setting(model=MODEL, prior=prior, solver=ExactSolver()), SHARDS, np.random.default_rng(5)
    )
    run.run(2)
    first, second = (r.value for r in run.transcript if r.sender == SERVER)
    second_noise = small.noise.drawn[2] + small.noise.drawn[3]
    assert np.abs(first + second - (SIGNAL + second_noise)).max() <= 1e-12


def test_noise_splitting_under_clipping_is_another_matter():
    """With C below the signal the identity fails: what is remembered acts through the clipping."""
    noise = RecordingNoise()
    mechanism = NoiseSplitting(clip_norm=0.5, noise_multiplier=0.1, noise=noise)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()), SHARDS, np.random.default_rng(5)
    )
    run.run(2)
    first, second = (r.value for r in run.transcript if r.sender == SERVER)
    gap = first + second - (SIGNAL + noise.drawn[2] + noise.drawn[3])
    assert np.abs(gap).max() > 0.1
