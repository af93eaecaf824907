"""Exact means and deviations, used to standardise the data, are released beside the noisy model.

Why it breaks the claim: clients must scale alike, so the pooled data's mean and deviation go to all
of them, with no noise. Two neighbouring data sets have different ones, so one look tells them
apart: ε is infinite for every δ < 1, whatever noise the model has.

Why the twin keeps it: features lie in [−1, 1] to begin with, and the sum that centres them has
noise of its own, σ times that bound, and is accounted for. Training on features that were centred
by a released number costs what training costs; the two compose to the claimed event.
"""

import dp_accounting as dpa
import numpy as np

from accountants.arrays import FloatArray
from audits.claims import Claim, EventClaim
from audits.pairs import Pair
from audits.specimens.specimen import CAUGHT, Specimen, Witness
from audits.specimens.sums import REPLACE
from audits.testing.statistics import Coordinate
from mechanisms import SERVER, FedAvgPerturbation, Layout, Scope, Setting, project
from pvi import SGD, LogisticRegression, MeanFieldGaussian, Shard
from pvi.data import fit_scaler

CLIENTS, RECORDS, NOISE_MULTIPLIER = 2, 2, 2.0

TRAINING = FedAvgPerturbation(
    clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER, rule=SGD(learning_rate=1.0)
)


def trained(features: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The clients' messages of one round of federated averaging, n times; all labels are +1.

    Args:
      features: One scaled feature of all clients' records, shape (n, records).
      rng: For the noise.
      n: The number of independent runs.
    """
    labels = np.ones(RECORDS)
    shards = [Shard(inputs=own[..., None], targets=labels) for own in np.split(features, 2, 1)]
    prior = MeanFieldGaussian(natural_mean=np.zeros((n, 1)), precision=np.ones((n, 1)))
    run = TRAINING.build(Setting(model=LogisticRegression(dimension=1), prior=prior), shards, rng)
    run.run(1)
    sent = [r.value for r in run.transcript if r.sender != SERVER and r.value is not None]
    return np.concatenate(sent, axis=1)


def exactly_scaled(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """The exact mean and deviation, and what was trained on features scaled by them."""
    scaler = fit_scaler(data[:, None])
    features = np.tile(scaler(data[:, None])[:, 0], (n, 1))
    known = np.tile(np.concatenate([scaler.shift, scaler.scale]), (n, 1))
    return np.concatenate([known, trained(features, rng, n)], axis=1)


def noisily_centred(data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """A noisy mean, and what was trained on features centred by it."""
    bounded = np.clip(data, -1.0, 1.0)
    mean = (bounded.sum() + rng.normal(scale=NOISE_MULTIPLIER, size=(n, 1))) / data.size
    return np.concatenate([mean, trained(bounded - mean, rng, n)], axis=1)


def _claim() -> Claim:
    scope = Scope(relation=REPLACE)
    training = project(
        TRAINING.plan(Layout(clients=CLIENTS, sizes=(RECORDS,) * CLIENTS), rounds=1),
        scope,
    )
    scaling = dpa.GaussianDpEvent(NOISE_MULTIPLIER)
    return EventClaim(dpa.ComposedDpEvent([scaling, training]), relation=REPLACE)


_OTHERS = np.array([1.0, -1.0, 0.5])

SPECIMENS = (
    Specimen(
        name="exact mean released beside",
        flaw="The exact mean and deviation that standardise the data are released beside the "
        "noisy model.",
        reference="TUM sections 4.1 and 5.3.2 (sums for scaling; class counts in section 6.2 are "
        "the same flaw). The twin: Balle and Wang 2018, Theorem 8, for both parts.",
        explanation=__doc__ or "",
        claim=_claim(),
        flawed=exactly_scaled,
        repaired=noisily_centred,
        pair=Pair(
            np.append(_OTHERS, 1.0), np.append(_OTHERS, -1.0), "one of four features is +1 or −1"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        witness=Witness(
            event="the released mean is above 1/4",
            probability_first_lower=1.0,
            probability_second_upper=0.0,
        ),
    ),
)
