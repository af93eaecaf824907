"""An accountant's history, as Opacus keeps it: rows (noise multiplier, sampling rate, steps)."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import codec, validate
from accountants.dp_sgd import ADD_OR_REMOVE_ONE, repeated_event
from accountants.sampling import SamplingKind

Row: TypeAlias = tuple[float, float, int]
_CHECKPOINT, _HISTORY = "privacy_accountant_state_dict", "history"
_LARGEST = 2**34
_MOST_ROWS = 1_000_000
_INSTEAD = (
    "Save the accountant's state alone, torch.save(engine.accountant.state_dict(), FILE), or "
    "json.dump(engine.accountant.history, file)"
)


def rows_of(history: Any) -> tuple[Row, ...]:
    """The rows of a history, of an accountant's state, or of a checkpoint that holds one.

    >>> rows_of({"history": [(1.1, 0.01, 100)], "mechanism": "prv"})
    ((1.1, 0.01, 100),)
    """
    for name in (_CHECKPOINT, _HISTORY):
        if isinstance(history, dict):
            if name not in history and name == _HISTORY:
                raise ValueError(
                    f"`history` must be rows, or have them as {_HISTORY!r} or in {_CHECKPOINT!r}, "
                    f"got {validate.shown(sorted(map(str, history)))}."
                )
            history = history.get(name, history)
    rows = validate.sequence("history", history, _row, least=1)
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"`history` must have at most {_MOST_ROWS:,} rows, got {len(rows):,}.")
    return rows


def _row(name: str, value: Any) -> Row:
    entries: tuple[Any, ...] = validate.sequence(name, value)
    if len(entries) != 3:
        raise validate.refusal(name, "rows (noise_multiplier, sample_rate, steps)", value)
    noise, rate, steps = entries
    return (
        validate.positive("noise_multiplier", noise),
        validate.rate("sample_rate", rate),
        validate.count("steps", steps),
    )


def read_history(file: str | os.PathLike[str]) -> tuple[Row, ...]:
    """The rows in a file: JSON, or what torch saved of an accountant's state or of a checkpoint.

    A file of torch is a pickle, and a pickle is a program. It is read by torch's restricted reader
    (`weights_only=True`), which runs none: it knows tensors, numbers, text and containers only.

    Raises:
      ValueError: The file holds anything else, or torch is needed and is not installed.
      OSError: It cannot be read.
    """
    path = validate.file_name("file", file)
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"`file` must have at most {_LARGEST:,} bytes, got more: {path.name}.")
    with path.open("rb") as opened:
        start = opened.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"[", b"{"):
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"`file` must be JSON in UTF-8, got {path.name}.") from None
        return rows_of(codec.read_json(text))
    if start[:2] not in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04"):
        raise ValueError(
            f"`file` must hold a history as JSON or as torch saves it, got {path.name}. {_INSTEAD}."
        )
    return rows_of(_read_torch(path))


def _read_torch(path: Path) -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise ValueError(
            f"`file` must be JSON where torch is not installed, got {path.name}. {_INSTEAD}."
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its formats
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # a damaged file may make its reader fail in any way
        first = str(error).strip().split("\n")[0][:200]
        raise ValueError(
            f"`file` must hold tensors, numbers and text only, got {path.name} ({first}). "
            f"{_INSTEAD}."
        ) from None


def history_event(
    history: Sequence[Row],
    *,
    sampling: SamplingKind,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    records_per_user: int = 1,
) -> dpa.DpEvent:
    """The event of a history, one row after the other; refused where sampling does not fit.

    A history says neither how batches were drawn nor which data sets are neighbours: the caller
    must. Of "shuffled" and "balls_in_bins" each row must be whole epochs.

    >>> history_event([(1.0, 0.25, 8)], sampling="balls_in_bins")
    SelfComposedDpEvent(event=BallsInBinsDpEvent(steps_per_epoch=4, \
event=GaussianDpEvent(noise_multiplier=1.0)), count=2)
    """
    events: list[dpa.DpEvent] = [
        dpa.SelfComposedDpEvent(
            *repeated_event(noise, rate, steps, sampling, relation, records_per_user)
        )
        for noise, rate, steps in rows_of(history)
    ]
    return events[0] if len(events) == 1 else dpa.ComposedDpEvent(events)
