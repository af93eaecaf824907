"""Saving and resuming a run: one .npz of plain arrays and a JSON text, never pickle.

Models, solvers and hooks are code and are not saved: build the federation as before, then `restore`
into it. A resumed run continues bit for bit, its generator included.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pvi.client import Client, Pending
from pvi.federation import Federation, History
from pvi.gaussian import MeanFieldGaussian
from pvi.messages import Snapshot, Update
from pvi.strategies.protocol import PartState
from pvi.validate import FloatArray

_FORMAT = "pvi-federation-2"


def save(path: str | os.PathLike[str], federation: Federation) -> None:
    """Writes the federation's state; an interrupted write leaves an older file as it was."""
    server = federation.server
    history = federation.history
    arrays: dict[str, Any] = {
        "prior": server.prior.vector,
        "posterior": server.posterior.vector,
        "offset": server.offset.vector,
        "history/round": history.round,
        "history/posterior": history.posterior,
        "history/change": history.change,
        "history/updates": history.updates,
    }
    meta: dict[str, Any] = {
        "format": _FORMAT,
        "round": server.round,
        "resolved": server.resolved,
        "applied": server.applied,
        "updates": federation.updates,
        "rng": federation.rng.bit_generator.state,
        "clients": [],
        "held": [],
    }
    for client in federation.clients:
        meta["clients"].append(_pack_client(client, arrays))
    for number, snapshot in federation.held.items():
        arrays[f"held/{number}"] = snapshot.posterior.vector
        fields = {
            name: getattr(snapshot, name) for name in ("client", "round", "resolved", "applied")
        }
        meta["held"].append(fields)
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    with partial.open("wb") as file:
        np.savez(file, meta=np.array(json.dumps(meta, default=_plain)), **arrays)
    partial.replace(target)


def restore(path: str | os.PathLike[str], federation: Federation) -> None:
    """Puts a saved state into a federation built with the same prior and number of clients."""
    with np.load(Path(path), allow_pickle=False) as file:
        arrays = {name: np.asarray(file[name]) for name in file.files}
    meta = json.loads(str(arrays.pop("meta", np.array("{}"))))
    if meta.get("format") != _FORMAT:
        raise ValueError(f"{path} has format {meta.get('format')!r}; {_FORMAT!r} is needed")
    if len(meta["clients"]) != len(federation.clients):
        raise ValueError(
            f"{path} holds {len(meta['clients'])} clients; the federation has "
            f"{len(federation.clients)}"
        )
    server = federation.server
    if not np.array_equal(arrays["prior"], server.prior.vector):
        raise ValueError(f"{path} was saved with another prior than the federation has")
    if meta["rng"]["bit_generator"] != federation.rng.bit_generator.state["bit_generator"]:
        raise ValueError(f"{path} was saved with a {meta['rng']['bit_generator']} generator")
    federation.rng.bit_generator.state = meta["rng"]
    server.posterior = MeanFieldGaussian.from_vector(arrays["posterior"])
    server.offset = MeanFieldGaussian.from_vector(arrays["offset"])
    server.round = meta["round"]
    server.resolved = list(meta["resolved"])
    server.applied = list(meta["applied"])
    federation.updates = meta["updates"]
    federation.history = History(
        round=arrays["history/round"],
        posterior=arrays["history/posterior"],
        change=arrays["history/change"],
        updates=arrays["history/updates"],
    )
    federation.held = {
        fields["client"]: Snapshot(
            posterior=MeanFieldGaussian.from_vector(arrays[f"held/{fields['client']}"]), **fields
        )
        for fields in meta["held"]
    }
    for client, fields in zip(federation.clients, meta["clients"], strict=True):
        _unpack_client(client, fields, arrays)


def _pack_client(client: Client, arrays: dict[str, Any]) -> dict[str, Any]:
    place = f"client/{client.number}"
    arrays[f"{place}/factor"] = client.factor.vector
    fields: dict[str, Any] = {
        "sequence": client.sequence,
        "state": _pack_state(client.state, f"{place}/state", arrays),
        "pending": None,
    }
    if client.pending is not None:
        update, place = client.pending.update, f"{place}/pending"
        arrays[f"{place}/change"] = update.change.vector
        arrays[f"{place}/factor"] = client.pending.factor.vector
        fields["pending"] = {
            "round": update.round,
            "sequence": update.sequence,
            "state": _pack_state(client.pending.state, f"{place}/state", arrays),
        }
    return fields


def _unpack_client(
    client: Client, fields: Mapping[str, Any], arrays: Mapping[str, FloatArray]
) -> None:
    place = f"client/{client.number}"
    client.factor = MeanFieldGaussian.from_vector(arrays[f"{place}/factor"])
    client.state = _unpack_state(fields["state"], f"{place}/state", arrays)
    client.sequence = fields["sequence"]
    client.pending = None
    if fields["pending"] is not None:
        pending, place = fields["pending"], f"{place}/pending"
        update = Update(
            client=client.number,
            round=pending["round"],
            sequence=pending["sequence"],
            change=MeanFieldGaussian.from_vector(arrays[f"{place}/change"]),
        )
        client.pending = Pending(
            update=update,
            factor=MeanFieldGaussian.from_vector(arrays[f"{place}/factor"]),
            state=_unpack_state(pending["state"], f"{place}/state", arrays),
        )


def _pack_state(
    state: tuple[PartState, ...], place: str, arrays: dict[str, Any]
) -> list[dict[str, Any]]:
    """Gives for each part the names of its solver's arrays, and whether it has a factor."""
    for number, part in enumerate(state):
        for name, value in part.solver.items():
            arrays[f"{place}/{number}/solver/{name}"] = value
        if part.factor is not None:
            arrays[f"{place}/{number}/factor"] = part.factor.vector
    return [{"solver": list(part.solver), "factor": part.factor is not None} for part in state]


def _unpack_state(
    parts: list[dict[str, Any]], place: str, arrays: Mapping[str, FloatArray]
) -> tuple[PartState, ...]:
    return tuple(
        PartState(
            solver={name: arrays[f"{place}/{number}/solver/{name}"] for name in part["solver"]},
            factor=MeanFieldGaussian.from_vector(arrays[f"{place}/{number}/factor"])
            if part["factor"]
            else None,
        )
        for number, part in enumerate(parts)
    )


def _plain(value: object) -> object:
    """Gives what JSON can hold; generators keep their state in arrays and numpy integers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot save a {type(value).__name__}")
