"""A statement about a run: computed once, printed as a page and written as JSON."""

import datetime
import json
import math
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa

from accountants import Bounds, Certificate, FourierAccountant, codec, seals, validate, versions
from audits.meaning import Meaning
from audits.signing.checklist import Item, checklist
from audits.signing.run import Reading, Run
from audits.wording import down, finite, interval, up, wrapped

FORMAT, VERSION = "dp-assay/statement", 1
_FIELDS = {
    "format",
    "version",
    "title",
    "source",
    "date",
    "delta",
    "facts",
    "certificates",
    "readings",
    "checklist",
    "meaning",
    "curve",
    "notes",
    "versions",
}
_CURVE = tuple(10.0**-power for power in range(2, 11))


@dataclass(frozen=True, slots=True)
class Cost:
    """What a reading costs at the statement's δ, or why there is no answer."""

    words: str
    bounds: Bounds | None
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """All that a page says about a run.

    Attributes:
      title: What the run is called.
      run: What was certified.
      delta: The δ of all intervals.
      certificates: Each with its scope in words.
      refused: Scopes without a certificate.
      readings: The same numbers read otherwise.
      checklist: What must hold, for signing.
      meaning: What it means for a person; of the first certificate, as is the curve.
      curve: Triples (δ, ε_lower, ε_upper).
      notes: What a reader should know beside the number.
      date: The day it was made, in UTC.
    """

    title: str
    run: Run
    delta: float
    certificates: tuple[tuple[str, Certificate], ...]
    refused: tuple[Cost, ...]
    readings: tuple[Cost, ...]
    checklist: tuple[Item, ...]
    meaning: Meaning
    curve: tuple[tuple[float, float, float], ...]
    notes: tuple[str, ...]
    date: str

    @property
    def bounds(self) -> Bounds:
        """ε at δ, of the first certificate."""
        return self.certificates[0][1].bounds(self.delta)

    def lines(self) -> list[str]:
        """The statement in short, for a terminal."""
        lower, upper = self.bounds
        shown = [
            f"{term}: {value}" for term, value in (("source", self.run.source), *self.run.facts)
        ]
        found = [*shown, "", f"  {down(lower)} ≤ ε ≤ {up(upper)}   at δ = {self.delta:g}", ""]
        found += [
            "What must hold",
            *(f"  - {item.title}: {item.statement}" for item in self.checklist),
        ]
        found += ["", "What it means", *(f"  {text}" for text in self.meaning.sentences())]
        if self.notes:
            found += ["", "Note", *(f"  - {text}" for text in self.notes)]
        if self.readings:
            found += ["", "The same numbers read otherwise"]
        for one in self.readings:
            if one.bounds is None:
                found.append(f"  {one.words}: no answer: {one.refusal}")
            else:
                found.append(f"  {one.words:<47} ε in {interval(one.bounds, 4)}")
        return wrapped(found)

    def document(self) -> dict[str, Any]:
        """The statement for JSON, with a checksum; each certificate has its own besides."""
        return seals.sealed(
            {
                "format": FORMAT,
                "version": VERSION,
                "title": self.title,
                "source": self.run.source,
                "date": self.date,
                "delta": self.delta,
                "facts": [list(fact) for fact in self.run.facts],
                "certificates": [
                    {"scope": words, "certificate": json.loads(certificate.to_json())}
                    for words, certificate in self.certificates
                ],
                "readings": [_cost(one) for one in (*self.refused, *self.readings)],
                "checklist": [item._asdict() for item in self.checklist],
                "meaning": self.meaning.sentences(),
                "curve": [[delta, lower, finite(upper)] for delta, lower, upper in self.curve],
                "notes": list(self.notes),
                "versions": versions.installed(),
            }
        )

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def state(run: Run, *, delta: float, title: str) -> Statement:
    """Certifies a run at δ, with all that a signature needs.

    Raises:
      ValueError: There is no certificate for any of what was to be signed; the reason is the first.
    """
    validate.instance("run", run, Run)
    delta = validate.open_unit("delta", delta)
    certificates: list[tuple[str, Certificate]] = []
    refused: list[Cost] = []
    for reading in run.signed:
        try:
            certificates.append((reading.words, reading.certify(delta)))
        except (ValueError, dpa.UnsupportedEventError) as reason:
            if len(run.signed) == 1:
                raise
            refused.append(Cost(reading.words, None, str(reason)))
    if not certificates:
        raise ValueError(f"`run` must have a certificate: {refused[0].refusal}")
    first = certificates[0][1]
    accountant = FourierAccountant(first.neighboring_relation).compose(first.event)
    return Statement(
        title=validate.text("title", title),
        run=run,
        delta=delta,
        certificates=tuple(certificates),
        refused=tuple(refused),
        readings=tuple(_answer(reading, delta) for reading in run.others),
        checklist=checklist(first, delta=delta, data_size=run.data_size),
        meaning=Meaning.of(accountant, records=run.records, unit=first.unit),
        curve=tuple((one, *accountant.get_epsilon_bounds(one)) for one in _CURVE),
        notes=delta_notes(delta, run.data_size),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )


def delta_notes(delta: float, data_size: int | None) -> tuple[str, ...]:
    """What a reader should know of this δ.

    >>> delta_notes(1e-5, 60_000)
    ()
    """
    if data_size is None or delta * data_size < 1.0:
        return ()
    return (
        f"δ = {delta:g} is not below 1/{data_size:,}, one over the number of records: publishing "
        "one record at random would meet such a claim.",
    )


def _answer(reading: Reading, delta: float) -> Cost:
    try:
        return Cost(reading.words, reading.certify(delta).bounds(delta))
    except (ValueError, dpa.UnsupportedEventError) as reason:
        return Cost(reading.words, None, str(reason))


def _cost(one: Cost) -> dict[str, Any]:
    if one.bounds is None:
        return {"words": one.words, "refusal": one.refusal}
    upper = "inf" if one.bounds.upper == math.inf else one.bounds.upper
    return {"words": one.words, "lower": one.bounds.lower, "upper": upper}


def certificates_in(text: str) -> list[tuple[str, str]] | None:
    """The scopes and certificates in a statement's text; `None` if it is no statement.

    Raises:
      ValueError: It is a statement that was damaged or altered.
    """
    try:
        document = codec.read_json(text)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return None
    body = seals.unsealed(text, "`FILE`")
    if body.get("version") != VERSION or type(body["version"]) is not int:
        got = validate.shown(body.get("version"))
        raise ValueError(f"`version` must be {VERSION} of a statement, got {got}.")
    codec.expect_keys("statement", body, _FIELDS)
    found = []
    for entry in codec.expect(list, "certificates", body["certificates"]):
        codec.expect_keys(
            "certificates", codec.expect(dict, "certificates", entry), {"scope", "certificate"}
        )
        scope = codec.expect(str, "scope", entry["scope"])
        found.append((scope, json.dumps(codec.expect(dict, "certificate", entry["certificate"]))))
    if not found:
        raise ValueError("`certificates` must hold at least one, got none.")
    return found
