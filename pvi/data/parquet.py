"""Tables from Parquet files; needs the package `pyarrow`."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pvi.data.errors import DataError

_NUMBERS = ("int", "uint", "float", "double", "half", "bool")


def read_columns(file: Path, *, names: tuple[str, ...], most: int) -> dict[str, NDArray[Any]]:
    """The columns by name, in their order: numbers, and texts where `names` has the column.

    Args:
      file: The file.
      names: Columns that may hold texts.
      most: The most numbers that it may hold.

    Raises:
      DataError: It is no such table, has gaps, or is too large.
    """
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(
            "Parquet files need the package pyarrow: pip install dp-assay[parquet]."
        ) from error
    try:
        opened = parquet.ParquetFile(file)
        facts = opened.metadata
        if facts.num_rows * facts.num_columns > most:
            raise DataError(f"{file.name} must hold at most {most:,} numbers, got more.")
        table = opened.read()
    except DataError:
        raise
    except OSError:
        raise
    except Exception as error:  # pyarrow's own, of many kinds
        raise DataError(f"{file.name} must be a Parquet file, got: {error}.") from error
    if len(set(table.column_names)) != len(table.column_names):
        raise DataError(f"the columns of {file.name} must have different names.")
    found = {}
    for name in table.column_names:
        column = table.column(name)
        kind = str(column.type)
        text = name in names and kind in ("string", "large_string")
        if not text and not kind.startswith(_NUMBERS):
            raise DataError(f"`{name}` in {file.name} must hold numbers, got the type {kind}.")
        if column.null_count:
            raise DataError(f"`{name}` in {file.name} must have no gaps, got {column.null_count}.")
        values = column.to_pylist()
        if not text and not all(math.isfinite(value) for value in values):
            raise DataError(f"`{name}` in {file.name} must hold finite numbers.")
        found[name] = np.array(values, dtype=np.str_ if text else np.float64)
    return found
