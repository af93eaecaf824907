"""Audits of findings: what is said of each, and on what grounds.

Flaws are audited at 99.9%. Twins and controls at 1 − 1e-6, as in the zoo: their promises are held
to be true, and of many true claims that are audited at 99.9% some will fall.
"""

import datetime
import math
import platform
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from audits.claims import PointClaim
from audits.evidence import Evidence
from audits.field.finding import FLAWED, Finding
from audits.field.library import Library, LostError
from audits.pairs import Pair
from audits.peers import environment
from audits.peers.environment import InstallError
from audits.testing.auditor import estimate_epsilon
from audits.testing.hunting import hunt
from audits.verdict import Verdict, Word
from audits.wording import finite

CONFIDENCE = {True: 0.999, False: 1.0 - 1e-6}
DELTA = 1e-5
# After a conviction: how long to go on, and how many draws that is, for the bound of ε.
_MORE_SECONDS, _LEAST_MORE, _MOST_MORE = 15.0, 100, 3000
FAILED = "FAILED"
"""The word where there is no verdict: nothing could be installed, or the library hung or died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one role of a finding, ready for JSON.

    Attributes:
      finding: Its name.
      role: What was drawn.
      digest: Of the finding's file.
      requirements: What was installed.
      word: The verdict's word, or `FAILED`.
      reason: Why there is no verdict; else what the verdict says beside its word.
      by_hunt: Whether no pair was given.
      pair: The pair, in words.
      statistic: What was looked at.
      draws: Draws per side in the deciding test.
      all_draws: Draws made in all, both sides and exploration included.
      log_e_value: The log of the wealth against the claim.
      epsilon_claimed: At `delta`; None if the claim says nothing there.
      epsilon_proved: A lower bound at `delta`, at the same confidence; after a conviction from more
        draws on the pair.
      delta: Of both.
      confidence: 1 − α.
      seed: Of the audit; libraries that take their noise from the system draw anew all the same.
      seconds: From the second draw to the verdict: the first one waits for imports.
      raised: How often the library raised what.
      python: The interpreter's version.
      date: The day.
    """

    finding: str
    role: str
    digest: str
    requirements: tuple[str, ...]
    word: str
    reason: str
    by_hunt: bool
    seed: int
    confidence: float
    pair: str = ""
    statistic: str = ""
    draws: int = 0
    all_draws: int = 0
    log_e_value: float | None = None
    epsilon_claimed: float | None = None
    epsilon_proved: float = 0.0
    delta: float = 0.0
    seconds: float = 0.0
    raised: dict[str, int] | None = None
    python: str = platform.python_version()
    date: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether a flaw was refuted, and nothing else was; silence about others is fine."""
        if self.role == FLAWED:
            return self.word == Word.REFUTED.value
        return self.word in (Word.NOT_REFUTED.value, Word.INCONCLUSIVE.value)

    def as_dictionary(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self) | {"requirements": list(self.requirements)}

    @classmethod
    def from_dictionary(cls, body: dict[str, Any]) -> "Outcome":
        """What `as_dictionary` made."""
        return cls(**{**body, "requirements": tuple(body["requirements"])})


def examine(finding: Finding, role: str, *, seconds: float = 60.0, seed: int = 0) -> Outcome:
    """Installs what is needed, if it is not there yet, and audits.

    Args:
      finding: The finding.
      role: One of its roles.
      seconds: For the audit. A library that takes longer for one answer is ended.
      seed: Of the audit.
    """
    flaw = role == FLAWED
    confidence = CONFIDENCE[flaw]
    known: dict[str, Any] = {
        "finding": finding.name,
        "role": role,
        "digest": finding.digest,
        "requirements": sum(finding.needs(role), ()),
        "by_hunt": finding.pair is None,
        "seed": seed,
        "confidence": confidence,
        "date": datetime.date.today().isoformat(),
    }
    try:
        environment.python(*finding.needs(role))
    except InstallError as error:
        return Outcome(**known, word=FAILED, reason=f"not installed: {error}")
    began = time.monotonic()
    pairs = _pairs(finding)
    with Library(finding, role, max(2.0 * seconds, 60.0)) as library:
        try:
            library(pairs[0].first, np.random.default_rng(seed), 1)  # What is imported or compiled.
            began = time.monotonic()
            verdict = _verdict(finding, library, confidence, seconds, seed)
        except LostError as error:
            reason = str(error)
        except Exception as error:  # What the library raises on every pair.
            reason = f"{type(error).__name__}: {error}"
        else:
            spent = time.monotonic() - began
            said = _said(finding, verdict)
            if verdict.refuted:
                said["epsilon_proved"] = _proved(finding, library, verdict, spent)
            drawn: dict[str, Any] = {"all_draws": library.drawn, "raised": dict(library.raised)}
            return Outcome(**known, **said, **drawn, seconds=round(spent, 2))
    return Outcome(
        **known, word=FAILED, reason=reason[:500], seconds=round(time.monotonic() - began, 2)
    )


def _verdict(
    finding: Finding, library: Library, confidence: float, seconds: float, seed: int
) -> Verdict:
    options: dict[str, Any] = {
        "confidence": confidence,
        "max_samples": finding.max_samples,
        "seconds": seconds,
        "rng": np.random.default_rng(seed),
        "chunk_size": finding.chunk_size,
        "delta": _delta(finding),
    }
    if finding.pair is None:
        return hunt(library, finding.claim, domain=finding.domain, **options)
    return hunt(library, finding.claim, pairs=_pairs(finding), **options)


def _proved(finding: Finding, library: Library, verdict: Verdict, spent: float) -> float:
    """A lower bound of ε from more draws on the pair that convicted: it stops before it knows much.

    Fresh draws, at the same confidence; the better of both bounds would need a share of α each.
    """
    pair = next(one for one in _pairs(finding) if one.name == verdict.evidence.pair)
    draws = int(_MORE_SECONDS * library.drawn / max(spent, 1.0) / 2.0)
    more = estimate_epsilon(
        library,
        pair,
        delta=_delta(finding),
        confidence=verdict.evidence.confidence,
        max_samples=min(max(draws, _LEAST_MORE), _MOST_MORE),
        rng=np.random.default_rng(verdict.evidence.seed),
        chunk_size=finding.chunk_size,
    )
    return more.epsilon_lower


def _pairs(finding: Finding) -> list[Pair]:
    if finding.domain is not None:
        return list(finding.domain.pairs(finding.claim.relation))
    assert finding.pair is not None  # one of both is there
    return [finding.pair]


def _delta(finding: Finding) -> float:
    """Where ε is claimed and bounded: at 0 of pure claims, at the claim's δ, else at 1e-5."""
    claim = finding.claim
    return claim.delta if isinstance(claim, PointClaim) else DELTA


def _said(finding: Finding, verdict: Verdict) -> dict[str, Any]:
    evidence: Evidence = verdict.evidence
    claimed = finding.claim.epsilon_upper(evidence.delta)
    return {
        "word": verdict.word.value,
        "reason": verdict.reason,
        "pair": evidence.pair,
        "statistic": evidence.statistic,
        "draws": evidence.samples,
        "log_e_value": None if evidence.log_e_value is None else finite(evidence.log_e_value),
        "epsilon_claimed": claimed if math.isfinite(claimed) else None,
        "epsilon_proved": evidence.epsilon_lower,
        "delta": evidence.delta,
    }
