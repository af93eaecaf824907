"""One event, every accountant: do the answers agree?

Ours and every peer that is installed account for the same event; each gives an interval, and no
upper bound may lie below another's lower bound. Where a peer is known to read an event in another
way, its row says so, and `consistent` is judged on all rows: a flagged row is a finding, not noise.
"""

import math
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
from absl import logging as absl_logging
from dp_accounting import NeighboringRelation, UnsupportedEventError

from accountants import elementary, releases, validate
from accountants.base import IntervalAccountant
from accountants.bounds import Bounds, BoundsError
from accountants.fourier import FourierAccountant
from accountants.moments import MomentsAccountant
from accountants.renyi import RenyiAccountant
from accountants.rounding import down, up

OURS: tuple[type[IntervalAccountant], ...] = (
    MomentsAccountant,
    RenyiAccountant,
    FourierAccountant,
)
# An upper bound may lie below a lower one by rounding alone, but by no more than this.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One accountant's answer.

    `lower` is 0.0 and `upper` inf where it gives none; `note` says what to know about it; `seconds`
    is one run, to compare within a table only; `ours` are proved.
    """

    accountant: str
    lower: float
    upper: float
    seconds: float
    note: str = ""
    ours: bool = False

    @property
    def answered(self) -> bool:
        """Whether there is a bound at all."""
        return self.upper < math.inf or self.lower > 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """The rows of a cross-check, and whether they can all be true."""

    event: dpa.DpEvent
    delta: float
    neighboring_relation: NeighboringRelation
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        validate.instance("event", self.event, dpa.DpEvent)
        validate.open_unit("delta", self.delta)
        validate.relation("neighboring_relation", self.neighboring_relation)
        validate.sequence("rows", self.rows, lambda name, row: validate.instance(name, row, Row))

    @property
    def best(self) -> Bounds:
        """The tightest bounds of *our* accountants, each of them proved."""
        ours = [row for row in self.rows if row.ours]
        return Bounds(max(row.lower for row in ours), min(row.upper for row in ours))

    @property
    def conflicts(self) -> tuple[tuple[str, str], ...]:
        """Pairs (a, b) where a's upper bound lies below b's lower bound: one of them is wrong."""
        return tuple(
            (low.accountant, high.accountant)
            for low in self.rows
            for high in self.rows
            if low.answered and high.answered and low.upper * (1 + _SLACK) + _SLACK < high.lower
        )

    @property
    def consistent(self) -> bool:
        """False if any upper bound lies below any lower bound."""
        return not self.conflicts

    def as_dictionary(self) -> dict[str, Any]:
        """The table as plain data for `json.dumps`; infinities become None."""
        return {
            "delta": self.delta,
            "relation": self.neighboring_relation.name,
            "consistent": self.consistent,
            "conflicts": [list(pair) for pair in self.conflicts],
            "accountants": [
                {
                    "name": row.accountant,
                    "lower": row.lower if row.answered and math.isfinite(row.lower) else None,
                    "upper": row.upper if math.isfinite(row.upper) else None,
                    "seconds": row.seconds,
                    "note": row.note,
                }
                for row in self.rows
            ],
        }

    def __str__(self) -> str:
        lines = [
            f"epsilon at delta={self.delta:g}, {self.neighboring_relation.name}",
            f"{'accountant':<24}{'lower':>14}{'upper':>14}{'ms':>10}  note",
        ]
        for row in self.rows:
            lower, upper = (down(row.lower, 8), up(row.upper, 8)) if row.answered else "--"
            bounds = f"{lower:>14}{upper:>14}"
            lines.append(
                f"{row.accountant:<24}{bounds}{1e3 * row.seconds:>10.2f}  {row.note}".rstrip()
            )
        for low, high in self.conflicts:
            lines.append(f"CONFLICT: the upper bound of {low} lies below the lower bound of {high}")
        lines.append(f"consistent: {self.consistent}")
        return "\n".join(lines)


def crosscheck(
    event: dpa.DpEvent,
    delta: float,
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    *,
    peers: bool = True,
) -> CrossCheck:
    """Accounts for `event` with every accountant of ours and every installed peer.

    A peer that fails or refuses gets a row that says why; it never stops the others. Some take
    minutes where there are a million steps; `peers=False` leaves them all out.

    >>> table = crosscheck(dpa.GaussianDpEvent(1.0), 1e-5, NeighboringRelation.REPLACE_ONE)
    >>> table.consistent  # dp-accounting's Rényi accountant forgets the factor 2
    False
    """
    validate.instance("event", event, dpa.DpEvent)
    delta = validate.open_unit("delta", delta)
    relation = validate.relation("relation", relation)
    rows = [
        _run(f"dp-assay {cls.method.split()[0]}", _ours(cls, event, delta, relation), ours=True)
        for cls in OURS
    ]
    if validate.flag("peers", peers):
        note = _rdp_note(event, relation)
        rows.append(_run("dp-accounting RDP", _rdp(event, delta, relation), note))
        rows.append(_run("dp-accounting PLD", _pld(event, delta, relation), _pld_note(event)))
        rows.append(_run("prv-accountant", _prv(event, delta, relation)))
    return CrossCheck(event=event, delta=delta, neighboring_relation=relation, rows=tuple(rows))


def _run(name: str, compute: Callable[[], Bounds], note: str = "", *, ours: bool = False) -> Row:
    start = time.perf_counter()
    bounds = Bounds(0.0, math.inf)
    try:
        with _quiet():
            bounds = compute()
    except BoundsError:
        if ours:
            raise
        note = "fails: not a number, or an upper end below the lower one"
    except (UnsupportedEventError, elementary.NotSupportedError) as reason:
        note = f"refuses: {_brief(str(reason))}"
    except ImportError:
        note = "not installed"
    except Exception as error:
        if ours:
            raise
        note = f"fails: {type(error).__name__}: {error}"
    return Row(
        accountant=name,
        lower=bounds.lower,
        upper=bounds.upper,
        seconds=time.perf_counter() - start,
        note=note,
        ours=ours,
    )


def _brief(message: str) -> str:
    """The reason alone, out of dp-accounting's sentence around it."""
    found = re.search(r"Error: \[(.*?)\.?\] caused by", message)
    return found.group(1) if found else message


