"""The one strict reader of JSON, and events through an allow-list.

`read_json` refuses what Python's own reader lets pass: duplicate keys, NaN and infinities, numbers
beyond floats, nesting beyond any use. dp-accounting can read a serialised event, but imports
whatever module the data names. Here the data may only name an event type of the table below;
everything else is refused: other names, missing or surplus fields, fields of another type.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attr
import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation, dp_event

from accountants import validate
from accountants.events import (
    BallsInBinsDpEvent,
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    PermuteAndFlipDpEvent,
    ShuffledDpEvent,
    UserDpEvent,
)
from accountants.sampling import SamplingKind, check_accounted

VERSION = 1
_MAX_DEPTH = 64
_LONGEST_TEXT = 2**26
_LARGEST_INTEGER = int(sys.float_info.max)
_T = TypeVar("_T")

_EVENT_TYPES: Mapping[str, type[dpa.DpEvent]] = {
    cls.__name__: cls
    for cls in (
        BallsInBinsDpEvent,
        DiscreteGaussianDpEvent,
        EpsilonDeltaDpEvent,
        ExponentialMechanismDpEvent,
        PermuteAndFlipDpEvent,
        dp_event.ComposedDpEvent,
        dp_event.DiscreteLaplaceDpEvent,
        dp_event.GaussianDpEvent,
        dp_event.LaplaceDpEvent,
        dp_event.MixtureOfGaussiansDpEvent,
        dp_event.NoOpDpEvent,
        dp_event.NonPrivateDpEvent,
        dp_event.PoissonSampledDpEvent,
        dp_event.RandomizedResponseDpEvent,
        dp_event.RepeatAndSelectDpEvent,
        dp_event.SampledWithReplacementDpEvent,
        dp_event.SampledWithoutReplacementDpEvent,
        dp_event.SelfComposedDpEvent,
        ShuffledDpEvent,
        UserDpEvent,
        dp_event.SingleEpochTreeAggregationDpEvent,
        dp_event.TruncatedSubsampledGaussianDpEvent,
        dp_event.UnsupportedDpEvent,
        dp_event.ZCDpEvent,
    )
}


def expect(kind: type[_T], name: str, value: Any) -> _T:
    """`value` if it is of type `kind`; a `ValueError` that names it otherwise."""
    if not isinstance(value, kind):
        raise validate.refusal(name, f"a {kind.__name__}", value)
    return value


def expect_keys(name: str, body: Mapping[str, Any], keys: set[str]) -> None:
    """Refuses a mapping whose keys are not exactly `keys`."""
    if set(body) != keys:
        got = validate.shown(sorted(map(str, body)))
        raise ValueError(f"`{name}` must have the fields {sorted(keys)}, got {got}.")


def encode_real(value: float) -> float | str:
    """A float, or "inf": JSON has no infinity."""
    return (
        "inf" if isinstance(value, float) and value == math.inf else validate.real("value", value)
    )


def decode_real(name: str, value: Any) -> float:
    """What `encode_real` wrote."""
    if isinstance(value, str) and value == "inf":
        return math.inf
    return validate.real(name, value)


def decode_relation(value: Any) -> NeighboringRelation:
    """A `NeighboringRelation` by its name."""
    known = list(NeighboringRelation.__members__)
    return NeighboringRelation[validate.one_of("neighboring_relation", value, known)]


def encode_event(event: dpa.DpEvent, *, _depth: int = 0) -> dict[str, Any]:
    """An event as JSON-ready dictionaries."""
    name = type(event).__name__
    if _EVENT_TYPES.get(name) is not type(event):
        raise ValueError(f"`event` must be one of {sorted(_EVENT_TYPES)}, got {type(event)!r}.")
    _check_depth(_depth)
    fields = attr.fields(type(event))
    return {"type": name} | {
        f.name: _encode_value(f.name, getattr(event, f.name), _depth) for f in fields
    }


def _check_depth(depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError(f"`event` must be nested at most {_MAX_DEPTH} deep.")


def _encode_value(name: str, value: Any, depth: int) -> Any:
    if isinstance(value, dpa.DpEvent):
        return encode_event(value, _depth=depth + 1)
    if isinstance(value, list | tuple | np.ndarray):
        _check_depth(depth + 1)
        return [_encode_value(name, item, depth + 1) for item in value]
    if isinstance(value, float) and value == math.inf:
        return "inf"
    number = validate.real(name, value)
    return number if isinstance(value, float) or not number.is_integer() else int(value)


def decode_event(data: Any, *, _depth: int = 0) -> dpa.DpEvent:
    """The event that `encode_event` described.

    Raises:
      ValueError: The data is not such a description.
    """
    _check_depth(_depth)
    body = expect(dict, "event", data)
    name = validate.one_of("type", body.get("type"), sorted(_EVENT_TYPES))
    cls = _EVENT_TYPES[name]
    fields = {f.name for f in attr.fields(cls)}
    expect_keys(name, body, fields | {"type"})
    return cls(**{key: _decode_value(key, body[key], _depth) for key in fields})


def _decode_value(key: str, value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return decode_event(value, _depth=depth + 1)
    if isinstance(value, list):
        _check_depth(depth + 1)
        return [_decode_value(key, item, depth + 1) for item in value]
    if key in ("event", "events"):
        raise ValueError(f"`{key}` must hold events, got {validate.shown(value)}.")
    number = decode_real(key, value)
    return value if isinstance(value, int) else number


def dump_document(kind: str, body: Mapping[str, Any]) -> str:
    """JSON text with the format's name and version in front; numpy's numbers become plain ones."""
    document = {
        "format": validate.text("kind", kind),
        "version": VERSION,
        **validate.mapping("body", body),
    }
    return json.dumps(document, allow_nan=False, indent=2, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"`body` must hold what JSON can say, got {validate.shown(value)}.")


def read_json(text: str) -> Any:
    """What a JSON text says, read strictly.

    Refused, each with a `ValueError`: a key that comes twice, NaN and infinities, numbers that no
    float reaches, nesting beyond 64 levels, more than 64 million characters.

    >>> read_json('{"delta": 1e-5, "delta": 0.1}')
    Traceback (most recent call last):
    ValueError: `text` must name each key once, got 'delta' again.
    """
    if len(validate.text("text", text)) > _LONGEST_TEXT:
        raise ValueError(f"`text` must be at most {_LONGEST_TEXT} characters, got {len(text)}.")
    try:
        return check_values("text", json.loads(text, object_pairs_hook=_unique, parse_int=_integer))
    except RecursionError:
        raise too_deep("text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"`text` must be JSON, got: {error}.") from error


def _integer(word: str) -> int:
    try:
        return int(word)
    except ValueError:  # more digits than Python converts
        got = validate.shown(word)
        raise ValueError(f"`text` must hold numbers that floats can reach, got {got}.") from None


def check_values(name: str, value: _T) -> _T:
    """What a text says, if it is not nested too deep and all its numbers are finite floats."""
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict | list):
                inner.extend(item.values() if isinstance(item, dict) else item)
            elif isinstance(item, float) and not math.isfinite(item):
                raise ValueError(f"`{name}` must hold finite numbers only, got {item!r}.")
            elif isinstance(item, int) and abs(item) > _LARGEST_INTEGER:
                got = validate.shown(item)
                raise ValueError(f"`{name}` must hold numbers that floats can reach, got {got}.")
        if not inner:
            return value
        level = inner
    raise too_deep(name)


def too_deep(name: str) -> ValueError:
    """The refusal of what is nested beyond any use."""
    return ValueError(f"`{name}` must be nested at most {_MAX_DEPTH} deep.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"`text` must name each key once, got {validate.shown(key)} again.")
        found[key] = value
    return found


def load_document(kind: str, text: str) -> dict[str, Any]:
    """The body of what `dump_document` wrote; `ValueError` for any other text."""
    return check_format(kind, read_json(text))


def check_format(kind: str, document: Any) -> dict[str, Any]:
    """A document's body without its format and version, which must be these."""
    body: dict[str, Any] = dict(expect(dict, "document", document))
    found = (body.pop("format", None), body.pop("version", None))
    wanted = (validate.text("kind", kind)[:100], VERSION)
    if not all(
        type(got) is type(one) and got == one for got, one in zip(found, wanted, strict=True)
    ):
        got = validate.shown(found)
        raise ValueError(f"`format`, `version` must be {wanted}, got {got}.")
    return body


