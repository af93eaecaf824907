"""`dp-assay crosscheck`: every accountant on one setting."""

import argparse
import json
from dataclasses import replace

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, crosscheck
from audits.cli import Commands, options
from audits.cli.options import INSTEAD_OF_SHUFFLING, SampledSteps
from audits.wording import up

_EXAMPLES = """\
examples:
  dp-assay crosscheck --noise-multiplier 1 --sampling-rate 0.01 --steps 1000 --delta 1e-5
  dp-assay crosscheck --noise-multiplier 1 --delta 1e-5 --relation REPLACE_ONE
      a conflict: one peer counts C where a replaced record moves a sum by 2C

A peer can take minutes where there are a million steps; `dp-assay epsilon` asks none.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "crosscheck",
        help="account for one setting with every accountant, ours and the peers'",
        description="Accounts for Gaussian steps with every accountant that is installed. "
        "Exit code 1 if an upper\nbound lies below a lower bound: one of the two is wrong.",
        epilog=_EXAMPLES,
    )
    options.add_noise(parser)
    options.add_steps(parser, default=None)
    options.add_epochs(parser)
    options.add_delta(parser)
    options.add_sampling(parser)
    options.add_records(parser)
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    sampling = options.read_sampling(given)
    event = dpa.SelfComposedDpEvent(
        *sampling.repeated(options.read_noise(given), options.read_steps(given, sampling))
    )
    table = crosscheck(event, options.read_delta(given), sampling.relation)
    print(json.dumps(table.as_dictionary(), indent=2) if given.json else table)
    if sampling.kind == "shuffled" and not given.json:
        print(f"{_instead(given, sampling)}.")
    return 0 if table.consistent else 1


def _instead(given: argparse.Namespace, sampling: SampledSteps) -> str:
    """What to do instead of shuffling, and what it would cost."""
    steps = options.read_steps(given, sampling)
    if sampling.relation is NeighboringRelation.REPLACE_ONE or steps % sampling.batches:
        return INSTEAD_OF_SHUFFLING
    event, count = replace(sampling, kind="balls_in_bins").repeated(given.noise_multiplier, steps)
    cost = FourierAccountant(sampling.relation).compose(event, count).get_epsilon(given.delta)
    return f"{INSTEAD_OF_SHUFFLING}: ε ≤ {up(cost, 4)} at this noise"
