"""Laws of PVI: fixed points, partitions and orders (Thesis Theorem 2.1.1; TMLR A.2–A.5, Thm 7)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from pvi import (
    Adam,
    Asynchronous,
    AveragedShards,
    Client,
    ExactSolver,
    Federation,
    GradientSolver,
    LinearRegression,
    LocalResult,
    LogisticRegression,
    MeanFieldGaussian,
    Sequential,
    Shard,
    Synchronous,
    VirtualShards,
    WholeShard,
    elbo,
    elbo_gradient,
    local_energy,
)


def linear_data(rng, size, dimension, noise_std):
    inputs = rng.normal(size=(size, dimension)) + 0.3
    weights = rng.normal(size=dimension)
    return Shard(inputs=inputs, targets=inputs @ weights + noise_std * rng.normal(size=size))


def mean_field_posterior(shard, prior, noise_std):
    """The exact optimum from the normal equations, written out once more."""
    precision = np.diag(prior.precision) + shard.inputs.T @ shard.inputs / noise_std**2
    moment = prior.natural_mean + shard.inputs.T @ shard.targets / noise_std**2
    return MeanFieldGaussian.from_mean_variance(
        np.linalg.solve(precision, moment), 1 / np.diag(precision)
    )


def cut(shard, order, cuts):
    rows = np.split(np.asarray(order), cuts)
    return [shard.take(part) for part in rows]


@st.composite
def partitioned_problems(draw):
    """A linear problem, its records shuffled and cut anywhere, and an order of visits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dimension = draw(st.integers(1, 3))
    size = draw(st.integers(12, 30))
    clients = draw(st.integers(1, 5))
    cuts = sorted(
        draw(
            st.lists(
                st.integers(1, size - 1), min_size=clients - 1, max_size=clients - 1, unique=True
            )
        )
    )
    order = draw(st.permutations(range(clients)))
    shard = linear_data(rng, size, dimension, 1.5)
    return shard, cut(shard, rng.permutation(size), cuts), tuple(order)


@settings(max_examples=60)
@given(partitioned_problems())
def test_sequential_pvi_reaches_the_exact_posterior_for_any_partition_and_order(problem):
    shard, parts, order = problem
    dimension = shard.inputs.shape[-1]
    model = LinearRegression(dimension=dimension, noise_std=1.5)
    prior = MeanFieldGaussian.from_mean_variance(np.full(dimension, 0.5), np.full(dimension, 2.0))
    clients = [
        Client(m, WholeShard(model=model, shard=part, solver=ExactSolver()))
        for m, part in enumerate(parts)
    ]
    federation = Federation(prior, clients, Sequential(order=order), rng=np.random.default_rng(0))
    report = federation.run(3000, tolerance=1e-13)
    assert report.converged
    assert float(report.posterior.kl(mean_field_posterior(shard, prior, 1.5))) < 1e-12


class TightSolver:
    """A local solver that owes nothing to pvi's own: quasi-Newton on (mean, log-variance)."""

    def solve(self, problem):
        model, shard, rng = problem.model, problem.shard, problem.context.rng
        cavity, start, temperature = problem.cavity, problem.start, problem.temperature

        def negative(v):
            mean, log_variance = np.split(v, 2)
            q = MeanFieldGaussian.from_mean_variance(mean, np.exp(log_variance))
            value = local_energy(model, q, cavity, shard, rng, temperature=temperature)
            data = temperature * model.gradients(q, shard, rng).sum(axis=0)
            by_mean = cavity.natural_mean - cavity.precision * mean
            by_log_variance = 0.5 - 0.5 * cavity.precision * np.exp(log_variance)
            return -float(value), -(data + np.concatenate([by_mean, by_log_variance]))

        begin = np.concatenate([start.mean, np.log(start.variance)])
        found = optimize.minimize(negative, begin, jac=True, method="BFGS", options={"gtol": 1e-9})
        mean, log_variance = np.split(found.x, 2)
        q = MeanFieldGaussian.from_mean_variance(mean, np.exp(log_variance))
        return LocalResult(q, problem.state)


LOGISTIC = LogisticRegression(dimension=2, nodes=64)
PRIOR = MeanFieldGaussian.from_mean_variance([0.3, -0.2], [1.0, 2.0])


def logistic_shards():
    rng = np.random.default_rng(11)
    inputs = rng.normal(size=(40, 2)) + np.array([0.5, 0.0])
    targets = np.where(rng.random(40) < 1 / (1 + np.exp(-inputs @ [1.5, -1.0])), 1.0, -1.0)
    order = np.argsort(inputs[:, 0])  # clients that differ
    return cut(Shard(inputs=inputs, targets=targets), order, [6, 25])


@pytest.fixture(scope="module")
def logistic_run():
    shards = logistic_shards()
    clients = [
        Client(m, WholeShard(model=LOGISTIC, shard=shard, solver=TightSolver()))
        for m, shard in enumerate(shards)
    ]
    rng = np.random.default_rng(0)
    report = Federation(PRIOR, clients, Sequential(), rng=rng).run(60, tolerance=1e-9)
    assert report.converged
    return shards, clients, report.posterior


