"""The Workshop paper: Sharma, Hutchinson, Swaroop, Honkela, Turner 2019."""

import itertools
import math

import numpy as np
from dp_accounting import NeighboringRelation

from audits.claims import _costs
from audits.claims.ledger import Finding, claim, decide, decide_against, decide_if
from mechanisms import AGGREGATE, MESSAGES, DPOptimisation, Poisson, Scope, colluding, project
from pvi import Adagrad
from pvi.data import split

# Appendix D.2, Table 3: σ, q and the local steps per update.
NOISE, RATE, LOCAL_STEPS = 5.0, 0.02, 25
BUDGETS = (0.5, 0.75, 1.0)
# Appendix C, Table 1: ρ, κ, then N and δ of the small and of the large clients.
TABLE_1 = {
    "A": (0.0, 0.0, 3907, 1e-4, 3907, 1e-4),
    "B": (0.9, 0.95, 390, 1e-3, 7424, 1e-4),
    "C": (0.7, -3.0, 1172, 1e-4, 6642, 1e-4),
    "D": (0.6, -1.5, 1562, 1e-4, 6251, 1e-4),
}
ADULT_RECORDS = 48_842
ADULT_POSITIVE = 11_687


@claim(
    id="workshop-budget-poisson",
    paper="Workshop",
    place="section 3, Algorithm 1, Table 3",
    statement="Clients that stop when the moments accountant reaches ε_max = 0.5, 0.75 or 1 "
    "(σ = 5, q = 0.02, δ = 1e-4) are (ε_max, δ)-DP.",
)
def budget_poisson() -> Finding:
    """Certified ε at the steps that the moments accountant allows, for both kinds of batches."""
    steps = [_costs.steps_within(target, NOISE, RATE, 1e-4) for target in BUDGETS]
    sampled = [_costs.poisson(NOISE, RATE, count, 1e-4) for count in steps]
    fixed = [_costs.fixed_size(NOISE, RATE, count, 1e-4) for count in steps]
    return decide_if(
        condition="each record enters a batch independently (Poisson sampling), and neighbours "
        "differ by one record more or less",
        with_condition=all(b.upper <= t for b, t in zip(sampled, BUDGETS, strict=True)),
        without=all(b.upper <= t for b, t in zip(fixed, BUDGETS, strict=True)),
        figure=f"steps {steps}; ε ≤ {[round(b.upper, 4) for b in sampled]} Poisson; "
        f"ε ≥ {[round(b.lower, 4) for b in fixed]} fixed size",
        argument="The moments accountant bounds the subsampled Gaussian of Abadi et al., whose "
        "batches are Poisson samples; there its bound has room to spare. Algorithm 1 draws "
        "minibatches of size L, which is another mechanism (workshop-budget-fixed-size).",
    )


@claim(
    id="workshop-budget-fixed-size",
    paper="Workshop",
    place="Definition 2.1, eq. 4, Table 3",
    statement="With minibatches of a fixed size L and neighbours that differ in one entry, ε stays "
    "below ε_max = 1 (σ = 5, q = 0.02, δ = 1e-4).",
)
def budget_fixed_size() -> Finding:
    """A certified lower bound of ε at the steps allowed, from an explicit pair of data sets."""
    steps = _costs.steps_within(1.0, NOISE, RATE, 1e-4)
    bounds = _costs.fixed_size(NOISE, RATE, steps, 1e-4)
    earlier = _costs.fixed_size(NOISE, RATE, 3050, 1e-4)
    return decide_against(
        stated=bounds.lower <= 1.0,
        reading="Poisson sampling and one record more or less",
        under_reading=_costs.poisson(NOISE, RATE, steps, 1e-4).upper <= 1.0,
        figure=f"ε in [{bounds.lower:.4f}, {bounds.upper:.4f}] at {steps} steps, "
        f"≥ {earlier.lower:.4f} at 3050",
        argument="Let every other record's clipped gradient be −C·u for a unit vector u, and the "
        "one record's +C·u or −C·u. A batch that holds it moves the sum by 2C, with probability "
        "q in each step: along u the two outputs are N(0, 1) and (1−q)N(0, 1) + qN(2/σ, 1). The "
        "ε of that pair, composed, is a lower bound for the algorithm.",
    )


