"""`dp-assay explain`: what an ε means for a person, in plain sentences and a picture."""

import argparse
import json
from pathlib import Path

import numpy as np
from dp_accounting import NeighboringRelation

from accountants import (
    Certificate,
    EpsilonDeltaDpEvent,
    FourierAccountant,
    true_positive_rate,
    validate,
)
from audits.cli import Commands, drawing, options, runs, training
from audits.cli.numbers import number
from audits.meaning import RATES, Meaning
from audits.signing.statement import delta_notes
from audits.wording import event_words, wrapped

_EXAMPLES = """\
examples:
  dp-assay explain --epsilon 3 --delta 1e-5
  dp-assay explain --noise-multiplier 1 --sampling-rate 0.01 --steps 1000
      from the whole curve of a training, which says much more than one ε of it
  dp-assay explain --certificate certificate.json --plot picture.png

All numbers are upper bounds, for the most exposed person and against any attack, whatever it
knows. They say nothing of what is learnt about people in general: that is not what ε limits.
"""
_ALPHAS = 41


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "explain",
        help="what an ε means for a person, in plain sentences",
        description="Says how well the best attack can tell whether a person's data were used.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--epsilon", type=number, metavar="ε", help="a claim, with --delta (0 if none is given)"
    )
    parser.add_argument(
        "--certificate", type=Path, metavar="FILE", help="instead: a certificate in JSON"
    )
    runs.add_history(parser)
    training.add_delta(parser, required=False)
    training.add_noise(parser, required=False)
    training.add_steps(parser)
    training.add_epochs(parser)
    training.add_sampling(parser)
    training.add_records(parser)
    options.add_plot(parser, "draw what an attack finds at each rate of false accusations")
    options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    drawing.check_plot(given.plot)
    title, accountant, records = _read(given)
    meaning = Meaning.of(accountant, records=records)
    if given.plot is not None:
        alphas = np.geomspace(1e-4, 1.0, _ALPHAS).tolist()
        found = [true_positive_rate(accountant, alpha) for alpha in alphas]
        drawing.draw_trade_off(given.plot, title, alphas, found)
    size = training.read_data_size(given)
    notes = [] if given.delta is None else list(delta_notes(given.delta, size))
    if given.json:
        answer = {
            "what": title,
            "relation": meaning.relation.name,
            "accuracy": {"lower": meaning.accuracy.lower, "upper": meaning.accuracy.upper},
            "true_positive_rates": [
                {"false_positive_rate": rate, "lower": one.lower, "upper": one.upper}
                for rate, one in zip(RATES, meaning.found, strict=True)
            ],
            "sentences": meaning.sentences(),
            "notes": notes,
        }
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    lines = [title, "", *(f"  {text}" for text in meaning.sentences()), "", *meaning.picture()]
    lines += [f"  {note}" for note in notes]
    print("\n".join(wrapped(lines)))
    return 0


def _read(given: argparse.Namespace) -> tuple[str, FourierAccountant, int]:
    """What is explained: its name, its cost, and how many records are one user's."""
    named = [
        name
        for name in ("epsilon", "certificate", "history", "noise_multiplier")
        if getattr(given, name) is not None
    ]
    if len(named) != 1:
        got = ", ".join("--" + name.replace("_", "-") for name in named) or "none"
        raise ValueError(
            "what is explained must be one of --epsilon, --certificate, --history and "
            f"--noise-multiplier, got {got}."
        )
    if named == ["epsilon"]:
        epsilon = validate.non_negative("--epsilon", given.epsilon)
        delta = 0.0 if given.delta is None else training.read_delta(given)
        for name in ("steps", "epochs", "sampling", "sampling_rate", "batch_size"):
            if getattr(given, name) is not None:
                option = "--" + name.replace("_", "-")
                raise ValueError(f"`{option}` must be left out with --epsilon, got both.")
        relation = training.read_relation(given) or NeighboringRelation.ADD_OR_REMOVE_ONE
        accountant = FourierAccountant(relation).compose(EpsilonDeltaDpEvent(epsilon, delta))
        return f"ε = {epsilon:g}, δ = {delta:g}", accountant, 1
    if named == ["certificate"]:
        made = Certificate.from_json(given.certificate.read_bytes().decode("utf-8"))
        accountant = FourierAccountant(made.neighboring_relation).compose(made.event)
        return event_words(made.event), accountant, 1
    if named == ["history"]:
        run = runs.run_of_history(given)
        made = run.signed[0].certify(1e-5 if given.delta is None else training.read_delta(given))
        accountant = FourierAccountant(made.neighboring_relation).compose(made.event)
        steps = dict(run.facts)["steps"]
        return f"{given.history.name}: {steps} steps", accountant, run.records
    noise, sampling = training.read_noise(given), training.read_sampling(given)
    event, count = sampling.repeated(noise, training.read_steps(given, sampling))
    accountant = FourierAccountant(sampling.relation).compose(event, count)
    title = f"{count:,} × {event_words(event)}" if count > 1 else event_words(event)
    return title, accountant, sampling.records
