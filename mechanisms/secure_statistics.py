r"""Column sums and class counts by secure sum: how clients agree on a scaling (TUM 5.3.2, 6.2).

TUM has each client share n_k, Σx and Σx² of each column, and the classes' frequencies, with the
others, or add them up by secure summation. A secure sum hides the summands; the sum itself is a
release, and exact it has no finite ε. So noise is added to it: a record's row (1, z, z²), with z in
[−1, 1] by public bounds of the columns, has norm at most √(2d + 1), and two of them are at most
2√d apart, for (z − z')²·(1 + (z + z')²) ≤ 4 on the square:  with s = z + z', |z − z'| ≤ 2 − |s|,
and (2 − s)²·(1 + s²) ≤ 4 for s in [0, 2], since 4 minus it is s·(4 − 5s + 4s² − s³), whose second
factor is 4 − 5s + s²·(4 − s) ≥ 4 − 5s + 2s² > 0. A class count's row is one 1 among zeros:
norm 1, and two of them √2 apart. What follows from the sums, means, deviations, weights, is
post-processing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import dp_accounting as dpa
import numpy as np
import numpy.typing as npt
from dp_accounting import NeighboringRelation

from accountants import Bounds, Certificate, validate
from mechanisms.distributed_sum import DistributedSum, Law
from mechanisms.primitives.rounding import Rounding
from pvi.data import Scaler, scaler_from_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTerms:
    """What secure statistics share: who adds up, and the noise in it.

    Attributes:
      clients: n.
      least: How many of them are in the sum at least.
      records: How many records there are at most, all clients together; for the modulus only.
      noise_multiplier: σ, of the norm of one record's row; None for none: the exact sum, which is
        not private.
      colluders: How many clients may tell their noise.
      law: Of the shares.
      bits: The sum is modulo 2^bits.
    """

    clients: int
    least: int
    records: int
    noise_multiplier: float | None = None
    colluders: int = 0
    law: Law = "discrete_gaussian"
    bits: int = 64

    def __post_init__(self) -> None:
        self.sum_of(Rounding(clip_norm=1.0, spacing=1.0, coordinates=1), None)

    def sum_of(self, rounding: Rounding, diameter: float | None) -> DistributedSum:
        """The sum of such rows; where there is no noise, only its rounding and modulus count."""
        return DistributedSum(
            rounding=validate.instance("rounding", rounding, Rounding),
            noise_multiplier=1.0 if self.noise_multiplier is None else self.noise_multiplier,
            clients=self.clients,
            least=self.least,
            colluders=self.colluders,
            law=self.law,
            bits=self.bits,
            vectors=self.records,
            unit="record",
            diameter=diameter,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecureStatistic:
    """Rows of records, added up over clients: what column sums and class counts have in common."""

    terms: SumTerms
    sum: DistributedSum = field(init=False)

    @property
    def exact(self) -> bool:
        """Whether there is no noise."""
        return self.terms.noise_multiplier is None

    def _encoded(self, rows: npt.NDArray[np.float64], rng: np.random.Generator) -> Any:
        if self.exact:
            return self.sum.rounding(rows, rng).sum(axis=0).astype(object)
        return self.sum.encode(rows, rng)

    def epsilon_bounds(self, delta: float, relation: NeighboringRelation) -> Bounds:
        """A certified interval for ε(δ) of the sum, about one record; infinite if exact."""
        if self.exact:
            validate.open_unit("delta", delta)
            validate.relation("relation", relation)
            return Bounds(math.inf, math.inf)
        return self.sum.epsilon_bounds(delta, relation)

    def certify(self, deltas: Sequence[float], relation: NeighboringRelation) -> Certificate:
        """What the released sum costs."""
        certificate = self.sum.certify(deltas, relation)
        if not self.exact:
            return certificate
        return Certificate(
            event=dpa.NonPrivateDpEvent(),
            neighboring_relation=relation,
            points=tuple((delta, math.inf, math.inf) for delta, _, _ in certificate.points),
            method="no noise: the exact sum is a release without any bound",
            assumptions=("A secure sum hides the summands, not the sum.",),
            unit="record",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSums(SecureStatistic):
    """n, Σx and Σx² of each column, and the scaling that follows.

    Attributes:
      lower: Public lower bounds of the columns; what is below is raised to them.
      upper: Public upper bounds.
      spacing: Of the grid on [−1, 1].

    >>> sums = ColumnSums(
    ...     terms=SumTerms(clients=2, least=2, records=100), lower=(0.0,), upper=(10.0,)
    ... )
    >>> rng = np.random.default_rng(0)
    >>> total = sums.encode([[2.0], [4.0]], rng) + sums.encode([[9.0]], rng)
    >>> scaler = sums.scaler(total)
    >>> round(float(scaler.shift[0]), 5), round(float(scaler.scale[0]), 4), sums.exact
    (5.0, 2.9439, True)
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    spacing: float = 2.0**-24

    def __post_init__(self) -> None:
        validate.instance("terms", self.terms, SumTerms)
        columns = self._cube.shift.size
        rounding = Rounding(
            clip_norm=math.sqrt(2 * columns + 1),
            spacing=self.spacing,
            coordinates=2 * columns + 1,
            how="toward_zero",
        )
        object.__setattr__(self, "sum", self.terms.sum_of(rounding, 2.0 * math.sqrt(columns)))

    @property
    def _cube(self) -> Scaler:
        return scaler_from_bounds(self.lower, self.upper)

    def encode(self, features: npt.ArrayLike, rng: np.random.Generator) -> Any:
        """What a client sends into the secure sum; features (n, d), none missing."""
        z = self._cube(features)
        if z.ndim != 2 or not np.isfinite(z).all():
            raise ValueError("`features` must be of shape (n, d) and finite, got others.")
        return self._encoded(np.column_stack([np.ones(len(z)), z, z * z]), rng)

    def scaler(self, total: npt.ArrayLike, *, least_deviation: float = 1e-3) -> Scaler:
        """Mean 0 and deviation 1, as far as the sums tell; post-processing of them.

        Args:
          total: The secure sum's total.
          least_deviation: Deviations, of which noise may leave nothing, are at least this part of
            half a column's range.
        """
        least = validate.rate("least_deviation", least_deviation)
        values, cube = self.sum.decode(total), self._cube
        if values.shape != (self.sum.rounding.coordinates,):
            wanted = f"({self.sum.rounding.coordinates},)"
            raise ValueError(f"`total` must be of shape {wanted}, got {values.shape}.")
        count = max(1.0, float(values[0]))
        columns = cube.shift.size
        mean = np.clip(values[1 : columns + 1] / count, -1.0, 1.0)
        variance = values[columns + 1 :] / count - mean * mean
        deviation = np.sqrt(np.clip(variance, least * least, 1.0))
        return Scaler(
            shift=cube.shift + mean * cube.scale,
            scale=deviation * cube.scale,
            lower=cube.lower,
            upper=cube.upper,
            data_dependent=self.exact,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCounts(SecureStatistic):
    """How many records there are of each class, and the weights that balance them.

    Attributes:
      classes: How many there are, numbered 0, 1, …

    >>> counts = ClassCounts(terms=SumTerms(clients=2, least=2, records=10), classes=2)
    >>> rng = np.random.default_rng(0)
    >>> total = counts.encode([0, 0, 1], rng) + counts.encode([0], rng)
    >>> counts.counts(total).tolist(), counts.weights(total).round(3).tolist()
    ([3.0, 1.0], [0.667, 2.0])
    """

    classes: int

    def __post_init__(self) -> None:
        validate.instance("terms", self.terms, SumTerms)
        classes = validate.count("classes", self.classes, minimum=2, maximum=10**6)
        rounding = Rounding(clip_norm=1.0, spacing=1.0, coordinates=classes, how="whole")
        object.__setattr__(self, "sum", self.terms.sum_of(rounding, math.sqrt(2.0)))

    def encode(self, labels: npt.ArrayLike, rng: np.random.Generator) -> Any:
        """What a client sends into the secure sum; labels (n,)."""
        found = validate.reals("labels", labels)
        whole = found.ndim == 1 and np.isin(found, np.arange(self.classes)).all()
        if not whole:
            raise validate.refusal("labels", f"classes from 0 to {self.classes - 1}", labels)
        rows = np.zeros((found.size, self.classes))
        rows[np.arange(found.size), found.astype(int)] = 1.0
        return self._encoded(rows, rng)

    def counts(self, total: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Each class's count, with noise if there is any, so that it may be negative."""
        values = self.sum.decode(total)
        if values.shape != (self.classes,):
            raise ValueError(f"`total` must be of shape ({self.classes},), got {values.shape}.")
        return values

    def weights(self, total: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """n/(classes·count) for each class (TUM 6.2, for two); counts below 1 are taken as 1."""
        counts = np.maximum(1.0, self.counts(total))
        return np.asarray(counts.sum() / (self.classes * counts))
