"""`dp-assay zoo`: the known flaws, each beside its repair."""

import argparse
import json
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from accountants import validate
from audits import telling
from audits.cli import Commands, drawing
from audits.cli import options as shared
from audits.wording import down, up

if TYPE_CHECKING:
    from audits.specimens import Examination, Lint, Specimen

_EXAMPLES = """\
examples:
  dp-assay zoo
      the whole table
  dp-assay zoo 'percentile clipping' --plot percentile.png
      one of them, explained and drawn

claimed ε: what the claim allows, rounded up. proved: at least so much does the flawed mechanism
cost, without any draw. draws: per data set, until the verdict.

Exit code 0 if every flawed mechanism was refuted that must be, and no repaired one was; 1 if one
came out otherwise; 2 for bad input.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    zoo = commands.add_parser(
        "zoo",
        help="audit the collection of known flaws, each beside its repaired twin",
        description="Audits every specimen, or those whose name contains NAME; with one of them, "
        "explains it.",
        epilog=_EXAMPLES,
    )
    zoo.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="a name or a part of it, in any case; all by default",
    )
    shared.add_seed(zoo)
    shared.add_plot(zoo, "draw the one that NAME stands for")
    shared.add_json(zoo)
    zoo.set_defaults(run=_zoo)


def _zoo(options: argparse.Namespace) -> int:
    # Specimens are built on import; the other commands need not wait for them.
    from audits.specimens.examine import as_json, run_zoo

    seed = validate.count("--seed", options.seed, minimum=0)
    chosen, lints = _chosen(options.name)
    single = len(chosen) + len(lints) == 1
    if options.plot is not None and not single:
        names = [one.name for one in chosen] + [one.name for one in lints]
        raise ValueError(f"`NAME` must stand for one specimen to draw, got {names}.")
    drawing.check_plot(options.plot)
    examinations: list[Examination] = []
    for index, specimen in enumerate(chosen, start=1):
        telling.step(index, len(chosen), specimen.name)
        examinations += run_zoo([specimen], np.random.default_rng(seed))
    if options.json:
        print(json.dumps(as_json(examinations, lints), indent=2))
    else:
        _print_table(examinations, lints)
        if single:
            _explain(*examinations, *lints)
    if options.plot is not None:
        from audits.specimens.pictures import plot_examination, plot_lint

        figure = plot_examination(examinations[0]) if examinations else plot_lint(lints[0])
        drawing.save(figure, options.plot, dpi=110)
    expected = [one.as_expected for one in examinations] + [one.as_expected() for one in lints]
    return 0 if all(expected) else 1


def _chosen(name: str) -> tuple[list["Specimen"], list["Lint"]]:
    """What the name stands for: exactly, or else as a part."""
    from audits.specimens import LINTS, SPECIMENS

    names = shared.read_names("NAME", name, [*SPECIMENS, *LINTS])
    chosen = [SPECIMENS[one] for one in names if one in SPECIMENS]
    return chosen, [LINTS[one] for one in names if one in LINTS]


def _print_table(examinations: list["Examination"], lints: list["Lint"]) -> None:
    from audits.specimens.examine import REPORTED_DELTA

    if examinations:
        print(f"ε at δ = {REPORTED_DELTA:g}; proved: of the flawed one, at least, without draws\n")
        print(
            f"{'specimen':<42}{'claimed ε':>10}{'proved ε ≥':>12}{'flawed':>14}{'draws':>7}"
            f"{'repaired':>14}{'draws':>7}"
        )
    for one in examinations:
        sides = "".join(
            f"{side.word.value:>14}{side.evidence.samples:>7}"
            for side in (one.flawed, one.repaired)
        )
        claimed = up(one.specimen.claim.epsilon_upper(REPORTED_DELTA), 3)
        proof = one.specimen.epsilon_proved(REPORTED_DELTA)
        proved = "" if proof is None else down(proof, 3)
        unexpected = "" if one.as_expected else "  UNEXPECTED"
        print(f"{one.specimen.name:<42}{claimed:>10}{proved:>12}{sides}{unexpected}")
    for lint in lints:
        flawed, repaired = lint.flawed().word.value, lint.repaired().word.value
        unexpected = "" if lint.as_expected() else "  UNEXPECTED"
        print(f"{'lint: ' + lint.name:<42}{'':>22}{flawed:>14}{'':>7}{repaired:>14}{unexpected}")


def _explain(one: "Examination | Lint") -> None:
    from audits.specimens import Lint

    member = one if isinstance(one, Lint) else one.specimen
    print(f"\n{_wrapped(member.flaw)}\n\nReference: {_wrapped(member.reference)}\n")
    print(textwrap.dedent(member.explanation).strip())
    if isinstance(one, Lint):
        sides = [one.flawed().sentence, one.repaired().sentence]
    else:
        sides = [one.flawed.explain(), one.repaired.explain()]
    for name, side in zip(("Flawed", "Repaired"), sides, strict=True):
        headline, *details = side.split("\n")
        print("\n" + "\n".join(map(_wrapped, [f"{name}: {headline}", *details])))
    witness = None if isinstance(one, Lint) else one.specimen.witness
    if witness is not None:
        print(
            "\nWitness: "
            + _wrapped(
                f"{witness.event}: probability ≥ {down(witness.probability_first_lower)} on the "
                f"first data set, ≤ {up(witness.probability_second_upper, 3)} on the second; "
                f"ε ≥ {down(witness.epsilon_lower(1e-5), 4)} at δ = 1e-5, without any draw."
            )
        )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100)
