"""Runs: schedules, callbacks, history, hooks and recovery from errors."""

import io
import math

import numpy as np
import pytest

import pvi
from pvi import (
    SGD,
    Adam,
    Alteration,
    Asynchronous,
    AveragedShards,
    Client,
    ExactSolver,
    Federation,
    FixedSizeSampling,
    GradientSolver,
    ImproperGaussianError,
    LinearRegression,
    LogisticRegression,
    MeanFieldGaussian,
    PoissonSampling,
    Progress,
    Sequential,
    Shard,
    Synchronous,
    VirtualShards,
    WholeShard,
)

MODEL = LinearRegression(dimension=2, noise_std=1.0)
PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))


def shards(clients=3, size=6, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(clients):
        inputs = rng.normal(size=(size, 2))
        made.append(Shard(inputs=inputs, targets=inputs @ [1.0, -0.5] + rng.normal(size=size)))
    return made


def federation(solver=None, schedule=None, *, seed=0, damping=0.3, prior=PRIOR, **options):
    clients = [
        Client(
            m,
            WholeShard(model=MODEL, shard=shard, solver=solver or ExactSolver()),
            damping=damping,
        )
        for m, shard in enumerate(shards())
    ]
    rng = np.random.default_rng(seed)
    return Federation(prior, clients, schedule or Synchronous(), rng=rng, **options)


def product_of_factors(run):
    q = run.server.prior
    for client in run.clients:
        q = q * client.factor
    return q


@pytest.mark.parametrize(
    "schedule",
    [
        Sequential(),
        Sequential(shuffle=True),
        Sequential(order=(2, 0, 1)),
        Synchronous(),
        Asynchronous(rates=(1, 1, 2)),
        Asynchronous(rates=(1, 1, 2), stale=True, updates=3),
    ],
)
def test_posterior_is_prior_times_factors(schedule):
    run = federation(schedule=schedule)
    run.run(7)
    np.testing.assert_allclose(run.posterior.vector, product_of_factors(run).vector, atol=1e-12)


def test_sequential_and_synchronous_differ_in_what_clients_see():
    """Second client's first change, by hand: its cavity holds the first's factor, or not."""
    first, second, _ = shards()
    after_first = MODEL.optimum(PRIOR, first)
    expected = {Sequential(): MODEL.optimum(after_first, second) / after_first}
    expected[Synchronous()] = MODEL.optimum(PRIOR, second) / PRIOR
    for schedule, change in expected.items():
        run = federation(schedule=schedule, damping=1.0)
        run.run(1)
        np.testing.assert_allclose(run.clients[1].factor.vector, change.vector, atol=1e-12)
    gap = np.subtract(*(change.vector for change in expected.values()))
    assert np.abs(gap).max() > 0.01


def test_stale_clients_work_from_what_they_fetched_after_their_own_last_report():
    seen = []

    class Watch(ExactSolver):
        def solve(self, problem):
            seen.append((problem.context.client, problem.start))
            return super().solve(problem)

    run = federation(Watch(), Asynchronous(rates=(1, 1, 1), stale=True))
    fetched = dict.fromkeys(range(3), PRIOR)
    for _ in range(12):
        run.run(1)
        client, start = seen[-1]
        np.testing.assert_array_equal(start.vector, fetched[client].vector)
        fetched[client] = run.posterior
    assert len({client for client, _ in seen}) == 3


def test_asynchronous_rates_are_frequencies():
    """12000 draws, three counts within 6 standard deviations: false alarm below 1e-8."""
    rng, draws = np.random.default_rng(3), 12_000
    schedule = Asynchronous.inverse_size([1, 2, 4], updates=draws)
    groups = schedule.groups(3, 1, rng)
    counts = np.bincount([client for (client,) in groups], minlength=3)
    share = np.array([4, 2, 1]) / 7
    assert (np.abs(counts - draws * share) < 6 * np.sqrt(draws * share * (1 - share))).all()


def test_history_progress_and_callbacks():
    run, events, stream = federation(schedule=Sequential()), [], io.StringIO()
    report = run.run(4, callbacks=[events.append, Progress(stream=stream, interval=0.0)])
    assert [event.round for event in events] == [1, 2, 3, 4]
    assert events[0].clients == (0, 1, 2)
    assert report.history.posterior.shape == (4, 4)
    np.testing.assert_array_equal(report.history.round, [1, 2, 3, 4])
    np.testing.assert_array_equal(report.history.updates, [3, 6, 9, 12])
    np.testing.assert_array_equal(report.history.gaussian(-1).vector, run.posterior.vector)
    before, after = report.history.posterior[0], report.history.posterior[1]
    expected = np.max(np.abs(after - before) / (1 + np.abs(after)))
    assert report.history.change[1] == pytest.approx(expected, rel=1e-12)
    assert "round 4/4" in stream.getvalue()
    assert stream.getvalue().endswith("\n")
    assert run.run(2).history.round[-1] == 6


def test_tolerance_stops_the_run():
    stream = io.StringIO()
    run = federation(schedule=Sequential(), damping=1.0)
    report = run.run(500, tolerance=1e-9, callbacks=[Progress(stream=stream)])
    assert stream.getvalue().endswith("\n")
    assert report.converged
    assert report.rounds < 500
    assert report.change <= 1e-9 < report.history.change[-2]
    assert not federation().run(2).converged


def test_adam_state_persists_or_is_reset():
    """Adam's first step has the size of its learning rate whatever the gradient; later ones not."""
    changes = {}
    for persistent in (True, False):
        solver = GradientSolver(rule=Adam(learning_rate=0.01), steps=1, persistent=persistent)
        run = federation(solver, Sequential(), damping=1.0)
        run.run(30)
        before = run.posterior.mean
        run.run(1)
        changes[persistent] = np.abs(run.posterior.mean - before)
        state = run.clients[0].state[0].solver
        assert ("first" in state) is True
        assert int(state["count"]) == (31 if persistent else 1)
    # three clients, each stepping exactly 0.01 up or down in each coordinate: an odd multiple
    multiples = changes[False] / 0.01
    np.testing.assert_allclose(multiples, np.round(multiples), atol=1e-4)
    assert np.abs(changes[True] / 0.01 - np.round(changes[True] / 0.01)).max() > 1e-2


def test_aggregate_hook_sees_per_example_gradients():
    shapes, contexts = [], []

    def aggregate(gradients, context):
        shapes.append(gradients.shape)
        contexts.append(context)
        return np.zeros((*gradients.shape[:-2], gradients.shape[-1]))

    solver = GradientSolver(
        rule=SGD(learning_rate=0.1),
        steps=2,
        sampler=FixedSizeSampling(batch_size=4),
        aggregate=aggregate,
    )
    run = federation(solver, prior=PRIOR.broadcast_to((5,)))
    run.run(1)
    assert set(shapes) == {(5, 4, 4)}
    assert [context.step for context in contexts] == [0, 1] * 3
    assert [context.client for context in contexts] == [0, 0, 1, 1, 2, 2]
    assert {(c.size, c.expected_batch_size, c.round) for c in contexts} == {(6, 4.0, 1)}
    # no data gradient and q = cavity: nothing moves
    np.testing.assert_allclose(run.posterior.vector, run.server.prior.vector, atol=1e-12)


def test_spread_prior_is_the_same_sum_when_nothing_is_altered():
    results = []
    for spread in (False, True):
        solver = GradientSolver(rule=SGD(learning_rate=0.01), steps=5, spread_prior=spread)
        results.append(federation(solver).run(3).posterior.vector)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)


