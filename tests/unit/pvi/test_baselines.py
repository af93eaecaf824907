"""Baselines against formulas written out by hand and against torch."""

import numpy as np
import pytest
import torch
from scipy import optimize

from pvi import (
    SGD,
    Adagrad,
    Adam,
    ClientSampling,
    ExactSolver,
    FederatedAveraging,
    LinearRegression,
    LogisticRegression,
    MeanFieldGaussian,
    RecordSampling,
    Shard,
    committee,
    elbo_gradient,
    global_vi,
)
from pvi.solvers import prior_gradient

LINEAR = LinearRegression(dimension=2, noise_std=1.0)
LOGISTIC = LogisticRegression(dimension=2)
PRIOR = MeanFieldGaussian.from_mean_variance([0.2, 0.0], [1.0, 0.5])


def shards(sizes=(4, 9, 2), labels=False, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for shift, size in enumerate(sizes):
        inputs = rng.normal(size=(size, 2)) + 0.3 * shift
        targets = inputs @ [1.0, -0.5] + rng.normal(size=size)
        made.append(Shard(inputs=inputs, targets=np.sign(targets) if labels else targets))
    return made


def fit(prior_precision, prior_natural_mean, shard):
    """Mean-field linear regression by the normal equations."""
    precision = np.diag(prior_precision) + shard.inputs.T @ shard.inputs
    mean = np.linalg.solve(precision, prior_natural_mean + shard.inputs.T @ shard.targets)
    return np.concatenate([np.diag(precision) * mean, np.diag(precision)])


def test_committee_same_and_split():
    parts, rng = shards(), np.random.default_rng(0)
    same = committee(LINEAR, PRIOR, parts, ExactSolver(), variant="same", rng=rng)
    local = [fit(PRIOR.precision, PRIOR.natural_mean, part) for part in parts]
    np.testing.assert_allclose(same.vector, sum(local) - 2 * PRIOR.vector, rtol=1e-12)
    split = committee(LINEAR, PRIOR, parts, ExactSolver(), variant="split", rng=rng)
    local = [fit(PRIOR.precision / 3, PRIOR.natural_mean / 3, part) for part in parts]
    np.testing.assert_allclose(split.vector, sum(local), rtol=1e-12)
    assert np.abs(same.vector - split.vector).max() > 0.05
    with pytest.raises(ValueError, match=r"`variant` must be .*, got 'both'"):
        committee(LINEAR, PRIOR, parts, ExactSolver(), variant="both", rng=rng)


def test_committee_is_exact_for_one_client_and_for_a_conjugate_model():
    rng = np.random.default_rng(0)
    pooled = Shard.concatenate(shards())
    for variant in ("same", "split"):
        alone = committee(LINEAR, PRIOR, [pooled], ExactSolver(), variant=variant, rng=rng)
        np.testing.assert_allclose(
            alone.vector, fit(PRIOR.precision, PRIOR.natural_mean, pooled), rtol=1e-12
        )
    scalar = [Shard(inputs=s.inputs[:, :1], targets=s.targets) for s in shards()]
    model = LinearRegression(dimension=1, noise_std=1.0)
    prior = MeanFieldGaussian.from_mean_variance([0.2], [1.0])
    x = np.concatenate([s.inputs[:, 0] for s in scalar])
    y = np.concatenate([s.targets for s in scalar])
    for variant in ("same", "split"):
        q = committee(model, prior, scalar, ExactSolver(), variant=variant, rng=rng)
        np.testing.assert_allclose(q.vector, [0.2 + x @ y, 1 + x @ x], rtol=1e-12)


def test_global_vi_reaches_the_mean_field_optimum():
    parts = shards()
    q = global_vi(
        LINEAR,
        PRIOR,
        parts,
        rule=Adam(learning_rate=lambda t: 0.1 / (1 + 0.01 * t)),
        steps=2000,
        sampling=RecordSampling(),
        rng=np.random.default_rng(0),
    )
    expected = MeanFieldGaussian.from_vector(
        fit(PRIOR.precision, PRIOR.natural_mean, Shard.concatenate(parts))
    )
    assert float(q.kl(expected)) < 1e-8


def mean_of_draws(sampling, parts, draws=6_000):
    """Mean and standard error of the data gradient over the sampler's draws."""
    rng = np.random.default_rng(12)
    q = MeanFieldGaussian.from_mean_variance([0.4, -0.1], [0.3, 0.3])
    values = []
    for _ in range(draws):
        rows, factor, _ = sampling.draw(parts, rng)
        values.append(factor * LINEAR.gradients(q, rows).sum(axis=-2))
    values = np.array(values)
    full = elbo_gradient(LINEAR, q, PRIOR, parts, rng) - prior_gradient(q, PRIOR)
    each = [LINEAR.gradients(q, part).sum(axis=-2) for part in parts]
    return values.mean(axis=0), values.std(axis=0) / np.sqrt(draws), full, each


@pytest.mark.parametrize(
    "sampling",
    [
        RecordSampling(batch_size=3),
        ClientSampling(batch_size=2, weight="importance"),
        ClientSampling(batch_size=2, weight="importance", rates=(1.0, 5.0, 2.0)),
    ],
)
def test_unbiased_samplings(sampling):
    """Four coordinates within 6 standard errors of 6000 draws: false alarm below 1e-7."""
    mean, error, full, _ = mean_of_draws(sampling, shards())
    assert (np.abs(mean - full) < 6 * error).all()
    assert (error > 0).all()


@pytest.mark.parametrize("weight", ["total", "own"])
def test_the_workshops_client_sampling_optimises_another_objective(weight):
    """Client m's records count 15·p_m/N_m or p_m each, with p_m ∝ 1/N_m, instead of 1.

    Agreement within 6 standard errors in four coordinates of 6000 draws: false alarm below 1e-7.
    """
    parts = shards()
    mean, error, full, each = mean_of_draws(ClientSampling(batch_size=2, weight=weight), parts)
    sizes = np.array([4, 9, 2])
    share = (1 / sizes) / (1 / sizes).sum()
    counts = 15 * share / sizes if weight == "total" else share
    biased = sum(c * gradient for c, gradient in zip(counts, each, strict=True))
    assert (np.abs(mean - biased) < 6 * error).all()
    assert (np.abs(mean - full) > 12 * error).any()


def test_global_vi_with_one_state_per_client_takes_larger_steps_for_rare_clients():
    """Adagrad's k-th step on an unchanging gradient is rate/√k: k counts per client, or overall."""

    class Alternate:
        def __init__(self):
            self.turn = 0

        def draw(self, parts, rng):
            self.turn += 1
            client = 1 if self.turn == 5 else 0
            return parts[client], 1.0, client

    class Constant:
        dimension = 1

        def gradients(self, q, shard, rng):
            return np.full((1, 2), 1e9)  # so large that the prior's part does not matter

    part = Shard(inputs=[[1.0]], targets=[1.0])
    for own_state, last in ((True, 0.1), (False, 0.1 / np.sqrt(5))):
        means = []
        global_vi(
            Constant(),
            MeanFieldGaussian.from_mean_variance([0.0], [1.0]),
            [part, part],
            rule=Adagrad(learning_rate=0.1),
            steps=5,
            sampling=Alternate(),
            rng=np.random.default_rng(0),
            own_state=own_state,
            callback=lambda _, q, means=means: means.append(float(q.mean[0])),
        )
        assert means[4] - means[3] == pytest.approx(last, rel=1e-6)
        assert means[1] - means[0] == pytest.approx(0.1 / np.sqrt(2), rel=1e-6)


def test_federated_averaging_with_one_step_is_gradient_descent_on_pooled_data():
    parts = shards()
    pooled = Shard.concatenate(parts)
    training = FederatedAveraging(
        LINEAR,
        parts,
        rule=SGD(learning_rate=0.1),
        local_steps=1,
        rng=np.random.default_rng(0),
        regularisation=0.5,
    )
    training.run(7)
    weights = np.zeros(2)
    for _ in range(7):
        residual = pooled.targets - pooled.inputs @ weights
        weights = weights + 0.1 * (pooled.inputs.T @ residual - 0.5 * weights) / 15
    np.testing.assert_allclose(training.weights, weights, rtol=1e-12)
    assert training.history.shape == (7, 2)


@pytest.mark.parametrize("persistent", [False, True])
def test_federated_averaging_with_adam_matches_torch(persistent):
    parts = shards(labels=True)
    training = FederatedAveraging(
        LOGISTIC,
        parts,
        rule=Adam(learning_rate=0.05),
        local_steps=5,
        rng=np.random.default_rng(0),
        persistent=persistent,
    )
    training.run(4)
    weights = torch.zeros(2, dtype=torch.float64)
    locals_ = [torch.nn.Parameter(weights.clone()) for _ in parts]
    optimisers = [torch.optim.Adam([local], lr=0.05) for local in locals_]
    for _ in range(4):
        average = torch.zeros(2, dtype=torch.float64)
        for k, part in enumerate(parts):
            if not persistent:
                optimisers[k] = torch.optim.Adam([locals_[k]], lr=0.05)
            locals_[k].data.copy_(weights)
            x, t = torch.from_numpy(part.inputs), torch.from_numpy(part.targets)
            for _ in range(5):
                optimisers[k].zero_grad()
                loss = torch.nn.functional.softplus(-t * (x @ locals_[k])).mean()
                loss.backward()
                optimisers[k].step()
            average += part.size / 15 * locals_[k].detach()
        weights = average
    np.testing.assert_allclose(training.weights, weights.numpy(), rtol=0, atol=1e-10)


def test_federated_averaging_converges_to_the_pooled_optimum_with_one_local_step():
    parts = shards(labels=True)
    pooled = Shard.concatenate(parts)
    training = FederatedAveraging(
        LOGISTIC,
        parts,
        rule=SGD(learning_rate=1.0),
        local_steps=1,
        rng=np.random.default_rng(0),
        regularisation=1.0,
    )
    training.run(2000)

    def loss(w):
        return np.logaddexp(0, -pooled.targets * (pooled.inputs @ w)).sum() + 0.5 * w @ w

    best = optimize.minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(training.weights, best, atol=1e-6)


def test_federated_averaging_alter_hook_and_batches():
    parts, calls = shards(), []

    def alter(change, context):
        calls.append((context.client, context.round, change.shape))
        return 0.5 * change

    start = np.zeros((3, 2))
    training = FederatedAveraging(
        LINEAR,
        parts,
        rule=SGD(learning_rate=0.1),
        local_steps=1,
        rng=np.random.default_rng(0),
        start=start,
        alter=alter,
    )
    training.run(1)
    assert calls == [(k, 1, (3, 2)) for k in range(3)]
    pooled = Shard.concatenate(parts)
    step = 0.05 * pooled.inputs.T @ pooled.targets / 15
    np.testing.assert_allclose(training.weights, np.tile(step, (3, 1)), rtol=1e-12)


def test_federated_averaging_goes_on_where_it_stopped_and_tells_each_round():
    """Three rounds and two more are five; the averages that were told add up to the weights."""
    told = []

    def training(**hooks):
        return FederatedAveraging(
            LOGISTIC,
            shards(labels=True),
            rule=Adam(learning_rate=0.05),
            local_steps=2,
            rng=np.random.default_rng(0),
            persistent=True,
            **hooks,
        )

    whole, halves = training(), training(after_round=lambda *call: told.append(call))
    assert halves.history.shape == (0, 2)
    whole.run(5)
    halves.run(3)
    np.testing.assert_array_equal(halves.run(2), whole.weights)
    np.testing.assert_array_equal(halves.history, whole.history)
    assert [number for _, number in told] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(sum(average for average, _ in told), whole.weights, rtol=1e-12)
