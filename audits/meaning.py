"""What an ε means for a person, in sentences and as so many of 1,000 people."""

import math
from dataclasses import dataclass

from dp_accounting import NeighboringRelation

from accountants import Bounds, IntervalAccountant, membership_risk, true_positive_rate
from audits.wording import up

RATES = (0.01, 0.001)
"""The false positive rates that attacks are judged by (Carlini et al. 2022)."""
PEOPLE = 1000
_DOUBT = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "thinks it as likely as not that this one was used",
    NeighboringRelation.REPLACE_ONE: "thinks two values of this one equally likely",
    NeighboringRelation.REPLACE_SPECIAL: "thinks it as likely as not that this one was zeroed",
}
_TOLD = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: ("whose records were used", "others"),
    NeighboringRelation.REPLACE_ONE: ("with the one value", "with the other"),
    NeighboringRelation.REPLACE_SPECIAL: ("whose records were used", "whose records were zeroed"),
}
_BAR = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the best attack on the most exposed record attains; upper ends are proved for all.

    Attributes:
      relation: What the attack has to tell apart.
      records: So many records of one user differ.
      unit: "record", or "client": all records of a client differ.
      accuracy: Of a guess where both are equally likely.
      found: True positive rates at each of `RATES`.
    """

    relation: NeighboringRelation
    records: int
    accuracy: Bounds
    found: tuple[Bounds, ...]
    unit: str = "record"

    @classmethod
    def of(
        cls, accountant: IntervalAccountant, *, records: int = 1, unit: str = "record"
    ) -> "Meaning":
        """What the composition so far means."""
        return cls(
            relation=accountant.neighboring_relation,
            records=records,
            accuracy=membership_risk(accountant).accuracy,
            found=tuple(true_positive_rate(accountant, rate) for rate in RATES),
            unit=unit,
        )

    def guess(self) -> tuple[str, str]:
        """The accuracy of a guess, in a sentence of two lines."""
        known = "records but one" if self.records == 1 else "records but one user's"
        if self.unit == "client":
            known = "clients' data but one's"
        return (
            f"Whoever knows all {known}, and {_DOUBT[self.relation]},",
            f"is right about it with probability at most {up(100.0 * self.accuracy.upper, 4)} % "
            "(50 % by guessing).",
        )

    def people(self) -> list[tuple[float, int]]:
        """For each rate, how many of 1,000 are recognised, at most."""
        shown = (math.ceil(PEOPLE * found.upper) for found in self.found)
        return list(zip(RATES, shown, strict=True))

    def sentences(self) -> list[str]:
        """All of it, in words."""
        told, others = _TOLD[self.relation]
        lines = [" ".join(self.guess())]
        for rate, most in self.people():
            lines.append(
                f"Of 1,000 people {told}, a test that wrongly names {round(PEOPLE * rate)} of "
                f"1,000 {others} recognises at most {most:,}."
            )
        return lines

    def picture(self) -> list[str]:
        """Of 1,000 people, as bars: what a test finds by chance, and with the release at most."""
        lines = []
        for rate, most in self.people():
            chance = round(PEOPLE * rate)
            lines += [
                f"  if {chance} of 1,000 may be wrongly named",
                f"    found by chance  {_bar(chance)} {chance}",
                f"    found at most    {_bar(most)} {most:,}",
            ]
        return lines


def _bar(people: int) -> str:
    return "█" * max(1, round(_BAR * people / PEOPLE))
