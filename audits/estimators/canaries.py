"""Canaries for a one-run audit: make them, insert them, score them. Arrays only.

The coins decide which canaries are inserted; whoever computes the scores must not see them.
`audits.one_run_audit` takes coins and scores.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountants import validate
from accountants.arrays import FloatArray

_MOST_NUMBERS = 10**8


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """Records whose inclusion was decided by fair coins.

    Attributes:
      records: (m, d), one canary a row.
      included: (m,), the coins.
    """

    records: FloatArray
    included: NDArray[np.bool_]

    def __post_init__(self) -> None:
        records, coins = validate.reals("records", self.records), _coins(self.included)
        if records.ndim != 2 or not records.any(axis=1).all():
            raise validate.refusal("records", "rows of numbers, none of them zero", self.records)
        if coins.dtype != np.bool_ or coins.shape != records.shape[:1]:
            raise validate.refusal("included", "one truth value per record", self.included)

    def inserted_into(self, data: Any) -> FloatArray:
        """The data with the included canaries after them; neither is altered."""
        rows = validate.reals("data", data)
        if rows.ndim != 2 or rows.shape[1] != self.records.shape[1]:
            raise ValueError(
                f"`data` must have shape (n, {self.records.shape[1]}), got {rows.shape}."
            )
        return np.concatenate([rows, self.records[self.included]])

    def scores(self, released: Any) -> FloatArray:
        """How far the released vectors point along each canary, without a look at the coins.

        Args:
          released: One vector of d numbers or several, (T, d), to be added up: noisy sums of
            clipped contributions, or for a descent the steps times −1.
        """
        vectors = np.atleast_2d(validate.reals("released", released))
        if not np.isfinite(vectors).all():
            raise validate.refusal("released", "finite", released)
        if vectors.ndim != 2 or vectors.shape[1] != self.records.shape[1]:
            raise ValueError(
                f"`released` must be vectors of {self.records.shape[1]} numbers, "
                f"got the shape {np.shape(released)}."
            )
        lengths = np.linalg.norm(self.records, axis=1)
        score: FloatArray = self.records @ vectors.sum(axis=0) / lengths
        return score


def _coins(included: Any) -> NDArray[Any]:
    return np.asarray(validate.sequence("included", included))


def make_canaries(
    count: int, dimension: int, *, norm: float = 1.0, rng: np.random.Generator
) -> Canaries:
    """Canaries in random directions, orthogonal as long as there is room, and fair coins.

    Orthogonal canaries do not disturb each other's scores. The norm is the clip norm: a longer one
    is clipped and a shorter one shows less than the claim allows.

    >>> canaries = make_canaries(3, 5, norm=2.0, rng=np.random.default_rng(0))
    >>> np.allclose(canaries.records @ canaries.records.T, 4.0 * np.eye(3))
    True
    """
    count = validate.count("count", count, maximum=_MOST_NUMBERS)
    dimension = validate.count("dimension", dimension, maximum=_MOST_NUMBERS // count)
    norm = validate.positive("norm", norm)
    validate.generator("rng", rng)
    blocks = []
    for start in range(0, count, dimension):
        size = min(dimension, count - start)
        directions, _ = np.linalg.qr(rng.normal(size=(dimension, size)))
        blocks.append(directions.T)
    return Canaries(norm * np.concatenate(blocks), rng.random(count) < 0.5)
