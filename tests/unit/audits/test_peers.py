"""Peers: what they are asked, what becomes of an answer, and processes that hang or die."""

import importlib.util
import json
import math
import sys
import zipfile

import dp_accounting as dpa
import mpmath
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, MixtureOfGaussiansDpEvent

from accountants import BallsInBinsDpEvent, Bounds, Certificate, known_answers
from audits.peers import asked, asking, environment
from audits.peers.peer import PEERS, Peer, named
from audits.peers.question import question
from audits.peers.reasons import REASONS
from audits.peers.scoreboard import WORDS, Scoreboard, judge, known

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
EVENTS = {
    "gaussian": dpa.GaussianDpEvent(1.5),
    "poisson_gaussian": dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(1.5)),
    "fixed_size_gaussian": dpa.SampledWithoutReplacementDpEvent(100, 7, dpa.GaussianDpEvent(1.5)),
    "laplace": dpa.LaplaceDpEvent(2.0),
    "discrete_laplace": DiscreteLaplaceDpEvent(0.5, 2),
    "randomized_response": dpa.RandomizedResponseDpEvent(0.3, 4),
    "mixture_of_gaussians": MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.9, 0.1]),
    "balls_in_bins": BallsInBinsDpEvent(10, dpa.GaussianDpEvent(1.5)),
}


@pytest.mark.parametrize("kind", EVENTS)
def test_a_question_says_all_that_the_event_says(kind):
    event = EVENTS[kind]
    (release,) = question(dpa.SelfComposedDpEvent(event, 3), REPLACE, 1e-6)["releases"]
    assert release["kind"] == kind
    assert release["count"] == 3
    json.dumps(release)
    if kind != "balls_in_bins":  # dp-accounting has no word for it
        assert asked._event(release) == event


def test_equal_releases_in_a_row_are_counted():
    step = EVENTS["poisson_gaussian"]
    twice = dpa.SelfComposedDpEvent(dpa.ComposedDpEvent([step, step, EVENTS["laplace"]]), 2)
    counts = [r["count"] for r in question(twice, ADD, 1e-5)["releases"]]
    assert counts == [4, 2]
    composed = dpa.ComposedDpEvent([dpa.SelfComposedDpEvent(step, 5), step])
    assert [r["count"] for r in question(composed, ADD, 1e-5)["releases"]] == [6]


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ({"upper": 1.0}, "right"),
        ({"upper": 1.0099}, "right"),
        ({"upper": 1.02}, "loose"),
        ({"upper": math.inf}, "loose"),
        ({"upper": 0.9989}, "too low"),
        ({"upper": -0.1}, "too low"),
        ({"upper": math.nan}, "failed"),
        ({"upper": 1.1, "lower": 1.05}, "too high"),
        ({"refused": "no"}, "refused"),
        ({"failed": "KeyError"}, "failed"),
        ({"timed_out": 30.0}, "timed out"),
    ],
)
def test_what_an_answer_is_worth(found, word):
    assert judge(found, Bounds(0.999, 1.0)).word == word


def test_a_negative_epsilon_is_zero_where_zero_is_true():
    assert judge({"upper": -0.3}, Bounds(0.0, 0.0)).word == "right"


def test_an_estimate_may_be_below_by_what_nobody_reports():
    truth = Bounds(1.0, 1.0 + 1e-9)
    for below, word in ((1e-7, "right"), (2e-6, "too low")):
        assert judge({"upper": 1.0 - below}, truth, estimate=True).word == word
        assert judge({"upper": 1.0 - below}, truth).word == "too low"


# The record.


def test_the_record_holds_six_libraries_and_more_on_all_known_answers():
    rows = Scoreboard().rows(PEERS.values(), known())
    assert {row.peer for row in rows} <= set(PEERS)
    full = [row for row in rows if sum(row.counts.values()) == len(known()) >= 150]
    assert len({PEERS[row.peer].library for row in full}) >= 6
    assert set(rows[0].counts) == set(WORDS)


def test_every_answer_that_is_too_low_has_its_reason_and_no_reason_is_idle():
    board = Scoreboard()
    low = board.too_low(PEERS.values(), known())
    assert [(one.peer, one.cases[0]) for one in low if one.reason is None] == []
    asked = {row.peer for row in board.rows(PEERS.values(), known())}
    idle = {one.name for one in REASONS if asked & set(one.peers)}
    assert {one.reason.name for one in low} == idle


def test_the_worst_comes_first_and_nothing_is_counted_twice():
    board = Scoreboard()
    low = board.too_low(PEERS.values(), known())
    rows = board.rows(PEERS.values(), known())
    assert sum(len(one.cases) for one in low) == sum(row.counts["too low"] for row in rows)
    for one in low:
        excesses = [excess for _, excess in one.cases]
        assert excesses == sorted(excesses)
        assert -1.0 <= excesses[0] <= excesses[-1] < 0.0


