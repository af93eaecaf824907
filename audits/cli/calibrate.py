"""`dp-assay calibrate`: how much noise, or how many steps, for a target ε; how much for a risk."""

import argparse
import json
import sys
from typing import Any

from accountants import (
    Bounds,
    FourierAccountant,
    calibrate_noise,
    calibrate_noise_to_risk,
    calibrate_steps,
    epsilon_bounds,
    gdp_bounds,
    true_positive_rate,
    validate,
)
from audits.cli import Commands, options
from audits.wording import RELATIONS, interval, up

_EXAMPLES = """\
examples:
  dp-assay calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.01 --steps 10000
      the smallest noise multiplier for these steps
  dp-assay calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.01 --noise-multiplier 4
      the most steps with this noise
  dp-assay calibrate --advantage 0.1 --sampling-rate 0.01 --steps 10000
  dp-assay calibrate --tpr 0.05 --fpr 0.01 --sampling-rate 0.01 --steps 10000
  dp-assay calibrate --mu 1 --slack 1e-6 --sampling-rate 0.01 --steps 10000
      the noise that keeps an attack's success that small

What is printed has been checked: its proved upper bound is at most the target.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "calibrate",
        help="how much noise, or how many steps, for a target ε and δ, or for a risk",
        description="Gives the smallest noise multiplier for --steps, or the most steps for "
        "--noise-multiplier, whose\ncertified ε is at most the target. Instead of --epsilon and "
        "--delta, a risk may be the target:\nthen it gives a noise multiplier for --steps.",
        epilog=_EXAMPLES,
    )
    targets = parser.add_mutually_exclusive_group(required=True)
    targets.add_argument(
        "--epsilon", type=float, metavar="ε", help="the target, positive, such as 1; with --delta"
    )
    targets.add_argument(
        "--advantage",
        type=float,
        metavar="A",
        help="the most that an attack's true positive rate minus false positive rate may be",
    )
    targets.add_argument(
        "--tpr", type=float, metavar="RATE", help="the most that the former may be at --fpr"
    )
    targets.add_argument("--mu", type=float, metavar="μ", help="the most that μ-GDP may say")
    options.add_delta(parser, required=False)
    parser.add_argument(
        "--fpr", type=float, metavar="RATE", help="the false positive rate of --tpr, such as 0.01"
    )
    parser.add_argument(
        "--slack",
        type=float,
        metavar="S",
        help="with --mu: how far an attack's true positive rate may exceed the Gaussian's; "
        "without it, sampling is no help",
    )
    options.add_noise(parser, required=False)
    options.add_steps(parser, default=None)
    options.add_sampling(parser)
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    _refuse_what_does_not_fit(given)
    if given.epsilon is None:
        return _run_risk(given)
    target = validate.positive("--epsilon", given.epsilon)
    delta, sampling = options.read_delta(given), options.read_sampling(given)
    if (given.noise_multiplier is None) == (given.steps is None):
        raise ValueError(
            "`--noise-multiplier` must be given (for the most steps) or --steps (for the least "
            f"noise), one of the two, got {'neither' if given.steps is None else 'both'}."
        )
    setting: dict[str, Any] = {
        "delta": delta,
        "sampling_rate": sampling.rate,
        "relation": sampling.relation,
        "sampling": sampling.kind,
    }
    steps = sampling.batches if given.steps is None else options.read_steps(given)
    sampling.repeated(1.0, steps)  # refuses what cannot be accounted for
    if sampling.kind == "fixed_size":
        print("searching; for batches of fixed size this can take a minute", file=sys.stderr)
    try:
        if given.steps is not None:
            noise = calibrate_noise(target_epsilon=target, steps=steps, **setting)
        else:
            noise = options.read_noise(given)
            steps = calibrate_steps(target_epsilon=target, noise_multiplier=noise, **setting)
    except ValueError as error:  # names the option as it is typed
        raise ValueError(str(error).replace("`target_epsilon`", "`--epsilon`")) from error
    found = epsilon_bounds(noise_multiplier=noise, steps=steps, **setting)
    if given.json:
        answer = {
            "target_epsilon": target,
            "delta": delta,
            "noise_multiplier": noise,
            "steps": steps,
            "sampling": sampling.kind,
            "sampling_rate": sampling.rate,
            "relation": sampling.relation.name,
            "epsilon": {"lower": found.lower, "upper": found.upper},
        }
        print(json.dumps(answer, indent=2))
        return 0
    if given.steps is not None:
        print(f"noise multiplier {up(noise, 7)} for {steps:,} steps")
    else:
        print(f"{steps:,} steps at noise multiplier {noise:g}")
    print(f"  ε in {interval(found)} at δ = {delta:g}, target {target:g}")
    print(f"  {RELATIONS[sampling.relation]}; {sampling.describe()}")
    return 0


# Each target with the option that goes with it, and whether it must.
_COMPANIONS = {"epsilon": ("delta", True), "tpr": ("fpr", True), "mu": ("slack", False)}


def _refuse_what_does_not_fit(given: argparse.Namespace) -> None:
    for target, (companion, needed) in _COMPANIONS.items():
        value = getattr(given, companion)
        if getattr(given, target) is None and value is not None:
            raise ValueError(f"`--{companion}` must be left out without --{target}, got {value!r}.")
        if needed and getattr(given, target) is not None and value is None:
            raise ValueError(f"`--{companion}` must be given with --{target}, got none.")


def _run_risk(given: argparse.Namespace) -> int:
    """The noise that keeps a risk at or below its target."""
    sampling = options.read_sampling(given)
    if given.noise_multiplier is not None or given.steps is None:
        raise ValueError("`--steps` must be given, and no --noise-multiplier, for a risk.")
    steps = options.read_steps(given)
    sampling.repeated(1.0, steps)  # refuses what cannot be accounted for
    target: dict[str, Any] = {
        "advantage": given.advantage,
        "true_positive_rate": given.tpr,
        "false_positive_rate": given.fpr,
        "mu": given.mu,
        "slack": given.slack or 0.0,
    }
    setting: dict[str, Any] = {
        "sampling_rate": sampling.rate,
        "relation": sampling.relation,
        "sampling": sampling.kind,
    }
    try:
        noise = calibrate_noise_to_risk(**target, steps=steps, **setting)
    except ValueError as error:  # names the option as it is typed
        raise ValueError(_as_typed(str(error))) from error
    event, count = sampling.repeated(noise, steps)
    words, found = _reading(FourierAccountant(sampling.relation).compose(event, count), given)
    if given.json:
        answer = {key: value for key, value in target.items() if value is not None}
        answer |= {
            "noise_multiplier": noise,
            "steps": steps,
            "sampling": sampling.kind,
            "sampling_rate": sampling.rate,
            "relation": sampling.relation.name,
            "found": {"lower": found.lower, "upper": found.upper},
        }
        print(json.dumps(answer, indent=2))
        return 0
    print(f"noise multiplier {up(noise, 7)} for {steps:,} steps")
    print(f"  {words} in {interval(found)}")
    print(f"  {RELATIONS[sampling.relation]}; {sampling.describe()}")
    return 0


def _reading(accountant: FourierAccountant, given: argparse.Namespace) -> tuple[str, Bounds]:
    """The risk in words, and what it is."""
    if given.advantage is not None:
        words = f"an attack's advantage, target {given.advantage:g},"
        return words, accountant.get_delta_bounds(0.0)
    if given.tpr is not None:
        words = f"an attack's true positive rate at false positive rate {given.fpr:g}, target "
        return words + f"{given.tpr:g},", true_positive_rate(accountant, given.fpr)
    slack = given.slack or 0.0
    words = f"μ of Gaussian DP with slack {slack:g}, target {given.mu:g},"
    return words, gdp_bounds(accountant, slack)


def _as_typed(message: str) -> str:
    """A message of the accountants with the options' names."""
    renamed = {"true_positive_rate": "tpr", "false_positive_rate": "fpr"}
    for name in ("advantage", "true_positive_rate", "false_positive_rate", "mu", "slack"):
        message = message.replace(f"`{name}`", f"`--{renamed.get(name, name)}`")
    return message.replace("`sampling_rate`", "`--sampling-rate`")
