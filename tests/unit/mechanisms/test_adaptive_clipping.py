"""The private quantile: where it settles, and what a record can do to it."""

import numpy as np
import pytest

from mechanisms import AdaptiveClip, NoNoise, QuantileTracker, SimulationNoise


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_the_norm_settles_at_the_quantile(quantile):
    """Norms 0.01, …, 2.00 of 200 gradients; noise of 2 on a count of 200."""
    rows = np.linspace(0.01, 2.0, 200)[:, None] * np.array([[0.6, 0.8]])
    settings = AdaptiveClip(
        initial_norm=0.1,
        batch_size=200,
        count_std=2.0,
        target_quantile=quantile,
        learning_rate=0.2,
    )
    tracker, rng = QuantileTracker(settings), np.random.default_rng(0)
    path = []
    for _ in range(400):
        _, bits, _ = tracker.clip(rows)
        tracker.update(bits, SimulationNoise(), rng)
        path.append(tracker.norm)
    # By then the share below C has drift −η(share − γ) and noise of 1%: C stays near γ·2.
    assert np.mean(path[-200:]) == pytest.approx(2.0 * quantile, rel=0.03)


def test_a_record_moves_the_centred_count_by_a_half():
    settings = AdaptiveClip(initial_norm=1.0, batch_size=10, count_std=1.0)
    rows = np.array([[0.5], [2.0], [0.0], [np.nan]])
    clipped, bits, screened = QuantileTracker(settings).clip(rows)
    assert bits[:, 0].tolist() == [0.5, -0.5, 0.0, 0.0]
    assert clipped[:, 0] == pytest.approx([0.5, 1.0, 0.0, 0.0], rel=1e-9)
    assert screened == 1


def test_repetitions_have_norms_of_their_own():
    settings = AdaptiveClip(initial_norm=1.0, batch_size=2, count_std=1.0, learning_rate=1.0)
    tracker = QuantileTracker(settings)
    rows = np.stack([np.full((2, 1), 0.1), np.full((2, 1), 10.0)])
    _, bits, _ = tracker.clip(rows)
    tracker.update(bits, NoNoise(), np.random.default_rng(0))
    # shares 1 and 0 against a target of one half
    assert tracker.norm == pytest.approx(np.exp([-0.5, 0.5]))
    clipped, _, _ = tracker.clip(rows)
    assert np.linalg.norm(clipped[1], axis=-1) == pytest.approx(np.exp(0.5))


def test_bounds_hold():
    settings = AdaptiveClip(
        initial_norm=1.0, batch_size=1, count_std=1.0, learning_rate=9.0, lowest=0.5, highest=2.0
    )
    for value, end in ((0.1, 0.5), (50.0, 2.0)):
        tracker = QuantileTracker(settings)
        for _ in range(3):
            _, bits, _ = tracker.clip(np.array([[value]]))
            tracker.update(bits, NoNoise(), np.random.default_rng(0))
        assert tracker.norm == end


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"initial_norm": -1.0}, "`initial_norm` must be positive"),
        ({"target_quantile": 1.0}, r"`target_quantile` must be in \(0, 1\)"),
        ({"count_std": 0.0}, "`count_std` must be positive"),
        ({"highest": 0.5}, r"`initial_norm` must be in \[1e-06, 0.5\]"),
    ],
)
def test_impossible_settings_are_refused(arguments, complaint):
    base = {"initial_norm": 1.0, "batch_size": 10.0, "count_std": 1.0}
    with pytest.raises(ValueError, match=complaint):
        AdaptiveClip(**base | arguments)
