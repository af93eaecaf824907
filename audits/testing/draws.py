"""Drawing from a mechanism, here or on workers, with the same result.

Draws come in chunks. Chunk i of a side has its own generator, seeded by (seed, side, i), and a size
that depends on nothing but the audit's own progress. So the outputs are the same for any number of
workers, any order of completion and any number of retries: a chunk that is lost with its worker is
drawn again with the same seed, and each chunk's result is used exactly once.

No call of a mechanism can reach another one's data or outputs (`audits.testing.isolation`).
"""

import concurrent.futures
from collections.abc import Callable, Sized
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from accountants import validate
from audits.testing.isolation import RepeatedDraws, fingerprint, own, seeded_globals
from audits.testing.outputs import Raised

DrawFunction = Callable[[Any, np.random.Generator, int], Any]
Task = tuple[int, int, int]  # side, chunk number, size

DEFAULT_CHUNK = 2048
# Outputs of each chunk of the probe: as many as `RepeatedDraws` needs.
PROBE = 12
_PROBE_NUMBER = 2**31
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
        """`n` independent outputs, each from data of its own and kept before the next is made.

        The last call gets `data` itself, so that whoever watches them sees a call that alters them.
        """
        return [_attempt(self.function, data if k == n - 1 else own(data), rng) for k in range(n)]


def _attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """What the call gives, as a copy, or what it raises: both are outputs."""
    try:
        return own(call(*arguments))
    except MemoryError:  # It says something about this machine, not about the data.
        raise
    except Exception as error:
        return Raised(error)


def repeat(function: Callable[[Any, np.random.Generator], Any]) -> Repeated:
    """Lifts `(data, rng) -> output` to a mechanism `(data, rng, n) -> n outputs`.

    An exception is an output too: that a mechanism fails on some data tells them apart.

    >>> mechanism = repeat(lambda data, rng: sum(data) + rng.normal())
    >>> len(mechanism([1.0, 2.0], np.random.default_rng(0), 3))
    3
    """
    return Repeated(validate.function("function", function))


class Chunk(NamedTuple):
    """What one call of a mechanism gave.

    Attributes:
      outputs: A copy that nobody else can write to.
      altered: Whether the mechanism changed its data in place.
    """

    outputs: Any
    altered: bool


def draw_chunk(
    mechanism: DrawFunction, data: Any, seed: int, side: int, number: int, size: int
) -> Chunk:
    """The outputs of one chunk; runs on a worker."""
    sequence = np.random.SeedSequence(seed, spawn_key=(side, number))
    rng, global_seeds = np.random.default_rng(sequence), sequence.spawn(1)[0]
    # Once is enough to say that data are altered; it costs two passes over them.
    watched = number == 0
    given = own(data)
    before = fingerprint(given) if watched else None
    with seeded_globals(global_seeds):
        outputs = _attempt(mechanism, given, rng, size)
        if isinstance(outputs, Raised):  # Which of the draws was it?
            singles = [_attempt(mechanism, own(data), rng, 1) for _ in range(size)]
            outputs = [one if isinstance(one, Raised) else one[0] for one in singles]
    if not isinstance(outputs, Sized) or (isinstance(outputs, np.ndarray) and not outputs.ndim):
        got = validate.shown(outputs)
        raise TypeError(f"`mechanism` must return n = {size} outputs, got {got}.")
    if len(outputs) != size:
        raise ValueError(f"`mechanism` must return n = {size} outputs, got {len(outputs)}.")
    return Chunk(outputs, watched and before != fingerprint(given))


@dataclass(slots=True)
class Draws:
    """Outputs of a mechanism on both data sets of a pair, block by block.

    Args:
      mechanism: `(data, rng, n) -> n outputs`.
      pair: The two data sets.
      seed: Seeds every chunk.
      executor: Where chunks are drawn; in this process if `None`.
      chunk_size: The most outputs drawn by one call.

    Attributes:
      altered: Whether the mechanism has altered its data in place, which no other call has seen.
    """

    mechanism: DrawFunction
    pair: tuple[Any, Any]
    seed: int
    executor: Executor | None = None
    chunk_size: int = DEFAULT_CHUNK
    altered: bool = field(default=False, init=False)
    _repeats: RepeatedDraws = field(default_factory=RepeatedDraws, init=False)
    _next: int = field(default=0, init=False)
    _own: Executor | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        validate.function("mechanism", self.mechanism)
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
        for task in tasks:
            self._repeats.look(found[task].outputs)
            self.altered |= found[task].altered
        return _join([found[t].outputs for t in tasks if t[0] == 0]), _join(
            [found[t].outputs for t in tasks if t[0] == 1]
        )

    @property
    def repeated(self) -> bool:
        """Whether draws came again in the same order: they are not independent, so not judged."""
        return self._repeats.found

    def probe(self) -> Any:
        """A few outputs of each side that no test uses: do they repeat, and what are they like?

        A mechanism with a generator of its own, or a cache, starts again in each call.

        Raises:
          Exception: What the mechanism raises, if it gives nothing else on either side.
        """
        size = min(PROBE, self.chunk_size)
        tasks = [(side, _PROBE_NUMBER + k, size) for side in (0, 1) for k in range(2)]
        found = [chunk.outputs for chunk in self._run_all(tasks).values()]
        for outputs in found:
            self._repeats.look(outputs)
        joined = _join(found)
        if all(isinstance(output, Raised) for output in joined):
            raise joined[0].error
        return joined

    def close(self) -> None:
        """Ends the workers that replaced a broken executor, if there are any."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None

    def _run_all(self, tasks: list[Task]) -> dict[Task, Chunk]:
        executor = self._own or self.executor
        if executor is None:
            return {
                task: draw_chunk(self.mechanism, self.pair[task[0]], self.seed, *task)
                for task in tasks
            }
        found: dict[Task, Chunk] = {}
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
        self, executor: Executor, tasks: list[Task], found: dict[Task, Chunk]
    ) -> BaseException | None:
        """Fills `found`; returns the first loss of a worker, raises any other error."""
        lost: BaseException | None = None
        futures: dict[Task, Future[Chunk]] = {}
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
    """A process pool like the broken one, which cannot be used again."""
    return concurrent.futures.ProcessPoolExecutor(
        max_workers=getattr(executor, "_max_workers", None),
        mp_context=getattr(executor, "_mp_context", None),
        initializer=getattr(executor, "_initializer", None),
        initargs=getattr(executor, "_initargs", ()),
    )


def _join(parts: list[Any]) -> Any:
    shapes = {part.shape[1:] if isinstance(part, np.ndarray) else None for part in parts}
    if len(shapes) == 1 and None not in shapes:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return [output for part in parts for output in part]
