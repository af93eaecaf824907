r"""A lower bound of ε at a given δ that holds at all times at once.

For each ε₀ of a fixed grid runs a wealth W(ε₀) against the claim "(ε₀, δ)-DP": two bettors with
fixed shares of one unit bet on events chosen from earlier blocks (`audits.testing.event_bets`), so
that W(ε₀) is a non-negative supermartingale with W = 1 at the start if the claim is true.

**Why it is a lower bound.** Let ε* be the mechanism's true ε at δ on this pair, the larger one of
both directions, and g the first grid point with g ≥ ε*; it is fixed before any draw. (g, δ)-DP is
true, so by Ville's inequality W(g) ever reaches 1/α with probability at most α. The bound reported
at any time is the largest grid point up to which *all* wealths have reached 1/α at some time so
far. It exceeds ε* only if it is at least g, hence only if W(g) has reached 1/α. So the bound is at
most ε* at all times simultaneously with probability 1 − α. No union over the grid, the events or
the looks is needed. Events, guesses and the blocks' sizes may depend on the past in any way.

**Why it is sharp.** The first bettor takes, for each ε₀, the half-line of scores that promises the
largest growth, with both masses one standard error less telling than they look: the event that
looks best among many looks better than it is. The second bettor orders cells (atoms among them) by
their likelihood ratio on one half of the past and takes the masses from the other half: it finds
what no half-line shows. Both masses are tested at once, where Clopper–Pearson bounds pay α/2 each,
and no draws are set aside; that pays for holding at all times.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accountants.arrays import FloatArray
from audits.testing.event_bets import event_bet, quick_growth
from audits.testing.guesses import cell_edges, tally
from audits.testing.half_lines import cautious_mass, thresholds

GRID = np.concatenate(
    [
        np.arange(0, 200) / 100,
        np.arange(100, 300) / 50,
        np.arange(120, 240) / 20,
        np.arange(12.0, 41.0),
    ]
)
Scores = tuple[FloatArray, FloatArray]

_LOG_SHARES = np.log([0.8, 0.2])
# Before so many draws no bet is worth its losses; stakes stay until the past has grown so much.
_FIRST_BET, _GROWTH = 16, 1.25
# The number of ε₀ for which the best event is searched.
_SEARCHED = 10


@dataclass(frozen=True, slots=True, eq=False)
class _Stakes:
    """For the grid points from `start` on, an event each and four log factors.

    Attributes:
      edges: The cells' edges.
      members: (events, cells), whether the cell belongs to the event.
      swapped: Per event, whether it is likelier on the second side.
      start: The first grid point that is bet on.
      chosen: The event of each grid point.
      log_factors: (4, points), see `event_bet`.
    """

    edges: FloatArray
    members: NDArray[np.bool_]
    swapped: NDArray[np.bool_]
    start: int
    chosen: NDArray[np.intp]
    log_factors: FloatArray

    def settle(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """What a block adds to the log wealth of each grid point; its scores are sorted."""
        inside = self.members @ tally(self.edges, first), self.members @ tally(self.edges, second)
        in_p, in_q = (np.where(self.swapped, *pair) for pair in (inside[::-1], inside))
        outcomes = np.stack([in_p, first.size - in_p, in_q, first.size - in_q])
        gains = np.zeros(GRID.size)
        points = slice(self.start, self.start + self.chosen.size)
        gains[points] = (outcomes[:, self.chosen] * self.log_factors).sum(axis=0)
        return gains


@dataclass(slots=True, eq=False)
class EpsilonSequence:
    """The bound in progress.

    Args:
      delta: The δ at which ε is bounded.
      log_threshold: log(1/α).
    """

    delta: float
    log_threshold: float
    path: list[tuple[int, float]] = field(default_factory=list)
    _wealths: FloatArray = field(default_factory=lambda: np.zeros((2, GRID.size)))
    _highest: FloatArray = field(default_factory=lambda: np.zeros(GRID.size))
    _stakes: tuple[_Stakes | None, _Stakes | None] = (None, None)
    _seen: int = 0
    _head: tuple[float, float] | None = None
    _samples: int = 0

    @property
    def lower(self) -> float:
        """The bound now; 0.0 where not even ε = 0 is refuted."""
        reached = self._reached()
        return float(GRID[reached - 1]) if reached else 0.0

    def update(self, first: FloatArray, second: FloatArray, past: Scores) -> None:
        """Bets on a block of pairs, then sets the stakes for the next one.

        Args:
          first: The block's scores on the first side.
          second: As many on the second side.
          past: The scores, up to and including the block, that the next stakes are chosen from; all
            of them anew if the statistic has changed.
        """
        self._samples += first.size
        first, second = np.sort(first), np.sort(second)
        for own, stakes in zip(self._wealths, self._stakes, strict=True):
            if stakes is not None:
                own += stakes.settle(first, second)
        mixture = np.logaddexp(*(_LOG_SHARES[:, None] + self._wealths))
        self._highest = np.maximum(self._highest, mixture)
        self.path.append((self._samples, self.lower))
        size = min(past[0].size, past[1].size)
        if size < _FIRST_BET:
            return
        head = float(past[0][0]), float(past[1][0])
        # Scores of another statistic begin with others, or are fewer.
        if head != self._head or not self._seen <= size < _GROWTH * self._seen:
            self._head, self._seen = head, size
            halves = [[np.sort(side[start::2]) for side in past] for start in (0, 1)]
            self._stakes = self._half_line(halves), self._likelihood_ratio(halves)

    def _reached(self) -> int:
        """How many grid points, from the first on, are refuted."""
        refuted = self._highest >= self.log_threshold
        return refuted.size if refuted.all() else int(np.argmin(refuted))

    def _half_line(self, halves: list[list[FloatArray]]) -> _Stakes | None:
        edges = thresholds(np.sort(np.concatenate([*halves[0], *halves[1]]), kind="stable"))
        upwards = np.arange(edges.size + 1)
        one, two = ([tally(edges, side) for side in half] for half in halves)
        return self._best(edges, [upwards, upwards[::-1]], (one[0] + two[0], one[1] + two[1]))

    def _likelihood_ratio(self, halves: list[list[FloatArray]]) -> _Stakes | None:
        edges = cell_edges(np.sort(np.concatenate(halves[0]), kind="stable"))
        learnt, (first, second) = ([tally(edges, side) for side in half] for half in halves)
        order = np.argsort((learnt[1] + 0.5) / (learnt[0] + 0.5), kind="stable")
        return self._best(edges, [order], (first, second))

    def _best(
        self,
        edges: FloatArray,
        orders: list[NDArray[np.intp]],
        tallies: tuple[NDArray[np.intp], NDArray[np.intp]],
    ) -> _Stakes | None:
        """The best of the nested events that each order of the cells makes, for each ε₀."""
        inside = [np.cumsum([side[order[:-1]] for order in orders], axis=1) for side in tallies]
        sizes = tallies[0].sum(), tallies[1].sum()
        # Events of the first side, then their complements, which may be likelier on the second.
        p = cautious_mass(np.stack([inside[0], sizes[1] - inside[1]]), min(sizes), -1.0)
        q = cautious_mass(np.stack([inside[1], sizes[0] - inside[0]]), min(sizes), 1.0)
        shape, p, q = p.shape, p.ravel(), q.ravel()
        start = self._reached()
        if not p.size:
            return None
        # Beyond the largest ratio nothing contradicts the guess.
        largest = float((np.maximum(p - self.delta, 1e-300) / q).max())
        points = GRID[start : int(np.searchsorted(GRID, np.log(largest)))]
        if not points.size:
            return None
        searched = np.unique(np.linspace(0, points.size - 1, _SEARCHED).astype(int))
        found = quick_growth(p, q, points[searched][:, None], self.delta).argmax(axis=1)
        # Each point takes one of the two events found for its neighbours among the searched.
        above = np.searchsorted(searched, np.arange(points.size))
        offered = found[np.stack([np.maximum(above - 1, 0), above])]
        logs, growth = event_bet(p[offered], q[offered], points, self.delta)
        better, each = growth.argmax(axis=0), np.arange(points.size)
        events, chosen = np.unique(offered[better, each], return_inverse=True)
        members = np.zeros((events.size, edges.size + 1), dtype=bool)
        for row, (swapped, order, last) in zip(
            members, zip(*np.unravel_index(events, shape), strict=True), strict=True
        ):
            row[orders[order][: last + 1]] = True
            if swapped:
                np.logical_not(row, out=row)
        return _Stakes(
            edges,
            members,
            np.unravel_index(events, shape)[0].astype(bool),
            start,
            chosen,
            logs[:, better, each],
        )
