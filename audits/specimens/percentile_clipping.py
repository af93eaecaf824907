r"""The clip norm is a percentile of the batch's own norms, and the noise follows it.

Why it breaks the claim: the percentile is an exact function of the data. If half of the records
have tiny gradients and half of them large ones, one record decides which the median is, and with it
the scale of the noise: its standard deviation differs by a factor of a million between neighbours.
Given the noise's scale, the multiplier is right; but the scale itself is in plain sight.

The witness: 500 records at ±r·u, 500 at ±u (both in pairs that cancel, r = 1e-6), and one that is
r·u or u. The median norm is r or 1. Let S be the event that the output is shorter than R = 6·σr.
Under the first data set the output is r·u plus noise of standard deviation σr in 4 coordinates: S
has the probability of a non-central χ²_4(1/σ²) below 36. Under the second one it is u plus noise of
standard deviation σ; a Gaussian density is at most (2πσ²)^{−2}, the volume of the ball is π²R⁴/2,
so S has probability at most R⁴/(8σ⁴) = 6⁴r⁴/8 ≈ 1.6e-22. The quotient gives ε ≥ 50.

Why the twin keeps it: the norm is moved by a noisy count of the gradients below it (Andrew,
Thakkar, McMahan and Ramaswamy 2021, here `mechanisms.QuantileTracker`). One record changes sum and
count by at most 2C and 2·½ under replacement, so they are one Gaussian release with 1/σ² =
1/σ_sum² + 1/(2σ_count)², and the new norm is post-processing. Both parts are released here.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from audits.pairs import Pair
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import REPLACE, gaussian_claim
from audits.statistics import FloatArray, Summary
from mechanisms import AdaptiveClip, QuantileTracker, SimulationNoise, clip_rows

SMALL, DIMENSION, HALF = 1e-6, 4, 500
NOISE_MULTIPLIER = 2.0
_RADIUS = 6.0  # of the witness's ball, in standard deviations of the small noise


def median_clipped(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The sum, clipped to the median of the norms, with noise in proportion (Thesis 4.3)."""
    norm = float(np.median(np.linalg.norm(data, axis=1)))
    total = clip_rows(data, norm).rows.sum(axis=0)
    return np.asarray(total + rng.normal(scale=NOISE_MULTIPLIER * norm, size=(n, total.size)))


@dataclass(frozen=True, slots=True)
class PrivateQuantile:
    """The sum at the current norm and the next norm, each paid for with half of the budget."""

    settings: AdaptiveClip
    sum_multiplier: float

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        tracker = QuantileTracker(self.settings)
        rows, bits, _ = tracker.clip(data)
        noise = SimulationNoise()
        total = rows.sum(axis=0)[None, None, :] + np.zeros((n, 1, 1))
        std = self.sum_multiplier * self.settings.initial_norm
        released = noise.noisy_sum(total, std, rng)
        tracker.update(bits.sum(axis=0)[None, None, :] + np.zeros((n, 1, 1)), noise, rng)
        return np.concatenate([released, np.log(tracker.norm)[:, None]], axis=1)


def _pair() -> Pair:
    axis = np.zeros((1, DIMENSION))
    axis[0, 0] = 1.0
    signs = np.where(np.arange(HALF) % 2, 1.0, -1.0)[:, None]
    others = np.concatenate([SMALL * signs * axis, signs * axis])
    return Pair(
        np.concatenate([others, SMALL * axis]),
        np.concatenate([others, axis]),
        f"{HALF} records of norm {SMALL:g}, {HALF} of norm 1, and one of norm {SMALL:g} or 1",
    )


def _witness() -> Witness:
    inside = stats.ncx2.cdf(_RADIUS**2, DIMENSION, NOISE_MULTIPLIER**-2.0)
    return Witness(
        event=f"the output is shorter than {_RADIUS * NOISE_MULTIPLIER * SMALL:g}",
        # Both a little to the safe side of floating-point rounding.
        probability_first_lower=float(inside) - 1e-9,
        probability_second_upper=(_RADIUS * SMALL) ** 4 / 8.0 * (1.0 + 1e-9),
    )


SPECIMENS = (
    Specimen(
        name="percentile clipping",
        flaw="The clip norm, and with it the scale of the noise, is the median of the batch's own "
        "gradient norms.",
        reference="Thesis, section 4.3 (a percentile of the norms in the minibatch); the twin: "
        "Andrew, Thakkar, McMahan and Ramaswamy 2021.",
        explanation=__doc__ or "",
        claim=gaussian_claim(NOISE_MULTIPLIER, relation=REPLACE),
        flawed=median_clipped,
        repaired=PrivateQuantile(
            AdaptiveClip(
                initial_norm=1.0, batch_size=2 * HALF + 1, count_std=0.5 * NOISE_MULTIPLIER * 2**0.5
            ),
            NOISE_MULTIPLIER * 2**0.5,
        ),
        pair=_pair(),
        statistic=Summary("log norm"),
        expected=CAUGHT,
        witness=_witness(),
    ),
)