@pytest.mark.parametrize("spread", [False, True])
def test_the_objective_is_divided_by_a_number_or_by_that_of_the_records(spread):
    """Six records: a sixth of the objective at six times the rate is the same ascent."""
    results = []
    for divisor, rate in ((1.0, 0.01), (None, 0.06), (6.0, 0.06)):
        solver = GradientSolver(
            rule=SGD(learning_rate=rate), steps=5, objective_divisor=divisor, spread_prior=spread
        )
        results.append(federation(solver).run(3).posterior.vector)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)
    np.testing.assert_array_equal(results[1], results[2])


def problem(shard, start, rng):
    return pvi.LocalProblem(
        model=MODEL,
        shard=shard,
        cavity=PRIOR,
        start=start,
        state={},
        temperature=1.0,
        context=pvi.Context(client=0, round=1, rng=rng),
    )


def test_spread_prior_gives_each_record_its_share():
    """Thesis eq. 4.21: the data part plus 1/n of the prior part, seen by the aggregate hook."""
    seen = []

    def aggregate(gradients, context):
        seen.append(gradients)
        return gradients.sum(axis=-2)

    solver = GradientSolver(
        rule=SGD(learning_rate=0.1), steps=1, spread_prior=True, aggregate=aggregate
    )
    start = MeanFieldGaussian.from_mean_variance([0.2, 0.1], [0.5, 0.5])
    shard = shards()[0]
    solver.solve(problem(shard, start, np.random.default_rng(0)))
    x, y = shard.inputs[2], shard.targets[2]
    by_mean = x * (y - x @ [0.2, 0.1]) - np.array([0.2, 0.1]) / 6
    by_log_variance = -0.5 * x**2 * 0.5 + (0.5 - 0.5 * 0.5) / 6
    expected = np.concatenate([by_mean, by_log_variance])
    np.testing.assert_allclose(seen[0][2], expected, rtol=1e-12)


