"""DP-SGD within PVI on Bayesian linear regression (Thesis chapter 4): one setting, many seeds.

All seeds are one batched run. The Thesis divides by the realised batch size and clips the prior's
share with each record; here the divisor is the public q·N and the prior is added after the noise
(`mechanisms.DPOptimisation`).
"""

import functools
import math

import numpy as np

from accountants import MomentsAccountant
from mechanisms import (
    DPOptimisation,
    Scope,
    epsilon_bounds,
    project,
)
from pvi import (
    SGD,
    Client,
    Federation,
    GradientSolver,
    LinearRegression,
    MeanFieldGaussian,
    Shard,
    Synchronous,
    WholeShard,
    kl_to_full,
)
from pvi._validate import FloatArray
from pvi.data import linear_data
from pvi.studies.study import Result
from pvi.studies.thesis_linreg.batch_percentile import PercentileSum
from pvi.studies.thesis_linreg.case import BatchPercentile, Case

PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
SCOPE = Scope()


def train(case: Case, seeds: tuple[int, ...], points: int, delta: float) -> Result:
    """KL(q ‖ posterior) along the run, over all seeds, and what the run costs.

    Args:
      case: The setting.
      seeds: One repetition each; data and noise are drawn anew.
      points: How many server updates are kept, evenly spaced.
      delta: δ of the certified ε.

    Returns:
      `updates`; at these `median`, `low` and `high` (10% and 90% of the seeds) and `first` (the
      first seed) of KL, and `epsilon`, certified, an upper bound (None if there is no finite one);
      for each seed its `final` KL and its `worst` of the last fifth of the run; `floor`, the mean
      KL of the best factorised q; the run's certified bounds `lower` and `upper`.
    """
    # One generator for the batch: all repetitions advance together.
    rng = np.random.default_rng([20, *seeds])
    data = linear_data(
        theta=case.theta,
        noise_scale=case.noise_scale,
        size=case.clients * case.records,
        rng=rng,
        batch=(len(seeds),),
    )
    whole = Shard(inputs=data.features, targets=data.labels.astype(np.float64))
    model = LinearRegression(dimension=2, noise_std=case.noise_scale)
    prior = PRIOR.broadcast_to((len(seeds),))
    moments = model.posterior_moments(prior, whole)
    federation = _federation(case, model, whole, prior, rng)
    distances = []
    for _ in range(case.updates):
        federation.run(1)
        distances.append(kl_to_full(federation.posterior, *moments))
    curves = np.stack(distances)
    kept = _spaced(case.updates, points)
    shown = curves[[update - 1 for update in kept]]
    low, median, high = np.quantile(shown, (0.1, 0.5, 0.9), axis=1)
    bounds = certified(case, case.updates, delta)
    return {
        "updates": kept,
        "median": _rounded(median),
        "low": _rounded(low),
        "high": _rounded(high),
        "first": _rounded(shown[:, 0]),
        "epsilon": [_upper(case, update, delta) for update in kept],
        "final": _rounded(curves[-1]),
        "worst": _rounded(curves[-max(1, case.updates // 5) :].max(axis=0)),
        "floor": float(f"{kl_to_full(model.optimum(prior, whole), *moments).mean():.4g}"),
        "lower": None if bounds is None else bounds[0],
        "upper": None if bounds is None else bounds[1],
    }


@functools.cache
def certified(case: Case, updates: int, delta: float) -> tuple[float, float] | None:
    """The certified interval of ε after so many server updates; None if no finite one exists."""
    mechanism = case.mechanism()
    if mechanism is None:
        return None
    plan = mechanism.plan(clients=case.clients, rounds=updates, dimension=2)
    bounds = epsilon_bounds(plan, SCOPE, delta)
    return bounds.lower, bounds.upper


@functools.cache
def moments_epsilon(case: Case, updates: int, delta: float) -> float:
    """What the Thesis's accountant says, the clip norm taken for a constant: an upper bound of ε.

    For a batch percentile it is what the Thesis counts, and no bound at all.
    """
    plan = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=case.noise_multiplier,
        steps=case.steps,
        rule=SGD(learning_rate=1.0),
        sampling=case.sampling,
    ).plan(clients=1, rounds=updates)
    return float(MomentsAccountant().compose(project(plan, SCOPE)).get_epsilon(delta))


@functools.cache
def updates_within(case: Case, epsilon: float, delta: float, most: int) -> int:
    """The server update at which the Thesis's accountant passes ε, at most `most`."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if moments_epsilon(case, middle, delta) > epsilon:
            high = middle
        else:
            low = middle
    return high


def _federation(
    case: Case,
    model: LinearRegression,
    whole: Shard,
    prior: MeanFieldGaussian,
    rng: np.random.Generator,
) -> Federation:
    shards = whole.partition(case.clients)
    mechanism = case.mechanism()
    if mechanism is not None:
        run = mechanism.build(
            model=model,
            data=shards,
            prior=prior,
            rng=rng,
            schedule=Synchronous(),
            keep_values=False,
        )
        return run.federation
    assert isinstance(case.clip, BatchPercentile)
    solver = GradientSolver(
        rule=case.rule,
        average=True,
        steps=case.steps,
        sampler=case.sampling.sampler(),
        aggregate=PercentileSum(case.clip.percentile, case.noise_multiplier, case.sampling.scale()),
    )
    clients = [
        Client(m, WholeShard(model=model, shard=shard, solver=solver), damping=case.damping)
        for m, shard in enumerate(shards)
    ]
    return Federation(prior, clients, Synchronous(), rng=rng)


def _upper(case: Case, updates: int, delta: float) -> float | None:
    bounds = certified(case, updates, delta)
    # Rounded away from the truth: the record's figure is still an upper bound.
    return None if bounds is None else math.ceil(bounds[1] * 1e3) / 1e3


def _spaced(last: int, points: int) -> list[int]:
    """At most `points` numbers up to `last`, evenly spaced, `last` included."""
    return sorted({max(1, round(last * i / points)) for i in range(1, points + 1)})


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
