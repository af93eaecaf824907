"""`dp-assay report`: everything on one page."""

import argparse
import json
import os
import webbrowser
from pathlib import Path

from accountants import validate
from accountants.files import write_atomically
from audits.cli import Commands, options

_EXAMPLES = """\
examples:
  dp-assay report
  dp-assay report --output build/report.html --open

It takes about a minute. The page loads nothing from elsewhere: it can be mailed, printed, and read
on a phone. Exit code 1 if a specimen came out otherwise than it must, or accountants conflict where
none is known to; 2 for bad input.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "report",
        help="cross-checks, curves, the zoo, the ledger and the studies on one HTML page",
        description="Runs the cross-checks, the curves, the zoo and the fast claims, adds what is "
        "recorded of the\nstudies and the slow claims, and writes one self-contained HTML page.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="the page, default ./report.html; folders are made",
    )
    options.add_seed(parser)
    options.add_workers(parser, default=os.cpu_count() or 1)
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from audits.report import gather, render
    from audits.report.sections.summary import counts

    seed = validate.count("--seed", given.seed, minimum=0)
    workers = validate.count("--workers", given.workers)
    options.check_writable("--output", given.output)
    command = f"dp-assay report --seed {seed}"
    contents = gather(command=command, seed=seed, workers=workers)
    write_atomically(given.output, render(contents))
    if given.open:
        webbrowser.open(given.output.resolve().as_uri())
    lines = [f"{figure} {words}" for _, figure, words in counts(contents)]
    if given.json:
        summary = {
            "report": str(given.output),
            "seconds": contents.seconds,
            "counts": lines,
            "unexpected": contents.unexpected,
        }
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines))
        for outcome in contents.unexpected:
            print(f"NOT EXPECTED: {outcome}")
        print(f"\nreport: {given.output} ({contents.seconds:.0f} s)")
    return 1 if contents.unexpected else 0
