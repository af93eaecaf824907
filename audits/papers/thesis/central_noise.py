"""The Thesis's Algorithm 4: central noise and likelihood resets (section 3.3)."""

from typing import Literal

import numpy as np
from dp_accounting import NeighboringRelation, UnsupportedEventError

from accountants.arrays import FloatArray
from audits.papers.ledger import Finding, claim, decide, decide_if
from audits.papers.numbers import computed, measured, stated
from audits.papers.thesis.data_sets import (
    MODEL,
    PRIOR,
    SHARDS,
    TRIALS,
    client_scope,
    plausible_variance,
    shard,
    variance_interval,
)
from audits.wording import event_words
from mechanisms import AGGREGATE, CentralNoise, Layout, NoNoise, Scope, Setting, project
from pvi import ExactSolver


def _walk(memory: Literal["forgets", "resets"], damping: float = 1.0) -> dict[int, FloatArray]:
    """λ − prior after rounds 1, 5, 20 and 50 of Algorithm 4, resets every 5 rounds."""
    run = CentralNoise(
        clip_norm=1000.0, noise_multiplier=0.02, damping=damping, memory=memory, reset_every=5
    ).build(
        Setting(model=MODEL, prior=PRIOR.broadcast_to((TRIALS,)), solver=ExactSolver()),
        SHARDS,
        np.random.default_rng(11),
        keep_values=False,
    )
    run.federation.record = False
    seen: dict[int, FloatArray] = {}
    for stop in (1, 5, 20, 50):
        run.run(stop - max(seen, default=0))
        seen[stop] = run.posterior.vector - PRIOR.vector
    return seen


@claim(
    id="thesis-random-walk",
    paper="Thesis",
    kind="mathematics",
    place="section 3.3, Algorithm 4, eq. 3.17",
    statement="With central noise the approximate likelihoods never hear of the noise, and q "
    "performs a random walk.",
)
def random_walk() -> Finding:
    """The variance of λ after T rounds of Algorithm 4, which should be α²·T·(σC)²."""
    damping = 0.5
    seen = _walk("forgets", damping)
    right = all(plausible_variance(v, damping**2 * t * 20.0**2) for t, v in seen.items())
    unit = (damping * 20.0) ** 2
    growth = {t: float(v.var(axis=0, ddof=1).mean()) / unit for t, v in seen.items()}
    return decide(
        right,
        figure="variance over (α·σC)²: "
        + ", ".join(f"{value:.2f} (T={t})" for t, value in growth.items()),
        argument="In a conjugate model a client whose factor is right proposes no change, whatever "
        "q is; noise piles up, (α·σC)² a round.",
        numbers=[
            number
            for t, samples in seen.items()
            for label in [f"variance over (α·σC)², T = {t}"]
            for low, high in [variance_interval(samples)]
            for number in (stated(label, t), measured(label, low / unit, high / unit))
        ],
    )


@claim(
    id="thesis-resets-variance",
    paper="Thesis",
    kind="mathematics",
    place="section 3.3, eq. 3.18",
    statement="Resetting all factors to an equal part of q/p resets the random walk, without "
    "removing it completely.",
)
def resets_variance() -> Finding:
    """The variance of λ with resets every 5 rounds, after 1, 5, 20 and 50 rounds."""
    seen = _walk("resets")
    since = {t: (t - 1) % 5 + 1 for t in seen}
    right = all(plausible_variance(v, since[t] * 20.0**2) for t, v in seen.items())
    ratios = {t: float(v.var(axis=0, ddof=1).mean()) / 20.0**2 for t, v in seen.items()}
    return decide(
        right,
        figure="variance over (σC)²: "
        + ", ".join(f"{value:.2f} (T={t})" for t, value in ratios.items()),
        argument="After a reset the factors carry the noise so far, and clients take it back; in "
        "between the walk goes on, up to the interval times (σC)².",
        numbers=[
            number
            for t, samples in seen.items()
            for label in [f"variance over (σC)², T = {t}"]
            for low, high in [variance_interval(samples)]
            for number in (stated(label, since[t]), measured(label, low / 20.0**2, high / 20.0**2))
        ],
    )


