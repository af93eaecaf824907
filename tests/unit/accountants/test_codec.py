import json
import math
import sys

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from accountants import (
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    PermuteAndFlipDpEvent,
    codec,
    event_from_json,
    event_from_opacus_history,
    event_to_json,
)

numbers = st.floats(0, 1e6, allow_nan=False)
leaves = st.one_of(
    st.just(dpa.NoOpDpEvent()),
    st.just(dpa.NonPrivateDpEvent()),
    st.builds(dpa.GaussianDpEvent, numbers),
    st.builds(dpa.LaplaceDpEvent, numbers),
    st.builds(dp_event.DiscreteLaplaceDpEvent, numbers, st.integers(1, 10)),
    st.builds(dpa.RandomizedResponseDpEvent, st.floats(0, 1), st.integers(1, 10)),
    st.builds(dpa.ZCDpEvent, numbers, numbers),
    st.builds(EpsilonDeltaDpEvent, numbers, st.floats(0, 1)),
    st.builds(ExponentialMechanismDpEvent, numbers),
    st.builds(PermuteAndFlipDpEvent, numbers),
    st.builds(DiscreteGaussianDpEvent, numbers, st.integers(1, 10)),
    st.builds(dpa.SingleEpochTreeAggregationDpEvent, numbers, st.lists(st.integers(1, 9))),
    st.builds(
        dp_event.MixtureOfGaussiansDpEvent, numbers, st.just([0.0, 1.0]), st.just([0.9, 0.1])
    ),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(dpa.PoissonSampledDpEvent, st.floats(0, 1), inner),
        st.builds(dpa.SampledWithoutReplacementDpEvent, st.just(100), st.integers(0, 100), inner),
        st.builds(dpa.SelfComposedDpEvent, inner, st.integers(1, 10**12)),
        st.builds(dpa.ComposedDpEvent, st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(events)
def test_round_trip(event):
    assert event_from_json(event_to_json(event)) == event


def test_infinite_parameters_survive():
    event = dp_event.RepeatAndSelectDpEvent(dpa.GaussianDpEvent(1.0), 10.0, math.inf)
    assert event_from_json(event_to_json(event)) == event


def document(event) -> str:
    return json.dumps({"format": "dp-assay/event", "version": 1, "event": event})


def test_another_module_is_refused_and_not_imported():
    """The attack that dp-accounting's own reader allows: data that name a module to import."""
    hostile = {"module_name": "antigravity", "class_name": "fly", "noise_multiplier": 1.0}
    for event in (
        hostile,
        hostile | {"type": "GaussianDpEvent"},
        {"type": "antigravity.fly"},
        {"type": "os.system", "command": "true"},
        {"type": "PoissonSampledDpEvent", "sampling_probability": 0.1, "event": hostile},
        {"type": "__class__"},
    ):
        with pytest.raises(ValueError, match="must"):
            event_from_json(document(event))
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[]", "`document` must be a dict"),
        ('{"format": "other", "version": 1}', "`format`, `version` must be"),
        ('{"format": "dp-assay/event", "version": 2, "event": {}}', "`format`, `version` must be"),
        (document([]), "`event` must be a dict"),
        (document({"type": "GaussianDpEvent"}), "must have the fields"),
        (document({"type": "GaussianDpEvent", "noise_multiplier": "1"}), "`noise_multiplier` must"),
        (
            document({"type": "GaussianDpEvent", "noise_multiplier": True}),
            "`noise_multiplier` must",
        ),
        (
            document({"type": "GaussianDpEvent", "noise_multiplier": None}),
            "`noise_multiplier` must",
        ),
        (document({"type": "ComposedDpEvent", "events": [1]}), "`events` must hold events"),
        (
            '{"format": "dp-assay/event", "version": 1, "event": '
            '{"type": "GaussianDpEvent", "noise_multiplier": NaN}}',
            "finite numbers only, got nan",
        ),
        (
            '{"format": "dp-assay/event", "version": 1, "event": '
            '{"type": "GaussianDpEvent", "noise_multiplier": 9.0, "noise_multiplier": 0.1}}',
            "must name each key once",
        ),
    ],
)
def test_malformed_documents_are_refused(text, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        event_from_json(text)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_bottomless_nesting_is_refused(depth):
    inner = '{"type": "NoOpDpEvent"}'
    opening = '{"type": "SelfComposedDpEvent", "count": 1, "event": '
    text = opening * depth + inner + "}" * depth
    with pytest.raises(ValueError, match="nested at most"):
        event_from_json(f'{{"format": "dp-assay/event", "version": 1, "event": {text}}}')


def test_unknown_event_classes_are_not_written():
    class Impostor(dpa.DpEvent):
        pass

    with pytest.raises(ValueError, match="`event` must be one of"):
        event_to_json(Impostor())
    with pytest.raises(ValueError, match="`noise_multiplier` must be a finite number, got nan"):
        event_to_json(dpa.GaussianDpEvent(math.nan))


def test_opacus_history():
    history = [(1.0, 0.01, 100), (2.0, 0.02, 50)]
    event = event_from_opacus_history(history, sampling="poisson")
    assert event == dpa.ComposedDpEvent(
        [
            dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(q, dpa.GaussianDpEvent(s)), n)
            for s, q, n in history
        ]
    )
    fixed = event_from_opacus_history(history, sampling="fixed_size", dataset_size=500)
    assert [inner.event.sample_size for inner in fixed.events] == [5, 10]


@pytest.mark.parametrize(
    ("history", "options", "reason"),
    [
        ([(1.0, 0.01, 1)], {"sampling": "shuffle"}, "`sampling` must be"),
        ([(1.0, 0.01, 1)], {"sampling": "fixed_size"}, "`dataset_size` must be given"),
        (
            [(1.0, 0.01, 1)],
            {"sampling": "fixed_size", "dataset_size": 150},
            "`sample_rate` must be a whole batch",
        ),
        ([(0.0, 0.01, 1)], {"sampling": "poisson"}, "`noise_multiplier` must be positive"),
        ([(1.0, 0.0, 1)], {"sampling": "poisson"}, "`sample_rate` must be"),
        ([(1.0, 0.01, 0)], {"sampling": "poisson"}, "`steps` must be"),
    ],
)
def test_opacus_history_refuses_what_it_cannot_mean(history, options, reason):
    with pytest.raises(ValueError, match=reason):
        event_from_opacus_history(history, **options)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": {"b": 1, "b": 2}}', "must name each key once, got 'b'"),
        ("[" * 65 + "]" * 65, "nested at most 64 deep"),
        ("[" * 100_000, "nested at most 64 deep"),
        ("[1e400]", "finite numbers only, got inf"),
        ("[-Infinity]", "finite numbers only, got -inf"),
        ("[" + "9" * 400 + "]", "floats can reach"),
        ("[" + "9" * 5000 + "]", "floats can reach"),
        ("", "`text` must be JSON"),
    ],
)
def test_the_reader_is_strict(text, reason):
    with pytest.raises(ValueError, match=reason):
        codec.read_json(text)


def test_the_reader_takes_text_only():
    with pytest.raises(TypeError, match="`text` must be a str"):
        codec.read_json(b"{}")
    assert codec.read_json("[" * 63 + "1" + "]" * 63)


def test_numpy_numbers_are_written_as_plain_ones():
    document = codec.dump_document("k", {"a": np.int64(3), "b": np.float32(0.5)})
    assert codec.load_document("k", document) == {"a": 3, "b": 0.5}
