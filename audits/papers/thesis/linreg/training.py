"""DP-SGD within PVI on Bayesian linear regression (Thesis chapter 4): one setting, many seeds.

All seeds are one batched run. The Thesis divides by the realised batch size and clips the prior's
share with each record; here the divisor is the public q·N and the prior is added after the noise
(`mechanisms.DPOptimisation`), but for what a `Variant` says.
"""

import dataclasses
import functools
import math

import numpy as np

from accountants import MomentsAccountant
from accountants.arrays import FloatArray
from audits.papers.costs import largest
from audits.papers.study import Result
from audits.papers.thesis.linreg.case import BatchPercentile, Case, FixedNorm
from audits.papers.thesis.linreg.descent import ThesisDescent
from audits.papers.thesis.linreg.sparse_poisson import GapSampler
from audits.papers.thesis.linreg.variant import OWN_WAY
from audits.specimens.batch_percentile import PercentileSum
from mechanisms import DPOptimisation, Layout, Scope, Setting, epsilon_bounds, project
from pvi import (
    SGD,
    Client,
    Federation,
    GradientSolver,
    ImproperGaussianError,
    LinearRegression,
    LocalSolver,
    MeanFieldGaussian,
    Schedule,
    Sequential,
    Shard,
    Synchronous,
    WholeShard,
    kl_to_full,
)
from pvi.data import linear_data

PRIOR = MeanFieldGaussian.from_mean_variance(np.zeros(2), np.ones(2))
SCOPE = Scope()


def train(case: Case, seeds: tuple[int, ...], points: int, delta: float, natural: bool) -> Result:
    """KL(q ‖ posterior) along the run, over all seeds, and what the run costs.

    Args:
      case: The setting.
      seeds: One repetition each; data and noise are drawn anew.
      points: How many server updates are kept, evenly spaced.
      delta: δ of the certified ε.
      natural: Whether natural parameters are kept.

    Returns:
      `updates`; at these `median`, `low` and `high` (10% and 90% of the seeds) and `first` (the
      first seed) of KL, and `epsilon`, certified, an upper bound (None if there is no finite one);
      for each seed its `final` KL and its `worst` of the last fifth of the run; `floor`, the mean
      KL of the best factorised q; the run's certified bounds `lower` and `upper`; `diverged`, the
      server update in which q or a cavity of some seed left all bounds and the run ended, None if
      there is none. If asked for: `natural`, at the same updates the natural mean and the precision
      of the first seed's q, and `optimum`, those of the best factorised q.
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
    distances: list[FloatArray] = []
    vectors: list[FloatArray] = []
    while len(distances) < case.updates:
        try:
            federation.run(1)
        except ImproperGaussianError:
            if not distances:
                raise
            break
        distances.append(kl_to_full(federation.posterior, *moments))
        vectors.append(federation.posterior.vector[0])
    done = len(distances)
    curves = np.stack(distances)
    kept = [update for update in _spaced(case.updates, points) if update <= done]
    shown = curves[[update - 1 for update in kept]]
    low, median, high = np.quantile(shown, (0.1, 0.5, 0.9), axis=1)
    lower, upper = certified(case, case.updates, delta) or (math.inf, math.inf)
    best = model.optimum(prior, whole)
    result: Result = {
        "updates": kept,
        "median": _rounded(median),
        "low": _rounded(low),
        "high": _rounded(high),
        "first": _rounded(shown[:, 0]),
        "epsilon": [_upper(case, update, delta) for update in kept],
        "final": _rounded(curves[-1]),
        "worst": _rounded(curves[-max(1, case.updates // 5) :].max(axis=0)),
        "floor": float(f"{kl_to_full(best, *moments).mean():.4g}"),
        "lower": None if math.isinf(lower) else lower,
        "upper": None if math.isinf(upper) else upper,
        "diverged": done + 1 if done < case.updates else None,
    }
    if natural:
        result["natural"] = [_rounded(vectors[update - 1]) for update in kept]
        result["optimum"] = _rounded(best.vector[0])
    return result


def certified(case: Case, updates: int, delta: float) -> tuple[float, float] | None:
    """The certified interval of ε after so many server updates; None if no finite one exists.

    Zero and infinity, that is nothing, for the division by the realised batch: no accountant here
    has its event.
    """
    if case.mechanism() is None:
        return None
    if case.variant.realised_batch:
        return 0.0, math.inf
    # Data, learning rate, damping and order have no part in the cost.
    plain = dataclasses.replace(
        case, theta=(0.0, 0.0), noise_scale=1.0, learning_rate=1.0, variant=OWN_WAY
    )
    return _certified(plain, updates, delta)


@functools.cache
def _certified(case: Case, updates: int, delta: float) -> tuple[float, float]:
    mechanism = case.mechanism()
    assert mechanism is not None
    plan = mechanism.plan(Layout(clients=case.clients, dimension=2), rounds=updates)
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
    ).plan(Layout(clients=1), rounds=updates)
    return float(MomentsAccountant().compose(project(plan, SCOPE)).get_epsilon(delta))


@functools.cache
def updates_within(case: Case, epsilon: float, delta: float, most: int) -> int:
    """The server update at which the Thesis's accountant passes ε, at most `most`."""
    within = largest(lambda n: n < most and moments_epsilon(case, n, delta) <= epsilon)
    return within + 1


def _federation(
    case: Case,
    model: LinearRegression,
    whole: Shard,
    prior: MeanFieldGaussian,
    rng: np.random.Generator,
) -> Federation:
    shards = whole.partition(case.clients)
    schedule: Schedule = Sequential() if case.variant.in_turn else Synchronous()
    mechanism = case.mechanism()
    if mechanism is not None and not case.variant.own_descent:
        run = mechanism.build(
            Setting(model=model, prior=prior, schedule=schedule), shards, rng, keep_values=False
        )
        return run.federation
    solver = _solver(case)
    clients = [
        Client(m, WholeShard(model=model, shard=shard, solver=solver), damping=case.damping)
        for m, shard in enumerate(shards)
    ]
    return Federation(prior, clients, schedule, rng=rng)


def _solver(case: Case) -> LocalSolver:
    """Of the cases whose steps `mechanisms` does not have."""
    sampler = case.sampling.sampler()
    if isinstance(case.clip, FixedNorm):
        assert isinstance(sampler, GapSampler)
        return ThesisDescent(
            rule=case.rule,
            steps=case.steps,
            sampler=sampler,
            clip_norm=case.clip.norm,
            noise_multiplier=case.noise_multiplier,
            variant=case.variant,
        )
    assert isinstance(case.clip, BatchPercentile)
    scale = case.sampling.scale()
    return GradientSolver(
        rule=case.rule,
        objective_divisor=None,
        steps=case.steps,
        sampler=sampler,
        aggregate=PercentileSum(case.clip.percentile, case.noise_multiplier, scale),
    )


def _upper(case: Case, updates: int, delta: float) -> float | None:
    bounds = certified(case, updates, delta)
    if bounds is None or math.isinf(bounds[1]):
        return None
    # Rounded away from the truth: the record's figure is still an upper bound.
    return math.ceil(bounds[1] * 1e3) / 1e3


def _spaced(last: int, points: int) -> list[int]:
    """At most `points` numbers up to `last`, evenly spaced, `last` included."""
    return sorted({max(1, round(last * i / points)) for i in range(1, points + 1)})


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
