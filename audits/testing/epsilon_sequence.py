r"""A lower bound of ε at a given δ that holds at all times at once.

For each ε₀ of a fixed grid runs a wealth W(ε₀) against the claim "(ε₀, δ)-DP": the bets of
`audits.testing.bets` on two cells, an event S and its complement, chosen from the past. If the
mechanism's true ε at δ on this pair is ε*, then with probability at least 1 − α the wealth of the
first grid point g ≥ ε* never reaches 1/α (Ville; (g, δ)-DP is true). The bound reported at any time
is the largest grid point up to which *all* wealths have reached 1/α; it can exceed ε* only if W(g)
did. So the bound is below ε* at all times simultaneously with probability 1 − α.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accountants.arrays import FloatArray
from audits.testing.guesses import Guess

GRID = np.concatenate(
    [np.arange(0.0, 4.0, 0.05), np.arange(4.0, 12.0, 0.2), np.arange(12.0, 40.5, 2.0)]
)
_BISECTIONS = 16


@dataclass(frozen=True, slots=True, eq=False)
class _Stakes:
    """For every grid point an event (cells whose rank is at most `last`) and four log factors."""

    guess: Guess
    rank: NDArray[np.intp]
    last: NDArray[np.intp]
    swapped: NDArray[np.bool_]
    log_factors: FloatArray  # (4, grid): x in S, x not in S, y in S, y not in S


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
    _wealth: FloatArray = field(default_factory=lambda: np.zeros(GRID.size))
    _highest: FloatArray = field(default_factory=lambda: np.zeros(GRID.size))
    _stakes: _Stakes | None = None
    _samples: int = 0

    @property
    def lower(self) -> float:
        """The bound now; 0.0 where not even ε = 0 is refuted."""
        refuted = self._highest >= self.log_threshold
        reached = refuted.size if refuted.all() else int(np.argmin(refuted))
        return float(GRID[reached - 1]) if reached else 0.0

    def update(self, first: FloatArray, second: FloatArray, next_guess: Guess | None) -> None:
        """Bets on a block of pairs, then sets the stakes for the next one."""
        self._samples += first.size
        if self._stakes is not None:
            stakes = self._stakes
            counts = [
                np.cumsum(
                    np.bincount(stakes.rank[stakes.guess.cell(scores)], minlength=stakes.rank.size)
                )[stakes.last]
                for scores in (first, second)
            ]
            inside_p = np.where(stakes.swapped, second.size - counts[1], counts[0])
            inside_q = np.where(stakes.swapped, first.size - counts[0], counts[1])
            tally = np.stack([inside_p, first.size - inside_p, inside_q, second.size - inside_q])
            self._wealth += (tally * stakes.log_factors).sum(axis=0)
            self._highest = np.maximum(self._highest, self._wealth)
        self.path.append((self._samples, self.lower))
        self._stakes = None if next_guess is None else _choose(next_guess, self.delta)


def _choose(guess: Guess, delta: float) -> _Stakes:
    """The event and the stakes for each grid point, best under the guess."""
    order = np.argsort(guess.second / np.maximum(guess.first, 1e-300), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    first, second = np.cumsum(guess.first[order])[:-1], np.cumsum(guess.second[order])[:-1]
    # Direction 0: S = the first k cells and (P, Q). Direction 1: its complement and (Q, P).
    p = np.maximum(np.stack([first, 1.0 - second]), 1e-15)
    q = np.maximum(np.stack([second, 1.0 - first]), 1e-15)
    # Beyond the largest log ratio nothing contradicts the guess: no event, no bet.
    used = int(np.searchsorted(GRID, np.log((p / q).max()))) if first.size else 0
    last, swapped = np.zeros(GRID.size, dtype=np.intp), np.zeros(GRID.size, dtype=bool)
    log_factors = np.zeros((4, GRID.size))
    if used:
        e = np.exp(GRID[:used])[:, None, None]
        signal = p[None] - e * q[None] - delta
        variance = p[None] + e * e * q[None]
        # Kelly's growth signal²/variance, or full stakes e^-ε if those are smaller.
        rate = np.where(signal > 0.0, signal * np.minimum(signal / variance, 1.0 / e), signal)
        direction, chosen = np.divmod(rate.reshape(used, -1).argmax(axis=1), first.size)
        mass_p = np.clip(p[direction, chosen], 1e-12, 1.0 - 1e-12)
        mass_q = np.clip(q[direction, chosen], 1e-12, 1.0 - 1e-12)
        log_factors[:, :used] = _two_cells(mass_p, mass_q, np.exp(GRID[:used]), delta)
        last[:used], swapped[:used] = chosen, direction.astype(bool)
    return _Stakes(guess, rank, last, swapped, log_factors)


def _two_cells(p: FloatArray, q: FloatArray, e: FloatArray, delta: float) -> FloatArray:
    """`audits.testing.bets` for an event and its complement, vectorised over (p, q, e^ε).

    (p⁰, q⁰) with p⁰ = e·q⁰ + δ nearest to (p, q) is found by bisection in q⁰; the weights
    a, b, λ are then read off and normalised, which makes the factors valid for any (p⁰, q⁰).
    """
    violated = p > e * q + delta
    largest = np.maximum((1.0 - delta) / e, 1e-300)
    low = np.maximum(np.minimum(q, largest), 1e-15)
    high = np.maximum(np.minimum((p - delta) / e, largest), low)
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        p0 = np.clip(e * middle + delta, 1e-15, 1.0 - 1e-15)
        q0 = np.clip(middle, 1e-15, 1.0 - 1e-15)
        slope = e * ((1.0 - p) / (1.0 - p0) - p / p0) + (1.0 - q) / (1.0 - q0) - q / q0
        low, high = np.where(slope < 0.0, middle, low), np.where(slope < 0.0, high, middle)
    q0 = np.clip(np.sqrt(low * high), 1e-15, 1.0 - 1e-15)
    p0 = np.clip(e * q0 + delta, 1e-15, 1.0 - 1e-15)
    constant_first, constant_second = (1.0 - p) / (1.0 - p0), q / q0
    w, v = 1.0 / (e + delta), e / (e + delta)
    stake = np.maximum(0.0, (p / p0 - constant_first) / w)
    total = constant_first + constant_second + stake
    factors = (
        2.0
        / total
        * np.stack(
            [
                constant_first + stake * w,
                constant_first,
                constant_second,
                constant_second + stake * v,
            ]
        )
    )
    return np.where(violated, np.log(np.maximum(factors, 1e-300)), 0.0)
