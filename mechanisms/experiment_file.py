"""Experiments as TOML or JSON, through an allow-list.

A file may name only what stands in `KINDS`, each in its role; nothing is imported by name. Fields
that have their default are left out. Every value validates itself when it is made, so a file can
say nothing that code could not say, and what it says wrongly is refused with the field's name.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import tomli_w

from accountants import codec, validate
from mechanisms.central_noise import CentralNoise
from mechanisms.dp_optimisation import DPOptimisation
from mechanisms.fedavg import FedAvgPerturbation
from mechanisms.guarded import GuardedSolver
from mechanisms.local_averaging import LocalAveraging
from mechanisms.noise_splitting import NoiseSplitting
from mechanisms.parameter_perturbation import ParameterPerturbation
from mechanisms.primitives.adaptive_clipping import AdaptiveClip
from mechanisms.primitives.clipping import FlatClip, LayerClip
from mechanisms.primitives.noise import NoNoise, ReleaseNoise, SimulationNoise
from mechanisms.primitives.sampling import AllRecords, BallsInBins, FixedSize, Poisson, Shuffled
from mechanisms.prior import Prior
from mechanisms.scope import Scope, View
from mechanisms.virtual_clients import VirtualClients
from pvi import (
    SGD,
    Adagrad,
    Adam,
    Asynchronous,
    ExactSolver,
    GradientSolver,
    LinearRegression,
    LogisticRegression,
    Sequential,
    StackedSolver,
    Synchronous,
)

if TYPE_CHECKING:
    from mechanisms.experiment import Experiment

_FORMAT = "dp-assay/experiment"
_MAX_DEPTH = 6
_T = TypeVar("_T")

KINDS: Mapping[str, Mapping[str, type[Any]]] = {
    "mechanism": {
        "dp_optimisation": DPOptimisation,
        "parameter_perturbation": ParameterPerturbation,
        "local_averaging": LocalAveraging,
        "virtual_clients": VirtualClients,
        "central_noise": CentralNoise,
        "federated_averaging": FedAvgPerturbation,
        "noise_splitting": NoiseSplitting,
    },
    "model": {"linear_regression": LinearRegression, "logistic_regression": LogisticRegression},
    "prior": {"normal": Prior},
    "solver": {
        "exact": ExactSolver,
        "gradient": GradientSolver,
        "stacked": StackedSolver,
        "guarded": GuardedSolver,
    },
    "schedule": {
        "synchronous": Synchronous,
        "sequential": Sequential,
        "asynchronous": Asynchronous,
    },
    "rule": {"sgd": SGD, "adagrad": Adagrad, "adam": Adam},
    "sampling": {
        "all": AllRecords,
        "poisson": Poisson,
        "fixed_size": FixedSize,
        "shuffled": Shuffled,
        "balls_in_bins": BallsInBins,
    },
    "noise": {"simulation": SimulationNoise, "release": ReleaseNoise, "none": NoNoise},
    "clip_norm": {"flat": FlatClip, "layers": LayerClip, "adaptive": AdaptiveClip},
}
"""By role, which is also the field's name, the words that a file may use and what they mean."""

_NUMBER_OR_TABLE = {"clip_norm"}


def to_json(experiment: "Experiment") -> str:
    """The experiment as versioned JSON text."""
    return codec.dump_document(_FORMAT, _encode_fields(experiment))


def to_toml(experiment: "Experiment") -> str:
    """The experiment as TOML text."""
    return tomli_w.dumps({"format": _FORMAT, "version": codec.VERSION} | _encode_fields(experiment))


def from_json(cls: "type[Experiment]", text: str) -> "Experiment":
    """What `to_json` wrote; `ValueError` for anything else."""
    return _decode_instance("experiment", cls, codec.load_document(_FORMAT, text), 0)


