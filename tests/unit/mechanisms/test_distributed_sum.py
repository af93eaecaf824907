"""Rounding, shares of noise, and what sums of them cost, against their laws term by term."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from dp_accounting import UnsupportedEventError
from mechanism_tools import gaussian_epsilon

from accountants import Certificate
from mechanisms import DistributedSum, Rounding

HOWS = ("toward_zero", "stochastic", "conditional")


def plan(spacing=1.0, coordinates=1, multiplier=4.0, **changed):
    rounding = Rounding(clip_norm=1.0, spacing=spacing, coordinates=coordinates, how="toward_zero")
    fields = {"clients": 4, "least": 3, "colluders": 1}
    return DistributedSum(rounding=rounding, noise_multiplier=multiplier, **fields | changed)


# --- rounding ---


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("spacing", [1.0, 0.3, 0.01])
def test_rounded_rows_are_whole_near_and_no_longer_than_said(how, spacing):
    rounding = Rounding(clip_norm=1.0, spacing=spacing, coordinates=40, how=how)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 40))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = rounding(rows, rng)
    assert found.dtype == np.int64
    squares = [sum(int(n) ** 2 for n in row) for row in found]
    assert max(squares) <= rounding.norm**2
    assert max(sum(abs(int(n)) for n in row) for row in found) <= rounding.taxicab
    assert np.abs(found - rows / spacing).max() < 1.0 + 1e-9
    assert (rounding(np.zeros((1, 40)), rng) == 0).all()


def test_the_conditional_bound_is_that_of_the_paper():
    """Kairouz, Liu, Steinke 2021, section 4.1, in their unit: Δ² with c = 10, γ = 1/2, d = 64."""
    rounding = Rounding(clip_norm=10.0, spacing=0.5, coordinates=64)
    squared = 100 + 0.25 * 64 / 4 + math.sqrt(2 * 0.5) * 0.5 * (10 + 0.25 * 8)
    assert rounding.norm * 0.5 == pytest.approx(math.sqrt(squared), rel=1e-9)
    coarse = Rounding(clip_norm=1.0, spacing=100.0, coordinates=4)
    assert coarse.norm <= 0.01 + 2.0 + 1e-9


def test_stochastic_rounding_is_right_in_the_mean():
    rounding = Rounding(clip_norm=10.0, spacing=1.0, coordinates=3, how="stochastic")
    rows = np.tile([0.25, -1.75, 3.0], (40_000, 1))
    means = rounding(rows, np.random.default_rng(1)).mean(axis=0)
    # Six deviations of a mean of coins of variance 3/16.
    assert np.abs(means - rows[0]).max() < 6 * math.sqrt(3 / 16 / 40_000)
    assert means[2] == 3.0


def test_a_row_as_long_as_the_clip_norm_keeps_its_steps():
    """1/0.1 is ten steps, though clipping may shorten a row by a rounding."""
    for spacing, steps in ((1.0, 1), (0.1, 10), (1 / 3, 3)):
        rounding = Rounding(clip_norm=1.0, spacing=spacing, coordinates=1, how="toward_zero")
        found = rounding([[1.0], [-1.0], [7.0]], np.random.default_rng(0))
        assert found.tolist() == [[steps], [-steps], [steps]]
        assert rounding.attained == steps


# --- what a sum costs ---


def exact_law(total, reach):
    """Of the unknown shares' sum in one coordinate, on −reach, …, reach."""
    share = mpmath.mpf(total.share_variance.numerator) / total.share_variance.denominator
    if total.law == "skellam":
        mu = share * total.hiding
        half = [mpmath.exp(-mu) * mpmath.besseli(n, mu) for n in range(reach + 1)]
        return [*half[:0:-1], *half]
    weights = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * share)) for x in range(-reach, reach + 1)]
    one = [weight / mpmath.fsum(weights) for weight in weights]
    many = one
    for _ in range(total.hiding - 1):
        wide = [mpmath.mpf(0)] * (4 * reach + 1)
        for (i, p), (j, q) in itertools.product(enumerate(many), enumerate(one)):
            wide[i + j] += p * q
        many = wide[reach : 3 * reach + 1]
    return many


