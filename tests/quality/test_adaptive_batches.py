"""The adaptive adversary shows what the tight lower end says; failure probability 1e-7 each."""

import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from accountants import epsilon_bounds
from audits.estimators.fixed import clopper_pearson
from audits.specimens.adaptive_batches import ADAPTIVE_PAIR, AdaptiveBatches


@pytest.mark.slow
def test_the_audit_comes_near_the_lower_end_and_never_above_the_upper_one() -> None:
    bounds = epsilon_bounds(
        noise_multiplier=3.0,
        sampling_rate=0.2,
        steps=20,
        delta=0.02,
        sampling="fixed_size",
        relation=NeighboringRelation.REPLACE_ONE,
        tight=True,
    )
    mechanism = AdaptiveBatches(
        batch_size=1, size=5, noise_multiplier=3.0, steps=20, epsilon=bounds.lower
    )
    rng = np.random.default_rng(11)
    first, second = (
        mechanism.loss(mechanism(data, rng, 500_000))
        for data in (ADAPTIVE_PAIR.first, ADAPTIVE_PAIR.second)
    )
    evidence = clopper_pearson(first, second, delta=0.02, confidence=1.0 - 1e-7)
    assert 0.85 * bounds.lower < evidence.epsilon_lower <= bounds.upper


def test_one_step_of_it_is_a_fixed_size_batch() -> None:
    """Its loss at the first output, against densities that are written out."""
    mechanism = AdaptiveBatches(batch_size=2, size=8, noise_multiplier=1.5, steps=2, epsilon=0.1)
    outputs = np.array([[-3.0, 4.0], [3.0, 1.0]])

    def density(x: float, mean: float) -> float:
        return float(np.exp(-0.5 * ((x - mean) / 1.5) ** 2))

    expected = []
    for row in outputs:
        loss = 0.0
        for x in row:
            g = 1.0 if loss > 0.1 else -1.0
            p, q = (0.75 * density(x, 2.0 * g) + 0.25 * density(x, g + own) for own in (1.0, -1.0))
            loss += np.log(p / q)
        expected.append(loss)
    assert mechanism.loss(outputs) == pytest.approx(expected, rel=1e-12)
