"""Writes `recorded.json`: every specimen audited with many seeds, how often it came out how.

python -m audits.specimens.record --seeds 200 [--workers 2] [NAME …]

The flawed mechanism is audited at 99%, its twin at 99% (at which one in a hundred sound twins may
be accused, by the meaning of confidence) and at the level of `examine`. The same draws serve for
both levels: the path of the larger audit tells when the smaller one would have spoken.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from accountants import versions
from accountants.seals import read_sealed, write_sealed
from audits.specimens import SPECIMENS
from audits.specimens.examine import run_zoo
from audits.testing.sequential import log_threshold
from audits.verdict import Word

RECORD = "recorded.json"
CONFIDENCE = 0.99


def recorded() -> dict[str, Any]:
    """The record that ships with the package."""
    return read_sealed(resources.files("audits.specimens").joinpath(RECORD))


def outcome(name: str, seed: int) -> dict[str, Any]:
    """One specimen, one seed: the words for both, and the draws they took."""
    (one,) = run_zoo([SPECIMENS[name]], np.random.default_rng(seed), CONFIDENCE)
    log_wealth = one.repaired.evidence.log_largest_wealth
    assert log_wealth is not None
    return {
        "flawed": one.flawed.word.value,
        "flawed_samples": one.flawed.evidence.samples,
        "repaired": one.repaired.word.value,
        "repaired_over_99": log_wealth >= log_threshold(CONFIDENCE),
        "repaired_confidence": one.repaired.evidence.confidence,
    }


def summary(name: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How often what was said, over all seeds."""
    samples = [row["flawed_samples"] for row in found]
    return {
        "expected": [word.value for word in SPECIMENS[name].expected],
        "seeds": len(found),
        "flawed_refuted": sum(row["flawed"] == Word.REFUTED.value for row in found),
        "flawed_samples_median": float(np.median(samples)),
        "flawed_samples_largest": max(samples),
        "repaired_refuted": sum(row["repaired"] == Word.REFUTED.value for row in found),
        "repaired_confidence": found[0]["repaired_confidence"],
        "repaired_wealth_over_99": sum(row["repaired_over_99"] for row in found),
        "max_samples": SPECIMENS[name].max_samples,
    }


def _outcomes(names: Sequence[str], seeds: int, workers: int) -> Iterator[tuple[str, list[Any]]]:
    with ProcessPoolExecutor(workers) as pool:
        for name in names:
            yield name, list(pool.map(outcome, [name] * seeds, range(seeds), chunksize=5))


def main(arguments: Sequence[str]) -> None:
    """Runs the audits and rewrites the record after each specimen."""
    parser = argparse.ArgumentParser(prog="python -m audits.specimens.record")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all if none is given")
    options = parser.parse_args(arguments)
    target = Path(__file__).with_name(RECORD)
    old = read_sealed(target)["specimens"] if target.exists() else {}
    names = options.names or list(SPECIMENS)
    for name, found in _outcomes(names, options.seeds, options.workers):
        old[name] = summary(name, found) | {"versions": versions.installed()}
        content = {
            "what": "Audits of every specimen with the seeds 0, 1, …; flawed ones at confidence "
            "0.99, twins at theirs. A twin's wealth may pass the line of 0.99 in 1% of the seeds "
            "though its claim is true: that count is beside.",
            "command": f"python -m audits.specimens.record --seeds {options.seeds}",
            "specimens": {name: old[name] for name in SPECIMENS if name in old},
        }
        write_sealed(target, content)
        print(name, old[name], file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
