"""Column sums and class counts: what follows from them, what they cost, over a secure sum."""

import itertools
import math

import numpy as np
import pytest
from aggregation_tools import parties
from dp_accounting import NeighboringRelation as Relation
from dp_accounting import NonPrivateDpEvent
from mechanism_tools import gaussian_epsilon

from mechanisms import ClassCounts, ColumnSums, SumTerms
from mechanisms.federated.aggregation import carry
from mechanisms.federated.aggregation.ciphers import StandardCiphers

ADD, REPLACE = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE


def terms(**changed):
    return SumTerms(**{"clients": 3, "least": 3, "records": 1000} | changed)


def columns(**changed):
    return ColumnSums(terms=terms(**changed), lower=(0.0, -5.0), upper=(10.0, 5.0))


def data():
    rng = np.random.default_rng(0)
    return [rng.uniform([0, -5], [10, 5], size=(n, 2)) for n in (40, 7, 100)]


def summed(statistic, shards, bits=64):
    """Over the wire's state machines, with the real cryptography."""
    rng = np.random.default_rng(1)
    vectors = [statistic.encode(shard, rng) for shard in shards]
    server, clients = parties(vectors, 3, bits=bits, ciphers=StandardCiphers())
    return carry(server, clients).total


def test_exact_sums_give_the_mean_and_deviation_of_all_records():
    sums, shards = columns(), data()
    scaler = sums.scaler(summed(sums, shards))
    everything = np.concatenate(shards)
    assert np.allclose(scaler.shift, everything.mean(axis=0), atol=1e-5)
    assert np.allclose(scaler.scale, everything.std(axis=0), atol=1e-5)
    assert scaler.data_dependent


def test_noisy_sums_are_near_and_no_longer_data_dependent():
    sums, shards = columns(noise_multiplier=1.0), data()
    scaler = sums.scaler(summed(sums, shards))
    everything = np.concatenate(shards)
    # Noise of √5 on sums of 147 records in [−1, 1]: 8 deviations are .13 in means, and in squares.
    assert np.abs(scaler.shift - everything.mean(axis=0)).max() < 5 * 0.3
    assert not scaler.data_dependent


def test_noise_may_leave_no_variance_and_no_count():
    sums = columns(noise_multiplier=1.0)
    for values in ([-5, 0, 0, 0, 0], [10, 10, 10, 0, 0], [1, 50, -50, 1, 1]):
        steps = np.array(values) * 2**24
        scaler = sums.scaler(steps, least_deviation=0.01)
        assert (scaler.scale >= 0.01 * 5 * (1 - 1e-12)).all()
        assert (scaler.shift >= [0, -5]).all()
        assert (scaler.shift <= [10, 5]).all()


def test_no_two_rows_are_farther_apart_than_is_accounted_for():
    """2√d, on a grid of the square that has its corners and the extreme pair."""
    z = np.linspace(-1, 1, 81)
    first, second = np.meshgrid(z, z)
    apart = np.hypot(first - second, first**2 - second**2)
    assert apart.max() == pytest.approx(2.0, abs=1e-12)
    rows = np.concatenate([np.column_stack([np.ones(81), z, z, z * z, z * z])])
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(math.sqrt(5))


def test_what_column_sums_cost():
    """Of a fine grid: Gaussians of norm √5 against noise 2√5, and 2√2 apart if one is replaced."""
    sums = columns(noise_multiplier=2.0)
    added = sums.epsilon_bounds(1e-5, ADD).upper
    assert gaussian_epsilon(1 / 2, 1e-5) <= added < 1.001 * gaussian_epsilon(1 / 2, 1e-5)
    replaced = sums.epsilon_bounds(1e-5, REPLACE).upper
    exact = gaussian_epsilon(2 * math.sqrt(2) / (2 * math.sqrt(5)), 1e-5)
    assert exact <= replaced < 1.001 * exact


def exact_delta_of_counts(variance, epsilon):
    """Two classes, one record from the first to the second, term by term: shares are one."""
    x = np.arange(-60, 61)
    law = np.exp(-(x**2) / (2.0 * variance))
    law /= law.sum()
    p = np.outer(law[1:], law[:-1])
    q = np.outer(law[:-1], law[1:])
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


