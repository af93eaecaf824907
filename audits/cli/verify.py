"""`dp-assay verify`: is a certificate true?"""

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audits.cli import Commands, options
from audits.signing.statement import certificates_in

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
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a certificate in JSON, or the JSON beside a page of `dp-assay certify --page`",
    )
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


def report(
    found: "Sequence[tuple[str, Verification]]", *, as_json: bool, aside: bool = False
) -> int:
    """Prints what was found, `aside` to standard error, and returns the exit code.

    Args:
      found: For each certificate its scope, "" where there is one only, and what is proved of it.
      as_json: Whether to print JSON.
      aside: Whether standard output is taken.
    """
    if as_json:
        answers = [_as_json(scope, one) for scope, one in found]
        text = json.dumps(answers[0] if len(answers) == 1 else answers, indent=2)
    else:
        text = "\n".join(f"{scope}\n{one}" if len(found) > 1 else str(one) for scope, one in found)
    print(text, file=sys.stderr if aside else sys.stdout)
    codes = {one.exit_code for _, one in found}
    return 1 if 1 in codes else max(codes)


def _as_json(scope: str, found: "Verification") -> dict[str, Any]:
    ends = [
        dataclasses.asdict(end) | {"epsilon": "inf" if end.epsilon == math.inf else end.epsilon}
        for end in found.ends
    ]
    return ({"scope": scope} if scope else {}) | {"word": found.word, "ends": ends}


def _run(given: argparse.Namespace) -> int:
    check = checker()
    text = Path(given.file).read_bytes().decode("utf-8")
    certificates = certificates_in(text)
    if certificates is None:
        return report([("", check(text))], as_json=given.json)
    found = [(scope, check(one)) for scope, one in certificates]
    code = report(found, as_json=given.json)
    if not given.json:
        print("Of the statement its certificates were checked, not what follows from them.")
    return code
