"""The moments accountant of Abadi et al. 2016, as the papers under review used it.

α(λ) = log max(E₁, E₂), the larger log-moment of the privacy loss over both directions of the
neighbouring pair, adds over steps (their Theorem 2.1), and ε = min_λ (α(λ) − log δ)/λ over the
integers λ = 1 … 64. It is the historical method on purpose: `RenyiAccountant` is tighter at no
cost, because it optimises a real order and converts with the better bound. The moments are those
of Rényi divergences, α(λ) = λ·D_{λ+1}.

The bound is an upper bound for every λ, so the finite list only costs tightness. Numerical error
is covered by `ROUNDING`, a relative surcharge larger than the quadrature's error (see
`accountants.subsampled_gaussian`).
"""

import functools
import math
from typing import ClassVar

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation

from accountants import elementary, releases, validate
from accountants.arrays import FloatArray
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds
from accountants.subsampled_gaussian import log_moment

MAX_LAMBDA = 64
# The log-moments are accurate to about 1e-12, relative; this is added to stay an upper bound.
ROUNDING = 1e-11


@functools.lru_cache(maxsize=256)
def _log_moments_of_loss(
    release: releases.Gaussian | releases.PoissonGaussian, max_lambda: int
) -> tuple[float, ...]:
    lambdas = np.arange(1.0, max_lambda + 1.0)
    if isinstance(release, releases.Gaussian):
        return tuple(0.5 * lambdas * (lambdas + 1.0) * release.mu**2)
    removed = log_moment(release.sampling_rate, release.noise_multiplier, lambdas + 1.0)  # E₂
    added = log_moment(release.sampling_rate, release.noise_multiplier, -lambdas)  # E₁
    return tuple(np.maximum(removed, added))


class MomentsAccountant(IntervalAccountant):
    """Upper bounds by integer moments of the privacy loss (Abadi et al. 2016; Thesis 2.2.1).

    Args:
      neighboring_relation: Which data sets are neighbours.
      max_lambda: The highest moment, 64 as in the first implementations; with it the smallest ε
        that can be reported is log(1/δ)/64.

    >>> from dp_accounting import GaussianDpEvent
    >>> round(MomentsAccountant().compose(GaussianDpEvent(1.0)).get_epsilon(1e-5), 4)
    5.3026
    """

    method: ClassVar[str] = "moments accountant"
    release_types: ClassVar[tuple[type[releases.Elementary], ...]] = (
        releases.Gaussian,
        releases.PoissonGaussian,
    )

    def _resolve(self, event: dpa.DpEvent) -> releases.Resolution:
        resolution = super()._resolve(event)
        replaces = self.neighboring_relation is NeighboringRelation.REPLACE_ONE
        if replaces and not isinstance(resolution, type):
            raise elementary.NotSupportedError(
                "the moments accountant is defined for a record that is added, removed or zeroed "
                "(Abadi et al. 2016, section 3.1); use RenyiAccountant under REPLACE_ONE"
            )
        return resolution

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        max_lambda: int = MAX_LAMBDA,
    ) -> None:
        super().__init__(neighboring_relation)
        self._max_lambda = validate.count("max_lambda", max_lambda)

    @property
    def log_moments(self) -> FloatArray:
        """α(λ) of the composition for λ = 1 … max_lambda; neither side, accurate to ~1e-12."""
        total = np.zeros(self._max_lambda)
        for release, count in self._releases.items():
            assert isinstance(release, releases.Gaussian | releases.PoissonGaussian)
            total += count * np.array(_log_moments_of_loss(release, self._max_lambda))
        return total

    def _upper_log_moments(self) -> tuple[FloatArray, FloatArray]:
        return np.arange(1.0, self._max_lambda + 1.0), self.log_moments * (1.0 + ROUNDING)

    def _epsilon_bounds(self, delta: float) -> Bounds:
        lambdas, moments = self._upper_log_moments()
        return Bounds(0.0, float(np.min((moments - math.log(delta)) / lambdas)))

    def _delta_bounds(self, epsilon: float) -> Bounds:
        lambdas, moments = self._upper_log_moments()
        with np.errstate(over="ignore"):  # −∞ is as good as any number whose exponential is 0
            log_delta = float(np.min(moments - lambdas * epsilon))
        return Bounds(0.0, min(1.0, math.nextafter(math.exp(min(log_delta, 0.0)), math.inf)))
