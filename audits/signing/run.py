"""A run as its owner knows it: the event, and how else the same numbers could be read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import Certificate, FourierAccountant, validate
from accountants.adapters.history import Row, history_event, rows_of
from accountants.sampling import SamplingKind, check
from audits.wording import RELATIONS, event_words, sampling_words

_ADD, _REPLACE, _ZERO = NeighboringRelation
PROVED_FOR: dict[SamplingKind, NeighboringRelation] = {
    "poisson": _ADD,
    "fixed_size": _REPLACE,
    "shuffled": _ZERO,
    "balls_in_bins": _ADD,
    "all": _ADD,
}
"""The relation that a sampling is read under if nothing is said."""
READINGS: tuple[tuple[SamplingKind, NeighboringRelation], ...] = (
    ("poisson", _ADD),
    ("poisson", _REPLACE),
    ("fixed_size", _REPLACE),
    ("balls_in_bins", _ZERO),
    ("shuffled", _ZERO),
)
"""How the same σ, q and steps may be meant."""
WITHOUT_SAMPLING: tuple[tuple[SamplingKind, NeighboringRelation], ...] = (
    ("all", _ADD),
    ("all", _REPLACE),
)
"""The same where every record is in every step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to understand a run's numbers.

    Attributes:
      words: Sampling and neighbours.
      relation: Which data sets are neighbours.
      certify: The certificate at a δ; raises a `ValueError` where there is none.
    """

    words: str
    relation: NeighboringRelation
    certify: Callable[[float], Certificate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a statement is made about.

    Attributes:
      source: Where the numbers come from.
      facts: What was done, as terms and values.
      signed: What is certified: one reading, or one for each scope.
      others: Other readings of the same numbers, none of them certified for this run.
      data_size: Records in the data set, where that is known.
      records: Neighbours differ in so many records of one user.
    """

    source: str
    facts: tuple[tuple[str, str], ...]
    signed: tuple[Reading, ...]
    others: tuple[Reading, ...] = ()
    data_size: int | None = None
    records: int = 1


def reading_of(
    event: Callable[[], dpa.DpEvent], relation: NeighboringRelation, words: str
) -> Reading:
    """A reading of an event that may turn out to be none."""

    def certify(delta: float) -> Certificate:
        return FourierAccountant(relation).compose(event()).certify([delta])

    return Reading(words=words, relation=relation, certify=certify)


def of_event(
    event: dpa.DpEvent, *, relation: NeighboringRelation, source: str, data_size: int | None = None
) -> Run:
    """The run that an event describes, as dp-accounting and jax-privacy make them."""
    validate.instance("event", event, dpa.DpEvent)
    validate.relation("relation", relation)
    others = [other for other in NeighboringRelation if other is not relation]
    return Run(
        source=validate.text("source", source),
        facts=(("event", event_words(event)),),
        signed=(reading_of(lambda: event, relation, RELATIONS[relation]),),
        others=tuple(
            reading_of(lambda: event, other, f"the same event, {RELATIONS[other]}")
            for other in others
        ),
        data_size=data_size,
    )


def of_history(
    history: Sequence[Row],
    *,
    sampling: SamplingKind,
    source: str,
    relation: NeighboringRelation | None = None,
    records_per_user: int = 1,
    data_size: int | None = None,
) -> Run:
    """The run behind an Opacus history: rows (noise multiplier, sampling rate, steps).

    Args:
      history: As `engine.accountant.history` has it.
      sampling: How batches were drawn, which no history says: a word of `accountants.sampling`.
      source: Where it comes from, in words.
      relation: Which data sets are neighbours; by default the one that the sampling is proved for.
      records_per_user: Neighbours differ in so many records of one user.
      data_size: Records in the data set, where that is known.
    """
    kind, rows = check("sampling", sampling), rows_of(history)
    meant = PROVED_FOR[kind] if relation is None else validate.relation("relation", relation)

    def read(kind: SamplingKind, relation: NeighboringRelation) -> Reading:
        def event() -> dpa.DpEvent:
            return history_event(
                rows, sampling=kind, relation=relation, records_per_user=records_per_user
            )

        return reading_of(event, relation, f"{sampling_words(kind)}, {RELATIONS[relation]}")

    readings = READINGS if any(rate < 1.0 for _, rate, _ in rows) else WITHOUT_SAMPLING
    return Run(
        source=source,
        facts=(*history_facts(rows), ("sampling", sampling_words(kind))),
        signed=(read(kind, meant),),
        others=tuple(read(*one) for one in readings if one != (kind, meant)),
        data_size=data_size,
        records=records_per_user,
    )


def history_facts(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    """What a history says, in a few rows."""
    noises, rates = ({row[column] for row in rows} for column in (0, 1))
    return (
        ("steps", f"{sum(row[2] for row in rows):,}"),
        ("noise multiplier", _span(noises)),
        ("sampling rate", _span(rates)),
        *((("rows of the history", f"{len(rows):,}"),) if len(rows) > 1 else ()),
    )


def _span(values: set[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
