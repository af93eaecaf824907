"""TMLR's perturbed updates: Theorems 4 to 11 without the properties (section 3.2, Appendix A)."""

import math
from typing import Literal, TypeAlias

import numpy as np
from dp_accounting import UnsupportedEventError

from accountants import gaussian
from audits.claims._hidden_noise import hidden_noise_epsilon
from audits.claims._record_level import DELTA, multiplier, record_scope
from audits.claims.ledger import Finding, claim, decide, decide_if
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    Contribution,
    DPOptimisation,
    LocalAveraging,
    ParameterPerturbation,
    Poisson,
    VirtualClients,
    clip_rows,
    colluding,
    epsilon_bounds,
    project,
)
from pvi import Adam

Mechanism: TypeAlias = type[ParameterPerturbation] | type[LocalAveraging] | type[VirtualClients]
MEMORIES: tuple[Literal["remembers", "forgets", "resets"], ...] = (
    "remembers",
    "forgets",
    "resets",
)


@claim(
    id="tmlr-theorem-4-9",
    paper="TMLR",
    place="Theorems 4 and 9 (A.6, A.11)",
    statement="One record changes the sum over shards by at most 2C, and releasing it with noise σ "
    "is one call of the Gaussian mechanism.",
)
def theorem_4_9() -> Finding:
    """The largest shift found by clipping extremes, and the event's μ, with σ = 3C."""
    rows = np.array([[1e6, 0.0], [-1e6, 0.0], [0.0, 1e6], [0.3, 0.4]])
    clipped = clip_rows(rows, 1.0).rows
    shift = float(np.linalg.norm(clipped[:, None] - clipped[None, :], axis=-1).max())
    mus = [
        2.0 / multiplier(m(clip_norm=1.0, noise_multiplier=3.0).plan(clients=1, rounds=1, parts=8))
        for m in (LocalAveraging, VirtualClients)
    ]
    right, wrong = (gaussian.epsilon(size / 3.0, DELTA) for size in (2.0, 1.0))
    return decide_if(
        condition="the oracle is told the sensitivity 2C; noise σ = (multiplier)·C read with "
        "sensitivity C would be counted too cheap",
        with_condition=shift <= 2.0 and all(math.isclose(mu, 2.0 / 3.0) for mu in mus),
        without=right <= wrong,
        figure=f"shift {shift:.6f}·C; ε = {right:.3f} for 2C, {wrong:.3f} if C were counted",
        argument="Shards are fixed and disjoint, so that one shard's vector changes, anywhere in "
        "the ball of radius C; the bound is attained.",
    )


@claim(
    id="tmlr-corollary-5-10",
    paper="TMLR",
    place="Corollaries 5 and 10 (A.7, A.12)",
    statement="S global updates cost S compositions; local steps are free.",
)
def corollary_5_10() -> Finding:
    """The certified ε of 20 planned rounds against the Gaussian with μ = 2√S/σ."""
    exact = gaussian.epsilon(2.0 * math.sqrt(20.0) / 30.0, DELTA)
    ours = [
        epsilon_bounds(
            m(clip_norm=1.0, noise_multiplier=30.0).plan(clients=5, rounds=20, parts=8),
            record_scope(),
            DELTA,
        )
        for m in (LocalAveraging, VirtualClients)
    ]
    return decide(
        all(b.lower - 1e-6 <= exact <= b.upper + 1e-6 for b in ours),
        figure=f"ε = {exact:.4f} at σ = 30C, S = 20, δ = 1e-5",
        argument="Each client adds the full noise to its own message, and its next message is a "
        "function of its data and of released values. Clipping bounds each change.",
    )


