"""What the draws showed, as a record that can be stored and read again."""

import enum
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from accountants import codec, validate

_FORMAT = "dp-assay/evidence"
_LOGS = ("log_e_value", "log_largest_wealth")


class Method(enum.Enum):
    """How evidence is found; the value is the method in words, as it is stored and printed."""

    SEQUENTIAL_AUDIT = "sequential betting audit"
    SEQUENTIAL_BOUND = "sequential bound of ε"
    CLOPPER_PEARSON = "Clopper–Pearson with held-out threshold"
    GAUSSIAN_DP = "Gaussian-DP estimate"
    ONE_RUN = "one-run canary audit"
    WHITE_BOX = "white-box audit of the noise"

    @property
    def in_pairs(self) -> bool:
        """Whether outputs on two data sets were compared, rather than single trials counted."""
        return self not in (Method.ONE_RUN, Method.WHITE_BOX)

    @property
    def counted(self) -> str:
        """What a sample of this method consists of."""
        if self is Method.ONE_RUN:
            return "canaries"
        return "draws per side" if self.in_pairs else "draws of the noise"

    @property
    def untried(self) -> str:
        """What else could contradict a claim that this method did not."""
        if self is Method.ONE_RUN:
            return "Other canaries, more of them, or another score"
        if self is Method.WHITE_BOX:
            return "More draws, or a look at what the noise is added to,"
        return "Another pair of data sets, another statistic or more draws"


def _bound(name: str, value: Any) -> float:
    """A number from 0 to infinity."""
    infinite = isinstance(value, float) and value == math.inf
    return math.inf if infinite else validate.non_negative(name, value)


def _step(name: str, value: Any) -> tuple[int, float]:
    """A number of draws, and what was reached by then; wealth may be lost without end."""
    entries = _entries(name, value, 2)
    reached = entries[1]
    if not (isinstance(reached, float) and math.isinf(reached)):
        reached = validate.real(name, reached)
    return validate.count(name, entries[0], minimum=0), reached


def _counts(name: str, value: Any) -> tuple[int, int, int]:
    first, second, third = (
        validate.count(name, entry, minimum=0) for entry in _entries(name, value, 3)
    )
    return first, second, third


def _entries(name: str, value: Any, size: int) -> tuple[Any, ...]:
    entries: tuple[Any, ...] = validate.sequence(name, value)
    if len(entries) != size:
        raise validate.refusal(name, f"entries of {size} numbers", value)
    return entries


_LISTS: dict[str, Callable[[str, Any], Any]] = {
    "assumptions": validate.text,
    "wealth_path": _step,
    "epsilon_path": _step,
    "trade_off_points": _counts,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Draws used, what they amount to, and how they were obtained.

    Attributes:
      method: How the evidence was found.
      samples: Draws per side (or trials) that the verdict rests on.
      drawn: Draws per side that were made; a block is drawn before it is looked at.
      log_e_value: The log of the wealth against the claim when the audit stopped, an e-value: under
        a true claim its mean is at most 1. `None` for methods without one.
      log_largest_wealth: The log of the largest wealth on the way, no e-value: its mean has no
        bound. Under a true claim it reaches log(1/p) with probability at most p (Ville).
      p_value: A valid p-value of the claim, or `None` if no claim was tested; where there is a
        wealth, one over the largest.
      epsilon_lower: Lower bound of ε at `delta`, at the same confidence; separately valid.
      delta: The δ of `epsilon_lower`.
      confidence: 1 − α.
      seed: The seed that was given, on the command line or to the pytest plugin; else the number
        that the audit drew from its `rng`, so that `SeedSequence(seed)` gives the draws. `None` if
        they were handed in.
      pair: The neighbouring data sets in words.
      statistic: What was measured on the outputs.
      assumptions: What the evidence rests on beyond independent draws.
      wealth_path: (draws, log wealth), thinned.
      epsilon_path: (draws, lower bound of ε).
      trade_off_points: (type I error, type II error) on the draws, with the counts behind them:
        (false positives, first-side misses, draws).
    """

    method: Method
    samples: int
    confidence: float
    drawn: int = 0
    log_e_value: float | None = None
    log_largest_wealth: float | None = None
    p_value: float | None = None
    epsilon_lower: float = 0.0
    delta: float = 0.0
    seed: int | None = None
    pair: str = ""
    statistic: str = ""
    assumptions: tuple[str, ...] = ()
    wealth_path: tuple[tuple[int, float], ...] = ()
    epsilon_path: tuple[tuple[int, float], ...] = ()
    trade_off_points: tuple[tuple[int, int, int], ...] = ()

    def __post_init__(self) -> None:
        validate.instance("method", self.method, Method)
        for name in ("samples", "drawn"):
            validate.count(name, getattr(self, name), minimum=0)
        validate.open_unit("confidence", self.confidence)
        _bound("epsilon_lower", self.epsilon_lower)
        validate.closed_unit("delta", self.delta)
        infinite = type(self.log_e_value) is float and math.isinf(self.log_e_value)
        if self.log_e_value is not None and not infinite:
            validate.real("log_e_value", self.log_e_value)
        if self.log_largest_wealth is not None:
            _bound("log_largest_wealth", self.log_largest_wealth)
        if self.p_value is not None:
            validate.closed_unit("p_value", self.p_value)
        if self.seed is not None:
            validate.count("seed", self.seed, minimum=0, maximum=2**128)
        for name in ("pair", "statistic"):
            validate.text(name, getattr(self, name))
        for name, check in _LISTS.items():
            object.__setattr__(self, name, validate.sequence(name, getattr(self, name), check))

    def to_json(self) -> str:
        """JSON text; infinity is the string "inf"."""
        return codec.dump_document(_FORMAT, self.as_dictionary())

    def as_dictionary(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        body = asdict(self) | {"method": self.method.value}
        for name in ("epsilon_lower", *_LOGS, "p_value"):
            if body[name] is not None:
                body[name] = codec.encode_real(body[name])
        return {
            key: [list(item) if isinstance(item, tuple) else item for item in value]
            if isinstance(value, tuple)
            else value
            for key, value in body.items()
        }

    @classmethod
    def from_dictionary(cls, body: dict[str, Any]) -> "Evidence":
        """What `as_dictionary` made; a `ValueError` for anything else."""
        given: dict[str, Any] = codec.expect(dict, "body", body)
        body = {"log_largest_wealth": None} | given
        codec.expect_keys("evidence", body, set(cls.__dataclass_fields__))
        known = {method.value: method for method in Method}
        keywords = dict(body) | {
            "method": known[validate.one_of("method", body["method"], list(known))]
        }
        for name in ("epsilon_lower", *_LOGS, "p_value"):
            if keywords[name] is not None:
                keywords[name] = codec.decode_real(name, keywords[name])
        for name in _LISTS:
            codec.expect(list, name, body[name])
        return cls(**keywords)

    @classmethod
    def from_json(cls, text: str) -> "Evidence":
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        return cls.from_dictionary(codec.load_document(_FORMAT, text))
