"""Is a certificate true? An independent check, in ball arithmetic; needs the extra `verify`.

This package imports nothing from the rest of `accountants`: it reads the certificate's JSON itself,
has formulas of its own, and every number is a ball (python-flint, Arb) that contains the truth. It
is what a stranger reads to trust a certificate: `pairs`, from event and relation to pairs of laws;
`exact`, δ(ε) where a finite formula exists; `contour` and `laws`, δ(ε) of sampled Gaussians and of
all that is composed with them.

Since δ(ε) falls, ε(δ) is in [ε_lower, ε_upper] if δ(ε_upper) ≤ δ and δ(ε_lower) ≥ δ. An upper end
holds if every dominating pair says so, a lower end if some explicit pair does; an upper end is
refuted by an explicit pair, a lower end by all dominating ones.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import arb

from accountants.verify.contour import Composition
from accountants.verify.pairs import RELATIONS, NotCoveredError, pairs

__all__ = ["NOT_COVERED", "REFUTED", "VERIFIED", "End", "Verification", "verify"]

VERIFIED, REFUTED, NOT_COVERED = "VERIFIED", "REFUTED", "NOT COVERED"
_GOALS = (-22.0, -34.0, -55.0)  # logs of radii relative to δ: more digits where they are needed


@dataclass(frozen=True, slots=True)
class End:
    """One end of one interval: what is said of ε at `delta`, and what is proved of δ(ε) there.

    Attributes:
      delta: The δ of the certificate.
      side: "lower" or "upper".
      epsilon: What the certificate says.
      word: VERIFIED, REFUTED or NOT COVERED.
      least, most: The true δ(ε) is proved to lie between them.
      reason: Why it is not covered.
    """

    delta: float
    side: str
    epsilon: float
    word: str
    least: float = 0.0
    most: float = 1.0
    reason: str = ""

    def __str__(self) -> str:
        sign, because = ">=" if self.side == "lower" else "<=", self.reason and f" ({self.reason})"
        text = f"delta {self.delta:g}: epsilon {sign} {self.epsilon!r}: {self.word}{because}"
        return f"{text}; delta({self.epsilon!r}) is in [{self.least!r}, {self.most!r}]"


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found at all ends."""

    ends: tuple[End, ...]

    @property
    def word(self) -> str:
        """REFUTED if any end is, else NOT COVERED if any end is, else VERIFIED."""
        words = {end.word for end in self.ends}
        return next((word for word in (REFUTED, NOT_COVERED) if word in words), VERIFIED)

    @property
    def exit_code(self) -> int:
        """0, 1 or 2: VERIFIED, REFUTED or NOT COVERED."""
        return (VERIFIED, REFUTED, NOT_COVERED).index(self.word)

    def __str__(self) -> str:
        return "\n".join([self.word, *map(str, self.ends)])


def verify(certificate: str) -> Verification:
    """Checks the JSON text of a certificate.

    Raises:
      ValueError: It is no certificate, or its checksum is another content's.
    """
    event, relation, points = _read(certificate)
    sides, reason = (list[Composition](), list[Composition]()), ""
    try:
        sides = pairs(event, relation)
    except NotCoveredError as error:
        reason = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"the event cannot be read, {error!r}"
    ends = []
    for delta, lower, upper in points:
        # Ends that are close together share a path.
        close = lower > 0.0 and upper < math.inf and upper - lower < 1e-3 * min(upper, 1.0)
        for side, epsilon in (("lower", lower), ("upper", upper)):
            if reason:
                ends.append(End(delta, side, epsilon, NOT_COVERED, reason=reason))
            else:
                asked = (lower, upper) if close else (epsilon,)
                ends.append(_end(sides, delta, side, epsilon, asked))
    return Verification(tuple(ends))


def _end(
    sides: tuple[list[Composition], list[Composition]],
    delta: float,
    side: str,
    epsilon: float,
    asked: tuple[float, ...],
) -> End:
    """The verdict on one end, with more digits until it is decided."""
    above = side == "lower"  # δ(ε) should be at least δ
    if epsilon in ((0.0,) if above else (math.inf,)):
        return End(delta, side, epsilon, VERIFIED)
    if epsilon == math.inf:
        return End(delta, side, epsilon, NOT_COVERED, reason="an infinite lower end")
    least, most, reason, word = arb(0), arb(1), "", NOT_COVERED
    for goal in _GOALS:
        explicit, dominating = (
            [_balls(pair, asked, delta, goal)[asked.index(epsilon)] for pair in side_pairs]
            for side_pairs in sides
        )
        least = max((ball.lower() for ball, _ in explicit), key=float)
        most = max((ball.upper() for ball, _ in dominating), key=float)
        reason = next((why for _, why in (*explicit, *dominating) if why), "")
        if least >= delta if above else most <= delta:
            word = VERIFIED
        elif most < delta if above else least > delta:
            word = REFUTED
        if word != NOT_COVERED or reason:
            break
    proved = math.nextafter(float(least), -1.0), math.nextafter(float(most), 2.0)
    reason = "" if word != NOT_COVERED else reason or "the proved interval does not decide"
    return End(delta, side, epsilon, word, max(0.0, proved[0]), min(1.0, proved[1]), reason)


@lru_cache(maxsize=64)
def _balls(
    pair: Composition, asked: tuple[float, ...], delta: float, goal: float
) -> list[tuple[arb, str]]:
    """For each ε (a ball for δ(ε), why it is no better)."""
    return pair.profile(asked, delta, goal)


def _read(text: str) -> tuple[Any, str, list[tuple[float, float, float]]]:
    """(event, relation, points), if the text is a certificate as it was written."""
    if not isinstance(text, str):
        raise TypeError(f"`certificate` must be JSON text, got {type(text).__name__}.")
    try:
        body = json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("`certificate` must be nested less deeply.") from None
    if not isinstance(body, dict) or body.get("format") != "dp-assay/certificate":
        raise ValueError("`certificate` must be a dp-assay/certificate in JSON.")
    seal = body.pop("sha256", None)
    plain = json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii")
    if (seal is not None or body.get("version") != 1) and seal != hashlib.sha256(plain).hexdigest():
        raise ValueError(
            "`certificate` must be as it was written: its sha256 is another content's."
        )
    if body.get("neighboring_relation") not in RELATIONS:
        raise ValueError(f"`neighboring_relation` must be one of {list(RELATIONS)}.")
    points = body.get("points") or [()]
    return body.get("event"), body["neighboring_relation"], [_point(point) for point in points]


def _point(point: Any) -> tuple[float, float, float]:
    real = isinstance(point, list) and not any(isinstance(value, bool) for value in point)
    try:
        delta, lower, upper = map(float, point if real else ())
        if 0 < delta < 1 and 0 <= lower <= upper:
            return delta, lower, upper
    except (OverflowError, TypeError, ValueError):
        pass
    raise ValueError(f"`points` must be triples (delta, lower, upper), got {point!r}.")


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(items)) < len(items):
        raise ValueError("`certificate` must name each key once.")
    return dict(items)
