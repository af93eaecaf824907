"""Cells of CSV files, read so that what is no plain table is refused."""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from pvi.data.errors import DataError


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file in UTF-8, each with the number of the line that it ends in.

    A byte-order mark, as spreadsheets write it, is no part of the first name.

    Raises:
      DataError: The file is not such a text.
      OSError: It cannot be read.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)
        while True:
            try:
                row = next(rows, None)
            except UnicodeDecodeError as error:
                raise DataError(f"{path} must be text in utf-8, got: {error}.") from error
            except csv.Error as error:
                raise DataError(
                    f"{path}, line {rows.line_num}, must be CSV, got: {error}."
                ) from error
            if row is None:
                return
            if any("\0" in cell for cell in row):
                raise DataError(f"{path}, line {rows.line_num}, must be text, got a NUL byte.")
            yield rows.line_num, row


def finite_number(cell: str) -> float | None:
    """The cell's number, or `None` where it has no finite one.

    >>> finite_number(" -1e-3"), finite_number("1e400"), finite_number("1_000")
    (-0.001, None, None)
    """
    if not cell.isascii() or "_" in cell:  # Python would read 1_000, and digits of any script
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