def test_what_class_counts_cost():
    """One client hides: its share is one discrete Gaussian, so that the law is known."""
    counts = ClassCounts(
        terms=terms(least=3, colluders=2, noise_multiplier=3.0, bits=32), classes=2
    )
    for delta in (1e-3, 1e-6):
        upper = counts.epsilon_bounds(delta, REPLACE).upper
        assert exact_delta_of_counts(9.0, upper) <= delta
        # Concentration is looser than the law, by less than a fifth.
        assert exact_delta_of_counts(9.0, 0.8 * upper) > delta


def test_exact_statistics_have_no_finite_epsilon():
    for statistic in (columns(), ClassCounts(terms=terms(), classes=3)):
        assert statistic.epsilon_bounds(1e-5, ADD) == (math.inf, math.inf)
        certificate = statistic.certify([1e-5], ADD)
        assert certificate.event == NonPrivateDpEvent()
        assert certificate.bounds(1e-5).upper == math.inf


def test_noisy_statistics_are_certified():
    statistic = columns(noise_multiplier=2.0)
    certificate = statistic.certify([1e-5], REPLACE)
    assert certificate.bounds(1e-5) == statistic.epsilon_bounds(1e-5, REPLACE)
    assert certificate.unit == "record"


def test_counts_are_added_up_and_weights_are_those_of_the_report():
    """TUM 6.2: (c0 + c1)/2 · 1/c_k."""
    counts = ClassCounts(terms=terms(bits=16), classes=2)
    total = summed(counts, [[0, 0, 1], [0], [1, 0]], bits=16)
    assert counts.counts(total).tolist() == [4.0, 2.0]
    assert counts.weights(total).tolist() == pytest.approx([6 / 2 / 4, 6 / 2 / 2])


def test_noise_of_counts_has_its_variance():
    counts = ClassCounts(terms=terms(noise_multiplier=3.0), classes=4)
    rng = np.random.default_rng(0)
    draws = np.array(
        [sum(counts.encode([0], rng) for _ in range(3)) - [3, 0, 0, 0] for _ in range(500)]
    ).astype(float)
    # 2,000 draws of variance 9: the sample variance is within six of its deviations, .28.
    assert abs(draws.var() - 9.0) < 6 * 0.285


@pytest.mark.parametrize("labels", [[2], [0.5], [-1], [math.nan], [[0]], ["a"]])
def test_labels_must_be_classes(labels):
    counts = ClassCounts(terms=terms(), classes=2)
    with pytest.raises((ValueError, TypeError), match="`labels` must be"):
        counts.encode(labels, np.random.default_rng(0))


def test_features_must_be_there():
    for features in ([[math.nan, 0.0]], [0.0, 0.0], [[0.0]]):
        with pytest.raises(ValueError, match="`features` must"):
            columns().encode(features, np.random.default_rng(0))


def test_bounds_are_kept_whatever_the_records_are():
    encoded = columns().encode([[1e9, -1e9]], np.random.default_rng(0))
    assert encoded.tolist() == [2**24, 2**24, -(2**24), 2**24, 2**24]


@pytest.mark.parametrize("field", ["clients", "least", "records", "colluders", "bits"])
def test_terms_are_checked(field):
    with pytest.raises(ValueError, match=f"`{'vectors' if field == 'records' else field}` must"):
        terms(**{field: -1})


def test_the_diameter_counts_for_replaced_records_only():
    rows = list(itertools.product([0.0, 10.0], [-5.0, 5.0]))
    sums = columns(noise_multiplier=2.0)
    encoded = [
        sums.sum.rounding(
            [[1, *(z := (np.array(r) - [5, 0]) / 5), *(z * z)]], np.random.default_rng(0)
        )[0]
        for r in rows
    ]
    widest = max(np.linalg.norm(a - b) for a, b in itertools.combinations(encoded, 2))
    assert widest <= sums.sum._factor(REPLACE) * sums.sum.rounding.norm
    assert sums.sum._factor(ADD) == 1.0
