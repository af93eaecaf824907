"""The words of a training loop as options, and how they are read.

Messages name an option as it is typed, so values are checked here before the accountants see them.
"""

import argparse

from dp_accounting import NeighboringRelation

from accountants import validate
from accountants.groups import MOST_RECORDS
from accountants.sampling import check
from audits.cli.numbers import number
from audits.cli.options import Container
from audits.cli.sampled_steps import SampledSteps
from audits.signing.run import PROVED_FOR
from audits.wording import RELATIONS

# Beyond these doubles overflow, or integrals take too long, before anything is said: less noise is
# none, and more steps than this nobody takes.
_LEAST_NOISE, _LEAST_RATE, _MOST_NOISE, _MOST = 0.01, 1e-12, 1e12, 1e9


def add_noise(parser: Container, *, required: bool = True) -> None:
    """Adds `--noise-multiplier`."""
    parser.add_argument(
        "--noise-multiplier",
        type=number,
        required=required,
        metavar="σ",
        help="the noise's standard deviation divided by C, the norm to which one record is "
        "clipped, such as 1.1",
    )


def add_steps(parser: Container) -> None:
    """Adds `--steps`."""
    parser.add_argument(
        "--steps",
        type=number,
        metavar="T",
        help="number of noisy releases, such as 10k: batches, not epochs or rounds; default 1",
    )


def add_epochs(parser: Container) -> None:
    """Adds `--epochs` and `--drop-last`: a loop's own words for `--steps`."""
    parser.add_argument(
        "--epochs",
        type=number,
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
        type=number,
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
        type=number,
        metavar="q",
        help="share of the records in one batch, in (0, 1], such as 0.01 or 256/60000",
    )
    parser.add_argument(
        "--batch-size",
        type=number,
        metavar="B",
        help="records in one batch, such as 256; with --data-size, instead of the rate",
    )
    parser.add_argument(
        "--data-size", type=number, metavar="N", help="records in the data set, such as 60k"
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
        type=number,
        required=required,
        metavar="δ",
        help="in (0, 1), such as 1e-5; well below one over the number of records",
    )


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
    relation = read_relation(options) or PROVED_FOR[kind]
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


def read_data_size(options: argparse.Namespace) -> int | None:
    """The number of records, where it was given."""
    if options.data_size is None:
        return None
    validate.real("--data-size", options.data_size)
    size = validate.count("--data-size", options.data_size)
    return int(_within("--data-size", size, 1.0, _MOST))


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
