"""`dp-assay claims`: the papers' statements, checked."""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from audits.commands import Commands

if TYPE_CHECKING:
    from audits.claims import ClaimResult

_BEFORE_CONDITION = {
    "HOLDS_IF": "Holds if",
    "REFUTED": "Would hold for this reading",
    "NOT_TESTABLE": "Not testable because",
}


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    claims = commands.add_parser(
        "claims",
        help="check the papers' statements, and say what was found",
        description="Runs the fast checks of the ledger, or the one whose id is ID, or else those "
        "whose id contains it, and gives the recorded findings of the slow ones.",
    )
    claims.add_argument("id", nargs="?", default="", metavar="ID", help="an id, or part of some")
    claims.add_argument("--slow", action="store_true", help="run the checks that train models too")
    claims.add_argument("--json", action="store_true", help="print JSON instead of a table")
    claims.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the numbers of one claim, as PNG, SVG or PDF by the file's ending",
    )
    claims.set_defaults(run=_claims)


def _matches(wanted: str, ids: Iterable[str]) -> list[str]:
    """The id itself if there is one, otherwise all that contain what is wanted."""
    known = list(ids)
    found = [wanted] if wanted in known else [name for name in known if wanted in name]
    if not found:
        raise ValueError(f"`ID` must be part of one of {sorted(known)}, got {wanted!r}.")
    return found


def _claims(options: argparse.Namespace) -> int:
    from audits.claims import CLAIMS, run_claims
    from audits.claims.run import as_json

    ids = _matches(options.id, CLAIMS)
    if options.plot is not None and len(ids) > 1:
        raise ValueError(f"`ID` must name one claim to draw, got {options.id!r}, in {ids}.")
    results = []
    for index, name in enumerate(ids, start=1):
        print(f"[{index}/{len(ids)}] {name}", file=sys.stderr)
        results += run_claims([name], include_slow=options.slow)
    if options.plot is not None:
        _save_plot(results[0], options.plot)
    if options.json:
        print(json.dumps(as_json(results), indent=2))
        return 0
    for result in results:
        print(f"{result.entry.id:<34}{result.finding.verdict.value:<20}{result.finding.figure}")
    if len(results) == 1:
        _explain(results[0])
    return 0


def _explain(result: "ClaimResult") -> None:
    entry, finding = result.entry, result.finding
    print(f"\n{entry.paper}, {entry.place}: {entry.statement}")
    print(f"Checked: {entry.doc}")
    print(finding.argument)
    if finding.condition:
        print(f"{_BEFORE_CONDITION[finding.verdict.name]}: {finding.condition}")


def _save_plot(result: "ClaimResult", file: Path) -> None:
    from audits.claims.plots import plot_finding

    plot_finding(result)
    import matplotlib.pyplot as plt

    figure = plt.gcf()  # the one that was just made
    try:
        figure.savefig(file, dpi=150)
    except OSError as error:
        raise ValueError(f"`--plot` must be a file that can be written, got {file}.") from error
    finally:
        plt.close(figure)
    print(f"wrote {file}", file=sys.stderr)