@claim(
    id="tmlr-theorem-6",
    paper="TMLR",
    place="Theorem 6 (A.8)",
    statement="With local averaging the noise on a client's factor falls as 1/N with the number of "
    "partitions, at the same cost.",
)
def theorem_6() -> Finding:
    """Noise standard deviation of an averaged message over its event, N = 1, 10, 100."""
    facts = {}
    for parts in (1, 10, 100):
        plan = LocalAveraging(clip_norm=1.0, noise_multiplier=3.0).plan(
            clients=1, rounds=1, parts=parts
        )
        source = plan[0].source
        assert isinstance(source, Contribution)
        facts[parts] = (source.weight * source.noise_std, multiplier(plan))
    right = all(
        math.isclose(std * parts, 3.0) and math.isclose(multiplier, 3.0)
        for parts, (std, multiplier) in facts.items()
    )
    return decide(
        right,
        figure="noise of the average "
        + ", ".join(f"{std:g}·C (N={parts})" for parts, (std, _) in facts.items()),
        argument="The sum over shards has sensitivity 2C whatever N is, and is divided by N. How "
        "large the shards' changes are is another matter: each is clipped to the same C.",
    )


def _joint(mechanism: Mechanism, clients: int) -> dict[str, float]:
    """Multipliers of one round with shared noise, by view."""
    plan = mechanism(
        clip_norm=1.0, noise_multiplier=3.0, trusted_aggregator=True, memory="forgets"
    ).plan(clients=clients, rounds=1, parts=1 if mechanism is ParameterPerturbation else 4)
    return {
        "sums": multiplier(plan, AGGREGATE),
        "messages": multiplier(plan, MESSAGES),
        "one colluder": multiplier(plan, colluding(1)),
        "all others collude": multiplier(plan, colluding(clients - 1)),
    }


def _shares(mechanism: Mechanism) -> Finding:
    seen = {clients: _joint(mechanism, clients) for clients in (4, 25, 100)}
    outside = all(math.isclose(views["sums"], 3.0) for views in seen.values())
    inside = all(math.isclose(views["messages"], 3.0) for views in seen.values())
    views = seen[100]
    return decide_if(
        condition="the adversary sees only the sums of a trusted aggregator, knows no client's "
        "noise, and clients do not carry their share into the next round "
        "(tmlr-shares-over-rounds)",
        with_condition=outside,
        without=inside,
        figure="multiplier at M = 100, σ = 3: "
        + ", ".join(f"{value:.3f} ({name})" for name, value in views.items()),
        argument="M shares of σ/√M add up to σ in the sum. A single message has σ/√M, and with k "
        "colluders who know their shares σ·√((M−k)/M) is left.",
    )


@claim(
    id="tmlr-theorem-8",
    paper="TMLR",
    place="Theorem 8 (A.10)",
    statement="With a trusted aggregator and local averaging, each client's noise can fall as "
    "1/√M.",
)
def theorem_8() -> Finding:
    """`project` on one round of local averaging with shared noise, for four adversaries."""
    return _shares(LocalAveraging)


@claim(
    id="tmlr-theorem-11",
    paper="TMLR",
    place="Theorem 11 (A.13)",
    statement="With a trusted aggregator and virtual clients, each client's noise can fall as "
    "1/√M.",
)
def theorem_11() -> Finding:
    """`project` on one round of virtual clients with shared noise, for four adversaries."""
    return _shares(VirtualClients)


@claim(
    id="tmlr-shares-over-rounds",
    paper="TMLR",
    place="Theorems 8 and 11 with Corollaries 5 and 10",
    statement="Noise shares of σ/√M over S synchronous rounds cost S compositions of the full "
    "mechanism.",
)
def shares_over_rounds() -> Finding:
    """What `project` answers for three memories, and a test on simulated sums of ten rounds."""
    answered = {}
    for memory in MEMORIES:
        plan = VirtualClients(
            clip_norm=1.0, noise_multiplier=5.0, trusted_aggregator=True, memory=memory
        ).plan(clients=100, rounds=10, parts=1)
        try:
            answered[memory] = epsilon_bounds(plan, record_scope(AGGREGATE), DELTA).upper
        except UnsupportedEventError:
            answered[memory] = math.inf
    claimed = gaussian.epsilon(2.0 * math.sqrt(10.0) / 5.0, DELTA)
    evidence = hidden_noise_epsilon(100, 20_000, 2, absent_value=-1.0, delta=DELTA)
    sound = all(math.isclose(answered[m], claimed, rel_tol=1e-6) for m in ("forgets", "resets"))
    return decide_if(
        condition="clients forget their noise share, or all factors are reset from public state; a "
        "factor updated by the noisy message remembers it",
        with_condition=sound,
        without=evidence <= claimed,
        figure=f"claimed ε = {claimed:.3f}; factors that remember, M = 100, σ = 5, ten rounds: "
        f"ε ≥ {evidence:.3f} at 99% confidence",
        argument="If t_m is updated by the message that was sent, the next local update takes the "
        "own noise share back. Under clipping the sums then show a record that pushes by ±C in "
        "every round, while the noise of other clients cancels between rounds: the noise that hid "
        "round i is subtracted again in round i + 1.",
    )


