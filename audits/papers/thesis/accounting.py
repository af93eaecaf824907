"""The Thesis's accounting: chapter 2's theorems and the ε figures of section 4.2."""

import math

import numpy as np
from scipy import stats

from accountants import classical, gaussian
from audits.papers import costs
from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if
from audits.papers.numbers import certified, computed, stated

DELTA = 1e-4


@claim(
    id="thesis-gaussian-mechanism",
    paper="Thesis",
    kind="privacy",
    place="Theorem 2.2.1",
    statement="For ε in (0, 1), noise of variance above 2·ln(1.25/δ)·Δ²/ε² gives (ε, δ)-DP.",
)
def gaussian_mechanism() -> Finding:
    """The exact δ of that noise over the δ asked for, on a grid of 600 settings."""
    ratios = [
        gaussian.delta(1.0 / classical.gaussian_noise_multiplier(epsilon, delta), epsilon) / delta
        for epsilon in np.linspace(0.01, 0.999, 50)
        for delta in np.logspace(-12, -0.5, 12)
    ]
    return decide(
        max(ratios) <= 1.0,
        figure=f"exact δ is {min(ratios):.2g} to {max(ratios):.2g} of the δ asked for",
        argument="The Gaussian mechanism's δ(ε) is known in closed form (Balle & Wang 2018).",
        numbers=[
            stated("exact δ over the δ asked for", 0.0, 1.0),
            computed("exact δ over the δ asked for", min(ratios), max(ratios)),
        ],
    )


@claim(
    id="thesis-probabilistic-dp",
    paper="Thesis",
    kind="privacy",
    place="section 2.2, after Definition 2.2.2",
    statement="(ε, δ)-DP is an ε-DP guarantee that holds with probability 1 − δ.",
)
def probabilistic_dp() -> Finding:
    """P(privacy loss > ε) of the Gaussian mechanism with σ = Δ, against its δ(ε)."""
    epsilon, mu = 1.0, 1.0
    delta = gaussian.delta(mu, epsilon)

    def tail(threshold: float) -> float:
        """The loss is N(μ²/2, μ²)."""
        return float(stats.norm.sf(threshold / mu - mu / 2.0))

    return decide_against(
        stated=tail(epsilon) <= delta,
        reading="P(loss > 2ε) ≤ δ/(1 − e^−ε); or the converse, since a loss above ε with "
        "probability at most δ does imply (ε, δ)-DP; or up to a change of the output's law by δ in "
        "total variation (Dwork & Roth 2014, section 3.5)",
        under_reading=tail(2.0 * epsilon) <= delta / -math.expm1(-epsilon),
        figure=f"δ(1) = {delta:.4f}, P(loss > 1) = {tail(epsilon):.4f}",
        argument="δ(ε) = E[(1 − e^{ε−L})₊] weighs each outcome with loss L > ε by less than one, "
        "so that P(L > ε) is larger. Take noise σ equal to the sensitivity: the loss is N(1/2, 1), "
        f"the mechanism is (1, {delta:.3f})-DP, and its loss exceeds 1 with probability Φ(−1/2).",
        numbers=[
            stated("P(loss > 1)", 0.0, delta),
            computed("P(loss > 1)", tail(epsilon)),
            stated("P(loss > 2)", 0.0, delta / -math.expm1(-epsilon)),
            computed("P(loss > 2)", tail(2.0 * epsilon)),
        ],
    )


@claim(
    id="thesis-tail-bound",
    paper="Thesis",
    kind="privacy",
    place="Theorem 2.2.2, eq. 2.21",
    statement="The algorithm is (ε, δ)-DP for δ ≤ exp(α(λ) − λε).",
)
def tail_bound() -> Finding:
    """The Gaussian mechanism, σ = Δ, ε = 3: its exact δ against what eq. 2.21 admits."""
    epsilon, mu = 3.0, 1.0
    exact = gaussian.delta(mu, epsilon)
    admitted = [
        math.exp(0.5 * moment * (moment + 1) * mu**2 - moment * epsilon) for moment in range(1, 21)
    ]
    return decide_if(
        condition="the inequality bounds the algorithm's own δ(ε) from above, as eq. 2.22 uses it; "
        "it does not admit every δ below the bound",
        with_condition=exact <= min(admitted),
        without=exact <= 1e-12,
        figure=f"exact δ(3) = {exact:.5f}; smallest bound {min(admitted):.5f}",
        argument="Markov's inequality gives (ε, δ)-DP for δ = exp(α − λε), hence for any larger δ. "
        "If eq. 2.21 is read as a range of admitted δ, its sign is the wrong way round: it would "
        "admit δ = 0, which no Gaussian mechanism satisfies.",
        numbers=[
            stated("δ(3), if eq. 2.21 is a range", 0.0),
            computed("δ(3), if eq. 2.21 is a range", exact),
            stated("δ(3), eq. 2.22", 0.0, min(admitted)),
            computed("δ(3), eq. 2.22", exact),
        ],
    )


@claim(
    id="thesis-moments-accountant",
    paper="Thesis",
    kind="privacy",
    place="section 2.2.1, eq. 2.20–2.29",
    statement="The larger of E₁ and E₂, added over steps, and the tail bound give an upper bound "
    "of ε.",
)
def moments_accountant() -> Finding:
    """The moments accountant against certified lower bounds on a grid of settings."""
    settings = [
        (noise, rate, steps)
        for noise in (0.8, 1.0, 2.0, 5.0)
        for rate in (0.01, 0.03, 0.1)
        for steps in (100, 1000)
    ]
    ratios = [
        costs.moments_epsilon(*setting, DELTA) / costs.poisson(*setting, DELTA).lower
        for setting in settings
    ]
    return decide(
        min(ratios) >= 1.0,
        figure=f"{len(ratios)} settings: {min(ratios):.2f} to {max(ratios):.2f} times the exact ε",
        argument="Valid for Poisson sampling and one record more or less, which is how eq. 2.24 "
        "defines the mechanism; nowhere tight on this grid.",
        numbers=[
            stated("accountant's ε over the exact one", 1.0, math.inf),
            computed("accountant's ε over the exact one", min(ratios), max(ratios)),
        ],
    )


