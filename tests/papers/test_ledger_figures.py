"""Figures of the ledger against something else.

Expected ones come from closed forms, arithmetic on the papers' own numbers, or dp-accounting.
"""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from mechanism_tools import gaussian_epsilon
from scipy import integrate, optimize, stats

from audits.papers import (
    two_optima,
)
from audits.papers.hidden_noise import _noisy_totals, hidden_noise_epsilon, last_sum_epsilon
from audits.papers.thesis import dp_sgd as thesis_dp_sgd
from audits.papers.tmlr import logistic
from audits.papers.tmlr import properties as tmlr_properties
from audits.papers.tmlr import tables as tmlr_tables
from audits.papers.tum import accounting as tum
from audits.papers.workshop import data as workshop_data
from pvi import LogisticRegression, MeanFieldGaussian, Shard, elbo


def pld_epsilon(sigma, rate, steps, delta, *, pessimistic):
    one = pld.from_gaussian_mechanism(
        sigma,
        sampling_prob=rate,
        value_discretization_interval=1e-3,
        pessimistic_estimate=pessimistic,
    )
    return one.self_compose(steps).get_epsilon_for_delta(delta)


def test_fixed_size_batches_against_dp_accounting(figure_numbers):
    """All others at −C: the pair is Poisson's with σ/2, which dp-accounting composes."""
    lower = figure_numbers("workshop-budget-fixed-size")[0]
    low, high = (pld_epsilon(2.5, 0.02, 3110, 1e-4, pessimistic=p) for p in (False, True))
    assert low - 1e-3 <= lower <= high + 1e-3
    claimed, lower, *_ = figure_numbers("tmlr-fixed-size")
    low, high = (pld_epsilon(1.0, 0.05, 1000, 1e-5, pessimistic=p) for p in (False, True))
    assert low - 1e-3 <= lower <= high + 1e-3
    # The design note has 7.50; numpy's FFT of the loss of (1−q)N(0) + qN(±1), σ = 2, q = 0.05, on
    # cells of 5e-4, rounded to both sides of a cell, gives 7.5003.
    assert claimed == pytest.approx(7.50, abs=0.01)


def integer_moments_epsilon(sigma, rate, steps, delta):
    """The moments accountant from dp-accounting's Rényi divergences at orders 2 … 65."""
    orders = [float(order) for order in range(2, 66)]
    accountant = dpa.rdp.RdpAccountant(orders)
    event = dpa.GaussianDpEvent(sigma)
    accountant.compose(dpa.PoissonSampledDpEvent(rate, event) if rate < 1 else event, steps)
    return min(
        d - math.log(delta) / (order - 1) for order, d in zip(orders, accountant.rdp, strict=True)
    )


def test_moments_accountant_figures_against_dp_accounting(figure_numbers):
    early, late = figure_numbers("thesis-fig-4-1")[:2]
    assert early == pytest.approx(integer_moments_epsilon(1, 0.1, 5_000, 1e-4), abs=0.05)
    assert late == pytest.approx(integer_moments_epsilon(1, 0.1, 25_000, 1e-4), abs=0.05)
    expected = [
        integer_moments_epsilon(1, rate, steps, 1e-4)
        for steps in (5_000, 50_000)
        for rate in (0.03, 0.01)
    ]
    assert figure_numbers("thesis-minibatch-steps") == pytest.approx(expected, abs=6e-3)
    assert integer_moments_epsilon(5, 0.02, 3110, 1e-4) <= 1.0
    assert integer_moments_epsilon(5, 0.02, 3111, 1e-4) > 1.0  # the budget allows 3110 steps
    after = integer_moments_epsilon(5, 0.02, 3125, 1e-4)
    assert figure_numbers("workshop-stop-rule")[2] == pytest.approx(after, abs=6e-5)


def test_gaussian_figures_against_the_closed_form(figure_numbers):
    cost = figure_numbers("thesis-algorithm-3-cost")
    expected = [gaussian_epsilon(math.sqrt(m), 1e-4) for m in (2, 5, 10, 100, 1)]
    assert cost == pytest.approx(expected, abs=6e-3)
    assert figure_numbers("tum-sensitivity")[-2:] == pytest.approx(
        [gaussian_epsilon(f * 0.4 * math.sqrt(112), 1e-5) for f in (2, 1)], abs=0.06
    )
    claimed = figure_numbers("thesis-post-processing")[2]
    assert claimed == pytest.approx(gaussian_epsilon(math.sqrt(10) / 5, 1e-5), abs=6e-3)
    assert figure_numbers("thesis-probabilistic-dp") == pytest.approx(
        [stats.norm.sf(0.5) - math.e * stats.norm.sf(1.5), stats.norm.sf(0.5)], abs=6e-5
    )


