"""Clipping, screening, sampling and partitions, and what they refuse."""

import math
from fractions import Fraction

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from accountants import BallsInBinsDpEvent
from mechanisms import (
    AllRecords,
    BallsInBins,
    FixedSize,
    FlatClip,
    LayerClip,
    Partition,
    Poisson,
    Shuffled,
    UnsupportedEventError,
    clip_rows,
    require_match,
    screen_records,
)
from pvi import FixedSizeSampling, FullBatch, PoissonSampling, Shard

any_float = st.floats(allow_nan=True, allow_infinity=True, width=64)
STEP = dpa.GaussianDpEvent(1.0)


@given(
    arrays.arrays(np.float64, (3, 4), elements=any_float),
    st.floats(1e-6, 1e6),
)
def test_no_row_leaves_the_ball_and_none_is_nan(rows, clip_norm):
    clipped, screened = clip_rows(rows, clip_norm)
    finite = np.isfinite(rows).all(axis=-1)
    assert screened == 3 - finite.sum()
    assert (clipped[~finite] == 0.0).all()
    for row in clipped:
        # exact arithmetic: rounding cannot hide an excess
        assert sum(Fraction(float(value)) ** 2 for value in row) <= Fraction(clip_norm) ** 2


@given(arrays.arrays(np.float64, (2, 3), elements=st.floats(-1.0, 1.0)))
def test_rows_inside_stay_as_they_are(rows):
    assert np.array_equal(clip_rows(rows, 2.0).rows, rows)


def test_rows_outside_keep_their_direction():
    rows = np.array([[3.0, -4.0], [3e200, -4e200], [3e-200, -4e-200]])
    clipped = clip_rows(rows, 0.5).rows
    assert np.allclose(clipped[:2], [[0.3, -0.4]] * 2, rtol=1e-9)
    assert np.array_equal(clipped[2], rows[2])


def test_clip_norms_may_differ_between_repetitions():
    rows = np.ones((3, 5, 2))
    limits = np.array([0.1, 1.0, 10.0])
    norms = np.linalg.norm(clip_rows(rows, limits[:, None]).rows, axis=-1)
    assert np.allclose(norms, np.minimum(limits, math.sqrt(2.0))[:, None], rtol=1e-9)


def test_layers_are_clipped_on_their_own_and_the_total_norm_is_that_of_all():
    clip = LayerClip(sizes=(2, 1), clip_norms=(3.0, 4.0))
    assert clip.norm == 5.0
    rows = np.array([[30.0, 40.0, -80.0], [0.3, 0.4, 0.5], [np.inf, 0.0, 1.0]])
    clipped, screened = clip(rows)
    assert np.allclose(clipped, [[1.8, 2.4, -4.0], [0.3, 0.4, 0.5], [0, 0, 0]], rtol=1e-9)
    assert screened == 1
    assert np.linalg.norm(clipped[0]) == pytest.approx(5.0, rel=1e-9)  # attained
    with pytest.raises(ValueError, match="`sizes` must add up to the rows' 2"):
        clip(np.ones((1, 2)))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 1e-200])
def test_impossible_clip_norms_are_refused(bad):
    with pytest.raises(ValueError, match=r"`clip_norm` must be .*, got"):
        FlatClip(bad)
    with pytest.raises(ValueError, match=r"`clip_norms` must be .*, got"):
        LayerClip(sizes=(1,), clip_norms=(bad,))


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, math.nan])
def test_impossible_sampling_rates_are_refused(bad):
    with pytest.raises(ValueError, match=r"`sampling_rate` must be .*, got"):
        Poisson(bad)


def test_records_with_nan_are_screened_and_reported():
    inputs = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, np.inf], [4.0, 5.0]])
    shard, positions = screen_records(inputs, [1.0, 1.0, -1.0, np.nan])
    assert positions == (1, 2, 3)
    assert np.array_equal(shard.inputs, [[1, 2], [0, 0], [0, 0], [0, 0]])
    assert shard.size == 4


def test_every_sampling_has_its_own_event():
    assert AllRecords().event(STEP, 3, Relation.REPLACE_ONE) == dpa.SelfComposedDpEvent(STEP, 3)
    assert Poisson(0.1).event(STEP, 1, Relation.REPLACE_ONE) == dpa.PoissonSampledDpEvent(0.1, STEP)
    assert Poisson(1.0).event(STEP, 1, Relation.ADD_OR_REMOVE_ONE) == STEP
    fixed = FixedSize(2, 10).event(STEP, 1, Relation.REPLACE_ONE)
    assert fixed == dpa.SampledWithoutReplacementDpEvent(10, 2, STEP)
    # 10 records in batches of 4: three steps an epoch; seven steps begin three epochs.
    shuffled = Shuffled(4, 10).event(STEP, 7, Relation.REPLACE_SPECIAL)
    assert shuffled == dpa.SelfComposedDpEvent(STEP, 3)


@pytest.mark.parametrize("relation", [Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL])
def test_fixed_size_batches_are_not_accounted_for_as_poisson(relation):
    with pytest.raises(UnsupportedEventError, match="under REPLACE_ONE only"):
        FixedSize(2, 10).event(STEP, 1, relation)


def test_shuffled_batches_are_not_accounted_for_as_poisson():
    with pytest.raises(UnsupportedEventError, match=r"the rate would be 0\.4"):
        Shuffled(4, 10).event(STEP, 1, Relation.ADD_OR_REMOVE_ONE)