def test_minibatch_gradients_are_unbiased_for_each_sampler():
    """Mean over 20000 repetitions within 6 standard errors in 4 coordinates: below 1e-7."""
    shard, repetitions = shards()[0], 20_000
    start = PRIOR.broadcast_to((repetitions,))
    full = MODEL.gradients(PRIOR, shard).sum(axis=0)
    for sampler in (FixedSizeSampling(batch_size=2), PoissonSampling(sampling_rate=0.4)):
        totals = []

        def aggregate(gradients, context, totals=totals):
            totals.append(pvi.scaled_sum(gradients, context))
            return totals[-1]

        solver = GradientSolver(
            rule=SGD(learning_rate=1e-3), steps=1, sampler=sampler, aggregate=aggregate
        )
        solver.solve(problem(shard, start, np.random.default_rng(8)))
        (total,) = totals
        error = total.std(axis=0) / math.sqrt(repetitions)
        assert (np.abs(total.mean(axis=0) - full) < 6 * error).all()
        assert (error > 1e-4).all()


def test_client_and_server_hooks_and_the_offset():
    shift = MeanFieldGaussian(natural_mean=[0.25, 0.5], precision=[0.0, 0.125])
    contexts = []

    def alter_total(total, context):
        contexts.append((context.clients, context.round))
        return total * shift

    run = federation(alter=alter_total, damping=1.0)
    run.run(3)
    assert contexts == [((0, 1, 2), 1), ((0, 1, 2), 2), ((0, 1, 2), 3)]
    np.testing.assert_allclose(run.server.offset.vector, 3 * shift.vector, atol=1e-12)
    np.testing.assert_allclose(
        run.posterior.vector, (product_of_factors(run) * run.server.offset).vector, atol=1e-12
    )
    before = run.posterior.vector
    pvi.reset_factors(run.server, run.clients)
    np.testing.assert_array_equal(run.posterior.vector, before)
    np.testing.assert_allclose(product_of_factors(run).vector, before, atol=1e-12)
    np.testing.assert_array_equal(run.server.offset.vector, 0)
    factors = [client.factor.vector for client in run.clients]
    np.testing.assert_array_equal(factors[0], factors[2])


def test_a_reset_gives_every_factor_the_same_share():
    """One client of three virtual ones beside a whole one: four factors; solvers keep states."""
    solver = GradientSolver(rule=SGD(learning_rate=0.01), steps=2)
    first, second, _ = shards()
    virtual = Client(0, VirtualShards(model=MODEL, shards=first.partition(3), solver=solver))
    whole = Client(1, WholeShard(model=MODEL, shard=second, solver=solver))
    run = Federation(PRIOR, [virtual, whole], Synchronous(), rng=np.random.default_rng(0))
    run.run(2)
    before = run.posterior.vector
    pvi.reset_factors(run.server, run.clients)
    np.testing.assert_array_equal(run.posterior.vector, before)
    share = (before - PRIOR.vector) / 4
    np.testing.assert_allclose(whole.factor.vector, share, rtol=1e-12)
    np.testing.assert_allclose(virtual.factor.vector, 3 * share, rtol=1e-12)
    for part in virtual.state:
        np.testing.assert_allclose(part.factor.vector, share, rtol=1e-12)
        assert int(part.solver["count"]) == 4
    assert whole.state[0].factor is None


