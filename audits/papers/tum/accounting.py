"""The TUM report's accounting: Theorems 1 and 2 (section 5.3.1), sections 6.3 and 7.3."""

import math

import numpy as np
from scipy import stats

from accountants import classical, gaussian
from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if
from audits.papers.numbers import computed, stated
from audits.papers.tum.published import CLIP, ITERATIONS, MU, NETWORK_ITERATIONS, SIGMA, TOTAL_DELTA
from audits.papers.tum.theorems import composed_by_tum, single_epsilon

_POINTS = 300
"""For the division of δ̃ = kδ + δ′."""


@claim(
    id="tum-theorem-1",
    paper="TUM",
    kind="privacy",
    place="Theorem 1",
    statement="For ε in (0, 1), noise σ ≥ √(2·ln(1.25/δ))·Δ/ε gives (ε, δ)-DP.",
)
def theorem_1() -> Finding:
    """The exact δ over the δ asked for inside the theorem's range, and beyond it."""

    def excess(epsilon: float, delta: float) -> float:
        mu = epsilon / math.sqrt(2.0 * math.log(1.25 / delta))
        return gaussian.delta(mu, epsilon) / delta

    inside = max(
        excess(float(e), float(d))
        for e in np.linspace(0.01, 0.999, 40)
        for d in np.logspace(-10, -0.5, 10)
    )
    return decide(
        inside <= 1.0,
        figure=f"exact δ at most {inside:.3f} of the δ asked for; at ε = 10, δ = 1e-5 it is "
        f"{excess(10.0, 1e-5):.2f}",
        argument="The closed form of the Gaussian mechanism's δ(ε); the theorem's range matters.",
        numbers=[
            stated("exact δ over the δ asked for, ε < 1", 0.0, 1.0),
            computed("exact δ over the δ asked for, ε < 1", 0.0, inside),
            computed("exact δ over the δ asked for, ε = 10", excess(10.0, 1e-5)),
        ],
    )


@claim(
    id="tum-theorem-1-range",
    paper="TUM",
    kind="privacy",
    place="section 7.3, Figure 12, with Theorem 1",
    statement="Theorem 1 gives the single iteration's ε for Figure 12 (σ = 0.5, C = 0.2).",
)
def theorem_1_range() -> Finding:
    """The single step's ε at the best division of δ̃ = 0.1, for the six iteration numbers."""
    singles = {
        k: composed_by_tum(MU, k, TOTAL_DELTA, points=_POINTS)[1]
        for k in ITERATIONS + NETWORK_ITERATIONS
    }
    # Theorem 1 needs √(2·ln(1.25/δ))·C/σ < 1.
    needed = 1.25 * math.exp(-0.5 / MU**2)
    return decide_against(
        stated=all(value < 1.0 for value in singles.values()),
        reading=f"a single iteration's δ above {needed:.3f}, with which k iterations have no "
        "guarantee left; the exact curve has no such limit",
        under_reading=single_epsilon(MU, needed * 1.001) < 1.0,
        figure=f"ε of one iteration {min(singles.values()):.2f} to {max(singles.values()):.2f}; "
        f"ε < 1 needs δ > {needed:.4f} in each iteration",
        argument="The theorem is stated and proved for ε < 1. With σ/C = 2.5 that asks for "
        f"δ > {needed:.3f} per iteration, and over 112 iterations kδ exceeds 1. The "
        "values so obtained are not proved by the theorem; they happen to be true, being so loose "
        "(tum-fig-12-loose). The report does not print δ or δ′; the division taken here is the one "
        "that gives the smallest ε̃ at δ̃ = 0.1, and any smaller δ makes the single ε larger.",
        numbers=[
            number
            for k, value in singles.items()
            for label in [f"ε of one iteration, k = {k}"]
            for number in (stated(label, 0.0, 1.0), computed(label, value))
        ],
    )


@claim(
    id="tum-theorem-2",
    paper="TUM",
    kind="privacy",
    place="Theorem 2",
    statement="Advanced composition: k (ε, δ)-DP runs are (√(2k·ln(1/δ′))ε + kε(e^ε − 1), kδ + δ′)-"
    "DP.",
)
def theorem_2() -> Finding:
    """The theorem against the worst (ε, δ)-DP runs, and against Gaussian steps, on a grid."""
    worst, ratios = [], []
    for k in (10, 100, 1000):
        for delta in (1e-8, 1e-6):
            for single in (0.001, 0.01, 0.1, 0.5, 1.0, 2.0):
                epsilon, total = classical.advanced_composition(single, delta, k, 1e-5)
                worst.append(worst_composed_delta(single, delta, k, epsilon) / total)
            for mu in (0.01, 0.05, 0.2):
                single = gaussian.epsilon(mu, delta)
                epsilon, total = classical.advanced_composition(single, delta, k, 1e-5)
                ratios.append(epsilon / gaussian.epsilon(mu * math.sqrt(k), total))
    return decide(
        max(worst) <= 1.0 and min(ratios) >= 1.0,
        figure=f"worst case: {min(worst):.2g} to {max(worst):.3f} of the δ stated; Gaussian steps: "
        f"{min(ratios):.2f} to {max(ratios):.3g} times the exact ε",
        argument="No k (ε, δ)-DP runs are worse than k times randomised response with a chance δ "
        "of saying it all (Kairouz, Oh and Viswanath 2015), whose δ at the theorem's ε is a sum of "
        "binomial terms. k Gaussian steps, with which TUM uses the theorem, are one with μ√k: for "
        "them it is loose.",
        numbers=[
            stated("worst δ over the δ stated", 0.0, 1.0),
            computed("worst δ over the δ stated", min(worst), max(worst)),
            stated("theorem's ε over the exact one", 1.0, math.inf),
            computed("theorem's ε over the exact one", min(ratios), max(ratios)),
        ],
    )


