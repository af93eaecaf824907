"""The Bayesian committee machine: one round, each client alone (Tresp 2000; Bui et al. 2018)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model, check_model
from pvi.shard import Shard
from pvi.solvers.problem import Context, LocalProblem, LocalSolver
from pvi.validate import checked, generator, having, one_of, sequence


@checked(prior=MeanFieldGaussian)
def committee(
    model: Model,
    prior: MeanFieldGaussian,
    shards: Sequence[Shard],
    solver: LocalSolver,
    *,
    variant: Literal["same", "split"],
    rng: np.random.Generator,
) -> MeanFieldGaussian:
    """Gives the committee's posterior from one local fit per client.

    `same`: each client uses the prior p, and q ∝ p^(1−M) Π q_m. `split`: each uses p^(1/M), and
    q ∝ Π q_m.

    Example:
      >>> from pvi import ExactSolver, LinearRegression
      >>> model = LinearRegression(dimension=1, noise_std=1.0)
      >>> shards = [Shard(inputs=[[1.0]], targets=[y]) for y in (1.0, 2.0, 3.0)]
      >>> prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
      >>> rng = np.random.default_rng(0)
      >>> committee(model, prior, shards, ExactSolver(), variant="same", rng=rng).mean
      array([1.5])
    """
    one_of("variant", variant, ("same", "split"))
    check_model("model", model)
    sequence("shards", shards, Shard, least=1)
    having("solver", solver, "solve")
    members = len(shards)
    local_prior = prior if variant == "same" else prior ** (1.0 / members)
    product = prior ** (1 - members) if variant == "same" else prior**0
    for number, shard in enumerate(shards):
        problem = LocalProblem(
            model=model,
            shard=shard,
            cavity=local_prior,
            start=local_prior,
            state={},
            temperature=1.0,
            context=Context(client=number, round=1, rng=generator(rng)),
        )
        product = product * solver.solve(problem).q
    return product.require_proper(round=1)