def test_alter_hook_gets_the_damped_change():
    seen = []

    def alter(change, context):
        seen.append((context.client, context.round, change.vector))
        return Alteration(change**0.5)

    shard = shards()[0]
    client = Client(
        0,
        WholeShard(model=MODEL, shard=shard, solver=ExactSolver()),
        damping=0.4,
        alter=alter,
    )
    run = Federation(PRIOR, [client], Synchronous(), rng=np.random.default_rng(0))
    run.run(1)
    full = (MODEL.optimum(PRIOR, shard) / PRIOR).vector
    assert seen[0][:2] == (0, 1)
    np.testing.assert_allclose(seen[0][2], 0.4 * full, rtol=1e-12)
    np.testing.assert_allclose(client.factor.vector, 0.2 * full, rtol=1e-12)


@pytest.mark.parametrize(("strategy", "scale"), [(AveragedShards, 1 / 3), (VirtualShards, 1.0)])
def test_parts_are_altered_before_they_are_combined(strategy, scale):
    one = MeanFieldGaussian(natural_mean=[1.0, 0.0], precision=[1.0, 2.0])
    calls = []

    def alter_part(change, part, context):
        calls.append((part, context.client))
        return one

    pieces = shards()[0].partition(3)
    client = Client(
        0,
        strategy(model=MODEL, shards=pieces, solver=ExactSolver(), alter_part=alter_part),
        damping=0.5,
    )
    run = Federation(PRIOR, [client], Synchronous(), rng=np.random.default_rng(0))
    run.run(1)
    assert calls == [(0, 0), (1, 0), (2, 0)]
    np.testing.assert_allclose(client.factor.vector, 0.5 * 3 * scale * one.vector, rtol=1e-12)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failed_round_leaves_a_federation_that_can_go_on(error):
    """Client 1 fails in round 2; the others' proposals are withdrawn; later rounds succeed."""

    class Fails(ExactSolver):
        def solve(self, problem):
            if problem.context.client == 1 and problem.context.round == 2:
                raise error("out of battery")
            return super().solve(problem)

    run = federation(Fails())
    run.run(1)
    before = run.posterior.vector
    with pytest.raises(error, match="battery"):
        run.run(3)
    np.testing.assert_array_equal(run.posterior.vector, before)
    assert all(client.pending is None for client in run.clients)
    assert len(run.history.round) == 1
    run.run(300)
    exact = MODEL.optimum(PRIOR, Shard.concatenate(shards()))
    assert float(run.posterior.kl(exact)) < 1e-12


def test_divergence_names_the_client_and_the_round():
    solver = GradientSolver(rule=SGD(learning_rate=5.0), steps=200)
    with pytest.raises(ImproperGaussianError, match=r"diverged.*client 0, round 1"):
        federation(solver).run(1)


def test_exact_solver_needs_a_closed_form():
    client = Client(
        0,
        WholeShard(
            model=LogisticRegression(dimension=2),
            shard=Shard(inputs=np.ones((1, 2)), targets=[1.0]),
            solver=ExactSolver(),
        ),
    )
    run = Federation(PRIOR, [client], Synchronous(), rng=np.random.default_rng(0))
    with pytest.raises(
        TypeError, match=r"must have a closed form 'optimum' .*, got LogisticRegression"
    ):
        run.run(1)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"`clients` must be numbered .*, got \[1\]"):
        Federation(
            PRIOR,
            [Client(1, WholeShard(model=MODEL, shard=shards()[0], solver=ExactSolver()))],
            Synchronous(),
            rng=np.random.default_rng(0),
        )
    with pytest.raises(ValueError, match="`rounds` must be at least 1, got 0"):
        federation().run(0)
    with pytest.raises(ValueError, match="`order` must name"):
        federation(schedule=Sequential(order=(0, 0, 1))).run(1)
    with pytest.raises(ValueError, match="`rates` must have 3 entries, got 2"):
        federation(schedule=Asynchronous(rates=(1, 1))).run(1)
    with pytest.raises(ValueError, match="`rates` must be a finite number above 0"):
        Asynchronous(rates=(1.0, 0.0))
    with pytest.raises(TypeError, match=r"`rng` must be .*, got int"):
        Federation(PRIOR, federation().clients, Synchronous(), rng=3)
