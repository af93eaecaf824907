"""The Thesis's data-set level algorithms (section 3.3): split noise, central noise, resets."""

import math
from typing import Literal

import numpy as np
from dp_accounting import GaussianDpEvent, NeighboringRelation, UnsupportedEventError
from numpy.typing import NDArray
from scipy import stats

from accountants import gaussian
from audits.claims import _costs
from audits.claims.ledger import Finding, claim, decide, decide_against, decide_if
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    SERVER,
    CentralNoise,
    NoiseSplitting,
    NoNoise,
    ParameterPerturbation,
    Scope,
    Transcript,
    View,
    project,
)
from pvi import ExactSolver, LinearRegression, MeanFieldGaussian, Shard

FloatArray = NDArray[np.float64]
DELTA = 1e-4
CLIENTS = (2, 5, 10, 100)
MODEL = LinearRegression(dimension=1, noise_std=1.0)
# Two clients with few records, and a prior so firm that noise cannot make q improper.
SHARDS = [Shard(inputs=[[1.0], [2.0]], targets=[3.0, -1.0]), Shard(inputs=[[0.5]], targets=[4.0])]
PRIOR = MeanFieldGaussian(natural_mean=[0.0], precision=[1e6])
TRIALS = 2000


def _client_scope(view: View) -> Scope:
    return Scope(relation=NeighboringRelation.REPLACE_SPECIAL, unit="client", view=view)


def _multiplier(plan: Transcript, view: View) -> float:
    """The noise multiplier of a plan with one round."""
    event = project(plan, _client_scope(view))
    assert isinstance(event, GaussianDpEvent)
    return float(event.noise_multiplier)


def _plausible_variance(samples: FloatArray, variance: float) -> bool:
    """Whether (n−1)s²/σ² lies within the central 1 − 1e-9 of χ², for each column."""
    count = len(samples)
    scaled = (count - 1) * samples.var(axis=0, ddof=1) / variance
    low, high = stats.chi2.ppf([5e-10, 1.0 - 5e-10], count - 1)
    return bool(((scaled > low) & (scaled < high)).all())


@claim(
    id="thesis-algorithm-3-cost",
    paper="Thesis",
    place="Algorithm 3, eq. 3.4, line 12 (stated there as a problem)",
    statement="Noise σC/√M per client costs, in any number of rounds, what noise σC costs, whatever "
    "M is.",
)
def algorithm_3_cost() -> Finding:
    """The exact ε of one message, σ = 1, δ = 1e-4, against the cost accounted for."""
    claimed = gaussian.epsilon(1.0, DELTA)
    splitting = NoiseSplitting(clip_norm=1.0, noise_multiplier=1.0)
    seen = {m: _multiplier(splitting.plan(clients=m, rounds=1), MESSAGES) for m in CLIENTS}
    cost = {m: gaussian.epsilon_bounds(1.0 / sigma, DELTA).lower for m, sigma in seen.items()}
    outside = _multiplier(splitting.plan(clients=10, rounds=1), AGGREGATE)
    return decide_against(
        stated=all(value <= claimed for value in cost.values()),
        reading="one round, of which the adversary sees only the sum",
        under_reading=math.isclose(outside, 1.0),
        figure=f"one round: ε = {', '.join(f'{v:.2f} (M={m})' for m, v in cost.items())}, "
        f"accounted {claimed:.2f}",
        argument="The Thesis's adversary intercepts messages (section 3.1). A client's message is "
        "its clipped update plus noise σC/√M: a Gaussian mechanism of multiplier σ/√M. The Thesis "
        "says so itself and calls the algorithm problematic.",
    )


@claim(
    id="thesis-fig-3-3",
    paper="Thesis",
    place="Figure 3.3",
    statement="The correct costs for M = 2, 5, 10 are those of an effective noise scale 1/√M.",
)
def fig_3_3() -> Finding:
    """`project` on Algorithm 3's messages, and the moments accountant's curve."""
    splitting = NoiseSplitting(clip_norm=1.0, noise_multiplier=1.0)
    effective = {m: _multiplier(splitting.plan(clients=m, rounds=1), MESSAGES) for m in (2, 5, 10)}
    right = all(math.isclose(value, 1.0 / math.sqrt(m)) for m, value in effective.items())
    sums = _multiplier(splitting.plan(clients=10, rounds=1), AGGREGATE)
    curve = {m: _costs.moments_epsilon(value, 1.0, 1, DELTA) for m, value in effective.items()}
    return decide_if(
        condition="the adversary sees messages; one who sees sums only has σ in the first round",
        with_condition=right,
        without=math.isclose(sums, 1.0 / math.sqrt(10)),
        figure=f"moments accountant, one round: "
        f"{', '.join(f'{v:.2f} (M={m})' for m, v in curve.items())}; multiplier of sums {sums:g}",
        argument="A message has noise σC/√M. Whoever sees only the sum of M messages faces M "
        "independent shares, which add up to σC.",
    )


