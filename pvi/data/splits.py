"""How the papers divide data between clients: half small, half large, sizes by ρ, classes by κ.

Workshop, Appendix C (eq. 12, 13, Table 1) and TMLR, Appendix B (Tables 2–4). What the tables do
not say, and the authors' public code does:

* the Workshop trains on ⌈0.8·48842⌉ = 39074 records (its Table 1 needs that: with 39073 the
  large clients of distribution B would hold 7423, not 7424);
* TMLR's text has 80% for training, but the sizes of its Tables 2 and 3 are those of one half,
  24421 records; its code takes a 2-fold split;
* a small client's share of the majority is rounded down to a whole number of records;
* what the two floors of eq. 12 leave over, fewer records than there are clients, belongs to no
  client.

The Workshop's remark that κ > 1 takes minority records away from small clients should read
κ > 0: above 1 the target fraction exceeds one.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pvi.validate import at_least, finite_array, generator, real, row_numbers, sequence

_ROUNDING = 1e-9
"""Products that fall short of a whole number by less than this count as that number: ρ = 0.9
is a decimal, and (1 − 0.9)·100/10 must not become 0."""
_MOST = 10**8
"""The most records that are divided."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Which record belongs to which client; every record is in exactly one place.

    Attributes:
      clients: One index array for each client, the small clients first.
      leftover: The records that belong to nobody: fewer than there are clients.
    """

    clients: tuple[NDArray[np.intp], ...]
    leftover: NDArray[np.intp]

    def __post_init__(self) -> None:
        sequence("clients", self.clients, lambda name, rows: row_numbers(name, rows, _MOST))
        row_numbers("leftover", self.leftover, _MOST)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many records each client holds."""
        return tuple(len(rows) for rows in self.clients)

    def shares(self, labels: ArrayLike, label: float) -> tuple[float, ...]:
        """Which fraction of each client's records has this label; NaN for a client without any."""
        hits = _labels(labels) == real("label", label)
        for rows in self.clients:
            row_numbers("labels", rows, len(hits))
        return tuple(float(hits[rows].mean()) if len(rows) else math.nan for rows in self.clients)


def split(
    labels: ArrayLike,
    clients: int,
    rho: float,
    kappa: float,
    rng: np.random.Generator,
    *,
    majority: float | None = None,
) -> Split:
    """Divides records between small and large clients (Workshop Appendix C, TMLR Appendix B).

    With n records of which a fraction λ is of the majority class, each of the M/2 small clients
    gets ⌊n(1−ρ)/M⌋ records, a fraction λ + (1−λ)κ of them of the majority class (rounded down);
    each of the M/2 large clients gets ⌊n(1+ρ)/M⌋ of the rest, drawn without regard to class.

    Sizes and classes decide who gets what, so the split itself depends on the data. In the
    papers it stands for how data happened to fall to clients and is not part of any release.

    Args:
      labels: One class per record, shape (n,), exactly two distinct values.
      clients: M, even and at least 2.
      rho: ρ in [0, 1]: 0 makes all clients equal, 1 leaves the small ones empty.
      kappa: κ in [−λ/(1−λ), 1]: 0 keeps the class balance, 1 gives small clients the majority
        class only, −λ/(1−λ) the minority class only.
      rng: Where the randomness comes from.
      majority: Which label counts as the majority; by default the more frequent one, and of
        two equally frequent ones the smaller. TMLR's code always takes class 0, which
        matters for its balanced data.

    Raises:
      ValueError: An argument is out of its domain, or the small clients together would need
        more records of one class than there are.

    Example:
      >>> labels = np.repeat([0, 1], [760, 240])
      >>> parts = split(labels, 10, 0.7, -3, np.random.default_rng(0))
      >>> parts.sizes
      (30, 30, 30, 30, 30, 170, 170, 170, 170, 170)
      >>> parts.shares(labels, 0)[0]  # ⌊30·0.04⌋/30
      0.03333333333333333
    """
    values = _labels(labels)
    if at_least("clients", clients, 2, _MOST) % 2:
        raise ValueError(f"`clients` must be even, because half of them are small, got {clients}.")
    rho, kappa = real("rho", rho, lower=0.0, upper=1.0), real("kappa", kappa)
    generator(rng)
    major, minor = _by_class(values, majority)
    small = math.floor(len(values) * (1 - rho) / clients + _ROUNDING)
    large = math.floor(len(values) * (1 + rho) / clients + _ROUNDING)
    small_major = _small_majority(len(major), len(minor), small, kappa)
    half = clients // 2
    for kind, wanted, there in (
        ("majority", small_major, len(major)),
        ("minority", small - small_major, len(minor)),
    ):
        if wanted * half > there:
            raise ValueError(
                f"`rho` and `kappa` must leave enough, got {rho} and {kappa}: {half} small "
                f"clients with {wanted} records of the {kind} class each need {wanted * half}, "
                f"there are {there}"
            )
    major, minor = rng.permutation(major), rng.permutation(minor)
    small_rows = [
        rng.permutation(np.concatenate([a, b]))
        for a, b in zip(
            _chunks(major, small_major, half),
            _chunks(minor, small - small_major, half),
            strict=True,
        )
    ]
    rest = rng.permutation(
        np.concatenate([major[half * small_major :], minor[half * (small - small_major) :]])
    )
    return Split(
        clients=(*small_rows, *_chunks(rest, large, half)),
        leftover=rest[half * large :],
    )


