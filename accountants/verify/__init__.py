"""Is a certificate true? An independent check, in ball arithmetic; needs the extra `verify`.

This package imports nothing from the rest of `accountants`: it reads the certificate's JSON itself,
has formulas of its own, and every number is a ball (python-flint, Arb) that contains the truth. It
is what a stranger reads to trust a certificate: `pairs`, from event and relation to pairs of laws;
`exact`, δ(ε) where a finite formula exists; `contour` and `laws`, δ(ε) of sampled Gaussians.

Since δ(ε) falls, ε(δ) is in [ε_lower, ε_upper] if δ(ε_upper) ≤ δ and δ(ε_lower) ≥ δ. An upper end
holds if every dominating pair says so, a lower end if some explicit pair does; an upper end is
refuted by an explicit pair, a lower end by all dominating ones.
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flint import arb, ctx

from accountants.verify import exact
from accountants.verify.contour import Composition
from accountants.verify.pairs import PREC, RELATIONS, NotCoveredError, pairs

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
        sign, because = (
            (">=" if self.side == "lower" else "<="),
            f" ({self.reason})" * bool(self.reason),
        )
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
    try:
        (explicit, dominating), reason = pairs(event, relation), ""
    except NotCoveredError as error:
        reason = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"the event cannot be read, {error!r}"
    ends: list[End] = []
    for delta, lower, upper in points:
        sides = (("lower", lower), ("upper", upper))
        if reason:
            ends += [End(delta, side, e, NOT_COVERED, reason=reason) for side, e in sides]
        else:
            at = _Profile(delta, lower, upper)
            ends += [_end(explicit, dominating, side, epsilon, at) for side, epsilon in sides]
    return Verification(tuple(ends))


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
    points = []
    for point in body.get("points") or [()]:
        numbers = [math.inf if value == "inf" else value for value in point]
        real = all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
        if (
            not real
            or len(numbers) != 3
            or not 0 < numbers[0] < 1
            or not 0 <= numbers[1] <= numbers[2]
        ):
            raise ValueError(f"`points` must be triples (delta, lower, upper), got {point!r}.")
        points.append((numbers[0], numbers[1], numbers[2]))
    return body.get("event"), body["neighboring_relation"], points


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(items)) < len(items):
        raise ValueError("`certificate` must name each key once.")
    return dict(items)


class _Profile:
    """δ of pairs at both ends of one interval; ends that are close together share a path."""

    def __init__(self, delta: float, lower: float, upper: float) -> None:
        self.delta, self.ends, self._memory = delta, (lower, upper), dict[Any, tuple[arb, str]]()
        self._close = lower > 0.0 and upper < math.inf and upper - lower < 1e-3 * min(upper, 1.0)

    def __call__(self, pair: Composition, epsilon: float, goal: float) -> tuple[arb, str]:
        """(a ball for δ(ε), why it is no better)."""
        if (id(pair), epsilon, goal) not in self._memory:
            asked = self.ends if self._close else (epsilon,)
            for one, found in zip(asked, self._balls(pair, asked, goal), strict=True):
                self._memory[id(pair), one, goal] = found
        return self._memory[id(pair), epsilon, goal]

    def _balls(
        self, pair: Composition, asked: tuple[float, ...], goal: float
    ) -> list[tuple[arb, str]]:
        with ctx.workprec(PREC):
            epsilons = [arb(epsilon) for epsilon in asked]
            try:
                found = _profile(pair, epsilons, math.log(self.delta) + goal)
                return [(ball, "") for ball in found]
            except (exact.UndecidedError, OverflowError, ZeroDivisionError) as error:
                reason = str(error)
            bounds = [pair.chernoff(epsilon) for epsilon in epsilons]
            return [(b.union(arb(0)), "" if b < self.delta else reason) for b in bounds]


def _profile(pair: Composition, epsilons: list[arb], log_goal: float) -> list[arb]:
    """By a finite formula where there is one, else by the contour integral."""
    plain, top = not pair.mu_squared.is_zero(), pair.largest_loss()
    if all(top <= epsilon for epsilon in epsilons):
        return [arb(0) for _ in epsilons]
    if not pair.laws and not pair.discrete:
        return _each(epsilons, lambda e: exact.gaussian(pair.mu_squared, e))
    if not pair.laws and not plain:
        try:
            return _each(epsilons, lambda e: exact.atomic(pair.discrete, e))
        except exact.UndecidedError:
            pass
    once = not plain and not pair.discrete and [n for _, n in pair.laws] == [1]
    if once and len(pair.laws[0][0].shifts) == 2 and pair.laws[0][0].shifts[0].is_zero():
        law = pair.laws[0][0]
        rate, c = law.weights[1], law.shifts[1]
        return _each(epsilons, lambda e: exact.one_step(rate, c, law.kind, e))
    return pair.delta(epsilons, log_goal)


def _each(epsilons: list[arb], compute: Callable[[arb], arb]) -> list[arb]:
    return [exact.adaptive(partial(compute, epsilon)) for epsilon in epsilons]


def _end(
    explicit: list[Composition],
    dominating: list[Composition],
    side: str,
    epsilon: float,
    at: _Profile,
) -> End:
    """The verdict on one end, with more digits until it is decided."""
    delta, above = at.delta, side == "lower"  # above: δ(ε) should be at least δ
    if epsilon in ((0.0,) if above else (math.inf,)):
        return End(delta, side, epsilon, VERIFIED)
    if epsilon == math.inf:
        return End(delta, side, epsilon, NOT_COVERED, reason="an infinite lower end")
    least, most, reason, word = arb(0), arb(1), "", NOT_COVERED
    for goal in _GOALS:
        below = [at(pair, epsilon, goal) for pair in explicit]
        over = [at(pair, epsilon, goal) for pair in dominating]
        least = max((ball.lower() for ball, _ in below), key=float)
        most = max((ball.upper() for ball, _ in over), key=float)
        reason = next((why for _, why in (*below, *over) if why), "")
        if least >= delta if above else most <= delta:
            word = VERIFIED
        elif most < delta if above else least > delta:
            word = REFUTED
        if word != NOT_COVERED or reason:
            break
    proved = (
        max(0.0, math.nextafter(float(least), -1.0)),
        min(1.0, math.nextafter(float(most), 2.0)),
    )
    reason = "" if word != NOT_COVERED else reason or "the proved interval does not decide"
    return End(delta, side, epsilon, word, *proved, reason)
