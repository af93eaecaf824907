"""Every mechanism with every model of the engine, one run at a time and many at once."""

import dataclasses

import dp_accounting as dpa
import numpy as np
import pytest
from mechanism_tools import gaussian_epsilon
from scipy import stats

from accountants import Certificate
from mechanisms import (
    AdaptiveClip,
    CentralNoise,
    DPOptimisation,
    FedAvgPerturbation,
    FixedSize,
    GuardedSolver,
    Layout,
    LocalAveraging,
    NoiseSplitting,
    NoNoise,
    ParameterPerturbation,
    Partition,
    Poisson,
    Scope,
    Setting,
    Shuffled,
    VirtualClients,
    certify,
)
from pvi import (
    SGD,
    Adagrad,
    ExactSolver,
    GradientSolver,
    ImproperGaussianError,
    LinearRegression,
    LogisticRegression,
    MeanFieldGaussian,
    Shard,
)
from pvi.models.bnn import BayesianNeuralNetwork

MODELS = {
    "linear": LinearRegression(dimension=2, noise_std=1.0),
    "logistic": LogisticRegression(dimension=2),
    "network": BayesianNeuralNetwork(inputs=2, hidden=3),
}
COMMON = {"clip_norm": 1.0, "noise_multiplier": 1.0, "precision_floor": 1.0}


def shards(size=6):
    rng = np.random.default_rng(0)
    return [
        Shard(inputs=rng.normal(size=(size, 2)), targets=rng.choice([-1.0, 1.0], size=size))
        for _ in range(3)
    ]


def prior_of(model, shape=()):
    prior = MeanFieldGaussian.from_mean_variance(
        np.zeros(model.dimension), np.full(model.dimension, 0.01)
    )
    return prior.broadcast_to(shape)