@claim(
    id="workshop-stop-rule",
    paper="Workshop",
    place="section 3, Method",
    statement="ε_max is the maximum: a client no longer communicates once its budget is exceeded.",
)
def stop_rule() -> Finding:
    """The moments accountant's ε after the update that crosses the limit, in rounds of 25 steps."""
    crossing, before = {}, {}
    for target in BUDGETS:
        rounds = _costs.steps_within(target, NOISE, RATE, 1e-4) // LOCAL_STEPS
        before[target] = _costs.moments_epsilon(NOISE, RATE, rounds * LOCAL_STEPS, 1e-4)
        crossing[target] = _costs.moments_epsilon(NOISE, RATE, (rounds + 1) * LOCAL_STEPS, 1e-4)
    return decide_if(
        condition="an update whose cost would exceed the budget is not sent",
        with_condition=all(value <= target for target, value in before.items()),
        without=all(value <= target for target, value in crossing.items()),
        figure=f"last update ends at ε = {[round(v, 4) for v in crossing.values()]} for "
        f"{list(crossing)}",
        argument="An update costs 25 steps at once. If the test is whether the budget is exceeded "
        "already, the update that crosses it has been sent; the overshoot is small here, and is "
        "unbounded in general (one round can cost any amount).",
    )


@claim(
    id="workshop-delta",
    paper="Workshop",
    place="section 3, Method; Table 1",
    statement="Each client's δ is an order of magnitude below one over its number of records.",
)
def delta_choice() -> Finding:
    """δ·N over the clients of Table 1, which would have to be at most 0.1."""
    pairs = [
        (size, delta)
        for _, _, small, small_delta, large, large_delta in TABLE_1.values()
        for size, delta in ((small, small_delta), (large, large_delta))
    ]
    products = [size * delta for size, delta in pairs]
    next_power = all(
        math.isclose(delta, 10.0 ** -math.ceil(math.log10(size))) for size, delta in pairs
    )
    return decide_against(
        stated=max(products) <= 0.1,
        reading="δ is the largest power of ten below 1/N",
        under_reading=next_power,
        figure=f"δ·N from {min(products):.3f} to {max(products):.3f}",
        argument="An order of magnitude below 1/N means δ·N ≤ 0.1; no client of Table 1 has that. "
        "All have the next power of ten below 1/N, which can be nearly 1/N itself.",
    )


def _table_1_matches(training: int) -> bool:
    positive = round(ADULT_POSITIVE * training / ADULT_RECORDS)
    labels = np.repeat([0, 1], [training - positive, positive])
    rng = np.random.default_rng(0)
    return all(
        split(labels, 10, rho, kappa, rng).sizes == (small,) * 5 + (large,) * 5
        for rho, kappa, small, _, large, _ in TABLE_1.values()
    )


@claim(
    id="workshop-table-1",
    paper="Workshop",
    place="Appendix C, eq. 12, Table 1",
    statement="An 80:20 split of Adult, divided by eq. 12, gives the client sizes of Table 1.",
)
def table_1() -> Finding:
    """Eq. 12 for ⌈0.8·48842⌉ training records, and for one fewer."""
    training = math.ceil(0.8 * ADULT_RECORDS)
    return decide(
        _table_1_matches(training),
        figure=f"all 8 sizes with {training} training records; with {training - 1}: "
        f"{'all' if _table_1_matches(training - 1) else 'not all'}",
        argument="Sizes are floors of N(1∓ρ)/10 and follow from the number of training records.",
    )


@claim(
    id="workshop-kappa",
    paper="Workshop",
    place="Appendix C, after eq. 13",
    statement="κ > 1 decreases the number of minority labels on the small clients.",
)
def kappa() -> Finding:
    """The target share of eq. 13 for κ on both sides of 0 and of 1."""
    majority = 0.76  # Appendix C

    def target(value: float) -> float:
        return majority + (1.0 - majority) * value

    possible = target(1.0 + 1e-9) <= 1.0
    fewer = all(majority < target(value) <= 1.0 for value in (0.05, 0.5, 0.95, 1.0))
    more = all(target(value) < majority for value in (-0.5, -1.5, -3.0))
    return decide_against(
        stated=possible,
        reading="κ > 0",
        under_reading=fewer and more,
        figure=f"target share at κ = 1.05: {target(1.05):.4f}; at κ = 0.95 (split B): "
        f"{target(0.95):.4f}",
        argument="λ + (1−λ)κ is a share, and exceeds 1 for every κ > 1. It exceeds λ, so that "
        "minority labels are fewer, exactly for κ > 0; split B has κ = 0.95.",
    )


