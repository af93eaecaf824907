"""The hunt: find the pair of data sets and the statistic that give a mechanism away.

Exploration (`audits.testing.exploration`) and test never share draws. At most three candidates are
handed to the sequential test, with fresh draws and an equal share of α each: one that stands out at
once, the others when exploration is over. So the verdict has the confidence it states, however many
candidates were tried, and a plain flaw is convicted after a few draws.
"""

import math
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from accountants import Certificate, validate
from audits.claims import Claim
from audits.domain import Domain
from audits.evidence import Evidence
from audits.pairs import Pair
from audits.testing.auditor import DEFAULT_SAMPLES, audit
from audits.testing.draws import DEFAULT_CHUNK, DrawFunction
from audits.testing.exploration import Candidate, Explorer
from audits.testing.sequential import log_threshold
from audits.testing.statistics import Statistic
from audits.verdict import Verdict

_TESTED = 3
# Of the time that a hunt is given, exploration may take this much.
_EXPLORATION = 0.6
# A candidate that stands out convicts within a few hundred draws, or it does not.
_EARLY_SAMPLES = 8_000
# Clipping is for outliers: without a domain they belong to it.
_OUTLIER = 1000.0


def hunt(
    mechanism: DrawFunction,
    claim: Claim | Certificate,
    *,
    rng: np.random.Generator,
    domain: Domain | None = None,
    pairs: Iterable[Any] | None = None,
    statistics: Sequence[Statistic] | None = None,
    dimensions: Sequence[int] = (1, 4),
    bound: float = 1.0,
    confidence: float = 0.99,
    max_samples: int = DEFAULT_SAMPLES,
    seconds: float = 30.0,
    call_seconds: float = math.inf,
    executor: Executor | None = None,
    delta: float | None = None,
    chunk_size: int = DEFAULT_CHUNK,
) -> Verdict:
    """Searches for evidence against a claim with no hint where to look.

    Only data of the domain can refute the claim. What is found beyond it (records at NaN, at
    infinity, far outliers) is said in the verdict's reason and does not count. A pair on which the
    mechanism raises an exception is passed over; if it raises on all, the first exception is
    raised.

    Args:
      mechanism: `(data, rng, n) -> n independent outputs`, or `(data, rng) -> output`.
      claim: What is asserted, or a certificate; its relation says which data sets are neighbours.
      rng: Seeds exploration and test.
      domain: The data that the mechanism is said to accept. Without one, arrays of up to eight
        records with coordinates in ±`bound` and outliers, in each of `dimensions`.
      pairs: Pairs to try instead of the domain's.
      statistics: Statistics to try instead of the usual ones.
      dimensions: Without a domain: the lengths of a record to try.
      bound: Without a domain: the norm to which the mechanism is said to clip.
      confidence: 1 − α of the verdict.
      max_samples: The most draws per side of each final test.
      seconds: The time to spend; calls that are under way are waited for.
      call_seconds: Pairs on which a look takes longer than this are passed over (in the main thread
        of a process).
      executor: For exploration and tests.
      delta: Where to bound ε on the side, as in `audit`.
      chunk_size: The most outputs asked of the mechanism in one call.
    """
    confidence = validate.open_unit("confidence", confidence)
    seconds = validate.positive("seconds", seconds)
    claim = Claim.of(claim)
    domains = _domains(domain, dimensions, bound)
    inside, outside = _interleaved([list(one.pairs(claim.relation)) for one in domains]), []
    if pairs is not None:
        inside = [Pair.of(pair) for pair in pairs]
    else:
        outside = _interleaved([list(one.foreign_pairs(claim.relation)) for one in domains])
    if not inside:
        raise ValueError("`pairs` must hold at least one pair, got none.")
    started = time.monotonic()
    explorer = Explorer(
        mechanism,
        claim.region(),
        statistics,
        int(rng.integers(2**63)),
        started + _EXPLORATION * seconds,
        call_seconds,
        executor,
        chunk_size,
    )
    tests = _Tests(
        mechanism,
        claim,
        confidence,
        max_samples,
        started + seconds,
        {"rng": rng, "executor": executor, "delta": delta, "chunk_size": chunk_size},
    )
    candidates: list[Candidate] = []
    for candidates in explorer.candidates(inside):
        if candidates and tests.convicts_early(candidates[0]):
            break
    if not candidates:
        raise next(iter(explorer.errors.values()))
    if not tests.refuted:
        tests.run(candidates)
    reason = tests.summary(explorer.tried)
    if outside and not tests.refuted:
        reason = f"{reason} {_beyond(explorer, outside, tests)}".strip()
    verdict = tests.verdict()
    return replace(verdict, reason=f"{verdict.reason} {reason}".strip())


