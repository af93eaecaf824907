"""A federation's state as plain arrays and facts, and back; everything is checked on the way back.

q is the prior times the clients' factors, the server's offset, changes that were applied and not
yet committed, and, where a client's hook keeps something else than it sends, a drift. The drift is
saved too, so that q and what it is made of must still agree, bit for bit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pvi.archive import Apply, CheckpointError, Packed
from pvi.client import Client, Pending
from pvi.gaussian import MeanFieldGaussian
from pvi.generator_state import checked_state
from pvi.history import History
from pvi.messages import Snapshot, Update
from pvi.strategies.protocol import PartState
from pvi.validate import FloatArray, at_least

if TYPE_CHECKING:
    from pvi.federation import Federation


def pack(federation: "Federation") -> Packed:
    """Gives the federation's state."""
    server, history = federation.server, federation.history
    arrays: dict[str, Any] = {
        "prior": server.prior.vector,
        "posterior": server.posterior.vector,
        "offset": server.offset.vector,
        "drift": _drift(
            server.posterior,
            server.prior,
            *(client.factor for client in federation.clients),
            server.offset,
            *_unheard(
                [client.pending for client in federation.clients], server.last, server.applied
            ),
        ),
        "history/round": history.round,
        "history/posterior": history.posterior,
        "history/change": history.change,
        "history/updates": history.updates,
    }
    for number, snapshot in federation.held.items():
        arrays[f"held/{number}"] = snapshot.posterior.vector
    for m, last in enumerate(server.last):
        if last is not None:
            arrays[f"last/{m}"] = last.change.vector
    facts = {
        "round": server.round,
        "resolved": server.resolved,
        "applied": server.applied,
        "last": [None if last is None else last.round for last in server.last],
        "updates": federation.updates,
        "rng": federation.rng.bit_generator.state,
        "clients": [pack_client(client, arrays) for client in federation.clients],
        "held": [
            [number, held.round, held.resolved, held.applied]
            for number, held in federation.held.items()
        ],
        "notes": history.notes,
    }
    return Packed(facts, arrays)


def unpack(packed: Packed, federation: "Federation") -> Apply:
    """Checks a state against itself and against the federation, and gives what applies it."""
    facts, server, clients = packed.facts, federation.server, federation.clients
    saved = Saved(packed, server.prior.dimension, server.posterior.batch_shape)
    if len(facts["clients"]) != len(clients):
        raise CheckpointError(
            f"it holds {len(facts['clients'])} clients; the federation has {len(clients)}"
        )
    if not np.array_equal(saved.take("prior"), server.prior.vector):
        raise CheckpointError("it was saved with another prior than the federation has")
    rng_state = checked_state(facts["rng"], federation.rng)
    posterior, offset = saved.gaussian("posterior").require_proper(), saved.gaussian("offset")
    if posterior.batch_shape != server.posterior.batch_shape:
        raise CheckpointError(f"its posterior has batch axes {posterior.batch_shape}")
    round_number = int(np.int64(at_least("round", facts["round"], 0)))  # refuses what overflows
    resolved = [at_least("resolved", number, 0) for number in _each(facts["resolved"], clients)]
    applied = [_bool("applied", value) for value in _each(facts["applied"], clients)]
    last = [
        None if made is None else saved.update(f"last/{m}", m, made, number, round_number)
        for m, (made, number) in enumerate(
            zip(_each(facts["last"], clients), resolved, strict=True)
        )
    ]
    updates = at_least("updates", facts["updates"], 0)
    if updates > sum(resolved):
        raise CheckpointError(f"it counts {updates} updates where {sum(resolved)} were resolved")
    states = [
        saved.client(client, fields, number, round_number)
        for client, fields, number in zip(clients, facts["clients"], resolved, strict=True)
    ]
    held = {
        at_least("held", number, 0): saved.snapshot(number, resolved, round_number, *rest)
        for number, *rest in facts["held"]
    }
    history = saved.history(facts["notes"], round_number, updates)
    factors = [factor for factor, *_ in states]
    unheard = _unheard([pending for *_, pending in states], last, applied)
    drift = _drift(posterior, server.prior, *factors, offset, *unheard)
    if not np.array_equal(saved.take("drift"), drift):
        raise CheckpointError("its posterior is not the product of what it is made of")
    saved.require_empty()

    def apply() -> None:
        federation.rng.bit_generator.state = rng_state
        server.posterior, server.offset, server.round = posterior, offset, round_number
        server.resolved, server.applied, server.last = resolved, applied, last
        federation.updates, federation.history, federation.held = updates, history, held
        for client, state in zip(clients, states, strict=True):
            client.factor, client.state, client.sequence, client.pending = state

    return apply


