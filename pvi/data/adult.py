"""UCI Adult as the papers use it: 48842 records, 108 columns, does the income exceed 50,000?

Six standardised numeric columns and 102 one-hot columns; records with unknown fields are kept, and
`?` is a category. The training file's records come first, then the test file's: the papers pool
both and divide them anew (`pvi.data.holdout`, `pvi.data.split`). `fnlwgt`, a survey weight that
says nothing about the person, is a feature as in the papers.
"""

import os
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pvi.data.adult_files import ADULT_SHA256, adult_files
from pvi.data.adult_schema import CATEGORICAL, COLUMNS, FIELDS, NUMERIC
from pvi.data.dataset import Dataset
from pvi.data.errors import DataError
from pvi.data.scaling import Scaler, fit_scaler, scaler_from_bounds
from pvi.data.text import finite_number

Scaling = Literal["exact", "public", "none"]


def load_adult(
    path: str | os.PathLike[str] | None = None,
    *,
    scaling: Scaling = "exact",
    bias: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """The 48842 records of UCI Adult as numbers; labels are 1 for an income above 50,000, else 0.

    Args:
      path: A directory or archive with `adult.data` and `adult.test`; by default what the
        environment variable `DP_ASSAY_ADULT` names, or the cache, or a download.
      scaling: What happens to the six numeric columns. "exact": mean 0 and standard deviation
        1 over all records, test records included, as in the Workshop's published
        preprocessing; that is *not private*, see `pvi.data.scaling`. "public": bounds known
        without the data are mapped onto [−1, 1] and values outside are clipped; private,
        because nothing is learnt from the records. "none": the raw numbers.
      bias: Whether a column of ones comes first (109 columns, as in TMLR).
      cache_dir: Where downloads are kept; see `pvi.data.cache_directory`.
      download: Whether the network may be used.

    Raises:
      DataUnavailableError: No source is within reach; the message says what to do.
      HashMismatchError: The files under the given path are not the UCI files.

    Both are a `DataError`.
    """
    if scaling not in ("exact", "public", "none"):
        raise ValueError(f"scaling is {scaling!r}, must be 'exact', 'public' or 'none'")
    contents = adult_files(path, cache_dir=cache_dir, download=download)
    data = parse_adult(*(contents[name] for name in ADULT_SHA256))
    if scaling != "none":
        numeric = slice(0, len(NUMERIC))
        scaler = fit_scaler(data.features[:, numeric]) if scaling == "exact" else public_scaler()
        data.features[:, numeric] = scaler(data.features[:, numeric])
    return data.with_bias() if bias else data


def public_scaler() -> Scaler:
    """Scales the six numeric columns by bounds that do not depend on the records.

    Example:
      >>> float(public_scaler()([[17, 0, 1, 0, 0, 1]]).max())
      -1.0
    """
    return scaler_from_bounds([a for a, _ in NUMERIC.values()], [b for _, b in NUMERIC.values()])


def parse_adult(*contents: bytes) -> Dataset:
    """Reads raw files into 108 columns; numbers are left as they are.

    Example:
      >>> record = (
      ...     b"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, "
      ...     b"Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"
      ... )
      >>> data = parse_adult(record)
      >>> data.features.shape, data.labels.tolist(), data.features[0, :3].tolist()
      ((1, 108), [0], [39.0, 77516.0, 13.0])

    Raises:
      DataError: A record is not as it is described in the data set's documentation.
    """
    records = [
        fields
        for content in contents
        for number, line in enumerate(_text(content).splitlines(), start=1)
        if (fields := _fields(line, number)) is not None
    ]
    if not records:
        raise DataError("contents holds no records, must hold at least one")
    columns = dict(zip(FIELDS, zip(*records, strict=True), strict=True))
    numeric = np.array([_numbers(name, columns[name]) for name in NUMERIC]).T
    one_hot = [_one_hot(name, np.array(columns[name])) for name in CATEGORICAL]
    # The test file ends its classes with a full stop.
    income = np.char.rstrip(np.array(columns["income"]), ".")
    if unknown := set(income.tolist()) - {"<=50K", ">50K"}:
        raise DataError(f"income holds {sorted(unknown)}, must be '<=50K' or '>50K'")
    return Dataset(
        features=np.concatenate([numeric, *one_hot], axis=1),
        labels=(income == ">50K").astype(np.int64),
        names=COLUMNS,
    )


def _text(content: bytes) -> str:
    # numpy drops NUL bytes at the end of a text, and would take such a category for another.
    if b"\0" in content or not content.isascii():
        raise DataError("contents holds bytes beyond printable ASCII, must be plain text")
    return content.decode("ascii")


def _numbers(name: str, cells: Sequence[str]) -> list[float]:
    values = []
    for cell in cells:
        if (value := finite_number(cell)) is None:
            raise DataError(f"{name} holds {cell!r}, must be a finite number")
        values.append(value)
    return values


def _fields(line: str, number: int) -> list[str] | None:
    """A line's fields, or None for blank lines and the test file's first line, a comment."""
    if not line.strip() or line.startswith("|"):
        return None
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != len(FIELDS):
        raise DataError(f"line {number} has {len(fields)} fields, must have {len(FIELDS)}")
    return fields


def _one_hot(name: str, values: NDArray[np.str_]) -> NDArray[np.float64]:
    vocabulary = np.array(CATEGORICAL[name])
    position = np.minimum(np.searchsorted(vocabulary, values), len(vocabulary) - 1)
    if np.any(wrong := vocabulary[position] != values):
        raise DataError(
            f"{name} holds {sorted(set(values[wrong].tolist()))}, must be among {CATEGORICAL[name]}"
        )
    code: NDArray[np.float64] = np.eye(len(vocabulary))[position]
    return code
