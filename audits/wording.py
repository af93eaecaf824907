"""Numbers and terms as people read them; a rounded bound stays a bound."""

import math
import re
import textwrap
from collections.abc import Iterable

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants.rounding import DIGITS, down, interval, up

__all__ = [
    "DIGITS",
    "PAPERS",
    "RELATIONS",
    "about",
    "down",
    "duration",
    "event_words",
    "finite",
    "interval",
    "odds",
    "once_in",
    "sampling_words",
    "up",
    "wrapped",
]

RELATIONS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "one record added or removed",
    NeighboringRelation.REPLACE_ONE: "one record replaced",
    NeighboringRelation.REPLACE_SPECIAL: "one record zeroed out",
}
"""How neighbouring data sets differ."""
PAPERS = {
    "Workshop": "Differentially Private Federated Variational Inference (workshop paper, 2019)",
    "Thesis": "Distributed Variational Inference and Privacy (MPhil thesis, Cambridge, 2019)",
    "TMLR": "Differentially private partitioned variational inference (submission to TMLR)",
    "TUM": "Federated Learning: Collaborative Machine Learning without Centralized Training Data "
    "(project report, TU München, 2018)",
}
"""The papers of the ledger, by the names that it has for them."""


def event_words(event: dpa.DpEvent) -> str:
    """An event in a few words; parameters to six digits. Rare events are left as they print.

    >>> step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0))
    >>> event_words(dpa.SelfComposedDpEvent(step, 1000))
    '1000 × (Gaussian σ = 1 on Poisson batches, q = 0.01)'
    >>> event_words(dpa.ComposedDpEvent([dpa.GaussianDpEvent(2.0), dpa.LaplaceDpEvent(1.5)]))
    'Gaussian σ = 2 and Laplace b = 1.5'
    """
    match event:
        case dpa.GaussianDpEvent():
            return f"Gaussian σ = {event.noise_multiplier:g}"
        case dpa.LaplaceDpEvent():
            return f"Laplace b = {event.noise_multiplier:g}"
        case dpa.PoissonSampledDpEvent():
            rate = f"q = {event.sampling_probability:g}"
            return f"{event_words(event.event)} on Poisson batches, {rate}"
        case dpa.SampledWithoutReplacementDpEvent():
            size = f"{event.sample_size} of {event.source_dataset_size}"
            return f"{event_words(event.event)} on fixed-size batches, {size}"
        case dpa.SelfComposedDpEvent():
            single = event_words(event.event)
            plain = isinstance(event.event, dpa.GaussianDpEvent | dpa.LaplaceDpEvent)
            return f"{event.count} × {single if plain else f'({single})'}"
        case dpa.ComposedDpEvent():
            return " and ".join(event_words(part) for part in event.events)
    return str(event)


def sampling_words(kind: str) -> str:
    """A sampling as a term in a sentence.

    >>> sampling_words("fixed_size"), sampling_words("poisson"), sampling_words("all")
    ('fixed-size sampling', 'Poisson sampling', 'no sampling')
    """
    words = kind.replace("_", "-").replace("poisson", "Poisson")
    return "no sampling" if kind == "all" else f"{words} sampling"


_WIDTH = 80


def wrapped(lines: Iterable[str]) -> list[str]:
    """Lines that fit a terminal; what is broken goes on under its text.

    >>> wrapped(["  - " + "word " * 16])[1]
    '    word'
    """
    found = []
    for line in lines:
        if len(line) <= _WIDTH:
            found.append(line)
            continue
        margin = re.match(r" *(- )?", line)[0]  # type: ignore[index]
        broken = textwrap.wrap(
            line[len(margin) :],
            _WIDTH,
            initial_indent=margin,
            subsequent_indent=" " * len(margin),
            break_long_words=False,
            break_on_hyphens=False,
        )
        found += broken
    return found


_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def odds(log_e_value: float) -> str:
    """Odds against a claim, from the log of an e-value; rounded downwards.

    An e-value E is what one unit has become that was bet against the claim at prices that are fair
    if the claim is true: a net gain of E − 1 for a stake of 1. So "99 to 1" is E = 100, and an
    event that a true claim allows with probability at most 1/100, whose own odds are 99 to 1.

    It must be an e-value, E[E] ≤ 1 under the claim: the wealth at the moment at which an audit
    stopped is one (optional stopping), whereas the largest wealth on the way is none, since its
    mean has no bound. At a refutation the two are the same: the audit stops where it is largest.

    >>> odds(4.805), odds(45.0), odds(-0.1)
    ('121 to 1', 'more than a trillion to 1', 'less than 1 to 1')
    """
    gain = math.expm1(min(log_e_value, 700.0))
    for least, word in _LARGE:
        if gain >= least:
            return f"more than a {word} to 1"
    return "less than 1 to 1" if gain < 1.0 else f"{_cut(gain):,} to 1"


def once_in(probability: float) -> str:
    """A small probability as "once in …", rounded to the side of the more likely.

    >>> once_in(0.0003), once_in(1e-20)
    ('once in 3,330', 'once in more than a trillion')
    """
    times = 1.0 / max(probability, 1e-300)
    for least, word in _LARGE:
        if times >= least:
            return f"once in more than a {word}"
    return f"once in {_cut(times):,}"


def about(value: float) -> str:
    """A rough number, to two digits; no bound.

    >>> about(1_234_567.0), about(7.3)
    ('1,200,000', '7')
    """
    unit = 10 ** max(0, len(str(int(value))) - 2)
    return f"{round(value / unit) * unit:,}"


def duration(seconds: float) -> str:
    """A time to wait, roughly.

    >>> duration(0.4), duration(90), duration(7300)
    ('1 s', '2 min', '2 h')
    """
    for unit, name in ((86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.45 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(1.0, seconds):.0f} s"


def _cut(value: float) -> int:
    """Three digits, rounded downwards."""
    whole = math.floor(value)
    unit = int(10 ** max(0, len(str(whole)) - 3))
    return whole // unit * unit


def finite(value: float) -> float | None:
    """The value for JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None
