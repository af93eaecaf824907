"""Poisson sampling for many repetitions at once, drawn by its gaps: much faster for small rates.

The engine's sampler draws a number for each record of each repetition and computes all gradients.
Here only the gaps between chosen records are drawn: in a sequence of independent trials they are
geometric and independent. The law of the batch is the same, and so is the event.
"""

import math
from dataclasses import dataclass

import numpy as np

from mechanisms import Poisson
from pvi import Batch, Sampler


@dataclass(frozen=True, slots=True)
class SparsePoisson(Poisson):
    """Each record on its own with probability q, anew in each step and repetition."""

    def sampler(self) -> Sampler:
        """Gives the sampler by gaps."""
        return GapSampler(self.sampling_rate)


@dataclass(frozen=True, slots=True)
class GapSampler(Sampler):
    """Chosen rows of each repetition, filled up with masked ones to a common number."""

    sampling_rate: float

    def draw(self, size: int, batch_shape: tuple[int, ...], rng: np.random.Generator) -> Batch:
        """Draws gaps until every repetition is past its last record."""
        expected = self.sampling_rate * size
        width = math.ceil(expected + 6.0 * math.sqrt(expected)) + 6
        rows = np.cumsum(rng.geometric(self.sampling_rate, (*batch_shape, width)), axis=-1) - 1
        while not (rows[..., -1] >= size).all():  # rare: some repetition's batch is larger
            more = np.cumsum(rng.geometric(self.sampling_rate, (*batch_shape, width)), axis=-1)
            rows = np.concatenate([rows, rows[..., -1:] + more], axis=-1)
        chosen = rows < size
        kept = int(chosen.sum(axis=-1).max(initial=0))
        mask = chosen[..., :kept]
        return Batch(np.where(mask, rows[..., :kept], 0), mask.astype(np.float64), expected)
