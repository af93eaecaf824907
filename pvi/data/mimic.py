"""MIMIC-III in-hospital mortality, from the files of the public benchmark's preprocessing.

MIMIC-III itself needs a data use agreement and is not fetched from anywhere. Harutyunyan et al.
2019 ("Multitask learning and benchmarking with clinical time series data", code: mimic3-benchmarks)
turn it into a directory for each task; for in-hospital mortality, the one of TMLR's section 4:

    train/listfile.csv                     header "stay,y_true", one line for each stay
    train/<stay>.csv                       header "Hours,<17 channels>", one line for each moment
    test/…                                 the same

Cells are empty where nothing was measured; only the first 48 hours are in the files. The features
are those of the benchmark's logistic regression, which TMLR's published preprocessing uses too:
six statistics of each of 17 channels in each of seven parts of the stay, 714 columns.

TMLR then keeps 5594 stays (`pvi.data.balance`), fills gaps by column means, standardises, and (in
the public script, by default; the paper does not say so) keeps the 50 columns with the largest
weights of a non-private logistic regression fitted to all stays, validation included. Means,
scales and that choice of columns are all functions of the records that no ε of the paper covers:
see `pvi.data.scaling`. The choice of columns is not offered here.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pvi.data.dataset import Dataset
from pvi.data.errors import DataError
from pvi.data.text import finite_number, rows_of
from pvi.validate import finite_array, reals

CHANNELS = (
    "Capillary refill rate",
    "Diastolic blood pressure",
    "Fraction inspired oxygen",
    "Glascow coma scale eye opening",
    "Glascow coma scale motor response",
    "Glascow coma scale total",
    "Glascow coma scale verbal response",
    "Glucose",
    "Heart Rate",
    "Height",
    "Mean blood pressure",
    "Oxygen saturation",
    "Respiratory rate",
    "Systolic blood pressure",
    "Temperature",
    "Weight",
    "pH",
)
"""The channels in the files' order and spelling."""

# Two charting systems word the same coma scale differently; numbers as in the benchmark, which
# scores the eye response "None" 0 although the scale starts at 1.
_WORDS: dict[str, dict[str, float]] = {
    "Glascow coma scale eye opening": {
        "None": 0,
        "1 No Response": 1,
        "2 To pain": 2,
        "To Pain": 2,
        "3 To speech": 3,
        "To Speech": 3,
        "4 Spontaneously": 4,
        "Spontaneously": 4,
    },
    "Glascow coma scale motor response": {
        "1 No Response": 1,
        "No response": 1,
        "2 Abnorm extensn": 2,
        "Abnormal extension": 2,
        "3 Abnorm flexion": 3,
        "Abnormal Flexion": 3,
        "4 Flex-withdraws": 4,
        "Flex-withdraws": 4,
        "5 Localizes Pain": 5,
        "Localizes Pain": 5,
        "6 Obeys Commands": 6,
        "Obeys Commands": 6,
    },
    "Glascow coma scale verbal response": {
        "1 No Response": 1,
        "No Response": 1,
        "1.0 ET/Trach": 1,
        "No Response-ETT": 1,
        "2 Incomp sounds": 2,
        "Incomprehensible sounds": 2,
        "3 Inapprop words": 3,
        "Inappropriate Words": 3,
        "4 Confused": 4,
        "Confused": 4,
        "5 Oriented": 5,
        "Oriented": 5,
    },
}

STATISTICS = ("min", "max", "mean", "std", "skew", "len")
# (from, to) as fractions of the time between a channel's first and last measurement.
_PARTS = {
    "all": (0.0, 1.0),
    "first 10%": (0.0, 0.1),
    "first 25%": (0.0, 0.25),
    "first 50%": (0.0, 0.5),
    "last 10%": (0.9, 1.0),
    "last 25%": (0.75, 1.0),
    "last 50%": (0.5, 1.0),
}
_LARGEST = 1e100  # no measurement is; the cube of one beyond it would be infinite
_SLACK = 1e-6  # hours; the benchmark's tolerance at both ends of a part
FEATURES = tuple(f"{c}, {p}, {s}" for c in CHANNELS for p in _PARTS for s in STATISTICS)
"""The 714 column names: channel, part of the stay, statistic."""


def load_mimic(
    root: str | os.PathLike[str], *, partitions: Iterable[str] = ("train", "test")
) -> Dataset:
    """Stays of the in-hospital mortality task as 714 features each; label 1 means death.

    Features are NaN where a channel was never measured (`fill_missing`). Both partitions
    together are 21139 stays, 2797 of them deaths, in the benchmark's published version.

    Args:
      root: The task's directory, `in-hospital-mortality` in the benchmark's scripts.
      partitions: Which of its sub-directories to read, in this order.

    Raises:
      FileNotFoundError: A listfile or a stay that it names is missing.
      DataError: A file does not have the layout above, or a stay is listed twice; the message names
        file and line.
    """
    rows: list[NDArray[np.float64]] = []
    labels: list[int] = []
    seen: set[str] = set()
    for partition in partitions:
        folder = Path(root) / partition
        for stay, label in _read_listfile(folder / "listfile.csv"):
            if stay in seen:
                # A person who counts twice is protected half as well as ε says.
                raise DataError(f"{folder / 'listfile.csv'} lists {stay!r} for the second time")
            seen.add(stay)
            hours, values = read_stay(folder / stay)
            rows.append(stay_features(hours, values))
            labels.append(label)
    if not rows:
        raise DataError(f"partitions under {os.fspath(root)} list no stays, must list at least one")
    return Dataset(features=np.stack(rows), labels=np.array(labels, dtype=np.int64), names=FEATURES)


