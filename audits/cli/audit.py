"""`dp-assay audit`: the user's own mechanism against the user's own claim."""

import argparse
import contextlib
import sys
from typing import Any

import dp_accounting as dpa
import numpy as np

from accountants import Certificate, validate
from audits.claims import (
    Claim,
    EventClaim,
    GaussianClaim,
    PointClaim,
    ZeroConcentratedClaim,
)
from audits.cli import Commands, drawing, executors, options, training
from audits.cli.loading import Place, UserCodeError, UserMechanism, call, load
from audits.cli.numbers import number
from audits.pairs import Pair
from audits.testing.auditor import DEFAULT_SAMPLES, audit
from audits.testing.draws import DEFAULT_CHUNK
from audits.testing.effort import Effort
from audits.testing.hunting import hunt
from audits.verdict import Verdict, is_below_claim
from audits.wording import down, up

_DESCRIPTION = """\
Runs a mechanism on two neighbouring data sets and looks for evidence against a privacy claim.

TARGET is FILE.py:FUNCTION or MODULE:FUNCTION. The function takes (data, rng, n) and returns n
independent outputs, or takes (data, rng) and returns one; rng is a numpy Generator.
"""
_EPILOG = """\
the claim, in order of strength:
  --noise-multiplier 1 [--sampling-rate 0.01 --steps 100]
                        what the mechanism is said to do: a whole curve of (ε, δ). A flaw of 40 %
                        in the noise is found within hundreds of draws
  --mu 1, --rho 0.5     a whole curve as well
  --epsilon 1           pure ε
  --epsilon 1 --delta 1e-5
                        one point: it limits rare outcomes only, so that a false claim can take
                        millions of draws to refute
  CLAIM in the file     a claim of audits, a certificate or a DpEvent, where no option is given

the pair of data sets:
  --pair NAME           in the same file, or FILE.py:NAME: two data sets as a tuple, an
                        audits.Pair, or a function that returns one
  PAIR in the file      where the option is not given
  otherwise             a hunt: arrays of shape (records, dimension) with extremes at ±--bound,
                        outliers, duplicates, NaN

example (my_file.py):
  def mechanism(data, rng):
      return sum(data) + rng.normal(scale=0.7)      # says 1, adds 0.7
  PAIR = ([0.0, 1.0], [0.0])

  dp-assay audit my_file.py:mechanism --noise-multiplier 1

Exit code 1 if the claim is refuted: it is false, or an event of probability 1 − confidence has
happened. Exit code 0 if it is not refuted, which is no proof. Exit code 2 for bad input, 3 if the
mechanism raises an exception or ends its process: then there is no verdict.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "audit",
        help="test a claim about your own mechanism",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("target", metavar="TARGET", help="FILE.py:FUNCTION or MODULE:FUNCTION")
    claim = parser.add_argument_group("the claim")
    claim.add_argument(
        "--epsilon", type=number, metavar="ε", help="the claimed ε, at least 0, such as 1"
    )
    claim.add_argument(
        "--delta",
        type=number,
        metavar="δ",
        help="the claimed δ, in (0, 1), such as 1e-5; none is pure ε. With the other claims, "
        "where the evidence bounds ε: default 1e-5",
    )
    claim.add_argument(
        "--mu",
        type=number,
        metavar="μ",
        help="Gaussian differential privacy: as hard to tell apart as N(0, 1) and N(μ, 1)",
    )
    claim.add_argument(
        "--rho",
        type=number,
        metavar="ρ",
        help="zero-concentrated differential privacy, such as 0.5",
    )
    training.add_noise(claim, required=False)
    training.add_steps(claim)
    training.add_epochs(claim)
    training.add_sampling(claim)
    parser.add_argument(
        "--pair",
        metavar="NAME",
        help="the neighbouring data sets: NAME or FILE.py:NAME; default PAIR, else a hunt",
    )
    parser.add_argument(
        "--one-at-a-time",
        action="store_true",
        default=None,
        help="the function takes (data, rng) and gives one output; by default its signature tells",
    )
    parser.add_argument(
        "--bound",
        type=number,
        default=1.0,
        metavar="C",
        help="for a hunt: the norm to which the mechanism clips a record, default 1",
    )
    options.add_limits(parser, samples=DEFAULT_SAMPLES)
    parser.add_argument(
        "--seconds",
        type=number,
        metavar="T",
        help="the time to spend, after which no more is drawn; default: no limit, for a hunt 30",
    )
    parser.add_argument(
        "--chunk-size",
        type=int,
        default=DEFAULT_CHUNK,
        metavar="COUNT",
        help=f"the most outputs asked of (data, rng, n) in one call, default {DEFAULT_CHUNK}; a "
        "smaller one gives slow mechanisms work for more workers. It is part of what the seed "
        "determines",
    )
    options.add_seed(parser)
    executors.add_executors(parser, default=1)
    options.add_plot(parser, "draw the evidence")
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    place = Place.parse("TARGET", given.target)
    drawing.check_plot(given.plot)
    seed = options.read_seed(given)
    settings: dict[str, Any] = {
        **options.read_limits(given),
        "rng": np.random.default_rng(seed),
        "delta": None if given.delta is None else training.read_delta(given),
        "chunk_size": validate.count("--chunk-size", given.chunk_size),
    }
    if given.seconds is not None:
        settings["seconds"] = validate.positive("--seconds", given.seconds)
    # Whatever the user's code prints must not end up in our output.
    with contextlib.redirect_stdout(sys.stderr):
        mechanism = UserMechanism.find(place, given.one_at_a_time)
        claim, pair = _claim(given, place), _pair(given, place)
        notice = Effort(claim, settings["confidence"]).notice(settings["max_samples"])
        if notice:
            print(notice, file=sys.stderr)
        # A worker loads the user's code first, so that objects of its classes can be sent to it.
        with executors.executor_of(given, first=load, arguments=(place.module,)) as executor:
            if given.cluster is not None:
                mechanism = mechanism.by_value()
            settings["executor"] = executor
            if pair is None:
                verdict = _hunt(given, mechanism, claim, settings)
            else:
                verdict = audit(mechanism, pair, claim, **settings)
    verdict = verdict.seeded_by(seed)
    if given.plot is not None:
        drawing.draw_verdict(given.plot, verdict)
    print(verdict.to_json() if given.json else _text(verdict, place))
    return 1 if verdict.refuted else 0


def _hunt(
    given: argparse.Namespace, mechanism: UserMechanism, claim: Claim, settings: dict[str, Any]
) -> Verdict:
    print("no pair given: hunting for one", file=sys.stderr)
    bound = validate.positive("--bound", given.bound)
    try:
        return hunt(mechanism, claim, bound=bound, **settings)
    except UserCodeError as error:
        raise type(error)(
            f"{error} A hunt gives it arrays of shape (records, dimension); give PAIR or --pair "
            "for other data."
        ) from error


def _claim(given: argparse.Namespace, place: Place) -> Claim:
    named = {
        name: getattr(given, name)
        for name in ("epsilon", "mu", "rho", "noise_multiplier")
        if getattr(given, name) is not None
    }
    if not named:
        claim = getattr(load(place.module), "CLAIM", None)
        if isinstance(claim, dpa.DpEvent):
            claim = EventClaim(claim)
        if not isinstance(claim, Claim | Certificate):
            raise ValueError(
                "a claim must be given: --noise-multiplier, --mu, --rho or --epsilon, or CLAIM = "
                f"audits.EventClaim(…) in {place.module}."
            )
        _refuse_unused(given, f"CLAIM in {place.module}")
        return Claim.of(claim)
    if len(named) > 1:
        options_given = ", ".join("--" + name.replace("_", "-") for name in named)
        raise ValueError(f"the claim must be one of its forms, got {options_given}.")
    if "noise_multiplier" in named:
        sampling = training.read_sampling(given)
        steps = training.read_steps(given, sampling)
        event, count = sampling.repeated(training.read_noise(given), steps)
        whole = event if count == 1 else dpa.SelfComposedDpEvent(event, count)
        return EventClaim(whole, relation=sampling.relation)
    _refuse_unused(given, f"--{next(iter(named))}")
    ((name, value),) = named.items()
    value = validate.non_negative(f"--{name}", value)
    relation = training.read_relation(given) or dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
    if name == "mu":
        return GaussianClaim(value, relation=relation)
    if name == "rho":
        return ZeroConcentratedClaim(value, relation=relation)
    delta = 0.0 if given.delta is None else training.read_delta(given)
    return PointClaim(value, delta, relation=relation)


def _refuse_unused(given: argparse.Namespace, form: str) -> None:
    """What describes noisy steps says nothing in another form of claim; silence would mislead."""
    for name in ("steps", "epochs", "sampling", "sampling_rate", "batch_size"):
        if getattr(given, name) is not None:
            option = "--" + name.replace("_", "-")
            raise ValueError(
                f"`{option}` must be left out unless --noise-multiplier is given, got {form}: that "
                "is claimed of the mechanism as a whole."
            )


def _pair(given: argparse.Namespace, place: Place) -> Pair | None:
    if given.pair is not None:
        where = Place.parse("--pair", given.pair, default_module=place.module)
    elif hasattr(load(place.module), "PAIR"):
        where = Place(place.module, "PAIR")
    else:
        return None
    found = where.find()
    found = call(where, found) if callable(found) else found
    if isinstance(found, Pair):
        return found
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise ValueError(f"`{where}` must be two data sets or an audits.Pair, got {found!r}.")
    return Pair(found[0], found[1], f"the pair {where}")


def _text(verdict: Verdict, place: Place) -> str:
    evidence = verdict.evidence
    claimed = verdict.claim.epsilon_upper(evidence.delta)
    beside = ", weaker than the verdict: see above" if is_below_claim(verdict) else ""
    rows = {
        "mechanism": str(place),
        "claim": f"{verdict.claim.describe()}: ε ≤ {up(claimed, 3)} at δ = {evidence.delta:g}",
        "pair": evidence.pair,
        "statistic": evidence.statistic,
        "draws per side": f"{evidence.samples:,}",
        "p-value": f"{up(evidence.p_value or 0.0, 2)}, valid at any stopping time",
        "bound of ε": f"ε ≥ {down(evidence.epsilon_lower, 3)} at δ = {evidence.delta:g}{beside}",
        "confidence": f"{100 * evidence.confidence:g} %",
        "seed": str(evidence.seed),
    }
    table = "\n".join(f"  {name:<16}{value}" for name, value in rows.items() if value)
    return f"{verdict.explain()}\n\n{table}"
