"""Writes docs/records.csv: what `dp-assay run docs/experiment.toml` learns from.

    .venv/bin/python docs/make_records.py

Five sites have 400 synthetic records each: y = x₁ − 2·x₂ + a standard normal error.
"""

from pathlib import Path

import numpy as np

RECORDS = Path(__file__).with_name("records.csv")


def table() -> str:
    """The records as CSV text, rounded to two decimals."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((2_000, 2))
    targets = inputs @ [1.0, -2.0] + rng.standard_normal(2_000)
    lines = ["x1,x2,target,client"]
    for number, ((x1, x2), target) in enumerate(zip(inputs, targets, strict=True)):
        lines.append(f"{x1:.2f},{x2:.2f},{target:.2f},{number % 5}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    RECORDS.write_text(table(), encoding="utf-8")
