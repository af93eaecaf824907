"""Clients' data from a table in a file: CSV or Parquet with named columns, or NPZ."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pvi.data.archives import read_members
from pvi.data.errors import DataError
from pvi.data.parquet import read_columns
from pvi.data.text import finite_number, rows_of
from pvi.shard import Shard
from pvi.validate import FloatArray, at_least, file_name, finite_array, instance, shown

MOST_BYTES = 2**30
"""The most bytes that an array of an NPZ file may have once it is unpacked."""


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
    (n,) and `client` (n,), the first under that very name, and no others. A Parquet file has
    columns as a CSV file has, and is read by pyarrow. Clients may be numbers or names; they are
    numbered in sorted order. Where nothing says whose a record is, the records are cut into
    consecutive parts of nearly equal size.

    Args:
      path: The file, by its ending.
      clients: How many clients there must be.
      target: The name of the targets.
      client: The name of what says whose a record is.

    Raises:
      DataError: The file is not such a table; the message says where. Nothing is left out, guessed
        or unpickled.
      OSError: The file cannot be read.
    """
    at_least("clients", clients, 1)
    file, records, owners = _read(path, target, client)
    if owners is None:
        return list(records.partition(clients))
    if not all(owner.strip() for owner in owners):
        raise DataError(f"`{client}` must say whose each record is in {file.name}, got a blank.")
    names = sorted(set(owners), key=_numbers_first)
    if len(names) != clients:
        raise DataError(f"`{client}` must name {clients} clients in {file.name}, got {len(names)}.")
    places = {name: number for number, name in enumerate(names)}
    labels = np.array([places[owner] for owner in owners])
    return [records.take(np.flatnonzero(labels == number)) for number in range(clients)]


def read_records(
    path: str | os.PathLike[str], *, target: str = "target", client: str = "client"
) -> Shard:
    """All records of such a table, whosever they are; see `read_shards`."""
    return _read(path, target, client)[1]


def _read(
    path: str | os.PathLike[str], target: str, client: str
) -> tuple[Path, Shard, list[str] | None]:
    """The file, its records, and whose each is if it says so."""
    instance("target", target, str)
    instance("client", client, str)
    if len({target, client, "inputs"}) != 3:
        raise ValueError(
            f"`target` and `client` must be two names other than 'inputs', got {shown(target)} and "
            f"{shown(client)}."
        )
    file = file_name("path", path)
    readers = {".csv": _read_csv, ".npz": _read_npz, ".parquet": _read_parquet}
    if file.suffix not in readers:
        raise ValueError(f"`path` must end in .csv, .npz or .parquet, got {shown(file.name)}.")
    inputs, targets, owners = readers[file.suffix](file, target, client)
    if not inputs.size:
        raise DataError(
            f"{file.name} must have at least one record and one input, got the shape "
            f"{inputs.shape}."
        )
    for name, column in ((target, targets), (client, owners)):
        if column is not None and len(column) != len(inputs):
            raise DataError(
                f"`{name}` must have one entry for each of {len(inputs)} records in {file.name}, "
                f"got {len(column)}."
            )
    return file, Shard(inputs=inputs, targets=targets), owners


_Table = tuple[FloatArray, FloatArray, list[str] | None]


def _numbers_first(name: str) -> tuple[bool, float, str]:
    """Orders numbers by size, and before names."""
    number = finite_number(name)
    return (True, 0.0, name) if number is None else (False, number, name)


def _read_csv(file: Path, target: str, client: str) -> _Table:
    rows = rows_of(file)
    _, header = next(rows, (0, None))
    if header is None or target not in header:
        raise DataError(f"`{target[:100]}` must be a column of {file.name}, got {shown(header)}.")
    if len(set(header)) != len(header):
        raise DataError(f"the columns of {file.name} must have different names, got {header}.")
    columns = [name for name in header if name not in (target, client)]
    numbers: list[list[float]] = []
    owners: list[str] = []
    for line, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"line {line} of {file.name} must have {len(header)} cells, got {len(row)}."
            )
        cells = dict(zip(header, row, strict=True))
        numbers.append([_number(file, line, name, cells[name]) for name in (*columns, target)])
        owners.append(cells.get(client, ""))
    table = np.array(numbers).reshape(-1, len(columns) + 1)
    return table[:, :-1], table[:, -1], owners if client in header else None


def _number(file: Path, line: int, column: str, cell: str) -> float:
    value = finite_number(cell)
    if value is None:
        raise DataError(
            f"`{column}` in line {line} of {file.name} must be a finite number, got {cell!r}."
        )
    return value


def _read_npz(file: Path, target: str, client: str) -> _Table:
    with file.open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise DataError(f"{file.name} must be an NPZ file, got another.")
    needed = ("inputs", target, client)
    members = read_members(
        file, [f"{name}.npy" for name in needed], most=MOST_BYTES, no_others=True
    )
    missing = [name for name in ("inputs", target) if f"{name}.npy" not in members]
    if missing:
        raise DataError(f"{file.name} must hold the arrays {missing}, got only others.")
    arrays = {
        name: _array(file, name, members[f"{name}.npy"])
        for name in needed
        if f"{name}.npy" in members
    }
    for name, axes in (("inputs", 2), (target, 1), (client, 1)):
        if name in arrays and arrays[name].ndim != axes:
            raise DataError(
                f"`{name}` in {file.name} must have {axes} axes, got {arrays[name].shape}."
            )
    owners = [str(own) for own in arrays[client].tolist()] if client in arrays else None
    numbers = {name: _finite(file, name, arrays[name]) for name in ("inputs", target)}
    return numbers["inputs"], numbers[target], owners


def _read_parquet(file: Path, target: str, client: str) -> _Table:
    columns = read_columns(file, names=(client,), most=MOST_BYTES // 8)
    if target not in columns:
        raise DataError(
            f"`{target[:100]}` must be a column of {file.name}, got {shown(list(columns))}."
        )
    owners = columns.pop(client, None)
    targets = columns.pop(target)
    inputs = np.stack(list(columns.values()), axis=1) if columns else np.zeros((len(targets), 0))
    return inputs, targets, None if owners is None else [_label(own) for own in owners.tolist()]


def _label(own: float | str) -> str:
    return f"{own:g}" if isinstance(own, float) else own


def _array(file: Path, name: str, content: bytes) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # a damaged header raises what it happens upon
        raise DataError(f"`{name}` in {file.name} must be an array, got: {error}.") from error
    if found.dtype.kind not in "biufU":
        raise DataError(
            f"`{name}` in {file.name} must hold numbers or names, got the type {found.dtype}."
        )
    return found


def _finite(file: Path, name: str, array: NDArray[Any]) -> FloatArray:
    if array.dtype.kind == "U":
        raise DataError(f"`{name}` in {file.name} must hold numbers, got the type {array.dtype}.")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused for it
        try:
            return finite_array(name, array)
        except ValueError as error:
            raise DataError(f"in {file.name}, {error}") from error
