"""The `dp-assay` command.

Exit codes: 0 nothing refuted, 1 a claim or an accountant refuted, 2 bad input.
"""

import argparse
import sys
from collections.abc import Sequence

import dp_accounting as dpa

from audits.commands import claims, crosscheck, study, zoo

_COMMANDS = (crosscheck, zoo, claims, study)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (ValueError, TypeError, dpa.UnsupportedEventError) as error:
        print(f"dp-assay: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dp-assay", description="Is this differential-privacy claim true?"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    return parser
