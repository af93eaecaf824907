"""`dp-assay report`: everything on three pages."""

import argparse
import json
import os
import webbrowser
from pathlib import Path

from accountants import validate
from accountants.files import write_atomically
from audits import telling
from audits.cli import Commands, options

_EXAMPLES = """\
examples:
  dp-assay report
  dp-assay report --output build/report.html --open

It takes about a minute. The ledger and the studies are pages of their own beside it. They load
nothing from elsewhere: they can be mailed, printed, and read on a phone. Exit code 1 if a specimen
came out otherwise than it must, or accountants conflict where none is known to; 2 for bad input.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "report",
        help="cross-checks, curves, the zoo, the ledger and the studies as HTML pages",
        description="Runs the cross-checks, the curves, the zoo and the fast claims, adds what is "
        "recorded of the\nstudies and the slow claims, and writes HTML pages that load nothing.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="the first page, default ./report.html; folders are made",
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
    pages = render(contents, given.output.stem)
    files = [given.output, *(given.output.with_name(name) for name in list(pages)[1:])]
    for file, text in zip(files, pages.values(), strict=True):
        write_atomically(file, text)
    if given.open:
        webbrowser.open(given.output.resolve().as_uri())
    lines = [f"{figure} {words}" for _, figure, words in counts(contents)]
    if given.json:
        summary = {
            "report": str(given.output),
            "pages": [str(file) for file in files],
            "seconds": contents.seconds,
            "counts": lines,
            "unexpected": contents.unexpected,
        }
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines))
        for outcome in contents.unexpected:
            print(f"NOT EXPECTED: {outcome}")
        print(f"\n{contents.seconds:.0f} s")
    telling.wrote(*files)
    return 1 if contents.unexpected else 0