def _refutable():
    """(peer, ε, certificate of [0, ε]) of what is too low, where the checker is quick."""
    board, quick = Scoreboard(), {}
    for answer, row in zip(known(), known_answers.load(), strict=True):
        quick[answer.name] = row["seconds_to_verify"] <= 0.3
    for one in board.too_low(PEERS.values(), known()):
        for answer, _ in one.cases:
            upper = max(0.0, board.answer(PEERS[one.peer], answer)["upper"])
            if quick[answer.name]:
                certificate = Certificate(
                    event=answer.event,
                    neighboring_relation=answer.relation,
                    points=((answer.delta, 0.0, upper),),
                    method=one.peer,
                )
                yield pytest.param(certificate.to_json(), id=f"{one.peer} {answer.name}")


@pytest.mark.slow
@pytest.mark.parametrize("certificate", list(_refutable()))
def test_what_is_too_low_is_refuted(certificate):
    verify = pytest.importorskip("accountants.verify")
    assert verify.verify(certificate).word == verify.REFUTED


def test_peers_by_name_and_by_library():
    assert named(None) == list(PEERS.values())
    assert {peer.name for peer in named(["opacus"])} == {"opacus PRV", "opacus RDP", "opacus GDP"}
    with pytest.raises(ValueError, match=r"`peers` must be among .*'nobody'"):
        named(["nobody"])


def test_every_peer_has_its_words_and_pins_what_it_installs():
    assert set(PEERS) == set(asked.METHODS)
    for peer in PEERS.values():
        assert all("==" in requirement for requirement in peer.requirements)


def test_a_peer_that_is_not_there_has_failed_not_refused():
    # The default suite's environment has no autodp.
    if importlib.util.find_spec("autodp") is not None:
        pytest.skip("autodp is installed here")
    answer = asked.answer("autodp RDP", question(EVENTS["gaussian"], ADD, 1e-5))
    assert answer["failed"].startswith("ModuleNotFoundError")


@pytest.mark.parametrize("name", ["dp-accounting PLD", "dp-accounting RDP"])
def test_a_gaussian_by_dp_accounting(name):
    upper = asked.answer(name, question(EVENTS["gaussian"], ADD, 1e-5))["upper"]

    mu = mpmath.mpf(1) / 1.5

    def delta(epsilon):  # Balle and Wang 2018, Theorem 8
        above = mpmath.ncdf(mu / 2 - epsilon / mu)
        return above - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)

    assert delta(upper) <= 1e-5 < delta(0.8 * upper)


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A peer made of the lines that a test gives."""

    def make(body):
        path = tmp_path / "peer.py"
        path.write_text("import json, os, sys, time\nfor line in sys.stdin:\n    " + body)
        monkeypatch.setattr(asking, "_SCRIPT", path)
        monkeypatch.setattr(asking, "_START", 5.0)
        monkeypatch.setattr(environment, "python", lambda _: sys.executable)
        return Peer(name="made up", requirements=("none==1",))

    return make


def test_answers_in_turn(script):
    peer = script("print(json.dumps({'upper': json.loads(line)['n'], 'seconds': 0}), flush=True)")
    with asking.Asked(peer) as there:
        assert [there.ask({"n": n}, 5.0)["upper"] for n in range(3)] == [0, 1, 2]


def test_a_peer_that_hangs_is_ended_and_asked_the_next(script):
    peer = script(
        "n = json.loads(line)['n']\n"
        "    time.sleep(100 if n == 1 else 0)\n"
        "    print(json.dumps({'upper': n, 'seconds': 0}), flush=True)"
    )
    with asking.Asked(peer) as there:
        found = [there.ask({"n": n}, 0.5) for n in range(3)]
    assert found[1] == {"timed_out": 0.5}
    assert found[2]["upper"] == 2


def test_a_peer_that_dies_is_started_again(script):
    peer = script(
        "n = json.loads(line)['n']\n"
        "    n == 1 and os._exit(1)\n"
        "    print(json.dumps({'upper': n, 'seconds': 0}), flush=True)"
    )
    with asking.Asked(peer) as there:
        found = [there.ask({"n": n}, 5.0) for n in range(3)]
    assert found[1] == {"failed": "the process died"}
    assert found[2]["upper"] == 2


def test_requirements_are_requirements():
    for wrong in ([], ["-r file"], [""], [3]):
        with pytest.raises((ValueError, TypeError), match="requirements"):
            environment.folder(wrong)


@pytest.mark.slow
def test_an_environment_is_made_once_and_finished_or_made_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("DP_ASSAY_CACHE", str(tmp_path / "cache"))
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "VALUE = 7\n")
        archive.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        archive.writestr(
            "tiny-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    interpreter = environment.python([str(wheel)])
    assert environment.folder([str(wheel)]) in interpreter.parents
    marker = environment.folder([str(wheel)]) / "ready"
    made = marker.stat().st_mtime_ns
    assert environment.python([str(wheel)]) == interpreter
    assert marker.stat().st_mtime_ns == made
    marker.unlink()
    environment.python([str(wheel)])
    assert marker.exists()
    with pytest.raises(environment.InstallError, match="no-such"):
        environment.python([str(tmp_path / "no-such-1.0-py3-none-any.whl")])
