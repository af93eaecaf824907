"""What a specimen is: a flawed mechanism, its repaired twin, and what must be said of both."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accountants import validate
from audits.claims import Claim
from audits.pairs import Pair
from audits.testing.draws import DrawFunction
from audits.testing.statistics import Statistic
from audits.verdict import Word

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

Picture: TypeAlias = Callable[["FigureBase"], None]

DEFAULT_SAMPLES = 5_000


def check_words(*, flaw: str, **others: str) -> None:
    """Refuses a member of the zoo whose words are missing, or whose flaw is not one sentence."""
    for name, text in {"flaw": flaw, **others}.items():
        if not isinstance(text, str) or not text.strip():
            raise validate.refusal(name, "a text", text)
    if "\n" in flaw or not flaw.endswith("."):
        raise validate.refusal("flaw", "one sentence on one line", flaw)


class Expected(NamedTuple):
    """What an audit must say of the flawed mechanism and of its twin."""

    flawed: Word
    repaired: Word


CAUGHT = Expected(Word.REFUTED, Word.NOT_REFUTED)
"""The flaw breaks the claim, the repair restores it."""

HARMLESS = Expected(Word.NOT_REFUTED, Word.NOT_REFUTED)
"""What looks like the flaw, in a setting where it leaks nothing: an audit must not cry wolf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A certificate against the flawed mechanism that needs no sampling.

    On the specimen's pair, the event has at least `probability_first_lower` under the first data
    set and at most `probability_second_upper` under the second. By the definition of (ε, δ)-DP,
    P(S) ≤ e^ε·Q(S) + δ, so ε is at least log((P(S) − δ)/Q(S)).

    Attributes:
      event: S in words.
      probability_first_lower: A lower bound of P(S).
      probability_second_upper: An upper bound of Q(S).

    >>> round(Witness(event="heads", probability_first_lower=0.9,
    ...               probability_second_upper=0.1).epsilon_lower(0.0), 4)
    2.1972
    """

    event: str
    probability_first_lower: float
    probability_second_upper: float

    def __post_init__(self) -> None:
        for name in ("probability_first_lower", "probability_second_upper"):
            validate.closed_unit(name, getattr(self, name))
        if not validate.text("event", self.event):
            raise ValueError("`event` must say what happens, got ''.")

    def epsilon_lower(self, delta: float) -> float:
        """The ε that the mechanism has at least, at δ; 0 where the event shows nothing."""
        excess = self.probability_first_lower - validate.closed_unit("delta", delta)
        if excess <= self.probability_second_upper:
            return 0.0
        if self.probability_second_upper == 0.0:
            return math.inf
        return math.log(excess) - math.log(self.probability_second_upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One flaw. The claim is true of `repaired`, and of `flawed` where that is expected.

    Attributes:
      name: Short, and unique in the zoo.
      flaw: What is wrong, in one sentence.
      reference: Where the flaw is found or described, and what proves the repair.
      explanation: Why the flaw breaks the claim and why the twin keeps it.
      claim: What is asserted of both.
      flawed: A mechanism `(data, rng, n) -> n outputs`.
      repaired: Its twin.
      pair: Data sets that are neighbours under the claim's relation.
      statistic: What to look at; None lets the audit hunt for one on this pair.
      expected: The words for both.
      max_samples: The most draws per side.
      witness: A proof of the leak by one event, where there is a closed form.
      proof: From δ to a lower bound of the flawed mechanism's ε that needs no draws, where there is
        one: what its outputs on the pair, or on a worse one, cost exactly.
      picture: Draws the law behind the flaw into a figure, where there is one to look at.
    """

    name: str
    flaw: str
    reference: str
    explanation: str
    claim: Claim
    flawed: DrawFunction
    repaired: DrawFunction
    pair: Pair
    statistic: Statistic | None
    expected: Expected
    max_samples: int = DEFAULT_SAMPLES
    witness: Witness | None = None
    proof: Callable[[float], float] | None = None
    picture: Picture | None = None

    def epsilon_proved(self, delta: float) -> float | None:
        """The ε that the flawed mechanism is proved to have at least; `None` without a proof."""
        delta = validate.closed_unit("delta", delta)
        known = [] if self.witness is None else [self.witness.epsilon_lower(delta)]
        known += [] if self.proof is None else [self.proof(delta)]
        return max(known, default=None)

    def __post_init__(self) -> None:
        check_words(
            name=self.name,
            flaw=self.flaw,
            reference=self.reference,
            explanation=self.explanation,
        )
        for name in ("flawed", "repaired"):
            validate.function(name, getattr(self, name))
        if not isinstance(self.claim, Claim):
            raise TypeError(f"`claim` must be a Claim, got {validate.shown(self.claim)}.")
        validate.instance("pair", self.pair, Pair)
        validate.instance("expected", self.expected, Expected)
        validate.count("max_samples", self.max_samples)
        if self.witness is not None:
            validate.instance("witness", self.witness, Witness)
        for name in ("statistic", "proof", "picture"):
            if getattr(self, name) is not None:
                validate.function(name, getattr(self, name))