def exact_delta(law, moved, epsilon):
    first, second = law[moved:], law[: len(law) - moved]
    scale = mpmath.exp(epsilon)
    return float(mpmath.fsum(max(p - scale * q, 0) for p, q in zip(second, first, strict=True)))


@pytest.mark.parametrize("law", ["discrete_gaussian", "skellam"])
@pytest.mark.parametrize(("multiplier", "spacing"), [(1.0, 1.0), (1.5, 0.5), (2.0, 0.25)], ids=str)
@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL])
def test_both_ends_hold_for_one_number(law, multiplier, spacing, relation):
    total = plan(spacing, multiplier=multiplier, law=law)
    moved = round(1 / spacing) * (2 if relation is Relation.REPLACE_ONE else 1)
    with mpmath.workdps(30):
        whole = exact_law(total, int(11 * multiplier / spacing) + 8)
        for delta in (1e-2, 1e-5):
            lower, upper = total.epsilon_bounds(delta, relation)
            assert exact_delta(whole, moved, upper) <= delta
            assert lower == 0.0 or exact_delta(whole, moved, lower) >= delta
            if law == "discrete_gaussian":
                assert upper - lower < 0.06 * upper  # of one coordinate it is nearly exact
            else:
                assert lower > 0.3 * upper


def test_both_ends_hold_for_two_coordinates():
    """The shift (3, 4) of norm 5: the law of two coordinates is the product."""
    total = plan(0.2, coordinates=2, multiplier=1.2)
    with mpmath.workdps(20):
        law = [float(p) for p in exact_law(total, 50)]
    delta = 1e-3
    _, upper = total.epsilon_bounds(delta, Relation.REPLACE_SPECIAL)
    for x, y in ((3, 4), (5, 0)):
        first = np.outer(law[x:], law[y:])
        second = np.outer(law[: len(law) - x], law[: len(law) - y])
        assert np.maximum(second - math.exp(upper) * first, 0).sum() <= delta


def test_several_releases_compose():
    total = plan(0.25, multiplier=3.0)
    with mpmath.workdps(30):
        law = [float(p) for p in exact_law(total, 130)]
        lower, upper = total.epsilon_bounds(1e-4, Relation.REPLACE_SPECIAL, releases=2)
    shifted, plain = law[4:], law[:-4]
    first, second = np.outer(shifted, shifted), np.outer(plain, plain)
    for epsilon, sign in ((upper, 1), (lower, -1)):
        delta = np.maximum(second - math.exp(epsilon) * first, 0).sum()
        assert sign * delta <= sign * 1e-4 * (1 + sign * 1e-9)


def test_a_fine_grid_costs_what_the_gaussian_does():
    total = plan(2.0**-22, coordinates=100, multiplier=2.0, bits=64)
    found = total.epsilon_bounds(1e-5, Relation.REPLACE_SPECIAL)
    exact = gaussian_epsilon(1 / 2.0, 1e-5)
    assert found.lower <= exact * (1 + 1e-9)
    assert exact <= found.upper < 1.001 * exact
    replaced = total.epsilon_bounds(1e-5, Relation.REPLACE_ONE)
    assert replaced.lower <= gaussian_epsilon(1.0, 1e-5) <= replaced.upper * (1 + 1e-9)


def test_fewer_who_hide_add_more_each():
    assert plan(least=4, colluders=0).share_variance == 16 / 4
    assert plan(least=3, colluders=2).share_variance == 16
    assert plan(least=3, colluders=1).share_variance * 2 == 16


def test_coarse_noise_is_still_answered_or_infinite():
    tiny = plan(1.0, multiplier=0.05)
    assert tiny.epsilon_bounds(1e-5, Relation.REPLACE_SPECIAL).upper == math.inf
    assert tiny.epsilon_bounds(1e-5, Relation.REPLACE_SPECIAL).lower < math.inf


# --- wrapping around ---


