"""Options that several commands share, and how they are read.

Messages name an option as it is typed, so values are checked here before the accountants see them.
"""

import argparse
import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import ShuffledDpEvent, UserDpEvent, validate
from accountants.dp_sgd import repeated_event
from accountants.groups import MOST_RECORDS
from accountants.sampling import SamplingKind, check
from audits.wording import RELATIONS

# Beyond these doubles overflow, or integrals take too long, before anything is said: less noise is
# none, and more steps than this nobody takes.
_LEAST_NOISE, _LEAST_RATE, _MOST_NOISE, _MOST = 0.01, 1e-12, 1e12, 1e9

Container: TypeAlias = "argparse._ActionsContainer"  # a parser, or a group of its options

# The relation that a sampling is proved for.
_PROVED_FOR: dict[SamplingKind, NeighboringRelation] = {
    "poisson": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "fixed_size": NeighboringRelation.REPLACE_ONE,
    "shuffled": NeighboringRelation.REPLACE_SPECIAL,
    "balls_in_bins": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "all": NeighboringRelation.ADD_OR_REMOVE_ONE,
}
INSTEAD_OF_SHUFFLING = (
    "No amplification by shuffling is proved. Let each record, on its own, join one of an epoch's "
    "batches at random (balls in bins) instead"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSteps:
    """How records get into a step, and which data sets are neighbours.

    Attributes:
      kind: A word of `accountants.sampling`.
      rate: The share of the records in one batch.
      relation: Which data sets are neighbours.
      epoch: Batches in an epoch, where sizes of data and batches say so.
      drop_last: Whether a smaller last batch of an epoch is dropped.
      data_size: Records in the data set, where that is known.
      records: Neighbours differ in all records of one user, that many.
    """

    kind: SamplingKind
    rate: float
    relation: NeighboringRelation
    epoch: int | None = None
    drop_last: bool = False
    data_size: int | None = None
    records: int = 1

    @property
    def batches(self) -> int:
        """Batches in an epoch."""
        return self.epoch or max(1, round(1.0 / self.rate))

    @property
    def divides(self) -> bool:
        """Whether batches make up whole epochs."""
        return self.epoch is not None or math.isclose(self.batches * self.rate, 1.0)

    @property
    def in_epochs(self) -> bool:
        """Whether what is repeated is an epoch, not a step."""
        return self.kind in ("shuffled", "balls_in_bins")

    @property
    def accounted_rate(self) -> float:
        """The rate as the accountants take it: of epochs, one over their batches."""
        return 1.0 / self.batches if self.in_epochs and self.epoch else self.rate

    @property
    def share(self) -> float:
        """A record's chance to be in some batch of a shuffled epoch."""
        return min(1.0, self.batches * self.rate) if self.drop_last else 1.0

    def repeated(self, noise_multiplier: float, steps: int) -> tuple[dpa.DpEvent, int]:
        """What is repeated and how often; refused where sampling and relation do not fit."""
        if self.kind == "fixed_size" and self.relation is not NeighboringRelation.REPLACE_ONE:
            raise ValueError(
                "`--relation` must be REPLACE_ONE for --sampling fixed_size (a record more or less "
                f"changes everyone's sampling rate), got {self.relation.name}."
            )
        try:
            event, count = repeated_event(
                noise_multiplier,
                self.accounted_rate,
                steps,
                self.kind,
                self.relation,
                1 if self._is_fixed else self.records,
            )
            if isinstance(event, ShuffledDpEvent) and self.share < 1.0:
                event = ShuffledDpEvent(event.steps_per_epoch, event.event, self.share)
            if self._is_fixed and self.records > 1:
                event = UserDpEvent(self.records, self._of_sizes(event))
            return event, count
        except ValueError as error:
            raise ValueError(as_typed(str(error))) from error

    @property
    def _is_fixed(self) -> bool:
        return self.kind == "fixed_size" and self.rate < 1.0

    def _of_sizes(self, event: dpa.DpEvent) -> dpa.DpEvent:
        """The event with the sizes that were typed, which count for users of several records."""
        if self.data_size is None or not isinstance(event, dpa.SampledWithoutReplacementDpEvent):
            raise ValueError(
                "`--records-per-user` must come with --batch-size and --data-size for --sampling "
                f"fixed_size, got {self.records} without."
            )
        batch = round(self.rate * self.data_size)
        return dpa.SampledWithoutReplacementDpEvent(self.data_size, batch, event.event)

    @property
    def neighbours(self) -> str:
        """How neighbouring data sets differ, in words."""
        words = RELATIONS[self.relation]
        if self.records == 1:
            return words
        return words.replace("one record", f"all {self.records} records of one user")

    def notes(self, delta: float) -> list[str]:
        """What a reader should know of this δ."""
        if self.data_size is None or delta * self.data_size < 1.0:
            return []
        return [
            f"δ = {delta:g} is not below 1/{self.data_size:,}, one over the number of records: "
            "publishing one record at random would meet such a claim."
        ]

    def describe(self) -> str:
        """The sampling in words."""
        if self.rate == 1.0:
            return "no sampling: every record is in every step"
        return {
            "poisson": "Poisson sampling: each record enters each batch independently with "
            f"probability {self.rate:g}",
            "fixed_size": f"batches of fixed size, a share of {self.rate:g} of the records drawn "
            "without replacement, afresh for every step",
            "shuffled": f"shuffled batches: each record is in {'at most' * (self.share < 1.0)}"
            f"{'exactly' * (self.share == 1.0)} one of {self.batches} batches per epoch, in a "
            "fresh random order",
            "balls_in_bins": f"balls in bins: each record, on its own, joins one of the "
            f"{self.batches} batches of an epoch, afresh for every epoch",
        }[self.kind]


def as_typed(message: str) -> str:
    """A message of the accountants with the options' names."""
    for name in ("steps", "sampling_rate", "relation", "records_per_user", "noise_multiplier"):
        message = message.replace(f"`{name}`", f"`--{name.replace('_', '-')}`")
    return message


def sampling_words(kind: str) -> str:
    """A sampling as a term in a sentence.

    >>> sampling_words("fixed_size"), sampling_words("all")
    ('fixed-size sampling', 'no sampling')
    """
    return "no sampling" if kind == "all" else f"{kind.replace('_', '-')} sampling"


def add_noise(parser: Container, *, required: bool = True) -> None:
    """Adds `--noise-multiplier`."""
    parser.add_argument(
        "--noise-multiplier",
        type=float,
        required=required,
        metavar="σ",
        help="the noise's standard deviation divided by C, the norm to which one record is "
        "clipped, such as 1.1",
    )


def add_steps(parser: Container, *, default: float | None = 1.0) -> None:
    """Adds `--steps`."""
    parser.add_argument(
        "--steps",
        type=float,
        default=default,
        metavar="T",
        help="number of noisy releases, such as 1e4: batches, not epochs or rounds"
        + ("" if default is None else f"; default {default:g}"),
    )


def add_epochs(parser: Container) -> None:
    """Adds `--epochs` and `--drop-last`: a loop's own words for `--steps`."""
    parser.add_argument(
        "--epochs",
        type=float,
        metavar="E",
        help="instead of --steps: passes over the data, each of as many steps as batches make up "
        "--data-size",
    )
    parser.add_argument(
        "--drop-last",
        action="store_true",
        help="an epoch's last batch is left out if it is smaller than --batch-size; kept otherwise",
    )


def add_records(parser: Container) -> None:
    """Adds `--records-per-user`."""
    parser.add_argument(
        "--records-per-user",
        type=float,
        default=1.0,
        metavar="k",
        help="neighbouring data sets differ in all k records of one user; default 1",
    )


def add_sampling(parser: Container) -> None:
    """Adds the options that say who is in a batch, and `--relation`."""
    parser.add_argument(
        "--sampling",
        metavar="KIND",
        help="how a batch is chosen: poisson (each record on its own), fixed_size (without "
        "replacement), shuffled (each record once per epoch), balls_in_bins (each record, on its "
        "own, joins one batch per epoch), all (every record in every step). These cost "
        "differently. Default: poisson if a rate is given, else all",
    )
    parser.add_argument(
        "--sampling-rate",
        type=float,
        metavar="q",
        help="share of the records in one batch, in (0, 1], such as 0.01",
    )
    parser.add_argument(
        "--batch-size",
        type=float,
        metavar="B",
        help="records in one batch, such as 600; with --data-size, instead of the rate",
    )
    parser.add_argument(
        "--data-size", type=float, metavar="N", help="records in the data set, such as 60000"
    )
    add_relation(parser)


def add_relation(parser: Container) -> None:
    """Adds `--relation`."""
    parser.add_argument(
        "--relation",
        metavar="RELATION",
        help="which data sets are neighbours: "
        + ", ".join(f"{relation.name} ({words})" for relation, words in RELATIONS.items())
        + ". Small letters and hyphens will do. Default: ADD_OR_REMOVE_ONE; for fixed_size "
        "REPLACE_ONE, for shuffled REPLACE_SPECIAL",
    )


def add_delta(parser: Container, *, required: bool = True) -> None:
    """Adds `--delta`."""
    parser.add_argument(
        "--delta",
        type=float,
        required=required,
        metavar="δ",
        help="in (0, 1), such as 1e-5; well below one over the number of records",
    )


def add_seed(parser: Container) -> None:
    """Adds `--seed`."""
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="SEED",
        help="of all draws, a whole number of at least 0; default 0. The same seed gives the same "
        "outcome",
    )


