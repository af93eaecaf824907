"""The grid engine against dp-accounting's privacy loss distributions, from both of their sides."""

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution

from accountants import releases
from accountants.fourier.grid import engine as grid
from accountants.fourier.pairs import pair_laws

STEP = 2e-3


def peers(release, pessimistic):
    options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": STEP}
    if isinstance(release, releases.Gaussian):
        return privacy_loss_distribution.from_gaussian_mechanism(1.0 / release.mu, **options)
    if isinstance(release, releases.PoissonGaussian):
        return privacy_loss_distribution.from_gaussian_mechanism(
            release.noise_multiplier, sampling_prob=release.sampling_rate, **options
        )
    if isinstance(release, releases.Laplace):
        return privacy_loss_distribution.from_laplace_mechanism(release.scale, **options)
    if isinstance(release, releases.DiscreteLaplace):
        return privacy_loss_distribution.from_discrete_laplace_mechanism(
            release.noise_parameter, sensitivity=release.sensitivity, **options
        )
    if isinstance(release, releases.MixtureOfGaussians):
        return privacy_loss_distribution.from_mixture_gaussian_mechanism(
            release.standard_deviation,
            list(release.sensitivities),
            list(release.probabilities),
            **options,
        )
    return privacy_loss_distribution.from_randomized_response(
        release.noise_parameter, release.num_buckets, **options
    )


RELEASES = [
    releases.Gaussian(0.5),
    releases.PoissonGaussian(0.05, 0.9),
    releases.PoissonGaussian(0.7, 2.0),
    releases.Laplace(3.0),
    releases.DiscreteLaplace(0.3, 2),
    releases.RandomizedResponse(0.6, 4, False),
    releases.MixtureOfGaussians(1.5, (0.0, 1.0, 2.0), (0.9, 0.07, 0.03)),
]


@pytest.mark.parametrize("release", RELEASES, ids=str)
@pytest.mark.parametrize(("steps", "delta"), [(1, 1e-2), (20, 1e-6)])
def test_brackets_of_dp_accounting(release, steps, delta):
    laws = pair_laws(release)
    bounds = [grid.epsilon_bounds([(law, steps)], delta) for law in laws]
    lower, upper = max(b.lower for b in bounds), max(b.upper for b in bounds)
    optimistic = peers(release, False).self_compose(steps).get_epsilon_for_delta(delta)
    pessimistic = peers(release, True).self_compose(steps).get_epsilon_for_delta(delta)
    # Their tails are truncated at 1e-15 in mass: allow what that is worth.
    assert optimistic * (1.0 - 1e-6) <= upper
    assert lower <= pessimistic * (1.0 + 1e-6)
    assert upper - lower <= 2e-6 * upper


@pytest.mark.parametrize(("rate", "sigma"), [(0.1, 1.0), (0.01, 0.6)])
def test_replacement_under_poisson_sampling(rate, sigma):
    """The pair of `PoissonGaussianReplace` is the one dp-accounting has."""
    (law, _) = pair_laws(releases.PoissonGaussianReplace(rate, sigma))
    for pessimistic in (False, True):
        pld = privacy_loss_distribution.from_gaussian_mechanism(
            sigma,
            sampling_prob=rate,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=STEP,
            neighboring_relation=NeighboringRelation.REPLACE_ONE,
        )
        theirs = pld.self_compose(50).get_epsilon_for_delta(1e-5)
        ours = grid.epsilon_bounds([(law, 50)], 1e-5)
        if pessimistic:
            assert ours.lower <= theirs * (1.0 + 1e-6)
        else:
            assert theirs * (1.0 - 1e-6) <= ours.upper
