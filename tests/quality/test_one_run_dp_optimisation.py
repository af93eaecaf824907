"""The one-run audit on a real training: `DPOptimisation` of logistic regression with canaries."""

import dp_accounting as dpa
import numpy as np
import pytest

from audits import (
    EventClaim,
    Word,
    one_run_audit,
)
from mechanisms import DPOptimisation, Setting
from pvi import SGD, LogisticRegression, MeanFieldGaussian, Shard

CANARIES, STEPS, CLAIMED = 6000, 4, 4.0


def trained_means(included: np.ndarray, rng: np.random.Generator, noise: float) -> np.ndarray:
    """The posterior means of the canaries' own weights, after one round of local steps.

    Canary i has a feature of its own, so that its clipped gradient points along one coordinate; one
    canary in or out is one record added or removed.
    """
    dimension = CANARIES + 5
    ordinary = np.zeros((40, dimension))
    ordinary[:, CANARIES:] = rng.normal(size=(40, 5))
    inputs = np.concatenate([ordinary, 50.0 * np.eye(CANARIES, dimension)[included]])
    labels = np.where(ordinary[:, CANARIES] > 0, 1.0, -1.0)
    targets = np.concatenate([labels, np.ones(int(included.sum()))])
    run = DPOptimisation(
        clip_norm=1.0, noise_multiplier=noise, steps=STEPS, rule=SGD(learning_rate=1e-3)
    ).build(
        Setting(
            model=LogisticRegression(dimension=dimension),
            prior=MeanFieldGaussian.from_mean_variance(
                np.zeros(dimension), np.full(dimension, 0.02)
            ),
        ),
        [Shard(inputs=inputs, targets=targets)],
        rng,
        keep_values=False,
    )
    run.run(1)
    return run.posterior.mean[:CANARIES]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "word"), [(CLAIMED, Word.NOT_REFUTED), (2.0, Word.REFUTED)])
def test_half_the_noise_is_refuted_and_the_claimed_noise_is_not(noise, word):
    """At 95% confidence, seed fixed; the true claim's p-value was 1 on three seeds.

    The setting was searched for: smaller or stronger claims, fewer canaries and a wider prior did
    not convict. Here seeds 0, 1, 2 gave p = 0.013, 0.015, 0.0007 for half the noise: an example of
    what one run can show, no measurement of its power.
    """
    rng = np.random.default_rng(0)
    coins = rng.random(CANARIES) < 0.5
    claim = EventClaim(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(CLAIMED), STEPS))
    scores = trained_means(coins, rng, noise)
    verdict = one_run_audit(coins, scores, claim, rng=rng, confidence=0.95)
    assert verdict.word is word
