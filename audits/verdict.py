"""The word on a claim, and the paragraph that goes with it."""

import enum
import json
import math
from dataclasses import dataclass

from accountants import codec, validate
from audits.claims import Claim
from audits.evidence import Evidence
from audits.wording import down, up

_FORMAT = "dp-assay/verdict"
_ONE_POINT = ": one point, where the claim is tested as a whole curve and falls sooner."


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

    def explain(self) -> str:
        """One paragraph in plain language."""
        return " ".join(part for part in _sentences(self) if part)

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


def _sentences(verdict: Verdict) -> list[str]:
    evidence, claim = verdict.evidence, verdict.claim
    level = f"{100 * evidence.confidence:g}%"
    where = f" on {evidence.pair}" if evidence.pair else ""
    looked_at = f", looking at {evidence.statistic}" if evidence.statistic else ""
    counted = "draws per side" if evidence.method.in_pairs else "trials"
    sample = f"{evidence.samples:,} {counted}{where}{looked_at}"
    method = evidence.method.value
    sentences = []
    if verdict.word is Word.REFUTED:
        sentences.append(
            f"REFUTED: the claim of {claim.describe()} is false, or an event of probability at "
            f"most {1 - evidence.confidence:.2g} has happened ({method}, {sample})."
        )
        if evidence.log_e_value is not None and evidence.p_value is not None:
            growth = math.exp(min(evidence.log_e_value, 700.0))
            sentences.append(
                "Bets against the claim, which a true claim lets nobody win in the long run, "
                f"multiplied their stake by {growth:.3g} (p ≤ {up(evidence.p_value, 2)})."
            )
    elif verdict.word is Word.NOT_REFUTED:
        sentences.append(
            f"NOT REFUTED: {sample} did not contradict the claim of {claim.describe()} at "
            f"confidence {level} ({method}). Another pair of data sets, another statistic "
            "or more draws still might."
        )
    else:
        sentences.append(
            f"INCONCLUSIVE: {sample} could not have told whether the claim of {claim.describe()} "
            f"holds ({method}, confidence {level})."
        )
    sentences.append(verdict.reason)
    if evidence.epsilon_lower > 0.0:
        sentences.append(
            f"On its own, the same sample shows ε ≥ {down(evidence.epsilon_lower, 3)} at "
            f"δ = {evidence.delta:g} with confidence {level}"
            + (_ONE_POINT if verdict.refuted and not claim.is_point else ".")
        )
    if evidence.assumptions:
        sentences.append("This rests on: " + "; ".join(evidence.assumptions) + ".")
    return sentences