def add_limits(parser: Container, *, samples: int, audit: str = "audit") -> None:
    """Adds `--confidence` and `--max-samples`."""
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.99,
        help=f"in (0, 1), default 0.99, of each {audit}: a true claim is refuted with probability "
        "at most 0.01",
    )
    parser.add_argument(
        "--max-samples",
        type=float,
        default=samples,
        metavar="COUNT",
        help=f"the most draws per data set, default {samples:,}; it stops as soon as the claim is "
        "refuted",
    )


def read_limits(options: argparse.Namespace) -> dict[str, Any]:
    """Confidence and the most draws, as keywords of an audit."""
    most = validate.real("--max-samples", options.max_samples)
    return {
        "confidence": validate.open_unit("--confidence", options.confidence),
        "max_samples": validate.count("--max-samples", most),
    }


def read_seed(options: argparse.Namespace) -> int:
    """The seed."""
    return validate.count("--seed", options.seed, minimum=0, maximum=2**128)


def add_workers(parser: Container, *, default: int) -> None:
    """Adds `--workers`."""
    parser.add_argument(
        "--workers",
        type=int,
        default=default,
        metavar="COUNT",
        help=f"processes, default {'1' if default == 1 else 'as many as there are cores'}; the "
        "outcome does not depend on it",
    )


