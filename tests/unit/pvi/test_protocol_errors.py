"""Clients and servers, one message at a time."""

import numpy as np
import pytest

from pvi import (
    Acknowledgement,
    Alteration,
    Client,
    ExactSolver,
    ImproperGaussianError,
    LinearRegression,
    MeanFieldGaussian,
    ProtocolError,
    Server,
    Shard,
    StaleSnapshotError,
    Update,
    WholeShard,
    Withdrawal,
)

RNG = np.random.default_rng(0)
PRIOR = MeanFieldGaussian.from_mean_variance([0.0], [1.0])


def make_client(number=0, **options):
    strategy = WholeShard(
        model=LinearRegression(dimension=1, noise_std=1.0),
        shard=Shard(inputs=[[1.0], [1.0]], targets=[2.0, 4.0]),
        solver=ExactSolver(),
    )
    return Client(number, strategy, **options)


def change(natural_mean, precision):
    return MeanFieldGaussian(natural_mean=[natural_mean], precision=[precision])


def test_a_factor_changes_only_upon_acknowledgement():
    server, client = Server(PRIOR, 1), make_client()
    update = client.propose(server.snapshot(0), RNG)
    np.testing.assert_array_equal(update.change.vector, [6.0, 2.0])
    np.testing.assert_array_equal(client.factor.vector, [0.0, 0.0])
    (answer,) = server.receive(update)
    np.testing.assert_array_equal(client.factor.vector, [0.0, 0.0])
    assert client.acknowledge(answer)
    np.testing.assert_array_equal(client.factor.vector, [6.0, 2.0])
    np.testing.assert_array_equal(server.posterior.vector, [6.0, 3.0])


def test_damping_is_the_clients_and_both_sides_see_the_same():
    server, client = Server(PRIOR, 1), make_client(damping=0.25)
    update = client.propose(server.snapshot(0), RNG)
    client.acknowledge(server.receive(update)[0])
    np.testing.assert_array_equal(client.factor.vector, [1.5, 0.5])
    np.testing.assert_array_equal(server.posterior.vector, [1.5, 1.5])


def test_no_second_proposal_while_one_is_unresolved():
    server, client = Server(PRIOR, 1), make_client()
    client.propose(server.snapshot(0), RNG)
    with pytest.raises(ProtocolError, match=r"client 0 still waits .* update 1"):
        client.propose(server.snapshot(0), RNG)


def test_a_snapshot_replaces_a_lost_acknowledgement():
    server, client = Server(PRIOR, 1), make_client()
    server.receive(client.propose(server.snapshot(0), RNG))
    second = client.propose(server.snapshot(0), RNG)
    assert second.sequence == 2
    np.testing.assert_array_equal(client.factor.vector, [6.0, 2.0])
    np.testing.assert_allclose(second.change.vector, [0.0, 0.0], atol=1e-12)


def test_a_stale_snapshot_is_refused():
    server, client = Server(PRIOR, 1), make_client()
    old = server.snapshot(0)
    client.acknowledge(server.receive(client.propose(old, RNG))[0])
    with pytest.raises(StaleSnapshotError, match="ends at its update 0, but update 1"):
        client.propose(old, RNG)


def test_a_client_restored_from_an_older_save_is_noticed():
    server, client = Server(PRIOR, 1), make_client()
    client.acknowledge(server.receive(client.propose(server.snapshot(0), RNG))[0])
    with pytest.raises(ProtocolError, match="older save"):
        make_client().propose(server.snapshot(0), RNG)


def test_withdrawal_before_and_after_application():
    server, client = Server(PRIOR, 1), make_client()
    update = client.propose(server.snapshot(0), RNG)
    answer = server.withdraw(client.withdraw())
    assert answer == Acknowledgement(client=0, sequence=1, applied=False)
    client.acknowledge(answer)
    np.testing.assert_array_equal(client.factor.vector, [0.0, 0.0])
    assert server.receive(update) == (answer,)  # arrives late: void for good
    np.testing.assert_array_equal(server.posterior.vector, PRIOR.vector)

    update = client.propose(server.snapshot(0), RNG)
    server.receive(update)
    answer = server.withdraw(client.withdraw())
    assert answer == Acknowledgement(client=0, sequence=2, applied=True)
    client.acknowledge(answer)
    np.testing.assert_array_equal(client.factor.vector, [6.0, 2.0])


def test_words_on_other_updates_change_nothing():
    server, client = Server(PRIOR, 1), make_client()
    assert not client.acknowledge(Acknowledgement(client=0, sequence=1, applied=True))
    client.propose(server.snapshot(0), RNG)
    assert not client.acknowledge(Acknowledgement(client=0, sequence=7, applied=True))
    assert client.pending is not None


def test_messages_that_cannot_be():
    server, client = Server(PRIOR, 2), make_client()
    with pytest.raises(ProtocolError, match="for client 1 reached client 0"):
        client.propose(server.snapshot(1), RNG)
    with pytest.raises(ProtocolError, match="client 5 is unknown"):
        server.snapshot(5)
    with pytest.raises(ProtocolError, match="client 1 sent update 2 while update 1"):
        server.receive(Update(client=1, round=0, sequence=2, change=change(0, 0)))
    with pytest.raises(ProtocolError, match="withdrew update 3"):
        server.withdraw(Withdrawal(client=1, sequence=3))
    for method in (client.retry, client.withdraw):
        with pytest.raises(ProtocolError, match="no unresolved"):
            method()


