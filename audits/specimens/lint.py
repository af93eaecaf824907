"""Mistakes that need no sampling: a claim that arithmetic alone contradicts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from accountants import validate
from audits.specimens.specimen import Picture, check_words
from audits.verdict import Word


class LintResult(NamedTuple):
    """What the arithmetic says of a statement: the word, the figures, and them in a sentence."""

    word: Word
    claimed: float
    found: float
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """One mistake on paper beside its repair; each check computes a figure and gives its word.

    Attributes:
      name: Short, and unique in the zoo.
      flaw: What is wrong, in one sentence.
      reference: Where it is found or described.
      explanation: Why it is wrong and what is right.
      flawed: Checks the mistaken statement; `REFUTED` is expected.
      repaired: Checks the repaired one; `NOT_REFUTED` is expected.
      picture: Draws the law behind the flaw into a figure, where there is one to look at.
    """

    name: str
    flaw: str
    reference: str
    explanation: str
    flawed: Callable[[], LintResult]
    repaired: Callable[[], LintResult]
    picture: Picture | None = None

    def __post_init__(self) -> None:
        check_words(
            name=self.name,
            flaw=self.flaw,
            reference=self.reference,
            explanation=self.explanation,
        )
        validate.function("flawed", self.flawed)
        validate.function("repaired", self.repaired)
        if self.picture is not None:
            validate.function("picture", self.picture)

    def as_expected(self) -> bool:
        """Whether the mistake is refuted and the repair is not."""
        return self.flawed().word is Word.REFUTED and self.repaired().word is Word.NOT_REFUTED
