"""`dp-assay field`: released libraries against their own promises."""

import argparse
import sys
import textwrap
from pathlib import Path

from accountants import validate
from audits.cli import Commands, options

_EXAMPLES = """\
examples:
  dp-assay field --recorded
      what came of all of them
  dp-assay field eeprivacy
      installs the library into an environment of its own (in the user's cache folder), draws from
      it as its users do, and hunts for evidence against what it promises
  dp-assay field --limit 30 --output mine.json
      the whole field; an interrupted run goes on with the same command

Exit code 0 if every flaw was refuted and no twin or control was; 1 if one came out otherwise, or
could not be examined; 2 for bad input.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    field = commands.add_parser(
        "field",
        help="audit released libraries, as their users use them, against their own promises",
        description="Audits the findings, libraries or parts of names that are given, or all; "
        "with one finding,\nexplains it.",
        epilog=_EXAMPLES,
    )
    field.add_argument("names", nargs="*", metavar="NAME", help="all if none is given")
    field.add_argument("--recorded", action="store_true", help="show the record, install nothing")
    field.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="what an audit may take, after installation (default: 60)",
    )
    field.add_argument(
        "--output",
        type=Path,
        default=Path("field.json"),
        metavar="FILE",
        help="where outcomes are kept, and taken from (default: field.json)",
    )
    options.add_seed(field)
    options.add_json(field)
    field.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from audits.field.finding import named
    from audits.field.record import RECORD, Record, as_json, table

    seconds = validate.positive("--limit", given.limit)
    seed = validate.count("--seed", given.seed, minimum=0)
    chosen = named(given.names)
    record = Record(RECORD if given.recorded else given.output)
    if not given.recorded:
        options.check_writable("--output", given.output)
        record.run(
            chosen, seconds=seconds, seed=seed, note=lambda text: print(text, file=sys.stderr)
        )
    found = record.outcomes(chosen)
    print(as_json(found) if given.json else table(found))
    if len(chosen) == 1 and not given.json:
        one = chosen[0]
        fields = {"Promise": one.promise, "Repair": one.repair, "Upstream": one.upstream or ""}
        print(f"\n{textwrap.fill(one.flaw, 100)}\n\n{one.why}\n")
        print("\n".join(textwrap.fill(f"{k}: {v}", 100) for k, v in fields.items() if v))
    return 0 if all(outcome.as_expected for _, outcome in found) else 1
