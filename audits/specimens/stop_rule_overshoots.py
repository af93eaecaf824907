"""A client stops once its budget *is* exceeded: the last update has overshot it.

Why it breaks the claim: the rule asks what has been spent after the update was made. With a budget
that one update nearly fills, a second one is made, and ε at δ = 1e-5 ends up where two updates are.

Why the twin keeps it: `mechanisms.Budget` asks before the update whether it still fits. All updates
are Gaussian, so that to stay below (ε, δ) at one δ is to stay below the μ-GDP curve through that
point: that curve is the claim.
"""

from collections.abc import Callable

import dp_accounting as dpa
import numpy as np

from audits.claim import Claim
from audits.execute import Mechanism
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import (
    Weighted,
    clipped_sum,
    gaussian_mu_lower,
    normals,
    present_or_absent,
    shifted,
)
from audits.statistics import FloatArray
from mechanisms import Budget

EPSILON, DELTA, MOST_UPDATES = 5.0, 1e-5, 4
UPDATE = dpa.GaussianDpEvent(1.0)


def checked_afterwards() -> int:
    """How many updates the Workshop's rule makes: on, until the budget is exceeded."""
    # A purse without a bottom, to count what was spent.
    spent = Budget(target_epsilon=1e6, delta=DELTA)
    updates = 0
    while updates < MOST_UPDATES and spent.epsilon_upper(0) <= EPSILON:
        spent.spend(0, UPDATE)
        updates += 1
    return updates


def checked_before() -> int:
    """How many updates fit."""
    budget = Budget(target_epsilon=EPSILON, delta=DELTA)
    updates = 0
    while updates < MOST_UPDATES and budget.admits(0, UPDATE):
        budget.spend(0, UPDATE)
        updates += 1
    return updates


def _until_stopped(rule: Callable[[], int]) -> Mechanism:
    def mechanism(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The updates, and zeros for those that were not made."""
        made = rule()
        outputs = np.zeros((n, MOST_UPDATES))
        outputs[:, :made] = clipped_sum(data)[0] + normals(rng, n, made, 1.0)
        return outputs

    return mechanism


SPECIMENS = (
    Specimen(
        name="stop rule that overshoots",
        flaw="Updates go on until the privacy budget is exceeded, and the budget is what is "
        "claimed.",
        reference="Workshop, section 3, Method: no more updates once the budget is exceeded.",
        explanation=__doc__ or "",
        claim=Claim(mu=gaussian_mu_lower(EPSILON, DELTA)),
        flawed=_until_stopped(checked_afterwards),
        repaired=_until_stopped(checked_before),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Weighted((1.0,) * MOST_UPDATES),
        expected=CAUGHT,
        proof=shifted(checked_afterwards() ** 0.5),
        max_samples=20_000,
    ),
)