def worst_composed_delta(single: float, delta: float, count: int, epsilon: float) -> float:
    """δ(ε) of `count` runs of the worst (single, delta)-DP mechanism.

    It says which data set it was with probability δ, and otherwise runs randomised response with
    odds e^single; L = (count − 2j)·single is the loss where j answers point the other way.
    """
    wrong = np.arange(count + 1)
    loss = (count - 2 * wrong) * single
    chance = stats.binom.pmf(wrong, count, 1.0 / (1.0 + math.exp(single)))
    above = loss > epsilon
    answered = float((chance[above] * -np.expm1(epsilon - loss[above])).sum())
    return -math.expm1(count * math.log1p(-delta)) + (1.0 - delta) ** count * answered


@claim(
    id="tum-fig-12-loose",
    paper="TUM",
    kind="privacy",
    place="section 7.3, last paragraph",
    statement="The values of Figure 12 are not tight; the privacy achieved might be a lot better.",
)
def fig_12_loose() -> Finding:
    """Theorems 1 and 2 against the exact curve at δ̃ = 0.1, with sensitivity C and 2C."""
    rows = {
        k: (
            composed_by_tum(MU, k, TOTAL_DELTA, points=_POINTS)[0],
            gaussian.epsilon(MU * math.sqrt(k), TOTAL_DELTA),
            gaussian.epsilon(2.0 * MU * math.sqrt(k), TOTAL_DELTA),
        )
        for k in (112, 512)
    }
    return decide(
        all(theorem > 5.0 * doubled for theorem, _, doubled in rows.values()),
        figure="; ".join(
            f"k = {k}: {a:.0f} by the theorems, exactly {b:.1f} (2C: {c:.1f})"
            for k, (a, b, c) in rows.items()
        ),
        argument="Gaussian noise composes exactly. It is a lot better, and still no protection.",
        numbers=[
            number
            for k, (theorem, exact, doubled) in rows.items()
            for label, value in ((f"ε, k = {k}", exact), (f"ε, k = {k}, 2C", doubled))
            for number in (stated(label, 0.0, theorem), computed(label, value))
        ],
    )


@claim(
    id="tum-trade-off",
    paper="TUM",
    kind="privacy",
    place="section 6.3",
    statement="Theorem 1 has a linear trade-off between C and ε, and an exponential one between C "
    "and δ.",
)
def trade_off() -> Finding:
    """ε at twice the C for fixed σ and δ, and log δ against 1/C² for fixed σ and ε."""
    base = math.sqrt(2.0 * math.log(1.25 / 1e-5)) * CLIP / SIGMA
    double = math.sqrt(2.0 * math.log(1.25 / 1e-5)) * 2.0 * CLIP / SIGMA
    clips = np.array([0.05, 0.1, 0.2])
    log_delta = math.log(1.25) - 0.5 * (0.9 * SIGMA / clips) ** 2
    slope = np.diff(log_delta) / np.diff(1.0 / clips**2)
    return decide_if(
        condition="exponential means in 1/C²: δ = 1.25·exp(−(εσ/C)²/2)",
        with_condition=math.isclose(double, 2.0 * base) and math.isclose(slope[0], slope[1]),
        without=bool(np.allclose(np.diff(log_delta) / np.diff(clips), slope[0])),
        figure=f"ε doubles ({double / base:g}); log δ has the slope {slope[0]:.4f} in 1/C²",
        argument="Solve σ = √(2·ln(1.25/δ))·C/ε for ε, and for δ.",
        numbers=[
            stated("ε at twice the C, over ε", 2.0),
            computed("ε at twice the C, over ε", double / base),
        ],
    )


@claim(
    id="tum-delta",
    paper="TUM",
    kind="privacy",
    place="section 7.3",
    statement="δ around 0.1 is a reasonable choice, since a larger δ gains almost nothing in ε.",
)
def delta_choice() -> Finding:
    """What (0, 0.1)-DP permits, and the exact ε at δ = 0.1 and at δ = 1e-5."""
    records = 1000
    published = TOTAL_DELTA * records
    loose, strict = (gaussian.epsilon(MU * math.sqrt(112), d) for d in (TOTAL_DELTA, 1e-5))
    return decide_against(
        stated=published < 1.0,
        reading="δ well below one over the number of records, on the exact curve",
        under_reading=1e-5 * records < 1.0,
        figure=f"(0, 0.1)-DP permits publishing {published:.0f} of {records} records in clear; "
        f"112 iterations: ε = {loose:.1f} at δ = 0.1, {strict:.1f} at 1e-5",
        argument="The mechanism that publishes each record with probability 0.1, and nothing else, "
        "is (0, 0.1)-DP: whatever ε says, δ alone allows a tenth of the records to be exposed "
        "outright. On the exact curve a small δ costs a factor of two, not a huge price; the steep "
        "rise of Figure 12 is that of the theorems.",
        numbers=[
            # What any reasonable δ has to promise: not a single record in clear.
            stated(f"records of {records} in clear", 0.0, 1.0),
            computed(f"records of {records} in clear", published),
            computed("ε of 112 iterations, δ = 0.1", loose),
            computed("ε of 112 iterations, δ = 1e-5", strict),
        ],
    )
