"""TMLR's privacy theorems (section 3, Appendix A)."""

import math
from typing import Literal

import numpy as np
from dp_accounting import GaussianDpEvent, NeighboringRelation, UnsupportedEventError

from accountants import gaussian
from audits.claims import _costs
from audits.claims.ledger import Finding, claim, decide, decide_against, decide_if
from audits.claims.thesis_data_sets import hidden_noise_epsilon
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    DPOptimisation,
    FixedSize,
    LocalAveraging,
    ParameterPerturbation,
    Poisson,
    Scope,
    Transcript,
    View,
    VirtualClients,
    clip_rows,
    colluding,
    epsilon_bounds,
    project,
    project_clients,
)
from pvi import Adam

DELTA = 1e-5
Memory = Literal["remembers", "forgets", "resets"]
MEMORIES: tuple[Memory, ...] = ("remembers", "forgets", "resets")


def _scope(view: View = MESSAGES) -> Scope:
    return Scope(relation=NeighboringRelation.REPLACE_ONE, view=view)


def _multiplier(plan: Transcript, view: View = MESSAGES) -> float:
    """The multiplier std/C that a plan of one round has for a REPLACE_ONE accountant."""
    event = project(plan, _scope(view))
    assert isinstance(event, GaussianDpEvent)
    return float(event.noise_multiplier)


def _optimisation(sampling: Poisson | FixedSize, damping: float = 1.0) -> DPOptimisation:
    return DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=50,
        rule=Adam(learning_rate=0.01),
        sampling=sampling,
        damping=damping,
    )


@claim(
    id="tmlr-theorem-3",
    paper="TMLR",
    place="Theorem 3 (A.1)",
    statement="DP optimisation costs T local steps, however many global updates lie between them.",
)
def theorem_3() -> Finding:
    """The events of 20 × 50 and of 1 × 1000 steps, for Poisson sampling."""
    one = _costs.poisson_replaced(2.0, 0.05, 1000, DELTA)
    interleaved = epsilon_bounds(
        _optimisation(Poisson(0.05)).plan(clients=3, rounds=20), _scope(), DELTA
    )
    same = abs(one.upper - interleaved.upper) < 1e-5
    return decide(
        same,
        figure=f"ε = {interleaved.upper:.4f} for 20 × 50 steps, {one.upper:.4f} for 1000",
        argument="A message is post-processing of noisy steps. The oracle must fit the sampling "
        "that is used: see tmlr-fixed-size.",
    )


@claim(
    id="tmlr-fixed-size",
    paper="TMLR",
    place="Appendix A, after Theorem A.1; section 2.2",
    statement="With sampling without replacement and substitution, the Fourier accountant's pair "
    "(1−q)N(0) + qN(±1) bounds the cost of DP optimisation.",
)
def fixed_size() -> Finding:
    """That pair's ε against a certified lower bound, σ = 2, q = 0.05, T = 1000, δ = 1e-5."""
    pair = _costs.poisson_replaced(2.0, 0.05, 1000, DELTA)
    actual = _costs.fixed_size(2.0, 0.05, 1000, DELTA)
    return decide_against(
        stated=actual.lower <= pair.upper,
        reading="batches are Poisson samples, for which two explicit data sets attain that pair",
        under_reading=pair.upper - pair.lower < 1e-3,
        figure=f"the pair gives {pair.upper:.4f}; fixed size costs at least {actual.lower:.4f} and "
        f"at most {actual.upper:.4f}",
        argument="Let all other gradients be −C·u. In a batch of fixed size the record's place is "
        "taken by another −C·u when it is absent, so that along u the output is N(0) when its "
        "gradient is −C·u, and (1−q)N(0) + qN(2/σ) when it is +C·u: the shift is 2C, not ±C about "
        "a common centre. Under Poisson sampling an absent record leaves a gap, and the pair fits.",
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
        2.0 / _multiplier(m(clip_norm=1.0, noise_multiplier=3.0).plan(clients=1, rounds=1, parts=8))
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
            _scope(),
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
        facts[parts] = (
            float(getattr(source, "weight")) * float(getattr(source, "noise_std")),  # noqa: B009
            _multiplier(plan),
        )
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


def _joint(mechanism: type[ParameterPerturbation], clients: int) -> dict[str, float]:
    """Multipliers of one round with shared noise, by view."""
    plan = mechanism(
        clip_norm=1.0, noise_multiplier=3.0, trusted_aggregator=True, memory="forgets"
    ).plan(clients=clients, rounds=1, parts=1 if mechanism is ParameterPerturbation else 4)
    return {
        "sums": _multiplier(plan, AGGREGATE),
        "messages": _multiplier(plan, MESSAGES),
        "one colluder": _multiplier(plan, colluding(1)),
        "all others collude": _multiplier(plan, colluding(clients - 1)),
    }


def _shares(mechanism: type[ParameterPerturbation]) -> Finding:
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
    statement="With a trusted aggregator and local averaging, each client's noise can fall as 1/√M.",
)
def theorem_8() -> Finding:
    """`project` on one round of local averaging with shared noise, for four adversaries."""
    return _shares(LocalAveraging)


