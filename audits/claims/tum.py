"""The TUM report: Fritsch, Halder, Hartmann, Petukhov 2018."""

import math

import numpy as np
from dp_accounting import GaussianDpEvent, NeighboringRelation

from accountants import classical, gaussian
from audits.claims.ledger import (
    Finding,
    claim,
    decide,
    decide_against,
    decide_if,
    untestable,
)
from mechanisms import FedAvgPerturbation, Scope, project
from pvi import SGD, LogisticRegression, Shard, federated_averaging

# Section 7.3: noise, sensitivity, and the iteration numbers of Figure 12.
SIGMA, CLIP = 0.5, 0.2
ITERATIONS = (112, 187, 512, 132, 314, 989)
MU = CLIP / SIGMA
TOTAL_DELTA = 0.1


def _single(delta: float) -> float:
    """The ε of one step by Theorem 1's formula, whether or not the theorem applies."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) * MU


def composed(iterations: int, total_delta: float) -> tuple[float, float]:
    """The smallest ε̃ of Theorems 1 and 2 at a total δ̃, and the single step's ε at it.

    δ̃ = kδ + δ′; the division is optimised over a grid.
    """
    best = (math.inf, math.inf)
    for slack in total_delta * np.geomspace(1e-4, 0.999, 300):
        delta = (total_delta - float(slack)) / iterations
        single = _single(delta)
        if single < 500.0:
            total = classical.advanced_composition(single, delta, iterations, float(slack))[0]
            best = min(best, (total, single))
    return best


@claim(
    id="tum-theorem-1",
    paper="TUM",
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
    )


@claim(
    id="tum-theorem-1-range",
    paper="TUM",
    place="section 7.3, Figure 12, with Theorem 1",
    statement="Theorem 1 gives the single iteration's ε for Figure 12 (σ = 0.5, C = 0.2).",
)
def theorem_1_range() -> Finding:
    """The single step's ε at the best division of δ̃ = 0.1, for the six iteration numbers."""
    singles = {k: composed(k, TOTAL_DELTA)[1] for k in ITERATIONS}
    # Theorem 1 needs √(2·ln(1.25/δ))·C/σ < 1.
    needed = 1.25 * math.exp(-0.5 / MU**2)
    return decide_against(
        stated=all(value < 1.0 for value in singles.values()),
        reading=f"a single iteration's δ above {needed:.3f}, with which k iterations have no "
        "guarantee left; the exact curve has no such limit",
        under_reading=_single(needed * 1.001) < 1.0,
        figure=f"ε of one iteration {min(singles.values()):.2f} to {max(singles.values()):.2f}; "
        f"ε < 1 needs δ > {needed:.4f} in each iteration",
        argument="The theorem is stated and proved for ε < 1. With σ/C = 2.5 that asks for "
        f"δ > {needed:.3f} per iteration, and over 112 iterations kδ exceeds 1. The "
        "values so obtained are not proved by the theorem; they happen to be true, being so loose "
        "(tum-fig-12-loose).",
    )


@claim(
    id="tum-theorem-2",
    paper="TUM",
    place="Theorem 2",
    statement="Advanced composition: k (ε, δ)-DP runs are (√(2k·ln(1/δ′))ε + kε(e^ε − 1), kδ + δ′)-"
    "DP.",
)
def theorem_2() -> Finding:
    """The theorem's ε against the exact one for Gaussian steps, on a grid."""
    ratios = []
    for k in (10, 100, 1000):
        for mu in (0.01, 0.05, 0.2):
            for delta in (1e-8, 1e-6):
                single = gaussian.epsilon(mu, delta)
                epsilon, total = classical.advanced_composition(single, delta, k, 1e-5)
                ratios.append(epsilon / gaussian.epsilon(mu * math.sqrt(k), total))
    return decide(
        min(ratios) >= 1.0,
        figure=f"{min(ratios):.2f} to {max(ratios):.3g} times the exact ε",
        argument="k Gaussian steps are one with μ√k, whose curve is known exactly; the theorem is "
        "an upper bound on it everywhere.",
    )


