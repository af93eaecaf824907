"""TMLR's trusted aggregator: noise shares of all clients (Theorems 8 and 11, Table 1)."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from dp_accounting import UnsupportedEventError

from accountants import Bounds, calibrate_noise, gaussian
from audits.papers.hidden_noise import hidden_noise_epsilon
from audits.papers.ledger import Finding, claim, decide, decide_if
from audits.papers.numbers import certified, computed, measured, stated
from audits.papers.tmlr.record_level import DELTA, multiplier, record_scope
from audits.wording import down
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    Contribution,
    DPOptimisation,
    Layout,
    LocalAveraging,
    ParameterPerturbation,
    Poisson,
    VirtualClients,
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


def _joint(mechanism: Mechanism, clients: int) -> dict[str, float]:
    """Multipliers of one round with shared noise, by view."""
    plan = mechanism(
        clip_norm=1.0, noise_multiplier=3.0, trusted_aggregator=True, memory="forgets"
    ).plan(Layout(clients=clients, parts=1 if mechanism is ParameterPerturbation else 4), rounds=1)
    return {
        "sums": multiplier(plan, AGGREGATE),
        "messages": multiplier(plan, MESSAGES),
        "one colluder": multiplier(plan, colluding(1)),
        "all others collude": multiplier(plan, colluding(clients - 1)),
    }


def _shares(mechanism: Mechanism) -> Finding:
    seen = {clients: _joint(mechanism, clients) for clients in (4, 25, 100)}
    outside = all(math.isclose(views["sums"], 3.0) for views in seen.values())
    views = seen[100]
    return decide_if(
        condition="one round, or clients that do not carry their share into the next one "
        "(tmlr-shares-over-rounds)",
        with_condition=outside,
        without=_carried_shares_are_answered(mechanism),
        figure="multiplier at M = 100, σ = 3: "
        + ", ".join(f"{value:.3f} ({name})" for name, value in views.items()),
        argument="M shares of σ/√M add up to σ in the sum, which is all that an outsider sees of a "
        "trusted aggregator; the proof's count is right for one synchronous update. It does not "
        "say what a client's factor keeps of its own share, and over rounds that decides. A single "
        "message has σ/√M, as TMLR says itself (Appendix A, after Theorem A.10), and with k "
        "clients who pool their shares σ·√((M−k)/M) is left (tmlr-colluders).",
        numbers=[
            stated("multiplier, M = 100: sums", 3.0),
            *(computed(f"multiplier, M = 100: {name}", value) for name, value in views.items()),
        ],
    )


def _carried_shares_are_answered(mechanism: Mechanism) -> bool:
    """Whether `project` can bound two rounds whose factors keep the clients' own shares."""
    plan = mechanism(
        clip_norm=1.0, noise_multiplier=3.0, trusted_aggregator=True, memory="remembers"
    ).plan(Layout(clients=4, parts=4), rounds=2)
    try:
        project(plan, record_scope(AGGREGATE))
    except UnsupportedEventError:
        return False
    return True


@claim(
    id="tmlr-theorem-8",
    paper="TMLR",
    kind="privacy",
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
    kind="privacy",
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
    kind="privacy",
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
        ).plan(Layout(clients=100, parts=1), rounds=10)
        try:
            answered[memory] = epsilon_bounds(plan, record_scope(AGGREGATE), DELTA)
        except UnsupportedEventError:
            answered[memory] = Bounds(0.0, math.inf)
    claimed = gaussian.epsilon(2.0 * math.sqrt(10.0) / 5.0, DELTA)
    evidence = hidden_noise_epsilon(100, 20_000, 2, absent_value=-1.0, delta=DELTA)
    sound = all(
        math.isclose(answered[m].upper, claimed, rel_tol=1e-6) for m in ("forgets", "resets")
    )
    return decide_if(
        condition="clients forget their noise share, or all factors are reset from public state; a "
        "factor updated by the noisy message remembers it",
        with_condition=sound,
        without=evidence <= claimed,
        figure=f"claimed ε = {claimed:.3f}; factors that remember, M = 100, σ = 5, ten rounds: "
        f"ε ≥ {down(evidence, 4)} at 99% confidence",
        argument="If t_m is updated by the message that was sent, the next local update takes the "
        "own noise share back. Under clipping the sums then show a record that pushes by ±C in "
        "every round, while the noise of other clients cancels between rounds: the noise that hid "
        "round i is subtracted again in round i + 1. Corollaries 5 and 10 compose updates "
        "that are each private given what was released before; these depend on the clients' own "
        "shares as well, which were not released.",
        numbers=[
            stated("ε of ten sums, factors that remember", 0.0, claimed),
            measured("ε of ten sums, factors that remember", evidence, math.inf),
            *(
                number
                for memory in ("forgets", "resets")
                for label in [f"ε of ten sums, memory {memory}"]
                for number in (stated(label, 0.0, claimed), certified(label, answered[memory]))
            ),
        ],
    )