@contextmanager
def _quiet() -> Iterator[None]:
    """Peers warn through the logger and `warnings`; the table has no use for it."""
    level = absl_logging.get_verbosity()
    absl_logging.set_verbosity(absl_logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        absl_logging.set_verbosity(level)


def _ours(
    cls: type[IntervalAccountant], event: dpa.DpEvent, delta: float, relation: NeighboringRelation
) -> Callable[[], Bounds]:
    return lambda: cls(neighboring_relation=relation).compose(event).get_epsilon_bounds(delta)


def _rdp(event: dpa.DpEvent, delta: float, relation: NeighboringRelation) -> Callable[[], Bounds]:
    def compute() -> Bounds:
        accountant = dpa.rdp.RdpAccountant(neighboring_relation=relation)
        return Bounds(0.0, float(accountant.compose(event).get_epsilon(delta)))

    return compute


def _pld(event: dpa.DpEvent, delta: float, relation: NeighboringRelation) -> Callable[[], Bounds]:
    def compute() -> Bounds:
        accountant = dpa.pld.PLDAccountant(neighboring_relation=relation)
        return Bounds(0.0, float(accountant.compose(event).get_epsilon(delta)))

    return compute


def _prv(event: dpa.DpEvent, delta: float, relation: NeighboringRelation) -> Callable[[], Bounds]:
    def compute() -> Bounds:
        import prv_accountant as prv

        if relation is NeighboringRelation.REPLACE_ONE:
            raise UnsupportedEventError("prv-accountant knows add or remove only")
        counts = RenyiAccountant(relation).compose(event).composition
        variables, repeats = [], []
        for release, count in counts.items():
            match release:
                case releases.Gaussian(mu):
                    variables.append(prv.GaussianMechanism(noise_multiplier=1.0 / mu))
                case releases.PoissonGaussian(rate, noise_multiplier):
                    variables.append(
                        prv.PoissonSubsampledGaussianMechanism(
                            sampling_probability=rate, noise_multiplier=noise_multiplier
                        )
                    )
                case releases.Laplace(scale):
                    variables.append(prv.LaplaceMechanism(mu=1.0 / scale))
                case _:
                    raise UnsupportedEventError(f"prv-accountant has no {type(release).__name__}")
            repeats.append(count)
        accountant = prv.PRVAccountant(
            prvs=variables, max_self_compositions=repeats, eps_error=0.01, delta_error=delta / 1000
        )
        lower, _, upper = accountant.compute_epsilon(delta, repeats)
        # Where δ allows more than total variation it reports a negative ε, which means zero.
        return Bounds(max(0.0, float(lower)), max(0.0, float(upper)))

    return compute


def _contains(event: dpa.DpEvent, *kinds: type[dpa.DpEvent]) -> bool:
    if isinstance(event, kinds):
        return True
    inner = [getattr(event, "event", None), *getattr(event, "events", ())]
    return any(child is not None and _contains(child, *kinds) for child in inner)


def _rdp_note(event: dpa.DpEvent, relation: NeighboringRelation) -> str:
    noisy = (dpa.GaussianDpEvent, dpa.LaplaceDpEvent)
    if relation is NeighboringRelation.REPLACE_ONE and _contains(event, *noisy):
        return "counts C, not 2C, under REPLACE_ONE: too small"
    return ""


def _pld_note(event: dpa.DpEvent) -> str:
    if _contains(event, dpa.RandomizedResponseDpEvent):
        return "counts repeated randomised response once: too small"
    return ""