@claim(
    id="thesis-resets-privacy",
    paper="Thesis",
    kind="privacy",
    place="section 3.3, after eq. 3.18",
    statement="Resets use public knowledge only, so that the accounting need not change.",
)
def resets_privacy() -> Finding:
    """The event of 20 rounds with and without resets, and with clients that are told the noise."""
    events = [
        project(
            CentralNoise(clip_norm=1.0, noise_multiplier=5.0, memory=memory).plan(
                Layout(clients=10), rounds=20
            ),
            client_scope(AGGREGATE),
        )
        for memory in ("forgets", "resets")
    ]
    return decide_if(
        condition="the number of clients M, which eq. 3.18 divides by, is public: an absent client "
        "contributes zero",
        with_condition=events[0] == events[1],
        without=_add_or_remove_is_answered(),
        figure=f"both {event_words(events[0])}; one client more or less: "
        + ("answered" if _add_or_remove_is_answered() else "refused"),
        argument="q and p are released, so that (λ_q − λ_p)/M is post-processing once M is known. "
        "If neighbours differ by a client, M differs too, and the reset tells.",
    )


def _add_or_remove_is_answered() -> bool:
    scope = Scope(relation=NeighboringRelation.ADD_OR_REMOVE_ONE, unit="client", view=AGGREGATE)
    plan = CentralNoise(clip_norm=1.0, noise_multiplier=5.0, memory="resets").plan(
        Layout(clients=10), rounds=20
    )
    try:
        project(plan, scope)
    except UnsupportedEventError:
        return False
    return True


@claim(
    id="thesis-resets-inhomogeneous",
    paper="Thesis",
    kind="mathematics",
    place="section 3.3, last paragraphs",
    statement="Resets are unlikely to work well for inhomogeneous data.",
)
def resets_inhomogeneous() -> Finding:
    """Where three clients with natural means 12, 0, 0 or 4, 4, 4 end without noise, C = 1."""
    unlike, alike = (12.0, 0.0, 0.0), (4.0, 4.0, 4.0)
    limits = {
        "without": _limit(unlike, "forgets"),
        "with": _limit(unlike, "resets"),
        "alike": _limit(alike, "resets"),
        "unclipped": _limit(unlike, "resets", clip_norm=100.0),
    }
    answer = sum(unlike)
    return decide(
        all(abs(limits[kind] - answer) < 0.01 for kind in ("without", "alike", "unclipped"))
        and abs(limits["with"] - answer) > 1.0,
        figure=f"λ ends at {limits['without']:.3f} without and {limits['with']:.3f} with resets; "
        f"clients alike: {limits['alike']:.3f} with resets; unlike, but not clipped: "
        f"{limits['unclipped']:.3f}; the answer is {answer:g}",
        argument="A reset shares s = λ − prior out as s/3. The first client pulls by 1 (clipped), "
        "the others push back by s/3 each, and all stops at s = 3/2. If all pull alike, each is "
        "content with a third. The bias needs clipping, which Algorithm 4 does.",
        numbers=[
            stated("where λ ends, clients alike", answer),
            computed("where λ ends, clients alike", limits["alike"]),
            computed("where λ ends without resets", limits["without"]),
            computed("where λ ends with resets", limits["with"]),
            computed("where λ ends with resets, not clipped", limits["unclipped"]),
        ],
    )


def _limit(
    means: tuple[float, ...], memory: Literal["forgets", "resets"], clip_norm: float = 1.0
) -> float:
    """The natural mean after 40 rounds, of clients with these natural means."""
    run = CentralNoise(
        clip_norm=clip_norm, noise_multiplier=1.0, noise=NoNoise(), memory=memory
    ).build(
        Setting(model=MODEL, prior=PRIOR, solver=ExactSolver()),
        [shard([1e-3], [1e3 * mean]) for mean in means],
        np.random.default_rng(0),
    )
    run.run(40)
    return float(run.posterior.natural_mean[0])
