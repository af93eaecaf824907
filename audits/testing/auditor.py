"""The front door: is this claim about this mechanism false?"""

import math
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountants import Certificate, validate
from accountants.arrays import FloatArray
from audits.claims import Claim, GaussianClaim, PointClaim
from audits.claims.region import Region
from audits.evidence import Evidence, Method
from audits.pairs import Pair
from audits.testing.draws import DEFAULT_CHUNK, DrawFunction, Draws
from audits.testing.effort import Effort
from audits.testing.epsilon_sequence import EpsilonSequence
from audits.testing.panel import Panel
from audits.testing.progress import Progress
from audits.testing.sequential import BettingTest, log_threshold
from audits.testing.statistics import (
    Statistic,
    name_of,
)
from audits.verdict import Verdict, Word
from mechanisms import Experiment, Scope

DEFAULT_SAMPLES = 100_000
MOST_SAMPLES = 10**9
_DEFAULT_DELTA = 1e-5
_PATH_POINTS = 240
_REPEATED = (
    "Outputs came again in the same order from calls with different seeds: the mechanism has a "
    "generator of its own that starts anew in each call, or answers from a cache. Such draws are "
    "not independent, and nothing can be judged by them; let it draw from the `rng` it is given."
)
_ALL_THE_SAME = "All outputs were the same, on both data sets: is that what is released?"
_ALTERED = (
    "The mechanism altered its data in place; each call had a copy of its own, so that no other "
    "call has seen it."
)


def audit(
    mechanism: DrawFunction | Experiment,
    pair: Any,
    claim: Claim | Certificate,
    *,
    scope: Scope | None = None,
    confidence: float = 0.99,
    max_samples: int = DEFAULT_SAMPLES,
    seconds: float = math.inf,
    rng: np.random.Generator,
    executor: Executor | None = None,
    statistic: Statistic | None = None,
    delta: float | None = None,
    chunk_size: int = DEFAULT_CHUNK,
    progress: bool | None = None,
) -> Verdict:
    """Draws from a mechanism on two neighbouring data sets until the claim is refuted, or enough.

    The test is sequential (`audits.testing.sequential`): it stops at the first moment at which the
    claim stands refuted, and a true claim is refuted with probability at most 1 − confidence,
    however long one looks. The claim is tested as a whole curve in both directions.

    Args:
      mechanism: `(data, rng, n) -> n independent outputs`, or `(data, rng) -> output`; or an
        experiment, of which the adversary's view is drawn.
      pair: Two neighbouring data sets, as a tuple or a `Pair`.
      claim: What is asserted; of a certificate, its event under its relation (`Claim.of`).
      scope: Whose view of an experiment; its first scope if not given.
      confidence: 1 − α.
      max_samples: The most draws per side.
      seconds: No more draws are made once this time is up; the test is valid whenever it stops.
      rng: The audit takes one number from it, which seeds all draws.
      executor: Any `concurrent.futures.Executor`; results do not depend on its size.
      statistic: Outputs to one number each. By default numbers are taken as they are, and for
        vectors a linear score is learnt from earlier draws.
      delta: Where to bound ε on the side; the claim's δ or 1e-5 by default.
      chunk_size: The most outputs asked of the mechanism in one call.
      progress: Show a line on stderr; by default on a terminal only.

    >>> import dp_accounting as dpa
    >>> from audits import EventClaim
    >>> def noisy_sum(data, rng, n):
    ...     return sum(data) + rng.normal(scale=0.5, size=n)
    >>> verdict = audit(noisy_sum, ([0.0, 1.0], [0.0]), EventClaim(dpa.GaussianDpEvent(1.0)),
    ...                 rng=np.random.default_rng(0))
    >>> verdict.word.value
    'REFUTED'
    """
    confidence = validate.open_unit("confidence", confidence)
    max_samples = validate.count("max_samples", max_samples, maximum=MOST_SAMPLES)
    if not (isinstance(seconds, float) and seconds == math.inf):
        seconds = validate.non_negative("seconds", seconds)
    check_options(executor, statistic, progress)
    neighbours, claim = Pair.of(pair), Claim.of(claim)
    if delta is None:
        delta = (claim.delta if isinstance(claim, PointClaim) else 0.0) or _DEFAULT_DELTA
    seed, effort = _seed(rng), Effort(claim, confidence)
    drawn = _as_drawn(mechanism, scope)
    sampler = Draws(drawn, (neighbours.first, neighbours.second), seed, executor, chunk_size)
    run = Run(sampler, claim.region(), confidence, validate.closed_unit("delta", delta), statistic)
    try:
        shown = Progress(max_samples, progress, notice=lambda: effort.notice(max_samples))
        run.to_the_end(max_samples, shown, seconds)
    finally:
        sampler.close()
    evidence = run.evidence(pair=neighbours.name, seed=seed)
    word, reason = _judge(run, effort)
    reasons = (reason, _ALTERED if sampler.altered else "")
    return Verdict(
        word=word, claim=claim, evidence=evidence, reason=" ".join(filter(None, reasons))
    )


