"""Processes for commands: one thread each, quiet when interrupted, gone when the command is."""

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def process_pool(
    count: int, first: Callable[..., Any] | None = None, *arguments: Any
) -> Iterator[Executor]:
    """A pool of fresh interpreters; each calls `first(*arguments)` before anything else.

    Threads inside of parallel processes would only compete. An interrupt reaches this process
    alone, which then ends the pool, whatever it is at; if it is killed, the others end by
    themselves.
    """
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    with _blocked("SIGHUP"):
        # The keeper of the pool's locks heeds no other signal; it must not go before they do.
        resource_tracker.ensure_running()
    pool = ProcessPoolExecutor(
        count,
        mp_context=_Context(),
        initializer=_start,
        initargs=(first, arguments),
    )
    try:
        yield pool
    except BaseException:
        # Nobody waits for what they are at.
        for worker in list((pool._processes or {}).values()):
            worker.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for name in _THREADS:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


@contextmanager
def _blocked(name: str) -> Iterator[None]:
    """The signal waits, here and for good in processes that are started inside."""
    if not hasattr(signal, "pthread_sigmask"):  # a system without such signals
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {getattr(signal, name)})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker(SpawnProcess):
    """A process that no interrupt reaches, not even while it loads."""

    def start(self) -> None:
        """Starts it; what is blocked here stays blocked there."""
        with _blocked("SIGINT"):
            super().start()


class _Context(SpawnContext):
    Process = _Worker


def this_worker() -> str:
    """Which process and thread this is, on which machine."""
    return f"{socket.gethostname()}/{os.getpid()}/{threading.get_ident()}"


def _start(first: Callable[..., Any] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    sys.stdout = sys.stderr  # standard output belongs to the command's answer
    if first is not None:
        first(*arguments)


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
