"""Several statistics of the same draws, each bet on with a share of the wealth.

A mixture of wealths with shares that are fixed beforehand is a wealth: the panel's is one minus the
shares' entropy behind its best member's, and valid like each of them (`audits.testing.sequential`).
So a vector is looked at as a whole, by a score that is learnt, and at its ends: a long transcript
whose last entry tells all should not be weaker evidence than that entry alone.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountants.arrays import FloatArray
from audits.claims.region import Region
from audits.testing.learnt import learn_score
from audits.testing.outputs import Encoded, Encoder, Guarded
from audits.testing.sequential import BettingTest
from audits.testing.statistics import (
    Coordinate,
    Itself,
    Statistic,
    Summary,
    scores_of,
)

_SCORE_SHARE, _END_SHARE = 0.7, 0.15
# A score is learnt from so many draws, and so many numbers, of a side at most.
_MOST_LEARNT, _MOST_NUMBERS = 20_000, 2**25
# No member crosses a threshold of its own: their wealth together does.
_NEVER = 1e300


@dataclass(slots=True, eq=False)
class Learner:
    """Learns a score from the first half of the past whenever the past has doubled.

    The second half is scored anew, so that the next guess is not flattered by its own training
    data.
    """

    encoder: Encoder
    statistic: Statistic | None = None
    _outputs: tuple[list[FloatArray], list[FloatArray]] = field(default_factory=lambda: ([], []))
    _count: int = 0
    _next: int = 24
    _width: int = 1

    def take(self, outputs: tuple[Any, Any]) -> tuple[FloatArray, FloatArray] | None:
        """Stores a block; the second half of the past under a new score when it is time for one."""
        if self._next > _MOST_LEARNT or self._next * self._width > _MOST_NUMBERS:
            self._outputs = ([], [])
            return None
        for side, batch in zip(self._outputs, outputs, strict=True):
            side.append(self.encoder(batch))
            self._width = side[-1].shape[1]
        self._count += len(outputs[0])
        if self._count < self._next:
            return None
        first, second = (np.concatenate(side) for side in self._outputs)
        half = self._count // 2
        score = learn_score(first[:half], second[:half])
        self.statistic = Encoded(self.encoder, score)
        self._outputs = ([first], [second])
        self._next = 2 * self._count
        return scores_of(score, first[half:]), scores_of(score, second[half:])


@dataclass(slots=True, eq=False)
class Member:
    """One statistic, the bets on it, and its share of the wealth."""

    statistic: Statistic
    test: BettingTest
    share: float
    learner: Learner | None = None

    def update(self, outputs: tuple[Any, Any]) -> tuple[FloatArray, FloatArray]:
        """Bets on a block, and learns from it for the next one; the block's scores."""
        first, second = (scores_of(self.statistic, batch) for batch in outputs)
        self.test.update(first, second)
        past = None if self.learner is None else self.learner.take(outputs)
        if self.learner is not None and past is not None:
            assert self.learner.statistic is not None
            self.statistic = self.learner.statistic
            self.test.replace_past(*past)
        return first, second


@dataclass(slots=True, eq=False)
class Panel:
    """The statistics of one audit, with their wealth together.

    Attributes:
      members: The statistics; the first one's scores stand for the draws where one is needed.
      log_threshold: log(1/α); the claim is refuted when the log wealth reaches it.
      samples: Pairs of draws seen.
      crossed: The number of pairs after which the threshold was first reached, or `None`.
      path: The log wealth after each pair, per block.
    """

    members: list[Member]
    log_threshold: float
    samples: int = 0
    crossed: int | None = None
    path: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(
        cls, statistic: Statistic | None, outputs: Any, curve: Region, log_threshold: float
    ) -> "Panel":
        """Somebody's statistic, or those that suit such outputs, which are not tested."""

        def member(chosen: Statistic, share: float, learner: Learner | None = None) -> Member:
            # A threshold of infinity says that nobody asks for bets.
            own = max(_NEVER, log_threshold)
            return Member(chosen, BettingTest(curve, own), share, learner)

        if statistic is not None:
            return cls([member(Guarded(statistic), 1.0)], log_threshold)
        encoder = Encoder.fit(outputs)
        width = encoder(outputs[:1]).shape[1]
        if width <= 1:
            return cls([member(Encoded(encoder, Itself()), 1.0)], log_threshold)
        score = member(Encoded(encoder, Summary("sum")), _SCORE_SHARE, Learner(encoder))
        ends = [member(Encoded(encoder, Coordinate(k)), _END_SHARE) for k in (0, width - 1)]
        return cls([score, *ends], log_threshold)

    @property
    def leader(self) -> Member:
        """The member whose bets went best so far."""
        return max(self.members, key=lambda one: math.log(one.share) + one.test.log_wealth)

    @property
    def log_wealth(self) -> float:
        """The log wealth of all together."""
        return float(self.path[-1][-1]) if self.path else 0.0

    @property
    def past(self) -> tuple[FloatArray, FloatArray]:
        """The leader's scores of both sides."""
        return self.leader.test.past

    def update(self, outputs: tuple[Any, Any]) -> tuple[FloatArray, FloatArray]:
        """Bets on a block of outputs; the scores of whoever led before it was seen."""
        leader = self.leader
        scores = [member.update(outputs) for member in self.members]
        shares = np.log([member.share for member in self.members])
        wealth = np.logaddexp.reduce(
            [share + one.test.path[-1] for share, one in zip(shares, self.members, strict=True)]
        )
        hits = np.flatnonzero(wealth >= self.log_threshold)
        if hits.size and self.crossed is None:
            self.crossed = self.samples + int(hits[0]) + 1
        self.samples += len(wealth)
        self.path.append(wealth)
        return scores[self.members.index(leader)]
