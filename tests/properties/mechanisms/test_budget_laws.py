"""On no schedule does a client exceed its budget; costs are worked out again in closed form."""

import math

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation as Relation
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_tools import gaussian_epsilon

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    Budget,
    CentralNoise,
    ParameterPerturbation,
    Scope,
    Setting,
    colluding,
)
from pvi import Asynchronous, ExactSolver, LinearRegression, MeanFieldGaussian, Sequential, Shard
from pvi import Synchronous as AtOnce

DELTA = 1e-5
sigmas = st.floats(0.3, 50.0)
requests = st.lists(st.tuples(st.integers(0, 2), sigmas, st.integers(1, 5)), max_size=25)


@settings(max_examples=60)
@given(requests, st.floats(0.2, 8.0), st.booleans(), st.sampled_from(list(Relation)))
def test_no_sequence_of_requests_exceeds_the_budget(asked, target, adaptive, relation):
    budget = Budget(
        target_epsilon=target, delta=DELTA, scope=Scope(relation=relation), adaptive=adaptive
    )
    factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    squares = {0: 0.0, 1: 0.0, 2: 0.0}
    for client, sigma, count in asked:
        event = dpa.GaussianDpEvent(sigma)
        more = squares[client] + count * (factor / sigma) ** 2
        fits = gaussian_epsilon(math.sqrt(more), DELTA) <= target
        if budget.admits(client, event, count):
            budget.spend(client, event, count)
            squares[client] = more
            assert fits or math.isclose(gaussian_epsilon(math.sqrt(more), DELTA), target)
        elif not adaptive:  # tight: what fits is not refused (but for rounding)
            assert not fits or math.isclose(
                gaussian_epsilon(math.sqrt(more), DELTA), target, rel_tol=1e-9
            )
        assert budget.epsilon_upper(client) <= target
    for client, square in squares.items():
        if square:
            assert gaussian_epsilon(math.sqrt(square), DELTA) <= target * (1 + 1e-9)
            assert budget.epsilon_upper(client) >= gaussian_epsilon(math.sqrt(square), DELTA) - 1e-9


@settings(max_examples=40)
@given(st.data())
def test_no_schedule_exceeds_the_budget(data):
    """Any mix of schedule, view, shares and limits; the cost again from the transcript's groups."""
    clients = data.draw(st.integers(1, 4))
    view = data.draw(st.sampled_from([MESSAGES, AGGREGATE] + [colluding(1)] * (clients > 1)))
    sigma = data.draw(st.floats(0.5, 20.0))
    joint = data.draw(st.booleans())
    schedules = [AtOnce()]  # colluding(1) needs groups of at least two
    if view.kind != "colluding":
        schedules += [
            Sequential(shuffle=True),
            Asynchronous(rates=tuple(range(1, clients + 1)), updates=3),
        ]
    schedule = data.draw(st.sampled_from(schedules))
    limits = {m: (data.draw(st.floats(0.2, 30.0)), DELTA) for m in range(clients)}
    budget = Budget(
        target_epsilon=data.draw(st.floats(0.2, 30.0)),
        delta=DELTA,
        limits=limits,
        scope=Scope(relation=Relation.REPLACE_ONE, view=view),
    )
    run = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=sigma, trusted_aggregator=joint, memory="forgets"
    ).build(
        Setting(
            model=LinearRegression(dimension=1, noise_std=1.0),
            prior=MeanFieldGaussian(natural_mean=[0.0], precision=[1e9]),
            solver=ExactSolver(),
            schedule=schedule,
        ),
        [Shard(inputs=[[1.0]], targets=[0.0])] * clients,
        np.random.default_rng(0),
        budget=budget,
    )
    run.run(data.draw(st.integers(1, 12)))
    groups = {}
    for release in run.transcript:
        if release.sender >= 0:
            groups.setdefault(release.group, []).append(release.sender)
    share = sigma / (math.sqrt(clients) if joint else 1.0)
    for client in range(clients):
        square = 0.0
        for members in groups.values():
            if client in members:
                hidden = 1 if view is MESSAGES else len(members) - view.colluders
                square += (2.0 / share) ** 2 / hidden
        if square:
            cost = gaussian_epsilon(math.sqrt(square), DELTA)
            assert cost <= budget.limit(client)[0] * (1 + 1e-9)


def test_a_server_with_a_budget_stops_too():
    budget = Budget(
        target_epsilon=2.0,
        delta=DELTA,
        scope=Scope(relation=Relation.REPLACE_SPECIAL, unit="client", view=AGGREGATE),
    )
    run = CentralNoise(clip_norm=1.0, noise_multiplier=5.0).build(
        Setting(
            model=LinearRegression(dimension=1, noise_std=1.0),
            prior=MeanFieldGaussian(natural_mean=[0.0], precision=[1e9]),
            solver=ExactSolver(),
        ),
        [Shard(inputs=[[1.0]], targets=[0.0])] * 3,
        np.random.default_rng(0),
        budget=budget,
    )
    run.run(50)
    rounds = len({release.group for release in run.transcript})
    assert gaussian_epsilon(math.sqrt(rounds) / 5.0, DELTA) <= 2.0
    assert gaussian_epsilon(math.sqrt(rounds + 1) / 5.0, DELTA) > 2.0
