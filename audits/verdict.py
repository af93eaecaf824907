"""The word on a claim, and the paragraph that goes with it."""

import enum
import json
import math
from dataclasses import dataclass, replace

from accountants import codec, validate
from audits.claims import Claim, PointClaim
from audits.evidence import Evidence
from audits.wording import down, odds, once_in, up

_FORMAT = "dp-assay/verdict"


class Word(enum.Enum):
    """What the evidence says of the claim; silence is not a proof."""

    REFUTED = "REFUTED"
    NOT_REFUTED = "NOT_REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A word, the claim it is about, and the evidence it rests on.

    Attributes:
      word: `REFUTED`, `NOT_REFUTED` or `INCONCLUSIVE` (the test could not have told).
      claim: The claim that was tested.
      evidence: What was seen.
      reason: Why the word is what it is where numbers alone do not say it.
    """

    word: Word
    claim: Claim
    evidence: Evidence
    reason: str = ""

    def __post_init__(self) -> None:
        validate.instance("word", self.word, Word)
        if not isinstance(self.claim, Claim):
            raise TypeError(f"`claim` must be a Claim, got {validate.shown(self.claim)}.")
        validate.instance("evidence", self.evidence, Evidence)
        validate.text("reason", self.reason)

    @property
    def refuted(self) -> bool:
        """Whether the word is `REFUTED`."""
        return self.word is Word.REFUTED

    def seeded_by(self, seed: int) -> "Verdict":
        """The same, showing the seed that was given rather than the one that followed from it."""
        return replace(self, evidence=replace(self.evidence, seed=seed))

    @property
    def headline(self) -> str:
        """The verdict in one sentence for those who read no other.

        Odds are those of the e-value when the audit stopped, see `audits.wording.odds`.
        """
        return _headline(self)

    def explain(self) -> str:
        """The headline on a line of its own, then a paragraph of details in plain language."""
        return f"{self.headline}\n{' '.join(part for part in _details(self) if part)}"

    @property
    def bound(self) -> str:
        """The lower bound of ε in words, and why it may lie below a refuted claim; or nothing."""
        return _bound(self)

    def to_json(self) -> str:
        """JSON text with the claim and the evidence inside."""
        return codec.dump_document(
            _FORMAT,
            {
                "word": self.word.value,
                "claim": json.loads(self.claim.to_json()),
                "evidence": self.evidence.as_dictionary(),
                "reason": self.reason,
                "explanation": self.explain(),
            },
        )

    @classmethod
    def from_json(cls, text: str) -> "Verdict":
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        body = codec.load_document(_FORMAT, text)
        codec.expect_keys("verdict", body, {"word", "claim", "evidence", "reason", "explanation"})
        codec.expect(str, "explanation", body["explanation"])
        return cls(
            word=Word[validate.one_of("word", body["word"], list(Word.__members__))],
            claim=Claim.from_json(json.dumps(body["claim"])),
            evidence=Evidence.from_dictionary(codec.expect(dict, "evidence", body["evidence"])),
            reason=codec.expect(str, "reason", body["reason"]),
        )


def sample_size(evidence: Evidence) -> str:
    """How much was looked at, in words."""
    return f"{evidence.samples:,} {evidence.method.counted}"


def _headline(verdict: Verdict) -> str:
    evidence, sample = verdict.evidence, sample_size(verdict.evidence)
    if verdict.word is Word.NOT_REFUTED:
        return f"NOT REFUTED: {sample} did not contradict the claim, which is no proof of it."
    if verdict.word is Word.INCONCLUSIVE:
        return f"INCONCLUSIVE: {sample} cannot tell whether the claim is true."
    if evidence.log_e_value is not None and evidence.log_largest_wealth is not None:
        return f"REFUTED: odds of {odds(evidence.log_e_value)} against the claim after {sample}."
    if evidence.p_value is not None:
        rare = once_in(evidence.p_value)
        return f"REFUTED: a true claim would look as bad as this at most {rare} times ({sample})."
    return (
        f"REFUTED: {sample} show more privacy loss than is claimed, with confidence "
        f"{100 * evidence.confidence:g}%."
    )


def _details(verdict: Verdict) -> list[str]:
    evidence, claim = verdict.evidence, verdict.claim
    level = f"{100 * evidence.confidence:g}%"
    where = f" on {evidence.pair}" if evidence.pair else ""
    looked_at = f", looking at {evidence.statistic}" if evidence.statistic else ""
    how = f"({evidence.method.value}{where}{looked_at}; confidence {level})."
    sentences = []
    if verdict.word is Word.REFUTED:
        sentences.append(
            f"The claim of {claim.describe()} is false, or an event of probability at most "
            f"{1 - evidence.confidence:.2g} has happened {how}"
        )
        if evidence.p_value is not None:
            odds_of = (
                "The odds are those of bets that no true claim lets anybody win in the long run"
            )
            by_bets = evidence.log_largest_wealth is not None
            p_value = f"p ≤ {up(evidence.p_value, 2)}"
            sentences.append(f"{odds_of} ({p_value})." if by_bets else f"In numbers, {p_value}.")
    elif verdict.word is Word.NOT_REFUTED:
        sentences.append(
            f"The claim is {claim.describe()} {how} {evidence.method.untried} still might "
            "contradict it."
        )
    else:
        sentences.append(f"The claim is {claim.describe()} {how}")
    sentences.append(verdict.reason)
    sentences.append(verdict.bound)
    if evidence.assumptions:
        sentences.append("This rests on: " + "; ".join(evidence.assumptions) + ".")
    return sentences


def _bound(verdict: Verdict) -> str:
    """The lower bound of ε, and why it may lie below a claim that is refuted."""
    evidence, claim = verdict.evidence, verdict.claim
    if evidence.epsilon_lower <= 0.0:
        return ""
    shown = (
        f"ε ≥ {down(evidence.epsilon_lower, 3)} at δ = {evidence.delta:g} with confidence "
        f"{100 * evidence.confidence:g}%"
    )
    if not is_below_claim(verdict):
        return f"The same sample shows {shown}."
    claimed = claim.epsilon_upper(evidence.delta)
    if math.isinf(claimed):
        return f"The same sample shows {shown}; the claim says nothing at this δ."
    return (
        f"A second look at the same sample shows {shown}. That this is less than the claimed "
        f"{up(claimed, 3)} takes nothing from the verdict: {_why_below(claim)}"
    )


def is_below_claim(verdict: Verdict) -> bool:
    """Whether the claim is refuted, and yet the bound of ε alone would not refute it."""
    evidence = verdict.evidence
    inside = verdict.refuted and 0.0 < evidence.delta < 1.0
    return inside and evidence.epsilon_lower <= verdict.claim.epsilon_upper(evidence.delta)


def _why_below(claim: Claim) -> str:
    if isinstance(claim, PointClaim):
        return (
            "the verdict asks only whether the claimed ε can be true, whereas the bound must hold "
            "for every ε at once and so needs more draws."
        )
    return (
        "it is the claimed curve as a whole that the draws refute, whereas the bound looks at this "
        "one δ, where more draws are needed."
    )
