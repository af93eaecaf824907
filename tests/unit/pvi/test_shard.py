"""Shards: taking, cutting and pooling records, with and without batch axes."""

import numpy as np
import pytest

from pvi import Shard


def shard(*lead):
    count = int(np.prod(lead)) * 5
    targets = np.arange(count, dtype=float).reshape(*lead, 5)
    return Shard(inputs=np.stack([targets, -targets], axis=-1), targets=targets)


def test_take_keeps_rows_together():
    taken = shard().take([3, 0])
    np.testing.assert_array_equal(taken.targets, [3, 0])
    np.testing.assert_array_equal(taken.inputs, [[3, -3], [0, 0]])


def test_take_per_repetition():
    rows = np.array([[0, 4], [1, 1], [2, 3]])
    shared = shard().take(rows)
    np.testing.assert_array_equal(shared.targets, rows)
    own = shard(3).take(rows)
    np.testing.assert_array_equal(own.targets, rows + 5 * np.arange(3)[:, None])
    np.testing.assert_array_equal(own.inputs[..., 1], -own.targets)


def test_take_nothing():
    assert shard().take(np.zeros(0, dtype=int)).size == 0


def test_partition_covers_each_record_once():
    parts = shard().partition(3)
    assert [part.size for part in parts] == [2, 2, 1]
    np.testing.assert_array_equal(Shard.concatenate(parts).targets, shard().targets)
    np.testing.assert_array_equal(Shard.concatenate(parts).inputs, shard().inputs)


def test_concatenate_broadcasts_batch_axes():
    pooled = Shard.concatenate([shard(), shard(3)])
    assert pooled.targets.shape == (3, 10)
    np.testing.assert_array_equal(pooled.targets[2], [0, 1, 2, 3, 4, 10, 11, 12, 13, 14])


def test_gram_and_moment_are_sums_over_records():
    data = shard(2)
    for b in range(2):
        gram = sum(np.outer(x, x) for x in data.inputs[b])
        moment = sum(x * y for x, y in zip(data.inputs[b], data.targets[b], strict=True))
        np.testing.assert_array_equal(data.gram[b], gram)
        np.testing.assert_array_equal(data.moment[b], moment)


def test_bad_shards_are_refused():
    with pytest.raises(ValueError, match="each of 2 rows of `inputs`, got 3"):
        Shard(inputs=np.zeros((2, 1)), targets=np.zeros(3))
    with pytest.raises(ValueError, match=r"`targets` must be finite, got nan at \[1\]"):
        Shard(inputs=np.zeros((2, 1)), targets=[0.0, np.nan])
    with pytest.raises(ValueError, match=r"`parts` must be .*, got 6"):
        shard().partition(6)
    with pytest.raises(ValueError, match="at least 2 axes"):
        Shard(inputs=np.zeros(2), targets=np.zeros(2))
    with pytest.raises(ValueError, match=r"`classes` must be 0 and 1, got -1\.0"):
        Shard.from_classes(np.zeros((2, 1)), [-1, 1])
    with pytest.raises(ValueError, match="`shards` must hold at least one"):
        Shard.concatenate([])
