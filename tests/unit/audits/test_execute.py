"""Executors: the same draws whatever the workers, and a dead worker costs nothing but time."""

import os
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import dp_accounting as dpa
import numpy as np
import pytest

from audits import (
    EventClaim,
    Word,
    WorkerLostError,
    audit,
    repeat,
)
from audits.testing.dispatch import bundled
from audits.testing.draws import PROBE, Draws
from audits.testing.signatures import gives_one

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


class Crashing(ThreadPoolExecutor):
    """Loses its first task as Ray does."""

    def __init__(self):
        super().__init__(1)
        self.lost = 0

    def submit(self, function, /, *arguments, **keywords):
        if not self.lost:
            self.lost = 1
            gone: Future = Future()
            ray_error = type("RayError", (Exception,), {})
            gone.set_exception(type("WorkerCrashedError", (ray_error,), {})("gone"))
            return gone
        return super().submit(function, *arguments, **keywords)


def test_a_crashed_worker_of_ray_is_a_lost_one():
    with Crashing() as crashing:
        assert run(crashing) == run()
        assert crashing.lost


def noisy_list(data, rng):
    return float(data) + rng.normal()


def test_what_gives_one_output_a_call_is_drawn_in_many_small_pieces():
    """Many workers have work; and one function is the same audit in either form of writing it."""
    alone = run(None, noisy_list, draws=400)
    assert run(None, repeat(noisy_list), draws=400) == alone
    for count in (2, 8):
        with ThreadPoolExecutor(count) as pool:
            assert run(pool, noisy_list, draws=400) == alone
    sampler = Draws(noisy_list, PAIR, 1)
    first, _ = sampler.draw(64)
    assert len(first) == 64
    submitted = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, /, work, task):
            submitted.append(task)
            return super().submit(function, work, task)

    with Counting(2) as pool:
        slow = Draws(noisy_list, PAIR, 1, pool)
        slow.seconds_per_draw = 1.0
        again, _ = slow.draw(64)
    assert again == first
    assert [len(task) for task in submitted] == [1] * 64  # 32 pieces a side, each on its own


class Kept(Executor):
    """Keeps what it is given until somebody asks; knows what is taken back."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, /, *arguments):
        future = Future()
        future.result = lambda timeout=None: function(*arguments)
        self.tasks.append((arguments[1], future))
        return future


def test_workers_go_on_while_a_block_is_looked_at():
    """The next block is sent before this one is asked for; what nobody needs is taken back."""
    kept = Kept()
    ahead, plain = Draws(noisy, PAIR, 1, kept, 10), Draws(noisy, PAIR, 1, None, 10)
    for count, following in ((10, 30), (30, 20), (20, 40)):
        first, second = ahead.draw(count, following=following)
        expected = plain.draw(count, following=following)
        assert np.array_equal(first, expected[0])
        assert np.array_equal(second, expected[1])
    numbers = {number for pieces, _ in kept.tasks for _, number, _ in pieces}
    assert numbers == set(range(1 + 3 + 2 + 4))
    with pytest.raises(ValueError, match="`count` must be 40, as announced, got 39"):
        ahead.draw(39)
    assert not any(future.cancelled() for _, future in kept.tasks)
    ahead.close()
    last = [future for pieces, future in kept.tasks if pieces[0][1] >= 6]
    assert last
    assert all(future.cancelled() for future in last)


def test_what_was_sent_ahead_and_lost_is_done_again(tmp_path):
    """The pool breaks with two blocks under way: one new pool does both."""
    flag = str(tmp_path / "flag")
    with ProcessPoolExecutor(2) as processes:
        sampler = Draws(partial(dies_once, flag), PAIR, 3, processes, 20)
        found = [sampler.draw(60, following=60), sampler.draw(60)]
        sampler.close()
    plain = Draws(noisy, PAIR, 3, None, 20)
    assert Path(flag).exists()
    assert np.array_equal(found, [plain.draw(60), plain.draw(60)])


def test_what_is_measured_to_be_fast_travels_together():
    assert bundled([4] * 8, 0.0) == [slice(0, 8)]
    assert bundled([4] * 8, 0.01) == [slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8)]
    assert bundled([4] * 3, 1.0) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert bundled([1, 100, 1], 0.001) == [slice(0, 2), slice(2, 3)]


class Weighty:
    """Data that count how often they are pickled."""

    times = 0

    def __init__(self, value):
        self.value, self.bulk = value, np.zeros(50_000)

    def __reduce__(self):
        Weighty.times += 1
        return Weighty, (self.value,), {"bulk": self.bulk}


def noisy_weighty(data, rng, n):
    return noisy(data.value, rng, n)


def test_data_travel_once_to_processes():
    Weighty.times = 0
    with ProcessPoolExecutor(2) as processes:
        sampler = Draws(noisy_weighty, (Weighty(1.0), Weighty(0.0)), 7, processes, 10)
        found = sampler.draw(60)[0]
        file = sampler._dispatch._file
        assert file.stat().st_size > 500_000
        sampler.close()
    assert not file.exists()
    assert Weighty.times == 2
    assert np.array_equal(found, Draws(noisy, PAIR, 7, None, 10).draw(60)[0])


def test_a_lambda_gets_advice():
    with ProcessPoolExecutor(1) as processes, pytest.raises(TypeError, match="with `def` at"):
        run(processes, lambda data, rng, n: noisy(data, rng, n))


@pytest.mark.parametrize(
    "mechanism",
    [lambda data: 0.0, lambda a, b, c, d: 0.0, lambda data, *, rng: 0.0, lambda: 0.0],
)
def test_a_mechanism_with_other_arguments_is_refused(mechanism):
    with pytest.raises(TypeError, match=r"`mechanism` must take \(data, rng, n\) or \(data, rng\)"):
        run(None, mechanism)


def test_a_setting_with_a_default_is_no_count():
    assert not gives_one("mechanism", lambda data, rng, n=1: 0.0)
    assert gives_one("mechanism", lambda data, rng, scale=1.0: 0.0)
    assert not gives_one("mechanism", lambda *arguments: 0.0)
    assert not gives_one("mechanism", partial(dies_once, "flag"))


class Forgetful:
    """A generator of its own, which starts anew with each copy that travels to a worker."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, data, rng):
        time.sleep(0.002)
        return data + self.rng.normal()


def test_copies_of_one_generator_on_two_workers_are_noticed():
    with ProcessPoolExecutor(2) as processes:
        verdict = run(processes, Forgetful(), draws=300)
    assert verdict.word is Word.INCONCLUSIVE
    assert "in the same order" in verdict.explain()


def slow_once(data, rng):
    time.sleep(0.001)
    return data + rng.normal(scale=0.7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_one_two_and_eight_workers_of_a_cluster_give_the_same_verdict_bit_for_bit():
    distributed = pytest.importorskip("distributed")

    def refuted(executor):
        return audit(
            slow_once, PAIR, CLAIM, max_samples=500, rng=np.random.default_rng(3), executor=executor
        ).to_json()

    alone = refuted(None)
    for count in (1, 2, 8):
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            assert refuted(client.get_executor()) == alone, count


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_lambda_and_big_data_on_a_cluster():
    distributed = pytest.importorskip("distributed")
    data = (np.ones(200_000), np.zeros(200_000))

    def verdict(executor):
        return audit(
            lambda data, rng, n: data[0] + rng.normal(scale=0.5, size=n),
            data,
            CLAIM,
            rng=np.random.default_rng(3),
            executor=executor,
        )

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert verdict(client.get_executor()) == verdict(None)
