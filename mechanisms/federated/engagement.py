"""One holder's part in one run: its client, on the disk after every step."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from accountants import validate
from mechanisms.books import Charge
from mechanisms.experiment import Experiment
from mechanisms.federated.ledger import charge_of
from mechanisms.federated.messages import Standing
from mechanisms.federated.steady import SteadySolver
from mechanisms.scope import Scope
from pvi import (
    Acknowledgement,
    CheckpointError,
    Packed,
    ProtocolError,
    Revision,
    Shard,
    Snapshot,
    Update,
)
from pvi.archive import encode, read
from pvi.federation_state import Saved, pack_client
from pvi.files import write_atomically

_FORM = b"dp-assay-engagement-1\n"
_MOST_ROUNDS = 2**62
# Within this, no answer can overflow; what a wilder posterior does could depend on the data.
_LARGEST = 1e100


class Engagement:
    """A client whose state outlives its process.

    Whatever changes is in the file before anyone is answered; so a holder that is killed and
    started again stands where its last answer left it, or has booked an update that nobody got.

    Args:
      path: The file.
      run: The run's name.
      experiment: What is run.
      client: The holder's number in it.
      shard: The owner's records.
      scope: In which a message's cost is counted.
    """

    def __init__(
        self,
        path: Path,
        *,
        run: str,
        experiment: Experiment,
        client: int,
        shard: Shard,
        scope: Scope,
    ) -> None:
        self.path = path
        self.run = validate.text("run", run)
        self.experiment = experiment
        self.number = client
        self.charge: Charge = charge_of(experiment, client, scope)
        self.factors_are_revised = (
            experiment.mechanism.server_rule(experiment.layout).after_round != "nothing"
        )
        self.client, self._hook = _steady(experiment).build_client(client, shard)
        if path.exists():
            self._load()

    @classmethod
    def file(cls, folder: Path, run: str) -> Path:
        """The file of a run; its name may be anything that the wire lets through."""
        return folder / f"{hashlib.sha256(run.encode('utf-8')).hexdigest()[:32]}.state"

    @classmethod
    def peek(cls, path: Path) -> tuple[str, int, str]:
        """Run, client and experiment (as JSON) of a file."""
        facts, _ = _read(path)
        return facts["run"], facts["client"], facts["experiment"]

    @property
    def standing(self) -> Standing:
        """What has been committed and followed."""
        client = self.client
        return Standing(
            client=self.number,
            sequence=client.sequence,
            revisions=client.revisions,
            pending=client.pending is not None,
        )

    @property
    def screened(self) -> int:
        """How many contributions were not finite and became zero; for the owner's eyes."""
        return self._hook.screened

    def is_new(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot asks for an update that has not been made yet.

        Raises:
          ProtocolError: It cannot be answered, now or ever.
        """
        client, there = self.client, snapshot.posterior
        if snapshot.client != self.number:
            raise ProtocolError(f"a message for client {snapshot.client} reached {self.number}")
        if there.batch_shape or there.dimension != client.factor.dimension or not there.is_proper:
            raise ProtocolError("a snapshot must hold one proper posterior of the run's dimension")
        if max(np.abs(there.vector).max(), 1.0 / there.precision.min()) > _LARGEST:
            raise ProtocolError(f"a snapshot's parameters must be within {_LARGEST:g}")
        pending = client.pending
        if pending is not None and snapshot.resolved < pending.update.sequence:
            return False
        known = client.sequence if pending is None else pending.update.sequence
        if snapshot.resolved != known:
            raise ProtocolError(
                f"client {self.number} is at update {known}, the snapshot at {snapshot.resolved}: "
                "it is too old, or the holder was put back to an older state"
            )
        return True

    def update(self, snapshot: Snapshot, rng: np.random.Generator) -> Update:
        """Computes an update, or gives the one that waits for the server's word again."""
        if not self.is_new(snapshot):
            return self.client.retry()
        with np.errstate(all="ignore"):
            update = self.client.propose(snapshot, rng)
        self._save()
        return update

    def hear(self, acknowledgement: Acknowledgement) -> None:
        """Follows the server's final word on the pending update."""
        if self.client.acknowledge(acknowledgement):
            self._save()

    def follow(self, revision: Revision) -> None:
        """Follows a reset, or takes its share of the server's noise.

        Raises:
          ProtocolError: The mechanism has no such thing, or it comes out of turn.
        """
        if not self.factors_are_revised:
            raise ProtocolError("this mechanism's factors are the client's own: nobody resets them")
        if self.client.revise(revision):
            self._save()

    def save(self) -> None:
        """Writes the file of a new engagement."""
        self._save()

    def _save(self) -> None:
        arrays: dict[str, Any] = {}
        facts = {
            "run": self.run,
            "client": self.number,
            "experiment": self.experiment.to_json(),
            "state": pack_client(self.client, arrays),
            "revisions": self.client.revisions,
            "screened": self._hook.screened,
        }
        arrays |= {f"hook/{name}": value for name, value in self._hook.memory.items()}
        write_atomically(self.path, encode("engagement", Packed(facts, arrays), form=_FORM))

    def _load(self) -> None:
        facts, arrays = _read(self.path)
        about = (facts["run"], facts["client"], facts["experiment"])
        if about != (self.run, self.number, self.experiment.to_json()):
            raise CheckpointError(f"{self.path} belongs to another run")
        client, memory = self.client, {}
        for name in list(arrays):
            if name.startswith("hook/"):
                memory[name.removeprefix("hook/")] = arrays.pop(name)
        if set(memory) != set(self._hook.memory):
            raise CheckpointError(f"{self.path} remembers {sorted(memory)}, not what it should")
        saved = Saved(Packed({}, arrays), client.factor.dimension)
        sequence = validate.count("sequence", facts["state"]["sequence"], minimum=0)
        state = saved.client(client, facts["state"], sequence, _MOST_ROUNDS)
        revisions = validate.count("revisions", facts["revisions"], minimum=0)
        screened = validate.count("screened", facts["screened"], minimum=0)
        saved.require_empty()
        client.factor, client.state, client.sequence, client.pending = state
        client.revisions = revisions
        self._hook.screened, self._hook.memory = screened, memory


def _read(path: Path) -> tuple[Any, dict[str, Any]]:
    try:
        _, packed = read(path.read_bytes(), form=_FORM)
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be used: {error}") from error
    return packed.facts, dict(packed.arrays)


def _steady(experiment: Experiment) -> Experiment:
    """The experiment with a solver whose failure is no answer about the data."""
    solver = experiment.solver
    return experiment if solver is None else replace(experiment, solver=SteadySolver(solver))
