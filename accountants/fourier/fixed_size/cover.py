r"""Which cells the cover is made of: small where the maximum would otherwise be too large.

Any cover is valid; this module only makes it a good one, so nothing here is rounded. With the two
corner triples for a policy, values V_t and the weights μ_t(k) with which an error at (t, k)
reaches the answer are computed once. A cell's law above costs E_c V_t(k); what the maximum over
all cells is above the policy's value, weighted by μ and summed, is about what the answer will be
too large by. Cells that contribute most are split, until the sum is small enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from accountants.arrays import ComplexArray, FloatArray
from accountants.fourier.fixed_size.geometry import WHOLE, Cell, Gram
from accountants.fourier.fixed_size.values import Folded, Grid, Moments

__all__ = ["Sample", "chosen_cover", "sampled_steps"]

# Steps and blocks of ε that are looked at.
_TIMES = 12
_BLOCKS = 192
# Slacks of `Cell.gram_above`, as shares of a cell's side.
_SLACKS = (0.0, 0.25, 1.0)
# A cell this large has no use.
_LARGEST = 0.8
# Cells are split that contribute at least this share of the most.
_SHARE = 0.2

FoldedLaw = Callable[[Gram], Folded]


@dataclass(frozen=True, eq=False)
class Sample:
    """A step at which cells are compared.

    Attributes:
      transformed: Of V_t, for `Grid.apply`.
      places: Where it is looked at.
      policy: The policy's values after the step, there.
      weights: How much of an excess there reaches the answer, with the steps in between.
    """

    transformed: tuple[ComplexArray, float]
    places: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    policy: FloatArray
    weights: FloatArray

    def excess(self, values: FloatArray) -> FloatArray:
        """What `values` add at each place."""
        more: FloatArray = self.weights * np.maximum(values[self.places] - self.policy, 0.0)
        return more


def sampled_steps(
    grid: Grid,
    corners: Sequence[Folded],
    steps: int,
    start: Callable[[FloatArray], FloatArray],
    on_step: Callable[[int], None],
) -> tuple[list[Sample], FloatArray]:
    """Samples, and the values after all steps, of the policy that knows the corners only.

    Args:
      grid: The grid.
      corners: Their laws from above: g = v first.
      steps: T.
      start: The weights μ_T for given values V_T.
      on_step: Told each step that is done.
    """
    times = np.unique(np.append(np.geomspace(1, steps, _TIMES).astype(int) - 1, steps - 1))
    share = np.gradient(times.astype(np.float64)) if times.size > 1 else np.ones(1)
    # The first and the last stand for themselves and half of the way to the next.
    kept, values = {}, np.zeros(grid.last + 1)
    moments = Moments.at_start(grid.tilt)
    for step in range(steps):
        transformed = grid.transform(values, moments)
        values = np.maximum.reduce([grid.apply(transformed, k, 1) for k in corners])
        moments.advance(list(corners))
        if step in times:
            kept[step] = (transformed, values)
        on_step(step)
    samples = []
    weights = start(values)
    edges = np.unique(np.linspace(0, grid.last + 1, _BLOCKS + 1).astype(int))[:-1]
    places = np.minimum(edges + np.diff(np.append(edges, grid.last + 1)) // 2, grid.last)
    for step in range(steps - 1, -1, -1):
        if step in kept:
            weight = share[np.searchsorted(times, step)] * np.add.reduceat(weights, edges)
            transformed, after = kept[step]
            samples.append(Sample(transformed, places, after[places], weight))
        weights = _backwards(grid, corners[0], weights)
        on_step(step)
    return samples, values


def _backwards(grid: Grid, kernel: Folded, weights: FloatArray) -> FloatArray:
    """The weights of V_t for given weights of V_{t+1}: the transpose of a step."""
    padded = np.zeros(grid.length)
    begin = grid.up + grid.down
    padded[begin : begin + grid.last + 1] = weights * np.exp(-grid.tilt * grid.epsilons)
    spread = fft.irfft(fft.rfft(padded) * np.conj(kernel.transform), grid.length)
    before = spread[grid.up : grid.up + grid.last + 1] * np.exp(grid.tilt * grid.epsilons)
    mirrored = grid.step * np.arange(grid.up, 0, -1)
    left = spread[: grid.up] * np.exp(-(grid.tilt + 1.0) * mirrored)
    count = min(grid.up, grid.last)
    before[1 : count + 1] += left[::-1][:count]
    return np.asarray(np.maximum(before, 0.0))


@dataclass(eq=False)
class _Piece:
    """A cell, its law above, and what it adds at all samples' places."""

    cell: Cell
    slack: float
    law: Folded
    excess: FloatArray


def chosen_cover(
    samples: Sequence[Sample],
    grid: Grid,
    law: FoldedLaw,
    target: float,
    most: int,
    on_law: Callable[[int], None],
) -> tuple[list[Folded], list[Cell]]:
    """Laws above cells that cover all triples, at most about `most`, and the cells.

    Args:
      samples: Where cells are compared.
      grid: The grid.
      law: The folded law above a Gram matrix.
      target: The weighted sum that is small enough.
      most: The most cells.
      on_law: Told how many laws there are.
    """
    made = 0

    def piece(cell: Cell, shares: Sequence[float]) -> _Piece:
        nonlocal made
        best: _Piece | None = None
        for share in shares:
            folded = law(cell.gram_above(share * cell.side))
            parts = [s.excess(grid.apply(s.transformed, folded, 1)) for s in samples]
            found = _Piece(cell, share, folded, np.concatenate(parts).astype(np.float32))
            made += 1
            if best is None or float(np.sum(found.excess)) < float(np.sum(best.excess)):
                best = found
            if not np.any(best.excess):
                break
        on_law(made)
        assert best is not None
        return best

    pieces, waiting = [], [WHOLE]
    while waiting:
        cell = waiting.pop()
        if cell.side > _LARGEST:
            waiting += cell.split()
        else:
            pieces.append(piece(cell, _SLACKS))
    while len(pieces) < most:
        table = np.stack([piece.excess for piece in pieces])
        winners = np.argmax(table, axis=0)
        lost = np.take_along_axis(table, winners[None], axis=0)[0].astype(np.float64)
        if float(np.sum(lost)) <= target:
            break
        by_piece = np.bincount(winners, weights=lost, minlength=len(pieces))
        split = by_piece >= max(_SHARE * float(np.max(by_piece)), 0.1 * target / len(pieces))
        kept = [piece for piece, gone in zip(pieces, split, strict=True) if not gone]
        for parent in (piece for piece, gone in zip(pieces, split, strict=True) if gone):
            # Which slack is best changes slowly with the size.
            near = _SLACKS if parent.cell.side > 0.1 else (parent.slack,)
            kept += [piece(half, near) for half in parent.cell.split()]
        pieces = kept
    return [piece.law for piece in pieces], [piece.cell for piece in pieces]
