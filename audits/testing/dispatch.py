"""Work for other processes and machines: sent once, done again where a worker is lost.

What every task needs, a mechanism and its two data sets, travels once: over a cluster it is
scattered, to processes on this machine it goes through a file. A task is as long as it is worth
sending (`bundled`), by what a draw was measured to cost. None of this can change a result: what a
task computes depends on its own arguments only.
"""

import concurrent.futures
import contextlib
import functools
import pickle
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from accountants import validate

Job = TypeVar("Job", bound=Hashable)
Result = TypeVar("Result")

RETRIES = 4
# Losing a worker looks like this; names for libraries that are not imported here: dask's and Ray's.
_LOST = (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError, ConnectionError)
_LOST_BY_NAME = frozenset(
    {
        "KilledWorker",
        "FutureCancelledError",
        "CommClosedError",
        "WorkerCrashedError",
        "ActorDiedError",
        "NodeDiedError",
        "ObjectLostError",
    }
)
# Less than this is sent along with each task rather than through a file.
_SMALL = 100_000
# A task that is shorter costs more to send than to do.
_TASK_SECONDS = 0.05


class WorkerLostError(RuntimeError):
    """A chunk was lost with its worker more often than it was worth retrying."""


def is_loss(error: BaseException) -> bool:
    """Whether a task failed because its worker is gone, and so may succeed elsewhere."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, _LOST) or not names.isdisjoint(_LOST_BY_NAME)


@dataclass(frozen=True, slots=True)
class Scattered:
    """Bytes on a dask cluster, by the key that they have there."""

    key: str

    def fetch(self) -> bytes:
        """The bytes; from inside of a task."""
        from distributed import Future, get_client

        # A future that travels inside of another object would arrive without a client.
        future: Any = Future(self.key, get_client())
        content: bytes = future.result()
        return content


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something pickled: the bytes themselves, or where they are: in a file, or on a cluster."""

    content: bytes | str | Scattered

    def open(self) -> Any:
        """What is inside; from elsewhere it is fetched once per process."""
        if isinstance(self.content, bytes):
            return pickle.loads(self.content)
        return _fetched(self.content)


@functools.lru_cache(maxsize=2)
def _fetched(place: str | Scattered) -> Any:
    if isinstance(place, Scattered):
        return pickle.loads(place.fetch())
    return pickle.loads(Path(place).read_bytes())


def opened(work: Any) -> Any:
    """What a task was sent: a parcel's content, or the thing itself."""
    return work.open() if isinstance(work, Parcel) else work


@dataclass(slots=True)
class Begun(Generic[Job]):
    """Jobs under way: where, what is found of them, and the first loss that is known."""

    function: Callable[..., Any]
    jobs: tuple[Job, ...]
    executor: Executor | None = None
    futures: dict[Job, Future[Any]] = field(default_factory=dict)
    found: dict[Job, Any] = field(default_factory=dict)
    lost: BaseException | None = None

    def collect(self) -> BaseException | None:
        """Waits, and fills `found`; returns the first loss of a worker, raises any other error."""
        for job, future in self.futures.items():
            try:
                self.found[job] = future.result()
            except BaseException as error:
                if not is_loss(error):
                    self.cancel()
                    raise
                self.lost = self.lost or error
        return self.lost

    def cancel(self) -> None:
        """Takes back what no worker has begun."""
        for future in self.futures.values():
            future.cancel()


