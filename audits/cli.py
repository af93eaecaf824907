"""The `dp-assay` command.

Exit codes: 0 nothing refuted, 1 a claim or an accountant refuted, 2 bad input.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence

import dp_accounting as dpa
import numpy as np

from accountants import CrossCheck, crosscheck


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except (ValueError, TypeError, dpa.UnsupportedEventError) as error:
        print(f"dp-assay: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dp-assay", description="Is this differential-privacy claim true?"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "crosscheck",
        help="account for one DP-SGD setting with every accountant, ours and the peers'",
        description="Accounts for Poisson-sampled Gaussian steps with every accountant that is "
        "installed. Exit code 1 if an upper bound lies below a lower bound.",
    )
    check.add_argument(
        "--noise-multiplier", type=float, required=True, help="noise std over the clip norm C"
    )
    check.add_argument(
        "--sampling-rate", type=float, default=1.0, help="Poisson rate, default 1: no sampling"
    )
    check.add_argument("--steps", type=float, default=1, help="number of releases, default 1")
    check.add_argument("--delta", type=float, required=True, help="target δ in (0, 1)")
    check.add_argument(
        "--relation",
        choices=[relation.name for relation in dpa.NeighboringRelation],
        default=dpa.NeighboringRelation.ADD_OR_REMOVE_ONE.name,
        help="which data sets are neighbours",
    )
    check.add_argument("--json", action="store_true", help="print JSON instead of a table")
    check.set_defaults(run=_crosscheck)

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
    return parser


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


def _crosscheck(options: argparse.Namespace) -> int:
    # The event only carries the numbers; the accountants validate them and name the culprit.
    step: dpa.DpEvent = dpa.GaussianDpEvent(options.noise_multiplier)
    if options.sampling_rate != 1.0:
        step = dpa.PoissonSampledDpEvent(options.sampling_rate, step)
    steps = int(options.steps) if math.isfinite(options.steps) else options.steps
    if steps != options.steps or steps < 1:
        raise ValueError(f"`--steps` must be a positive whole number, got {options.steps!r}.")
    table = crosscheck(
        dpa.SelfComposedDpEvent(step, steps),
        options.delta,
        dpa.NeighboringRelation[options.relation],
    )
    print(json.dumps(_as_json(table), indent=2) if options.json else table)
    return 0 if table.consistent else 1


def _as_json(table: CrossCheck) -> dict[str, object]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "delta": table.delta,
        "relation": table.neighboring_relation.name,
        "consistent": table.consistent,
        "conflicts": [list(pair) for pair in table.conflicts],
        "accountants": [
            {
                "name": row.accountant,
                "lower": finite(row.lower) if row.answered else None,
                "upper": finite(row.upper),
                "seconds": row.seconds,
                "note": row.note,
            }
            for row in table.rows
        ],
    }
