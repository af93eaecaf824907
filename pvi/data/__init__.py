"""Data: generators, loaders, splits and scaling."""

from pvi.data.adult import load_adult
from pvi.data.cache import cache_directory
from pvi.data.credit import credit_data
from pvi.data.dataset import Dataset
from pvi.data.errors import DataError, DataUnavailableError, HashMismatchError
from pvi.data.mimic import fill_missing, load_mimic
from pvi.data.scaling import Scaler, fit_scaler, scaler_from_bounds
from pvi.data.splits import Split, balance, holdout, split
from pvi.data.synthetic import linear_data, logistic_data
from pvi.data.tables import read_shards

__all__ = [
    "DataError",
    "DataUnavailableError",
    "Dataset",
    "HashMismatchError",
    "Scaler",
    "Split",
    "balance",
    "cache_directory",
    "credit_data",
    "fill_missing",
    "fit_scaler",
    "holdout",
    "linear_data",
    "load_adult",
    "load_mimic",
    "logistic_data",
    "read_shards",
    "scaler_from_bounds",
    "split",
]