def _noisy_totals(
    value: float, clients: int, trials: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Cumulated sums of Algorithm 3, α = 1, C = 1, σ = 5, ten rounds; shape (10, trials).

    One client's update is `value` in every round; all others have the target 0, so that their
    clipped updates push back the noise that their own factors remember.
    """
    share = np.float32(5.0 / math.sqrt(clients))
    factor = np.zeros((clients - 1, trials), dtype=np.float32)
    total = np.zeros(trials, dtype=np.float32)
    totals = np.empty((10, trials), dtype=np.float32)
    for index in range(10):
        update = np.clip(-factor, -1.0, 1.0)
        update += share * rng.standard_normal(factor.shape, dtype=np.float32)
        factor += update
        own = np.float32(value) + share * rng.standard_normal(trials, dtype=np.float32)
        total = total + update.sum(axis=0) + own
        totals[index] = total
    return totals


def hidden_noise_epsilon(
    clients: int, trials: int, seed: int, *, absent_value: float = 0.0, delta: float = 1e-5
) -> float:
    """A lower bound of ε with confidence 99%, from sums of Algorithm 3 under clipping.

    One client's update is 1 in every round, or `absent_value`: 0 for a client that contributes
    nothing, −1 for one with a record replaced.

    A linear statistic is fixed on a pilot run; then Clopper–Pearson bounds at 40 thresholds, each
    with error 0.01/80 per side, give log((P − δ)/Q).
    """
    rng = np.random.default_rng(seed)
    rounds = np.arange(1.0, 11.0)
    covariance = np.cov(_noisy_totals(0.0, clients, 10_000, rng))
    weights = np.linalg.solve(covariance, rounds)
    weights /= math.sqrt(weights @ covariance @ weights)
    present = weights @ _noisy_totals(1.0, clients, trials, rng)
    absent = weights @ _noisy_totals(absent_value, clients, trials, rng)
    best, error = 0.0, 0.01 / 80
    centre = float(weights @ rounds)
    for threshold in np.linspace(absent_value * centre, centre + 3.0, 40):
        hits, alarms = int((present > threshold).sum()), int((absent > threshold).sum())
        if hits == 0:
            continue
        lower = float(stats.beta.ppf(error, hits, trials - hits + 1))
        upper = float(stats.beta.ppf(1.0 - error, alarms + 1, trials - alarms))
        if lower > delta:
            best = max(best, math.log((lower - delta) / upper))
    return best


def _rounds_identity(clip_norm: float) -> float:
    """How far two rounds' sums are from signal plus the second round's noise, in noise units."""
    noise_std = 0.02
    mechanism = NoiseSplitting(clip_norm=clip_norm, noise_multiplier=noise_std / clip_norm)
    run = mechanism.build(
        model=MODEL,
        data=SHARDS,
        solver=ExactSolver(),
        prior=MeanFieldGaussian(natural_mean=[0.0], precision=[1.0]).broadcast_to((TRIALS,)),
        rng=np.random.default_rng(3),
    )
    run.run(2)
    first, second = (np.asarray(r.value) for r in run.transcript if r.sender == SERVER)
    total = first + second
    return float((total.std(axis=0, ddof=1) / noise_std).max())


@claim(
    id="thesis-post-processing",
    paper="Thesis",
    place="section 3.3, after eq. 3.7",
    statement="A client's next update releases information about its share of the noise, so that "
    "Algorithm 3 violates post-processing.",
)
def post_processing() -> Finding:
    """Sums of ten rounds with clipping, by sampling; two rounds without, by their variance."""
    claimed = gaussian.epsilon(math.sqrt(10.0) / 5.0, 1e-5)
    leaks = {10: hidden_noise_epsilon(10, 200_000, 1), 100: hidden_noise_epsilon(100, 20_000, 1)}
    ratio = _rounds_identity(1e3)
    clean = _plausible_ratio(ratio)
    return decide_if(
        condition="clipping is active, or messages are seen; sums of unclipped updates leak nothing "
        "more",
        with_condition=all(value > claimed for value in leaks.values()),
        without=not clean,
        figure=f"sums, σ = 5, T = 10, α = 1, δ = 1e-5: ε ≥ {leaks[10]:.2f} (M=10), "
        f"{leaks[100]:.2f} (M=100) at 99% confidence against {claimed:.2f}; unclipped, two rounds' "
        f"noise is {ratio:.3f} of one round's",
        argument="Unclipped and with α = 1, a client's update takes back its last noise: after "
        "round i the sums add up to signal plus the noise of round i alone, as T plain Gaussian "
        "releases would. Under clipping one client adds C in every round or nothing, while the "
        "others take back theirs: the cumulated sums differ by i·C, but their noise does not "
        "grow with i as it would if it were fresh. The evidence is a test on simulated sums.",
    )


def _plausible_ratio(ratio: float) -> bool:
    """Whether a standard deviation over TRIALS draws, the larger of two columns, may be 1."""
    low, high = stats.chi2.ppf([5e-10, 1.0 - 5e-10], TRIALS - 1)
    return bool(low < (TRIALS - 1) * ratio**2 < high)


@claim(
    id="thesis-eq-3-7",
    paper="Thesis",
    place="eq. 3.7",
    statement="Eq. 3.4 and 3.6 together add noise σC·z to λ in each round, whatever α is.",
)
def eq_3_7() -> Finding:
    """The variance of λ after one round of Algorithm 3 with α = 0.3 and with α = 1."""
    deviation, plausible = {}, {}
    for damping in (0.3, 1.0):
        run = NoiseSplitting(clip_norm=1000.0, noise_multiplier=0.02, damping=damping).build(
            model=MODEL,
            data=SHARDS,
            solver=ExactSolver(),
            prior=PRIOR.broadcast_to((TRIALS,)),
            rng=np.random.default_rng(5),
        )
        run.run(1)
        samples = run.posterior.vector
        deviation[damping] = float(samples.std(axis=0, ddof=1).mean()) / 20.0
        plausible[damping] = _plausible_variance(samples, 20.0**2)
    return decide_against(
        stated=plausible[0.3],
        reading="α = 1, or the noise of eq. 3.7 inside the bracket: α·σC·z, as in eq. 3.14",
        under_reading=plausible[1.0],
        figure=f"noise over σC: {deviation[0.3]:.3f} at α = 0.3, {deviation[1.0]:.3f} at α = 1",
        argument="Eq. 3.4 multiplies signal and noise by α. Privacy is the same either way; the "
        "noise that the printed rule would need is larger.",
    )


@claim(
    id="thesis-eq-3-8",
    paper="Thesis",
    place="eq. 3.8",
    statement="Without the √M, each client is protected by σ, and the sum's noise is √M·σC.",
)
def eq_3_8() -> Finding:
    """`project` on parameter perturbation with four clients, and the variance of λ."""
    mechanism = ParameterPerturbation(clip_norm=1000.0, noise_multiplier=0.02)
    effective = _multiplier(mechanism.plan(clients=2, rounds=1), MESSAGES)
    run = mechanism.build(
        model=MODEL,
        data=SHARDS,
        solver=ExactSolver(),
        prior=PRIOR.broadcast_to((TRIALS,)),
        rng=np.random.default_rng(6),
    )
    run.run(1)
    samples = run.posterior.vector
    ratio = float(samples.std(axis=0, ddof=1).mean()) / 20.0
    return decide(
        math.isclose(effective, 0.02) and _plausible_variance(samples, 2 * 20.0**2),
        figure=f"multiplier {effective:g} as set; noise of the sum over σC {ratio:.3f}, M = 2",
        argument="Independent noises add in variance.",
    )


def _walk(memory: Literal["forgets", "resets"], damping: float = 1.0) -> dict[int, FloatArray]:
    """λ − prior after rounds 1, 5, 20 and 50 of Algorithm 4, resets every 5 rounds."""
    run = CentralNoise(
        clip_norm=1000.0, noise_multiplier=0.02, damping=damping, memory=memory, reset_every=5
    ).build(
        model=MODEL,
        data=SHARDS,
        solver=ExactSolver(),
        prior=PRIOR.broadcast_to((TRIALS,)),
        rng=np.random.default_rng(11),
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
    place="section 3.3, Algorithm 4, eq. 3.17",
    statement="With central noise the approximate likelihoods never hear of the noise, and q "
    "performs a random walk.",
)
def random_walk() -> Finding:
    """The variance of λ after T rounds of Algorithm 4, which should be α²·T·(σC)²."""
    damping = 0.5
    seen = _walk("forgets", damping)
    right = all(_plausible_variance(v, damping**2 * t * 20.0**2) for t, v in seen.items())
    growth = float(seen[50].var(axis=0).mean() / seen[1].var(axis=0).mean())
    return decide(
        right,
        figure=f"variance after 50 rounds over that after one: {growth:.1f}",
        argument="In a conjugate model a client whose factor is right proposes no change, whatever "
        "q is; noise piles up, (α·σC)² a round.",
    )


@claim(
    id="thesis-resets-variance",
    paper="Thesis",
    place="section 3.3, eq. 3.18",
    statement="Resetting all factors to an equal part of q/p resets the random walk, without "
    "removing it completely.",
)
def resets_variance() -> Finding:
    """The variance of λ with resets every 5 rounds, after 1, 5, 20 and 50 rounds."""
    seen = _walk("resets")
    since = {t: (t - 1) % 5 + 1 for t in seen}
    right = all(_plausible_variance(v, since[t] * 20.0**2) for t, v in seen.items())
    ratios = {t: float(v.var(axis=0).mean()) / 20.0**2 for t, v in seen.items()}
    return decide(
        right,
        figure="variance over (σC)²: "
        + ", ".join(f"{value:.2f} (T={t})" for t, value in ratios.items()),
        argument="After a reset the factors carry the noise so far, and clients take it back; in "
        "between the walk goes on, up to the interval times (σC)².",
    )


@claim(
    id="thesis-resets-privacy",
    paper="Thesis",
    place="section 3.3, after eq. 3.18",
    statement="Resets use public knowledge only, so that the accounting need not change.",
)
def resets_privacy() -> Finding:
    """The event of 20 rounds with and without resets, and with clients that are told the noise."""
    events = [
        project(
            CentralNoise(clip_norm=1.0, noise_multiplier=5.0, memory=memory).plan(
                clients=10, rounds=20
            ),
            _client_scope(AGGREGATE),
        )
        for memory in ("forgets", "resets")
    ]
    return decide_if(
        condition="the number of clients M, which eq. 3.18 divides by, is public: an absent client "
        "contributes zero",
        with_condition=events[0] == events[1],
        without=_add_or_remove_is_answered(),
        figure=f"both {events[0]}; one client more or less: "
        + ("answered" if _add_or_remove_is_answered() else "refused"),
        argument="q and p are released, so that (λ_q − λ_p)/M is post-processing once M is known. "
        "If neighbours differ by a client, M differs too, and the reset tells.",
    )


def _add_or_remove_is_answered() -> bool:
    scope = Scope(
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE, unit="client", view=AGGREGATE
    )
    plan = CentralNoise(clip_norm=1.0, noise_multiplier=5.0, memory="resets").plan(
        clients=10, rounds=20
    )
    try:
        project(plan, scope)
    except UnsupportedEventError:
        return False
    return True


@claim(
    id="thesis-resets-inhomogeneous",
    paper="Thesis",
    place="section 3.3, last paragraphs",
    statement="Resets are unlikely to work well for inhomogeneous data.",
)
def resets_inhomogeneous() -> Finding:
    """Where three clients with natural means 12, 0, 0 end without noise, C = 1."""
    shards = [Shard(inputs=[[1e-3]], targets=[y]) for y in (12e3, 0.0, 0.0)]
    limits = {}
    memories: tuple[Literal["forgets", "resets"], ...] = ("forgets", "resets")
    for memory in memories:
        run = CentralNoise(
            clip_norm=1.0, noise_multiplier=1.0, noise=NoNoise(), memory=memory
        ).build(
            model=MODEL,
            data=shards,
            solver=ExactSolver(),
            prior=PRIOR,
            rng=np.random.default_rng(0),
        )
        run.run(40)
        limits[memory] = float(run.posterior.natural_mean[0])
    return decide(
        abs(limits["forgets"] - 12.0) < 0.01 and abs(limits["resets"] - 12.0) > 1.0,
        figure=f"λ ends at {limits['forgets']:.3f} without and {limits['resets']:.3f} with resets; "
        "the answer is 12",
        argument="A reset shares s = λ − prior out as s/3. The first client pulls by 1 (clipped), "
        "the others push back by s/3 each, and all stops at s = 3/2. The bias needs clipping.",
    )
