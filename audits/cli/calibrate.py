"""`dp-assay calibrate`: how much noise, or how many steps, for a target ε; how much for a risk."""

import argparse
import json
import math
import sys
from dataclasses import replace
from typing import Any

from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, calibrate_noise, calibrate_steps, validate
from audits.cli import Commands, calibrate_risk, options, training
from audits.cli.sampled_steps import INSTEAD_OF_SHUFFLING, SampledSteps
from audits.wording import interval, up

_EXAMPLES = """\
examples:
  dp-assay calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.01 --steps 10000
      the smallest noise multiplier for these steps
  dp-assay calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.01 --noise-multiplier 4
      the most steps with this noise
  dp-assay calibrate --epsilon 3 --delta 1e-6 --batch-size 256 --data-size 60000 --epochs 15
  dp-assay calibrate --advantage 0.1 --sampling-rate 0.01 --steps 10000
  dp-assay calibrate --tpr 0.05 --fpr 0.01 --sampling-rate 0.01 --steps 10000
  dp-assay calibrate --mu 1 --slack 1e-6 --sampling-rate 0.01 --steps 10000
      the noise that keeps an attack's success that small

What is printed has been checked: its proved upper bound is at most the target.
"""
# A hint need not be sharp, nor go below any noise of use.
_HINT_TOLERANCE, _LEAST_NOISE = 1e-2, 0.1


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
    calibrate_risk.add_targets(parser)
    training.add_noise(parser, required=False)
    training.add_steps(parser)
    training.add_epochs(parser)
    training.add_sampling(parser)
    training.add_records(parser)
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    calibrate_risk.refuse_what_does_not_fit(given)
    if given.epsilon is None:
        return calibrate_risk.run(given)
    target = validate.positive("--epsilon", given.epsilon)
    delta, sampling = training.read_delta(given), training.read_sampling(given)
    wants_noise = given.steps is not None or given.epochs is not None
    if (given.noise_multiplier is None) == (not wants_noise):
        raise ValueError(
            "`--noise-multiplier` must be given (for the most steps) or --steps or --epochs (for "
            f"the least noise), one of the two, got {'both' if wants_noise else 'neither'}."
        )
    setting: dict[str, Any] = {
        "delta": delta,
        "sampling_rate": sampling.accounted_rate,
        "relation": sampling.relation,
        "sampling": sampling.kind,
        "records_per_user": sampling.records,
    }
    steps = training.read_steps(given, sampling) if wants_noise else sampling.batches
    sampling.repeated(1.0, steps)  # refuses what cannot be accounted for
    if sampling.kind == "fixed_size":
        print("searching; for batches of fixed size this can take a minute", file=sys.stderr)
    try:
        if wants_noise:
            noise = calibrate_noise(target_epsilon=target, steps=steps, **setting)
        else:
            noise = training.read_noise(given)
            steps = calibrate_steps(target_epsilon=target, noise_multiplier=noise, **setting)
    except ValueError as error:  # names the option as it is typed
        raise ValueError(str(error).replace("`target_epsilon`", "`--epsilon`")) from error
    event, count = sampling.repeated(noise, steps)
    found = FourierAccountant(sampling.relation).compose(event, count).get_epsilon_bounds(delta)
    notes = sampling.notes(delta)
    if sampling.kind == "shuffled":
        notes.append(
            _instead(noise, target, delta, steps, sampling)
            if wants_noise
            else f"{INSTEAD_OF_SHUFFLING}."
        )
    if given.json:
        answer = {
            "target_epsilon": target,
            "delta": delta,
            "noise_multiplier": noise,
            "steps": steps,
            "sampling": sampling.kind,
            "sampling_rate": sampling.rate,
            "relation": sampling.relation.name,
            "records_per_user": sampling.records,
            "epsilon": {"lower": found.lower, "upper": found.upper},
            "notes": notes,
        }
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    if wants_noise:
        print(f"noise multiplier {up(noise, 7)} for {steps:,} steps")
    else:
        print(f"{steps:,} steps at noise multiplier {noise:g}")
    print(f"  ε in {interval(found)} at δ = {delta:g}, target {target:g}")
    print(f"  {sampling.neighbours}; {sampling.describe()}")
    for note in notes:
        print(f"  {note}")
    return 0


def _instead(noise: float, target: float, delta: float, steps: int, sampling: SampledSteps) -> str:
    """What to do instead of shuffling, and noise that is enough then, to a percent.

    The noise of shuffling is enough, as each epoch costs at most one Gaussian release either way.
    """
    bins = replace(sampling, kind="balls_in_bins", relation=NeighboringRelation.REPLACE_SPECIAL)

    def enough(noise: float) -> bool:
        event, count = bins.repeated(noise, steps)
        accountant = FourierAccountant(bins.relation, _HINT_TOLERANCE).compose(event, count)
        return accountant.get_epsilon(delta) <= target

    factor, known = 2.0, noise
    while factor > 1.01:
        if known / factor > _LEAST_NOISE and enough(known / factor):
            known /= factor
        else:
            factor = math.sqrt(factor)
    return f"{INSTEAD_OF_SHUFFLING}: noise multiplier {up(known, 3)} is enough then."
