"""The best of k private runs is released, and one run is accounted for.

Why it breaks the claim: which run is best depends on all k noisy results. That the largest of k
draws stays below t means that all of them do: the probabilities under the two data sets are those
of one draw to the power of k, and so is their quotient (Φ(t) and Φ(t − 1), for σ = 1). In the worst
case selection costs as much as composition (Liu and Talwar 2019; Papernot and Steinke 2022).

Why the twin keeps it: it pays for all k runs, each with noise √k·σC. Their joint release is
μ-GDP with μ = 1/σ (Dong, Roth and Su 2022, Corollary 3.3), and picking one is post-processing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from accountants.arrays import FloatArray
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import clipped_sum, gaussian_claim, present_or_absent
from audits.testing.statistics import Coordinate

RUNS = 20


@dataclass(frozen=True, slots=True)
class BestOf:
    """The run with the largest score, a noisy sum."""

    noise_std: float

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        runs = clipped_sum(data)[0] + rng.normal(scale=self.noise_std, size=(n, RUNS))
        return np.asarray(runs.max(axis=1, keepdims=True))


def _lower_tail_costs(delta: float) -> float:
    """The ε of the event that no run exceeds t, at the best of some t."""
    thresholds = np.linspace(-1.0, 3.0, 401)
    absent = np.exp(RUNS * stats.norm.logcdf(thresholds))
    log_present = RUNS * stats.norm.logcdf(thresholds - 1.0)
    usable = absent > delta
    found = np.log(absent[usable] - delta) - log_present[usable]
    # Less what rounding can add.
    return float(found.max(initial=0.0)) * (1.0 - 1e-9)


SPECIMENS = (
    Specimen(
        name="best of twenty runs",
        flaw="Hyperparameters are tuned by twenty private runs, the best is released, and one run "
        "is accounted for.",
        reference="TMLR section 4 (the leak through tuning is ignored there, and said to be) and "
        "Appendix B (grid search); Liu and Talwar 2019; Papernot and Steinke 2022.",
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=BestOf(noise_std=1.0),
        repaired=BestOf(noise_std=RUNS**0.5),
        pair=present_or_absent([1.0], name="one record at C, or an empty data set"),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=_lower_tail_costs,
    ),
)
