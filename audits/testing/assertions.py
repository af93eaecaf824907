"""A differential-privacy audit as an assertion, for anybody's test suite."""

from typing import Any

import numpy as np

from accountants import Certificate, validate
from audits.claims import Claim
from audits.testing.auditor import audit
from audits.testing.draws import DrawFunction
from audits.testing.hunting import hunt
from audits.verdict import Verdict, Word


class AuditFailedError(AssertionError):
    """The claim is refuted, or the audit could not tell; the message is the verdict's explanation.

    Attributes:
      verdict: The whole verdict.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.explain())
        self.verdict = verdict


def assert_private(
    mechanism: DrawFunction,
    claim: Claim | Certificate,
    *,
    pair: Any | None = None,
    rng: np.random.Generator | None = None,
    confidence: float = 1.0 - 1e-6,
    max_samples: int = 20_000,
    require_conclusive: bool = True,
    **options: Any,
) -> Verdict:
    """Raises an `AssertionError` that explains itself if the claim is refuted.

    A correct mechanism fails the test with probability at most 1 − confidence, one in a million by
    default. The seed is fixed unless an `rng` is given, so that the test does not flicker.
    Returning is no proof of privacy: it says that this many draws did not contradict the claim.

    Args:
      mechanism: `(data, rng, n) -> n independent outputs`; see `audits.repeat`.
      claim: What is asserted, or a certificate.
      pair: Two neighbouring data sets; `audits.hunt` looks for one if it is left out.
      rng: Seeds the draws.
      confidence: 1 − the probability of a false alarm.
      max_samples: The most draws per side.
      require_conclusive: Also fail if the audit could not have told.
      **options: Passed on to `audits.audit` or `audits.hunt`.

    >>> from audits import PointClaim
    >>> def noisy_count(data, rng, n):
    ...     return len(data) + rng.laplace(size=n)
    >>> assert_private(noisy_count, PointClaim(1.0), pair=([0, 0], [0])).word.value
    'NOT_REFUTED'
    """
    require_conclusive = validate.flag("require_conclusive", require_conclusive)
    generator = np.random.default_rng(0) if rng is None else rng
    common: dict[str, Any] = {"confidence": confidence, "max_samples": max_samples, **options}
    if pair is None:
        verdict = hunt(mechanism, claim, rng=generator, **common)
    else:
        verdict = audit(mechanism, pair, claim, rng=generator, **common)
    if verdict.refuted or (require_conclusive and verdict.word is Word.INCONCLUSIVE):
        raise AuditFailedError(verdict)
    return verdict
