"""Free energies, global and local (Thesis Definitions 2.1.1 and 2.1.2; TMLR eq. 2.2 and 2.4)."""

from collections.abc import Sequence

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model, temperature_of
from pvi.shard import Shard
from pvi.solvers.gradient import prior_gradient
from pvi.validate import FloatArray, checked, generator, having, sequence

_MODEL = ("dimension", "expected_log_likelihood", "gradients")


@checked(q=MeanFieldGaussian, cavity=MeanFieldGaussian, shard=Shard)
def local_energy(
    model: Model,
    q: MeanFieldGaussian,
    cavity: MeanFieldGaussian,
    shard: Shard,
    rng: np.random.Generator,
    *,
    temperature: float = 1.0,
) -> FloatArray:
    """Gives ∫ q log(cavity · p(shard | θ)^temperature / q), shape (...).

    The cavity is taken unnormalised, as exp(η·θ − ½θ·Λθ), since it may be improper; a proper one's
    `log_partition()` subtracted gives −KL(q ‖ cavity) in place of the prior term.
    """
    having("model", model, *_MODEL)
    temperature = temperature_of(temperature)
    data = model.expected_log_likelihood(q, shard, generator(rng)).sum(axis=-1)
    return np.asarray(temperature * data + q.expectation_of(cavity) + q.entropy())


@checked(q=MeanFieldGaussian, prior=MeanFieldGaussian)
def elbo(
    model: Model,
    q: MeanFieldGaussian,
    prior: MeanFieldGaussian,
    shards: Sequence[Shard],
    rng: np.random.Generator,
) -> FloatArray:
    """Gives the global evidence lower bound E_q[log p(data | θ)] − KL(q ‖ prior), shape (...)."""
    rows = _shards(model, shards)
    data = sum(model.expected_log_likelihood(q, one, generator(rng)).sum(axis=-1) for one in rows)
    return np.asarray(data - q.kl(prior))


@checked(q=MeanFieldGaussian, prior=MeanFieldGaussian)
def elbo_gradient(
    model: Model,
    q: MeanFieldGaussian,
    prior: MeanFieldGaussian,
    shards: Sequence[Shard],
    rng: np.random.Generator,
) -> FloatArray:
    """Gives the gradient of `elbo` by q's mean and log-variance, shape (..., 2d)."""
    rows = _shards(model, shards)
    data = sum(model.gradients(q, one, generator(rng)).sum(axis=-2) for one in rows)
    return np.asarray(data + prior_gradient(q, prior))


def _shards(model: Model, shards: Sequence[Shard]) -> tuple[Shard, ...]:
    having("model", model, *_MODEL)
    return sequence("shards", shards, Shard)
