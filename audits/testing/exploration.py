"""Exploration: which pair of data sets, and which statistic, give a mechanism away?

A candidate is scored by the growth of a bet that is chosen on one half of its draws and measured on
the other. Looks get longer and candidates fewer; where a short look already shows plain growth,
the candidate is handed to the test at once. Draws of exploration are never used in a test.
"""

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from audits.claims.region import Region
from audits.pairs import Pair
from audits.testing.bets import best_bet
from audits.testing.draws import DrawFunction, Draws
from audits.testing.guesses import Guess, histogram_guess, normal_guess
from audits.testing.learnt import LinearScore
from audits.testing.limits import CallTimeoutError, limited
from audits.testing.outputs import Encoded, Encoder, Raised
from audits.testing.statistics import (
    SUMMARIES,
    Coordinate,
    Itself,
    Statistic,
    Summary,
    scores_of,
)

# Draws per side of each look, and how many candidates it is given to.
_GLANCE, _LOOK = 40, 200
_LONGER = ((24, 800), (8, 3200))
# A bet that is this many standard errors above no growth, and would convict within as many draws.
_PLAIN_ERRORS, _PLAIN_DRAWS = 5.0, 400.0


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pair and a statistic, with how a bet on them went on draws of its own.

    Attributes:
      pair: The data sets.
      statistic: What is looked at.
      growth: The mean log factor of a pair of draws, less half a standard error.
      errors: The mean in standard errors.
    """

    pair: Pair
    statistic: Statistic
    growth: float
    errors: float

    @property
    def kind(self) -> str:
        """What kind of statistic it is: a second coordinate is no new idea."""
        inner = self.statistic.statistic if isinstance(self.statistic, Encoded) else self.statistic
        return type(inner).__name__

    def is_plain(self, log_threshold: float) -> bool:
        """Whether the test would convict soon, as far as can be told."""
        return self.errors > _PLAIN_ERRORS and self.growth * _PLAIN_DRAWS > log_threshold


@dataclass(slots=True, eq=False)
class Explorer:
    """Looks at pairs until the time is up.

    Attributes:
      mechanism: What is examined.
      curve: The claim's region.
      statistics: What to look at; the usual ones if `None`.
      seed: Of the draws.
      deadline: On the clock of `time.monotonic`.
      call_seconds: The most time for one look at a pair.
      executor: Where to draw.
      chunk_size: The most outputs asked of the mechanism in one call.
      tried: How many pairs were looked at.
      errors: What went wrong, by the pair's identity.
    """

    mechanism: DrawFunction
    curve: Region
    statistics: Sequence[Statistic] | None
    seed: int
    deadline: float
    call_seconds: float
    executor: Executor | None
    chunk_size: int
    tried: int = 0
    errors: dict[int, Exception] = field(default_factory=dict)
    _streams: int = 0

    def candidates(self, pairs: Sequence[Pair]) -> Iterator[list[Candidate]]:
        """The candidates after each glance, look and longer look, best first.

        Whoever asks may stop asking at any time.
        """
        best: list[Candidate] = []
        for draws in (_GLANCE, _LOOK):
            found: list[Candidate] = []
            # Few draws mislead; where pairs are few, the next look can afford most statistics.
            kept = max(3, _LONGER[0][0] // max(len(pairs), 1))
            for pair in pairs:
                found.extend(self._look(pair, draws)[:kept])
                # Pairs that the mechanism refuses are no reason to give up before one is found, nor
                # to forget what was found before.
                yield _ordered(found) or best
                if (found or best) and self._late():
                    break
            best = _ordered(found) if not self._late() or not best else _ordered([*best, *found])
        for count, draws in _LONGER:
            again = []
            for candidate in best[:count]:
                if self._late():
                    break
                again.append(self._again(candidate, draws))
            if again:
                best = _ordered(again)
                yield best

    def _late(self) -> bool:
        return time.monotonic() > self.deadline

    def _look(self, pair: Pair, draws: int) -> list[Candidate]:
        if id(pair) in self.errors:
            return []
        try:
            outputs = self._draw(pair, draws)
            statistics = self.statistics or usual_statistics(outputs)
        except CallTimeoutError as error:
            self.errors[id(pair)] = TimeoutError(str(error))
            return []
        except Exception as error:
            self.errors[id(pair)] = error
            return []
        self.tried += draws == _GLANCE
        return _ordered([self._scored(pair, s, outputs) for s in statistics])

    def _again(self, candidate: Candidate, draws: int) -> Candidate:
        """The candidate on new draws; a learnt statistic is learnt anew from the first half."""
        outputs = self._draw(candidate.pair, draws)
        statistic = candidate.statistic
        if isinstance(statistic, Encoded) and isinstance(statistic.statistic, LinearScore):
            half, encoder = draws // 2, statistic.encoder
            learnt = LinearScore.learn(encoder(outputs[0][:half]), encoder(outputs[1][:half]))
            statistic = Encoded(encoder, learnt)
            outputs = (outputs[0][half:], outputs[1][half:])
        return self._scored(candidate.pair, statistic, outputs)

    def _draw(self, pair: Pair, draws: int) -> tuple[Any, Any]:
        # Every look has a stream of seeds of its own.
        self._streams += 1
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self._streams,))
        seed = int(sequence.generate_state(1, np.uint64)[0])
        sampler = Draws(
            self.mechanism, (pair.first, pair.second), seed, self.executor, self.chunk_size
        )
        try:
            with limited(self.call_seconds):
                outputs = sampler.draw(draws)
        finally:
            sampler.close()
        if all(isinstance(output, Raised) for side in outputs for output in side):
            raise outputs[0][0].error
        return outputs

    def _scored(self, pair: Pair, statistic: Statistic, outputs: tuple[Any, Any]) -> Candidate:
        """The growth of a bet chosen on one half, measured on the other; a low estimate."""
        first, second = (scores_of(statistic, batch) for batch in outputs)
        half = first.size // 2
        guesses: list[Guess | None] = [
            histogram_guess(np.sort(first[:half]), np.sort(second[:half])),
            normal_guess(first[:half], second[:half], self.curve.gaussian_scale()),
        ]
        best = Candidate(pair, statistic, -math.inf, 0.0)
        for guess in guesses:
            if guess is None:
                continue
            bet = best_bet(guess.first, guess.second, self.curve, gap=0.1)
            factors = bet.log_first[guess.cell(first[half:])]
            factors = factors + bet.log_second[guess.cell(second[half:])]
            mean, error = float(factors.mean()), float(factors.std()) / math.sqrt(factors.size)
            growth = mean - 0.5 * error
            if growth > best.growth:
                best = Candidate(pair, statistic, growth, mean / max(error, 1e-3))
        return best


def usual_statistics(outputs: tuple[Any, Any]) -> list[Statistic]:
    """Coordinates, summaries and a learnt score of what outputs are made of."""
    half = len(outputs[0]) // 2
    encoder = Encoder.fit([*outputs[0][:half], *outputs[1][:half]])
    first, second = (encoder(side[:half]) for side in outputs)
    width = first.shape[1]
    statistics: list[Statistic]
    if width == 1:
        names = ("norm", "trailing zero bits", "distance to the nearest integer")
        statistics = [Itself(), *(Summary(name) for name in names)]
    else:
        edges = {0, 1, width - 1} if width > 2 else {0, 1}
        statistics = [Coordinate(index) for index in sorted(edges)]
        statistics += [*(Summary(name) for name in SUMMARIES), LinearScore.learn(first, second)]
    return [Encoded(encoder, statistic) for statistic in statistics]


def _ordered(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -candidate.growth)
