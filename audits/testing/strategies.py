"""Hypothesis strategies: property-test your own mechanisms and accountants.

Import this module by name (`from audits import strategies`); it needs hypothesis, which
`import audits` does not.

>>> from hypothesis import given
>>> @given(neighbours(max_records=5))
... def sensitivity_is_at_most_one(pair):
...     first, second = pair
...     assert abs(len(first) - len(second)) <= 1
>>> sensitivity_is_at_most_one()
"""

import math

import dp_accounting as dpa
import numpy as np
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import DiscreteLaplaceDpEvent
from hypothesis import strategies as st

from accountants.arrays import FloatArray

_Relation = NeighboringRelation


def records(
    dimension: int = 1, *, bound: float = 1.0, wild: bool = False
) -> st.SearchStrategy[FloatArray]:
    """One record: a vector with coordinates in ±bound; extremes and zero come up often.

    Args:
      dimension: Its length.
      bound: The largest size of a coordinate.
      wild: Also draw outliers, infinities and NaN, which a clipping mechanism must survive.
    """
    plain = st.floats(-bound, bound, allow_nan=False, width=64)
    coordinate = st.one_of(st.sampled_from([0.0, bound, -bound]), plain)
    if wild:
        strange = [1e3 * bound, -1e3 * bound, 1e300, math.inf, -math.inf, math.nan]
        coordinate = st.one_of(coordinate, st.sampled_from(strange))
    return st.lists(coordinate, min_size=dimension, max_size=dimension).map(
        lambda values: np.array(values, dtype=np.float64)
    )


@st.composite
def neighbours(
    draw: st.DrawFn,
    relation: NeighboringRelation = _Relation.ADD_OR_REMOVE_ONE,
    *,
    max_records: int = 10,
    dimension: int = 1,
    bound: float = 1.0,
    wild: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Two neighbouring data sets, arrays (records, dimension), in either order.

    Args:
      draw: Supplied by hypothesis.
      relation: Which data sets are neighbours: one record more, one replaced, or one set to zero.
      max_records: Size of the larger one at most.
      dimension: Length of a record.
      bound: The largest size of a coordinate.
      wild: See `records`.
    """
    record = records(dimension, bound=bound, wild=wild)
    others = draw(st.lists(record, max_size=max(0, max_records - 1)))
    position = draw(st.integers(0, len(others)))
    this = draw(record)
    if relation is _Relation.ADD_OR_REMOVE_ONE:
        that: list[FloatArray] = []
    elif relation is _Relation.REPLACE_ONE:
        that = [draw(record)]
    else:
        that = [np.zeros(dimension)]
    first = [*others[:position], this, *others[position:]]
    second = [*others[:position], *that, *others[position:]]
    pair = tuple(np.array(rows).reshape(-1, dimension) for rows in (first, second))
    return (pair[0], pair[1]) if draw(st.booleans()) else (pair[1], pair[0])


@st.composite
def events(
    draw: st.DrawFn,
    relation: NeighboringRelation = _Relation.ADD_OR_REMOVE_ONE,
    *,
    max_steps: int = 1000,
    composed: bool = True,
) -> dpa.DpEvent:
    """A `DpEvent` that the accountants of this project support under `relation`.

    Args:
      draw: Supplied by hypothesis.
      relation: The neighbouring relation.
      max_steps: The most repetitions of one event.
      composed: Also draw compositions of different events.
    """
    event = draw(_single(relation))
    if draw(st.booleans()):
        event = dpa.SelfComposedDpEvent(event, draw(st.integers(1, max_steps)))
    if composed and draw(st.booleans()):
        event = dpa.ComposedDpEvent([event, draw(_single(relation))])
    return event


def _single(relation: NeighboringRelation) -> st.SearchStrategy[dpa.DpEvent]:
    noise = st.floats(0.3, 20.0)
    gaussian = st.builds(dpa.GaussianDpEvent, noise)
    kinds: list[st.SearchStrategy[dpa.DpEvent]] = [
        gaussian,
        st.builds(dpa.PoissonSampledDpEvent, st.floats(1e-4, 1.0), gaussian),
        st.builds(dpa.LaplaceDpEvent, noise),
        st.builds(DiscreteLaplaceDpEvent, st.floats(0.05, 3.0), st.integers(1, 3)),
    ]
    if relation is not _Relation.ADD_OR_REMOVE_ONE:
        kinds.append(
            st.builds(dpa.RandomizedResponseDpEvent, st.floats(0.01, 0.99), st.integers(2, 8))
        )
    if relation is _Relation.REPLACE_ONE:
        kinds.append(
            st.integers(2, 10_000).flatmap(
                lambda size: st.builds(
                    dpa.SampledWithoutReplacementDpEvent,
                    st.just(size),
                    st.integers(1, size),
                    gaussian,
                )
            )
        )
    return st.one_of(kinds)
