"""An owner's records as the model of an experiment has them."""

from pathlib import Path

import numpy as np

from pvi import LogisticRegression, Model, PointModel, Shard
from pvi.data.tables import read_records


def read_own(
    path: Path, target: str, model: Model | PointModel, *, records: Shard | None = None
) -> Shard:
    """All records of the file; classes 0 and 1 become −1 and +1 of logistic regression.

    Raises:
      ValueError: The file is no table, or its columns are not the model's.
    """
    shard = read_records(path, target=target) if records is None else records
    if shard.inputs.shape[-1] != model.dimension:
        raise ValueError(
            f"`data` must have {model.dimension} columns of inputs, as the experiment's model, got "
            f"{shard.inputs.shape[-1]}."
        )
    if isinstance(model, LogisticRegression) and np.isin(shard.targets, (0.0, 1.0)).all():
        return Shard.from_classes(shard.inputs, shard.targets)
    return shard
