"""`dp-assay epsilon`: what noisy steps cost, with everything the number rests on."""

import argparse
import json
import math
from typing import Any

import dp_accounting as dpa

from accountants import (
    Bounds,
    CrossCheck,
    FourierAccountant,
    crosscheck,
    epsilon_bounds,
)
from audits.cli import Commands, drawing, options, runs, tables, training
from audits.cli.course import course
from audits.cli.sampled_steps import INSTEAD_OF_SHUFFLING, SampledSteps, as_typed
from audits.cli.stages import StageLine
from audits.meaning import Meaning
from audits.wording import down, finite, interval, sampling_words, up, wrapped

_EXAMPLES = """\
examples:
  dp-assay epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 10000 --delta 1e-5
  dp-assay epsilon --noise-multiplier 1 --steps 1e4 --delta 1e-5 \\
      --sampling fixed_size --batch-size 600 --data-size 60000 [--tight]
  dp-assay epsilon --noise-multiplier 1.1 --batch-size 256 --data-size 60k --epochs 15 \\
      --delta 1e-5 --sampling shuffled --plot epochs.png --table epochs.tex
  dp-assay epsilon --history opacus.json --sampling poisson --delta 1e-5

The interval contains the true ε(δ): the upper end is proved for all neighbouring data sets, the
lower end by an explicit pair of them, so no accountant can rightly report less.
`dp-assay crosscheck` sets other libraries beside it.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "epsilon",
        help="what noisy steps cost: a certified interval for ε(δ)",
        description="Accounts for Gaussian noise on clipped sums (DP-SGD and its relatives).",
        epilog=_EXAMPLES,
    )
    runs.add_history(parser)
    training.add_noise(parser, required=False)
    training.add_steps(parser)
    training.add_epochs(parser)
    training.add_delta(parser)
    training.add_sampling(parser)
    training.add_records(parser)
    parser.add_argument(
        "--tight",
        action="store_true",
        help="for fixed_size: solve the adversary's control problem, about 0.5%% wide; seconds to "
        "minutes, with a progress line",
    )
    options.add_json(parser)
    options.add_plot(parser, "draw ε over the epochs, or over the steps")
    tables.add_table(parser, "ε after each epoch, or after some numbers of steps")
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    if given.history is not None:
        return _of_history(given)
    runs.source_of(given)  # refuses words that are missing
    noise, sampling = training.read_noise(given), training.read_sampling(given)
    delta, steps = training.read_delta(given), training.read_steps(given, sampling)
    drawing.check_plot(given.plot)
    tables.check_table(given.table)
    answer = account(noise, steps, delta, sampling, tight=given.tight)
    if given.plot is not None or given.table is not None:
        whole = Bounds(answer["epsilon"]["lower"], _number(answer["epsilon"]["upper"]))
        epochs = given.epochs is not None
        found = course(noise, steps, delta, sampling, whole=whole, epochs=epochs)
        if given.plot is not None:
            drawing.draw_epsilon(given.plot, found)
        if given.table is not None:
            caption = f"Certified intervals of ε at δ = {delta:g}: {found.title}."
            tables.write_table(given.table, found.columns, found.rows, caption)
    if given.json:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        print(_text(answer))
    return 0


def _of_history(given: argparse.Namespace) -> int:
    """What a history did cost: what `certify` says of it, in short."""
    from audits.signing import state

    for name in ("plot", "table", "tight"):
        if getattr(given, name):
            raise ValueError(f"`--{name}` must be left out with --history, got both.")
    run, delta = runs.read(given)
    made = state(run, delta=delta, title=given.history.name)
    if given.json:
        print(made.to_json(), end="")
        return 0
    print("\n".join(made.lines()))
    return 0


def account(
    noise: float, steps: int, delta: float, sampling: SampledSteps, *, tight: bool = False
) -> dict[str, Any]:
    """The answer as plain data."""
    if tight and (sampling.kind != "fixed_size" or sampling.records > 1):
        raise ValueError(
            "`--tight` must be left out unless --sampling is fixed_size and a user has one record, "
            f"got {sampling.kind} with {sampling.records}."
        )
    event, count = sampling.repeated(noise, steps)
    table = crosscheck(dpa.SelfComposedDpEvent(event, count), delta, sampling.relation, peers=False)
    bounds, rows = table.best, _rows(table)
    if tight:
        solved = _solved(noise, steps, delta, sampling)
        bounds = bounds.intersect(solved)
        row = {"name": "control problem", "lower": solved.lower, "upper": solved.upper}
        rows.insert(0, row)
    accountant = FourierAccountant(sampling.relation).compose(event, count)
    meaning = Meaning.of(accountant, records=sampling.records)
    alternatives = _alternatives(noise, steps, delta, sampling)
    return {
        "setting": {
            "noise_multiplier": noise,
            "steps": steps,
            "sampling": sampling.kind,
            "sampling_rate": sampling.rate,
            "relation": sampling.relation.name,
            "records_per_user": sampling.records,
            "neighbours": sampling.neighbours,
        },
        "delta": delta,
        "epsilon": {"lower": bounds.lower, "upper": finite(bounds.upper)},
        "accountants": rows,
        "assumptions": [
            *accountant.assumptions(),
            sampling.describe()[0].upper() + sampling.describe()[1:] + ".",
            "A step may depend on the outputs of the steps before it.",
        ],
        "membership": {
            "prior": 0.5,
            "accuracy": {"lower": meaning.accuracy.lower, "upper": meaning.accuracy.upper},
            "sentences": list(meaning.sentences()),
        },
        "alternatives": [
            {
                "sampling": other.kind,
                "relation": other.relation.name,
                "neighbours": other.neighbours,
                "lower": found.lower,
                "upper": finite(found.upper),
            }
            for other, found in alternatives
        ],
        "notes": _notes(delta, sampling, alternatives),
    }


def _solved(noise: float, steps: int, delta: float, sampling: SampledSteps) -> Bounds:
    """The tight interval, with a line that says how far it is."""
    line = StageLine()
    try:
        return epsilon_bounds(
            noise_multiplier=noise,
            sampling_rate=sampling.rate,
            steps=steps,
            delta=delta,
            relation=sampling.relation,
            sampling=sampling.kind,
            tight=True,
            progress=line.update,
        )
    except ValueError as error:
        raise ValueError(as_typed(str(error))) from error
    finally:
        line.close()


def _notes(
    delta: float, sampling: SampledSteps, alternatives: list[tuple[SampledSteps, Bounds]]
) -> list[str]:
    """What a reader should know beside the number."""
    notes = sampling.notes(delta)
    if sampling.kind == "shuffled":
        costs = [found for other, found in alternatives if other.kind == "balls_in_bins"]
        cost = f": ε ≤ {up(costs[0].upper, 4)} at this noise" if costs else ""
        notes.append(f"{INSTEAD_OF_SHUFFLING}{cost}.")
    return notes


def _rows(table: CrossCheck) -> list[dict[str, Any]]:
    return [
        {
            "name": row.accountant.removeprefix("dp-assay "),
            "lower": row.lower if row.answered else None,
            "upper": finite(row.upper),
            **({"note": row.note} if row.note else {}),
        }
        for row in reversed(table.rows)
    ]


def _alternatives(
    noise: float, steps: int, delta: float, sampling: SampledSteps
) -> list[tuple[SampledSteps, Bounds]]:
    """The same numbers under other readings."""
    found = []
    for other in sampling.others(steps):
        event, count = other.repeated(noise, steps)
        accountant = FourierAccountant(other.relation).compose(event, count)
        found.append((other, accountant.get_epsilon_bounds(delta)))
    return found


def _text(answer: dict[str, Any]) -> str:
    setting, bounds = answer["setting"], answer["epsilon"]
    lower, upper = bounds["lower"], _number(bounds["upper"])
    lines = [
        f"{setting['steps']:,} Gaussian step{'s' * (setting['steps'] > 1)}, noise multiplier "
        f"{setting['noise_multiplier']:g}, {_sampling(setting)}, {setting['neighbours']}",
        "",
        f"  {down(lower)} ≤ ε ≤ {up(upper)}   at δ = {answer['delta']:g}",
        "",
        "Accountants",
    ]
    for row in answer["accountants"]:
        shown = "–" if row["lower"] is None else f"ε ≤ {up(_number(row['upper']))}"
        above = f", ε ≥ {down(row['lower'])}" if row["lower"] else ""
        lines.append(f"  {row['name']:<18}{shown}{above}  {row.get('note', '')}".rstrip())
    lines += ["", "What this rests on", *(f"  - {text}" for text in answer["assumptions"])]
    if answer["notes"]:
        lines += ["", "Note", *(f"  - {text}" for text in answer["notes"])]
    lines += ["", "What it means"]
    lines += [f"  {sentence}" for sentence in answer["membership"]["sentences"]]
    if answer["alternatives"]:
        lines += ["", "The same numbers read otherwise"]
    for other in answer["alternatives"]:
        what = f"{sampling_words(other['sampling'])}, " if other["sampling"] != "all" else ""
        shown = interval(Bounds(other["lower"], _number(other["upper"])), 4)
        lines.append(f"  {what + other['neighbours']:<47} ε in {shown}")
    return "\n".join(wrapped(lines))


def _sampling(setting: dict[str, Any]) -> str:
    if setting["sampling_rate"] == 1.0:
        return "no sampling"
    return f"{sampling_words(setting['sampling'])} at rate {setting['sampling_rate']:g}"


def _number(value: float | None) -> float:
    return math.inf if value is None else value