def independent_elbo(parameters, shards):
    """The global ELBO by SciPy's densities and a fine trapezoid, none of it ours."""
    mean, std = parameters[:2], np.exp(0.5 * parameters[2:])
    grid = np.linspace(-9, 9, 4001)
    weight = stats.norm.pdf(grid) * (grid[1] - grid[0])
    total = 0.0
    for shard in shards:
        for x, t in zip(shard.inputs, shard.targets, strict=True):
            u = t * (x @ mean) + np.sqrt(x**2 @ std**2) * grid
            total += weight @ -np.logaddexp(0, -u)
    for m, s, m0, v0 in zip(mean, std, [0.3, -0.2], [1.0, 2.0], strict=True):
        total += stats.norm(m, s).entropy()
        total += -0.5 * np.log(2 * np.pi * v0) - 0.5 * ((m - m0) ** 2 + s**2) / v0
    return total


def test_a_fixed_point_is_a_stationary_point_of_the_global_elbo(logistic_run):
    shards, _, q = logistic_run
    point = np.concatenate([q.mean, np.log(q.variance)])
    step = 1e-4
    for direction in np.eye(4) * step:
        slope = independent_elbo(point + direction, shards) - independent_elbo(
            point - direction, shards
        )
        assert abs(slope / (2 * step)) < 1e-6
    # ... and not by flatness: a small move costs
    for direction in np.eye(4) * 0.1:
        assert independent_elbo(point + direction, shards) < independent_elbo(point, shards) - 1e-3
    ours = elbo(LOGISTIC, q, PRIOR, shards, np.random.default_rng(0))
    assert float(ours) == pytest.approx(independent_elbo(point, shards), abs=1e-8)


def test_direct_maximisation_of_the_elbo_finds_the_same_point(logistic_run):
    shards, _, q = logistic_run
    start = np.zeros(4)
    found = optimize.minimize(
        lambda v: -independent_elbo(v, shards), start, method="BFGS", options={"gtol": 1e-5}
    ).x
    np.testing.assert_allclose(q.mean, found[:2], rtol=0, atol=2e-5)
    np.testing.assert_allclose(np.log(q.variance), found[2:], rtol=0, atol=2e-5)


def test_local_energies_add_up_to_the_global_one_up_to_the_normaliser(logistic_run):
    """TMLR Property A.3 (1) with log Z; the Thesis's eq. 2.11 leaves log Z out."""
    shards, clients, q = logistic_run
    rng = np.random.default_rng(0)
    total = 0.0
    for shard, client in zip(shards, clients, strict=True):
        # q* is normalised in the local energy, so its own log Z comes off once per client
        energy = local_energy(LOGISTIC, q, q / client.factor, shard, rng)
        total += float(energy - q.log_partition())
    # Z of prior density times unnormalised factors
    log_z = float(q.log_partition() - PRIOR.log_partition())
    bound = float(elbo(LOGISTIC, q, PRIOR, shards, rng))
    assert total == pytest.approx(bound - log_z, abs=1e-9)
    assert abs(total - bound) > 1.0


def test_every_client_is_at_its_own_optimum_at_the_fixed_point(logistic_run):
    """The natural parameters obey the fixed-point equation of TMLR Property A.4 with N = 1."""
    shards, clients, q = logistic_run
    for shard, client in zip(shards, clients, strict=True):
        by_mean, by_log_variance = np.split(LOGISTIC.gradients(q, shard).sum(axis=0), 2)
        by_variance = by_log_variance / q.variance
        # d/d(expectation parameters): precision = −2 ∂/∂v, natural mean = ∂/∂μ − 2μ ∂/∂v
        np.testing.assert_allclose(client.factor.precision, -2 * by_variance, atol=1e-6)
        np.testing.assert_allclose(
            client.factor.natural_mean, by_mean - 2 * q.mean * by_variance, atol=1e-6
        )


@pytest.mark.parametrize(
    "schedule",
    [Synchronous(), Asynchronous(rates=(1.0, 2.0, 0.5), stale=True, updates=4)],
)
def test_other_schedules_have_the_same_fixed_point(logistic_run, schedule):
    shards, _, q = logistic_run
    clients = [
        Client(m, WholeShard(model=LOGISTIC, shard=shard, solver=TightSolver()), damping=0.5)
        for m, shard in enumerate(shards)
    ]
    federation = Federation(PRIOR, clients, schedule, rng=np.random.default_rng(1))
    assert float(federation.run(40).posterior.kl(q)) < 1e-9


@pytest.mark.parametrize("divisor", [1.0, None])
def test_gradient_solver_ends_at_the_same_fixed_point(logistic_run, divisor):
    shards, _, q = logistic_run
    rule = Adam(learning_rate=lambda t: 0.1 / (1 + 0.01 * t))
    solver = GradientSolver(rule=rule, steps=300, objective_divisor=divisor)
    clients = [
        Client(m, WholeShard(model=LOGISTIC, shard=shard, solver=solver))
        for m, shard in enumerate(shards)
    ]
    posterior = Federation(PRIOR, clients, Sequential(), rng=np.random.default_rng(0)).run(12)
    assert float(posterior.posterior.kl(q)) < 1e-9
    gradient = elbo_gradient(LOGISTIC, posterior.posterior, PRIOR, shards, np.random.default_rng(0))
    assert np.abs(gradient).max() < 1e-3


