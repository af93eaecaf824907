"""What an adversary sees of a run, as numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.projection import check_transcript
from mechanisms.protocol import Data
from mechanisms.release import SERVER, Release, Transcript
from mechanisms.scope import Scope, View
from pvi.validate import MOST, checked, having

if TYPE_CHECKING:
    from mechanisms.experiment import Experiment


def sees(view: View, release: Release, clients: int) -> bool:
    """Whether a release is in the view.

    Messages: every client's, and what the server releases if it adds noise (without noise that
    follows from the messages). Aggregate: the sums. Colluding: the sums, and the messages of the
    last k clients; with these clients' data, which are fixed, their messages tell their noise.
    """
    from_server = release.sender == SERVER
    if view.kind == "messages":
        return not from_server or release.source.noise_std > 0.0
    return from_server or release.sender >= clients - view.colluders


@checked(view=View)
def seen(transcript: Transcript, view: View, clients: int, repetitions: int) -> FloatArray:
    """The values in the view, side by side in order of release: (repetitions, …).

    Raises:
      ValueError: The transcript has no values.
    """
    repetitions = validate.count("repetitions", repetitions, maximum=MOST)
    clients = validate.count("clients", clients, maximum=MOST)
    rows = []
    for release in check_transcript(transcript):
        if sees(view, release, clients):
            if release.value is None:
                raise ValueError("`transcript` must hold values, got a plan or keep_values=False.")
            rows.append(np.broadcast_to(release.value, (repetitions, release.value.shape[-1])))
    if not rows:
        raise ValueError("`transcript` must hold something that the view shows, got nothing.")
    return np.concatenate(rows, axis=1)


@dataclass(frozen=True, slots=True)
class Observation:
    """`(data, rng, n) ->` what the scope's adversary sees of n independent runs: for audits.

    Attributes:
      experiment: What is run.
      scope: Whose view.
    """

    experiment: "Experiment"
    scope: Scope

    def __post_init__(self) -> None:
        having("experiment", self.experiment, "build", "rounds", "clients")
        validate.instance("scope", self.scope, Scope)

    def __call__(self, data: Data, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws, (n, numbers seen); all n runs are one batched run."""
        count = validate.count("n", n, maximum=MOST)
        run = self.experiment.build(data, rng, repetitions=(count,))
        run.run(self.experiment.rounds)
        return seen(run.transcript, self.scope.view, self.experiment.clients, count)