def read_stay(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The hours (T,) and the measurements (T, 17) of one stay, NaN where there are none."""
    lines = rows_of(path)
    _, header = next(lines, (0, None))
    if header != ["Hours", *CHANNELS]:
        raise DataError(f"{path} has the header {header}, must be Hours and {CHANNELS}")
    table = [_read_moment(path, number, line) for number, line in lines]
    moments = np.array(table, dtype=np.float64).reshape(-1, 1 + len(CHANNELS))
    if not np.all(np.isfinite(moments[:, 0])):
        raise DataError(f"{path} has a moment without a finite hour")
    if np.any(np.diff(moments[:, 0]) < 0):
        raise DataError(f"{path} has its hours in disorder, must be in ascending order")
    return moments[:, 0], moments[:, 1:]


def stay_features(hours: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    """The 714 features of one stay: statistics of each channel in each part of the stay.

    A part is a fraction of the time between that channel's own first and last measurement. The
    standard deviation divides by the number of measurements, the skewness is m₃/m₂^{3/2} and 0
    where all measurements are equal.

    Args:
      hours: Times of measurement, shape (T,), in ascending order.
      values: Measurements, shape (T, 17), NaN where there are none.

    Example:
      >>> features = stay_features([0.0, 1.0], np.tile([[2.0], [4.0]], 17))
      >>> dict(zip(STATISTICS, features[:6].tolist()))
      {'min': 2.0, 'max': 4.0, 'mean': 3.0, 'std': 1.0, 'skew': 0.0, 'len': 2.0}
    """
    times = np.asarray(hours, dtype=np.float64)
    table = np.asarray(values, dtype=np.float64)
    if times.ndim != 1 or table.shape != (len(times), len(CHANNELS)):
        raise ValueError(
            f"hours has shape {times.shape} and values {table.shape}, must be (T,) and "
            f"(T, {len(CHANNELS)})"
        )
    if np.any(np.diff(times) < 0):
        raise ValueError("hours must be in ascending order")
    return np.concatenate([_channel_features(times, column) for column in table.T])


def fill_missing(features: ArrayLike, fill: ArrayLike) -> NDArray[np.float64]:
    """The features with every NaN replaced by its column's fill value.

    With values known without the records (0 after public scaling; a healthy person's reading)
    this releases nothing. TMLR fills with `np.nanmean(features, axis=0)`, which depends on the
    records and is as much a release as exact scaling is: see `pvi.data.scaling`.

    Args:
      features: Shape (n, d).
      fill: A number or shape (d,), finite.

    Example:
      >>> fill_missing([[1.0, np.nan]], 0.0).tolist()
      [[1.0, 0.0]]
    """
    table, values = reals("features", features), finite_array("fill", fill)
    if values.ndim and values.shape != table.shape[-1:]:
        raise ValueError(
            f"`fill` must have the shape () or {table.shape[-1:]}, got {values.shape}."
        )
    return np.where(np.isnan(table), values, table)


def _read_listfile(path: Path) -> list[tuple[str, int]]:
    lines = rows_of(path)
    _, header = next(lines, (0, None))
    if header != ["stay", "y_true"]:
        raise DataError(f"{path} has the header {header}, must be ['stay', 'y_true']")
    stays = []
    for number, line in lines:
        if len(line) != 2 or line[1] not in ("0", "1"):
            raise DataError(f"{path}, line {number} is {line}, must be a stay and 0 or 1")
        if line[0] != Path(line[0]).name or line[0] in ("", ".."):
            raise DataError(f"{path}, line {number}: {line[0]!r} must be a plain file name")
        stays.append((line[0], int(line[1])))
    return stays


def _read_moment(path: Path, number: int, cells: list[str]) -> list[float]:
    if len(cells) != 1 + len(CHANNELS):
        raise DataError(
            f"{path}, line {number} has {len(cells)} cells, must have {1 + len(CHANNELS)}"
        )
    moment = []
    for name, cell in zip(("Hours", *CHANNELS), cells, strict=True):
        words = _WORDS.get(name, {})
        value = words[cell] if cell in words else finite_number(cell) if cell else np.nan
        if value is None or abs(value) > _LARGEST:
            raise DataError(
                f"{path}, line {number}: {name} is {cell!r}, must be a number, empty"
                + (f" or one of {sorted(words)}" if words else "")
            )
        moment.append(value)
    return moment


def _channel_features(
    hours: NDArray[np.float64], column: NDArray[np.float64]
) -> NDArray[np.float64]:
    measured = ~np.isnan(column)
    if not measured.any():
        return np.full(len(_PARTS) * len(STATISTICS), np.nan)
    times, values = hours[measured], column[measured]
    first, length = times[0], times[-1] - times[0]
    return np.concatenate(
        [
            _statistics(
                values[
                    (times > first + begin * length - _SLACK)
                    & (times < first + end * length + _SLACK)
                ]
            )
            for begin, end in _PARTS.values()
        ]
    )


def _statistics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Never empty: each part contains the channel's first or its last measurement.
    mean = values.mean()
    deviations = values - mean
    variance = np.mean(deviations**2)
    equal = np.all(values == values[0])
    # Of deviations so small that this underflows, nobody asks for the skewness.
    cubed = variance**1.5
    skew = 0.0 if equal or cubed == 0 else np.mean(deviations**3) / cubed
    spread = 0.0 if equal else np.sqrt(variance)
    return np.array([values.min(), values.max(), mean, spread, skew, len(values)], dtype=np.float64)
