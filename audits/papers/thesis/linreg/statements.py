"""What the Thesis says of its sampling rates and clipping rules, and whether it holds here."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from audits.papers.comparison import CRITERION, Difference
from audits.papers.study import Results, Row, Table
from audits.papers.thesis.linreg.case import BatchPercentile, Case, FixedNorm
from audits.papers.thesis.linreg.costs import cost

Measure: TypeAlias = Literal["final", "worst"]

_MEASURES: dict[Measure, str] = {"final": "KL at the end", "worst": "worst KL of the last fifth"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One of two runs is said to have the smaller KL.

    Attributes:
      words: What is said, in short.
      first: The key of the run that is said to be better.
      second: The key of the other.
      measure: At the end, or the worst of the last fifth where the words are about stability.
    """

    words: str
    first: str
    second: str
    measure: Measure


def statements(cases: Mapping[str, Case]) -> list[Statement]:
    """All on which two of these runs can be compared (sections 4.2.2 and 4.3)."""
    found = []
    for first, second in itertools.permutations(cases, 2):
        figure = first.partition("/")[0]
        if first.rpartition("/")[0] != second.rpartition("/")[0]:
            continue  # Of another figure, clipping norm or sampling rate.
        found += [
            Statement(words=words, first=first, second=second, measure=measure)
            for words, measure in _said(figure, cases[first], cases[second])
        ]
    return found


def _said(figure: str, first: Case, second: Case) -> list[tuple[str, Measure]]:
    """What the text on the figure says in favour of the first."""
    if figure == "4.2":
        smaller = first.sampling_rate < second.sampling_rate
        return [("smaller q, smaller KL", "final")] if smaller else []
    said: list[tuple[str, Measure]] = []
    match first.clip, second.clip:
        case FixedNorm(), BatchPercentile() if figure == "4.3":
            said = [("a fixed C is better than percentiles", "final")]
        case BatchPercentile(), FixedNorm() if figure in ("4.4", "4.5"):
            said = [("percentiles mitigate the instability", "worst")]
        case BatchPercentile(own), BatchPercentile(other) if own > other:
            said = [("the larger the percentile, the smaller the KL", "final")]
        case BatchPercentile(own), BatchPercentile(other) if figure in ("4.4", "4.5"):
            said = [("the smaller the percentile, the more stable", "worst")]
    return said


def statements_table(cases: Mapping[str, Case], results: Results, delta: float) -> Table:
    """Each with the paired difference of log KL over seeds."""
    rows = []
    for said in statements(cases):
        first, second = (
            [math.log(value) for value in results[key][said.measure]]
            for key in (said.first, said.second)
        )
        # Positive where the first has the smaller KL.
        gain = Difference.of(second, first)
        case = cases[said.first]
        rows.append(
            Row(
                cells=(
                    f"Fig. {said.first.partition('/')[0]}",
                    said.words,
                    said.first.partition("/")[2].replace("/", ", "),
                    said.second.rpartition("/")[2],
                    _MEASURES[said.measure],
                    gain.text(2, gain.agrees("better", 0.0)),
                ),
                cost=cost(case, case.updates, delta),
            )
        )
    return Table(
        title="What the Thesis says of sampling rates and percentiles, and whether it holds here",
        columns=(
            "figure",
            "the Thesis says (sections 4.2.2 and 4.3)",
            "said to be better",
            "than",
            "measure",
            "gain in log KL: here",
        ),
        rows=tuple(rows),
        note="Mean ± standard error of log KL of the second run minus that of the first, paired by "
        f"seed: seeds share their data. {CRITERION}The Thesis gives no measure of stability; the "
        "worst KL of the last fifth stands in for it. Runs with different q end at different ε and "
        "numbers of steps, as in the Thesis. The cost is that of the first-named run.",
    )
