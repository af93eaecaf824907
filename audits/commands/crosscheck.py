"""`dp-assay crosscheck`: every accountant on one setting."""

import argparse
import json
import math

import dp_accounting as dpa

from accountants import CrossCheck, crosscheck
from audits.commands import Commands


def add(commands: Commands) -> None:
    """Adds the sub-command."""
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