@claim(
    id="workshop-threat-model",
    paper="Workshop",
    place="Appendix A",
    statement="Each update is protected on its own: neither secure channels nor a trusted server "
    "nor trusted clients are needed.",
)
def threat_model() -> Finding:
    """The event of a run of DP optimisation for three adversaries, from `mechanisms.project`."""
    plan = DPOptimisation(
        clip_norm=75.0,
        noise_multiplier=NOISE,
        steps=LOCAL_STEPS,
        rule=Adagrad(learning_rate=0.5),
        sampling=Poisson(RATE),
        damping=0.1,
    ).plan(clients=10, rounds=4)
    views = (MESSAGES, AGGREGATE, colluding(9))
    events = [
        project(plan, Scope(relation=NeighboringRelation.ADD_OR_REMOVE_ONE, view=view))
        for view in views
    ]
    same = all(a == b for a, b in itertools.pairwise(events))
    return decide(
        same,
        figure=f"one event for {len(views)} views: {events[0]}",
        argument="A message is computed from noisy local steps alone, so that seeing messages, "
        "sums, or all that nine other clients know is post-processing of the same steps.",
    )


@claim(
    id="workshop-clip-norm",
    paper="Workshop",
    place="eq. 4, Table 3",
    statement="C = 75 is a clipping bound that acts on the per-example gradients of eq. 4.",
)
def clip_norm() -> Finding:
    """Markov's inequality on ‖x‖², whose mean standardisation fixes; no records are needed."""
    numeric, one_hot, bound = 6, 8, 75.0
    mean_square = float(numeric + one_hot)
    clipped_at_most = mean_square / bound**2
    scale = 1.0 / RATE  # N/L
    scaled = scale * math.sqrt(mean_square)
    return decide_if(
        condition="gradients are scaled by N/L = 1/q = 50 before they are clipped",
        with_condition=scaled > bound,
        without=clipped_at_most > 0.05,
        figure=f"root mean square input {math.sqrt(mean_square):.3f}; at most "
        f"{100 * clipped_at_most:.2f}% of unscaled gradients reach C; scaled by N/L: {scaled:.0f}",
        argument="Adult has 6 standardised columns and 8 one-hot groups, so that E‖x‖² = 14 "
        "exactly, and the gradient of log σ(t·w·x) by the mean is at most ‖x‖ in norm. By "
        "Markov's inequality, hardly any unscaled gradient is clipped at 75: noise of 5·75 would "
        "be added for nothing. The minibatch loss times N/L has gradients of up to 187 in root "
        "mean square, which C = 75 does cut.",
    )


@claim(
    id="workshop-probit",
    paper="Workshop",
    place="Appendix B, eq. 10–11",
    statement="The probit approximation stands in for the predictive probability.",
)
def probit() -> Finding:
    """E σ(z), z ~ N(m, v), by quadrature, against eq. 11 for |m| ≤ 6, v ≤ 25."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    mean = np.linspace(-6.0, 6.0, 121)[:, None]
    variance = np.linspace(0.01, 25.0, 60)[None, :]
    z = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    exact = (weights / weights.sum() / (1.0 + np.exp(-z))).sum(axis=-1)
    approximate = 1.0 / (1.0 + np.exp(-mean / np.sqrt(1.0 + math.pi * variance / 8.0)))
    error = float(np.abs(exact - approximate).max())
    clear = np.abs(mean) > 1e-9
    labels = bool((((exact > 0.5) == (approximate > 0.5)) | ~clear).all())
    return decide(
        error < 0.03 and labels,
        figure=f"largest error {error:.4f}; labels differ nowhere"
        if labels
        else f"largest error {error:.4f}; labels differ",
        argument="Both exceed one half exactly where the mean of z is positive, so that accuracy "
        "does not depend on the approximation; log-likelihoods do, a little.",
    )