@claim(
    id="tum-fig-12-loose",
    paper="TUM",
    place="section 7.3, last paragraph",
    statement="The values of Figure 12 are not tight; the privacy achieved might be a lot better.",
)
def fig_12_loose() -> Finding:
    """Theorems 1 and 2 against the exact curve at δ̃ = 0.1, with sensitivity C and 2C."""
    rows = {
        k: (
            composed(k, TOTAL_DELTA)[0],
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
    )


@claim(
    id="tum-sensitivity",
    paper="TUM",
    place="section 6.3",
    statement="Projecting a client's update to the ball of radius C makes its sensitivity C.",
)
def sensitivity() -> Finding:
    """The event of one client's projected update, and the cost of 112 iterations both ways."""
    plan = FedAvgPerturbation(
        clip_norm=CLIP, noise_multiplier=SIGMA / CLIP, weights=(0.5, 0.5)
    ).plan(sizes=(100, 100), rounds=1)
    event = project(plan, Scope(relation=NeighboringRelation.ADD_OR_REMOVE_ONE))
    assert isinstance(event, GaussianDpEvent)
    shift = SIGMA / CLIP / event.noise_multiplier
    client = project(plan, Scope(relation=NeighboringRelation.REPLACE_SPECIAL, unit="client"))
    assert isinstance(client, GaussianDpEvent)
    once, twice = (gaussian.epsilon(f * MU * math.sqrt(112), 1e-5) for f in (1.0, 2.0))
    return decide_against(
        stated=shift <= 1.0,
        reading="neighbours differ in whether the client takes part at all (it sends zero if not)",
        under_reading=math.isclose(client.noise_multiplier, SIGMA / CLIP),
        figure=f"sensitivity {shift:g}·C; 112 iterations, δ = 1e-5: ε = {twice:.1f}, not "
        f"{once:.1f}",
        argument="By Definition 2 the sensitivity is the largest distance of two outputs. Both lie "
        "in a ball of radius C, and one record can turn an update around before it is projected: "
        "two antipodes are 2C apart.",
    )


@claim(
    id="tum-trade-off",
    paper="TUM",
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
    )


@claim(
    id="tum-delta",
    paper="TUM",
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
        "outright. On the exact curve a small δ costs a factor of two, not a huge price.",
    )


@claim(
    id="tum-scaling",
    paper="TUM",
    place="section 4.1 and 5.3.2",
    statement="Means and variances for scaling, from the clients' exact sums or by secure "
    "multiparty computation, are obtained in a privacy-preserving fashion.",
)
def scaling() -> Finding:
    """Exact sums over two data sets that differ in one record: can an outsider tell them apart?"""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1000, 3))
    other = data.copy()
    other[0] += 1e-3
    released = [(d.sum(axis=0), (d**2).sum(axis=0), len(d)) for d in (data, other)]
    same = bool(np.array_equal(released[0][0], released[1][0]))
    recovered = released[0][0] - data[1:].sum(axis=0)
    error = float(np.abs(recovered - data[0]).max())
    # With noise of standard deviation σ·C on sums of vectors clipped to C, the cost is finite.
    private = gaussian.epsilon(2.0 / 10.0, 1e-5)
    return decide_against(
        stated=same,
        reading="privacy from the other parties' view of single clients' data (secure "
        "computation), not differential privacy of the result; or noisy sums of clipped values, "
        "which cost ε",
        under_reading=math.isfinite(private),
        figure=f"sums differ, so ε = ∞; who knows all but one record recovers it to {error:.1g}; "
        f"noisy sums with σ = 10C would cost {private:.2f} at δ = 1e-5",
        argument="A deterministic release that takes different values on neighbours satisfies no "
        "(ε, δ) with δ < 1: the event that it takes the first value has probability 1 and 0. "
        "Secure computation hides the inputs, not what the sum tells.",
    )


@claim(
    id="tum-federated-averaging",
    paper="TUM",
    place="section 5.2.3",
    statement="With one local step, averaging models is averaging gradients.",
)
def averaging() -> Finding:
    """Ten rounds of federated averaging with E = 1 against gradient descent on the pooled data."""
    rng = np.random.default_rng(4)
    sizes, rate = (20, 50, 80), 0.5
    inputs = [rng.normal(size=(n, 3)) for n in sizes]
    targets = [np.where(rng.random(n) < 0.5, 1.0, -1.0) for n in sizes]
    shards = [Shard(inputs=x, targets=t) for x, t in zip(inputs, targets, strict=True)]
    ours = federated_averaging(
        LogisticRegression(dimension=3),
        shards,
        rule=SGD(learning_rate=rate),
        rounds=10,
        local_steps=1,
        rng=rng,
    ).weights
    x, t = np.concatenate(inputs), np.concatenate(targets)
    weights = np.zeros(3)
    for _ in range(10):
        margin = t * (x @ weights)
        weights = weights + rate * ((t / (1.0 + np.exp(margin)))[:, None] * x).mean(axis=0)
    gap = float(np.abs(ours - weights).max())
    return decide(
        gap < 1e-12,
        figure=f"largest difference of weights {gap:.1g}",
        argument="Σ (n_k/n)(w − γ·g_k) = w − γ·Σ (n_k/n)g_k. It fails for more than one step.",
    )


@claim(
    id="tum-performance",
    paper="TUM",
    place="section 7.3, Figures 10–11",
    statement="With σ = 0.5 and C = 0.2 or 0.4, logistic regression still gives relatively good "
    "ROC AUC values.",
)
def performance() -> Finding:
    """Not run: the records are a bank's own."""
    epsilon = gaussian.epsilon(2.0 * MU * math.sqrt(112), 1e-5)
    return untestable(
        reason="the behavioural data of bank customers are not public",
        figure=f"at that utility ε = {epsilon:.1f} for δ = 1e-5 and 112 iterations (exact, 2C)",
        argument="Whatever the utility is, what it costs can be computed.",
    )
