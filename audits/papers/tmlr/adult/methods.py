"""The methods that TMLR's section 4 compares, each at the noise that its privacy target needs.

Every private method is one of our mechanisms, so that what it releases is accounted for: a plan of
the run is costed for its worst client, and the noise is the least that keeps the certified upper
bound of ε at the target.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from dp_accounting import NeighboringRelation
from scipy import optimize

from accountants.arrays import FloatArray
from audits.papers.study import Cost
from audits.papers.tmlr.adult.data import Likelihood
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    DPOptimisation,
    Layout,
    LocalAveraging,
    Memory,
    Partition,
    Poisson,
    PrivateRun,
    Scope,
    Setting,
    Transcript,
    VirtualClients,
)
from pvi import (
    Adam,
    FixedSizeSampling,
    FullBatch,
    GradientSolver,
    MeanFieldGaussian,
    RoundEvent,
    Sequential,
    Shard,
    StackedSolver,
    Synchronous,
    reset_factors,
)

Kind: TypeAlias = Literal["optimisation", "average", "virtual", "same", "split", "global"]
Watch: TypeAlias = Callable[[int, MeanFieldGaussian], None]
"""Is told q, and how many messages clients and server have exchanged by then."""

DELTA = 1e-5
PRECISION_FLOOR = 1.0
"""The prior's precision: no product of exact factors falls below, noise may. Post-processing."""
_INITIAL_VARIANCE = 1e-2


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One of the figures' curves.

    Attributes:
      name: As in the figures' legends.
      kind: What it does.
      trusted: Whether a trusted aggregator adds up the clients' messages.
    """

    name: str
    kind: Kind
    trusted: bool = False

    @property
    def scope(self) -> Scope:
        """TMLR's neighbours differ in one record's values; an aggregator hides messages."""
        return Scope(
            relation=NeighboringRelation.REPLACE_ONE, view=AGGREGATE if self.trusted else MESSAGES
        )

    @property
    def sampling(self) -> str:
        """How records are chosen, in words."""
        return "all records" if self.kind in ("average", "virtual") else "Poisson"


METHODS = {
    method.name: method
    for method in (
        Method(name="global VI, trusted aggr.", kind="global", trusted=True),
        Method(name="DP optimisation", kind="optimisation"),
        Method(name="local avg", kind="average"),
        Method(name="local avg, trusted aggr.", kind="average", trusted=True),
        Method(name="virtual", kind="virtual"),
        Method(name="virtual, trusted aggr.", kind="virtual", trusted=True),
        Method(name="BCM same", kind="same"),
        Method(name="BCM split", kind="split"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What TMLR tunes and does not publish.

    Attributes:
      rounds: How often every client sends a message; for global VI, how often q is looked at.
      steps: Local steps of Adam per message; for global VI, per look.
      learning_rate: Adam's.
      clip_norm: C, of a record's gradient or of a part's change.
      damping: Of every message.
      sampling_rate: Of records in a step, where gradients are perturbed.
      parts: The shards of a client, or the virtual clients of one of average size; see `parts_of`.
      reset_every: With an aggregator, the rounds between resets of the factors; 0 for none.
    """

    rounds: int
    steps: int
    learning_rate: float
    clip_norm: float
    damping: float = 1.0
    sampling_rate: float = 1.0
    parts: int = 1
    reset_every: int = 0


def parts_of(method: Method, tuning: Tuning, sizes: Sequence[int]) -> list[int]:
    """Into how many parts each client's records are cut; never more than it has records.

    Every virtual client's change counts the same once clipped, so a client has virtual clients in
    proportion to its records, or small clients would count for more. Averages have the same number
    of shards everywhere, which TMLR's Theorem 8 assumes.
    """
    if method.kind == "average":
        return [min(tuning.parts, size) for size in sizes]
    if method.kind == "virtual":
        per_record = tuning.parts * len(sizes) / sum(sizes)
        return [min(max(1, round(per_record * size)), size) for size in sizes]
    return [1] * (1 if method.kind == "global" else len(sizes))


def mechanism(
    method: Method, tuning: Tuning, noise_multiplier: float
) -> DPOptimisation | LocalAveraging | VirtualClients:
    """The mechanism of a method."""
    if method.kind in ("average", "virtual"):
        family = LocalAveraging if method.kind == "average" else VirtualClients
        # Noise that the view does not show must not be remembered (docs/mechanisms.md, 3).
        hidden = method.trusted or method.kind == "virtual"
        forgetful: Memory = "resets" if tuning.reset_every else "forgets"
        return family(
            clip_norm=tuning.clip_norm,
            noise_multiplier=noise_multiplier,
            damping=tuning.damping,
            trusted_aggregator=method.trusted,
            memory=forgetful if hidden else "remembers",
            reset_every=max(1, tuning.reset_every),
            precision_floor=PRECISION_FLOOR,
        )
    return DPOptimisation(
        clip_norm=tuning.clip_norm,
        noise_multiplier=noise_multiplier,
        steps=tuning.steps,
        rule=Adam(learning_rate=tuning.learning_rate),
        sampling=Poisson(tuning.sampling_rate),
        damping=tuning.damping,
    )


