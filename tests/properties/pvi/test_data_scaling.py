"""Laws of the scalers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pvi.data import fit_scaler, scaler_from_bounds

finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 4)), elements=finite))
def test_exact_scaling_is_centred_with_deviation_at_most_one(x):
    scaled = fit_scaler(x)(x)
    assert np.all(np.isfinite(scaled))
    assert np.all(np.abs(scaled.mean(axis=0)) <= 1e-6 * (1 + np.abs(x).max()))
    varied = np.ptp(x, axis=0) > 1e-3 * (1 + np.abs(x).max(axis=0))
    np.testing.assert_allclose(scaled.std(axis=0)[varied], 1, rtol=1e-6)


@given(
    arrays(np.float64, (3,), elements=finite),
    arrays(np.float64, (3,), elements=st.floats(1e-3, 1e6)),
    arrays(np.float64, (5, 3), elements=st.floats(allow_nan=False)),
)
def test_public_scaling_lands_in_the_cube_whatever_the_record(lower, width, x):
    scaled = scaler_from_bounds(lower, lower + width)(x)
    assert np.all(np.abs(scaled) <= 1 + 1e-6)
    inside = np.clip(x, lower, lower + width)
    np.testing.assert_array_equal(scaled, scaler_from_bounds(lower, lower + width)(inside))
