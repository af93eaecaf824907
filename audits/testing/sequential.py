r"""The sequential test of a claimed curve: wealth that a true claim keeps small at all times.

Two bettors start with shares of one unit of wealth and bet on every pair of draws. Before each
block of draws both choose cells, their order and stakes from the draws of earlier blocks; by
`audits.testing.bets` each factor then has mean at most 1 given the past if the claim is true. Hence
the wealth W_t of the two together is a non-negative supermartingale with W_0 = 1, and by Ville's
inequality

    P(sup_t W_t ≥ 1/α) ≤ α:

the claim is refuted when W_t reaches 1/α, at whatever time one looks, and as often as one likes.
1/W_t is an anytime-valid p-value. Nothing is assumed about the laws beyond independent draws.

The first bettor follows a normal fit until the second one, who follows a histogram, has done better
with its bets so far; so neither a Gaussian mechanism nor one with atoms costs more than a little.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from accountants.arrays import FloatArray
from audits.claims.region import Region
from audits.testing.bets import Bet, best_bet
from audits.testing.guesses import Guess, histogram_guess, normal_guess

_LOG_SHARES = np.log([0.97, 0.03])
_WARM_UP = 6
# The histogram takes over the first bettor's stakes when it is ahead by this many nats.
_LEAD = 1.5
# Blocks grow by this fraction of the draws so far: fewer and dearer looks early, finer ones late.
_EARLY_GROWTH, _LATE_GROWTH, _LATE = 0.3, 0.1, 2000
# Before there are draws to speak of, the normal fit leans towards noise too small by this factor.
_TYPICAL_FLAW, _LARGEST_PRIOR = 1.4, 5.0
_HISTOGRAM_DRAWS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A bet that is in force, with the cells it is on."""

    guess: Guess
    bet: Bet

    def log_factors(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """The log factor of each pair of draws."""
        guess, bet = self.guess, self.bet
        factors: FloatArray = bet.log_first[guess.cell(first)] + bet.log_second[guess.cell(second)]
        return factors


@dataclass(slots=True, eq=False)
class BettingTest:
    """A test in progress: feed it blocks of scores, in any sizes, and stop whenever you like.

    Args:
      curve: The claim's curve.
      log_threshold: log(1/α); the claim is refuted when the log wealth reaches it.

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
    _wealths: FloatArray = field(default_factory=lambda: np.zeros(2))
    _records: FloatArray = field(default_factory=lambda: np.zeros(2))
    _prior: float = field(init=False)
    _normal: Held | None = None
    _histogram: Held | None = None

    def __post_init__(self) -> None:
        self._prior = min(_LARGEST_PRIOR, _TYPICAL_FLAW * self.curve.gaussian_scale())

    def next_block(self) -> int:
        """How many pairs to draw before the bets are revised; depends on `samples` only."""
        if self.samples < _WARM_UP:
            return _WARM_UP - self.samples
        growth = _EARLY_GROWTH if self.samples < _LATE else _LATE_GROWTH
        return max(4, int(growth * self.samples))

    def update(self, first: FloatArray, second: FloatArray) -> bool:
        """Bets on a block of pairs, then revises the bets. Returns whether the claim is refuted."""
        size = first.size
        by_normal, by_histogram = (
            np.zeros(size) if held is None else held.log_factors(first, second)
            for held in (self._normal, self._histogram)
        )
        follow = self._follows_histogram()
        steps = np.stack([by_histogram if follow else by_normal, by_histogram])
        paths = self._wealths[:, None] + np.cumsum(steps, axis=1)
        wealth = np.logaddexp(*(_LOG_SHARES[:, None] + paths))
        self._wealths = paths[:, -1].copy()
        self._records += (by_normal.sum(), by_histogram.sum())
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
        self._revise()

    @property
    def guess(self) -> Guess | None:
        """The guess that the first bettor follows now."""
        held = self._histogram if self._follows_histogram() else self._normal
        return None if held is None else held.guess

    def _follows_histogram(self) -> bool:
        ahead = self._records[1] > max(self._records[0], 0.0) + _LEAD
        return bool(ahead or self._normal is None)

    def _revise(self) -> None:
        first, second = self.past
        if min(first.size, second.size) < 2:
            return
        gap = 0.03 if first.size < _LATE else 0.01
        recent = slice(-_HISTOGRAM_DRAWS, None)
        self._histogram = self._hold(histogram_guess(first[recent], second[recent]), gap)
        normal = None if _has_atoms(first, second) else normal_guess(first, second, self._prior)
        self._normal = None if normal is None else self._hold(normal, gap)

    def _hold(self, guess: Guess, gap: float) -> Held:
        return Held(guess, best_bet(guess.first, guess.second, self.curve, gap=gap))


def _has_atoms(first: FloatArray, second: FloatArray) -> bool:
    """Whether values repeat so often that a normal law is no description."""
    head = np.concatenate([first[:500], second[:500]])
    return np.unique(head).size < 0.7 * head.size


def log_threshold(confidence: float) -> float:
    """log(1/α) for α = 1 − confidence."""
    return -math.log1p(-confidence)
