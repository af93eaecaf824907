"""From the form's answers to the experiment's file, and what the page needs to ask them.

Fields that another choice makes pointless are hidden by the style sheet and left out of the file.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from audits.dashboard.fields import FIELDS, SCOPES, SECTIONS, Field


class FormError(ValueError):
    """A field holds no such thing; the message names it."""


def counts(field: Field, values: Mapping[str, str]) -> bool:
    """Whether the field says anything, by what is chosen elsewhere."""
    whens = field.when + next(one.when for one in SECTIONS if field in one.fields)
    return all(values.get(other, "") in allowed for other, allowed in whens)


def to_toml(values: Mapping[str, str]) -> str:
    """The experiment's file.

    Raises:
      FormError: A field holds no number where there must be one.
    """
    body: dict[str, Any] = {"format": "dp-assay/experiment", "version": 1}
    scopes: list[dict[str, Any]] = []
    for number in range(SCOPES):
        if values.get(f"scopes.{number}.relation"):
            scopes.append({})
            _fill(scopes[-1], values, f"scopes.{number}.")
    body["scopes"] = scopes
    _fill(body, values, "")
    return tomli_w.dumps(body)


def _fill(body: dict[str, Any], values: Mapping[str, str], prefix: str) -> None:
    for name, field in FIELDS.items():
        if name.startswith("scopes.") is not bool(prefix) or not name.startswith(prefix):
            continue
        text = values.get(name, "").strip()
        if not counts(field, values) or (field.optional and not text):
            continue
        if field.kind == "flag" and not text:
            continue
        *tables, last = name.removeprefix(prefix).split(".")
        place = body
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = _value(field, text)


def _value(field: Field, text: str) -> Any:
    match field.kind:
        case "number":
            return _number(field, text)
        case "count":
            return _count(field, text)
        case "numbers":
            return [_number(field, part) for part in _parts(text)]
        case "counts":
            return [_count(field, part) for part in _parts(text)]
        case "flag":
            return True
        case "choice" if text not in dict(field.choices):
            words = ", ".join(value for value, _ in field.choices)
            raise FormError(f"`{field.name}` must be one of {words}, got {text[:80]!r}.")
    return text


def _parts(text: str) -> Sequence[str]:
    return [part for part in text.replace(";", ",").split(",") if part.strip()]


def _number(field: Field, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormError(f"`{field.name}` must be a finite number, got {text[:80]!r}.")
    return value


def _count(field: Field, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise FormError(f"`{field.name}` must be a whole number, got {text[:80]!r}.") from None


def named_in(message: str, values: Mapping[str, str]) -> str | None:
    """The field that a refusal speaks of, if it names one that counts."""
    for name, field in FIELDS.items():
        if f"`{name}`" in message:
            return name
        if f"`{name.split('.')[-1]}`" in message and counts(field, values):
            return name
    return None


def hiding_rules() -> str:
    """Style rules by which a choice hides the fields that it makes pointless."""
    rules = []
    whens = {w for f in FIELDS.values() for w in f.when} | {w for s in SECTIONS for w in s.when}
    for other, allowed in sorted(whens):
        mark = condition(other, allowed)
        for value, _ in FIELDS[other].choices:
            if value not in allowed:
                chosen = f'[name="{other}"] option[value="{value}"]:checked'
                rules.append(f'form:has({chosen}) [data-when~="{mark}"] {{ display: none; }}')
    return "\n".join(rules)


def condition(other: str, allowed: Sequence[str]) -> str:
    """A condition as one word.

    >>> condition("model.kind", ["a", "b"])
    'model.kind=a|b'
    """
    return f"{other}={'|'.join(allowed)}"