@dataclass(slots=True)
class Dispatch:
    """An executor, and what all tasks on it share.

    Args:
      work: What every task gets as its first argument, through `opened`.
      executor: Where tasks run; in this process if `None`.
    """

    work: Any
    executor: Executor | None = None
    _own: Executor | None = field(default=None, init=False)
    _sent: Any = field(default=None, init=False)
    _kept: Any = field(default=None, init=False)
    _file: Path | None = field(default=None, init=False)

    def begin(self, function: Callable[..., Any], jobs: Sequence[Job]) -> "Begun[Job]":
        """Sends the jobs to the workers; without an executor they wait for `finish`."""
        begun = Begun(function, tuple(jobs))
        self._submit(begun)
        return begun

    def finish(self, begun: "Begun[Job]") -> dict[Job, Any]:
        """`function(work, job)` of each job that was begun; a lost one is done again.

        Raises:
          WorkerLostError: A job was lost too often.
        """
        if self.executor is None:
            return {job: begun.function(self.work, job) for job in begun.jobs}
        for _ in range(RETRIES):
            lost = begun.collect()
            if lost is None:
                return begun.found
            self._forget()
            # What was begun before may have been lost with workers that are replaced by now.
            broken = begun.executor if isinstance(lost, concurrent.futures.BrokenExecutor) else None
            if broken is not None and broken is self._workers:
                self.close()
                self._own = _fresh_like(broken)
            self._submit(begun)
        begun.cancel()
        raise WorkerLostError(
            f"{len(begun.jobs) - len(begun.found)} chunks were lost with their workers "
            f"{RETRIES} times."
        )

    def close(self) -> None:
        """Ends the workers that replaced a broken executor, if there are any."""
        self._forget()
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None

    @property
    def _workers(self) -> Executor | None:
        return self._own or self.executor

    def _submit(self, begun: "Begun[Job]") -> None:
        """Sends what is not found yet; a loss of workers on the way is told by `collect`."""
        begun.executor, begun.futures, begun.lost = self._workers, {}, None
        if begun.executor is None:
            return
        options = _options(begun.executor)
        try:
            work = self._send(begun.executor)
            for job in begun.jobs:
                if job not in begun.found:
                    begun.futures[job] = begun.executor.submit(begun.function, work, job, **options)
        except Exception as error:
            if not is_loss(error):
                begun.cancel()
                raise
            begun.lost = error

    def _send(self, executor: Executor) -> Any:
        if self._sent is None:
            client = _client_of(executor)
            try:
                if client is not None:
                    self._sent, self._kept = _for_cluster(client, self.work)
                elif isinstance(executor, ProcessPoolExecutor):
                    self._sent = self._packed()
                else:
                    self._sent = self.work
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise TypeError(
                    "`mechanism` and its data must be picklable to travel to other processes, got "
                    f"{validate.shown(self.work)} ({error}). Define the mechanism with `def` at "
                    "the top of a module, not as a lambda or inside of a function; or use a "
                    "ThreadPoolExecutor, or a dask cluster, which takes lambdas."
                ) from error
        return self._sent

    def _packed(self) -> Parcel:
        content = pickle.dumps(self.work)
        if len(content) < _SMALL:
            return Parcel(content)
        with tempfile.NamedTemporaryFile(prefix="dp-assay-", delete=False) as file:
            file.write(content)
        self._file = Path(file.name)
        return Parcel(file.name)

    def _forget(self) -> None:
        self._sent = self._kept = None
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink()
            self._file = None


def completed(
    executor: Executor, function: Callable[[Job], Result], jobs: Iterable[Job]
) -> Iterator[tuple[Job, Result]]:
    """Jobs with their results as they come in; what is lost with its worker is done again.

    Raises:
      WorkerLostError: The executor is broken for good, or too many workers were lost.
    """
    options, losses = _options(executor), 0
    waiting = {executor.submit(function, job, **options): job for job in jobs}
    try:
        while waiting:
            done, _ = concurrent.futures.wait(waiting, return_when="FIRST_COMPLETED")
            for future in done:
                job = waiting.pop(future)
                try:
                    result = future.result()
                except BaseException as error:
                    if not is_loss(error):
                        raise
                    losses += 1
                    if isinstance(error, concurrent.futures.BrokenExecutor) or losses > RETRIES:
                        raise WorkerLostError(f"{losses} workers were lost.") from error
                    waiting[executor.submit(function, job, **options)] = job
                else:
                    yield job, result
    finally:
        for future in waiting:
            future.cancel()


def bundled(sizes: Sequence[int], seconds: float) -> list[slice]:
    """Runs of consecutive pieces that take about as long as a task should.

    Args:
      sizes: Of the pieces, in draws.
      seconds: What a draw was measured to take.

    >>> bundled([1, 1, 1, 1], 0.03)
    [slice(0, 2, None), slice(2, 4, None)]
    """
    runs, start, draws = [], 0, 0
    for index, size in enumerate(sizes):
        draws += size
        if draws * seconds >= _TASK_SECONDS:
            runs.append(slice(start, index + 1))
            start, draws = index + 1, 0
    if start < len(sizes):
        runs.append(slice(start, len(sizes)))
    return runs


def _options(executor: Executor) -> dict[str, Any]:
    """A cluster would take a second attempt for the first, whose failure it remembers."""
    return {} if _client_of(executor) is None else {"pure": False}


def _client_of(executor: Executor) -> Any | None:
    """The dask client behind an executor, if there is one."""
    client = getattr(executor, "_client", None)
    return client if hasattr(client, "scatter") else None


def _for_cluster(client: Any, work: Any) -> tuple[Parcel, Any]:
    """A parcel for dask's workers, which cloudpickle fills: it takes lambdas too.

    And the future that keeps what was scattered there.

    What is large is scattered, and fetched by each worker once. It is no dependency of the tasks in
    dask's own sense, or its scheduler would send them all to the worker that holds it.
    """
    import cloudpickle

    content: bytes = cloudpickle.dumps(work)
    if len(content) < _SMALL:
        return Parcel(content), None
    try:
        (scattered,) = client.scatter([content], hash=False)
    except KeyError as error:  # The worker that it was meant for has gone in between.
        raise ConnectionError(f"A worker was lost while data were sent to it: {error}") from error
    return Parcel(Scattered(scattered.key)), scattered


def _fresh_like(executor: Executor) -> Executor:
    """A process pool like the broken one, which cannot be used again."""
    return ProcessPoolExecutor(
        max_workers=getattr(executor, "_max_workers", None),
        mp_context=getattr(executor, "_mp_context", None),
        initializer=getattr(executor, "_initializer", None),
        initargs=getattr(executor, "_initargs", ()),
    )