@claim(
    id="tmlr-colluders",
    paper="TMLR",
    place="section 3, on honest but curious clients",
    statement="Clients that look for the noise values need minor modifications of the bounds only.",
)
def colluders() -> Finding:
    """The noise that has to be added to make up for k of M = 10 clients who pool what they know."""
    needed = {
        k: 3.0
        / multiplier(
            LocalAveraging(
                clip_norm=1.0, noise_multiplier=3.0, trusted_aggregator=True, memory="forgets"
            ).plan(clients=10, rounds=1, parts=4),
            colluding(k),
        )
        for k in (1, 5, 9)
    }
    return decide_if(
        condition="few clients pool their knowledge; with all but one the gain of Theorems 8 and "
        "11 is gone",
        with_condition=needed[1] < 1.1,
        without=needed[9] < 1.1,
        figure="noise times "
        + ", ".join(f"{value:.3f} (k={k})" for k, value in needed.items())
        + " at M = 10",
        argument="k known shares leave a variance of (M−k)/M, so that each share has to grow by "
        "√(M/(M−k)): √M at k = M − 1, which is the noise without an aggregator.",
    )


@claim(
    id="tmlr-one-partition",
    paper="TMLR",
    place="section 3.2",
    statement="With one local partition, local averaging and virtual clients are parameter "
    "perturbation.",
)
def one_partition() -> Finding:
    """The planned transcripts' events and noise for one partition."""
    plans = [
        m(clip_norm=2.0, noise_multiplier=3.0).plan(clients=2, rounds=3)
        for m in (ParameterPerturbation, LocalAveraging, VirtualClients)
    ]
    events = [project(plan, record_scope()) for plan in plans]
    costs = [epsilon_bounds(plan, record_scope(), DELTA).upper for plan in plans]
    return decide(
        all(event == events[0] for event in events),
        figure=f"ε = {costs[0]:.4f} for all three",
        argument="One shard's tempered likelihood has the exponent 1, and the average of one "
        "change is that change.",
    )


@claim(
    id="tmlr-table-1",
    paper="TMLR",
    place="Table 1, column on the trusted aggregator",
    statement="A trusted aggregator helps parameter perturbation, local averaging and virtual "
    "clients, and does not help DP optimisation.",
)
def table_1() -> Finding:
    """The multiplier outside over that of messages, M = 25, and DP optimisation's two events."""
    gain = {
        m.__name__: _joint(m, 25)["sums"] / _joint(m, 25)["messages"]
        for m in (ParameterPerturbation, LocalAveraging, VirtualClients)
    }
    plan = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=50,
        rule=Adam(learning_rate=0.01),
        sampling=Poisson(0.05),
    ).plan(clients=25, rounds=2)
    same = project(plan, record_scope(AGGREGATE)) == project(plan, record_scope(MESSAGES))
    return decide(
        same and all(math.isclose(value, 5.0) for value in gain.values()),
        figure=f"gain in noise {', '.join(f'{v:.2f}' for v in gain.values())} at M = 25; "
        f"DP optimisation's event is {'the same' if same else 'another'}",
        argument="Local steps must be private on their own, since later steps use them; noise on "
        "messages can be shared.",
    )