def averaged(model, shard, prior, parts, cuts=None):
    pieces = shard.partition(parts) if cuts is None else cut(shard, range(shard.size), cuts)
    strategy = AveragedShards(model=model, shards=pieces, solver=ExactSolver())
    federation = Federation(
        prior, [Client(0, strategy)], Synchronous(), rng=np.random.default_rng(0)
    )
    return federation.run(1).posterior


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.data())
def test_local_averaging_does_not_see_the_partition_of_a_conjugate_model(seed, parts, data):
    """TMLR Theorem 7 (A.9), for any cut: in one dimension the model is conjugate."""
    rng = np.random.default_rng(seed)
    model = LinearRegression(dimension=1, noise_std=0.8)
    prior = MeanFieldGaussian.from_mean_variance([0.4], [2.0])
    shard = linear_data(rng, 20, 1, 0.8)
    cuts = sorted(
        data.draw(st.lists(st.integers(1, 19), min_size=parts - 1, max_size=parts - 1, unique=True))
    )
    precision = 0.5 + (shard.inputs[:, 0] ** 2).sum() / 0.64
    mean = (0.2 + shard.inputs[:, 0] @ shard.targets / 0.64) / precision
    q = averaged(model, shard, prior, parts, cuts)
    assert q.precision[0] == pytest.approx(precision, rel=1e-12)
    assert q.mean[0] == pytest.approx(mean, rel=1e-9, abs=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3))
def test_parallel_local_averaging_has_the_same_dynamics_for_any_partition(seed, clients, parts):
    """TMLR Property A.5, damped and round by round, in the conjugate case in which it holds.

    By hand: λ_q − λ₀ moves towards (Xᵀy, XᵀX)/σ² by the damping factor in each round.
    """
    shard = linear_data(np.random.default_rng(seed), 20, 1, 0.8)
    model = LinearRegression(dimension=1, noise_std=0.8)
    prior = MeanFieldGaussian.from_mean_variance([0.4], [2.0])
    members = [
        Client(
            m,
            AveragedShards(model=model, shards=part.partition(parts), solver=ExactSolver()),
            damping=0.3,
        )
        for m, part in enumerate(shard.partition(clients))
    ]
    history = Federation(prior, members, Synchronous(), rng=np.random.default_rng(0)).run(4).history
    x, y = shard.inputs[:, 0], shard.targets
    goal = np.array([x @ y, x @ x]) / 0.64
    for index in range(4):
        expected = [0.2, 0.5] + (1 - 0.7 ** (index + 1)) * goal
        np.testing.assert_allclose(history.posterior[index], expected, rtol=1e-11, atol=1e-11)


def test_local_averaging_does_see_the_partition_of_a_mean_field_model():
    """With correlated inputs a mean-field family is not conjugate, and Theorem 7 does not apply."""
    model = LinearRegression(dimension=2, noise_std=0.8)
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
    shard = linear_data(np.random.default_rng(5), 20, 2, 0.8)
    assert float(averaged(model, shard, prior, 1).kl(averaged(model, shard, prior, 5))) > 1e-3


def test_a_fixed_point_of_local_averaging_need_not_be_one_of_global_vi():
    """TMLR Property A.3 (2) asks every shard to be at its optimum; averaging alone does not."""
    model = LinearRegression(dimension=2, noise_std=0.8)
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
    shard = linear_data(np.random.default_rng(5), 20, 2, 0.8)
    strategy = AveragedShards(model=model, shards=shard.partition(5), solver=ExactSolver())
    federation = Federation(
        prior, [Client(0, strategy, damping=0.5)], Synchronous(), rng=np.random.default_rng(0)
    )
    report = federation.run(2000, tolerance=1e-14)
    assert report.converged
    assert float(report.posterior.kl(mean_field_posterior(shard, prior, 0.8))) > 1e-3


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_virtual_clients_are_a_synchronous_run_with_more_clients(seed, first, second):
    """TMLR section 3.2.2, round for round, with damping."""
    rng = np.random.default_rng(seed)
    model = LinearRegression(dimension=2, noise_std=1.0)
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
    shards = [linear_data(rng, size, 2, 1.0) for size in (9, 13)]
    pieces = [shard.partition(n) for shard, n in zip(shards, (first, second), strict=True)]
    virtual = [
        Client(m, VirtualShards(model=model, shards=part, solver=ExactSolver()), damping=0.3)
        for m, part in enumerate(pieces)
    ]
    real = [
        Client(m, WholeShard(model=model, shard=part, solver=ExactSolver()), damping=0.3)
        for m, part in enumerate([*pieces[0], *pieces[1]])
    ]
    together = Federation(prior, virtual, Synchronous(), rng=rng).run(5)
    apart = Federation(prior, real, Synchronous(), rng=rng).run(5)
    np.testing.assert_allclose(
        together.history.posterior, apart.history.posterior, rtol=1e-10, atol=1e-10
    )
