"""Clients' data from a table in a file: CSV with named columns, or NPZ with named arrays."""

import csv
import os
import zipfile
from pathlib import Path

import numpy as np

from pvi.shard import Shard
from pvi.validate import FloatArray, at_least, finite_array


def read_shards(
    path: str | os.PathLike[str],
    *,
    clients: int,
    target: str = "target",
    client: str = "client",
) -> list[Shard]:
    """One shard per client.

    A CSV file has a header; its column `target` holds the targets, `client` says whose a record is,
    and all others are inputs, in their order. An NPZ file has the arrays `inputs` (n, k), `target`
    (n,) and `client` (n,), the first under that very name. Clients may be numbers or names; they
    are numbered in sorted order. Where nothing says whose a record is, the records are cut into
    consecutive parts of nearly equal size.

    Args:
      path: The file, by its ending.
      clients: How many clients there must be.
      target: The name of the targets.
      client: The name of what says whose a record is.

    Raises:
      ValueError: The file is not such a table; the message says where.
    """
    at_least("clients", clients, 1)
    file = Path(path)
    readers = {".csv": _read_csv, ".npz": _read_npz}
    if file.suffix not in readers:
        raise ValueError(f"`path` must end in .csv or .npz, got {file.name!r}.")
    inputs, targets, owners = readers[file.suffix](file, target, client)
    records = Shard(inputs=inputs, targets=targets)
    if owners is None:
        return list(records.partition(clients))
    names = sorted(set(owners), key=_numbers_first)
    if len(names) != clients:
        raise ValueError(
            f"`{client}` must name {clients} clients in {file.name}, got {len(names)}."
        )
    labels = np.array([names.index(owner) for owner in owners])
    return [records.take(np.flatnonzero(labels == number)) for number in range(clients)]


_Table = tuple[FloatArray, FloatArray, list[str] | None]


def _numbers_first(name: str) -> tuple[bool, float, str]:
    """Orders numbers by size, and before names."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def _read_csv(file: Path, target: str, client: str) -> _Table:
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream)
        header = next(rows, None)
        if header is None or target not in header:
            raise ValueError(f"`{target}` must be a column of {file.name}, got {header}.")
        if len(set(header)) != len(header):
            raise ValueError(f"the columns of {file.name} must have different names, got {header}.")
        columns = [name for name in header if name not in (target, client)]
        numbers: list[list[float]] = []
        owners: list[str] = []
        for line, row in enumerate(rows, start=2):
            if len(row) != len(header):
                raise ValueError(
                    f"line {line} of {file.name} must have {len(header)} cells, got {len(row)}."
                )
            cells = dict(zip(header, row, strict=True))
            numbers.append([_number(file, line, name, cells[name]) for name in (*columns, target)])
            owners.append(cells.get(client, ""))
    if not numbers:
        raise ValueError(f"{file.name} must have at least one record, got none.")
    table = np.array(numbers)
    return table[:, :-1], table[:, -1], owners if client in header else None


def _number(file: Path, line: int, column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(
            f"`{column}` in line {line} of {file.name} must be a finite number, got {cell!r}."
        )
    return value


def _read_npz(file: Path, target: str, client: str) -> _Table:
    with file.open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise ValueError(f"{file.name} must be an NPZ file, got another.")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            missing = [name for name in ("inputs", target) if name not in arrays]
            if missing:
                raise ValueError(
                    f"{file.name} must hold the arrays {missing}, got {sorted(arrays)}."
                )
            owners = [str(own) for own in arrays[client]] if client in arrays else None
            inputs = finite_array("inputs", arrays["inputs"], min_ndim=2)
            return inputs, finite_array(target, arrays[target], min_ndim=1), owners
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{file.name} must be an NPZ file, got: {error}.") from error
