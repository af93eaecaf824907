"""Messages that are lost, delayed, repeated and overtaken leave nothing wrong behind.

The network is a bag from which the machine delivers any message at any time, as often as it likes,
or loses it. After every step, with the machine's own ledger as the oracle:

- the posterior is exactly prior × the changes of all updates whose first word to reach the server
  was the update itself (not its withdrawal), each counted once;
- a client's factor is exactly the product of its own such changes up to the last that it has heard
  of, so posterior = prior × committed factors × changes applied but not yet heard of.

At the end every client asks again until it knows; then posterior = prior × committed factors.
Changes are small integers, so that "exactly" means bit for bit.
"""

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pvi import (
    PROTOCOL,
    Acknowledgement,
    Client,
    ExactSolver,
    Federation,
    LinearRegression,
    MeanFieldGaussian,
    PartState,
    ProtocolError,
    Revision,
    Sequential,
    Server,
    Shard,
    Snapshot,
    Update,
    WholeShard,
    Wish,
    Withdrawal,
)

CLIENTS = 3
NUMBER = st.integers(0, CLIENTS - 1)
PICK = st.integers(0, 10_000)
PRIOR = MeanFieldGaussian(natural_mean=[5.0], precision=[1000.0])
MODEL = LinearRegression(dimension=1, noise_std=1.0)


class IntegerStrategy:
    """Proposes 1, 2, 3, … so that every update is told apart and sums are exact."""

    model = MODEL
    size = 1

    def __init__(self, number):
        self.next = 1000 ** (number % 2) * (number + 1)

    def initial_state(self):
        return (PartState(),)

    def propose(self, posterior, factor, state, damping, context):
        self.next += 1
        change = MeanFieldGaussian(natural_mean=[float(self.next)], precision=[1.0])
        return Wish(change, (PartState(solver={"proposals": np.array(float(self.next))}),))


class Network(RuleBasedStateMachine):
    server_class = Server
    client_class = Client

    def __init__(self):
        super().__init__()
        self.server = self.server_class(PRIOR, CLIENTS)
        self.clients = [self.client_class(m, IntegerStrategy(m)) for m in range(CLIENTS)]
        self.bag = []
        self.fate = {}  # (client, sequence) -> the change if applied, None if voided

    @rule(m=NUMBER)
    def ask(self, m):
        self.bag.append(self.server.snapshot(m))

    @precondition(lambda self: self.bag)
    @rule(pick=PICK, keep=st.booleans())
    def deliver(self, pick, keep):
        index = pick % len(self.bag)
        message = self.bag[index] if keep else self.bag.pop(index)
        self.handle(message)

    @precondition(lambda self: self.bag)
    @rule(pick=PICK)
    def lose(self, pick):
        self.bag.pop(pick % len(self.bag))

    @rule(m=NUMBER)
    def retry(self, m):
        if self.clients[m].pending is not None:
            self.bag.append(self.clients[m].retry())

    @rule(m=NUMBER)
    def withdraw(self, m):
        if self.clients[m].pending is not None:
            self.bag.append(self.clients[m].withdraw())

    def handle(self, message):
        match message:
            case Snapshot():
                try:
                    self.bag.append(self.clients[message.client].propose(message, RNG))
                except ProtocolError:
                    return
            case Update():
                self.fate.setdefault((message.client, message.sequence), message.change)
                self.bag.extend(a for a in self.server.receive(message) if a is not None)
            case Withdrawal():
                self.fate.setdefault((message.client, message.sequence), None)
                answer = self.server.withdraw(message)
                if answer is not None:
                    self.bag.append(answer)
            case Acknowledgement():
                self.clients[message.client].acknowledge(message)

    def applied(self, client=None, until=10**9):
        return [
            change.vector
            for (number, sequence), change in self.fate.items()
            if change is not None and client in (None, number) and sequence <= until
        ]

    @invariant()
    def books_balance(self):
        expected = PRIOR.vector + sum(self.applied())
        np.testing.assert_array_equal(self.server.posterior.vector, expected)
        for m, client in enumerate(self.clients):
            own = sum(self.applied(m, client.sequence), start=np.zeros(2))
            np.testing.assert_array_equal(client.factor.vector, own)

    def teardown(self):
        for client in self.clients:
            if client.pending is not None:
                self.handle(client.retry())
                answers = [a for a in self.bag if isinstance(a, Acknowledgement)]
                for answer in answers:
                    if answer.client == client.number:
                        client.acknowledge(answer)
            assert client.pending is None
        product = PRIOR.vector + sum(client.factor.vector for client in self.clients)
        np.testing.assert_array_equal(self.server.posterior.vector, product)


RNG = np.random.default_rng(0)
TestNetwork = Network.TestCase
TestNetwork.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


class Bytes(list):
    """A bag that holds what the codec makes of messages; they come out as what it makes of that."""

    def append(self, message):
        super().append(PROTOCOL.encode(message, run="a run"))

    def extend(self, messages):
        for message in messages:
            self.append(message)

    def __getitem__(self, index):
        return PROTOCOL.decode(super().__getitem__(index)).message

    def __iter__(self):
        return (PROTOCOL.decode(content).message for content in super().__iter__())

    def pop(self, index):
        return PROTOCOL.decode(super().pop(index)).message


class NetworkOfBytes(Network):
    """The same over the codec."""

    def __init__(self):
        super().__init__()
        self.bag = Bytes()


