"""Drawing from a mechanism, here or on workers, with the same result.

Draws come in chunks. Chunk i of a side has its own generator, seeded by (seed, side, i), and a size
that depends on nothing but the audit's own progress. So the outputs are the same for any number of
workers, any order of completion and any number of retries: a chunk that is lost with its worker is
drawn again with the same seed, and each chunk's result is used exactly once.
"""

import concurrent.futures
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountants import validate

DrawFunction = Callable[[Any, np.random.Generator, int], Any]
Task = tuple[int, int, int]  # side, chunk number, size

DEFAULT_CHUNK = 2048
_RETRIES = 4
# Losing a worker looks like this; names for libraries that are not imported here.
_LOST = (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError, ConnectionError)
_LOST_BY_NAME = frozenset({"KilledWorker", "FutureCancelledError", "CommClosedError"})


class WorkerLostError(RuntimeError):
    """A chunk was lost with its worker more often than it was worth retrying."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A one-at-a-time function as a mechanism; see `repeat`."""

    function: Callable[[Any, np.random.Generator], Any]

    def __call__(self, data: Any, rng: np.random.Generator, n: int) -> list[Any]:
        """`n` independent outputs."""
        return [self.function(data, rng) for _ in range(n)]


def repeat(function: Callable[[Any, np.random.Generator], Any]) -> Repeated:
    """Lifts `(data, rng) -> output` to a mechanism `(data, rng, n) -> n outputs`.

    >>> mechanism = repeat(lambda data, rng: sum(data) + rng.normal())
    >>> len(mechanism([1.0, 2.0], np.random.default_rng(0), 3))
    3
    """
    return Repeated(function)


def draw_chunk(
    mechanism: DrawFunction, data: Any, seed: int, side: int, number: int, size: int
) -> Any:
    """The outputs of one chunk; runs on a worker."""
    sequence = np.random.SeedSequence(seed, spawn_key=(side, number))
    outputs = mechanism(data, np.random.default_rng(sequence), size)
    if len(outputs) != size:
        raise ValueError(f"`mechanism` must return n = {size} outputs, got {len(outputs)}.")
    return outputs


@dataclass(slots=True)
class Draws:
    """Outputs of a mechanism on both data sets of a pair, block by block.

    Args:
      mechanism: `(data, rng, n) -> n outputs`.
      pair: The two data sets.
      seed: Seeds every chunk.
      executor: Where chunks are drawn; in this process if `None`.
      chunk_size: The most outputs drawn by one call.
    """

    mechanism: DrawFunction
    pair: tuple[Any, Any]
    seed: int
    executor: Executor | None = None
    chunk_size: int = DEFAULT_CHUNK
    _next: int = field(default=0, init=False)
    _own: Executor | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not callable(self.mechanism):
            raise TypeError(f"`mechanism` must be callable, got {self.mechanism!r}.")
        validate.count("chunk_size", self.chunk_size)

    def draw(self, count: int) -> tuple[Any, Any]:
        """`count` outputs of each side; in arrays if the mechanism returns arrays."""
        sizes = [self.chunk_size] * (count // self.chunk_size)
        if count % self.chunk_size:
            sizes.append(count % self.chunk_size)
        tasks = [
            (side, self._next + number, size)
            for side in (0, 1)
            for number, size in enumerate(sizes)
        ]
        self._next += len(sizes)
        found = self._run_all(tasks)
        return _join([found[t] for t in tasks if t[0] == 0]), _join(
            [found[t] for t in tasks if t[0] == 1]
        )

    def close(self) -> None:
        """Ends the workers that replaced a broken executor, if there are any."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None

    def _run_all(self, tasks: list[Task]) -> dict[Task, Any]:
        executor = self._own or self.executor
        if executor is None:
            return {
                task: draw_chunk(self.mechanism, self.pair[task[0]], self.seed, *task)
                for task in tasks
            }
        found: dict[Task, Any] = {}
        for _ in range(_RETRIES):
            lost = self._run_on(executor, [task for task in tasks if task not in found], found)
            if lost is None:
                return found
            if isinstance(lost, concurrent.futures.BrokenExecutor):
                self.close()
                executor = self._own = _fresh_like(executor)
        raise WorkerLostError(
            f"{len(tasks) - len(found)} chunks were lost with their workers {_RETRIES} times."
        )

    def _run_on(
        self, executor: Executor, tasks: list[Task], found: dict[Task, Any]
    ) -> BaseException | None:
        """Fills `found`; returns the first loss of a worker, raises any other error."""
        lost: BaseException | None = None
        futures: dict[Task, Future[Any]] = {}
        for task in tasks:
            try:
                futures[task] = executor.submit(
                    draw_chunk, self.mechanism, self.pair[task[0]], self.seed, *task
                )
            except _LOST as error:
                lost = error
                break
        for task, future in futures.items():
            try:
                found[task] = future.result()
            except BaseException as error:
                if not _is_loss(error):
                    for other in futures.values():
                        other.cancel()
                    raise
                lost = lost or error
        return lost


def _is_loss(error: BaseException) -> bool:
    return isinstance(error, _LOST) or type(error).__name__ in _LOST_BY_NAME


def _fresh_like(executor: Executor) -> Executor:
    """A process pool of the size of the broken one: a broken pool cannot be used again."""
    workers = getattr(executor, "_max_workers", None)
    return concurrent.futures.ProcessPoolExecutor(
        max_workers=workers, mp_context=getattr(executor, "_mp_context", None)
    )


def _join(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return [output for part in parts for output in part]
