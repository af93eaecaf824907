"""A run of the reader's own: by a training's words, or in a file of its own."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from dp_accounting import NeighboringRelation

from accountants import Certificate, FourierAccountant, event_from_json
from accountants.adapters.history import Row, history_event, read_history
from audits.cli import training
from audits.cli.options import Container
from audits.cli.sampled_steps import SampledSteps
from audits.signing.run import Reading, Run, of_event, of_history

_SOURCES = ("history", "event", "experiment", "transcript")
_WORDS = ("noise_multiplier", "steps", "epochs", "sampling_rate", "batch_size")


def add_sources(parser: Container) -> None:
    """Adds the files that a run may be in."""
    group = parser.add_argument_group("a run in a file, instead of the words of a training")
    add_history(group)
    group.add_argument(
        "--event",
        type=Path,
        metavar="FILE",
        help="an event of dp-accounting, as `accountants.event_to_json` writes it",
    )
    group.add_argument(
        "--experiment", type=Path, metavar="FILE", help="an experiment: what it will cost"
    )
    group.add_argument(
        "--transcript", type=Path, metavar="FILE", help="what `dp-assay run --transcript` wrote"
    )


def add_history(parser: Container) -> None:
    """Adds `--history`."""
    parser.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="an Opacus accountant's history as JSON, or its state or a checkpoint as torch saved "
        "it; with --sampling, which no history says",
    )


def source_of(given: argparse.Namespace) -> str | None:
    """The one file that was given; refused where words of a training stand beside it."""
    named = [name for name in _SOURCES if getattr(given, name, None) is not None]
    if not named:
        for name in ("noise_multiplier", "delta"):
            if getattr(given, name) is None:
                option = "--" + name.replace("_", "-")
                raise ValueError(f"`{option}` must be given, or a run in a file, got neither.")
        return None
    if len(named) > 1:
        got = ", ".join(f"--{name}" for name in named)
        raise ValueError(f"`--{named[0]}` must be the only file with a run, got {got}.")
    for name in _WORDS:
        if getattr(given, name, None) is not None:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"`{option}` must be left out where --{named[0]} says it, got both.")
    return named[0]


def read_rows(given: argparse.Namespace) -> tuple[Row, ...]:
    """The rows of `--history`."""
    try:
        return read_history(given.history)
    except ValueError as error:
        raise ValueError(str(error).replace("`file`", "`--history`", 1)) from None


def read(given: argparse.Namespace) -> tuple[Run, float]:
    """The run, and the δ to certify it at."""
    source = source_of(given)
    if source in ("experiment", "transcript"):
        for name in ("sampling", "data_size"):
            if getattr(given, name) is not None:
                option = "--" + name.replace("_", "-")
                raise ValueError(f"`{option}` must be left out where --{source} says it, got both.")
    readers: dict[str | None, _Reader] = {
        None: _of_words,
        "history": _of_history,
        "event": _of_event,
        "experiment": _of_experiment,
        "transcript": _of_transcript,
    }
    return readers[source](given)


_Reader: TypeAlias = Callable[[argparse.Namespace], tuple[Run, float]]


def _of_words(given: argparse.Namespace) -> tuple[Run, float]:
    noise, sampling = training.read_noise(given), training.read_sampling(given)
    delta, steps = training.read_delta(given), training.read_steps(given, sampling)
    sampling.repeated(noise, steps)  # refuses what does not fit
    facts = [("steps", f"{steps:,}"), ("noise multiplier", f"{noise:g}")]
    if given.epochs is not None:
        facts.insert(0, ("epochs", f"{given.epochs:,g}"))
    if given.batch_size is not None:
        facts.append(("batch size", f"{given.batch_size:,g}"))
    if sampling.rate < 1.0:
        facts.append(("sampling rate", f"{sampling.rate:g}"))
    if sampling.records > 1:
        facts.append(("records of one user", f"{sampling.records:,}"))
    run = Run(
        source="the words of a training loop, as typed",
        facts=(*facts, ("sampling", sampling.describe())),
        signed=(_reading(noise, steps, sampling),),
        others=tuple(_reading(noise, steps, one) for one in sampling.others(steps)),
        data_size=sampling.data_size,
        records=sampling.records,
    )
    return run, delta


def _reading(noise: float, steps: int, sampling: SampledSteps) -> Reading:
    def certify(delta: float) -> Certificate:
        event, count = sampling.repeated(noise, steps)
        return FourierAccountant(sampling.relation).compose(event, count).certify([delta])

    return Reading(words=sampling.words, relation=sampling.relation, certify=certify)


def history_sampling(given: argparse.Namespace) -> SampledSteps:
    """How the batches of a history were drawn, which must be said."""
    if given.sampling is None:
        raise ValueError(
            "`--sampling` must be given with --history: Opacus records no sampling. It is poisson "
            "if make_private made the loader (poisson_sampling=True, its default), shuffled with "
            "an own loader; see `dp-assay certify --help`. Got none."
        )
    sampled = argparse.Namespace(**vars(given) | {"sampling_rate": 1.0, "batch_size": None})
    sampled.data_size = None
    sampling = training.read_sampling(sampled)
    return replace(sampling, data_size=training.read_data_size(given))


def _of_history(given: argparse.Namespace) -> tuple[Run, float]:
    return run_of_history(given), _delta(given)


def run_of_history(given: argparse.Namespace) -> Run:
    """The run of `--history`; refused where it cannot have been drawn as is said."""
    sampling, rows = history_sampling(given), read_rows(given)
    relation, records = sampling.relation, sampling.records
    try:
        history_event(rows, sampling=sampling.kind, relation=relation, records_per_user=records)
    except ValueError as error:
        raise ValueError(f"{given.history.name}: {error}") from error
    return of_history(
        rows,
        sampling=sampling.kind,
        source=f"an accountant's history in {given.history.name}",
        relation=relation,
        records_per_user=records,
        data_size=sampling.data_size,
    )


def _of_event(given: argparse.Namespace) -> tuple[Run, float]:
    if given.sampling is not None:
        raise ValueError("`--sampling` must be left out where --event says it, got both.")
    delta = _delta(given)
    event = event_from_json(given.event.read_bytes().decode("utf-8"))
    relation = training.read_relation(given) or NeighboringRelation.ADD_OR_REMOVE_ONE
    size = training.read_data_size(given)
    source = f"an event in {given.event.name}"
    return of_event(event, relation=relation, source=source, data_size=size), delta


def _of_experiment(given: argparse.Namespace) -> tuple[Run, float]:
    from audits.cli.experiment import load

    experiment = load(given.experiment)
    delta = experiment.delta if given.delta is None else training.read_delta(given)
    kind = type(experiment.mechanism).__name__
    facts = (
        ("experiment", experiment.name or given.experiment.name),
        ("mechanism", kind),
        ("clients", f"{experiment.clients:,}"),
        ("rounds", f"{experiment.rounds:,}"),
    )
    releases = experiment.transcript()
    run = Run(
        source=f"the plan of {given.experiment.name}: before it runs",
        facts=facts,
        signed=tuple(_scoped(releases, scope) for scope in experiment.scopes),
    )
    return run, delta


def _of_transcript(given: argparse.Namespace) -> tuple[Run, float]:
    from mechanisms import AGGREGATE, MESSAGES, Scope
    from mechanisms.transcript_file import from_public_json

    delta = _delta(given)
    relation = training.read_relation(given) or NeighboringRelation.ADD_OR_REMOVE_ONE
    releases = from_public_json(given.transcript.read_bytes().decode("utf-8"))
    scopes = [
        Scope(relation=relation, unit=unit, view=view)
        for unit in ("record", "client")
        for view in (MESSAGES, AGGREGATE)
    ]
    rounds = {release.round for release in releases}
    facts = (("releases", f"{len(releases):,}"), ("rounds", f"{len(rounds):,}"))
    run = Run(
        source=f"the transcript {given.transcript.name}: after it ran",
        facts=facts,
        signed=tuple(_scoped(releases, scope) for scope in scopes),
    )
    return run, delta


def _scoped(releases: Any, scope: Any) -> Reading:
    from mechanisms import certify

    return Reading(
        words=str(scope),
        relation=scope.relation,
        certify=lambda delta: certify(releases, scope, [delta]),
    )


def _delta(given: argparse.Namespace) -> float:
    if given.delta is None:
        raise ValueError("`--delta` must be given, got none.")
    return training.read_delta(given)
