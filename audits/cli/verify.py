"""`dp-assay verify`: is a certificate true?"""

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from audits.cli import Commands, options

if TYPE_CHECKING:
    from accountants.verify import Verification

_EXAMPLES = """\
examples:
  dp-assay verify certificate.json
  dp-assay verify certificate.json --json

The check shares no code with the accountants: ball arithmetic (python-flint), formulas of its own.
VERIFIED means that the event costs what the certificate says; whether that event is what was run,
with the sampling and the noise that it names, is for you to say.

exit codes: 0 VERIFIED, 1 REFUTED, 2 NOT COVERED or no certificate
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "verify",
        help="check a certificate independently of the accountants that made it",
        description="Proves or refutes both ends of each interval in a certificate's file.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("file", metavar="FILE", help="a certificate in JSON")
    options.add_json(parser)
    parser.set_defaults(run=_run)


def checker() -> "Callable[[str], Verification]":
    """The function that checks a certificate's text; refused where python-flint is not there."""
    try:
        from accountants.verify import verify
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "flint":
            raise
        raise ValueError(
            "`verify` must have python-flint, got none: pip install 'dp-assay[verify]'."
        ) from None
    return verify


def report(found: "Verification", *, as_json: bool, aside: bool = False) -> int:
    """Prints what was found, `aside` to standard error, and returns the exit code."""
    text = str(found)
    if as_json:
        ends = [
            dataclasses.asdict(end) | {"epsilon": "inf" if end.epsilon == math.inf else end.epsilon}
            for end in found.ends
        ]
        text = json.dumps({"word": found.word, "ends": ends}, indent=2)
    print(text, file=sys.stderr if aside else sys.stdout)
    return found.exit_code


def _run(given: argparse.Namespace) -> int:
    check = checker()
    return report(check(Path(given.file).read_bytes().decode("utf-8")), as_json=given.json)
