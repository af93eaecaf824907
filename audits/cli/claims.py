"""`dp-assay claims`: the papers' statements, checked."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from audits import telling
from audits.cli import Commands, drawing
from audits.cli import options as shared
from audits.wording import PAPERS

if TYPE_CHECKING:
    from audits.papers import ClaimResult

_BEFORE_CONDITION = {
    "HOLDS_IF": "Holds if",
    "REFUTED": "Would hold for this reading",
    "NOT_TESTABLE": "Not testable because",
}

_EXAMPLES = f"""\
examples:
  dp-assay claims
  dp-assay claims thesis
  dp-assay claims thesis-random-walk --plot walk.png

the papers:
{chr(10).join(f"  {short:<10}{title}" for short, title in PAPERS.items())}

verdicts: holds; holds if (on a condition that the paper does not state); refuted; not testable
here. Exit code 0 whatever they are: a ledger records. 2 for bad input.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    claims = commands.add_parser(
        "claims",
        help="check the papers' statements, and say what was found",
        description="Runs the fast checks of the ledger, or the one whose id is ID, or else those "
        "whose id contains\nit, and gives the recorded findings of the slow ones. One alone is "
        "explained.",
        epilog=_EXAMPLES,
    )
    claims.add_argument(
        "id",
        nargs="?",
        default="",
        metavar="ID",
        help="an id or a part of it, in any case; all by default",
    )
    claims.add_argument(
        "--slow",
        action="store_true",
        help="run the checks that train models too, for minutes, instead of showing their record",
    )
    shared.add_plot(claims, "draw the numbers of one claim")
    shared.add_json(claims)
    claims.set_defaults(run=_claims)


def _claims(options: argparse.Namespace) -> int:
    from audits.papers import CLAIMS, run_claims
    from audits.papers.checks import as_json

    ids = shared.read_names("ID", options.id, CLAIMS)
    if options.plot is not None and len(ids) > 1:
        raise ValueError(f"`ID` must name one claim to draw, got {options.id!r}, in {ids}.")
    drawing.check_plot(options.plot)
    results = []
    for index, name in enumerate(ids, start=1):
        telling.step(index, len(ids), name)
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
    from audits.papers import KINDS

    entry, finding = result.entry, result.finding
    print(f"\n{entry.paper}, {entry.place}: {entry.statement}")
    print(f"Paper: {PAPERS[entry.paper]}")
    print(f"About {KINDS[entry.kind]}")
    print(f"Checked: {entry.doc}")
    print(finding.argument)
    if finding.condition:
        print(f"{_BEFORE_CONDITION[finding.verdict.name]}: {finding.condition}")


def _save_plot(result: "ClaimResult", file: Path) -> None:
    from audits.papers.plots import plot_finding

    plot_finding(result)
    import matplotlib.pyplot as plt

    figure = plt.gcf()  # the one that was just made
    drawing.save(figure, file)
    plt.close(figure)
