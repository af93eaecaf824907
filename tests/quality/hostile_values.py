"""Values that no honest caller hands in, each made afresh where it is used."""

import decimal
import fractions
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import dp_accounting as dpa
import numpy as np


class _Grumpy:
    """Answers every question about itself with an error of its own."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not telling")

    __repr__ = __str__ = __bool__ = __len__ = __iter__ = __float__ = __int__ = _refuse
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __array__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


def _fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError("not telling")


class _BiasedFloat(float):
    """A float that says yes to every comparison."""

    def __lt__(self, other: Any) -> bool:
        return True

    __le__ = __gt__ = __ge__ = __lt__  # type: ignore[assignment]


class _Disguised:
    """Says that it is a float."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return float


class _NoLength(list[Any]):
    def __len__(self) -> int:
        raise RuntimeError("no length")


def _nested(depth: int, innermost: Any) -> Any:
    value = innermost
    for _ in range(depth):
        value = [value]
    return value


def _itself() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def _generator() -> Iterator[float]:
    yield from (0.5, 0.25)


def _deep_event() -> dpa.DpEvent:
    event: dpa.DpEvent = dpa.GaussianDpEvent(2.0)
    for _ in range(5000):
        event = dpa.SelfComposedDpEvent(event, 1)
    return event


def _object_array() -> Any:
    return np.array([1.0, None, "x"], dtype=object)


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "numpy True": lambda: np.True_,
    "NaN": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "-0.0": lambda: -0.0,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1.5": lambda: 1.5,
    "subnormal": lambda: 5e-324,
    "tiny": lambda: 1e-300,
    "1e300": lambda: 1e300,
    "largest float": lambda: 1.7976931348623157e308,
    "2**53 + 1": lambda: 2**53 + 1,
    "2**63": lambda: 2**63,
    "10**12": lambda: 10**12,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "numpy NaN": lambda: np.float64("nan"),
    "numpy float32 inf": lambda: np.float32("inf"),
    "numpy int64 min": lambda: np.int64(-(2**63)),
    "numpy datetime": lambda: np.datetime64("2026-01-01"),
    "complex": lambda: 1.0 + 1.0j,
    "Decimal NaN": lambda: decimal.Decimal("sNaN"),
    "huge Fraction": lambda: fractions.Fraction(10**400, 3),
    "text": lambda: "nonsense",
    "number as text": lambda: "0.5",
    "empty text": lambda: "",
    "long text": lambda: "x" * 100_000,
    "lone surrogate": lambda: "\ud800",
    "bytes": lambda: b"0.5",
    "object": object,
    "grumpy object": _Grumpy,
    "biased float": lambda: _BiasedFloat(-3.0),
    "disguised object": _Disguised,
    "class": lambda: int,
    "function": lambda: lambda *_, **__: math.nan,
    "function that fails": lambda: _fails,
    "empty tuple": lambda: (),
    "empty list": lambda: [],
    "empty dict": lambda: {},
    "dict": lambda: {"a": 1},
    "set": lambda: {0.5},
    "tuple of text": lambda: ("a", "b"),
    "tuple of None": lambda: (None, None),
    "tuple with NaN": lambda: (math.nan, 0.5),
    "negative numbers": lambda: (-1, -2),
    "huge numbers": lambda: (10**400, 1),
    "list without length": lambda: _NoLength([1.0]),
    "deep list": lambda: _nested(5000, 1.0),
    "list of itself": _itself,
    "ragged list": lambda: [[1.0], [1.0, 2.0]],
    "range of 10**15": lambda: range(10**15),
    "generator": _generator,
    "endless iterator": itertools.count,
    "empty array": lambda: np.array([]),
    "0-d array": lambda: np.array(0.5),
    "array": lambda: np.array([0.5, 0.25]),
    "NaN array": lambda: np.array([math.nan, 0.5]),
    "huge array": lambda: np.full(4, 1e300),
    "integer array": lambda: np.array([2**62, -(2**62)]),
    "complex array": lambda: np.array([1.0 + 2.0j]),
    "text array": lambda: np.array(["a", "b"]),
    "object array": _object_array,
    "masked array": lambda: np.ma.masked_array([0.5, 0.25], mask=[True, False]),
    "structured array": lambda: np.zeros(2, dtype=[("a", float)]),
    "1000-axis-like array": lambda: np.zeros((1,) * 32),
    "event with NaN": lambda: dpa.GaussianDpEvent(math.nan),
    "event with text": lambda: dpa.GaussianDpEvent("x"),
    "event of nonsense": lambda: dpa.ComposedDpEvent([1, "a"]),
    "event -3 times": lambda: dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), -3),
    "event 10**400 times": lambda: dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 10**400),
    "event at rate 2": lambda: dpa.PoissonSampledDpEvent(2.0, dpa.GaussianDpEvent(2.0)),
    "event with too large a batch": lambda: dpa.SampledWithoutReplacementDpEvent(
        3, 10, dpa.GaussianDpEvent(2.0)
    ),
    "tiny noise": lambda: dpa.GaussianDpEvent(1e-300),
    "deep event": _deep_event,
    "unknown event": dpa.UnsupportedDpEvent,
    "generator of randomness": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
}
"""By name."""

NEVER_A_NUMBER = frozenset(
    {
        "None",
        "True",
        "numpy True",
        "NaN",
        "numpy NaN",
        "Decimal NaN",
        "complex",
        "text",
        "number as text",
        "empty text",
        "bytes",
        "object",
        "grumpy object",
        "disguised object",
        "class",
        "empty tuple",
        "empty list",
        "empty dict",
        "dict",
        "set",
        "tuple of text",
        "tuple of None",
        "tuple with NaN",
        "NaN array",
        "object array",
        "text array",
        "complex array",
        "generator",
        "generator of randomness",
    }
)
"""Accepted where a number is asked for, these are a fault."""
