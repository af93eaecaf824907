"""What the draws showed, as a record that can be stored and read again."""

import enum
import math
from dataclasses import asdict, dataclass
from typing import Any

from accountants import codec, validate

_FORMAT = "dp-assay/evidence"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Draws used, what they amount to, and how they were obtained.

    Attributes:
      method: How the evidence was found.
      samples: Draws per side (or trials) that the verdict rests on.
      drawn: Draws per side that were made; a block is drawn before it is looked at.
      log_e_value: The log of the largest wealth reached against the claim, `None` for fixed-sample
        methods. e^{−log_e_value} is a p-value at any stopping time.
      p_value: A valid p-value of the claim, or `None` if no claim was tested.
      epsilon_lower: Lower bound of ε at `delta`, at the same confidence; separately valid.
      delta: The δ of `epsilon_lower`.
      confidence: 1 − α.
      seed: The draws come from `SeedSequence(seed)`; `None` if they were handed in.
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
        if not isinstance(self.method, Method):
            raise TypeError(f"`method` must be a Method, got {self.method!r}.")
        validate.count("samples", self.samples, minimum=0)
        validate.open_unit("confidence", self.confidence)
        for name in ("epsilon_lower", "delta", "log_e_value", "p_value"):
            value = getattr(self, name)
            if value is not None and math.isnan(value):
                raise ValueError(f"`{name}` must be a number, got {value!r}.")

    def to_json(self) -> str:
        """JSON text; infinity is the string "inf"."""
        return codec.dump_document(_FORMAT, self.as_dictionary())

    def as_dictionary(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        body = asdict(self) | {"method": self.method.value}
        for name in ("epsilon_lower", "log_e_value", "p_value"):
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
        codec.expect_keys("evidence", body, set(cls.__dataclass_fields__))
        known = {method.value: method for method in Method}
        keywords = dict(body) | {
            "method": known[validate.one_of("method", body["method"], list(known))]
        }
        for name in ("epsilon_lower", "log_e_value", "p_value"):
            if keywords[name] is not None:
                keywords[name] = codec.decode_real(name, keywords[name])
        for name in ("wealth_path", "epsilon_path", "trade_off_points"):
            keywords[name] = tuple(tuple(codec.expect(list, name, row)) for row in keywords[name])
        keywords["assumptions"] = tuple(codec.expect(list, "assumptions", body["assumptions"]))
        return cls(**keywords)

    @classmethod
    def from_json(cls, text: str) -> "Evidence":
        """Reads what `to_json` wrote; refuses anything else with a `ValueError`."""
        return cls.from_dictionary(codec.load_document(_FORMAT, text))