@pytest.mark.parametrize("law", ["discrete_gaussian", "skellam"])
@pytest.mark.parametrize("bits", [5, 6])
def test_the_chance_of_wrapping_around(law, bits):
    """All four shares, all vectors at one end, by the law term by term."""
    total = plan(1.0, multiplier=4.0, least=4, colluders=0, law=law, bits=bits)
    with mpmath.workdps(30):
        mass = exact_law(total, 90)
        start = 90 - 4  # the vectors' sum is 4
        inside = mpmath.fsum(mass[start - 2 ** (bits - 1) : start + 2 ** (bits - 1)])
    assert 0.0 < float(1 - inside) <= total.wrap_around
    assert total.wrap_around < (0.1 if bits == 5 else 1e-8)


def test_no_room_is_certain_to_wrap():
    assert plan(0.001, bits=8).wrap_around == 1.0
    assert plan(1.0, bits=16, vectors=2**15).wrap_around == 1.0


# --- encoding ---


def test_what_is_encoded_is_decoded():
    total = plan(2.0**-10, coordinates=3, multiplier=2.0**-6, bits=32)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 3))
    rows /= 2 * np.linalg.norm(rows, axis=1, keepdims=True)
    encoded = [total.encode(row[None], rng) for row in rows]
    assert all(isinstance(n, int) for one in encoded for n in one)
    deviation = math.sqrt(float(total.share_variance) * 4) * 2.0**-10
    # 3 coordinates beyond 8 deviations: below 1e-14; rounding takes up to a step of each row.
    assert np.abs(total.decode(sum(encoded)) - rows.sum(axis=0)).max() < 8 * deviation + 4 / 1024


def test_records_are_rounded_one_by_one_and_clients_once():
    rng = np.random.default_rng(0)
    rows = np.full((5, 1), 0.5)
    with pytest.raises(ValueError, match="one row of the client, got 5"):
        plan(2.0**-8).encode(rows, rng)
    records = plan(2.0**-8, multiplier=2.0**-12, unit="record").encode(rows, rng)
    assert abs(records[0] - 5 * 128) <= 5
    with pytest.raises(UnsupportedEventError, match="number of clients is a public constant"):
        plan().epsilon_bounds(1e-5, Relation.ADD_OR_REMOVE_ONE)
    added = plan(unit="record").epsilon_bounds(1e-5, Relation.ADD_OR_REMOVE_ONE)
    assert added == plan().epsilon_bounds(1e-5, Relation.REPLACE_SPECIAL)


# --- certificates ---


def test_a_certificate_says_rounding_modulus_and_wrapping():
    total = plan(0.25, bits=20, law="skellam")
    certificate = total.certify([1e-5, 1e-3], Relation.REPLACE_SPECIAL, releases=3)
    said = " ".join(certificate.assumptions)
    for words in (
        "rounded (toward_zero) to steps of 0.25",
        "modulo 2^20",
        "wraps around",
        "3 of 4",
    ):
        assert words in said
    bounds = total.epsilon_bounds(1e-3, Relation.REPLACE_SPECIAL, releases=3)
    assert certificate.bounds(1e-3) == bounds
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize(
    ("changed", "error", "named"),
    [
        ({"least": 5}, ValueError, "least"),
        ({"colluders": 3}, ValueError, "colluders"),
        ({"colluders": -1}, ValueError, "colluders"),
        ({"law": "laplace"}, ValueError, "law"),
        ({"bits": 65}, ValueError, "bits"),
        ({"unit": "user"}, ValueError, "unit"),
        ({"vectors": 0}, ValueError, "vectors"),
        ({"multiplier": math.nan}, ValueError, "noise_multiplier"),
        ({"multiplier": 1e300}, ValueError, "noise_multiplier"),
        ({"multiplier": "2"}, TypeError, "noise_multiplier"),
        ({"spacing": 1e-300}, ValueError, "spacing"),
    ],
)
def test_what_is_not_possible_is_refused(changed, error, named):
    with pytest.raises(error, match=f"`{named}` must be"):
        plan(**changed)
