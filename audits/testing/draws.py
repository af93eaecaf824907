"""Drawing from a mechanism, here or on workers, with the same result.

Draws come in chunks. Chunk i of a side has its own generator, seeded by (seed, side, i), and a size
that depends on nothing but the audit's own progress. So the outputs are the same for any number of
workers, any order of completion and any number of retries: a chunk that is lost with its worker is
drawn again with the same seed, and each chunk's result is used exactly once.

A mechanism that gives many outputs a call is called once a side and block, up to `chunk_size`: only
its author knows what a batch saves. One that gives one output a call has nothing to save, so that a
block is cut into many small chunks, for as many workers. How many chunks travel together is decided
by what a draw was measured to cost (`audits.testing.dispatch`), which changes no seed. While one
block is looked at, workers go on with the next one, whose size is known by then.

No call of a mechanism can reach another one's data or outputs (`audits.testing.isolation`).
"""

import time
from collections.abc import Callable, Sequence, Sized
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from accountants import validate
from audits.testing.dispatch import Begun, Dispatch, WorkerLostError, bundled, opened
from audits.testing.isolation import (
    RepeatedDraws,
    altered,
    fingerprint,
    kept_globals,
    own,
    seed_globals,
)
from audits.testing.outputs import Raised
from audits.testing.signatures import gives_one
from audits.testing.workers import this_worker

__all__ = ["DEFAULT_CHUNK", "DrawFunction", "Draws", "Repeated", "WorkerLostError", "repeat"]

DrawFunction = Callable[[Any, np.random.Generator, int], Any]
Piece = tuple[int, int, int]  # side, chunk number, size

DEFAULT_CHUNK = 2048
# Outputs of each chunk of the probe: as many as `RepeatedDraws` needs.
PROBE = 12
_PROBE_NUMBER = 2**31
# Into so many chunks a block of a side is cut where each output is a call of its own.
_PIECES = 32


@dataclass(frozen=True, slots=True)
class Repeated:
    """A one-at-a-time function as a mechanism; see `repeat`."""

    one_at_a_time: ClassVar[bool] = True

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
    seed_globals(global_seeds)
    outputs = _attempt(mechanism, given, rng, size)
    if isinstance(outputs, Raised):  # Which of the draws was it?
        singles = [_attempt(mechanism, own(data), rng, 1) for _ in range(size)]
        outputs = [one if isinstance(one, Raised) else one[0] for one in singles]
    if not isinstance(outputs, Sized) or (isinstance(outputs, np.ndarray) and not outputs.ndim):
        got = validate.shown(outputs)
        raise TypeError(f"`mechanism` must return n = {size} outputs, got {got}.")
    if len(outputs) != size:
        raise ValueError(
            f"`mechanism` must return n = {size} outputs, got {len(outputs)}; one that gives a "
            "single output takes (data, rng) only."
        )
    return Chunk(outputs, altered(before, given))


class Drawn(NamedTuple):
    """What a worker sends back: chunks in order, the seconds they took, and who drew them."""

    chunks: list[Chunk]
    seconds: float
    worker: str


def draw_pieces(work: Any, pieces: tuple[Piece, ...]) -> Drawn:
    """Draws chunks; runs on a worker."""
    mechanism, pair, seed = opened(work)
    began = time.perf_counter()
    with kept_globals():
        chunks = [draw_chunk(mechanism, pair[piece[0]], seed, *piece) for piece in pieces]
    return Drawn(chunks, time.perf_counter() - began, this_worker())


@dataclass(frozen=True, slots=True)
class _Block:
    """Draws of both sides that are under way."""

    count: int
    tasks: Begun[tuple[Piece, ...]]