def plan(
    method: Method, tuning: Tuning, noise_multiplier: float, parts: Sequence[int]
) -> Transcript:
    """What a run would release, without values.

    Args:
      method: Which.
      tuning: How.
      noise_multiplier: σ.
      parts: Of each client; a public number, as neighbours differ in one record's values only.
    """
    own = mechanism(method, tuning, noise_multiplier)
    if method.kind in ("average", "virtual"):
        layout = Layout(clients=len(parts), parts=tuple(parts), assignment="position")
    else:
        layout = Layout(clients=len(parts))
    return own.plan(layout, rounds=tuning.rounds)


@functools.cache
def calibrate(
    method: Method, tuning: Tuning, parts: tuple[int, ...], target_epsilon: float
) -> tuple[float, Cost]:
    """The least σ whose certified ε is at most the target for the worst client, and its cost.

    The excess over the least is at most 1e-4, relative.
    """

    def cost(log_sigma: float) -> Cost:
        transcript = plan(method, tuning, math.exp(log_sigma), parts)
        return Cost.of(transcript, method.scope, DELTA, sampling=method.sampling)

    def excess(log_sigma: float) -> float:
        return math.log(cost(log_sigma).upper / target_epsilon)

    low, high = 0.0, math.log(2.0)
    while excess(high) > 0.0:
        low, high = high, high + 1.0
    while excess(low) <= 0.0:
        low, high = low - 1.0, low
    root = float(optimize.brentq(excess, low, high, xtol=1e-5))
    while (found := cost(root)).upper > target_epsilon:
        root += 2e-5
    return math.exp(root), found


def train(
    method: Method,
    tuning: Tuning,
    noise_multiplier: float,
    *,
    likelihood: Likelihood,
    shards: Sequence[Shard],
    rng: np.random.Generator,
    watch: Watch,
) -> None:
    """Runs a method; `watch` sees q after every round.

    Args:
      method: Which.
      tuning: How.
      noise_multiplier: σ, from `calibrate`.
      likelihood: The model, with where to start.
      shards: The clients' data.
      rng: All randomness.
      watch: Is told how it goes.
    """
    if method.kind in ("same", "split"):
        _committee(method, tuning, noise_multiplier, likelihood, shards, rng, watch)
        return
    own = mechanism(method, tuning, noise_multiplier)
    parts = parts_of(method, tuning, [shard.size for shard in shards])
    # One round of a sequential schedule is a message of each client, as one of a synchronous is.
    setting = Setting(
        model=likelihood.model,
        prior=likelihood.prior,
        schedule=Synchronous() if method.trusted else Sequential(),
    )
    messages = len(shards)
    if method.kind == "global":
        # With an aggregator that hides who has which records, all clients are one.
        run = own.build(setting, [Shard.concatenate(list(shards))], rng, keep_values=False)
        messages *= tuning.steps
    elif method.kind == "optimisation":
        run = own.build(setting, shards, rng, keep_values=False)
    else:
        batch = likelihood.local_batch
        solver = GradientSolver(
            rule=Adam(learning_rate=tuning.learning_rate),
            steps=tuning.steps,
            sampler=FullBatch() if batch is None else FixedSizeSampling(batch_size=batch),
            persistent=False,
        )
        data = [
            Partition.by_position(shard, count) for shard, count in zip(shards, parts, strict=True)
        ]
        setting = replace(setting, solver=StackedSolver(solver))
        run = own.build(setting, data, rng, keep_values=False)
    run.federation.record = False
    if likelihood.initial_mean is not None:
        _begin(run, likelihood.initial_mean(rng))

    def report(event: RoundEvent) -> None:
        watch(event.round * messages, event.posterior)

    run.run(tuning.rounds, callbacks=[report])


def _begin(run: PrivateRun, mean: FloatArray) -> None:
    """Initial factors (TMLR Algorithm 1 takes them as given): q₀ in equal shares.

    A network started at its prior is at a saddle: all hidden units are alike.
    """
    server = run.federation.server
    server.posterior = MeanFieldGaussian.from_mean_variance(
        mean, np.full(mean.shape, _INITIAL_VARIANCE)
    )
    reset_factors(server, run.federation.clients)


def _committee(
    method: Method,
    tuning: Tuning,
    noise_multiplier: float,
    likelihood: Likelihood,
    shards: Sequence[Shard],
    rng: np.random.Generator,
    watch: Watch,
) -> None:
    """Each client alone, once: q ∝ p^(1−M) Π q_m, or with p^(1/M) for each, q ∝ Π q_m."""
    prior, members = likelihood.prior, len(shards)
    own_prior = prior if method.kind == "same" else prior ** (1.0 / members)
    product = prior ** (1 - members) if method.kind == "same" else prior**0
    # All begin at one public point, or their networks could not be put together.
    start = None if likelihood.initial_mean is None else likelihood.initial_mean(rng)
    for shard in shards:
        run = mechanism(method, tuning, noise_multiplier).build(
            Setting(model=likelihood.model, prior=own_prior), [shard], rng, keep_values=False
        )
        if start is not None:
            _begin(run, start)
        product = product * run.run(1).posterior
    q = MeanFieldGaussian(
        natural_mean=product.natural_mean,
        precision=np.maximum(product.precision, PRECISION_FLOOR),
    )
    watch(members, q)
