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
from pvi.validate import FloatArray

_FORMAT = "pvi-federation-1"


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
    start = f"client/{client.number}"
    arrays[f"{start}/factor"] = client.factor.vector
    arrays.update({f"{start}/state/{name}": value for name, value in client.state.items()})
    fields: dict[str, Any] = {"sequence": client.sequence, "pending": None}
    if client.pending is not None:
        update = client.pending.update
        fields["pending"] = {"round": update.round, "sequence": update.sequence}
        arrays[f"{start}/pending/change"] = update.change.vector
        arrays[f"{start}/pending/factor"] = client.pending.factor.vector
        state = client.pending.state
        arrays.update({f"{start}/pending/state/{name}": value for name, value in state.items()})
    return fields


def _unpack_client(
    client: Client, fields: Mapping[str, Any], arrays: Mapping[str, FloatArray]
) -> None:
    start = f"client/{client.number}"
    client.factor = MeanFieldGaussian.from_vector(arrays[f"{start}/factor"])
    client.state = _below(arrays, f"{start}/state/")
    client.sequence = fields["sequence"]
    client.pending = None
    if fields["pending"] is not None:
        update = Update(
            client=client.number,
            round=fields["pending"]["round"],
            sequence=fields["pending"]["sequence"],
            change=MeanFieldGaussian.from_vector(arrays[f"{start}/pending/change"]),
        )
        client.pending = Pending(
            update=update,
            factor=MeanFieldGaussian.from_vector(arrays[f"{start}/pending/factor"]),
            state=_below(arrays, f"{start}/pending/state/"),
        )


def _below(arrays: Mapping[str, FloatArray], prefix: str) -> dict[str, FloatArray]:
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def _plain(value: object) -> object:
    """Gives what JSON can hold; generators keep their state in arrays and numpy integers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot save a {type(value).__name__}")