@claim(
    id="thesis-fig-4-1",
    paper="Thesis",
    kind="privacy",
    place="section 4.2.1, Figure 4.1(c)",
    statement="ε is above 400 after 500 server updates and about 100 after 100 (50 steps each, "
    "σ = 1, q = 0.1, δ = 1e-4).",
)
def fig_4_1() -> Finding:
    """The moments accountant at 5,000 and 25,000 steps, and the exact values."""
    early, late = (costs.moments_epsilon(1.0, 0.1, 50 * n, DELTA) for n in (100, 500))
    exact = [costs.poisson(1.0, 0.1, 50 * n, DELTA) for n in (100, 500)]
    return decide(
        late > 400.0 and abs(early - 100.0) < 10.0,
        figure=f"moments accountant {early:.1f} and {late:.1f}; exact {exact[0].upper:.1f} and "
        f"{exact[1].upper:.1f}",
        argument="The figure's accountant reproduces. The true cost of Poisson sampling is much "
        "lower, because the accountant's smallest order, λ = 1, is too large here.",
        numbers=[
            stated("ε after 100 updates", 90.0, 110.0),
            computed("ε after 100 updates", early),
            stated("ε after 500 updates", 400.0, math.inf),
            computed("ε after 500 updates", late),
            certified("exact ε after 100 updates", exact[0]),
            certified("exact ε after 500 updates", exact[1]),
        ],
    )


@claim(
    id="thesis-minibatch-steps",
    paper="Thesis",
    kind="privacy",
    place="section 4.2.2",
    statement="After 50 × 100 = 5000 steps of DP-SGD, ε is less than 90 for q = 0.03 and less than "
    "20 for q = 0.01.",
)
def minibatch_steps() -> Finding:
    """The moments accountant after 50·100 and after 50·1000 steps."""
    rates = (0.03, 0.01)
    few, many = (
        [costs.moments_epsilon(1.0, rate, 50 * rounds, DELTA) for rate in rates]
        for rounds in (100, 1000)
    )

    def below(values: list[float], least: float) -> bool:
        return all(least * top < value < top for value, top in zip(values, (90, 20), strict=True))

    return decide_if(
        condition="90 and 20 are bounds and no more; as values they are those after 50 × 1000 "
        "steps, the maximum that the section names",
        with_condition=below(few, 0.0) and below(many, 0.85),
        without=below(few, 0.85),
        figure=f"after 5000 steps {few[0]:.2f} and {few[1]:.2f}; after 50000 {many[0]:.2f} and "
        f"{many[1]:.2f}",
        argument="By the letter it is true, and four to five times too high to describe ε after "
        "5000 steps. The section allows 1000 updates and stops at ε = 100 only; with its own "
        "accountant 50 × 1000 steps end just below 90 and 20. The printed product 50 × 100 = 5000 "
        "most likely lacks a zero.",
        numbers=[
            number
            for steps, found in ((5000, few), (50_000, many))
            for rate, top, value in zip(rates, (90.0, 20.0), found, strict=True)
            for label in [f"ε after {steps} steps, q = {rate:g}"]
            for number in (stated(label, 0.0, top), computed(label, value))
        ],
    )


@claim(
    id="thesis-minibatch-tenth",
    paper="Thesis",
    kind="privacy",
    place="section 4.2.2",
    statement="With q = 0.1, ε reaches 100 after about 110 server updates of 50 steps.",
)
def minibatch_tenth() -> Finding:
    """The update at which the moments accountant passes 100."""
    updates = costs.steps_within(100.0, 1.0, 0.1, DELTA) / 50.0
    exact = costs.poisson(1.0, 0.1, 5500, DELTA).upper
    return decide(
        105.0 <= updates < 115.0,
        figure=f"passes 100 at update {updates:.1f}; exact ε at 110: {exact:.1f}",
        argument="By the moments accountant; the certified ε at that point is lower.",
        numbers=[
            stated("updates until ε = 100", 105.0, 115.0),
            computed("updates until ε = 100", updates),
        ],
    )


@claim(
    id="thesis-minibatch-full",
    paper="Thesis",
    kind="privacy",
    place="section 4.2.2",
    statement="With q = 1, ε reaches 100 after only 2 server updates of 50 steps.",
)
def minibatch_full() -> Finding:
    """The accountant's and the exact ε of 100 full-batch Gaussian steps."""
    after = [costs.moments_epsilon(1.0, 1.0, 50 * n, DELTA) for n in (1, 2)]
    exact = gaussian.epsilon(math.sqrt(100.0), DELTA)
    return decide_if(
        condition="ε is what the accountant with integer moments says; the cost itself is lower",
        with_condition=after[0] < 100.0 <= after[1],
        without=exact >= 100.0,
        figure=f"moments accountant {after[0]:.1f}, {after[1]:.1f}; exact after 2: {exact:.1f}",
        argument="100 Gaussian steps with σ = 1 are one with μ = 10, whose ε(1e-4) is known "
        "exactly. The accountant would need a moment below 1, and takes λ = 1.",
        numbers=[
            stated("accountant's ε after 2 updates", 100.0, math.inf),
            computed("accountant's ε after 2 updates", after[1]),
            stated("exact ε after 2 updates", 100.0, math.inf),
            computed("exact ε after 2 updates", exact),
        ],
    )
