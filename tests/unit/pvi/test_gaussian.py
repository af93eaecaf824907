"""Mean-field Gaussians against textbook formulas and other people's code."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from pvi import ImproperGaussianError, MeanFieldGaussian


def gaussian(mean, variance):
    return MeanFieldGaussian.from_mean_variance(np.asarray(mean), np.asarray(variance))


def test_mean_variance_round_trip():
    q = gaussian([1.5, -2.0], [0.25, 4.0])
    np.testing.assert_array_equal(q.natural_mean, [6.0, -0.5])
    np.testing.assert_array_equal(q.precision, [4.0, 0.25])
    np.testing.assert_array_equal(q.mean, [1.5, -2.0])
    np.testing.assert_array_equal(q.variance, [0.25, 4.0])


def test_product_is_the_product_of_densities():
    p, q = gaussian([0.3], [2.0]), gaussian([-1.0], [0.5])
    points = np.array([-2.0, 0.0, 1.0])
    product = stats.norm(0.3, math.sqrt(2)).pdf(points) * stats.norm(-1, math.sqrt(0.5)).pdf(points)
    r = p * q
    density = stats.norm(r.mean[0], math.sqrt(r.variance[0])).pdf(points)
    ratio = product / density
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    assert (r / q).mean[0] == pytest.approx(0.3, abs=1e-15)


def test_entropy_and_log_density_match_scipy():
    q = gaussian([1.0, -3.0], [0.3, 7.0])
    reference = stats.multivariate_normal([1.0, -3.0], np.diag([0.3, 7.0]))
    assert float(q.entropy()) == pytest.approx(reference.entropy(), abs=1e-13)


def test_kl_matches_numerical_integration():
    p, q = gaussian([0.7], [0.4]), gaussian([-0.2], [1.9])
    a, b = stats.norm(0.7, math.sqrt(0.4)), stats.norm(-0.2, math.sqrt(1.9))
    expected, _ = integrate.quad(
        lambda x: a.pdf(x) * (a.logpdf(x) - b.logpdf(x)), -12, 12, epsabs=1e-13
    )
    assert float(p.kl(q)) == pytest.approx(expected, abs=1e-11)
    assert abs(float(q.kl(p)) - expected) > 0.1


@pytest.mark.parametrize("gap", [1e-9, 1e-6, 1e-3, 9.9e-3, 1.01e-2, 0.5, 30.0])
def test_kl_keeps_its_digits_when_the_two_are_close(gap):
    precision = 3.0 * (1.0 + gap)
    p = MeanFieldGaussian(natural_mean=[0.0], precision=[precision])
    q = MeanFieldGaussian(natural_mean=[0.0], precision=[3.0])
    with mpmath.workdps(50):
        ratio = mpmath.mpf(precision) / 3
        expected = float((1 / ratio - 1 + mpmath.log(ratio)) / 2)
    assert float(p.kl(q)) == pytest.approx(expected, rel=1e-12, abs=0)


def test_log_partition_matches_numerical_integration():
    f = MeanFieldGaussian(natural_mean=[1.3], precision=[0.8])
    mass, _ = integrate.quad(lambda x: math.exp(1.3 * x - 0.4 * x * x), -20, 25, epsabs=1e-12)
    assert float(f.log_partition()) == pytest.approx(math.log(mass), abs=1e-12)


def test_expectation_of_an_improper_factor():
    q = gaussian([0.5], [2.0])
    factor = MeanFieldGaussian(natural_mean=[1.0], precision=[-3.0])
    density = stats.norm(0.5, math.sqrt(2)).pdf
    expected, _ = integrate.quad(lambda x: density(x) * (x + 1.5 * x * x), -15, 16, epsabs=1e-13)
    assert float(q.expectation_of(factor)) == pytest.approx(expected, abs=1e-11)


def test_damping_interpolates_natural_parameters():
    p, q = gaussian([0.0], [1.0]), gaussian([2.0], [0.5])
    damped = p.damp(q, 0.25)
    np.testing.assert_allclose(damped.precision, [1.25], rtol=1e-15)
    np.testing.assert_allclose(damped.natural_mean, [1.0], rtol=1e-15)


def test_samples_have_the_right_moments():
    """Two means and two variances at 6.5 standard errors: a false alarm below 4e-10."""
    n = 40_000
    q = gaussian([1.0, -2.0], [0.5, 3.0])
    draws = q.sample(np.random.default_rng(4), n)
    assert draws.shape == (n, 2)
    assert (np.abs(draws.mean(0) - q.mean) < 6.5 * np.sqrt(q.variance / n)).all()
    spread = ((draws - q.mean) ** 2).mean(0)
    # a mean of n squares is nearly normal at this n; its tail at 6.5 is heavier by a factor < 10
    assert (np.abs(spread / q.variance - 1) < 6.5 * math.sqrt(2 / n)).all()


def test_samples_of_a_batch_are_independent_per_member():
    q = gaussian([0.0], [1.0]).broadcast_to((3,))
    draws = q.sample(np.random.default_rng(0), (5,))
    assert draws.shape == (5, 3, 1)
    assert len(np.unique(draws)) == 15


def test_batch_axes_are_elementwise():
    rng = np.random.default_rng(2)
    mean, variance = rng.normal(size=(4, 3, 2)), rng.uniform(0.1, 2, size=(4, 3, 2))
    batched, other = gaussian(mean, variance), gaussian(np.zeros(2), np.ones(2))
    kl = batched.kl(other)
    assert kl.shape == (4, 3)
    for i, j in np.ndindex(4, 3):
        assert kl[i, j] == float(gaussian(mean[i, j], variance[i, j]).kl(other))
        np.testing.assert_array_equal(batched[i, j].precision, 1 / variance[i, j])


def test_vector_round_trip():
    q = gaussian([1.0, 2.0], [0.5, 0.25])
    np.testing.assert_array_equal(q.vector, [2.0, 8.0, 2.0, 4.0])
    np.testing.assert_array_equal(MeanFieldGaussian.from_vector(q.vector).mean, [1.0, 2.0])


def test_factors_may_be_improper_but_posteriors_may_not():
    factor = MeanFieldGaussian(natural_mean=[0.0, 0.0], precision=[1.0, -2.0])
    assert not factor.is_proper
    with pytest.raises(
        ImproperGaussianError, match=r"precision\[1\] is -2 .*client 7, round 12"
    ) as e:
        factor.require_proper(client=7, round=12)
    assert (e.value.client, e.value.round) == (7, 12)
    for member in ("mean", "variance"):
        with pytest.raises(ImproperGaussianError):
            getattr(factor, member)
    for method in ("entropy", "log_partition"):
        with pytest.raises(ImproperGaussianError):
            getattr(factor, method)()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match=r"`natural_mean` must be finite, got .* at \[1\]"):
        MeanFieldGaussian(natural_mean=[0.0, bad], precision=[1.0, 1.0])
    with pytest.raises(ValueError, match=r"`precision` must be finite, got .* at \[0\]"):
        MeanFieldGaussian(natural_mean=[0.0, 0.0], precision=[bad, 1.0])


def test_shapes_and_seeds_are_checked():
    with pytest.raises(ValueError, match="must agree in their last axes"):
        MeanFieldGaussian(natural_mean=[0.0, 0.0], precision=[1.0])
    with pytest.raises(ValueError, match="even"):
        MeanFieldGaussian.from_vector([1.0, 2.0, 3.0])
    with pytest.raises(ImproperGaussianError, match="above 0"):
        gaussian([0.0], [0.0])
    with pytest.raises(TypeError, match=r"numpy.random.Generator"):
        gaussian([0.0], [1.0]).sample(0)


def test_no_alias_of_what_came_in_can_change_a_gaussian():
    """Arrays, views of them, read-only views of writable ones, and broadcasts."""
    base = np.ones((3, 4))
    locked = base[:]
    locked.setflags(write=False)
    made = [
        MeanFieldGaussian(natural_mean=base, precision=base),
        MeanFieldGaussian(natural_mean=locked, precision=base[0]),
        MeanFieldGaussian(natural_mean=np.broadcast_to(base, (2, 3, 4)), precision=base),
        MeanFieldGaussian.from_vector(base),
        MeanFieldGaussian.from_vector(locked),
        MeanFieldGaussian.from_mean_variance(base, base),
        MeanFieldGaussian.from_mean_variance(base, base)[1:],
        MeanFieldGaussian.from_mean_variance(base, base).broadcast_to((5, 3)),
    ]
    base[...] = 9.0
    for gaussian in made:
        assert (gaussian.natural_mean == 1.0).all()
        assert (gaussian.precision == 1.0).all()
        assert not gaussian.natural_mean.flags.writeable
        assert not gaussian.precision.flags.writeable


def test_results_of_arithmetic_are_not_copied_again():
    one = MeanFieldGaussian.from_mean_variance(np.zeros(3), np.ones(3))
    for result in (one * one, one / one, one**2.0):
        kept = MeanFieldGaussian(natural_mean=result.natural_mean, precision=result.precision)
        assert kept.natural_mean is result.natural_mean
        assert kept.precision is result.precision