def check_options(executor: Any, statistic: Any, progress: Any = None) -> None:
    """Refuses what is no executor, no function of outputs, or neither True nor False."""
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"`executor` must be an Executor, got {validate.shown(executor)}.")
    if statistic is not None:
        validate.function("statistic", statistic)
    if progress is not None:
        validate.flag("progress", progress)


def estimate_epsilon(
    mechanism: DrawFunction,
    pair: Any,
    *,
    delta: float = _DEFAULT_DELTA,
    confidence: float = 0.99,
    max_samples: int = DEFAULT_SAMPLES,
    rng: np.random.Generator,
    executor: Executor | None = None,
    statistic: Statistic | None = None,
    chunk_size: int = DEFAULT_CHUNK,
    progress: bool | None = None,
) -> Evidence:
    """A lower bound of ε at δ that holds at all sample sizes at once (`epsilon_path`).

    No claim is tested and nothing is assumed about the laws; see `audits.testing.epsilon_sequence`.

    Raises:
      ValueError: The draws repeat, so that they say nothing.

    >>> evidence = estimate_epsilon(lambda data, rng, n: data + rng.laplace(scale=0.5, size=n),
    ...     (0.0, 1.0), delta=1e-5, max_samples=5000, rng=np.random.default_rng(0))
    >>> 1.0 < evidence.epsilon_lower <= 2.0
    True
    """
    confidence = validate.open_unit("confidence", confidence)
    max_samples = validate.count("max_samples", max_samples, maximum=MOST_SAMPLES)
    check_options(executor, statistic, progress)
    neighbours = Pair.of(pair)
    seed = _seed(rng)
    sampler = Draws(mechanism, (neighbours.first, neighbours.second), seed, executor, chunk_size)
    nothing = GaussianClaim(0.0).region()  # Never bet against: the threshold is infinite.
    run = Run(sampler, nothing, confidence, validate.closed_unit("delta", delta), statistic)
    run.log_threshold = math.inf
    try:
        run.to_the_end(max_samples, Progress(max_samples, progress))
    finally:
        sampler.close()
    if sampler.repeated:
        raise ValueError(f"`mechanism` must give independent draws. {_REPEATED}")
    return run.evidence(pair=neighbours.name, seed=seed, tested=False)