def test_improper_posteriors_name_client_and_round():
    server = Server(PRIOR, 3)
    server.round = 17
    bad = Update(client=2, round=17, sequence=1, change=change(0.0, -1.5))
    good = Update(client=1, round=17, sequence=1, change=change(0.0, 0.1))
    with pytest.raises(ImproperGaussianError, match="client 2, round 17") as caught:
        server.receive(good, bad)
    assert (caught.value.client, caught.value.round) == (2, 17)
    np.testing.assert_array_equal(server.posterior.vector, PRIOR.vector)
    assert server.resolved == [0, 0, 0]


def test_improper_by_conspiracy_names_all():
    server = Server(PRIOR, 2)
    updates = [Update(client=m, round=0, sequence=1, change=change(0, -0.6)) for m in range(2)]
    with pytest.raises(ImproperGaussianError, match=r"clients \[0, 1\] together"):
        server.receive(*updates)


def test_improper_updates_can_be_refused_instead():
    server = Server(PRIOR, 1, on_improper="refuse")
    (answer,) = server.receive(Update(client=0, round=0, sequence=1, change=change(0, -2)))
    assert answer == Acknowledgement(client=0, sequence=1, applied=False)
    np.testing.assert_array_equal(server.posterior.vector, PRIOR.vector)


def test_an_improper_factor_is_fine():
    """A client may take back more than its factor holds, as long as q stays a distribution."""
    client = make_client(factor=change(0.0, -0.5))
    server = Server(PRIOR, 1)
    server.posterior = PRIOR * client.factor
    update = client.propose(server.snapshot(0), RNG)
    np.testing.assert_array_equal(update.change.vector, [6.0, 2.5])


def test_what_is_kept_may_differ_from_what_is_sent():
    client = make_client(alter=lambda c, _: Alteration(sent=c**2, kept=c))
    server = Server(PRIOR, 1)
    update = client.propose(server.snapshot(0), RNG)
    np.testing.assert_array_equal(update.change.vector, [12.0, 4.0])
    client.acknowledge(server.receive(update)[0])
    np.testing.assert_array_equal(client.factor.vector, [6.0, 2.0])


@pytest.mark.parametrize("damping", [0.0, 1.1, -0.5, float("nan")])
def test_damping_is_checked(damping):
    with pytest.raises(ValueError, match="damping"):
        make_client(damping=damping)


def update(change, sequence=1, client=0, round=0):  # noqa: A002
    return Update(client=client, round=round, sequence=sequence, change=change)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_updates_of_another_shape_are_refused(batch):
    """None is repeated over coordinates, and none gives the posterior other axes."""
    prior = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2)).broadcast_to(batch)
    server = Server(prior, 1)
    before = server.posterior
    shapes = {(1,), (3,), (2, 2), (4, 2), (1, 2), (3, 2), (2, 3, 2), (5, 2, 3, 2), (2, 3, 1)}
    fit = {(*axes, 2) for axes in ((), (1,), batch, (1, *batch[1:]), batch[1:])}
    for shape in shapes - fit:
        factor = MeanFieldGaussian(natural_mean=np.ones(shape), precision=np.ones(shape))
        with pytest.raises(ProtocolError, match="has the shape"):
            server.receive(update(factor))
    assert server.posterior is before
    server.receive(update(MeanFieldGaussian.unit(2)), update(MeanFieldGaussian.unit(2)))
    server.receive(update(MeanFieldGaussian.unit(2, batch), sequence=2))
    assert server.posterior.batch_shape == batch


def test_an_alter_hook_cannot_reshape_the_posterior():
    server = Server(PRIOR, 1, alter=lambda total, context: total.broadcast_to((7,)))
    with pytest.raises(ProtocolError, match="`alter` gave has the shape"):
        server.receive(update(change(1.0, 1.0)), rng=RNG)
    assert server.posterior is PRIOR


def test_one_number_stands_for_one_content():
    server = Server(PRIOR, 2)
    first, again, other = (update(change(mean, 1.0)) for mean in (1.0, 1.0, 2.0))
    with pytest.raises(ProtocolError, match="update 1 twice, with two contents"):
        server.receive(first, other)
    assert server.resolved == [0, 0]
    assert server.receive(first, again)[0].applied
    assert server.receive(again)[0].applied
    for different in (other, update(change(1.0, 1.0), round=5), update(change(1.0, 1.5))):
        with pytest.raises(ProtocolError, match="client 0 sent update 1 twice"):
            server.receive(different)
    assert server.posterior.natural_mean[0] == 1.0
    # A withdrawn update was never seen, so nothing is known of its content.
    server.withdraw(Withdrawal(client=0, sequence=2))
    assert not server.receive(update(change(3.0, 1.0), sequence=2))[0].applied


def test_nobody_can_overwrite_a_posterior_that_was_handed_out():
    server, client = Server(PRIOR, 1), make_client()
    client.acknowledge(server.receive(client.propose(server.snapshot(0), RNG))[0])
    handed_out = (server.posterior, server.prior, server.snapshot(0).posterior, client.factor)
    for gaussian in handed_out:
        for array in (gaussian.natural_mean, gaussian.precision):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 7.0