class Saved:
    """The arrays of a file; each is taken once, with its shape and its values checked."""

    def __init__(self, packed: Packed, dimension: int, batch_shape: tuple[int, ...] = ()) -> None:
        self._arrays = dict(packed.arrays)
        self._dimension = dimension
        self._batch_shape = batch_shape

    def take(self, name: str) -> FloatArray:
        """Gives an array of finite numbers."""
        array = self._arrays.pop(name)
        if not np.isfinite(array).all():
            raise CheckpointError(f"{name} is not finite")
        return array

    def gaussian(self, name: str) -> MeanFieldGaussian:
        """Gives a Gaussian whose product with the posterior has the posterior's shape."""
        found = MeanFieldGaussian.from_vector(self.take(name))
        shape = np.broadcast_shapes(found.batch_shape, self._batch_shape)
        if found.dimension != self._dimension or shape != self._batch_shape:
            raise CheckpointError(f"{name} has the shape {found.precision.shape}")
        return found

    def update(self, name: str, client: int, made: Any, sequence: int, rounds: int) -> Update:
        """Gives an update that was computed in round `made`."""
        if not 0 <= at_least("round", made, 0) <= rounds or sequence < 1:
            raise CheckpointError(f"{name} is number {sequence} of round {made}")
        return Update(client=client, round=made, sequence=sequence, change=self.gaussian(name))

    def client(
        self, client: Client, fields: Any, resolved: int, rounds: int
    ) -> tuple[MeanFieldGaussian, tuple[PartState, ...], int, Pending | None]:
        """Gives factor, state, sequence and pending update."""
        place, m = f"client/{client.number}", client.number
        sequence = at_least("sequence", fields["sequence"], 0)
        factor = self.gaussian(f"{place}/factor")
        state = self._state(fields["state"], f"{place}/state", client)
        pending = None
        if fields["pending"] is not None:
            update = self.update(
                f"{place}/pending/change", m, fields["pending"]["round"], sequence + 1, rounds
            )
            pending = Pending(
                update=update,
                factor=self.gaussian(f"{place}/pending/factor"),
                state=self._state(fields["pending"]["state"], f"{place}/pending/state", client),
            )
        if resolved not in (sequence, sequence + (pending is not None)):
            raise CheckpointError(f"client {m} is at update {sequence}, the server at {resolved}")
        return factor, state, sequence, pending

    def _state(self, parts: Any, place: str, client: Client) -> tuple[PartState, ...]:
        made_for = [part.factor is not None for part in client.state]
        if [part["factor"] for part in parts] != made_for:
            raise CheckpointError(f"client {client.number}'s data are cut otherwise")
        return tuple(
            PartState(
                solver={
                    name: self.take(f"{place}/{number}/solver/{name}") for name in part["solver"]
                },
                factor=self.gaussian(f"{place}/{number}/factor") if part["factor"] else None,
            )
            for number, part in enumerate(parts)
        )

    def snapshot(
        self, number: int, resolved: Sequence[int], rounds: int, made: Any, known: Any, applied: Any
    ) -> Snapshot:
        """Gives the posterior that a client holds."""
        if at_least("round", made, 0) > rounds or at_least("held", known, 0) > resolved[number]:
            raise CheckpointError(f"client {number} holds a posterior of the future")
        posterior = self.gaussian(f"held/{number}").require_proper()
        return Snapshot(
            client=number,
            round=made,
            posterior=posterior,
            resolved=known,
            applied=_bool("applied", applied),
        )

    def history(self, notes: Any, rounds: int, updates: int) -> History:
        """Gives the rounds, which only go forwards."""
        found = History(
            round=self.take("history/round").astype(np.int64),
            posterior=self.take("history/posterior"),
            change=self.take("history/change"),
            updates=self.take("history/updates").astype(np.int64),
            notes=tuple(notes),
        )
        entries = len(found.round)
        lengths = {len(found.posterior), len(found.change), len(found.updates), len(found.notes)}
        flat = all(array.ndim == 1 for array in (found.round, found.change, found.updates))
        shape = (entries, *self._batch_shape, 2 * self._dimension)
        if lengths != {entries} or not flat or (entries and found.posterior.shape != shape):
            raise CheckpointError("its history's arrays do not have one entry per round")
        if not all(isinstance(note, str) for note in found.notes):
            raise CheckpointError("its notes are not texts")
        forwards = np.all(np.diff(found.round, append=rounds + 1) > 0)
        if not forwards or np.any(np.diff(found.updates, prepend=0, append=updates) < 0):
            raise CheckpointError("its history goes backwards")
        return found

    def require_empty(self) -> None:
        """Refuses what nobody asked for."""
        if self._arrays:
            raise CheckpointError(f"it has arrays that belong to nothing: {sorted(self._arrays)}")


def _drift(posterior: MeanFieldGaussian, *parts: MeanFieldGaussian) -> FloatArray:
    """How far the posterior is from the product, in natural parameters, term after term."""
    rest = posterior.vector
    for part in parts:
        rest = rest - part.vector
    return rest


def _unheard(
    pending: Sequence[Pending | None], last: Sequence[Update | None], applied: Sequence[bool]
) -> list[MeanFieldGaussian]:
    """Changes that the server has applied while their clients have not heard of it."""
    return [
        done.change
        for waits, done, was_applied in zip(pending, last, applied, strict=True)
        if waits is not None and done is not None and was_applied
        if waits.update.sequence == done.sequence
    ]


def pack_client(client: Client, arrays: dict[str, Any]) -> dict[str, Any]:
    """Gives what `Saved.client` reads, and puts the client's arrays among the others."""
    place = f"client/{client.number}"
    arrays[f"{place}/factor"] = client.factor.vector
    fields: dict[str, Any] = {
        "sequence": client.sequence,
        "state": _pack_state(client.state, f"{place}/state", arrays),
        "pending": None,
    }
    if client.pending is not None:
        place = f"{place}/pending"
        arrays[f"{place}/change"] = client.pending.update.change.vector
        arrays[f"{place}/factor"] = client.pending.factor.vector
        fields["pending"] = {
            "round": client.pending.update.round,
            "state": _pack_state(client.pending.state, f"{place}/state", arrays),
        }
    return fields


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


def _each(values: Any, clients: Sequence[Client]) -> list[Any]:
    if not isinstance(values, list) or len(values) != len(clients):
        raise CheckpointError(f"it must have one entry per client, got {values!r}")
    return values


def _bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise CheckpointError(f"{name} must be true or false, got {value!r}")
    return value