@claim(
    id="tmlr-theorem-11",
    paper="TMLR",
    place="Theorem 11 (A.13)",
    statement="With a trusted aggregator and virtual clients, each client's noise can fall as 1/√M.",
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
            answered[memory] = epsilon_bounds(plan, _scope(AGGREGATE), DELTA).upper
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
        / _multiplier(
            LocalAveraging(
                clip_norm=1.0, noise_multiplier=3.0, trusted_aggregator=True, memory="forgets"
            ).plan(clients=10, rounds=1, parts=4),
            colluding(k),
        )
        for k in (1, 5, 9)
    }
    return decide_if(
        condition="few clients pool their knowledge; with all but one the gain of Theorems 8 and 11 "
        "is gone",
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
    events = [project(plan, _scope()) for plan in plans]
    costs = [epsilon_bounds(plan, _scope(), DELTA).upper for plan in plans]
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
    plan = _optimisation(Poisson(0.05)).plan(clients=25, rounds=2)
    same = project(plan, _scope(AGGREGATE)) == project(plan, _scope(MESSAGES))
    return decide(
        same and all(math.isclose(value, 5.0) for value in gain.values()),
        figure=f"gain in noise {', '.join(f'{v:.2f}' for v in gain.values())} at M = 25; "
        f"DP optimisation's event is {'the same' if same else 'another'}",
        argument="Local steps must be private on their own, since later steps use them; noise on "
        "messages can be shared.",
    )


@claim(
    id="tmlr-amplification",
    paper="TMLR",
    place="section 3.1",
    statement="More local data at a fixed batch size gives better privacy.",
)
def amplification() -> Finding:
    """ε at batch size 50 for n = 500 … 8000, for both kinds of sampling."""
    sizes = (500, 1000, 2000, 4000, 8000)
    sampled = [_costs.poisson_replaced(2.0, 50 / n, 200, DELTA).upper for n in sizes]
    fixed = [_costs.fixed_size(2.0, 50 / n, 200, DELTA) for n in sizes]
    falls = all(a > b for a, b in zip(sampled, sampled[1:], strict=False))
    certified = all(a.lower > b.upper for a, b in zip(fixed, fixed[1:], strict=False))
    return decide(
        falls and certified,
        figure=f"Poisson {[round(v, 3) for v in sampled]}; fixed size at least "
        f"{[round(b.lower, 3) for b in fixed]}",
        argument="q = b/n falls. For fixed sizes the certified intervals do not even overlap.",
    )


@claim(
    id="tmlr-parallel-composition",
    paper="TMLR",
    place="Appendix A, after Theorem A.1",
    statement="The global model is (max ε_m, max δ_m)-DP for any single record.",
)
def parallel_composition() -> Finding:
    """Two clients with different sampling: the worst of their costs against the model's."""
    mechanism = DPOptimisation(
        clip_norm=1.0,
        noise_multiplier=2.0,
        steps=50,
        rule=Adam(learning_rate=0.01),
        sampling=(Poisson(0.02), Poisson(0.1)),
    )
    plan = mechanism.plan(clients=2, rounds=4)
    model = epsilon_bounds(plan, _scope(), DELTA).upper
    own = [_costs.poisson_replaced(2.0, rate, 200, DELTA).upper for rate in (0.02, 0.1)]
    events = project_clients(plan, _scope())
    return decide(
        len(events) == 2 and abs(model - max(own)) < 1e-5,
        figure=f"clients {own[0]:.4f} and {own[1]:.4f}, model {model:.4f}",
        argument="A record belongs to one client; given the releases so far, no other client's "
        "message depends on it.",
    )


@claim(
    id="tmlr-damping",
    paper="TMLR",
    place="Appendix B, on damping",
    statement="Damping global updates does not change the guarantee.",
)
def damping() -> Finding:
    """The events of plans with damping 0.1 and 1, for optimisation and perturbation."""
    pairs = [
        tuple(
            project(_optimisation(Poisson(0.05), value).plan(clients=2, rounds=3), _scope())
            for value in (0.1, 1.0)
        ),
        tuple(
            project(
                LocalAveraging(clip_norm=1.0, noise_multiplier=3.0, damping=value).plan(
                    clients=2, rounds=3, parts=4
                ),
                _scope(),
            )
            for value in (0.1, 1.0)
        ),
    ]
    return decide(
        all(a == b for a, b in pairs),
        figure=f"{pairs[0][0]} and {pairs[1][0]} with and without",
        argument="A public factor multiplies signal and noise alike: post-processing.",
    )