@dataclass(slots=True, eq=False)
class Run:
    """One audit in progress: a sampler, the bets against the claim, and the bound of ε."""

    sampler: Draws
    curve: Region
    confidence: float
    delta: float
    statistic: Statistic | None
    log_threshold: float = field(init=False)
    test: Panel = field(init=False)
    bound: EpsilonSequence = field(init=False)

    def __post_init__(self) -> None:
        self.log_threshold = log_threshold(self.confidence)
        self.bound = EpsilonSequence(self.delta, self.log_threshold)

    def to_the_end(self, max_samples: int, progress: Progress, seconds: float = math.inf) -> None:
        """Draws until the claim is refuted, draws repeat, or `max_samples` or the time is up."""
        deadline = time.monotonic() + seconds
        progress.begin()
        probe = self.sampler.probe()
        test = self.test = Panel.of(self.statistic, probe, self.curve, self.log_threshold)

        def block(samples: int) -> int:
            return min(BettingTest.next_block(samples), max_samples - samples)

        while test.crossed is None and test.samples < max_samples:
            count = block(test.samples)
            outputs = self.sampler.draw(count, following=block(test.samples + count))
            if self.sampler.repeated:
                break
            first, second = test.update(outputs)
            self.bound.update(first, second, test.past)
            progress.update(test.samples, test.log_wealth, test.log_threshold)
            if time.monotonic() > deadline:
                break
        progress.close()

    def evidence(self, *, pair: str, seed: int, tested: bool = True) -> Evidence:
        """What was seen."""
        test = self.test
        path = np.concatenate([np.zeros(0), *test.path])[: test.crossed]
        judged = not self.sampler.repeated
        best = float(path.max(initial=0.0)) if judged else 0.0
        last = float(path[-1]) if judged and path.size else 0.0
        shown = np.unique(np.geomspace(1, max(path.size, 1), _PATH_POINTS).astype(int))
        return Evidence(
            method=Method.SEQUENTIAL_AUDIT if tested else Method.SEQUENTIAL_BOUND,
            samples=test.crossed or test.samples,
            drawn=test.samples,
            log_e_value=last if tested else None,
            log_largest_wealth=best if tested else None,
            p_value=math.exp(-best) if tested else None,
            epsilon_lower=self.bound.lower if judged else 0.0,
            delta=self.delta,
            confidence=self.confidence,
            seed=seed,
            pair=pair,
            statistic=name_of(test.leader.statistic),
            wealth_path=tuple((int(n), float(path[n - 1])) for n in shown)
            if tested and judged
            else (),
            epsilon_path=tuple(self.bound.path) if judged else (),
            trade_off_points=_trade_off(*test.past),
        )


def _as_drawn(mechanism: DrawFunction | Experiment, scope: Scope | None) -> DrawFunction:
    if scope is not None:
        validate.instance("scope", scope, Scope)
    if isinstance(mechanism, Experiment):
        return mechanism.sampler(mechanism.scopes[0] if scope is None else scope)
    if scope is not None:
        raise ValueError("`scope` must be left out unless an experiment is audited.")
    return mechanism


def _seed(rng: np.random.Generator) -> int:
    return int(validate.generator("rng", rng).integers(2**63))


def _judge(run: Run, effort: Effort) -> tuple[Word, str]:
    if run.sampler.repeated:
        return Word.INCONCLUSIVE, _REPEATED
    if run.test.crossed is not None:
        return Word.REFUTED, effort.advice
    seen = np.concatenate(run.test.past)
    same = bool(seen.size and seen.min() == seen.max())
    said = [_ALL_THE_SAME if same else "", effort.advice]
    if run.test.samples >= effort.needed:
        return Word.NOT_REFUTED, " ".join(filter(None, said))
    return Word.INCONCLUSIVE, " ".join(filter(None, [effort.shortfall, *said]))


def _trade_off(first: FloatArray, second: FloatArray) -> tuple[tuple[int, int, int], ...]:
    """(false positives, misses, draws) for thresholds along the scores."""
    if first.size == 0:
        return ()
    first, second = np.sort(first), np.sort(second)
    pooled = np.sort(np.concatenate([first, second]), kind="stable")
    # By ranks, because scores may be infinite.
    if np.searchsorted(pooled, first).sum() < np.searchsorted(pooled, second).sum():
        first, second, pooled = -first[::-1], -second[::-1], -pooled[::-1]
    thresholds = np.unique(pooled[np.linspace(0, pooled.size - 1, 33).astype(int)])
    false = second.size - np.searchsorted(second, thresholds, side="left")
    misses = np.searchsorted(first, thresholds, side="left")
    rows = sorted({(int(f), int(m)) for f, m in zip(false, misses, strict=True)})
    return tuple((f, m, int(first.size)) for f, m in rows)
