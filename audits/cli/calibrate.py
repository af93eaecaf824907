"""`dp-assay calibrate`: how much noise, or how many steps, for a target ε."""

import argparse
import json
import sys
from typing import Any

from accountants import calibrate_noise, calibrate_steps, epsilon_bounds, validate
from audits.cli import Commands, options
from audits.wording import RELATIONS, interval, up

_EXAMPLES = """\
examples:
  dp-assay calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.01 --steps 10000
      the smallest noise multiplier for these steps
  dp-assay calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.01 --noise-multiplier 4
      the most steps with this noise

What is printed has been checked: its proved upper bound of ε is at most the target.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "calibrate",
        help="how much noise, or how many steps, for a target ε and δ",
        description="Gives the smallest noise multiplier for --steps, or the most steps for "
        "--noise-multiplier, whose\ncertified ε is at most the target.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--epsilon", type=float, required=True, metavar="ε", help="the target, positive, such as 1"
    )
    options.add_delta(parser)
    options.add_noise(parser, required=False)
    options.add_steps(parser, default=None)
    options.add_sampling(parser)
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
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
