r"""The clip norm is a percentile of the batch's own norms, and the noise follows it.

Why it breaks the claim: the percentile is an exact function of the data. If half of the records
have tiny gradients and half of them large ones, one record decides which the median is, and with it
the scale of the noise: its standard deviation differs by a factor of a million between neighbours.
Given the noise's scale, the multiplier is right; but the scale itself is in plain sight.

The witness: 50 records with gradients ±r·u, 50 with ±u (both in pairs that cancel, r = 1e-6), and
one with r·u or u. The median norm is r or 1. Let S be the event that the first round moves mean and
log-variance, 4 numbers, by less than R = 6·σr (per unit of the learning rate). Under the first data
set they move by r·u plus noise of standard deviation σr: S has the probability of a non-central
χ²_4(1/σ²) below 36. Under the second one they move by u plus noise of standard deviation σ; a
Gaussian density is at most (2πσ²)^{−2}, the volume of the ball is π²R⁴/2, so S has probability at
most R⁴/(8σ⁴) = 6⁴r⁴/8 ≈ 1.6e-22. The quotient gives ε ≥ 50.

Why the twin keeps it: the norm is moved by a noisy count of the gradients below it (Andrew,
Thakkar, McMahan and Ramaswamy 2021; `mechanisms.DPOptimisation` with an `AdaptiveClip`). One record
changes sum and count by at most 2C and 2·½ under replacement, so they are one Gaussian release with
1/σ² = 1/σ_sum² + 1/(2σ_count)², and the next round's norm is post-processing. `mechanisms.project`
proves the claim.
"""

import numpy as np
from scipy import stats

from accountants.arrays import FloatArray
from audits.claims import EventClaim
from audits.pairs import Pair
from audits.specimens.batch_percentile import PercentileSum
from audits.specimens.gradient_steps import RULE, client_run, moves, optimised
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import REPLACE
from audits.testing.statistics import Summary
from mechanisms import AdaptiveClip, DPOptimisation, Layout, Scope, project
from pvi import FullBatch

SMALL, DIMENSION, HALF, ROUNDS = 1e-6, 2, 50, 2
NOISE_MULTIPLIER = 2.0
_RADIUS = 6.0  # of the witness's ball, in standard deviations of the small noise

# Each of sum and count gets half of what a plain sum would cost.
TWIN = DPOptimisation(
    clip_norm=AdaptiveClip(
        initial_norm=1.0, batch_size=2 * HALF + 1, count_std=0.5 * NOISE_MULTIPLIER * 2**0.5
    ),
    noise_multiplier=NOISE_MULTIPLIER * 2**0.5,
    steps=1,
    rule=RULE,
)


def median_clipped(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """Rounds of one step each, clipped to the median of the gradients' norms (Thesis 4.3)."""
    rule = PercentileSum(percentile=50, noise_multiplier=NOISE_MULTIPLIER, scale=1.0)
    return moves(client_run(rule, FullBatch(), data, rng, n), ROUNDS)


def private_quantile(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The same with a norm that follows a noisy count."""
    return moves(optimised(TWIN, data, rng, n), ROUNDS)


def _pair() -> Pair:
    axis = np.zeros((1, DIMENSION))
    axis[0, 0] = 1.0
    signs = np.where(np.arange(HALF) % 2, 1.0, -1.0)[:, None]
    others = np.concatenate([SMALL * signs * axis, signs * axis])
    return Pair(
        np.concatenate([others, SMALL * axis]),
        np.concatenate([others, axis]),
        f"{HALF} gradients of norm {SMALL:g}, {HALF} of norm 1, and one of norm {SMALL:g} or 1",
    )


def _witness() -> Witness:
    inside = stats.ncx2.cdf(_RADIUS**2, 2 * DIMENSION, NOISE_MULTIPLIER**-2.0)
    return Witness(
        event="the first round moves mean and log-variance by less than "
        f"{_RADIUS * NOISE_MULTIPLIER * SMALL:g} of the learning rate",
        # Both to the safe side of rounding: of the moves (1e-12 against a radius of 1e-5), and of
        # clipped norms, which are short of C by 2^-32 of it.
        probability_first_lower=float(inside) - 1e-6,
        probability_second_upper=(_RADIUS * SMALL) ** 4 / 8.0 * (1.0 + 1e-5),
    )


SPECIMENS = (
    Specimen(
        name="percentile clipping",
        flaw="The clip norm, and with it the scale of the noise, is the median of the batch's own "
        "gradient norms.",
        reference="Thesis, section 4.3 (a percentile of the norms in the minibatch); the twin: "
        "Andrew, Thakkar, McMahan and Ramaswamy 2021.",
        explanation=__doc__ or "",
        claim=EventClaim(
            project(
                TWIN.plan(Layout(clients=1, dimension=DIMENSION), rounds=ROUNDS),
                Scope(relation=REPLACE),
            ),
            relation=REPLACE,
        ),
        flawed=median_clipped,
        repaired=private_quantile,
        pair=_pair(),
        statistic=Summary("log norm"),
        expected=CAUGHT,
        witness=_witness(),
    ),
)
