"""Numbers as scores: comparable floats, distinct where an observer can tell the numbers apart.

Any fixed map of outputs to the line keeps an audit valid; one that merges outputs only hides leaks.
"""

from typing import Any

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray

LARGEST = float(np.finfo(np.float64).max)
_LARGEST_FINITE = float(np.nextafter(LARGEST, 0.0))
_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
_EXACT = 2**53
# Floats from 2⁵³ to the largest one, and the bit pattern of the first.
_FIRST_PATTERN = int(np.float64(_EXACT).view(np.uint64))
_PATTERNS = int(np.float64(_LARGEST_FINITE).view(np.uint64)) - _FIRST_PATTERN


def as_scores(values: object) -> FloatArray:
    """Numbers as scores, in their order.

    NaN is the largest of all, above +∞, which is above every finite number. −0.0 is another output
    than 0.0 (its sign bit is released) and comes just below it. What shares a place: all NaN; −0.0
    and the number next to it; the two finite numbers of largest magnitude of each sign.

    >>> as_scores([np.nan, np.inf, 0.0, -0.0]).argsort().tolist()
    [3, 2, 1, 0]
    """
    try:
        scores = as_floats(np.asarray(values)).ravel()
    except TypeError:
        raise
    except Exception:
        allowed = "numbers, in an array or nested lists of one shape"
        raise validate.refusal("scores", allowed, values) from None
    if not (np.abs(scores) < _LARGEST_FINITE).all():
        finite = np.clip(scores, -_LARGEST_FINITE, _LARGEST_FINITE)
        scores = np.where(np.isinf(scores), np.copysign(LARGEST, scores), finite)
        scores = np.where(np.isnan(scores), np.inf, scores)
    minus_zero = (scores == 0.0) & np.signbit(scores)
    return np.where(minus_zero, -_SMALLEST, scores) if minus_zero.any() else scores


def as_floats(array: Any) -> FloatArray:
    """An array of real numbers as floats; integers that no float equals keep apart.

    The integer ±(2⁵³ + r) becomes the r-th float after ±2⁵³: larger than it is, but in order, and
    with every neighbour distinct. After 4.4e18 integers the floats are used up and begin anew.

    >>> len(set(as_floats(np.array([2**53, 2**53 + 1, 2**53 + 2])).tolist()))
    3
    """
    if array.dtype.kind == "c":
        raise TypeError("scores must be real numbers, got complex ones.")
    if array.dtype.kind == "O":
        whole = [isinstance(x, int | np.integer) and abs(int(x)) > _EXACT for x in array.flat]
        each = [
            _beyond(int(x)) if wide else float(x) for x, wide in zip(array.flat, whole, strict=True)
        ]
        return np.array(each, dtype=np.float64).reshape(array.shape)
    floats: FloatArray = array.astype(np.float64, copy=False)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        wide = np.abs(floats) >= _EXACT
        if wide.any():
            floats = floats.copy()
            floats[wide] = [_beyond(int(x)) for x in array[wide]]
    return floats


def _beyond(number: int) -> float:
    steps = (abs(number) - _EXACT) % _PATTERNS
    size = float(np.uint64(_FIRST_PATTERN + steps).view(np.float64))
    return size if number > 0 else -size
