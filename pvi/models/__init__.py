"""Likelihoods for PVI, and what it takes to add one.

A model is any object with the three members of `Model`: its `dimension`, each record's expected
log-likelihood under a mean-field Gaussian, and that number's gradient by mean and log-variance. A
complete one, Poisson regression with rate exp(θ·x), whose expectations are exact because
E exp(θ·x) = exp(μ·x + ½ Σ x²v):

>>> from dataclasses import dataclass
>>> import numpy as np
>>> from scipy.special import gammaln
>>> import pvi
>>> @dataclass(frozen=True)
... class PoissonRegression:
...     dimension: int
...
...     def _rate(self, q, shard):
...         return np.exp(q.mean @ shard.inputs.T + 0.5 * q.variance @ (shard.inputs**2).T)
...
...     def expected_log_likelihood(self, q, shard, rng):
...         linear = shard.targets * (q.mean @ shard.inputs.T)
...         return linear - self._rate(q, shard) - gammaln(shard.targets + 1)
...
...     def gradients(self, q, shard, rng):
...         rate = self._rate(q, shard)[..., None]
...         by_mean = (shard.targets[..., None] - rate) * shard.inputs
...         by_variance = -0.5 * rate * shard.inputs**2
...         return np.concatenate([by_mean, by_variance * q.variance[..., None, :]], axis=-1)
>>> rng = np.random.default_rng(0)
>>> inputs = rng.normal(size=(200, 2))
>>> counts = rng.poisson(np.exp(inputs @ [0.5, -1.0])).astype(float)
>>> shards = pvi.Shard(inputs=inputs, targets=counts).partition(4)
>>> solver = pvi.GradientSolver(rule=pvi.Adam(learning_rate=0.05), steps=50)
>>> clients = [
...     pvi.Client(m, pvi.WholeShard(model=PoissonRegression(2), shard=shard, solver=solver))
...     for m, shard in enumerate(shards)
... ]
>>> prior = pvi.MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
>>> federation = pvi.Federation(prior, clients, pvi.Sequential(), rng=rng)
>>> q = federation.run(20).posterior
>>> bool(np.all(np.abs(q.mean - [0.5, -1.0]) < 0.2))
True

Its batch axes come for free, since the code leaves leading axes alone (shards without batch axes
suffice here). `ExactModel` adds a closed-form local optimum and `PointModel` the scores that
federated averaging needs. The neural network, `pvi.models.bnn.BayesianNeuralNetwork`, needs torch
and is imported by its full name.
"""

from pvi.models.linear import LinearRegression, kl_to_full
from pvi.models.logistic import LogisticRegression
from pvi.models.protocol import ExactModel, Model, PointModel

__all__ = [
    "ExactModel",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "PointModel",
    "kl_to_full",
]
