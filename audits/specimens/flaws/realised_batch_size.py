r"""Sum and noise of a Poisson batch are divided by the batch's realised size.

Why it breaks the claim: the noise of the result is σC/k, where k is the number of records that came
into the batch. Of two records both come with probability q², of one record never two. The noise
shows in every coordinate, mean or log-variance, whatever the gradients are: here they are small.

The witness: S is the event that the d coordinates together are shorter than R·σC. With two records
it has at least the probability q²·P(χ²_d ≤ 4R²). With one record the divisor is 1 (an empty batch
is divided by 1 as well), and S has the probability P(χ²_d ≤ R²).

Why the twin keeps it: `mechanisms.DPOptimisation` scales by the public constant 1/q, which is
post-processing of the noisy sum (Abadi et al. 2016, Algorithm 1, in the form of Poisson sampling by
Mironov, Talwar and Zhang 2019). `mechanisms.project` proves the claim.
"""

import numpy as np
from scipy import stats

from accountants.arrays import FloatArray
from audits.claims import EventClaim
from audits.specimens.gradient_steps import RULE, client_run, moves, optimised
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import present_or_absent
from audits.testing.statistics import Summary
from mechanisms import DPOptimisation, Layout, Poisson, Scope, clip_rows, project
from pvi import PoissonSampling, StepContext

RATE, NOISE_MULTIPLIER, DIMENSION = 0.5, 2.0, 20
_RADIUS = 0.45 * (2 * DIMENSION) ** 0.5

TWIN = DPOptimisation(
    clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER, steps=1, rule=RULE, sampling=Poisson(RATE)
)


def averaged_over_the_batch(gradients: FloatArray, context: StepContext) -> FloatArray:
    """The Thesis's Algorithm 2, line 8: clipped, summed, perturbed, over what was drawn.

    Rows that were left out of the batch are zero; no other row is.
    """
    total = clip_rows(gradients, 1.0).rows.sum(axis=-2)
    noise = NOISE_MULTIPLIER * context.rng.standard_normal(total.shape)
    size = gradients.any(axis=-1).sum(axis=-1)
    return np.asarray((total + noise) / np.maximum(size, 1)[..., None])


def realised(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """One round of one step, divided by the realised size of its batch."""
    sampler = PoissonSampling(sampling_rate=RATE)
    return moves(client_run(averaged_over_the_batch, sampler, data, rng, n), 1)


def nominal(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The same with a public scale."""
    return moves(optimised(TWIN, data, rng, n), 1)


def _record(sign: float) -> list[float]:
    return [sign * 1e-3] + [0.0] * (DIMENSION - 1)


def _witness() -> Witness:
    square = _RADIUS**2
    return Witness(
        event=f"the round moves mean and log-variance by less than {_RADIUS * NOISE_MULTIPLIER:.3g}"
        " of the learning rate",
        # To the safe side of rounding.
        probability_first_lower=RATE**2 * float(stats.chi2.cdf(4.0 * square, 2 * DIMENSION)) - 1e-9,
        # The record moves the centre, which makes a ball about 0 less likely, not more.
        probability_second_upper=float(stats.chi2.cdf(square, 2 * DIMENSION)) * (1.0 + 1e-9),
    )


SPECIMENS = (
    Specimen(
        name="division by the realised batch size",
        flaw="The noisy sum of a Poisson batch is divided by the number of records that happened "
        "to be in it, and the noise with it.",
        reference="Thesis, Algorithm 2, line 8 (divides by the sample L_t that was drawn); Opacus "
        "issue 420 asks for the same. The twin: Abadi et al. 2016, Algorithm 1, and Mironov, "
        "Talwar and Zhang 2019.",
        explanation=__doc__ or "",
        claim=EventClaim(
            project(TWIN.plan(Layout(clients=1, dimension=DIMENSION), rounds=1), Scope())
        ),
        flawed=realised,
        repaired=nominal,
        pair=present_or_absent(
            _record(1.0),
            others=np.array([_record(-1.0)]),
            name="two records with small gradients that cancel, or one of them",
        ),
        statistic=Summary("log norm"),
        expected=CAUGHT,
        witness=_witness(),
    ),
)
