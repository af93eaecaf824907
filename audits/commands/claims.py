"""`dp-assay claims`: the papers' statements, checked."""

import argparse
import json
import sys

from audits.commands import Commands


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    claims = commands.add_parser(
        "claims",
        help="check the papers' statements, and say what was found",
        description="Runs the fast checks of the ledger, or those whose id contains ID, and gives "
        "the recorded findings of the slow ones.",
    )
    claims.add_argument("id", nargs="?", default="", metavar="ID", help="part of an id")
    claims.add_argument("--slow", action="store_true", help="run the checks that train models too")
    claims.add_argument("--json", action="store_true", help="print JSON instead of a table")
    claims.set_defaults(run=_claims)


def _claims(options: argparse.Namespace) -> int:
    from audits.claims import CLAIMS, run_claims
    from audits.claims.run import as_json

    ids = [name for name in CLAIMS if options.id in name]
    if not ids:
        raise ValueError(f"`ID` must be part of one of {sorted(CLAIMS)}, got {options.id!r}.")
    results = []
    for index, name in enumerate(ids, start=1):
        print(f"[{index}/{len(ids)}] {name}", file=sys.stderr)
        results += run_claims([name], include_slow=options.slow)
    if options.json:
        print(json.dumps(as_json(results), indent=2))
        return 0
    for result in results:
        print(f"{result.entry.id:<34}{result.finding.verdict.value:<20}{result.finding.figure}")
    if len(results) == 1:
        (result,) = results
        print(f"\n{result.entry.paper}, {result.entry.place}: {result.entry.statement}")
        print(result.finding.argument)
        if result.finding.condition:
            print(result.finding.condition)
    return 0
