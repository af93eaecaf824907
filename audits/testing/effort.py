"""How many draws would a verdict need, and which form of the claim would need fewer?"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from audits.claims import Claim, GaussianClaim
from audits.claims.region import Region
from audits.testing.bets import best_bet
from audits.testing.guesses import Guess, normal_cells
from audits.testing.sequential import log_threshold
from audits.wording import about

# An audit that could not see twice the claimed privacy loss does not count as one.
_REFERENCE, _LEAST_REFERENCE = 2.0, 0.1
_WEAK = (
    "A single (ε, δ) is a weak claim: it only limits rare outcomes, so a false one takes far more "
    "draws to refute than a false curve"
)


def draws_needed(curve: Region, confidence: float) -> float:
    """Draws per side that convict, on average, a Gaussian mechanism with twice the claimed loss."""
    scale = max(_REFERENCE * curve.gaussian_scale(), _LEAST_REFERENCE)
    edges = np.linspace(-0.5 * scale - 5.0, 0.5 * scale + 5.0, 48)
    guess = Guess(edges, *normal_cells(edges + np.array([[-0.5], [0.5]]) * scale))
    growth = best_bet(guess.first, guess.second, curve, gap=0.05).growth
    return log_threshold(confidence) / growth if growth > 1e-12 else math.inf


@dataclass(frozen=True, eq=False)
class Effort:
    """What a verdict on a claim would take; estimates, on which no verdict's validity rests.

    Attributes:
      claim: What is asserted.
      confidence: 1 − α.
    """

    claim: Claim
    confidence: float

    @cached_property
    def needed(self) -> float:
        """Draws per side for a verdict other than INCONCLUSIVE, unless the claim is refuted."""
        return draws_needed(self.claim.region(), self.confidence)

    def notice(self, max_samples: int) -> str:
        """What to know before the first draw; empty if there are draws enough."""
        if max_samples >= self.needed:
            return ""
        return (
            f"{self._size(capital=True)} draws per side are needed for a verdict on this claim; "
            f"with at most {max_samples:,} it can only end REFUTED or INCONCLUSIVE. {self.advice}"
        ).strip()

    @cached_property
    def shortfall(self) -> str:
        """Why too few draws cannot tell."""
        return (
            "Even a Gaussian mechanism with twice the claimed privacy loss would need "
            f"{self._size()} draws per side to be noticed."
        )

    @cached_property
    def advice(self) -> str:
        """Which form of the claim would need fewer draws; empty unless a single point is claimed.

        The curve that is named is that of the Gaussian mechanism through the same (ε, δ): a
        stronger claim, which is true of Gaussian noise that just attains the point.
        """
        if not self.claim.is_point:
            return ""
        mu = self.claim.region().gaussian_scale()
        fewer = draws_needed(GaussianClaim(mu, relation=self.claim.relation).region(), 0.99)
        fewer *= log_threshold(self.confidence) / log_threshold(0.99)
        sharply = f"{_WEAK}; state the event or the whole profile to test it sharply."
        if not math.isfinite(fewer):
            return sharply
        return (
            f"{sharply} As a claim of "
            f"μ = {mu:.3g}, Gaussian noise with the same ε at this δ, it would need about "
            f"{about(fewer)} draws per side."
        )

    def _size(self, *, capital: bool = False) -> str:
        words = f"about {about(self.needed)}" if math.isfinite(self.needed) else "no number of"
        return words[0].upper() + words[1:] if capital else words
