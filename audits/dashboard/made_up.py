"""Records of nobody, drawn from an experiment's own model, for those who want to try one out."""

import csv
import io
import tomllib
from pathlib import Path

import numpy as np

from accountants import validate
from pvi.data import linear_data, logistic_data
from pvi.data.dataset import Dataset
from pvi.files import write_atomically

MOST_RECORDS = 10_000
_MOST_NUMBERS = 5_000_000
_HELD_OUT = 500


def write_made_up(folder: Path, experiment: Path, size: int, seed: int) -> tuple[Path, Path]:
    """Writes records of all clients, and held-out ones; the files, as they are if they exist.

    Args:
      folder: Where they are written.
      experiment: The experiment's file, TOML.
      size: Records per client.
      seed: They are the same for the same seed.

    Raises:
      ValueError: They would be too many.
    """
    files = folder / "records.csv", folder / "held_out.csv"
    if all(file.exists() for file in files):
        return files
    body = tomllib.loads(experiment.read_text(encoding="utf-8"))
    model, clients = body["model"], body["clients"]
    width = model["dimension"]
    validate.count("made_up", size, maximum=MOST_RECORDS)
    if clients * size * width > _MOST_NUMBERS:
        raise ValueError(
            f"`made_up` times the clients and inputs must be at most {_MOST_NUMBERS:,}, got "
            f"{clients * size * width:,}."
        )
    rng = np.random.default_rng([seed, 1])  # not the noise's own stream
    theta = np.linspace(-1.0, 2.0, width) / np.sqrt(width)
    for file, batch, rows in ((files[0], (clients,), size), (files[1], (1,), _HELD_OUT)):
        if model["kind"] == "linear_regression":
            scale = model["noise_std"]
            data = linear_data(theta=theta, noise_scale=scale, size=rows, rng=rng, batch=batch)
        else:
            data = logistic_data(theta=theta, size=rows, rng=rng, batch=batch)
        write_atomically(file, _table(data).encode("ascii"))
    return files


def _table(data: Dataset) -> str:
    width = data.features.shape[-1]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["client", *(f"x{k}" for k in range(width)), "target"])
    for client, (inputs, labels) in enumerate(zip(data.features, data.labels, strict=True)):
        for row, label in zip(inputs.tolist(), labels.tolist(), strict=True):
            writer.writerow([client, *row, label])
    return text.getvalue()
