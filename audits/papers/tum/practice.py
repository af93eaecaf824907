"""What the TUM report does with data: projection, scaling, averaging, performance."""

import math

import numpy as np
from dp_accounting import GaussianDpEvent, NeighboringRelation

from accountants import Bounds, gaussian
from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if, untestable
from audits.papers.numbers import certified, computed, stated
from audits.papers.tum.published import CLIP, MU, SIGMA
from mechanisms import FedAvgPerturbation, Layout, Scope, project
from pvi import SGD, FederatedAveraging, LogisticRegression, Shard


@claim(
    id="tum-sensitivity",
    paper="TUM",
    kind="privacy",
    place="section 6.3, with section 7.3 (C is called the sensitivity)",
    statement="Projecting a client's update to the ball of radius C makes its sensitivity C.",
)
def sensitivity() -> Finding:
    """The event of one client's projected update, and the cost of 112 iterations both ways."""
    mechanism = FedAvgPerturbation(
        clip_norm=CLIP,
        noise_multiplier=SIGMA / CLIP,
        rule=SGD(learning_rate=0.5),
        weights=(0.5, 0.5),
    )
    plan = mechanism.plan(Layout(clients=2), rounds=1)
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
        numbers=[
            stated("sensitivity over C", 0.0, 1.0),
            computed("sensitivity over C", shift),
            stated("ε of 112 iterations", 0.0, once),
            computed("ε of 112 iterations", twice),
        ],
    )


@claim(
    id="tum-scaling",
    paper="TUM",
    kind="privacy",
    place="section 4.1 and 5.3.2",
    statement="Means and variances for scaling can be had in a privacy-preserving way: clients' "
    "sums are added up, by secure multiparty computation if need be.",
)
def scaling() -> Finding:
    """What exact sums tell of a record, and what their total tells one client of another."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1000, 3))
    other = data.copy()
    other[0] += 1e-3
    released = [(d.sum(axis=0), (d**2).sum(axis=0), len(d)) for d in (data, other)]
    apart = float(np.abs(released[0][0] - released[1][0]).max())
    recovered = released[0][0] - data[1:].sum(axis=0)
    error = float(np.abs(recovered - data[0]).max())
    # Three clients: the first knows its own sum and the total; the others' sums may be exchanged.
    parts = [part.sum(axis=0) for part in np.split(data, [300, 600])]
    views = [(parts[0], parts[0] + parts[1] + parts[2]), (parts[0], parts[0] + parts[2] + parts[1])]
    hidden = all(np.allclose(a, b) for a, b in zip(*views, strict=True))
    differ = not np.allclose(parts[1], parts[2])
    # With noise of standard deviation σ·C on sums of vectors clipped to C, the cost is finite.
    private = gaussian.epsilon(2.0 / 10.0, 1e-5)
    return decide_if(
        condition="privacy means that three or more parties do not see each other's sums (secure "
        "computation); it is no differential privacy of the result, and sums that clients send to "
        "the server openly have neither",
        with_condition=hidden and differ,
        without=apart == 0.0,
        figure=f"neighbours' sums differ by {apart:.1g}, so ε = ∞; who knows all but one record "
        f"recovers it to {error:.1g}; noisy sums with σ = 10C would cost {private:.2f} at δ = 1e-5",
        argument="Section 4.1 asks for privacy without saying which. Secure computation hides the "
        "inputs: exchanging two other clients' data leaves one's view as it is. It does not hide "
        "what the total tells, and a deterministic release that takes different values on "
        "neighbours satisfies no (ε, δ) with δ < 1: the event that it takes the first value has "
        "probability 1 and 0. Hence the (ε, δ) of Figure 12 are those of training on data that are "
        "scaled already, and the sums come on top (so do the class counts of section 6.2).",
        numbers=[
            stated("difference of neighbours' sums", 0.0),
            computed("difference of neighbours' sums", apart),
            certified("ε of exact sums", Bounds(math.inf, math.inf)),
            computed("ε of noisy sums, σ = 10C", private),
        ],
    )


@claim(
    id="tum-federated-averaging",
    paper="TUM",
    kind="mathematics",
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
    ours = FederatedAveraging(
        LogisticRegression(dimension=3),
        shards,
        rule=SGD(learning_rate=rate),
        local_steps=1,
        rng=rng,
    )
    ours.run(10)
    x, t = np.concatenate(inputs), np.concatenate(targets)
    weights = np.zeros(3)
    for _ in range(10):
        margin = t * (x @ weights)
        weights = weights + rate * ((t / (1.0 + np.exp(margin)))[:, None] * x).mean(axis=0)
    gap = float(np.abs(ours.weights - weights).max())
    return decide(
        gap < 1e-12,
        figure=f"largest difference of weights {gap:.1g}",
        argument="Σ (n_k/n)(w − γ·g_k) = w − γ·Σ (n_k/n)g_k. It fails for more than one step.",
        numbers=[
            stated("largest difference of weights", 0.0),
            computed("largest difference of weights", gap),
        ],
    )


@claim(
    id="tum-performance",
    paper="TUM",
    kind="reporting",
    place="section 7.3, Figure 10",
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
        numbers=[computed("ε of 112 iterations, sensitivity 2C", epsilon)],
    )