def test_witness_of_percentile_clipping(figure_numbers):
    """One ball by hand: radius 3·10⁻⁶, χ² with a shift of one unit, and r⁴/8 by sampling."""
    stated = figure_numbers("thesis-percentile-clipping")[0]
    inside = stats.ncx2.cdf(9.0, 4, 1.0) - 1e-4
    assert stated >= math.log(inside / ((3e-6) ** 4 / 8)) - 0.01
    for radius in (0.01, 0.3, 1.0):  # P(χ²₄ ≤ r²) ≤ r⁴/8
        assert stats.chi2.cdf(radius**2, 4) <= radius**4 / 8


def test_witness_of_the_realised_batch():
    """Outside of a ball is as good as any test of N(0, I) against N(0, I/4), by Neyman–Pearson."""
    ours = thesis_dp_sgd.realised_batch_epsilon(4, 1e-4)
    square = np.linspace(0.0, 30.0, 30_001)
    # In four dimensions P(χ² > x) = e^{−x/2}(1 + x/2).
    p = np.exp(-square / 2) * (1 + square / 2)
    log_q = -2 * square + np.log1p(2 * square)
    keep = p > 1e-4
    best = (np.log(p[keep] - 1e-4) - log_q[keep]).max()
    assert best - 0.01 <= ours <= best + 1e-9


def test_the_best_of_ten_runs():
    """Between the hand-made event "all below −1" and the release of all ten."""
    mu = 0.268
    ours = tmlr_tables.best_of_epsilon(mu, 10, 1e-5)
    event = stats.norm.cdf([-1.0, -1.0 - mu]) ** 10
    by_hand = max(0.0, math.log(max(event[0] - 1e-5, 1e-300) / event[1]))
    assert by_hand <= ours <= gaussian_epsilon(mu * math.sqrt(10), 1e-5)
    assert tmlr_tables.best_of_epsilon(mu, 1, 1e-5) == pytest.approx(
        gaussian_epsilon(mu, 1e-5), abs=1e-3
    )


def test_the_worst_composition_against_dp_accounting():
    """Randomised response with odds e^ε: the sum by hand, and dp-accounting's on cells of 0.01.

    It rounds each of 12 losses up by less than a cell: δ at 1.3 at the least, at 1.18 at the most.
    """
    single, count = 0.5, 12
    mass = {
        single: 1.0 / (1.0 + math.exp(-single)),
        -single: 1.0 / (1.0 + math.exp(single)),
    }

    def by_hand(epsilon):
        total = 0.0
        for wrong in range(count + 1):
            loss = (count - 2 * wrong) * single
            chance = mass[-single] ** wrong * mass[single] ** (count - wrong)
            total += math.comb(count, wrong) * chance * max(0.0, -math.expm1(epsilon - loss))
        return total

    expected = by_hand(1.3)
    assert tum.worst_composed_delta(single, 0.0, count, 1.3) == pytest.approx(expected, rel=1e-12)
    response = pld.from_randomized_response(
        noise_parameter=2.0 * mass[-single], num_buckets=2, value_discretization_interval=1e-2
    )
    theirs = response.self_compose(count).get_delta_for_epsilon(1.3)
    assert expected * (1.0 - 1e-9) <= theirs <= by_hand(1.18) * (1.0 + 1e-9)


def test_equation_4_12_against_theory(figure_numbers):
    """Expected KL ½(θ₀² + θ₁²)/σ² = 0.278 and 1/2000; 400 scaled χ²₁, six standard errors."""
    thesis, exact = figure_numbers("thesis-eq-4-12")[:2]
    band = 6 * math.sqrt(2 / 400)
    assert abs(thesis / (0.5 * 5 / 9) - 1) < band
    assert abs(exact / (0.5 / 1000) - 1) < band


