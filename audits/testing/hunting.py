"""The hunt: find the pair of data sets and the statistic that give a mechanism away.

Exploration and test never share draws. Exploration scores every candidate by the growth of a bet
that is chosen on one half of its draws and measured on the other, keeps the best few for more
draws, and hands at most three to the sequential test with fresh draws and an equal share of α each.
So the verdict has the confidence it states, however many candidates were tried.
"""

import math
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from accountants import Certificate, validate
from audits.claims import Claim
from audits.claims.region import Region
from audits.evidence import Evidence
from audits.pairs import Pair, candidate_pairs
from audits.testing.auditor import DEFAULT_SAMPLES, audit
from audits.testing.bets import best_bet
from audits.testing.draws import DEFAULT_CHUNK, DrawFunction, Draws
from audits.testing.guesses import Guess, histogram_guess, normal_guess
from audits.testing.statistics import (
    SUMMARIES,
    Coordinate,
    Itself,
    LinearScore,
    Statistic,
    Summary,
    as_matrix,
    scores_of,
)
from audits.verdict import Verdict, Word

_EXPLORE = 200
_ROUNDS = ((24, 4), (8, 16))  # keep so many candidates, with so many times the draws
_TESTED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pair, a statistic, and the growth that a bet on them showed on draws of its own."""

    pair: Pair
    statistic: Statistic
    growth: float


def hunt(
    mechanism: DrawFunction,
    claim: Claim | Certificate,
    *,
    rng: np.random.Generator,
    pairs: Iterable[Any] | None = None,
    statistics: Sequence[Statistic] | None = None,
    records: Sequence[int] = (8, 1),
    dimensions: Sequence[int] = (1, 4),
    bound: float = 1.0,
    confidence: float = 0.99,
    max_samples: int = DEFAULT_SAMPLES,
    seconds: float = 30.0,
    executor: Executor | None = None,
    delta: float | None = None,
    chunk_size: int = DEFAULT_CHUNK,
) -> Verdict:
    """Searches for evidence against a claim with no hint where to look.

    Data sets are arrays (records, dimension) unless `pairs` are given. A pair on which the
    mechanism raises an exception is passed over; if it raises on all, the first exception is
    raised.

    Args:
      mechanism: `(data, rng, n) -> n independent outputs`.
      claim: What is asserted, or a certificate; its relation says which data sets are neighbours.
      rng: Seeds exploration and test.
      pairs: Pairs to try instead of `audits.candidate_pairs`.
      statistics: Statistics to try instead of the usual ones.
      records: Sizes of data sets to try.
      dimensions: Lengths of a record to try.
      bound: The norm to which the mechanism is said to clip.
      confidence: 1 − α of the verdict.
      max_samples: The most draws per side of each final test.
      seconds: Exploration stops taking up new pairs after this long.
      executor: For the final tests.
      delta: Where to bound ε on the side, as in `audit`.
      chunk_size: The most outputs asked of the mechanism in one call.
    """
    confidence = validate.open_unit("confidence", confidence)
    claim = Claim.of(claim)
    if pairs is None:
        pairs = (
            pair
            for size in records
            for dimension in dimensions
            for pair in candidate_pairs(
                claim.relation, records=size, dimension=dimension, bound=bound
            )
        )
    curve = claim.region()
    explorer = _Explorer(mechanism, curve, statistics, int(rng.integers(2**63)))
    candidates = explorer.first_look([Pair.of(pair) for pair in pairs], seconds)
    for kept, factor in _ROUNDS:
        best = sorted(candidates, key=lambda c: -c.growth)[:kept]
        candidates = [explorer.look_again(c, factor * _EXPLORE) for c in best]
    chosen = _distinct(sorted(candidates, key=lambda c: -c.growth))
    share = 1.0 - (1.0 - confidence) / len(chosen)
    verdicts: list[Verdict] = []
    for candidate in chosen:
        verdicts.append(
            audit(
                mechanism,
                candidate.pair,
                claim,
                confidence=share,
                max_samples=max_samples,
                rng=rng,
                executor=executor,
                statistic=candidate.statistic,
                delta=delta,
                chunk_size=chunk_size,
            )
        )
        if verdicts[-1].refuted:
            break
    verdict = max(verdicts, key=lambda one: one.evidence.log_e_value or 0.0)
    evidence = _of_the_whole(verdict.evidence, confidence, len(chosen))
    tried = f"{explorer.tried} pairs were explored; at most {len(chosen)} tests shared α."
    if verdict.word is not Word.REFUTED:
        tried = f"{explorer.tried} pairs were explored and the {len(chosen)} most telling tested."
    return replace(verdict, evidence=evidence, reason=f"{verdict.reason} {tried}".strip())


def _of_the_whole(evidence: Evidence, confidence: float, tests: int) -> Evidence:
    """A test's evidence as the hunt's: each of the tests had an equal share of α, and of the stake.

    The mean of e-values is an e-value, so that one of them over the number of tests is one too.
    """
    shared = math.log(tests)
    log_e_value = max(0.0, (evidence.log_e_value or 0.0) - shared)
    return replace(
        evidence,
        confidence=confidence,
        log_e_value=log_e_value,
        p_value=math.exp(-log_e_value),
        wealth_path=tuple((draws, wealth - shared) for draws, wealth in evidence.wealth_path),
    )


def _distinct(ordered: list[Candidate]) -> list[Candidate]:
    """The best candidates, no two with the same pair and kind of statistic."""
    chosen: list[Candidate] = []
    seen: set[tuple[int, str]] = set()
    for candidate in ordered:
        key = (id(candidate.pair), type(candidate.statistic).__name__)
        if key not in seen and len(chosen) < _TESTED:
            seen.add(key)
            chosen.append(candidate)
    return chosen


@dataclass(slots=True, eq=False)
class _Explorer:
    """Draws for exploration: seeds of its own, never used in a test."""

    mechanism: DrawFunction
    curve: Region
    statistics: Sequence[Statistic] | None
    seed: int
    tried: int = 0
    _streams: int = 0

    def first_look(self, pairs: list[Pair], seconds: float) -> list[Candidate]:
        """All statistics on all pairs, with few draws."""
        deadline = time.monotonic() + validate.positive("seconds", seconds)
        candidates: list[Candidate] = []
        first_error: Exception | None = None
        # Few draws mislead; where pairs are few, the second look can afford most statistics.
        kept = max(3, _ROUNDS[0][0] // max(len(pairs), 1))
        for pair in pairs:
            if time.monotonic() > deadline and candidates:
                break
            try:
                outputs = self._draw(pair, _EXPLORE)
                statistics = self.statistics or _usual_statistics(outputs)
            except Exception as error:
                first_error = first_error or error
                continue
            self.tried += 1
            found = [Candidate(pair, s, self._growth(s, outputs)) for s in statistics]
            candidates.extend(sorted(found, key=lambda c: -c.growth)[:kept])
        if not candidates:
            raise first_error or ValueError("`pairs` must hold at least one pair, got none.")
        return candidates

    def look_again(self, candidate: Candidate, draws: int) -> Candidate:
        """The candidate on new draws; a learnt statistic is learnt anew from the first half."""
        outputs = self._draw(candidate.pair, draws)
        statistic = candidate.statistic
        if isinstance(statistic, LinearScore):
            half = draws // 2
            statistic = LinearScore.learn(outputs[0][:half], outputs[1][:half])
            outputs = (outputs[0][half:], outputs[1][half:])
        return Candidate(candidate.pair, statistic, self._growth(statistic, outputs))

    def _draw(self, pair: Pair, draws: int) -> tuple[Any, Any]:
        # Every look has a stream of seeds of its own.
        self._streams += 1
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self._streams,))
        seed = int(sequence.generate_state(1, np.uint64)[0])
        return Draws(self.mechanism, (pair.first, pair.second), seed).draw(draws)

    def _growth(self, statistic: Statistic, outputs: tuple[Any, Any]) -> float:
        """The growth of a bet chosen on one half, measured on the other; a low estimate."""
        first, second = (scores_of(statistic, batch) for batch in outputs)
        half = first.size // 2
        guesses: list[Guess | None] = [
            histogram_guess(first[:half], second[:half]),
            normal_guess(first[:half], second[:half], self.curve.gaussian_scale()),
        ]
        growths = []
        for guess in guesses:
            if guess is None:
                continue
            bet = best_bet(guess.first, guess.second, self.curve, gap=0.1)
            factors = bet.log_first[guess.cell(first[half:])]
            factors = factors + bet.log_second[guess.cell(second[half:])]
            error = float(factors.std()) / np.sqrt(factors.size)
            growths.append(float(factors.mean()) - 0.5 * error)
        return float(max(growths))


def _usual_statistics(outputs: tuple[Any, Any]) -> list[Statistic]:
    """Coordinates, summaries and a learnt score; fewer for plain numbers."""
    width = as_matrix(outputs[0]).shape[1]
    if width == 1:
        names = ("norm", "trailing zero bits", "distance to the nearest integer")
        return [Itself(), *(Summary(name) for name in names)]
    half = len(outputs[0]) // 2
    learnt = LinearScore.learn(outputs[0][:half], outputs[1][:half])
    edges = {0, 1, width - 1} if width > 2 else {0, 1}
    coordinates: list[Statistic] = [Coordinate(index) for index in sorted(edges)]
    return [*coordinates, *(Summary(name) for name in SUMMARIES), learnt]