TestNetworkOfBytes = NetworkOfBytes.TestCase
TestNetworkOfBytes.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("kind", ["adopt", "reset"])
def test_a_revision_is_followed_once_and_in_its_turn(kind):
    """Doubled, late, early, and between a proposal and its end."""
    server, client = Server(PRIOR, 1), Client(0, IntegerStrategy(0))
    share = MeanFieldGaussian(natural_mean=[7.0], precision=[2.0])

    def revision(number, sequence):
        return Revision(client=0, number=number, sequence=sequence, kind=kind, share=share)

    assert client.revise(revision(1, 0))
    assert not client.revise(revision(1, 0))
    np.testing.assert_array_equal(client.factor.vector, share.vector)
    update = client.propose(server.snapshot(0), RNG)
    for wrong in (revision(3, 0), revision(2, 1), revision(2, 0)):
        with pytest.raises(ProtocolError):
            client.revise(wrong)
    client.acknowledge(server.receive(update)[0])
    with pytest.raises(ProtocolError, match="after update 0"):
        client.revise(revision(2, 0))
    assert client.revise(revision(2, 1))
    kept = share if kind == "reset" else share * update.change * share
    np.testing.assert_array_equal(client.factor.vector, kept.vector)
    wide = MeanFieldGaussian.unit(2)
    with pytest.raises(ProtocolError, match="2 coordinates"):
        client.revise(Revision(client=0, number=3, sequence=1, kind=kind, share=wide))


class AppliesRepeats(Server):
    """A server that does not remember what it has applied."""

    def receive(self, *updates, rng=None):
        for update in updates:
            self.resolved[update.client] = update.sequence - 1
        return super().receive(*updates, rng=rng)


class CommitsAtOnce(Client):
    """A client that takes its update for applied as soon as it is sent."""

    def propose(self, snapshot, rng):
        update = super().propose(snapshot, rng)
        self.factor = self.pending.factor
        return update


class GivesUpAlone(Client):
    """A client that forgets an unanswered update without asking the server."""

    def propose(self, snapshot, rng):
        if self.pending is not None:
            self.sequence = self.pending.update.sequence
            self.pending = None
        return super().propose(snapshot, rng)


@pytest.mark.parametrize(
    ("part", "flawed"),
    [
        ("server_class", AppliesRepeats),
        ("client_class", CommitsAtOnce),
        ("client_class", GivesUpAlone),
    ],
)
def test_the_machine_convicts_flawed_parts(part, flawed):
    machine = type("Flawed", (Network,), {part: flawed})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=150,
                stateful_step_count=40,
                deadline=None,
                phases=[Phase.generate],  # finding the flaw is enough, a shortest example is not
                report_multiple_bugs=False,
            ),
        )


def linear_shards(rng, sizes):
    shards = []
    for size in sizes:
        inputs = rng.normal(size=(size, 2)) + np.array([1.0, 0.5])
        shards.append(Shard(inputs=inputs, targets=inputs @ [1.0, -1.0] + rng.normal(size=size)))
    return shards


@pytest.mark.parametrize("seed", range(6))
def test_a_lossy_run_converges_to_the_same_fixed_point(seed):
    """Half of all messages get lost, a fifth are repeated, and any may overtake any other.

    A run of 4000 network events under these conditions must end where a faultless run ends, which
    is the exact mean-field posterior, computed here by the normal equations.
    """
    rng = np.random.default_rng(seed)
    shards = linear_shards(rng, (8, 20, 5))
    model = LinearRegression(dimension=2, noise_std=1.0)
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))

    def make_clients():
        return [
            Client(m, WholeShard(model=model, shard=shard, solver=ExactSolver()), damping=0.5)
            for m, shard in enumerate(shards)
        ]

    server, clients, bag = Server(prior, 3), make_clients(), []
    for _ in range(4000):
        m = int(rng.integers(3))
        client = clients[m]
        if client.pending is None:
            bag.append(server.snapshot(m))
        else:
            bag.append(client.retry() if rng.random() < 0.8 else client.withdraw())
        message = bag.pop(int(rng.integers(len(bag))))
        if rng.random() < 0.2:
            bag.append(message)
        if rng.random() < 0.5:
            continue
        match message:
            case Snapshot():
                try:
                    bag.append(clients[message.client].propose(message, rng))
                except ProtocolError:
                    continue
            case Update():
                bag.extend(a for a in server.receive(message) if a is not None)
            case Withdrawal():
                bag.extend(a for a in [server.withdraw(message)] if a is not None)
            case Acknowledgement():
                clients[message.client].acknowledge(message)
        bag = bag[-30:]
    for client in clients:
        if client.pending is not None:
            client.acknowledge(server.receive(client.retry())[0])
    product = prior
    for client in clients:
        product = product * client.factor
    np.testing.assert_allclose(server.posterior.vector, product.vector, rtol=0, atol=1e-10)

    pooled = Shard.concatenate(shards)
    precision = np.eye(2) + pooled.inputs.T @ pooled.inputs
    mean = np.linalg.solve(precision, pooled.inputs.T @ pooled.targets)
    exact = MeanFieldGaussian.from_mean_variance(mean, 1 / np.diag(precision))
    assert float(server.posterior.kl(exact)) < 1e-12
    faultless = Federation(prior, make_clients(), Sequential(), rng=rng).run(400).posterior
    assert float(server.posterior.kl(faultless)) < 1e-12