def solver():
    return GradientSolver(rule=Adagrad(learning_rate=0.05), steps=3)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "mechanism",
    [
        ParameterPerturbation(**COMMON),
        LocalAveraging(**COMMON, trusted_aggregator=True, memory="resets", reset_every=2),
        VirtualClients(**COMMON, memory="remembers"),
        VirtualClients(**COMMON, memory="resets"),
        CentralNoise(**COMMON, memory="resets", reset_every=2),
        NoiseSplitting(**COMMON),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_noise_on_changes(mechanism, model):
    pieces = shards()
    if isinstance(mechanism, LocalAveraging | VirtualClients):
        pieces = [Partition.by_position(shard, 2) for shard in pieces]
    run = mechanism.build(
        Setting(model=model, prior=prior_of(model), solver=solver()),
        pieces,
        np.random.default_rng(1),
    )
    run.run(3)
    assert run.posterior.is_proper
    assert len(run.transcript) == 3 * (3 + 1)
    for release in run.transcript:
        assert release.value.shape == (2 * model.dimension,)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scheme", [Poisson(0.5), FixedSize(2, 6), Shuffled(4, 6)], ids=str)
@pytest.mark.parametrize(
    "clip", [1.0, AdaptiveClip(initial_norm=1.0, batch_size=3, count_std=2.0)], ids=["flat", "own"]
)
def test_noise_on_gradients(model, scheme, clip):
    run = DPOptimisation(
        clip_norm=clip,
        noise_multiplier=1.0,
        steps=3,
        rule=Adagrad(learning_rate=0.05),
        sampling=scheme,
        objective_divisor=6.0,
    ).build(Setting(model=model, prior=prior_of(model)), shards(), np.random.default_rng(1))
    run.run(2)
    assert run.posterior.is_proper
    assert len(run.transcript) == 2 * (3 + 1)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_noise_on_weights(model):
    mechanism = FedAvgPerturbation(
        clip_norm=1.0, noise_multiplier=0.1, rule=SGD(learning_rate=0.1), local_steps=2
    )
    setting = Setting(model=model, prior=prior_of(model))
    run = mechanism.build(setting, shards(), np.random.default_rng(0))
    run.run(1)
    run.run(1)
    assert run.estimate.shape == (model.dimension,)
    assert run.history.shape == (2, model.dimension)
    assert len(run.transcript) == 2 * (3 + 1)


@pytest.mark.parametrize("scheme", [Poisson(0.5), FixedSize(3, 6), Shuffled(4, 6)], ids=str)
def test_batched_steps_have_the_mean_of_the_sampling(scheme):
    """One noiseless step from the prior: the mean step over repetitions is that of full batches.

    Each coordinate within 7 standard errors of its mean over 20,000 repetitions: 1e-11 in all.
    """
    model, trials, rate = MODELS["linear"], 20_000, 0.01
    data = shards()[:1]

    def step(sampling, shape):
        run = DPOptimisation(
            clip_norm=0.5,
            noise_multiplier=1.0,
            steps=1,
            rule=SGD(learning_rate=rate),
            sampling=sampling,
            noise=NoNoise(),
        ).build(Setting(model=model, prior=prior_of(model, shape)), data, np.random.default_rng(4))
        run.run(1)
        return run.posterior.mean / rate

    many = step(scheme, (trials,))
    full = step(Poisson(1.0), ())
    error = many.std(axis=0) / np.sqrt(trials)
    assert (np.abs(many.mean(axis=0) - full) < 7 * error + 1e-12).all()


def test_the_realised_batch_size_does_not_matter():
    """Poisson batches of any size are scaled by 1/q: the sum of what was drawn, over q."""
    model = MODELS["linear"]
    shard = Shard(inputs=[[1.0, 0.0]] * 4, targets=[1.0] * 4)  # equal records
    run = DPOptimisation(
        clip_norm=10.0,
        noise_multiplier=1.0,
        steps=1,
        rule=SGD(learning_rate=1e-3),
        sampling=Poisson(0.5),
        noise=NoNoise(),
    ).build(Setting(model=model, prior=prior_of(model, (300,))), [shard], np.random.default_rng(0))
    run.run(1)
    drawn = run.posterior.mean[:, 0] / 1e-3 * 0.5  # each drawn record's gradient is y·x = 1
    assert np.allclose(drawn, np.round(drawn), atol=1e-9)
    assert set(np.round(drawn)) == {0.0, 1.0, 2.0, 3.0, 4.0}


def test_empty_parts_are_harmless():
    model = MODELS["linear"]
    shard = shards()[0]
    partition = Partition.by_identity(shard, np.array([0, 0, 0, 2, 2, 2]), 3)
    for mechanism in (LocalAveraging, VirtualClients):
        for local in (ExactSolver(), solver()):
            run = mechanism(**COMMON).build(
                Setting(model=model, prior=prior_of(model), solver=local),
                [partition],
                np.random.default_rng(0),
            )
            run.run(1)
            assert run.posterior.is_proper


class BrokenRecord:
    """Linear regression whose gradient is NaN for records with target 99."""

    dimension = 2

    def expected_log_likelihood(self, q, shard, rng):
        return MODELS["linear"].expected_log_likelihood(q, shard, rng)

    def gradients(self, q, shard, rng):
        rows = MODELS["linear"].gradients(q, shard, rng)
        return np.where((shard.targets == 99.0)[..., None], np.nan, rows)


def test_a_broken_record_contributes_nothing_and_is_reported():
    inputs = np.random.default_rng(0).normal(size=(5, 2))

    def run(rows, targets):
        run = DPOptimisation(
            clip_norm=0.5, noise_multiplier=1.0, steps=3, rule=SGD(learning_rate=0.01)
        ).build(
            Setting(model=BrokenRecord(), prior=prior_of(MODELS["linear"])),
            [Shard(inputs=rows, targets=targets)],
            np.random.default_rng(8),
        )
        run.run(2)
        return run

    broken = run(inputs, [1.0, 99.0, -1.0, 2.0, 0.5])
    without = run(np.delete(inputs, 1, axis=0), [1.0, -1.0, 2.0, 0.5])
    assert broken.screened == (6,)
    assert without.screened == (0,)
    assert np.allclose(broken.posterior.vector, without.posterior.vector, rtol=1e-12)


def test_a_solver_that_finds_no_distribution_changes_nothing():
    """An improper cavity has no exact answer; guarded, the client's message is noise alone."""
    model = MODELS["linear"]
    guarded = GuardedSolver(ExactSolver())
    factor = MeanFieldGaussian(natural_mean=np.zeros(2), precision=np.full(2, 1e4))
    data, rng = shards()[:1], np.random.default_rng(0)
    setting = Setting(model=model, prior=prior_of(model), solver=ExactSolver())
    plain = ParameterPerturbation(**COMMON).build(setting, data, rng)
    plain.federation.clients[0].factor = factor
    with pytest.raises(ImproperGaussianError):
        plain.run(1)
    silent = ParameterPerturbation(**COMMON, noise=NoNoise())
    quiet = silent.build(dataclasses.replace(setting, solver=guarded), data, rng)
    quiet.federation.clients[0].factor = factor
    quiet.run(1)
    assert guarded.failures == 1
    assert np.array_equal(quiet.posterior.vector, prior_of(model).vector)


def test_certificates_say_what_they_rest_on():
    plan = ParameterPerturbation(clip_norm=1.0, noise_multiplier=4.0).plan(
        Layout(clients=2), rounds=3
    )
    certificate = certify(plan, Scope(), [1e-5, 1e-6])
    assert certificate.event == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 3)
    for delta in (1e-5, 1e-6):
        truth = gaussian_epsilon(np.sqrt(3) / 2, delta)
        bounds = certificate.bounds(delta)
        assert bounds.lower == pytest.approx(truth, rel=1e-9)
        assert bounds.upper == pytest.approx(truth, rel=1e-9)
    text = " ".join(certificate.assumptions)
    assert "every message of every client" in text
    assert "only simulate" in text
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize("scheme", [Poisson(1.0), Shuffled(6, 6)], ids=str)
def test_noise_on_gradients_has_its_variance(scheme):
    """One step of one client: rate · noise on the mean, of variance (rate·σC)².

    χ² with 3999 degrees of freedom at 1e-10 on each side, twice: false alarms below 1e-9.
    """
    model, trials = MODELS["linear"], 4000
    run = DPOptimisation(
        clip_norm=0.5,
        noise_multiplier=3.0,
        steps=1,
        rule=SGD(learning_rate=0.01),
        sampling=scheme,
    ).build(
        Setting(model=model, prior=prior_of(model, (trials,))),
        shards()[:1],
        np.random.default_rng(0),
    )
    run.run(1)
    variance = run.posterior.mean.var(axis=0, ddof=1)
    low, high = stats.chi2.ppf([1e-10, 1 - 1e-10], trials - 1)
    scaled = (trials - 1) * variance / (0.01 * 3.0 * 0.5) ** 2
    assert ((scaled > low) & (scaled < high)).all()
