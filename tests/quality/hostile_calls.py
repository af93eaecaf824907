"""Hostile calls of everything public, and what became of each.

A case is a valid call in which one argument, or two, is exchanged for a hostile one; or a reader
with a document that was tampered with. A call may be accepted, or refused by `ValueError`,
`TypeError` or an error that the packages define; all else is a fault, and so is NaN in an answer, a
warning, and a number accepted that is none. Whether a refusal names the argument is counted apart.
"""

import dataclasses
import inspect
import json
import math
import random
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from dp_accounting import UnsupportedEventError
from hostile_subjects import CHECKS, OWN, RESULTS, Subject, subjects
from hostile_values import NEVER_A_NUMBER, VALUES

FAULTS = ("leak", "warning", "nan", "not a number", "numpy refused", "slow", "died")
AS_NUMPY = "valid, as a numpy scalar"
PACKAGES = ("accountants", "audits", "mechanisms", "pvi")
# NaN is handed through on purpose: outputs of mechanisms, and data that mechanisms must survive.
NAN_IS_MEANT = (
    "audits.candidate_pairs",
    "audits.Coordinate",
    "audits.Domain(special_values",
    "audits.QuadraticScore(atoms",  # common values of outputs
    "audits.Summary",
    "audits.LikelihoodRatio",
    "audits.LinearScore",
    "audits.Pair",
    "audits.repeat",
    "pvi.data.fill_missing",
    "pvi.data.Scaler.__call__",  # what is missing is filled in afterwards
    "pvi.SGD.step",  # what diverges is refused where it becomes a posterior
    "pvi.Adagrad.step",
    "pvi.Adam.step",
)
# Without a pair one is hunted for, which takes its half minute by design.
LEFT_OUT = ("audits.assert_private(pair=None",)
READERS = (
    "accountants.Certificate.from_json",
    "accountants.event_from_json",
    "audits.Claim.from_json",
    "audits.Evidence.from_json",
    "audits.Verdict.from_json",
    "mechanisms.Budget.from_json",
    "mechanisms.Experiment.from_json",
    "mechanisms.Experiment.from_toml",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One call: the subject's name, and by parameter the name of the hostile value."""

    subject: str
    changed: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.subject}({', '.join(f'{name}={label}' for name, label in self.changed)})"


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call; `named` is whether a refusal names the argument."""

    kind: str
    detail: str = ""
    named: bool = True

    @property
    def fault(self) -> bool:
        """Whether this must not happen."""
        return self.kind in FAULTS


def single_cases(known: Mapping[str, Subject]) -> list[Case]:
    """Each parameter of each subject with each hostile value."""
    found = []
    for name, subject in known.items():
        for parameter, maker in subject.parameters.items():
            labels = list(VALUES)
            if maker is not None and _is_number(maker()):
                labels.append(AS_NUMPY)
            found += [Case(name, ((parameter, label),)) for label in labels]
    return [case for case in found if not str(case).startswith(LEFT_OUT)]


def pair_cases(known: Mapping[str, Subject], count: int, seed: int) -> list[Case]:
    """Two arguments at once, drawn at random."""
    source = random.Random(seed)
    several = [name for name, subject in known.items() if len(subject.parameters) > 1]
    found = []
    for _ in range(count):
        name = source.choice(several)
        parameters = source.sample(sorted(known[name].parameters), 2)
        found.append(Case(name, tuple((p, source.choice(list(VALUES))) for p in parameters)))
    return found


def document_cases() -> list[Case]:
    """Each reader with each tampered document."""
    return [
        Case(reader, (("text", f"document: {label}"),))
        for reader in READERS
        for label in _documents(reader)
    ]


@cache
def _documents(reader: str) -> dict[str, str]:
    return dict(tampered(OWN[reader]["text"]()))


def tampered(text: str) -> Iterator[tuple[str, str]]:
    """Documents that resemble a valid one, by what was done to it."""
    yield "cut off", text[: len(text) // 2]
    yield "nothing", ""
    yield "null", "null"
    yield "a list", "[]"
    yield "deep lists", "[" * 100_000
    yield "deep objects", '{"a":' * 50_000
    yield "with a byte-order mark", "\ufeff" + text
    yield "huge number", '{"format": ' + "9" * 10_000 + "}"
    yield "huge exponent", '{"format": 1e999999999}'
    yield "lone surrogate", '{"format": "\\ud800"}'
    if not text.startswith("{"):
        for bad in ("nan", "inf", "1e400", "9" * 400, '"x"', "[]", "{}", "1979-05-27", "[[[[1]]]]"):
            lines = text.splitlines()
            for i, line in enumerate(lines):
                if " = " in line:
                    key = line.split(" = ")[0]
                    changed = [*lines[:i], f"{key} = {bad}", *lines[i + 1 :]]
                    yield f"line {i} is {bad[:12]}", "\n".join(changed)
        return
    yield "duplicate keys", text.replace('"format"', '"version": 1, "format"', 1)
    body = json.loads(text)
    places = list(_places(body))
    for place in places:
        for label, bad in _BAD_JSON.items():
            yield f"{_spelt(place)} is {label}", _dump(_replaced(body, place, bad))
        if isinstance(place[-1], str):
            yield f"{_spelt(place)} is gone", _dump(_without(body, place))
    yield "surplus key", _dump(body | {"surplus": 1})


def _raw(text: str) -> Any:
    return f"raw:{text}:war"


_BAD_JSON: dict[str, Any] = {
    "null": None,
    "true": True,
    "text": "nonsense",
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "NaN": _raw("NaN"),
    "Infinity": _raw("Infinity"),
    "1e400": _raw("1e400"),
    "-1e400": _raw("-1e400"),
    "400 nines": _raw("9" * 400),
    "5000 nines": _raw("9" * 5000),
    "inf as text": "inf",
    "empty list": [],
    "list": [1, 2],
    "list of lists": [[1, 2, 3]],
    "list of null": [None],
    "empty object": {},
    "object": {"a": 1},
    "object with a type": {"type": "GaussianDpEvent", "noise_multiplier": [1]},
    "deep list": _raw("[" * 500 + "]" * 500),
    "deep event": _raw(
        '{"type": "SelfComposedDpEvent", "count": 1, "event": ' * 200 + "1" + "}" * 200
    ),
}


def _dump(body: Any) -> str:
    return json.dumps(body).replace('"raw:', "").replace(':war"', "").replace('\\"', '"')


def _places(body: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = body.items() if isinstance(body, dict) else enumerate(body[:2])
    for key, value in items:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from _places(value, (*at, key))


def _spelt(place: tuple[Any, ...]) -> str:
    return ".".join(str(key) for key in place)


def _replaced(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy = dict(body) if isinstance(body, dict) else list(body)
    copy[place[0]] = _replaced(body[place[0]], place[1:], value)
    return copy


def _without(body: Any, place: tuple[Any, ...]) -> Any:
    copy = dict(body) if isinstance(body, dict) else list(body)
    if len(place) == 1:
        del copy[place[0]]
    else:
        copy[place[0]] = _without(body[place[0]], place[1:])
    return copy


def run(case: Case, known: Mapping[str, Subject]) -> Outcome:
    """Makes the call."""
    subject = known[case.subject]
    changed = {name: _value(subject, name, label) for name, label in case.changed}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = subject(changed)
            if hasattr(type(result), "to_json"):
                result.to_json()  # what was accepted can be written down
        except Exception as error:
            return _judge_error(case, error)
    return _judge_result(case, subject, result)


def _value(subject: Subject, name: str, label: str) -> Any:
    maker = subject.parameters[name]
    if label == AS_NUMPY:
        assert maker is not None
        value = maker()
        return np.int64(value) if isinstance(value, int) else np.float64(value)
    if label.startswith("document: "):
        wanted = label.removeprefix("document: ")
        return _documents(subject.name)[wanted]
    return VALUES[label]()


def _judge_error(case: Case, error: Exception) -> Outcome:
    try:
        message = str(error)
    except Exception as second:
        return Outcome("leak", f"{type(error).__name__}, whose message fails: {second!r}")
    detail = f"{type(error).__name__}: {message[:200]}"
    labels = [label for _, label in case.changed]
    if AS_NUMPY in labels and len(labels) == 1:
        return Outcome("numpy refused", detail)
    if isinstance(error, Warning):
        return Outcome("warning", detail)
    if "not telling" in message and "function that fails" in labels:
        return Outcome("handed on", detail)  # the caller's own error
    ours = type(error).__module__.partition(".")[0] in PACKAGES
    about_files = isinstance(error, OSError) and any(name == "path" for name, _ in case.changed)
    if not (ours or about_files or type(error) in (ValueError, TypeError, UnsupportedEventError)):
        return Outcome("leak", detail)
    if len(message) > 4000:
        return Outcome("leak", f"{type(error).__name__} of {len(message)} characters")
    named = about_files or any(name in message for name, _ in case.changed)
    named |= case.subject.startswith(CHECKS) and "`x`" in message
    if any(label.startswith("document: ") for label in labels):
        named = "`" in message
    return Outcome("refused", detail, named)


def _judge_result(case: Case, subject: Subject, result: Any) -> Outcome:
    if case.subject in RESULTS:
        return Outcome("accepted")
    if len(case.changed) == 1:
        ((name, label),) = case.changed
        maker = subject.parameters[name]
        none_is_meant = label == "None" and "None" in _annotation(subject, name)
        if (
            label in NEVER_A_NUMBER
            and not none_is_meant
            and maker is not None
            and _is_number(maker())
        ):
            return Outcome("not a number", f"{label} accepted")
    if not str(case).startswith(NAN_IS_MEANT) and _has_nan(result, 5):
        return Outcome("nan", repr(result)[:200])
    return Outcome("accepted")


def _annotation(subject: Subject, name: str) -> str:
    return str(inspect.signature(subject.call).parameters[name].annotation)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_nan(value: Any, depth: int) -> bool:
    if depth == 0 or value is None or isinstance(value, str | bytes | int):
        return False
    if issubclass(type(value), float):
        return math.isnan(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc" and bool(np.isnan(value).any())
    if isinstance(value, dict):
        return any(_has_nan(item, depth - 1) for item in value.values())
    if isinstance(value, tuple | list):
        return any(_has_nan(item, depth - 1) for item in value[:1000])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(
            _has_nan(getattr(value, field.name, None), depth - 1)
            for field in dataclasses.fields(value)
        )
    return False


class TooSlowError(Exception):
    """A call took longer than it may."""


def run_within(seconds: int, case: Case, known: Mapping[str, Subject]) -> Outcome:
    """`run`, ended by an alarm after so many seconds; for calls that come back to Python."""

    def ring(*_: Any) -> None:
        raise TooSlowError

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        outcome = run(case, known)
    except TooSlowError:
        return Outcome("slow", f"more than {seconds} s")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return Outcome("slow", outcome.detail) if "TooSlowError" in outcome.detail else outcome


def all_subjects() -> dict[str, Subject]:
    """Everything public."""
    return subjects()
