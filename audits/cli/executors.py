"""Where a command draws: in this process, on processes of this machine, or on a dask cluster."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

from accountants import validate
from audits.cli.options import Container, add_workers
from audits.testing.workers import process_pool

_WAIT = "10s"


def add_executors(parser: Container, *, default: int) -> None:
    """Adds `--workers` and `--cluster`."""
    add_workers(parser, default=default)
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="draw on the workers of a dask cluster instead: the address of its scheduler, such "
        "as tcp://10.0.0.1:8786. They need dp-assay and what the mechanism imports. Needs the "
        "extra `distributed`",
    )


@contextlib.contextmanager
def executor_of(
    given: argparse.Namespace,
    *,
    alone: bool = True,
    first: Callable[..., Any] | None = None,
    arguments: tuple[Any, ...] = (),
) -> Iterator[Executor | None]:
    """The executor that the options name; `None` is this process.

    Args:
      given: With `workers` and `cluster`.
      alone: Whether a single worker is this process.
      first: What a new process does before all else.
      arguments: Of `first`.
    """
    if given.cluster is not None:
        with _cluster(given.cluster) as executor:
            yield executor
        return
    count = validate.count("--workers", given.workers)
    if count == 1 and alone:
        yield None
        return
    with process_pool(count, first, *arguments) as pool:
        yield pool


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            "`--cluster` must be left out unless dask's distributed is installed (pip install "
            "distributed, or dp-assay with the extra `distributed`)."
        ) from error
    try:
        connect: Callable[..., Any] = Client
        client = connect(address, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"`--cluster` must be the address of a dask scheduler, got {address!r} ({error})."
        ) from error
    try:
        count = len(client.scheduler_info(n_workers=-1)["workers"])
        print(f"cluster {address}: {count} workers", file=sys.stderr)
        yield client.get_executor()
    finally:
        client.close()


def by_value(module: Any) -> None:
    """Functions and classes of this module travel as they are, to workers that lack its file."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)
