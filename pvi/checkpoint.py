"""Saving and resuming a run, bit for bit.

Models, solvers and hooks are code and are not saved: build the engine as before, then `restore`
into it. All is checked before anything changes; what is refused leaves the engine as it was.

What others know about a run is part of its state. A `Companion` at an engine is saved with it, and
a run that has one is not restored without. This package does not look into it.

A file holds what clients keep to themselves, their factors among it: it is as private as the data.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pvi import files
from pvi.archive import CheckpointError, Companion, Packed, decode, encode
from pvi.validate import file_name, having


class Engine(Companion, Protocol):
    """What can be saved: `Federation` and `FederatedAveraging`."""

    @property
    def companion(self) -> Companion | None:
        """What else must be saved with it."""
        ...


def save(path: str | os.PathLike[str], engine: Engine) -> None:
    """Writes the engine's state and its companion's; a write that dies leaves the older file.

    Raises:
      CheckpointError: Some of it cannot be written.
    """
    _check(path, engine)
    states = {"engine": engine.pack()}
    companion = engine.companion
    if companion is not None:
        states["companion"] = companion.pack()
    facts: dict[str, Any] = {place: packed.facts for place, packed in states.items()}
    facts["accompanied by"] = None if companion is None else companion.kind
    arrays = {
        f"{place}/{name}": array
        for place, packed in states.items()
        for name, array in packed.arrays.items()
    }
    files.write_atomically(path, encode(engine.kind, Packed(facts, arrays)))


def restore(path: str | os.PathLike[str], engine: Engine) -> None:
    """Puts a saved state into an engine that was built as the saved one was.

    Raises:
      CheckpointError: The file is damaged, is not of such an engine, contradicts itself, or lacks
        the companion's state (or has one that nobody here would keep). Nothing has changed then.
    """
    _check(path, engine)
    content = Path(path).read_bytes()
    try:
        facts, arrays = decode(engine.kind, content)
        applies = [engine.unpack(_state("engine", facts, arrays))]
        saved, companion = facts["accompanied by"], engine.companion
        if saved != (None if companion is None else companion.kind):
            raise CheckpointError(
                f"it was saved with {saved or 'nothing'} beside the engine, which has "
                f"{'nothing' if companion is None else companion.kind}: one would be lost"
            )
        if companion is not None:
            applies.append(companion.unpack(_state("companion", facts, arrays)))
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be restored: {error}") from error
    except Exception as error:
        raise CheckpointError(f"{path} cannot be restored, it holds {error!r}") from error
    # The companion first: if it can refuse after all, the engine must not have gone on without it.
    for apply in reversed(applies):
        apply()


def _check(path: Any, engine: Any) -> None:
    file_name("path", path)
    having("engine", engine, "kind", "pack", "unpack", "companion")


def _state(place: str, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Packed:
    prefix = f"{place}/"
    return Packed(
        facts[place],
        {
            name.removeprefix(prefix): array
            for name, array in arrays.items()
            if name.startswith(prefix)
        },
    )
