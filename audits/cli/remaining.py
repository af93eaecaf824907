"""`dp-assay remaining`: how many more steps a budget allows after what has been done."""

import argparse
import json
from typing import Any

from dp_accounting import ComposedDpEvent

from accountants import FourierAccountant, remaining_steps, validate
from accountants.adapters.history import history_event
from audits.cli import Commands, options, runs, training
from audits.cli.numbers import number
from audits.cli.sampled_steps import as_typed
from audits.signing.run import history_facts
from audits.wording import interval, wrapped

_EXAMPLES = """\
examples:
  dp-assay remaining --history opacus.json --sampling poisson --epsilon 3 --delta 1e-5
      how many more steps like the last ones
  dp-assay remaining --history opacus.json --sampling poisson --epsilon 3 --delta 1e-5 \\
      --noise-multiplier 2
      and with more noise from now on

What is printed has been checked: all steps together, old and new, have a proved upper bound of at
most the target. Noise and rate of the new ones are fixed now, and do not depend on the data.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "remaining",
        help="what is left of a budget after a history: so many more steps",
        description="Gives the most steps that can follow a history within a target ε and δ.",
        epilog=_EXAMPLES,
    )
    runs.add_history(parser)
    parser.add_argument(
        "--epsilon", type=number, required=True, metavar="ε", help="the budget, such as 3"
    )
    training.add_delta(parser)
    training.add_noise(parser, required=False)
    training.add_sampling(parser)
    training.add_records(parser)
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    if given.history is None:
        raise ValueError(
            "`--history` must be given, got none; `dp-assay calibrate` gives the most steps from "
            "the start."
        )
    if given.batch_size is not None:
        raise ValueError("`--batch-size` must be left out here; --sampling-rate is the new rate.")
    target = validate.positive("--epsilon", given.epsilon)
    delta = training.read_delta(given)
    sampling = runs.history_sampling(given)
    rows = runs.read_rows(given)
    noise = rows[-1][0] if given.noise_multiplier is None else training.read_noise(given)
    rate = rows[-1][1]
    if given.sampling_rate is not None:
        rate = validate.rate("--sampling-rate", given.sampling_rate)
    setting: dict[str, Any] = {
        "sampling": sampling.kind,
        "relation": sampling.relation,
        "records_per_user": sampling.records,
    }
    try:
        after = history_event(rows, **setting)
        steps = remaining_steps(
            after=after,
            target_epsilon=target,
            delta=delta,
            noise_multiplier=noise,
            sampling_rate=rate,
            **setting,
        )
    except ValueError as error:
        message = as_typed(str(error)).replace("`target_epsilon`", "`--epsilon`")
        raise ValueError(message) from error
    spent = FourierAccountant(sampling.relation).compose(after).get_epsilon_bounds(delta)
    then = spent
    if steps:
        more = history_event([(noise, rate, steps)], **setting)
        whole = ComposedDpEvent([after, more])
        then = FourierAccountant(sampling.relation).compose(whole).get_epsilon_bounds(delta)
    if given.json:
        answer = {
            "target_epsilon": target,
            "delta": delta,
            "steps": steps,
            "noise_multiplier": noise,
            "sampling_rate": rate,
            "sampling": sampling.kind,
            "relation": sampling.relation.name,
            "spent": {"lower": spent.lower, "upper": spent.upper},
            "then": {"lower": then.lower, "upper": then.upper},
            "notes": sampling.notes(delta),
        }
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    done = dict(history_facts(rows))["steps"]
    lines = [f"spent: {done} steps, ε in {interval(spent)} at δ = {delta:g}, budget {target:g}"]
    if steps:
        epochs = f", {steps * rate:,.4g} epochs" if rate < 1.0 else ""
        lines += [
            f"left: {steps:,} steps{epochs}, at noise multiplier {noise:g} and rate {rate:g}",
            f"then: ε in {interval(then)}",
        ]
    else:
        what = "epoch" if sampling.in_epochs else "step"
        over = "over budget" if spent.lower > target else f"not even one {what} more"
        lines.append(f"left: nothing ({over})")
    lines += [f"  {sampling.words}", *(f"  {note}" for note in sampling.notes(delta))]
    print("\n".join(wrapped(lines)))
    return 0
