"""The Thesis's Algorithm 3: noise split over clients (section 3.3)."""

import math

import numpy as np
from scipy import stats

from accountants import gaussian
from audits.papers import costs
from audits.papers.hidden_noise import hidden_noise_epsilon, last_sum_epsilon
from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if
from audits.papers.numbers import certified, computed, measured, stated
from audits.papers.thesis.data_sets import (
    MODEL,
    PRIOR,
    SHARDS,
    TRIALS,
    multiplier,
    plausible_variance,
    variance_interval,
)
from audits.wording import down
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    SERVER,
    Layout,
    NoiseSplitting,
    ParameterPerturbation,
    Setting,
)
from pvi import ExactSolver, MeanFieldGaussian

DELTA = 1e-4
CLIENTS = (2, 5, 10, 100)


@claim(
    id="thesis-algorithm-3-cost",
    paper="Thesis",
    kind="privacy",
    place="section 3.3, after eq. 3.7, on Algorithm 3, line 12",
    statement="Algorithm 3 accounts for its noise wrongly: with σC/√M per client the cost grows "
    "with M, and the account does not.",
)
def algorithm_3_cost() -> Finding:
    """The exact ε of one message, σ = 1, δ = 1e-4, against the cost accounted for."""
    claimed = gaussian.epsilon(1.0, DELTA)
    splitting = NoiseSplitting(clip_norm=1.0, noise_multiplier=1.0)
    seen = {m: multiplier(splitting.plan(Layout(clients=m), rounds=1), MESSAGES) for m in CLIENTS}
    cost = {m: gaussian.epsilon_bounds(1.0 / sigma, DELTA) for m, sigma in seen.items()}
    outside = multiplier(splitting.plan(Layout(clients=10), rounds=1), AGGREGATE)
    return decide(
        all(bounds.lower > claimed for bounds in cost.values()),
        otherwise="messages are seen, and there is more than one client",
        figure=f"one round: ε = {', '.join(f'{b.lower:.2f} (M={m})' for m, b in cost.items())}, "
        f"accounted {claimed:.2f}; multiplier of the sum {outside:g}",
        argument="The Thesis's adversary intercepts messages (section 3.1). A client's message is "
        "its clipped update plus noise σC/√M: a Gaussian mechanism of multiplier σ/√M, even for a "
        "client that contributes zero instead (one that turns around costs twice the μ). What is "
        "refuted is the algorithm's account, which the Thesis takes over in order to reject it; "
        "the account would be right for one round of which only the sum is seen.",
        numbers=[
            number
            for m, bounds in cost.items()
            for label in [f"ε of one message, M = {m}"]
            for number in (stated(label, claimed, math.inf), certified(label, bounds))
        ],
    )


@claim(
    id="thesis-fig-3-3",
    paper="Thesis",
    kind="privacy",
    place="Figure 3.3",
    statement="The correct costs for M = 2, 5, 10 are those of an effective noise scale 1/√M.",
)
def fig_3_3() -> Finding:
    """`project` on Algorithm 3's messages, and the moments accountant's curve."""
    splitting = NoiseSplitting(clip_norm=1.0, noise_multiplier=1.0)
    effective = {
        m: multiplier(splitting.plan(Layout(clients=m), rounds=1), MESSAGES) for m in (2, 5, 10)
    }
    right = all(math.isclose(value, 1.0 / math.sqrt(m)) for m, value in effective.items())
    sums = multiplier(splitting.plan(Layout(clients=10), rounds=1), AGGREGATE)
    curve = {m: costs.moments_epsilon(value, 1.0, 1, DELTA) for m, value in effective.items()}
    return decide_if(
        condition="the adversary sees messages; one who sees sums only has σ in the first round",
        with_condition=right,
        without=math.isclose(sums, 1.0 / math.sqrt(10)),
        figure=f"moments accountant, one round: "
        f"{', '.join(f'{v:.2f} (M={m})' for m, v in curve.items())}; multiplier of sums {sums:g}",
        argument="A message has noise σC/√M. Whoever sees only the sum of M messages faces M "
        "independent shares, which add up to σC.",
        numbers=[
            number
            for label, scale, found in (
                *((f"multiplier of a message, M = {m}", m, v) for m, v in effective.items()),
                ("multiplier of the sum, M = 10", 10, sums),
            )
            for number in (stated(label, 1.0 / math.sqrt(scale)), computed(label, found))
        ],
    )


def _rounds_identity(clip_norm: float) -> float:
    """How far two rounds' sums are from signal plus the second round's noise, in noise units."""
    noise_std = 0.02
    mechanism = NoiseSplitting(clip_norm=clip_norm, noise_multiplier=noise_std / clip_norm)
    run = mechanism.build(
        Setting(
            model=MODEL,
            prior=MeanFieldGaussian(natural_mean=np.zeros(1), precision=np.ones(1)).broadcast_to(
                (TRIALS,)
            ),
            solver=ExactSolver(),
        ),
        SHARDS,
        np.random.default_rng(3),
    )
    run.run(2)
    first, second = (np.asarray(r.value) for r in run.transcript if r.sender == SERVER)
    total = first + second
    return float((total.std(axis=0, ddof=1) / noise_std).max())


