r"""The sequential test of a claimed curve: wealth that a true claim keeps small at all times.

Bettors start with fixed shares of one unit of wealth and bet on every pair of draws. Before each
block of draws all choose cells, their order and stakes from the draws of earlier blocks; by
`audits.testing.bets` each factor then has mean at most 1 given the past if the claim is true. Hence
the wealth W_t of all together is a non-negative supermartingale with W_0 = 1, and by Ville's
inequality

    P(sup_t W_t ≥ 1/α) ≤ α:

the claim is refuted when W_t reaches 1/α, at whatever time one looks, and as often as one likes.
W_t is an e-value, and one over the largest wealth so far an anytime-valid p-value. Nothing is
assumed about the laws beyond independent draws.

Three bettors have guesses of their own: a fit (a normal one, for a pure ε a Laplace one), a
histogram, half-lines. The leader, who holds most of the wealth, follows the fit until another one
has done better with its bets so far, and nobody while all have lost: so neither Gaussian or Laplace
noise nor atoms, tails or bounded supports cost more than a little.

Bets are revised when the past has grown by a given factor, so that their number, which is what an
audit of a quick mechanism costs, grows with the logarithm of the draws only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import log_ndtr

from accountants.arrays import FloatArray
from audits.claims.region import Region
from audits.testing.bets import Bet, best_bet
from audits.testing.guesses import Guess, histogram_guess, laplace_guess, normal_guess
from audits.testing.half_lines import half_line_guess

# The leader's share, then those of the fit, the histogram and the half-lines.
_LOG_SHARES = np.log([0.94, 0.02, 0.02, 0.02])
_WARM_UP = 6
# The leader leaves the fit for a bettor that is ahead by so many nats, and stops betting when every
# bettor has lost so many.
_LEAD, _LOSS = 1.5, 6.0
# Blocks grow by this fraction of the draws so far, early and from `_LATE` draws on.
_EARLY_GROWTH, _LATE_GROWTH, _LATE = 0.2, 0.3, 400
# Bets are revised after every block, those on histograms and half-lines once the past has grown by
# this factor.
_SLOWLY = 1.5
# Before there are draws to speak of, the normal fit leans towards noise too small by this factor.
_TYPICAL_FLAW, _LARGEST_PRIOR = 1.4, 5.0
# How close to the best growth the bets are taken.
_GAP = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A bet that is in force, with the cells it is on."""

    guess: Guess
    bet: Bet

    def log_factors(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """The log factor of each pair of draws."""
        guess, bet = self.guess, self.bet
        if bet.growth == 0.0:  # Nothing is bet.
            return np.zeros(first.size)
        factors: FloatArray = bet.log_first[guess.cell(first)] + bet.log_second[guess.cell(second)]
        return factors


@dataclass(slots=True, eq=False)
class BettingTest:
    """A test in progress: feed it blocks of scores, in any sizes, and stop whenever you like.

    Args:
      curve: The claim's curve.
      log_threshold: log(1/α); the claim is refuted when the log wealth reaches it. If it is
        infinite, nothing can be, and nothing is bet.

    Attributes:
      samples: Pairs of draws seen.
      log_wealth: The log wealth after them.
      crossed: The number of pairs after which the threshold was first reached, or `None`.
      path: The log wealth after each pair, per block.
      past: The scores of both sides that the next bets are chosen from.
    """

    curve: Region
    log_threshold: float
    samples: int = 0
    log_wealth: float = 0.0
    crossed: int | None = None
    path: list[FloatArray] = field(default_factory=list)
    past: tuple[FloatArray, FloatArray] = field(default_factory=lambda: (np.empty(0), np.empty(0)))
    _wealths: FloatArray = field(default_factory=lambda: np.zeros(_LOG_SHARES.size))
    _fit: Callable[[FloatArray, FloatArray], Guess | None] = field(init=False)
    _bettors: tuple[Held | None, ...] = (None,) * (_LOG_SHARES.size - 1)
    _slow_revision: float = 2.0

    def __post_init__(self) -> None:
        scale = self.curve.gaussian_scale()
        if self.curve.deltas[-1] == 0.0:
            # A pure ε is claimed of Laplace noise, if of any: normal noise would break it at once.
            # Laplace noise of the same total variation has ε = −2·log(1 − TV).
            epsilon = -2.0 * (math.log(2.0) + float(log_ndtr(-0.5 * scale)))
            prior = min(_LARGEST_PRIOR, _TYPICAL_FLAW * epsilon)
            self._fit = partial(laplace_guess, prior=prior)
        else:
            prior = min(_LARGEST_PRIOR, _TYPICAL_FLAW * scale)
            self._fit = partial(normal_guess, prior=prior)

    @staticmethod
    def next_block(samples: int) -> int:
        """How many pairs to draw after so many before the bets are revised."""
        if samples < _WARM_UP:
            return _WARM_UP - samples
        growth = _EARLY_GROWTH if samples < _LATE else _LATE_GROWTH
        return max(4, int(growth * samples))

    def update(self, first: FloatArray, second: FloatArray) -> bool:
        """Bets on a block of pairs, then revises the bets. Returns whether the claim is refuted."""
        size = first.size
        steps = np.zeros((_LOG_SHARES.size, size))
        for own, held in zip(steps[1:], self._bettors, strict=True):
            if held is not None:
                own += held.log_factors(first, second)
        followed = self._followed()
        if followed is not None:
            steps[0] = steps[1 + followed]
        paths = self._wealths[:, None] + np.cumsum(steps, axis=1)
        wealth = np.logaddexp.reduce(_LOG_SHARES[:, None] + paths, axis=0)
        self._wealths = paths[:, -1].copy()
        hits = np.flatnonzero(wealth >= self.log_threshold)
        if hits.size and self.crossed is None:
            self.crossed = self.samples + int(hits[0]) + 1
        self.samples += size
        self.log_wealth = float(wealth[-1])
        self.path.append(wealth)
        self.past = (np.append(self.past[0], first), np.append(self.past[1], second))
        if self.crossed is None:
            self._revise()
        return self.crossed is not None

    def replace_past(self, first: FloatArray, second: FloatArray) -> None:
        """New scores for past draws, after the statistic was changed; wealth is kept."""
        self.past = (first, second)
        self._slow_revision = 2.0
        self._revise()

    def _followed(self) -> int | None:
        """Which bettor the leader follows in the next block, if any."""
        records = np.where([held is not None for held in self._bettors], self._wealths[1:], -np.inf)
        best = int(np.argmax(records))
        if records[0] + _LEAD >= records[best]:
            best = 0
        return best if records[best] >= -_LOSS else None

    def _revise(self) -> None:
        """Chooses the bets for the draws to come, from the past alone."""
        size = min(self.past[0].size, self.past[1].size)
        if size < 2 or math.isinf(self.log_threshold):
            return
        first, second = self.past
        fitted = None if _has_atoms(first, second) else self._fit(first, second)
        self._bettors = (self._hold(fitted), *self._bettors[1:])
        if self._slow_revision <= size:
            self._slow_revision = _SLOWLY * size
            first, second = np.sort(first), np.sort(second)  # Sorted sides are quickly counted.
            counted = histogram_guess(first, second), half_line_guess(first, second, self.curve)
            self._bettors = (self._bettors[0], *map(self._hold, counted))

    def _hold(self, guess: Guess | None) -> Held | None:
        if guess is None:
            return None
        return Held(guess, best_bet(guess.first, guess.second, self.curve, gap=_GAP))


def _has_atoms(first: FloatArray, second: FloatArray) -> bool:
    """Whether values repeat so often that a normal law is no description."""
    head = np.sort(np.concatenate([first[:500], second[:500]]))
    return int(np.count_nonzero(head[1:] != head[:-1])) + 1 < 0.7 * head.size


def log_threshold(confidence: float) -> float:
    """log(1/α) for α = 1 − confidence."""
    return -math.log1p(-confidence)
