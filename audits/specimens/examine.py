"""Auditing specimens: one, or the whole zoo."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from accountants import validate
from audits.specimens.lint import Lint, LintResult
from audits.specimens.specimen import Specimen
from audits.testing.auditor import audit
from audits.testing.draws import DrawFunction
from audits.testing.hunting import hunt
from audits.verdict import Verdict, Word
from audits.wording import finite

REPORTED_DELTA = 1e-5
_T = TypeVar("_T")
SOUND_SHARE = 1e-4  # of α, for what is expected not to be refuted
_UNHURRIED = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The verdicts on a flawed mechanism and on its twin.

    Attributes:
      specimen: What was examined.
      flawed: The verdict on the flawed mechanism.
      repaired: The verdict on the twin.
      seconds: How long both took.
    """

    specimen: Specimen
    flawed: Verdict
    repaired: Verdict
    seconds: float = 0.0

    def __post_init__(self) -> None:
        validate.instance("specimen", self.specimen, Specimen)
        validate.instance("flawed", self.flawed, Verdict)
        validate.instance("repaired", self.repaired, Verdict)
        validate.non_negative("seconds", self.seconds)

    @property
    def as_expected(self) -> bool:
        """Whether both words are the expected ones."""
        return (self.flawed.word, self.repaired.word) == self.specimen.expected


def examine(
    specimen: Specimen,
    rng: np.random.Generator,
    confidence: float = 0.99,
    *,
    executor: Executor | None = None,
) -> Examination:
    """Audits both mechanisms of a specimen on its pair.

    What is expected to be sound is audited at α/10,000: most twins meet their claims exactly, so
    that with the same α a zoo of thirty would accuse some innocent in one run out of a few.

    Args:
      specimen: What to examine.
      rng: Seeds both audits; the flawed mechanism's comes first.
      confidence: 1 − α of the audit of what is expected to be refuted.
      executor: For the draws.
    """
    validate.instance("specimen", specimen, Specimen)
    confidence = validate.open_unit("confidence", confidence)
    start = time.perf_counter()
    sound = 1.0 - SOUND_SHARE * (1.0 - confidence)
    levels = [confidence if word is Word.REFUTED else sound for word in specimen.expected]
    flawed = verdict_on(specimen.flawed, specimen, rng, levels[0], executor=executor)
    repaired = verdict_on(specimen.repaired, specimen, rng, levels[1], executor=executor)
    seconds = time.perf_counter() - start
    return Examination(specimen=specimen, flawed=flawed, repaired=repaired, seconds=seconds)


def verdict_on(
    mechanism: DrawFunction,
    specimen: Specimen,
    rng: np.random.Generator,
    confidence: float = 0.99,
    *,
    executor: Executor | None = None,
) -> Verdict:
    """The verdict on one mechanism against the specimen's claim, on its pair."""
    options: dict[str, Any] = {
        "rng": rng,
        "confidence": confidence,
        "max_samples": specimen.max_samples,
        "executor": executor,
    }
    if specimen.statistic is None:
        # No limit but the draws: a verdict must not depend on how busy the machine is.
        return hunt(mechanism, specimen.claim, pairs=[specimen.pair], seconds=_UNHURRIED, **options)
    return audit(mechanism, specimen.pair, specimen.claim, statistic=specimen.statistic, **options)


def run_zoo(
    specimens: Iterable[Specimen],
    rng: np.random.Generator,
    confidence: float = 0.99,
    *,
    executor: Executor | None = None,
) -> tuple[Examination, ...]:
    """Examines specimens, each with a generator of its own: one more changes none of the others'.

    The generator depends on one number from `rng` and on the specimen's name.
    """
    seed = int(rng.integers(2**63))
    found = []
    for specimen in specimens:
        own = np.random.default_rng([seed, *specimen.name.encode()])
        found.append(examine(specimen, own, confidence, executor=executor))
    return tuple(found)


def as_json(
    examinations: Iterable[Examination], lints: Iterable[Lint] = ()
) -> dict[str, list[dict[str, Any]]]:
    """The zoo as plain data for `json.dumps`; infinities become None."""
    return {
        "specimens": [_examination(one) for one in _all("examinations", examinations, Examination)],
        "lints": [_lint(one) for one in _all("lints", lints, Lint)],
    }


def _all(name: str, values: Iterable[_T], kind: type[_T]) -> Iterator[_T]:
    try:
        entries = iter(values)
    except Exception:  # whatever a stranger's __iter__ raises
        raise TypeError(f"`{name}` must be a list, got {validate.shown(values)}.") from None
    for value in entries:
        yield validate.instance(name, value, kind)


def _examination(one: Examination) -> dict[str, Any]:
    specimen = one.specimen
    body: dict[str, Any] = {
        "name": specimen.name,
        "flaw": specimen.flaw,
        "reference": specimen.reference,
        "claim": specimen.claim.describe(),
        "claimed_epsilon_upper": finite(specimen.claim.epsilon_upper(REPORTED_DELTA)),
        "proved_epsilon_lower": _proved(specimen),
        "delta": REPORTED_DELTA,
        "pair": specimen.pair.name,
        "flawed": _side(one.flawed, specimen.expected.flawed),
        "repaired": _side(one.repaired, specimen.expected.repaired),
        "as_expected": one.as_expected,
        "seconds": one.seconds,
    }
    if specimen.witness is not None:
        body["witness"] = {
            "event": specimen.witness.event,
            "probability_first_lower": specimen.witness.probability_first_lower,
            "probability_second_upper": specimen.witness.probability_second_upper,
            "epsilon_lower": finite(specimen.witness.epsilon_lower(REPORTED_DELTA)),
        }
    return body


def _proved(specimen: Specimen) -> float | str | None:
    """JSON has no infinity: "inf" stands for it, and None for no proof."""
    proved = specimen.epsilon_proved(REPORTED_DELTA)
    return "inf" if proved == float("inf") else proved


def _side(verdict: Verdict, expected: Word) -> dict[str, Any]:
    evidence = verdict.evidence
    return {
        "verdict": verdict.word.value,
        "expected": expected.value,
        "samples": evidence.samples,
        "epsilon_lower": finite(evidence.epsilon_lower),
        "epsilon_delta": evidence.delta,
        "log_e_value": None if evidence.log_e_value is None else finite(evidence.log_e_value),
        "confidence": evidence.confidence,
        "statistic": evidence.statistic,
        "seed": evidence.seed,
        "explanation": verdict.explain(),
    }


def _lint(lint: Lint) -> dict[str, Any]:
    return {
        "name": lint.name,
        "flaw": lint.flaw,
        "reference": lint.reference,
        "flawed": _finding(lint.flawed()),
        "repaired": _finding(lint.repaired()),
        "as_expected": lint.as_expected(),
    }


def _finding(finding: LintResult) -> dict[str, Any]:
    return {
        "verdict": finding.word.value,
        "claimed": finite(finding.claimed),
        "found": finite(finding.found),
        "sentence": finding.sentence,
    }
