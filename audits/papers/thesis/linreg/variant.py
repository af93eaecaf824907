"""Where the Thesis's own way differs from this study's, or is not told: what may be varied."""

from dataclasses import dataclass

_BY_VARIANCE = "noise on the gradient by variance"
_SPREAD = "prior clipped with each record"
_REALISED = "divided by the realised batch"
_IN_TURN = "clients in turn"
_UNDAMPED = "undamped"
_UNLIMITED = "no threshold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How a client descends and how messages are combined; the default is this study's way.

    Attributes:
      by_variance: A record's gradient by mean and variance (Thesis eq. 4.21–4.22) is clipped and
        perturbed, and the chain rule to the log-variance comes after; otherwise the gradient by
        mean and log-variance is clipped and perturbed. The chain rule's factor is q's variance,
        which is public: the cost is the same.
      spread_prior: Each record has 1/N of the prior's gradient before it is clipped (eq. 4.21–4.22)
        instead of all of it after the noise. The cost is the same.
      realised_batch: The noisy sum is divided by the number of records in the batch (Algorithm 2)
        instead of q·N. That number depends on the records: no ε is certified.
      in_turn: Clients update one after the other within a server update (Algorithm 1), not at once.
      damped: Messages have the damping 1/M.
      limited: Steps have the threshold on gradients that section 4.2.2 proposes.
    """

    by_variance: bool = False
    spread_prior: bool = False
    realised_batch: bool = False
    in_turn: bool = False
    damped: bool = True
    limited: bool = True

    @property
    def own_descent(self) -> bool:
        """Whether steps differ from those of `mechanisms.DPOptimisation`."""
        return self.by_variance or self.spread_prior or self.realised_batch

    def __str__(self) -> str:
        parts = [
            (self.by_variance, _BY_VARIANCE),
            (self.spread_prior, _SPREAD),
            (self.realised_batch, _REALISED),
            (self.in_turn, _IN_TURN),
            (not self.damped, _UNDAMPED),
            (not self.limited, _UNLIMITED),
        ]
        return ", ".join(name for applies, name in parts if applies) or "this study's way"


OWN_WAY = Variant()
AS_TOLD = Variant(
    by_variance=True,
    spread_prior=True,
    realised_batch=True,
    in_turn=True,
    damped=False,
    limited=False,
)
"""All that the Thesis writes down, read literally."""
NEAREST = Variant(by_variance=True, in_turn=True, damped=False, limited=False)
"""The same with what `mechanisms` does about prior and batch, so that its cost is certified."""
VARIANTS = (
    Variant(by_variance=True),
    Variant(spread_prior=True),
    Variant(realised_batch=True),
    Variant(limited=False),
    Variant(damped=False, limited=False),
    Variant(in_turn=True, damped=False, limited=False),
    NEAREST,
    AS_TOLD,
)
"""Each alone where it can be; without damping only without the threshold, as the Thesis has it."""
