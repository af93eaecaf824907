"""Holders, couriers and the coordinator as processes, which die."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from federated_tools import SEED, Owner, in_process, perturbation, shards

from mechanisms.federated import Coordinator, LocalSockets, NobodyAnswersError, local_socket
from mechanisms.federated.courier_app import doors
from mechanisms.federated.courier_app.exchanges import OVER, WAITS, pack, unpack
from mechanisms.federated.relay import Relay

ROOT = Path(__file__).resolve().parents[4]


class Living:
    """A holder in a process that is killed each time it has answered so often, and replaced."""

    def __init__(self, own, answers):
        self.own, self.answers, self.deaths = own, answers, 0
        self.path = own.folder / "holder.sock"
        self.done = False
        self.thread = threading.Thread(target=self.keep_alive)
        self.child = self.fork()
        self.thread.start()

    def fork(self):
        child = os.fork()
        if not child:
            self.own.start()
            left = [self.answers]

            def answer(asked):
                found = self.own.holder.answer(asked)
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            local_socket.serve(self.path, answer)
        return child

    def keep_alive(self):
        while not self.done:
            if os.waitpid(self.child, os.WNOHANG)[0]:
                self.deaths += 1
                self.child = self.fork()
            time.sleep(0.02)

    def end(self):
        self.done = True
        self.thread.join()
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.own.start()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_holders_that_are_killed_again_and_again_change_nothing(tmp_path):
    """Each dies with an answer computed, saved and never sent."""
    experiment = perturbation(rounds=4)
    own = [Owner(tmp_path / str(m), m, shards()[m]) for m in range(3)]
    living = [Living(one, answers) for one, answers in zip(own, (2, 3, 5), strict=True)]
    try:
        coordinator = Coordinator(
            experiment,
            {m: one.seal for m, one in enumerate(own)},
            LocalSockets({m: one.path for m, one in enumerate(living)}, patience=30.0),
            rng=np.random.default_rng(SEED),
        )
        coordinator.run()
    finally:
        for one in living:
            one.end()
    assert sum(one.deaths for one in living) >= 4
    here = in_process(experiment, shards())
    assert np.array_equal(coordinator.posterior.vector, here.posterior.vector)
    product = coordinator.server.prior
    for one in own:
        product = product * one.holder._engagement(coordinator.run_name).client.factor
    assert np.allclose(product.vector, here.posterior.vector, rtol=1e-12, atol=1e-12)
    assert [one.paid for one in own] == [4, 4, 4]


def test_nobody_there_is_an_error_and_not_a_round(tmp_path):
    experiment = perturbation()
    own = [Owner(tmp_path / str(m), m, shards()[m]) for m in range(3)]
    seals = {m: one.seal for m, one in enumerate(own)}
    nowhere = LocalSockets(dict.fromkeys(range(3), tmp_path / "nobody"), patience=0.1)
    keywords = {"rng": np.random.default_rng(SEED), "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(NobodyAnswersError):
        Coordinator(experiment, seals, nowhere, attempts=1, **keywords).run()

    class There:
        def exchange(self, asked):
            return {m: own[m].holder.answer(content) for m, content in asked.items()}

    coordinator = Coordinator(experiment, seals, There(), **keywords)
    coordinator.run()
    here = in_process(experiment, shards())
    assert np.array_equal(coordinator.posterior.vector, here.posterior.vector)


def test_a_relay_waits_for_couriers_and_minds_no_death_of_theirs(tmp_path):
    door = tmp_path / "door"
    with Relay(door, patience=20.0) as relay:
        found = []
        asking = threading.Thread(
            target=lambda: found.append(relay.exchange({0: b"how?", 1: b"why?"}))
        )
        asking.start()
        while not door.exists():
            time.sleep(0.01)
        first = doors.ask(door, pack(0, {}))  # a courier that takes the questions and dies
        number, asked = unpack(first)
        assert asked == {0: b"how?", 1: b"why?"}
        again = doors.ask(door, pack(number - 1, {0: b"an old answer"}))
        assert unpack(again) == (number, asked)
        assert doors.ask(door, pack(number, {0: b"so", 9: b"who?"})) == WAITS
        asking.join(10)
        assert found == [{0: b"so"}]
        relay.say_over()
        assert doors.ask(door, pack(number, {})) == OVER


def test_a_relay_without_couriers_gives_up(tmp_path):
    with Relay(tmp_path / "door", patience=0.2) as relay:
        assert relay.exchange({0: b"anyone?"}) == {}


@pytest.mark.parametrize(
    "content", [b"", b"1234567", pack(1, {0: b"x"})[:-1], bytes(9), bytes(100)]
)
def test_what_is_no_exchange_is_refused(content):
    with pytest.raises(ValueError, match="exchange"):
        unpack(content)


def test_the_shipped_courier_imports_nothing_of_ours():
    code = "import sys; from courier_app import doors, exchanges; print(*sys.modules)"
    found = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r} + '/mechanisms/federated'); {code}",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert not {"numpy", "accountants", "mechanisms", "pvi"} & set(found)


def federation(*arguments, timeout):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run_federation.py"), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=timeout,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--local",), ()])
def test_make_federation_shows_what_it_promises(arguments):
    """Over Flower: TLS, authenticated nodes, each holder and node a process."""
    if not arguments and importlib.util.find_spec("flwr") is None:
        pytest.skip("Flower is not installed")
    found = federation(*arguments, timeout=400)
    assert found.returncode == 0, found.stderr
    assert "bit for bit: True" in found.stdout
    assert "all budgets hold: True" in found.stdout
    assert found.stdout.count("Fourier accountant") == 3
