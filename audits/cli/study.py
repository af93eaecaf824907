"""`dp-assay study`: the papers' tables and figures, run again."""

import argparse
import json
import os
from pathlib import Path

from accountants import validate
from audits.cli import Commands, executors
from audits.cli import options as shared

# As in `audits.papers.studies`, which the other commands need not wait for.
_NAMES = ("workshop-table5", "thesis-linreg", "tmlr-adult", "tum-credit")
_EXAMPLES = """\
examples:
  dp-assay study workshop-table5 --quick
      minutes; shows that it runs, and no paper's number
  dp-assay study workshop-table5 --output studies
      as recorded: up to half an hour on two cores

The record of the last full run ships with the package; `dp-assay report` shows it.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    study = commands.add_parser(
        "study",
        help="train as the papers did, and put the certified ε beside each result",
        description="Runs a study and writes its tables, figures and JSON. A study that was "
        "killed goes on where it\nwas when the same command is given again.",
        epilog=_EXAMPLES,
    )
    study.add_argument("name", metavar="NAME", help="one of " + ", ".join(_NAMES))
    study.add_argument(
        "--seeds",
        type=int,
        metavar="COUNT",
        help="how many repetitions; by default as many as the study's record has",
    )
    study.add_argument("--quick", action="store_true", help="a small version, to see it work")
    study.add_argument(
        "--redraw",
        action="store_true",
        help="make tables and figures again from the record in FOLDER, training nothing",
    )
    study.add_argument(
        "--output",
        type=Path,
        default=Path("studies"),
        metavar="FOLDER",
        help="for the record, the figures and the journal; default ./studies",
    )
    executors.add_executors(study, default=os.cpu_count() or 1)
    shared.add_json(study)
    study.set_defaults(run=_study)


def _study(options: argparse.Namespace) -> int:
    from audits.papers.studies import load_study, redraw_study, run_study

    if options.name not in _NAMES:
        raise ValueError(
            f"`NAME` must be one of {sorted(_NAMES)}, got {options.name!r}."
            f"{validate.did_you_mean(options.name, _NAMES)}"
        )
    study = load_study(options.name)
    if options.redraw and options.seeds is not None:
        raise ValueError("`--redraw` must be without `--seeds`: a record has its own.")
    if options.seeds is not None:
        validate.count("--seeds", options.seeds)
    validate.count("--workers", options.workers)
    if not options.redraw:
        shared.check_writable("--output", options.output / f"{options.name}.json")
    with executors.executor_of(options, alone=False) as pool:
        if options.redraw:
            record = redraw_study(study, quick=options.quick, folder=options.output, executor=pool)
        else:
            record = run_study(
                study,
                seeds=options.seeds,
                quick=options.quick,
                folder=options.output,
                executor=pool,
            )
    if options.json:
        print(json.dumps(record, indent=2, ensure_ascii=False))
        return 0
    for table in record["tables"]:
        print(f"\n{table['title']}")
        lines = [table["columns"], *table["rows"]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            print("  ".join(padded).rstrip())
        if table["note"]:
            print(table["note"])
    return 0
