"""What discreteness costs, at the ends of the range of doubles."""

import math

import pytest

from mechanisms.primitives.discrete_gaussian import delta_slack, total_variation
from mechanisms.release import Contribution


@pytest.mark.parametrize(
    ("epsilon", "distance", "least"),
    [
        (1000.0, 1e-310, 1.0),  # e^1000·1e-310 > 1; an exponent capped at 700 said 1e-6.
        (700.0, 5e-324, (1.0 + math.exp(700.0)) * 5e-324),
        (1e300, 5e-324, 1.0),
        (0.0, 0.25, 0.5),
        (3.0, 1e-9, (1.0 + math.exp(3.0)) * 1e-9),
        (1.0, 0.0, 0.0),
    ],
)
def test_delta_slack_is_rounded_up(epsilon, distance, least):
    assert least <= delta_slack(epsilon, distance) <= least * (1.0 + 1e-11) + 1e-320


def test_the_widest_noise_has_no_distance():
    assert total_variation(1e200, 10) == 0.0


def test_extra_multipliers_may_come_from_a_generator():
    made = Contribution(
        client=0,
        clips="part",
        clip_norm=1.0,
        noise_std=1.0,
        extra_multipliers=(value for value in (2.0, 3.0)),
    )
    assert made.extra_multipliers == (2.0, 3.0)
    assert hash(made) is not None