@pytest.mark.parametrize(
    ("sampler", "event"),
    [
        (FixedSizeSampling(batch_size=1), dpa.PoissonSampledDpEvent(0.1, STEP)),
        (Shuffled(1, 10).sampler(), dpa.PoissonSampledDpEvent(0.1, STEP)),
        (FullBatch(), dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.1, STEP), 5)),
        (PoissonSampling(sampling_rate=0.2), dpa.PoissonSampledDpEvent(0.1, STEP)),
        (PoissonSampling(sampling_rate=0.1), dpa.SampledWithoutReplacementDpEvent(10, 1, STEP)),
        (FixedSizeSampling(batch_size=2), dpa.SampledWithoutReplacementDpEvent(10, 1, STEP)),
        (BallsInBins(2).sampler(), BallsInBinsDpEvent(3, STEP)),
        (Shuffled(1, 3).sampler(), BallsInBinsDpEvent(3, STEP)),
    ],
)
def test_an_event_of_another_sampling_is_refused(sampler, event):
    with pytest.raises(UnsupportedEventError, match="the event claims"):
        require_match(sampler, event)


@pytest.mark.parametrize(
    ("sampler", "event"),
    [
        (PoissonSampling(sampling_rate=0.1), dpa.PoissonSampledDpEvent(0.1, STEP)),
        (FixedSizeSampling(batch_size=1), dpa.SampledWithoutReplacementDpEvent(9, 1, STEP)),
        (FullBatch(), STEP),
    ],
)
def test_matching_events_pass(sampler, event):
    assert require_match(sampler, event) is None  # no exception, whatever surrounds the step
    assert require_match(sampler, dpa.SelfComposedDpEvent(event, 5)) is None


def test_a_shuffled_epoch_uses_every_record_once_in_every_repetition():
    sampler = Shuffled(4, 10).sampler()
    rng = np.random.default_rng(0)
    for shape in ((), (50,)):
        epochs = []
        for _ in range(2):
            rows = np.concatenate([sampler.draw(10, shape, rng).indices for _ in range(3)], axis=-1)
            assert np.array_equal(np.sort(rows, axis=-1), np.broadcast_to(range(10), rows.shape))
            epochs.append(rows)
        assert not np.array_equal(epochs[0], epochs[1])
        sampler.draw(10, shape, rng)
        sampler = sampler.begin()  # what a message does: an epoch of its own


def test_an_epoch_of_balls_in_bins_uses_every_record_once_in_every_repetition():
    sampler = BallsInBins(3).sampler()
    rng = np.random.default_rng(0)
    for _ in range(2):
        rows = np.concatenate([sampler.draw(10, (), rng).indices for _ in range(3)])
        assert np.array_equal(np.sort(rows), range(10))
    sampler.draw(10, (), rng)
    sampler = sampler.begin()  # what a message does: an epoch of its own
    masks = np.stack([sampler.draw(10, (500,), rng).mask for _ in range(3)])
    assert np.array_equal(np.sum(masks, axis=0), np.ones((500, 10)))
    # Each on its own: the sizes of batches vary, and a bin's share is 1/3 up to six deviations.
    assert len(np.unique(np.sum(masks, axis=2))) > 3
    assert abs(float(np.mean(masks[0])) - 1 / 3) < 6 * math.sqrt(2 / 9 / 5000)


def test_an_epoch_of_balls_in_bins_that_is_begun_is_counted():
    event = BallsInBins(3).event(STEP, 7, Relation.ADD_OR_REMOVE_ONE)
    assert event == dpa.SelfComposedDpEvent(BallsInBinsDpEvent(3, STEP), 3)
    assert BallsInBins(3).event(STEP, 2, Relation.REPLACE_SPECIAL) == BallsInBinsDpEvent(3, STEP)
    assert BallsInBins(1).event(STEP, 2, Relation.REPLACE_ONE) == dpa.SelfComposedDpEvent(STEP, 2)
    with pytest.raises(UnsupportedEventError, match="ADD_OR_REMOVE_ONE and REPLACE_SPECIAL only"):
        BallsInBins(3).event(STEP, 3, Relation.REPLACE_ONE)


@pytest.mark.parametrize("scheme", [FixedSize, Shuffled])
def test_batches_larger_than_the_data_are_refused(scheme):
    with pytest.raises(ValueError, match="`batch_size` must be at most size=3, got 4"):
        scheme(4, 3)


def test_partitions_say_how_they_were_cut():
    shard = Shard(inputs=np.arange(6.0)[:, None], targets=np.zeros(6))
    by_position = Partition.by_position(shard, 4)
    assert [part.size for part in by_position.shards] == [2, 2, 1, 1]
    assert by_position.assignment == "position"
    by_identity = Partition.by_identity(shard, np.array([2, 0, 0, 2, 0, 0]), 3)
    assert [part.inputs[:, 0].tolist() for part in by_identity.shards] == [[1, 2, 4, 5], [], [0, 3]]
    assert by_identity.assignment == "identity"
    with pytest.raises(ValueError, match="`parts` must be at most 6, got 7"):
        Partition.by_position(shard, 7)
    with pytest.raises(ValueError, match=r"`labels` must be in \[0, 2\)"):
        Partition.by_identity(shard, np.array([2, 0, 0, 2, 0, 0]), 2)
    with pytest.raises(ValueError, match="`labels` must be 6 integers"):
        Partition.by_identity(shard, np.array([0.5] * 6), 2)