@claim(
    id="thesis-post-processing",
    paper="Thesis",
    kind="privacy",
    place="section 3.3, after eq. 3.7",
    statement="A client's next update releases information about its share of the noise, so that "
    "Algorithm 3 violates post-processing.",
)
def post_processing() -> Finding:
    """Sums of ten rounds with clipping, by sampling; two rounds without, by their variance."""
    claimed = gaussian.epsilon(math.sqrt(10.0) / 5.0, 1e-5)
    leaks = {10: hidden_noise_epsilon(10, 200_000, 1), 100: hidden_noise_epsilon(100, 20_000, 1)}
    last = {m: last_sum_epsilon(m, 400_000, 2) for m in leaks}
    ratio = _rounds_identity(1e3)
    clean = _plausible_ratio(ratio)
    return decide_if(
        condition="clipping is active, or messages are seen; sums of unclipped updates leak "
        "nothing more",
        with_condition=all(value > claimed for value in leaks.values()),
        without=not clean,
        figure=f"sums, σ = 5, T = 10, α = 1, δ = 1e-5: ε ≥ {down(leaks[10], 3)} (M=10), "
        f"{down(leaks[100], 3)} (M=100) at 99% confidence against {claimed:.2f}; of the last sum "
        f"alone about {last[10]:.1f} and {last[100]:.1f}; unclipped, two rounds' noise is "
        f"{ratio:.3f} of one round's",
        argument="Unclipped and with α = 1, a client's update takes back its last noise: after "
        "round i the sums add up to signal plus the noise of round i alone, as T plain Gaussian "
        "releases would. Under clipping one client adds C in every round or nothing, while the "
        "others take back theirs: the cumulated sums differ by i·C, but their noise does not "
        "grow with i as it would if it were fresh. The evidence is a test on simulated sums, whose "
        "bound is limited by the number of draws. How large ε is behind it: after ten rounds the "
        "two laws of the cumulated sum are one law and its shift by 10·C, that law is a sum of M − "
        "1 independent terms and a Gaussian, and its convolution gives the ε of this one number "
        "at δ = 1e-5, for a client that contributes zero instead; all ten sums can only show more.",
        numbers=[
            number
            for m in leaks
            for label in [f"ε of ten sums, M = {m}"]
            for number in (
                stated(label, 0.0, claimed),
                measured(label, leaks[m], math.inf),
                measured(label, last[m], math.inf),
            )
        ],
    )


def _plausible_ratio(ratio: float) -> bool:
    """Whether a standard deviation over TRIALS draws, the larger of two columns, may be 1."""
    low, high = stats.chi2.ppf([5e-10, 1.0 - 5e-10], TRIALS - 1)
    return bool(low < (TRIALS - 1) * ratio**2 < high)


@claim(
    id="thesis-eq-3-7",
    paper="Thesis",
    kind="mathematics",
    place="eq. 3.7",
    statement="Eq. 3.4 and 3.6 together add noise σC·z to λ in each round, whatever α is.",
)
def eq_3_7() -> Finding:
    """The variance of λ after one round of Algorithm 3 with α = 0.3 and with α = 1."""
    deviation, interval, plausible = {}, {}, {}
    for damping in (0.3, 1.0):
        run = NoiseSplitting(clip_norm=1000.0, noise_multiplier=0.02, damping=damping).build(
            Setting(model=MODEL, prior=PRIOR.broadcast_to((TRIALS,)), solver=ExactSolver()),
            SHARDS,
            np.random.default_rng(5),
        )
        run.run(1)
        samples = run.posterior.vector
        deviation[damping] = float(samples.std(axis=0, ddof=1).mean()) / 20.0
        interval[damping] = [math.sqrt(v) / 20.0 for v in variance_interval(samples)]
        plausible[damping] = plausible_variance(samples, 20.0**2)
    return decide_against(
        stated=plausible[0.3],
        reading="α = 1, or the noise of eq. 3.7 inside the bracket: α·σC·z, as in eq. 3.14",
        under_reading=plausible[1.0],
        figure=f"noise over σC: {deviation[0.3]:.3f} at α = 0.3, {deviation[1.0]:.3f} at α = 1",
        argument="Eq. 3.4 multiplies signal and noise by α, and eq. 3.6 adds what it gives. The "
        "slip is harmless for privacy: signal and noise keep their proportion. Read as a rule of "
        "its own, eq. 3.7 would add 1/α times the noise and be more private than accounted for.",
        numbers=[
            number
            for damping, (low, high) in interval.items()
            for label in [f"noise over σC at α = {damping:g}"]
            for number in (stated(label, 1.0), measured(label, low, high))
        ],
    )


@claim(
    id="thesis-eq-3-8",
    paper="Thesis",
    kind="privacy",
    place="eq. 3.8",
    statement="Without the √M, each client is protected by σ, and the sum's noise is √M·σC.",
)
def eq_3_8() -> Finding:
    """`project` on parameter perturbation with two clients, and the variance of λ."""
    mechanism = ParameterPerturbation(clip_norm=1000.0, noise_multiplier=0.02)
    effective = multiplier(mechanism.plan(Layout(clients=2), rounds=1), MESSAGES)
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR.broadcast_to((TRIALS,)), solver=ExactSolver()),
        SHARDS,
        np.random.default_rng(6),
    )
    run.run(1)
    samples = run.posterior.vector
    ratio = float(samples.std(axis=0, ddof=1).mean()) / 20.0
    low, high = (math.sqrt(v) / 20.0 for v in variance_interval(samples))
    return decide(
        math.isclose(effective, 0.02) and plausible_variance(samples, 2 * 20.0**2),
        figure=f"multiplier {effective:g} as set; noise of the sum over σC {ratio:.3f}, M = 2",
        argument="Independent noises add in variance.",
        numbers=[
            stated("noise of the sum over σC, M = 2", math.sqrt(2.0)),
            measured("noise of the sum over σC, M = 2", low, high),
        ],
    )
