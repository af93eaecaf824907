"""Candidates for learning rates and projection radii, and which of them the search has chosen."""

from dataclasses import dataclass

SEARCH_SEED = 1000
"""Not among the reported seeds, which count from 0; its data are a draw of their own."""
TUM_NOISE = "Adam, TUM's noise"
"""The name of the grid for Adam in TUM's own setting; others have the names of `WAYS`."""
WAYS = ("GD", "Adam", "averaging", "GD, aggregator n_k/n", "GD, aggregator equal")
"""The ways to train at a given ε."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is tried.

    Attributes:
      learning_rate: At the first round.
      clip_norm: C.
    """

    learning_rate: float
    clip_norm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What was tried for a way to train, and what is used.

    Attributes:
      way: Its name.
      candidates: Tried on the search seed.
      chosen: The index of the candidate with the best validation AUC, its mean over the ε that the
        way is run at, as found by the recorded search; the study says so if its own disagrees.
    """

    way: str
    candidates: tuple[Candidate, ...]
    chosen: int = 0

    @property
    def used(self) -> Candidate:
        """What reported runs have."""
        return self.candidates[self.chosen]


def _grid(way: str, rates: tuple[float, ...], norms: tuple[float, ...], chosen: int) -> Grid:
    candidates = (Candidate(learning_rate=rate, clip_norm=c) for c in norms for rate in rates)
    return Grid(way=way, candidates=tuple(candidates), chosen=chosen)


GRIDS = (
    _grid(TUM_NOISE, (0.5, 0.1, 0.02), (0.2,), chosen=1),
    _grid(WAYS[0], (0.5, 0.1), (0.1, 0.5), chosen=0),
    _grid(WAYS[1], (0.1, 0.05), (0.1, 0.5), chosen=0),
    _grid(WAYS[2], (0.5, 0.1), (0.1, 0.5), chosen=0),
    _grid(WAYS[3], (0.5, 0.1), (0.1, 0.5), chosen=0),
    _grid(WAYS[4], (0.5, 0.1), (0.1, 0.5), chosen=2),
)
QUICK_GRIDS = tuple(
    Grid(way=grid.way, candidates=grid.candidates[: 2 if grid.way == "GD" else 1]) for grid in GRIDS
)
"""The same ways with one candidate each, for tests; one has two."""