def _domains(domain: Domain | None, dimensions: Sequence[int], bound: float) -> list[Domain]:
    if domain is not None:
        return [domain]
    bound = validate.positive("bound", bound)
    return [
        Domain(
            dimension=dimension,
            bounds=(-bound, bound),
            special_values=(_OUTLIER * bound,),
        )
        for dimension in dimensions
    ]


def _interleaved(lists: list[list[Pair]]) -> list[Pair]:
    """Pairs of all lists in turn, so that none has to wait for another's last."""
    longest = max(map(len, lists), default=0)
    return [one[k] for k in range(longest) for one in lists if k < len(one)]


@dataclass(slots=True, eq=False)
class _Tests:
    """The tests that share α.

    Attributes:
      mechanism: What is examined.
      claim: What is asserted.
      confidence: 1 − α of all tests together.
      max_samples: The most draws per side of a test.
      deadline: When the hunt's time is up.
      options: Of `audit`.
      verdicts: What was found so far.
    """

    mechanism: DrawFunction
    claim: Claim
    confidence: float
    max_samples: int
    deadline: float
    options: dict[str, Any]
    verdicts: list[Verdict] = field(default_factory=list)
    _tested: set[tuple[int, str]] = field(default_factory=set)

    @property
    def refuted(self) -> bool:
        """Whether a test has refuted the claim."""
        return any(verdict.refuted for verdict in self.verdicts)

    @property
    def _share(self) -> float:
        return 1.0 - (1.0 - self.confidence) / _TESTED

    def convicts_early(self, candidate: Candidate) -> bool:
        """Tests a candidate that stands out, once; the last test is kept for the end."""
        if len(self.verdicts) < _TESTED - 1 and candidate.is_plain(log_threshold(self._share)):
            self._test(candidate, min(self.max_samples, _EARLY_SAMPLES))
        return self.refuted

    def run(self, ordered: list[Candidate]) -> None:
        """Tests the best candidates with what is left of α and of the time."""
        for candidate in ordered:
            if self.refuted or len(self.verdicts) == _TESTED:
                break
            self._test(candidate, self.max_samples)
        if not self.verdicts:  # All candidates were tested early: none is left.
            self._test(ordered[0], self.max_samples)

    def _test(self, candidate: Candidate, samples: int) -> None:
        key = (id(candidate.pair), candidate.kind)
        if key in self._tested:
            return
        self._tested.add(key)
        left = (self.deadline - time.monotonic()) / (_TESTED - len(self.verdicts))
        self.verdicts.append(
            audit(
                self.mechanism,
                candidate.pair,
                self.claim,
                confidence=self._share,
                max_samples=samples,
                statistic=candidate.statistic,
                seconds=max(left, 0.0),
                **self.options,
            )
        )

    def verdict(self) -> Verdict:
        """The strongest test's, at the confidence of all."""
        strongest = max(self.verdicts, key=lambda one: one.evidence.log_largest_wealth or 0.0)
        return replace(
            strongest, evidence=_of_the_whole(strongest.evidence, self.confidence, _TESTED)
        )

    def summary(self, tried: int) -> str:
        """What was done, in a sentence."""
        if self.refuted:
            return f"{tried} pairs were explored; {_TESTED} tests shared α."
        return f"{tried} pairs were explored and the {len(self.verdicts)} most telling tested."


def _beyond(explorer: Explorer, pairs: list[Pair], tests: _Tests) -> str:
    """What happens on records that nobody claimed to accept: a sentence, and no verdict."""
    for candidates in explorer.candidates(pairs):
        best = candidates[0] if candidates else None
        if best is None or not best.is_plain(log_threshold(tests.confidence)):
            continue
        verdict = audit(
            tests.mechanism,
            best.pair,
            tests.claim,
            confidence=tests.confidence,
            max_samples=min(tests.max_samples, _EARLY_SAMPLES),
            statistic=best.statistic,
            **tests.options,
        )
        if verdict.refuted:
            return (
                "Outside of the domain, and so not counted: the claim falls on "
                f"{best.pair.name} ({verdict.evidence.samples:,} draws per side)."
            )
    return ""


def _of_the_whole(evidence: Evidence, confidence: float, tests: int) -> Evidence:
    """A test's evidence as the hunt's: each of the tests had an equal share of α, and of the stake.

    The mean of e-values is an e-value, so that one of them over the number of tests is one too.
    """
    shared = math.log(tests)
    largest = max(0.0, (evidence.log_largest_wealth or 0.0) - shared)
    return replace(
        evidence,
        confidence=confidence,
        log_e_value=(evidence.log_e_value or 0.0) - shared,
        log_largest_wealth=largest,
        p_value=math.exp(-largest),
        wealth_path=tuple((draws, wealth - shared) for draws, wealth in evidence.wealth_path),
    )
