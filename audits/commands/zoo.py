"""`dp-assay zoo`: the known flaws, each beside its repair."""

import argparse
import json
import sys

import numpy as np

from audits.commands import Commands


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    zoo = commands.add_parser(
        "zoo",
        help="audit the collection of known flaws, each beside its repaired twin",
        description="Audits every specimen, or those whose name contains NAME. Exit code 1 if one "
        "came out otherwise than expected.",
    )
    zoo.add_argument("name", nargs="?", default="", metavar="NAME", help="part of a name")
    zoo.add_argument("--seed", type=int, default=0, help="of the audits' randomness, default 0")
    zoo.add_argument("--json", action="store_true", help="print JSON instead of a table")
    zoo.set_defaults(run=_zoo)


def _zoo(options: argparse.Namespace) -> int:
    # Specimens and claims are built on import; the other commands need not wait for them.
    from audits.specimens import LINTS, SPECIMENS
    from audits.specimens.examine import Examination, as_json, run_zoo

    chosen = [one for name, one in SPECIMENS.items() if options.name in name]
    lints = [one for name, one in LINTS.items() if options.name in name]
    if not chosen and not lints:
        raise ValueError(
            f"`NAME` must be part of one of {sorted(SPECIMENS)}, got {options.name!r}."
        )
    examinations: list[Examination] = []
    for index, specimen in enumerate(chosen, start=1):
        print(f"[{index}/{len(chosen)}] {specimen.name}", file=sys.stderr)
        examinations += run_zoo([specimen], np.random.default_rng(options.seed))
    if options.json:
        print(json.dumps(as_json(examinations, lints), indent=2))
    else:
        print(f"{'specimen':<44}{'flawed':>14}{'draws':>8}{'repaired':>14}{'draws':>8}")
        for one in examinations:
            sides = "".join(
                f"{side.word.value:>14}{side.evidence.samples:>8}"
                for side in (one.flawed, one.repaired)
            )
            print(f"{one.specimen.name:<44}{sides}{'' if one.as_expected else '  UNEXPECTED'}")
        for lint in lints:
            print(f"lint: {lint.name}{'' if lint.as_expected() else '  UNEXPECTED'}")
        if len(examinations) == 1:
            (one,) = examinations
            print(f"\n{one.specimen.flaw}\nReference: {one.specimen.reference}")
            print(f"Flawed: {one.flawed.explain()}\nRepaired: {one.repaired.explain()}")
    expected = all(one.as_expected for one in examinations) and all(
        lint.as_expected() for lint in lints
    )
    return 0 if expected else 1
