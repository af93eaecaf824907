"""The grid engine against dp-accounting's privacy loss distributions, from both of their sides."""

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution

from accountants import atoms
from accountants.fourier import grid
from accountants.fourier.losses import pair_laws

STEP = 2e-3


def peers(atom, pessimistic):
    options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": STEP}
    if isinstance(atom, atoms.Gaussian):
        return privacy_loss_distribution.from_gaussian_mechanism(1.0 / atom.mu, **options)
    if isinstance(atom, atoms.PoissonGaussian):
        return privacy_loss_distribution.from_gaussian_mechanism(
            atom.noise_multiplier, sampling_prob=atom.sampling_rate, **options
        )
    if isinstance(atom, atoms.Laplace):
        return privacy_loss_distribution.from_laplace_mechanism(atom.scale, **options)
    if isinstance(atom, atoms.DiscreteLaplace):
        return privacy_loss_distribution.from_discrete_laplace_mechanism(
            atom.noise_parameter, sensitivity=atom.sensitivity, **options
        )
    if isinstance(atom, atoms.MixtureOfGaussians):
        return privacy_loss_distribution.from_mixture_gaussian_mechanism(
            atom.standard_deviation, list(atom.sensitivities), list(atom.probabilities), **options
        )
    return privacy_loss_distribution.from_randomized_response(
        atom.noise_parameter, atom.num_buckets, **options
    )


ATOMS = [
    atoms.Gaussian(0.5),
    atoms.PoissonGaussian(0.05, 0.9),
    atoms.PoissonGaussian(0.7, 2.0),
    atoms.Laplace(3.0),
    atoms.DiscreteLaplace(0.3, 2),
    atoms.RandomizedResponse(0.6, 4, False),
    atoms.MixtureOfGaussians(1.5, (0.0, 1.0, 2.0), (0.9, 0.07, 0.03)),
]


@pytest.mark.parametrize("atom", ATOMS, ids=str)
@pytest.mark.parametrize(("steps", "delta"), [(1, 1e-2), (20, 1e-6)])
def test_brackets_of_dp_accounting(atom, steps, delta):
    laws = pair_laws(atom).upper
    bounds = [grid.epsilon_bounds([(law, steps)], delta) for law in laws]
    lower, upper = max(b.lower for b in bounds), max(b.upper for b in bounds)
    optimistic = peers(atom, False).self_compose(steps).get_epsilon_for_delta(delta)
    pessimistic = peers(atom, True).self_compose(steps).get_epsilon_for_delta(delta)
    # Their tails are truncated at 1e-15 in mass: allow what that is worth.
    assert optimistic * (1.0 - 1e-6) <= upper
    assert lower <= pessimistic * (1.0 + 1e-6)
    assert upper - lower <= 2e-6 * upper


@pytest.mark.parametrize(("rate", "sigma"), [(0.1, 1.0), (0.01, 0.6)])
def test_replacement_under_poisson_sampling(rate, sigma):
    """The pair of `PoissonGaussianReplace` is the one dp-accounting has."""
    (law, _) = pair_laws(atoms.PoissonGaussianReplace(rate, sigma)).upper
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
