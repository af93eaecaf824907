"""Secure sums over local sockets, each client a process of its own, killed at each step."""

import contextlib
import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from mechanisms.federated.aggregation import (
    AggregationAbandonedError,
    AggregationClient,
    AggregationServer,
    AggregationTerms,
    serve_client,
    sum_over,
)
from mechanisms.federated.aggregation.ciphers import StandardCiphers
from mechanisms.federated.courier import LocalSockets

TERMS = AggregationTerms(session="over sockets", clients=4, least=3, dimension=3, bits=20)
VECTORS = np.array([[1, -2, 3], [10, 20, 30], [100, 200, 300], [-1000, 0, 5000]])


def live(number, identity, directory, door, booked):
    """A client's process: it books in a file before its vector leaves."""

    def contribute():
        Path(booked).write_text("booked")
        return VECTORS[number]

    client = AggregationClient(number, TERMS, identity, directory, contribute)
    serve_client(client, door, idle=60.0)


@contextlib.contextmanager
def processes(folder):
    identities = [StandardCiphers().identity() for _ in VECTORS]
    directory = {n: pair.public for n, pair in enumerate(identities)}
    fork = multiprocessing.get_context("fork")
    doors = {n: folder / f"{n}.door" for n in directory}
    started = [
        fork.Process(
            target=live,
            args=(n, identities[n], directory, doors[n], folder / f"{n}.booked"),
            daemon=True,
        )
        for n in directory
    ]
    for process in started:
        process.start()
    try:
        yield started, doors
    finally:
        for process in started:
            process.kill()
            process.join()


class Killing:
    """Kills processes before a round, then carries on with a tenth of the patience."""

    def __init__(self, started, doors, victims):
        self.started, self.doors, self.victims = started, doors, victims
        self.round = 0

    def exchange(self, asked):
        for client, last in self.victims.items():
            if last == self.round:
                os.kill(self.started[client].pid, signal.SIGKILL)
                self.started[client].join()
        self.round += 1
        there = {c: asked[c] for c in asked if self.started[c].is_alive()}
        return LocalSockets(self.doors, patience=120.0).exchange(there)


@pytest.mark.parametrize("step", range(5))
def test_a_client_that_is_killed_has_dropped_out(step, tmp_path):
    with processes(tmp_path) as (started, doors):
        courier = Killing(started, doors, {1: step})
        total, contributors = sum_over(AggregationServer(TERMS), courier)
    expected = (0, 2, 3) if step <= 2 else (0, 1, 2, 3)
    assert contributors == expected
    assert total.tolist() == VECTORS[list(expected)].sum(axis=0).tolist()
    booked = {int(file.stem) for file in tmp_path.glob("*.booked")}
    assert booked == set(expected)


def test_two_that_are_killed_are_too_many_and_what_is_booked_stays(tmp_path):
    server = AggregationServer(TERMS)
    with processes(tmp_path) as (started, doors):
        with pytest.raises(AggregationAbandonedError, match="2 of 4 clients"):
            sum_over(server, Killing(started, doors, {0: 3, 3: 4}))
        assert server.result is None
    assert len(list(tmp_path.glob("*.booked"))) == 4


def test_nonsense_is_no_answer(tmp_path):
    """From a carrier that changes client 2's answers: it has dropped out for the others."""

    class Changing(Killing):
        def exchange(self, asked):
            found = dict(super().exchange(asked))
            if 2 in found and self.round == 3:
                found[2] = found[2][:-1] + bytes([found[2][-1] ^ 1])
            return found

    with processes(tmp_path) as (started, doors):
        total, contributors = sum_over(AggregationServer(TERMS), Changing(started, doors, {}))
    assert contributors == (0, 1, 3)
    assert total.tolist() == VECTORS[[0, 1, 3]].sum(axis=0).tolist()
