"""`dp-assay crosscheck`: every accountant on one setting; with `--suite`, on all known answers."""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, crosscheck, validate
from audits.cli import Commands, options, training
from audits.cli.numbers import number
from audits.cli.sampled_steps import INSTEAD_OF_SHUFFLING, SampledSteps
from audits.peers import scoreboard
from audits.peers.peer import named
from audits.wording import up

_EXAMPLES = """\
examples:
  dp-assay crosscheck --noise-multiplier 1 --sampling-rate 0.01 --steps 1000 --delta 1e-5
  dp-assay crosscheck --noise-multiplier 1 --delta 1e-5 --relation REPLACE_ONE
      a conflict: one peer counts C where a replaced record moves a sum by 2C
  dp-assay crosscheck --suite --recorded
      how other libraries did on settings with proved answers
  dp-assay crosscheck --suite riskcal opacus --output mine.json
      asks them anew, each in an environment of its own (gigabytes, for all of them); an
      interrupted run goes on with the same command

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
    training.add_noise(parser, required=False)
    training.add_steps(parser)
    training.add_epochs(parser)
    training.add_delta(parser, required=False)
    training.add_sampling(parser)
    training.add_records(parser)
    options.add_json(parser)
    suite = parser.add_argument_group("all known answers, instead of one setting")
    suite.add_argument(
        "--suite",
        nargs="*",
        metavar="PEER",
        help="put these peers (all of them, if none is named) through the settings with proved "
        "answers; exit code 1 if any gives an ε that is too low",
    )
    suite.add_argument(
        "--recorded", action="store_true", help="with --suite: show the record, ask nobody"
    )
    suite.add_argument(
        "--output",
        type=Path,
        default=Path("scoreboard.json"),
        metavar="FILE",
        help="with --suite: where answers are kept (default: scoreboard.json)",
    )
    suite.add_argument(
        "--seconds",
        type=number,
        default=30.0,
        metavar="S",
        help="with --suite: what a peer may take for one answer (default: 30)",
    )
    parser.set_defaults(run=_run)


def _run_suite(given: argparse.Namespace) -> int:
    peers = named(given.suite or None)
    board = scoreboard.Scoreboard(scoreboard.RECORD if given.recorded else given.output)
    answers = scoreboard.known()
    if not given.recorded:
        seconds = validate.positive("--seconds", given.seconds)
        board.run(peers, answers, seconds=seconds, note=lambda text: print(text, file=sys.stderr))
    rows = board.rows(peers, answers)
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False))
    else:
        print(scoreboard.table(rows))
    return 1 if any(row.counts["too low"] or row.counts["too high"] for row in rows) else 0


def _run(given: argparse.Namespace) -> int:
    if given.suite is not None:
        return _run_suite(given)
    if given.recorded:
        raise ValueError("`--recorded` must come with --suite, got it alone.")
    for name in ("noise_multiplier", "delta"):
        if getattr(given, name) is None:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"`{option}` must be given, or --suite, got neither.")
    sampling = training.read_sampling(given)
    event = dpa.SelfComposedDpEvent(
        *sampling.repeated(training.read_noise(given), training.read_steps(given, sampling))
    )
    table = crosscheck(event, training.read_delta(given), sampling.relation)
    print(json.dumps(table.as_dictionary(), indent=2) if given.json else table)
    if sampling.kind == "shuffled" and not given.json:
        print(f"{_instead(given, sampling)}.")
    return 0 if table.consistent else 1


def _instead(given: argparse.Namespace, sampling: SampledSteps) -> str:
    """What to do instead of shuffling, and what it would cost."""
    steps = training.read_steps(given, sampling)
    if sampling.relation is NeighboringRelation.REPLACE_ONE or steps % sampling.batches:
        return INSTEAD_OF_SHUFFLING
    event, count = replace(sampling, kind="balls_in_bins").repeated(given.noise_multiplier, steps)
    cost = FourierAccountant(sampling.relation).compose(event, count).get_epsilon(given.delta)
    return f"{INSTEAD_OF_SHUFFLING}: ε ≤ {up(cost, 4)} at this noise"