@claim(
    id="tmlr-colluders",
    paper="TMLR",
    kind="privacy",
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
            ).plan(Layout(clients=10, parts=4), rounds=1),
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
        numbers=[computed(f"noise times, {k} of 10 collude", value) for k, value in needed.items()],
    )


@claim(
    id="tmlr-table-1",
    paper="TMLR",
    kind="privacy",
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
    ).plan(Layout(clients=25), rounds=2)
    same = project(plan, record_scope(AGGREGATE)) == project(plan, record_scope(MESSAGES))
    return decide(
        same and all(math.isclose(value, 5.0) for value in gain.values()),
        figure=f"gain in noise {', '.join(f'{v:.2f}' for v in gain.values())} at M = 25; "
        f"DP optimisation's event is {'the same' if same else 'another'}",
        argument="Local steps must be private on their own, since later steps use them; noise on "
        "messages can be shared.",
        numbers=[
            number
            for name, value in gain.items()
            for label in [f"gain in noise, {name}"]
            for number in (stated(label, math.sqrt(25.0)), computed(label, value))
        ],
    )


@claim(
    id="tmlr-table-1-local-data",
    paper="TMLR",
    kind="privacy",
    place="Table 1, column on local data; section 3.2.2, after Corollary 10",
    statement="The size of a client's data affects the noise scale of DP optimisation, local "
    "averaging and virtual clients, and does not affect that of parameter perturbation.",
)
def table_1_local_data() -> Finding:
    """The noise of messages for 1 to 100 parts, and of local steps for 500 to 8000 records."""
    parts = (1, 10, 100)
    noise = {
        m.__name__: [_message_noise(m, count) for count in parts]
        for m in (LocalAveraging, VirtualClients)
    }
    whole = _message_noise(ParameterPerturbation, 1)
    # Batches of 50 for 200 steps at ε = 1: the multiplier that 500, 2000 and 8000 records need.
    local = [
        calibrate_noise(target_epsilon=1.0, delta=DELTA, sampling_rate=50 / n, steps=200)
        for n in (500, 2000, 8000)
    ]

    def falls(values: Sequence[float]) -> bool:
        return all(a > b for a, b in itertools.pairwise(values))

    virtual = noise["VirtualClients"]
    # N parts that pull alike, each by C: the sum that the noise is added to.
    relative = [value / count for value, count in zip(virtual, parts, strict=True)]
    others = falls(local) and falls(noise["LocalAveraging"]) and math.isclose(whole, 3.0)
    return decide_if(
        condition="for virtual clients the noise is taken in proportion to the sum that it is "
        "added to, if that grows with the number of parts",
        with_condition=others and falls(relative),
        without=others and falls(virtual),
        figure=f"multiplier of local steps {', '.join(f'{v:.3f}' for v in local)} (n = 500, 2000, "
        f"8000); noise over C with 1, 10, 100 parts: local averaging "
        f"{', '.join(f'{v:g}' for v in noise['LocalAveraging'])}, virtual clients "
        f"{', '.join(f'{v:g}' for v in virtual)}, parameter perturbation {whole:g}",
        argument="Virtual clients add the same noise to the sum whatever N is (eq. 3.6). The text "
        "after Corollary 10 says so, and that only its relative effect can fall; the mark in the "
        "table says more. Local averaging divides sum and noise by N, DP optimisation needs less "
        "noise at a smaller sampling rate.",
        numbers=[
            *(
                computed(f"noise over C, {name}, N = {count}", value)
                for name, values in noise.items()
                for count, value in zip(parts, values, strict=True)
            ),
            computed("noise over C, ParameterPerturbation", whole),
            *(
                computed(f"multiplier of local steps, n = {n}", value)
                for n, value in zip((500, 2000, 8000), local, strict=True)
            ),
        ],
    )


def _message_noise(mechanism: Mechanism, parts: int) -> float:
    """The standard deviation of a message's noise over C, σ = 3."""
    plan = mechanism(clip_norm=1.0, noise_multiplier=3.0).plan(
        Layout(clients=1, parts=parts), rounds=1
    )
    source = plan[0].source
    assert isinstance(source, Contribution)
    return float(source.weight * source.noise_std)
