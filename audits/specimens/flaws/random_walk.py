r"""Noise that factors never hear of piles up in q. A lint: it costs utility, not privacy.

In the Thesis's Algorithm 4 a trusted server adds α·σC·z to the sum of the clients' changes, and the
factors change by the clients' clean changes: q is the product of the factors times all noise so
far. Clients that have arrived at their optima propose nothing that would undo it. After T rounds
the natural mean has variance α²·T·(σC)² about the product, so more rounds make the model worse.

The twin resets all factors from public state to (q/p)^(1/M) after every round (Thesis eq. 3.18).
Where nothing is clipped, the clients' next changes then take the noise back, and the variance stays
that of one round, (σC)² (α = 1).

Each check runs 4,000 repetitions of twenty rounds and compares the variance with the one of a
single round: refuted if even a lower confidence bound (1e-9, from the χ² law of a sample variance)
exceeds it. The seed is fixed, and a stable q is accused with probability at most 1e-9.

With a reset every k rounds the walk goes on in between: t rounds have the variance of
((t − 1) mod k) + 1 of them (α = 1).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from accountants.arrays import FloatArray
from audits.specimens.federations import NOISE_STD, ClientTargets, Watched
from audits.specimens.lint import Lint, LintResult
from audits.verdict import Word
from mechanisms import AGGREGATE, CentralNoise, Memory

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

CLIENTS, ROUNDS, REPETITIONS, NOISE_MULTIPLIER = 10, 20, 4_000, 2.0
_LEVEL = 1e-9


def variances(
    rounds: int, memory: Memory, *, reset_every: int = 1, damping: float = 1.0, seed: int = 0
) -> FloatArray:
    """After each round, the sample variance of q's natural mean over repetitions of the run."""
    mechanism = CentralNoise(
        clip_norm=2.0,
        noise_multiplier=NOISE_MULTIPLIER / 2.0,
        damping=damping,
        memory=memory,
        reset_every=reset_every,
    )
    # Each client's optimum is at C/20, so that no change is clipped.
    data: ClientTargets = ((0.1 * NOISE_STD**2,),) * CLIENTS
    watched = Watched(mechanism, rounds, AGGREGATE)
    released = watched(data, np.random.default_rng(seed), REPETITIONS)[:, 0::2]
    return np.asarray(released.cumsum(axis=1).var(axis=0, ddof=1))


def _check(memory: Memory) -> LintResult:
    claimed = NOISE_MULTIPLIER**2
    variance = float(variances(ROUNDS, memory)[-1])
    degrees = REPETITIONS - 1
    lower = variance * degrees / float(stats.chi2.isf(_LEVEL, degrees))
    refuted = lower > claimed
    return LintResult(
        Word.REFUTED if refuted else Word.NOT_REFUTED,
        claimed,
        lower if refuted else variance,
        f"Variance of the natural mean after {ROUNDS} rounds: {claimed:g} if noise does not pile "
        f"up, {variance:.4g} measured, at least {lower:.4g} with confidence 1 − {_LEVEL:g}.",
    )


def forgetting() -> LintResult:
    """Factors never hear of the noise."""
    return _check("forgets")


def resetting() -> LintResult:
    """Factors are reset from public state after each round."""
    return _check("resets")


def draw_walk(figure: "FigureBase") -> None:
    """The variance after each round, without resets and with one every k rounds."""
    axes = figure.subplots()
    rounds = np.arange(1, ROUNDS + 1)
    one_round = NOISE_MULTIPLIER**2
    settings: tuple[tuple[str, Memory, int, float, NDArray[Any]], ...] = (
        ("no resets", "forgets", 1, 1.0, rounds),
        ("no resets, damping α = ½", "forgets", 1, 0.5, 0.25 * rounds),
        ("reset every 10 rounds", "resets", 10, 1.0, (rounds - 1) % 10 + 1),
        ("reset every 5 rounds", "resets", 5, 1.0, (rounds - 1) % 5 + 1),
        ("reset every round", "resets", 1, 1.0, np.ones(ROUNDS)),
    )
    for index, (label, memory, every, damping, law) in enumerate(settings):
        seen = variances(ROUNDS, memory, reset_every=every, damping=damping, seed=index)
        axes.plot(rounds, law, color=f"C{index}", linewidth=1.0)
        axes.plot(rounds, seen / one_round, "o", color=f"C{index}", markersize=4, label=label)
    axes.set(
        xlabel="rounds",
        ylabel="variance of the natural mean / (σC)²",
        xticks=range(0, ROUNDS + 1, 5),
        title=f"lines: the law; dots: {REPETITIONS:,} repetitions",
    )
    axes.legend(frameon=False, fontsize=9, loc="upper left")


LINTS = (
    Lint(
        name="central noise walks at random",
        flaw="Server noise that no factor absorbs adds up over the rounds, so that the posterior "
        "performs a random walk about the product of the factors.",
        reference="Thesis, Algorithm 4 and eq. 3.17; the twin: likelihood resets, eq. 3.18.",
        explanation=__doc__ or "",
        flawed=forgetting,
        repaired=resetting,
        picture=draw_walk,
    ),
)
