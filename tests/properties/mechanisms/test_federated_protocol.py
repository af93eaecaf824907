"""Whatever a network does with sealed bytes, and whoever dies: nothing is doubled or overspent."""

import dataclasses

import numpy as np
import pytest
from federated_tools import SEED, Owner, optimisation, perturbation, shards

from mechanisms import CentralNoise
from mechanisms.federated import Coordinator, NobodyAnswersError
from mechanisms.federated.messages import bundle
from pvi import Acknowledgement, Asynchronous, MeanFieldGaussian, Sequential, Snapshot

CLIENTS, ROUNDS = 3, 4
LIMIT = 9.0


def central(memory):
    mechanism = CentralNoise(
        clip_norm=1.0, noise_multiplier=4.0, memory=memory, precision_floor=1.0
    )
    return dataclasses.replace(perturbation(rounds=ROUNDS), mechanism=mechanism)


JOINT = {"trusted_aggregator": True, "precision_floor": 1.0}
EXPERIMENTS = {
    "optimisation": optimisation(rounds=ROUNDS),
    "perturbation": perturbation(rounds=ROUNDS),
    "sequential": perturbation(rounds=ROUNDS, schedule=Sequential(shuffle=True)),
    "stale": optimisation(
        rounds=ROUNDS, schedule=Asynchronous(rates=(1.0, 2.0, 3.0), updates=3, stale=True)
    ),
    "joint": perturbation(rounds=ROUNDS, mechanism=JOINT | {"memory": "forgets"}),
    "joint, resets": perturbation(rounds=ROUNDS, mechanism=JOINT | {"memory": "resets"}),
    "central": central("forgets"),
    "central, resets": central("resets"),
}


class Died(BaseException):
    """The coordinator's process has ended, in the middle of an exchange."""


class Hostile:
    """A network with an adversary in it, and holders that are killed."""

    def __init__(self, owners, rng, strange):
        self.owners, self.rng = owners, rng
        self.seen = {m: list(strange[m]) for m in range(CLIENTS)}
        self.mischief = 0
        self.answers = {m: [] for m in range(CLIENTS)}

    def happens(self, chance=0.15):
        found = self.rng.random() < chance
        self.mischief += found
        return found

    def deliver(self, client, content):
        """To the holder, which may die before it has answered, or after."""
        if self.happens(0.1):
            self.owners[client].start()
        found = self.owners[client].holder.answer(content)
        if self.happens(0.1):
            self.owners[client].start()
        self.answers[client].append(found)
        return found

    def exchange(self, asked):
        found = {}
        for client in self.rng.permutation(list(asked)):
            client = int(client)
            seen = self.seen[client]
            seen.append(asked[client])
            while self.happens():  # anything that was ever said, again
                self.deliver(client, seen[self.rng.integers(len(seen))])
            if self.happens():
                continue
            answer = self.deliver(client, asked[client])
            if self.happens():
                answer = self.deliver(client, asked[client])
            if self.happens():
                answers = self.answers[int(self.rng.integers(CLIENTS))]
                answer = answers[self.rng.integers(len(answers))] if answers else b""
            if not self.happens():
                found[client] = answer
        if self.happens(0.08):
            raise Died
        return found


def another_run(own, experiment):
    """Sealed questions of another run that this holder takes part in."""
    own.engage(experiment, run="another run")
    prior = experiment.setting().prior
    said = [
        Snapshot(client=own.number, round=9, posterior=prior, resolved=0, applied=False),
        Acknowledgement(client=own.number, sequence=1, applied=True),
    ]
    return [own.seal.ask(bundle([message], run="another run")) for message in said]


def run_to_its_end(experiment, own, courier, file):
    """Starts coordinators until one of them has made the run."""
    seals = {m: one.seal for m, one in enumerate(own)}
    for _ in range(300):
        coordinator = Coordinator(
            experiment,
            seals,
            courier,
            rng=np.random.default_rng(SEED),
            checkpoint=file,
            attempts=4,
            run="the run",
        )
        try:
            coordinator.run()
        except (Died, NobodyAnswersError):
            continue
        return coordinator
    raise AssertionError("the run was never made")


def seeds(count, slow):
    return [
        pytest.param(seed, marks=[pytest.mark.slow] if seed >= count else [])
        for seed in range(slow)
    ]


@pytest.mark.parametrize("seed", seeds(1, 4))
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_hostile_network_and_dying_processes(tmp_path, name, seed):
    experiment, rng = EXPERIMENTS[name], np.random.default_rng([seed, len(name)])
    view = "aggregate" if name not in ("optimisation", "perturbation", "stale") else "messages"
    own = [
        Owner(
            tmp_path / str(m),
            m,
            shards()[m],
            mechanisms=["dp_optimisation", "parameter_perturbation", "central_noise"],
            budget={"epsilon": LIMIT, "delta": 1e-5, "view": view},
        )
        for m in range(CLIENTS)
    ]
    strange = [another_run(one, experiment) for one in own]
    courier = Hostile(own, rng, strange)
    coordinator = run_to_its_end(experiment, own, courier, tmp_path / "checkpoint")
    server = coordinator.server
    assert coordinator.round == ROUNDS
    # Quietly now: everyone hears of its last update.
    courier.happens = lambda chance=0.0: False
    coordinator.run()
    parts = []
    for m, one in enumerate(own):
        client = one.holder._engagement("the run").client
        assert client.sequence in (server.resolved[m], server.resolved[m] + 1)
        assert one.holder.budget.epsilon_upper(0) <= LIMIT
        parts.append(client.factor)
        # Each update that the server has seen was paid for, and at most once where nothing died.
        assert server.resolved[m] <= one.paid
    product = server.prior * server.offset
    for factor in parts:
        product = product * factor
    if experiment.mechanism.server_rule(experiment.layout).joint:
        assert_sums_make_the_posterior(coordinator, parts)
    else:
        assert np.allclose(product.vector, server.posterior.vector, rtol=1e-12, atol=1e-10)


def assert_sums_make_the_posterior(coordinator, parts):
    """Where factors forget a joint noise, q is the prior times the released sums."""
    total = coordinator.server.prior
    for release in coordinator.transcript:
        if release.sender == -1:
            total = total * MeanFieldGaussian.from_vector(release.value)
    assert np.allclose(total.vector, coordinator.posterior.vector, rtol=1e-12, atol=1e-10)
    assert all(np.isfinite(factor.vector).all() for factor in parts)


def test_the_hostile_network_is_hostile(tmp_path):
    """The test above would be none if its network only carried."""
    own = [Owner(tmp_path / str(m), m, shards()[m]) for m in range(CLIENTS)]
    experiment = EXPERIMENTS["optimisation"]
    courier = Hostile(own, np.random.default_rng(0), [another_run(one, experiment) for one in own])
    run_to_its_end(experiment, own, courier, tmp_path / "checkpoint")
    assert sum(one.paid for one in own) > CLIENTS * ROUNDS  # the other run's snapshot was heard
    assert courier.mischief > 20
