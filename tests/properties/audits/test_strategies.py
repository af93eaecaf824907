"""The public strategies give neighbours and supported events."""

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import FourierAccountant, event_from_json, event_to_json
from audits.testing import strategies


@given(st.data(), st.sampled_from(list(NeighboringRelation)), st.booleans())
def test_neighbours_differ_in_one_record(data, relation, wild):
    first, second = data.draw(strategies.neighbours(relation, dimension=2, wild=wild))
    assert first.shape[1] == second.shape[1] == 2
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        longer, shorter = sorted((first, second), key=len, reverse=True)
        assert len(longer) == len(shorter) + 1
        assert any(
            np.array_equal(np.delete(longer, i, axis=0), shorter, equal_nan=True)
            for i in range(len(longer))
        )
    else:
        different = ~np.all((first == second) | (np.isnan(first) & np.isnan(second)), axis=1)
        assert different.sum() <= 1
    if not wild:
        assert np.abs(np.concatenate([first, second])).max(initial=0.0) <= 1.0


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@settings(max_examples=40)
@given(st.data())
def test_events_are_supported(relation, data):
    event = data.draw(strategies.events(relation))
    assert FourierAccountant(relation).supports(event)
    assert event_from_json(event_to_json(event)) is not None
