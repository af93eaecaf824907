"""The targets of `dp-assay calibrate`, and what it does for those that are a risk."""

import argparse
import json
from typing import Any

from accountants import (
    Bounds,
    FourierAccountant,
    calibrate_noise_to_risk,
    gdp_bounds,
    true_positive_rate,
)
from audits.cli import training
from audits.cli.numbers import number
from audits.wording import interval, up

# Each target with the option that goes with it, and whether it must.
_COMPANIONS = {"epsilon": ("delta", True), "tpr": ("fpr", True), "mu": ("slack", False)}


def add_targets(parser: argparse.ArgumentParser) -> None:
    """Adds the options of which one says what is aimed at, and those that go with them."""
    targets = parser.add_mutually_exclusive_group(required=True)
    targets.add_argument(
        "--epsilon", type=number, metavar="ε", help="the target, positive, such as 1; with --delta"
    )
    targets.add_argument(
        "--advantage",
        type=number,
        metavar="A",
        help="the most that an attack's true positive rate minus false positive rate may be",
    )
    targets.add_argument(
        "--tpr", type=number, metavar="RATE", help="the most that the former may be at --fpr"
    )
    targets.add_argument("--mu", type=number, metavar="μ", help="the most that μ-GDP may say")
    training.add_delta(parser, required=False)
    parser.add_argument(
        "--fpr", type=number, metavar="RATE", help="the false positive rate of --tpr, such as 0.01"
    )
    parser.add_argument(
        "--slack",
        type=number,
        metavar="S",
        help="with --mu: how far an attack's true positive rate may exceed the Gaussian's; "
        "without it, sampling is no help",
    )


def refuse_what_does_not_fit(given: argparse.Namespace) -> None:
    """Refuses a target without its companion, and a companion without its target."""
    for target, (companion, needed) in _COMPANIONS.items():
        value = getattr(given, companion)
        if getattr(given, target) is None and value is not None:
            raise ValueError(f"`--{companion}` must be left out without --{target}, got {value!r}.")
        if needed and getattr(given, target) is not None and value is None:
            raise ValueError(f"`--{companion}` must be given with --{target}, got none.")


def run(given: argparse.Namespace) -> int:
    """The noise that keeps a risk at or below its target."""
    sampling = training.read_sampling(given)
    if given.noise_multiplier is not None or (given.steps is None and given.epochs is None):
        raise ValueError(
            "`--steps` must be given (or --epochs), and no --noise-multiplier, for a risk."
        )
    if sampling.records > 1:
        raise ValueError(
            f"`--records-per-user` must be left out for a risk, got {sampling.records}."
        )
    steps = training.read_steps(given, sampling)
    sampling.repeated(1.0, steps)  # refuses what cannot be accounted for
    target: dict[str, Any] = {
        "advantage": given.advantage,
        "true_positive_rate": given.tpr,
        "false_positive_rate": given.fpr,
        "mu": given.mu,
        "slack": given.slack or 0.0,
    }
    setting: dict[str, Any] = {
        "sampling_rate": sampling.accounted_rate,
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
    print(f"  {sampling.neighbours}; {sampling.describe()}")
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
