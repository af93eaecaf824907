"""Events as JSON, through an allow-list.

dp-accounting can read a serialised event, but imports whatever module the data names. Here the
data may only name an event type of the table below; everything else is refused: other names,
missing or surplus fields, fields of another type, NaN, duplicate keys, nesting beyond any use.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attr
import dp_accounting as dpa
from dp_accounting import NeighboringRelation, dp_event

from accountants import validate
from accountants.sampling import SamplingKind, check_accounted

VERSION = 1
_MAX_DEPTH = 64
_T = TypeVar("_T")

_EVENT_TYPES: Mapping[str, type[dpa.DpEvent]] = {
    cls.__name__: cls
    for cls in (
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
        dp_event.SingleEpochTreeAggregationDpEvent,
        dp_event.TruncatedSubsampledGaussianDpEvent,
        dp_event.UnsupportedDpEvent,
        dp_event.ZCDpEvent,
    )
}


def expect(kind: type[_T], name: str, value: Any) -> _T:
    """`value` if it is of type `kind`; a `ValueError` that names it otherwise."""
    if not isinstance(value, kind):
        raise ValueError(f"`{name}` must be a {kind.__name__}, got {value!r}.")
    return value


def expect_keys(name: str, body: Mapping[str, Any], keys: set[str]) -> None:
    """Refuses a mapping whose keys are not exactly `keys`."""
    if set(body) != keys:
        raise ValueError(f"`{name}` must have the fields {sorted(keys)}, got {sorted(body)}.")


def encode_real(value: float) -> float | str:
    """A float, or "inf": JSON has no infinity."""
    return "inf" if math.isinf(value) and value > 0 else float(value)


def decode_real(name: str, value: Any) -> float:
    """What `encode_real` wrote."""
    return math.inf if value == "inf" else validate.real(name, value)


def decode_relation(value: Any) -> NeighboringRelation:
    """A `NeighboringRelation` by its name."""
    if not isinstance(value, str) or value not in NeighboringRelation.__members__:
        allowed = list(NeighboringRelation.__members__)
        raise ValueError(f"`neighboring_relation` must be one of {allowed}, got {value!r}.")
    return NeighboringRelation[value]


def encode_event(event: dpa.DpEvent) -> dict[str, Any]:
    """An event as JSON-ready dictionaries."""
    name = type(event).__name__
    if _EVENT_TYPES.get(name) is not type(event):
        raise ValueError(f"`event` must be one of {sorted(_EVENT_TYPES)}, got {type(event)!r}.")
    fields = attr.fields(type(event))
    return {"type": name} | {f.name: _encode_value(getattr(event, f.name)) for f in fields}


def _encode_value(value: Any) -> Any:
    if isinstance(value, dpa.DpEvent):
        return encode_event(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_encode_value(item) for item in value]
    number = float(value)
    if math.isnan(number):
        raise ValueError("`event` must not contain NaN.")
    return (
        int(value) if number.is_integer() and not isinstance(value, float) else encode_real(number)
    )


def decode_event(data: Any, *, _depth: int = 0) -> dpa.DpEvent:
    """The event that `encode_event` described.

    Raises:
      ValueError: The data is not such a description.
    """
    if _depth > _MAX_DEPTH:
        raise ValueError(f"`event` must be nested at most {_MAX_DEPTH} deep.")
    body = expect(dict, "event", data)
    name = body.get("type")
    if not isinstance(name, str) or name not in _EVENT_TYPES:
        raise ValueError(f"`type` must be one of {sorted(_EVENT_TYPES)}, got {name!r}.")
    cls = _EVENT_TYPES[name]
    fields = {f.name for f in attr.fields(cls)}
    expect_keys(name, body, fields | {"type"})
    return cls(**{key: _decode_value(key, body[key], _depth) for key in fields})


def _decode_value(key: str, value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return decode_event(value, _depth=depth + 1)
    if isinstance(value, list):
        return [_decode_value(key, item, depth + 1) for item in value]
    if key in ("event", "events"):
        raise ValueError(f"`{key}` must hold events, got {value!r}.")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return decode_real(key, value)


def dump_document(kind: str, body: Mapping[str, Any]) -> str:
    """JSON text with the format's name and version in front."""
    return json.dumps({"format": kind, "version": VERSION, **body}, allow_nan=False, indent=2)


def load_document(kind: str, text: str) -> dict[str, Any]:
    """The body of what `dump_document` wrote; `ValueError` for any other text."""

    def refuse_constant(constant: str) -> Any:
        raise ValueError(f"`{constant}` is not allowed in this JSON.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError(f"duplicate keys in {[key for key, _ in pairs]}.")
        return dict(pairs)

    try:
        body = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError(f"the JSON must be nested at most {_MAX_DEPTH} deep.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"`text` must be JSON, got: {error}.") from error
    return check_format(kind, body)


def check_format(kind: str, document: Any) -> dict[str, Any]:
    """A document's body without its format and version, which must be these."""
    body: dict[str, Any] = dict(expect(dict, "document", document))
    found = (body.pop("format", None), body.pop("version", None))
    if found != (kind, VERSION):
        raise ValueError(f"`format`, `version` must be {(kind, VERSION)}, got {found}.")
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


def event_from_opacus_history(
    history: Iterable[tuple[float, float, int]],
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
            if not math.isclose(batch, round(batch), abs_tol=1e-6):
                raise ValueError(f"`sample_rate` must be a whole batch of {size}, got {rate!r}.")
            return dpa.SampledWithoutReplacementDpEvent(size, round(batch), event)
    else:

        def sample(rate: float, event: dpa.DpEvent) -> dpa.DpEvent:
            if rate != 1.0:
                raise ValueError(f"`sample_rate` must be 1 where all records are in, got {rate!r}.")
            return event

    events: list[dpa.DpEvent] = []
    for noise_multiplier, sample_rate, steps in history:
        gaussian = dpa.GaussianDpEvent(validate.positive("noise_multiplier", noise_multiplier))
        sampled = sample(validate.rate("sample_rate", sample_rate), gaussian)
        events.append(dpa.SelfComposedDpEvent(sampled, validate.count("steps", steps)))
    return dpa.ComposedDpEvent(events)