@dataclass(slots=True)
class Draws:
    """Outputs of a mechanism on both data sets of a pair, block by block.

    Args:
      mechanism: `(data, rng, n) -> n outputs`, or `(data, rng) -> output`.
      pair: The two data sets.
      seed: Seeds every chunk.
      executor: Where chunks are drawn; in this process if `None`.
      chunk_size: The most outputs drawn by one call.

    Attributes:
      altered: Whether the mechanism has altered its data in place, which no other call has seen.
      seconds_per_draw: What a draw took on a worker, on average; 0 before the first.
    """

    mechanism: DrawFunction | Callable[[Any, np.random.Generator], Any]
    pair: tuple[Any, Any]
    seed: int
    executor: Executor | None = None
    chunk_size: int = DEFAULT_CHUNK
    altered: bool = field(default=False, init=False)
    seconds_per_draw: float = field(default=0.0, init=False)
    _repeats: RepeatedDraws = field(default_factory=RepeatedDraws, init=False)
    _short: dict[tuple[str, int], list[Any]] = field(default_factory=dict, init=False)
    _next: int = field(default=0, init=False)
    _one_at_a_time: bool = field(init=False)
    _timed: tuple[float, int] = field(default=(0.0, 0), init=False)
    _dispatch: Dispatch = field(init=False)
    _ahead: "_Block | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        validate.function("mechanism", self.mechanism)
        validate.count("chunk_size", self.chunk_size)
        if gives_one("mechanism", self.mechanism):
            self.mechanism = repeat(self.mechanism)  # type: ignore[arg-type]
        self._one_at_a_time = bool(getattr(self.mechanism, "one_at_a_time", False))
        self._dispatch = Dispatch((self.mechanism, self.pair, self.seed), self.executor)

    def draw(self, count: int, *, following: int = 0) -> tuple[Any, Any]:
        """`count` outputs of each side; in arrays if the mechanism returns arrays.

        Args:
          count: How many.
          following: How many will be asked for next: workers go on with those while these are
            looked at. A later call must ask for as many.
        """
        block = self._ahead or self._begin(count)
        if block.count != count:
            raise ValueError(f"`count` must be {block.count}, as announced, got {count!r}.")
        self._ahead = None
        if following and self.executor is not None:
            self._ahead = self._begin(following)
        outputs = self._finished(block.tasks)
        half = len(outputs) // 2
        return _join(outputs[:half]), _join(outputs[half:])

    def _begin(self, count: int) -> "_Block":
        size = self.chunk_size
        if self._one_at_a_time:
            size = min(size, -(-count // _PIECES))
        sizes = [size] * (count // size)
        if count % size:
            sizes.append(count % size)
        pieces = [
            (side, self._next + number, size)
            for side in (0, 1)
            for number, size in enumerate(sizes)
        ]
        self._next += len(sizes)
        return _Block(count, self._begun(pieces, self.seconds_per_draw))

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
        pieces = [(side, _PROBE_NUMBER + k, size) for side in (0, 1) for k in range(2)]
        joined = _join(self._finished(self._begun(pieces, np.inf)))  # Each a task of its own.
        if all(isinstance(output, Raised) for output in joined):
            raise joined[0].error
        return joined

    def close(self) -> None:
        """Takes back what was sent ahead, and ends workers that replaced a broken executor."""
        if self._ahead is not None:
            self._ahead.tasks.cancel()
            self._ahead = None
        self._dispatch.close()

    def _begun(self, pieces: Sequence[Piece], seconds_per_draw: float) -> Begun[tuple[Piece, ...]]:
        runs = bundled([size for _, _, size in pieces], seconds_per_draw)
        return self._dispatch.begin(draw_pieces, [tuple(pieces[run]) for run in runs])

    def _finished(self, begun: Begun[tuple[Piece, ...]]) -> list[Any]:
        """The outputs of each piece, in order."""
        found = self._dispatch.finish(begun)
        outputs = []
        seconds, draws = self._timed
        for task in begun.jobs:
            drawn: Drawn = found[task]
            seconds, draws = seconds + drawn.seconds, draws + sum(size for _, _, size in task)
            for (side, _, _), chunk in zip(task, drawn.chunks, strict=True):
                self._look(drawn.worker, side, chunk.outputs)
                self.altered |= chunk.altered
                outputs.append(chunk.outputs)
        self._timed = seconds, draws
        self.seconds_per_draw = seconds / draws
        return outputs

    def _look(self, worker: str, side: int, outputs: Any) -> None:
        """Looks for repeats, each draw once; chunks too short for it wait for a worker's next."""
        if len(outputs) < PROBE:
            waiting = self._short.setdefault((worker, side), [])
            waiting.extend(outputs)
            if len(waiting) < PROBE:
                return
            outputs = _array(self._short.pop((worker, side)))
        self._repeats.look(outputs)


def _array(outputs: list[Any]) -> Any:
    """Numbers and arrays of one shape as one array, of which a look is fast."""
    kinds = {(type(one), getattr(one, "shape", None)) for one in outputs}
    plain = len(kinds) == 1 and isinstance(outputs[0], float | np.number | np.ndarray)
    return np.array(outputs) if plain else outputs


def _join(parts: Sequence[Any]) -> Any:
    shapes = {part.shape[1:] if isinstance(part, np.ndarray) else None for part in parts}
    if len(shapes) == 1 and None not in shapes:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return [output for part in parts for output in part]
