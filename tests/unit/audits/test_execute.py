"""Executors: the same draws whatever the workers, and a dead worker costs nothing but time."""

import os
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import dp_accounting as dpa
import numpy as np
import pytest

from audits import (
    EventClaim,
    WorkerLostError,
    audit,
    repeat,
)
from audits.testing.draws import PROBE, Draws

CLAIM = EventClaim(dpa.GaussianDpEvent(1.0))
PAIR = (1.0, 0.0)


def noisy(data, rng, n):
    return data + rng.normal(size=n)


def noisy_once(data, rng):
    return data + rng.normal(scale=0.5)


def dies_once(flag: str, data, rng, n):
    """Kills its process the first time that anybody gets here."""
    if not Path(flag).exists():
        Path(flag).touch()
        os._exit(1)
    return noisy(data, rng, n)


def always_dies(data, rng, n):
    os._exit(1)


def run(executor=None, mechanism=noisy, draws=3000):
    return audit(
        mechanism,
        PAIR,
        CLAIM,
        confidence=1 - 1e-9,
        max_samples=draws,
        rng=np.random.default_rng(7),
        executor=executor,
        chunk_size=100,
    )


def test_one_and_many_workers_agree():
    alone = run()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(5) as five:
        assert run(one) == run(five) == alone
    with ProcessPoolExecutor(2) as processes:
        assert run(processes) == alone
        assert run(processes, repeat(noisy_once)).refuted


def test_chunks_are_independent_streams():
    sampler = Draws(noisy, PAIR, 1, chunk_size=10)
    first, second = sampler.draw(30)
    third, _ = sampler.draw(10)
    values = np.concatenate([first - 1.0, second, third - 1.0])
    assert np.unique(values).size == 70


def test_a_dead_worker_is_retried_and_nothing_is_counted_twice(tmp_path):
    with ProcessPoolExecutor(2) as processes:
        survived = run(processes, partial(dies_once, str(tmp_path / "died")))
    assert (tmp_path / "died").exists()
    assert survived == run()


def test_a_worker_that_always_dies_is_given_up():
    with ProcessPoolExecutor(1) as processes, pytest.raises(WorkerLostError, match="lost"):
        run(processes, always_dies, draws=20)


class Flaky(ThreadPoolExecutor):
    """Loses every third task once, as a cluster loses a worker; remembers what it ran."""

    def __init__(self):
        super().__init__(2)
        self.count, self.lock = 0, threading.Lock()

    def submit(self, function, /, *arguments, **keywords):
        with self.lock:
            self.count += 1
            lose = self.count % 3 == 0
        if lose:
            lost: Future = Future()
            lost.set_exception(type("KilledWorker", (Exception,), {})("gone"))
            return lost
        return super().submit(function, *arguments, **keywords)


def test_lost_tasks_are_drawn_again_with_their_own_seed():
    with Flaky() as flaky:
        assert run(flaky) == run()


def test_errors_of_the_mechanism_are_raised_not_retried():
    calls = []

    def broken(data, rng, n):
        calls.append(n)
        raise ZeroDivisionError("in the mechanism")

    with ThreadPoolExecutor(1) as one, pytest.raises(ZeroDivisionError, match="in the mechanism"):
        run(one, broken)
    # Two chunks a side, each once as a whole and then draw by draw, to see which of them fails.
    assert len(calls) == 4 * (1 + PROBE)


def slow_and_noisy(data, rng, n):
    time.sleep(0.02)
    return noisy(data, rng, n)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_a_worker_in_the_middle():
    distributed = pytest.importorskip("distributed")
    quiet = {"distributed.admin.log-format": "%(message)s", "distributed.worker.daemon": False}
    import dask

    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def kill_one():
            time.sleep(0.5)
            worker = next(iter(cluster.workers.values()))
            os.kill(worker.pid, 9)
            killed.append(worker.pid)

        thread = threading.Thread(target=kill_one)
        thread.start()
        verdict = run(client.get_executor(), slow_and_noisy, draws=4000)
        assert killed, "the audit was over before the worker died"
        thread.join()
    assert verdict == run(None, noisy, draws=4000)