def add_plot(parser: Container, what: str) -> None:
    """Adds `--plot`."""
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help=f"{what}, as PNG, SVG or PDF by the file's ending; needs matplotlib",
    )


def add_json(parser: Container) -> None:
    """Adds `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def read_noise(options: argparse.Namespace) -> float:
    """The noise multiplier."""
    noise = validate.positive("--noise-multiplier", options.noise_multiplier)
    return _within("--noise-multiplier", noise, _LEAST_NOISE, _MOST_NOISE)


def _within(name: str, value: float, least: float, most: float) -> float:
    if value > most:
        raise ValueError(f"`{name}` must be at most {most:.2g}, got {value!r}.")
    if value < least:
        raise ValueError(f"`{name}` must be at least {least:.2g}, got {value!r}.")
    return value


def read_steps(options: argparse.Namespace, sampling: SampledSteps | None = None) -> int:
    """The number of steps; 1 if nothing is said.

    Args:
      options: What was typed.
      sampling: How many steps an epoch has, where `--epochs` may be given instead.
    """
    epochs = getattr(options, "epochs", None)
    if epochs is not None and sampling is not None:
        if options.steps is not None:
            raise ValueError("`--steps` must be left out where --epochs is given.")
        if sampling.kind != "all" and not sampling.divides:
            raise ValueError(
                "`--epochs` must come with --batch-size and --data-size, or a rate of one over a "
                f"whole number of batches, got --sampling-rate {sampling.rate:g}."
            )
        _within("--epochs", validate.positive("--epochs", epochs), 0.0, _MOST)
        steps = validate.count("--epochs", epochs) * (
            1 if sampling.kind == "all" else sampling.batches
        )
        return int(_within("--epochs", steps, 1.0, _MOST))
    if options.steps is None:
        return 1
    _within("--steps", validate.positive("--steps", options.steps), 0.0, _MOST)
    return validate.count("--steps", options.steps)


def _read_records(options: argparse.Namespace) -> int:
    """The records of one user."""
    given = getattr(options, "records_per_user", 1.0)
    validate.real("--records-per-user", given)
    return validate.count("--records-per-user", given, maximum=MOST_RECORDS)


def read_delta(options: argparse.Namespace) -> float:
    """The target δ."""
    return validate.open_unit("--delta", options.delta)


def read_relation(options: argparse.Namespace) -> NeighboringRelation | None:
    """The relation named, in any case and with hyphens; `None` if none is."""
    if options.relation is None:
        return None
    name = options.relation.upper().replace("-", "_")
    if name not in NeighboringRelation.__members__:
        allowed = ", ".join(NeighboringRelation.__members__)
        raise ValueError(f"`--relation` must be one of {allowed}, got {options.relation!r}.")
    return NeighboringRelation[name]


def read_sampling(options: argparse.Namespace) -> SampledSteps:
    """The sampling and its relation."""
    rate = _read_rate(options)
    given = ("all" if rate is None else "poisson") if options.sampling is None else options.sampling
    kind = check("--sampling", given)
    if kind == "all" and rate not in (None, 1.0):
        raise ValueError(f"`--sampling-rate` must be left out without sampling, got {rate!r}.")
    if kind != "all" and rate is None:
        raise ValueError(
            f"`--sampling-rate` must be given for --sampling {kind} (or --batch-size and "
            "--data-size), got none."
        )
    relation = read_relation(options) or _PROVED_FOR[kind]
    sizes = _read_sizes(options)
    drop_last = getattr(options, "drop_last", False)
    if drop_last and sizes is None:
        raise ValueError(
            "`--drop-last` must come with --batch-size and --data-size, got it without."
        )
    batch, size = sizes or (None, None)
    return SampledSteps(
        kind=kind,
        rate=1.0 if rate is None else rate,
        relation=relation,
        epoch=_batches(batch, size, drop_last=drop_last) if batch and size else None,
        drop_last=drop_last,
        data_size=size,
        records=_read_records(options),
    )


def _batches(batch: int, size: int, *, drop_last: bool) -> int:
    return size // batch if drop_last else -(-size // batch)


def _read_rate(options: argparse.Namespace) -> float | None:
    sizes = _read_sizes(options)
    if sizes is not None:
        return sizes[0] / sizes[1]
    given = options.sampling_rate
    if given is None:
        return None
    rate = validate.rate("--sampling-rate", given)
    return _within("--sampling-rate", rate, _LEAST_RATE, 1.0)


def _read_sizes(options: argparse.Namespace) -> tuple[int, int] | None:
    """Batch and data size, if both are given."""
    sizes = (options.batch_size, options.data_size)
    if sizes == (None, None):
        return None
    if None in sizes:
        raise ValueError("`--batch-size` must be given together with --data-size, got only one.")
    if options.sampling_rate is not None:
        raise ValueError("`--sampling-rate` must be left out where --batch-size is given.")
    validate.real("--batch-size", sizes[0])
    validate.real("--data-size", sizes[1])
    batch = validate.count("--batch-size", sizes[0])
    size = validate.count("--data-size", sizes[1])
    _within("--data-size", size, 1.0, _MOST)
    if batch > size:
        raise ValueError(f"`--batch-size` must be at most --data-size, got {batch} of {size}.")
    return batch, size


def read_names(option: str, wanted: str, names: Iterable[str]) -> list[str]:
    """The name itself if there is one, otherwise all that contain what is wanted, in any case."""
    known = list(names)
    found = [wanted] if wanted in known else [n for n in known if wanted.lower() in n.lower()]
    if not found:
        raise ValueError(
            f"`{option}` must be part of one of {sorted(known)}, got {wanted!r}."
            f"{validate.did_you_mean(wanted, known)}"
        )
    return found


def check_writable(option: str, file: Path) -> None:
    """Refuses a file that could not be written, before anything is computed.

    A file of another name is tried: this one may be another process's, or come to be.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            with file.open("ab"):
                pass
        if file.is_file() or not file.exists():
            with tempfile.TemporaryFile(dir=file.parent):
                pass
    except OSError as error:
        raise ValueError(
            f"`{option}` must be a file that can be written, got {str(file)!r} ({error.strerror})."
        ) from error