def from_toml(cls: "type[Experiment]", text: str) -> "Experiment":
    """The experiment in a TOML text; `ValueError` for anything else."""
    try:
        body = codec.check_values("text", tomllib.loads(validate.text("text", text)))
    except RecursionError:
        raise codec.too_deep("text") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"`text` must be TOML, got: {error}.") from error
    return _decode_instance("experiment", cls, codec.check_format(_FORMAT, body), 0)


def _encode_fields(value: Any) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    found = {}
    for field in dataclasses.fields(value):
        own = getattr(value, field.name)
        if not field.init or own is None or _is_default(field, own):
            continue
        found[field.name] = _encode(field.name, own)
    return found


def _is_default(field: "dataclasses.Field[Any]", value: Any) -> bool:
    if field.default_factory is not dataclasses.MISSING:
        return bool(value == field.default_factory())
    return field.default is not dataclasses.MISSING and bool(value == field.default)


def _encode(role: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Scope):
        return {
            "relation": value.relation.name,
            "unit": value.unit,
            "view": value.view.kind,
        } | ({"colluders": value.view.colluders} if value.view.colluders else {})
    if isinstance(value, tuple | list):
        return [_encode(role, item) for item in value]
    for word, kind in KINDS.get(role, {}).items():
        if type(value) is kind:
            return {"kind": word} | _encode_fields(value)
    raise ValueError(
        f"`{role}` must be a number, a text or one of {sorted(KINDS.get(role, ()))} to be written "
        f"to a file, got {validate.shown(value)}."
    )


def _decode(role: str, value: Any, depth: int) -> Any:
    if role == "scopes":
        return tuple(_decode_scope(item) for item in codec.expect(list, role, value))
    if isinstance(value, dict) or (role in KINDS and role not in _NUMBER_OR_TABLE):
        return _decode_kind(role, value, depth)
    if isinstance(value, list):
        return tuple(_decode(role, item, depth) for item in value)
    if isinstance(value, bool | int | float | str):
        return value
    raise validate.refusal(role, "a number, a text, a list or a table", value)


def _decode_kind(role: str, value: Any, depth: int) -> Any:
    if role not in KINDS:
        raise ValueError(f"`{role}` must not be a table, got {validate.shown(value)}.")
    body = dict(codec.expect(dict, role, value))
    word = body.pop("kind", "normal" if role == "prior" else None)
    if not isinstance(word, str) or word not in KINDS[role]:
        got = validate.shown(word)
        raise ValueError(f"`kind` of `{role}` must be one of {sorted(KINDS[role])}, got {got}.")
    return _decode_instance(f"{role} ({word})", KINDS[role][word], body, depth + 1)


def _decode_instance(what: str, kind: type[_T], body: Mapping[str, Any], depth: int) -> _T:
    """An instance of a dataclass from its fields, all of them known and none missing."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"{what} must be nested at most {_MAX_DEPTH} deep.")
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    unknown = sorted(set(body) - set(fields))
    if unknown:
        raise ValueError(f"{what} must have no fields but {sorted(fields)}, got {unknown}.")
    required = {name for name, field in fields.items() if _is_required(field)}
    missing = sorted(required - set(body))
    if missing:
        raise ValueError(f"{what} must have the fields {sorted(required)}, {missing} are missing.")
    values = {name: _decode(name, value, depth) for name, value in body.items()}
    for name, value in values.items():
        if fields[name].type is bool and not isinstance(value, bool):
            raise validate.refusal(name, "true or false", value)
    return kind(**values)


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _decode_scope(value: Any) -> Scope:
    body = codec.expect(dict, "scopes", value)
    unknown = sorted(set(body) - {"relation", "unit", "view", "colluders"})
    if unknown:
        raise ValueError(f"`scopes` must have relation, unit, view and colluders, got {unknown}.")
    defaults = Scope()
    return Scope(
        relation=codec.decode_relation(body.get("relation", defaults.relation.name)),
        unit=body.get("unit", defaults.unit),
        view=View(body.get("view", "messages"), body.get("colluders", 0)),
    )