def holdout(
    count: int, train: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of `train` random records out of `count`, and of the others.

    The number is given, not a fraction, because the papers round differently: ⌈0.8·48842⌉ in the
    Workshop, ⌊0.8·5594⌋ for TMLR's MIMIC-III, one half for TMLR's Adult.

    Example:
      >>> train, test = holdout(10, 8, np.random.default_rng(0))
      >>> len(train), len(test)
      (8, 2)
    """
    at_least("train", train, 0, at_least("count", count, 0, _MOST))
    order = generator(rng).permutation(count).astype(np.intp)
    return order[:train], order[train:]


def balance(labels: ArrayLike, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices that keep all of the rarer class and as many random records of the other.

    TMLR Appendix B re-balances MIMIC-III so (5594 stays out of 21139). How many are kept is an
    exact count of the rarer class: public knowledge, or a release.

    Example:
      >>> sorted(balance([0, 0, 0, 1], np.random.default_rng(0)).tolist())[-1]
      3
    """
    major, minor = _by_class(_labels(labels), None)
    kept = generator(rng).choice(major, size=len(minor), replace=False)
    return rng.permutation(np.concatenate([kept, minor]))


def _labels(labels: ArrayLike) -> NDArray[np.float64]:
    values = finite_array("labels", labels)
    if values.ndim != 1 or len(values) > _MOST:
        raise ValueError(
            f"`labels` must have the shape (n,), n at most {_MOST}, got {values.shape}."
        )
    return values


def _by_class(
    labels: NDArray[np.float64], majority: float | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The indices of the majority class and those of the other."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) != 2:
        raise ValueError(f"`labels` must hold exactly 2 distinct values, got {len(classes)}.")
    if majority is None:
        majority = classes[np.argmax(counts)]
    elif real("majority", majority) not in classes:
        raise ValueError(
            f"`majority` must be one of the labels {classes.tolist()}, got {majority}."
        )
    is_major = labels == majority
    return np.flatnonzero(is_major), np.flatnonzero(~is_major)


def _small_majority(major: int, minor: int, size: int, kappa: float) -> int:
    """How many of a small client's records are of the majority class."""
    fraction = major / (major + minor)
    target = fraction + (1 - fraction) * kappa
    if not -_ROUNDING <= target <= 1 + _ROUNDING:  # also refuses NaN
        raise ValueError(
            f"`kappa` must be in [{-major / minor:.6g}, 1], got {kappa}: small clients would have "
            f"a majority-class fraction of {target:.6g} where the data have {fraction:.6g}"
        )
    return min(size, max(0, math.floor(size * target + _ROUNDING)))


def _chunks(rows: NDArray[np.intp], size: int, count: int) -> list[NDArray[np.intp]]:
    """The first count blocks of this size."""
    return [rows[i * size : (i + 1) * size] for i in range(count)]
