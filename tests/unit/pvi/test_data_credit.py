"""The synthetic credit data: unbalanced, unlike clients with few defaults."""

import math

import numpy as np
import pytest

from pvi.data import credit_data
from pvi.data.credit import client_sizes


def test_sizes_are_constants_and_unbalanced() -> None:
    first, second = (credit_data(rng=np.random.default_rng(s), records=5000) for s in (0, 1))
    sizes = [len(part) for part in first]
    assert sizes == [len(part) for part in second] == list(client_sizes(5000, 14, 40.0))
    assert sum(sizes) == 5000
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] / sizes[-1] == pytest.approx(40.0, rel=0.1)


def test_the_same_seed_gives_the_same_data() -> None:
    first, second = (credit_data(rng=np.random.default_rng(5), records=1000) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_default_rates_are_the_ones_asked_for() -> None:
    """Labels are independent given the features, with mean r: Hoeffding, false alarm < 1e-7."""
    parts = credit_data(
        rng=np.random.default_rng(2),
        records=40_000,
        clients=2,
        size_ratio=1.0,
        default_rates=(0.05, 0.4),
    )
    rates = sorted(float(part.labels.mean()) for part in parts)
    band = math.sqrt(math.log(4 / 1e-7) / (2 * 20_000))
    assert abs(rates[0] - 0.05) < band
    assert abs(rates[1] - 0.4) < band


def test_half_of_the_features_are_distributed_alike_and_half_are_not() -> None:
    """Means of unit-variance features over n records, 7 standard errors: false alarm < 1e-9."""
    parts = credit_data(rng=np.random.default_rng(3), records=28_000, size_ratio=1.0)
    means = np.array([part.features.mean(axis=0) for part in parts])
    error = 1.0 / math.sqrt(2000)
    assert np.abs(means[:, 14:]).max() < 7 * error
    assert np.abs(means[:, :14]).max() > 20 * error
    within = np.concatenate([part.features - part.features.mean(axis=0) for part in parts])
    correlation = np.corrcoef(within, rowvar=False)
    off_diagonal = correlation[~np.eye(28, dtype=bool)]
    assert np.abs(off_diagonal - 0.3).max() < 7 / math.sqrt(28_000)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"records": 5}, "records"),
        ({"records": 20}, "records"),
        ({"default_rates": (0.0, 0.1)}, "default_rates"),
        ({"default_rates": (0.2, 0.1)}, "default_rates"),
        ({"signal": 0.0}, "signal"),
        ({"size_ratio": math.inf}, "size_ratio"),
    ],
)
def test_impossible_arguments_are_refused(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` must"):
        credit_data(rng=np.random.default_rng(0), **arguments)  # type: ignore[arg-type]
