"""What pages are told of a run: each thing once, however often it was told."""

import pytest

from audits.dashboard.store import Store
from audits.dashboard.watched import Watch, Watched
from mechanisms.progress import (
    ClientStatus,
    EpsilonSpent,
    HeldOutScore,
    RoundBegan,
    RoundEnded,
    RunBegan,
    RunEnded,
    Traffic,
    to_json,
)

BEGAN = RunBegan(name="a", clients=2, rounds=3)


def round_of(number, seconds=1.0):
    return [
        RoundBegan(round=number),
        RoundEnded(round=number, clients=(0, 1), change=0.5 / number, seconds=seconds, note="n"),
        HeldOutScore(round=number, records=9, measure="rmse", value=2.0 / number),
        *(
            Traffic(round=number, client=m, sent=10 * number, received=1, kind="payload")
            for m in range(2)
        ),
        *(
            EpsilonSpent(round=number, client=m, scope="s", delta=1e-5, spent=number + m / 10)
            for m in range(2)
        ),
    ]


def folded(events):
    watched = Watched()
    for event in events:
        watched.add(event)
    return watched


def test_a_whole_run():
    found = folded([BEGAN, *round_of(1), *round_of(2), *round_of(3), RunEnded(round=3)])
    assert (found.clients, found.rounds, found.round, found.ended) == (2, 3, 3, True)
    assert found.change == {1: 0.5, 2: 0.25, 3: 0.5 / 3}
    assert found.scores == {1: 2.0, 2: 1.0, 3: 2.0 / 3}
    assert found.traffic[1].total == (60, 3)
    assert found.spent["s"][1].spent == 3.1
    assert found.worst == {"s": {1: 1.1, 2: 2.1, 3: 3.1}}
    assert sum(found.seconds.values()) == 3.0


@pytest.mark.parametrize("killed_after", range(1, 16))
def test_a_run_that_was_killed_amounts_to_the_same(killed_after):
    """Killed within its second or third round; the last one that was made is told again."""
    whole = [BEGAN, *round_of(1), *round_of(2), *round_of(3), RunEnded(round=3)]
    cut = whole[: len(round_of(1)) + 1 + killed_after]
    made = max((e.round for e in cut if isinstance(e, RoundEnded)), default=0)
    again = [RunBegan(name="a", clients=2, rounds=3, round=made), *round_of(made, None)[1:]]
    rest = [e for number in range(made + 1, 4) for e in round_of(number)]
    assert folded([*cut, *again, *rest, RunEnded(round=3)]) == folded(whole)


def test_no_proof_is_no_zero():
    found = folded([BEGAN, EpsilonSpent(round=1, client=0, scope="s", delta=0.1, spent=None)])
    assert found.worst == {"s": {}}
    assert found.spent["s"][0].spent is None


def test_status_is_the_last_that_was_said():
    found = folded([ClientStatus(client=0, status=s) for s in ("online", "pending", "retried")])
    assert found.status == {0: "retried"}


def test_events_are_read_once_and_a_removed_run_is_forgotten(tmp_path, monkeypatch):
    store = Store(tmp_path / "store.sqlite")
    run = store.add(name="a", experiment="", plan=[])
    watch = Watch(store)
    lines = [to_json(event) for event in [BEGAN, *round_of(1)]]
    store.tell(run, lines, 9, progressed=True)
    with watch.seen(run) as watched:
        assert watched == folded([BEGAN, *round_of(1)])
    store.tell(run, [to_json(e) for e in round_of(2)], 10, progressed=True)
    with watch.seen(run) as watched:
        assert watched == folded([BEGAN, *round_of(1), *round_of(2)])
    watch.forget(run)
    store.remove(run)
    with watch.seen(run) as watched:
        assert watched == Watched()
    store.close()
