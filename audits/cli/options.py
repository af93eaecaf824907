"""Options that several commands share, and how they are read.

Those that describe a training are in `audits.cli.training`.
"""

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from accountants import validate
from audits.cli.numbers import number

Container: TypeAlias = "argparse._ActionsContainer"  # a parser, or a group of its options


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
        type=number,
        default=0.99,
        help=f"in (0, 1), default 0.99, of each {audit}: a true claim is refuted with probability "
        "at most 0.01",
    )
    parser.add_argument(
        "--max-samples",
        type=number,
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
