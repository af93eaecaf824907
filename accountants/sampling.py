"""How records get into a batch: one vocabulary for signatures, files and the command line.

* `poisson`: each record on its own, with probability q, anew in each step;
* `fixed_size`: a batch of fixed size without replacement, anew in each step;
* `shuffled`: the records in random order, cut into batches, one pass after the other;
* `balls_in_bins`: per epoch each record joins one of the steps, uniformly and on its own;
* `all`: every record in every step.

The same noise and rate cost differently under each: none is accounted for as another.
"""

from typing import Any, Literal, TypeAlias, get_args

from accountants import validate

SamplingKind: TypeAlias = Literal["poisson", "fixed_size", "shuffled", "balls_in_bins", "all"]
KINDS: tuple[SamplingKind, ...] = get_args(SamplingKind)
"""All of the vocabulary."""
ACCOUNTED: tuple[SamplingKind, ...] = ("poisson", "fixed_size", "all")
"""Those whose single step is an event that accountants compose."""
# What others call them; only for the question that a refusal asks.
_OTHER_WORDS: dict[str, SamplingKind] = {
    "without_replacement": "fixed_size",
    "shuffle": "shuffled",
    "balls_and_bins": "balls_in_bins",
    "random_allocation": "balls_in_bins",
    "none": "all",
    "full_batch": "all",
}


def check(name: str, value: Any) -> SamplingKind:
    """A word of the vocabulary, spelt as here; a near miss gets the right word in its refusal.

    >>> check("sampling", "fixed_size")
    'fixed_size'
    >>> check("sampling", "fixed-size")
    Traceback (most recent call last):
    ValueError: `sampling` must be one of ['poisson', 'fixed_size', 'shuffled', 'balls_in_bins', \
'all'], got 'fixed-size'. Did you mean 'fixed_size'?
    """
    meant = ""
    if isinstance(value, str):
        for kind in KINDS:
            if value == kind:
                return kind
        spelt = value.lower().replace("-", "_").replace(" ", "_")
        meant = validate.did_you_mean(_OTHER_WORDS.get(spelt, spelt), KINDS)
    got = validate.shown(value)
    raise ValueError(f"`{name}` must be one of {list(KINDS)}, got {got}.{meant}")


def check_accounted(name: str, value: Any) -> SamplingKind:
    """A kind in `ACCOUNTED`; a `ValueError` says why the others are not.

    >>> check_accounted("sampling", "balls_in_bins")
    Traceback (most recent call last):
    ValueError: `sampling` must be one of ['poisson', 'fixed_size', 'all'] here, got \
'balls_in_bins': its steps are not independent, so that whole epochs are accounted for, not steps.
    """
    kind = check(name, value)
    if kind in ACCOUNTED:
        return kind
    reason = {
        "shuffled": "its batches are not independent, so that whole epochs are accounted for, not "
        "steps.",
        "balls_in_bins": "its steps are not independent, so that whole epochs are accounted for, "
        "not steps.",
    }[kind]
    raise ValueError(f"`{name}` must be one of {list(ACCOUNTED)} here, got {kind!r}: {reason}")