def event_to_json(event: dpa.DpEvent) -> str:
    """An event as versioned JSON text.

    >>> event_from_json(event_to_json(dpa.GaussianDpEvent(1.5)))
    GaussianDpEvent(noise_multiplier=1.5)
    """
    return dump_document("dp-assay/event", {"event": encode_event(event)})


def event_from_json(text: str) -> dpa.DpEvent:
    """The event that `event_to_json` wrote; `ValueError` for anything else."""
    body = load_document("dp-assay/event", text)
    expect_keys("document", body, {"event"})
    return decode_event(body["event"])


def _triple(name: str, value: Any) -> tuple[Any, Any, Any]:
    entry: tuple[Any, ...] = validate.sequence(name, value)
    if len(entry) != 3:
        raise validate.refusal(name, "triples (noise_multiplier, sample_rate, steps)", value)
    return entry


def event_from_opacus_history(
    history: Sequence[tuple[float, float, int]],
    *,
    sampling: SamplingKind,
    dataset_size: int | None = None,
) -> dpa.DpEvent:
    """The event of an Opacus accountant's `history`: triples (σ, q, steps).

    Opacus records neither how batches were drawn nor which relation is meant; the caller must say
    the first here and the second to the accountant.

    Args:
      history: (noise_multiplier, sample_rate, steps) in the order of training.
      sampling: "poisson" if every record joined a batch independently, "fixed_size" if batches
        were drawn without replacement for each step (a plain shuffling loader is neither).
      dataset_size: Number of records, needed for "fixed_size".

    >>> event_from_opacus_history([(1.0, 0.01, 100)], sampling="poisson").events[0].count
    100
    """
    sample: Callable[[float, dpa.DpEvent], dpa.DpEvent]
    kind = check_accounted("sampling", sampling)
    if kind == "poisson":
        sample = dpa.PoissonSampledDpEvent
    elif kind == "fixed_size":
        if dataset_size is None:
            raise ValueError("`dataset_size` must be given for batches of fixed size.")
        size = validate.count("dataset_size", dataset_size)

        def sample(rate: float, event: dpa.DpEvent) -> dpa.DpEvent:
            batch = rate * size
            if round(batch) < 1 or not math.isclose(batch, round(batch), abs_tol=1e-6):
                raise ValueError(f"`sample_rate` must be a whole batch of {size}, got {rate!r}.")
            return dpa.SampledWithoutReplacementDpEvent(size, round(batch), event)
    else:

        def sample(rate: float, event: dpa.DpEvent) -> dpa.DpEvent:
            if rate != 1.0:
                raise ValueError(f"`sample_rate` must be 1 where all records are in, got {rate!r}.")
            return event

    events: list[dpa.DpEvent] = []
    for entry in validate.sequence("history", history, _triple):
        noise_multiplier, sample_rate, steps = entry
        gaussian = dpa.GaussianDpEvent(validate.positive("noise_multiplier", noise_multiplier))
        sampled = sample(validate.rate("sample_rate", sample_rate), gaussian)
        events.append(dpa.SelfComposedDpEvent(sampled, validate.count("steps", steps)))
    return dpa.ComposedDpEvent(events)
