"""Data: generators, loaders, splits and scaling."""

from pvi.data.dataset import Dataset
from pvi.data.scaling import Scaler, fit_scaler, scaler_from_bounds
from pvi.data.splits import Split, balance, holdout, split
from pvi.data.synthetic import linear_data, logistic_data

__all__ = [
    "Dataset",
    "Scaler",
    "Split",
    "balance",
    "fit_scaler",
    "holdout",
    "linear_data",
    "logistic_data",
    "scaler_from_bounds",
    "split",
]