def test_tables_by_arithmetic(results, figure_numbers):
    rows = workshop_data.TABLE_1.values()
    products = [kind.records * kind.delta for row in rows for kind in (row.small, row.large)]
    assert figure_numbers("workshop-delta") == pytest.approx(
        [min(products), max(products)], abs=6e-4
    )
    assert "(2442, 610, 732)" in results["tmlr-table-2"].finding.figure
    assert [24421 * 100 // 1000, 24421 * 25 // 1000, 24421 * 30 // 1000] == [2442, 610, 732]
    assert [39074 * 19 // 100, 39073 * 19 // 100] == [7424, 7423]


def test_the_small_logistic_model_against_the_engine():
    """Its ELBO is the engine's, and its optimum a stationary point of it."""
    signed = tmlr_properties.BOTH
    shard = Shard(inputs=signed[:, None], targets=np.ones(len(signed)))
    model = LogisticRegression(dimension=1, nodes=64)
    prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
    rng = np.random.default_rng(0)

    def engine(q):
        gaussian = MeanFieldGaussian(natural_mean=q[:1], precision=q[1:])
        return float(elbo(model, gaussian, prior, [shard], rng))

    best = logistic.optimum(logistic.PRIOR, signed)
    assert engine(best) == pytest.approx(logistic.elbo(best, signed), abs=1e-9)
    for shift in ([1e-2, 0.0], [-1e-2, 0.0], [0.0, 1e-2], [0.0, -1e-2]):
        assert engine(best + np.array(shift)) < engine(best)


def test_the_model_with_two_optima_against_quadrature():
    """The expectation by adaptive quadrature; local and global optima by a search of their own."""

    def log_likelihood(theta):
        return math.log(0.1 + 0.9 * math.exp(-2.0 * theta**2))

    def expected(mean, variance):
        normal = stats.norm(mean, math.sqrt(variance))
        points = [mean + k * math.sqrt(variance) for k in range(-8, 9)] + [-2.0, 0.0, 2.0]
        return integrate.quad(
            lambda t: log_likelihood(t) * normal.pdf(t),
            min(points),
            max(points),
            points=sorted(points)[1:-1],
            limit=400,
        )[0]

    for mean, variance in ((0.0, 0.2), (0.0, 11.0), (3.0, 5.0)):
        # Beyond eight standard deviations 1e-15 of the mass is left, at −2.3 each.
        assert two_optima.expected(mean, variance) == pytest.approx(
            expected(mean, variance), abs=1e-8
        )
    found = two_optima.between()
    cavity = 0.01 + found.factor

    def bound(clients, precision):
        def negative(parameters):
            mean, log_variance = parameters
            variance = math.exp(log_variance)
            square = mean**2 + variance
            data = clients * two_optima.expected(mean, variance)
            return -(data + 0.5 * log_variance - 0.5 * precision * square)

        return negative

    own = [0.0, math.log(found.variance)]
    for start in ([0.0, 0.0], [2.0, -2.0], [5.0, 3.0], [0.5, -1.0]):
        local = optimize.minimize(bound(1, cavity), start, method="Nelder-Mead")
        assert local.fun >= bound(1, cavity)(own) - 1e-9
    best = optimize.minimize(bound(2, 0.01), [0.0, -1.0], method="Nelder-Mead")
    assert bound(2, 0.01)(own) - best.fun == pytest.approx(found.global_excess, abs=2e-3)


def test_hidden_noise_evidence_respects_a_true_claim():
    """Values that do not differ: the bound must be 0, up to the 1% that it allows itself."""
    assert hidden_noise_epsilon(5, 4000, 7, absent_value=1.0) == 0.0


def test_the_last_sum_of_one_client_is_the_gaussian_mechanism():
    """No others: ten rounds of noise 5 and a shift of 10, so μ = √10/5."""
    expected = gaussian_epsilon(math.sqrt(10) / 5, 1e-5)
    assert last_sum_epsilon(1, 10, 0) == pytest.approx(expected, abs=2e-3)


def test_the_last_sum_of_ten_clients_against_plain_sampling():
    """At δ = 0.01 the tails can be counted: a few hundred of 200,000, hence about 0.05."""
    rng = np.random.default_rng(8)
    present, absent = (np.sort(_noisy_totals(v, 10, 200_000, rng)[-1]) for v in (1.0, 0.0))
    thresholds = np.quantile(absent, np.linspace(0.9, 0.998, 50))
    p, q = (1.0 - np.searchsorted(x, thresholds) / 200_000 for x in (present, absent))
    counted = np.log((p - 0.01)[p > 0.01] / q[p > 0.01]).max()
    assert last_sum_epsilon(10, 200_000, 3, delta=0.01) == pytest.approx(counted, abs=0.3)
