"""`dp-assay study`: the papers' tables and figures, run again."""

import argparse
import json
import os
from pathlib import Path

from audits.commands import Commands


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    study = commands.add_parser(
        "study",
        help="train as the papers did, and put the certified ε beside each result",
        description="Runs a study and writes its tables, figures and JSON. A study that was "
        "killed goes on where it was when the same command is given again.",
        epilog="examples:\n"
        "  dp-assay study workshop-table5 --quick\n"
        "  dp-assay study workshop-table5 --output studies",
    )
    study.add_argument("name", metavar="NAME", help="which; an unknown name lists them")
    study.add_argument("--seeds", type=int, help="how many; the study's own number by default")
    study.add_argument("--quick", action="store_true", help="a small version, to see it work")
    study.add_argument(
        "--redraw",
        action="store_true",
        help="make tables and figures again from the record in OUTPUT, training nothing",
    )
    study.add_argument(
        "--output", type=Path, default=Path("studies"), help="a folder, default ./studies"
    )
    study.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes, default: all cores"
    )
    study.add_argument("--json", action="store_true", help="print JSON instead of tables")
    study.set_defaults(run=_study)


def _study(options: argparse.Namespace) -> int:
    from pvi.studies import load_study, redraw_study, run_study, worker_pool

    study = load_study(options.name)
    if options.workers < 1:
        raise ValueError(f"`--workers` must be at least 1, got {options.workers!r}.")
    if options.redraw and options.seeds is not None:
        raise ValueError("`--redraw` must be without `--seeds`: a record has its own.")
    with worker_pool(options.workers) as pool:
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
