"""Scaling: what each scaler does, and the privacy consequence its notes state."""

import numpy as np
import pytest

from pvi.data import Dataset, Scaler, fit_scaler, scaler_from_bounds


def test_exact_scaling_gives_mean_0_and_deviation_1():
    x = np.random.default_rng(0).normal([3, -50], [0.1, 1000], size=(500, 2))
    scaled = fit_scaler(x)(x)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-12)


def test_the_exact_scaler_gives_away_a_record():
    """Whoever knows all records but one reads the last one from the published mean."""
    x = np.random.default_rng(1).normal(size=(100, 3))
    published = fit_scaler(x)
    recovered = 100 * published.shift - x[1:].sum(axis=0)
    np.testing.assert_allclose(recovered, x[0], atol=1e-10)
    assert published.data_dependent


def test_the_public_scaler_does_not_change_with_the_records():
    scaler = scaler_from_bounds([0, -1], [10, 1])
    assert not scaler.data_dependent
    assert scaler([[0, -1], [5, 0], [10, 1], [1e9, -1e9]]).tolist() == [
        [-1, -1],
        [0, 0],
        [1, 1],
        [1, -1],
    ]


def test_scaling_carries_batch_axes():
    x = np.random.default_rng(2).uniform(size=(4, 7, 2))
    scaler = scaler_from_bounds([0, 0], [1, 2])
    np.testing.assert_array_equal(scaler(x)[3, 6], scaler(x[3, 6]))


def test_a_constant_column_is_centred_exactly():
    x = np.full((7, 1), 0.1)
    assert fit_scaler(x)(x).tolist() == [[0.0]] * 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_scaler([1.0, 2.0]), r"`features` must have the shape \(n, d\).*got \(2,\)"),
        (lambda: fit_scaler(np.empty((0, 2))), "n at least 1"),
        (lambda: fit_scaler([[np.nan]]), "`features` must be finite, got nan"),
        (lambda: scaler_from_bounds([0], [0]), "`lower` must be below `upper`"),
        (lambda: scaler_from_bounds([0], [np.inf]), "`upper` must be finite"),
        (lambda: scaler_from_bounds([0, 1], [2]), r"got \(2,\) and \(1,\)"),
        (
            lambda: scaler_from_bounds([0], [1])([[1, 2]]),
            r"must have the shape \(..., 1\)",
        ),
        (lambda: _scaler(scale=[0.0]), "must be positive in every column"),
        (lambda: _scaler(shift=[np.nan]), "`shift` must be finite"),
        (lambda: _scaler(lower=[2.0]), "`lower` must be below `upper`"),
        (lambda: _scaler(scale=[1.0, 2.0]), "must have one shape"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def _scaler(**changes):
    fields = {"shift": [0.0], "scale": [1.0], "lower": [-1.0], "upper": [1.0]} | changes
    return Scaler(**{k: np.array(v) for k, v in fields.items()}, data_dependent=False)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"features": np.zeros(3), "labels": np.zeros(3)}, "`features` must have the shape"),
        (
            {"features": np.zeros((3, 2)), "labels": np.zeros(2)},
            r"`labels` must .*got \(2,\)",
        ),
        (
            {"features": np.zeros((3, 2)), "labels": np.zeros(3), "names": ("one",)},
            "`names` must hold 2.*got 1",
        ),
    ],
)
def test_dataset_refuses_shapes_that_do_not_fit(fields, message):
    with pytest.raises(ValueError, match=message):
        Dataset(**fields)


def test_dataset_take_and_bias_keep_batch_axes():
    data = Dataset(features=np.arange(12.0).reshape(2, 3, 2), labels=np.arange(6).reshape(2, 3))
    assert len(data) == 3
    some = data.take([2, 0])
    assert some.labels.tolist() == [[2, 0], [5, 3]]
    assert some.features[1].tolist() == [[10, 11], [6, 7]]
    assert data.with_bias().features[1, 0].tolist() == [1, 6, 7]
