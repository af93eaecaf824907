"""A client stops once its budget *is* exceeded: the last update has overshot it.

Why it breaks the claim: the rule asks what has been spent after the update was made. With a budget
that one update nearly fills, a second one is made, and ε at δ = 1e-5 ends up where two updates are.

Why the twin keeps it: `mechanisms.Budget` asks before the update whether it still fits. All updates
are Gaussian, so that to stay below (ε, δ) at one δ is to stay below the μ-GDP curve through that
point: that curve is the claim.
"""

import numpy as np

from accountants.arrays import FloatArray
from audits.claims import GaussianClaim
from audits.specimens.gradient_steps import RULE, moves, optimised
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import gaussian_mu_lower, present_or_absent, shifted
from audits.testing.statistics import Weighted
from mechanisms import Budget, DPOptimisation, Layout, Scope, epsilon_bounds

EPSILON, DELTA, MOST_UPDATES = 5.0, 1e-5, 4

MECHANISM = DPOptimisation(clip_norm=1.0, noise_multiplier=1.0, steps=1, rule=RULE)


def spent(updates: int) -> float:
    """The ε of so many updates at δ, from above."""
    plan = MECHANISM.plan(Layout(clients=1), rounds=updates)
    return epsilon_bounds(plan, Scope(), DELTA).upper


def updates_until_exceeded() -> int:
    """How many updates the Workshop's rule makes: on, until the budget is exceeded."""
    updates = 1
    while updates < MOST_UPDATES and spent(updates) <= EPSILON:
        updates += 1
    return updates


def checked_afterwards(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The updates, and zeros for those that were not made."""
    made = moves(optimised(MECHANISM, data, rng, n), updates_until_exceeded())
    return np.pad(made, ((0, 0), (0, 2 * MOST_UPDATES - made.shape[1])))


def checked_before(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The same under a budget: an update that does not fit is not made."""
    budget = Budget(target_epsilon=EPSILON, delta=DELTA)
    return moves(optimised(MECHANISM, data, rng, n, budget=budget), MOST_UPDATES)


SPECIMENS = (
    Specimen(
        name="stop rule that overshoots",
        flaw="Updates go on until the privacy budget is exceeded, and the budget is what is "
        "claimed.",
        reference="Workshop, section 3, Method: no more updates once the budget is exceeded.",
        explanation=__doc__ or "",
        claim=GaussianClaim(gaussian_mu_lower(EPSILON, DELTA)),
        flawed=checked_afterwards,
        repaired=checked_before,
        pair=present_or_absent([1.0], name="one record whose gradient has norm C, or none"),
        # The mean's share of every update; the log-variance's is noise.
        statistic=Weighted((1.0, 0.0) * MOST_UPDATES),
        expected=CAUGHT,
        proof=shifted(updates_until_exceeded() ** 0.5),
        max_samples=20_000,
    ),
)
