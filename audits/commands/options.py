"""Options that several commands share, and how they are read.

Messages name an option as it is typed, so values are checked here before the accountants see them.
"""

import argparse
from dataclasses import dataclass
from typing import TypeAlias

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import _validate
from accountants.noisy_steps import step_event
from audits.wording import RELATIONS

Container: TypeAlias = "argparse._ActionsContainer"  # a parser, or a group of its options

# What is sampled, how the accountants call it, and the relation it is proved for.
_SAMPLINGS = {
    "poisson": ("poisson", NeighboringRelation.ADD_OR_REMOVE_ONE),
    "fixed-size": ("without_replacement", NeighboringRelation.REPLACE_ONE),
    "shuffled": ("shuffled", NeighboringRelation.REPLACE_SPECIAL),
    "none": ("poisson", NeighboringRelation.ADD_OR_REMOVE_ONE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How records get into a step, and which data sets are neighbours.

    Attributes:
      kind: As on the command line.
      rate: The share of the records in one batch.
      relation: Which data sets are neighbours.
    """

    kind: str
    rate: float
    relation: NeighboringRelation

    @property
    def api_name(self) -> str:
        """What the accountants call it."""
        return _SAMPLINGS[self.kind][0]

    @property
    def batches(self) -> int:
        """Batches in a shuffled epoch."""
        return max(1, round(1.0 / self.rate))

    def step(self, noise_multiplier: float) -> dpa.DpEvent:
        """The event of one step; refused where sampling and relation do not fit."""
        if self.kind == "shuffled":
            raise ValueError(
                "`--sampling` must be poisson, fixed-size or none here, got shuffled: only "
                "`dp-assay epsilon` has bounds for shuffled batches."
            )
        return step_event(noise_multiplier, self.rate, self.api_name, self.relation)

    def describe(self) -> str:
        """The sampling in words."""
        if self.rate == 1.0:
            return "no sampling: every record is in every step"
        return {
            "poisson": "Poisson sampling: each record enters each batch independently with "
            f"probability {self.rate:g}",
            "fixed-size": f"batches of fixed size, a share of {self.rate:g} of the records drawn "
            "without replacement, afresh for every step",
            "shuffled": f"shuffled batches: each record is in exactly one of {self.batches} "
            "batches per epoch",
        }[self.kind]


def add_noise(parser: Container, *, required: bool = True) -> None:
    """Adds `--noise-multiplier`."""
    parser.add_argument(
        "--noise-multiplier",
        type=float,
        required=required,
        metavar="σ",
        help="noise std divided by C, the norm to which one record is clipped",
    )


def add_steps(parser: Container, *, default: float | None = 1.0) -> None:
    """Adds `--steps`."""
    parser.add_argument(
        "--steps",
        type=float,
        default=default,
        metavar="T",
        help="number of noisy releases, such as 1e4"
        + ("" if default is None else f"; default {default:g}"),
    )


def add_sampling(parser: Container) -> None:
    """Adds the options that say who is in a batch, and `--relation`."""
    parser.add_argument(
        "--sampling",
        choices=list(_SAMPLINGS),
        help="how a batch is chosen: poisson (each record on its own), fixed-size (without "
        "replacement), shuffled (each record once per epoch), none. These cost differently. "
        "Default: poisson if a rate is given, else none",
    )
    parser.add_argument(
        "--sampling-rate",
        type=float,
        metavar="q",
        help="share of the records in one batch, in (0, 1]",
    )
    parser.add_argument(
        "--batch-size", type=float, metavar="B", help="with --data-size, instead of the rate"
    )
    parser.add_argument("--data-size", type=float, metavar="N", help="number of records")
    add_relation(parser)


def add_relation(parser: Container) -> None:
    """Adds `--relation`."""
    parser.add_argument(
        "--relation",
        metavar="RELATION",
        help="which data sets are neighbours: "
        + ", ".join(f"{relation.name} ({words})" for relation, words in RELATIONS.items())
        + ". Default: the one that the sampling is accounted for with",
    )


def add_delta(parser: Container) -> None:
    """Adds `--delta`."""
    parser.add_argument(
        "--delta", type=float, required=True, metavar="δ", help="in (0, 1), well below 1/records"
    )


def add_json(parser: Container) -> None:
    """Adds `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def read_noise(options: argparse.Namespace) -> float:
    """The noise multiplier."""
    return _validate.positive("--noise-multiplier", options.noise_multiplier)


def read_steps(options: argparse.Namespace) -> int:
    """The number of steps."""
    _validate.positive("--steps", options.steps)
    return _validate.count("--steps", options.steps)


def read_delta(options: argparse.Namespace) -> float:
    """The target δ."""
    return _validate.open_unit("--delta", options.delta)


def read_relation(options: argparse.Namespace) -> NeighboringRelation | None:
    """The relation named, in any case and with hyphens; `None` if none is."""
    if options.relation is None:
        return None
    name = options.relation.upper().replace("-", "_")
    if name not in NeighboringRelation.__members__:
        allowed = ", ".join(NeighboringRelation.__members__)
        raise ValueError(f"`--relation` must be one of {allowed}, got {options.relation!r}.")
    return NeighboringRelation[name]


def read_sampling(options: argparse.Namespace) -> Sampling:
    """The sampling and its relation."""
    rate = _read_rate(options)
    kind = options.sampling or ("none" if rate is None else "poisson")
    if kind == "none" and rate not in (None, 1.0):
        raise ValueError(f"`--sampling-rate` must be left out without sampling, got {rate!r}.")
    if kind != "none" and rate is None:
        raise ValueError(
            f"`--sampling-rate` must be given for --sampling {kind} (or --batch-size and "
            "--data-size), got none."
        )
    relation = read_relation(options) or _SAMPLINGS[kind][1]
    return Sampling(kind=kind, rate=1.0 if rate is None else rate, relation=relation)


def _read_rate(options: argparse.Namespace) -> float | None:
    sizes = (options.batch_size, options.data_size)
    if sizes == (None, None):
        given = options.sampling_rate
        return None if given is None else _validate.rate("--sampling-rate", given)
    if None in sizes:
        raise ValueError("`--batch-size` must be given together with --data-size, got only one.")
    if options.sampling_rate is not None:
        raise ValueError("`--sampling-rate` must be left out where --batch-size is given.")
    _validate.real("--batch-size", sizes[0])
    _validate.real("--data-size", sizes[1])
    batch = _validate.count("--batch-size", sizes[0])
    size = _validate.count("--data-size", sizes[1])
    if batch > size:
        raise ValueError(f"`--batch-size` must be at most --data-size, got {batch} of {size}.")
    return batch / size
