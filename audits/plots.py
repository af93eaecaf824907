"""Pictures of evidence. matplotlib is imported when something is drawn, not before."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from audits.evidence import Evidence
from audits.testing.sequential import log_threshold
from audits.verdict import Verdict, Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLAIM, DATA, ALARM = "#1f3b63", "#2f8f6f", "#b3402e"


def _axes(axes: "Axes | None", size: tuple[float, float] = (6.0, 3.8)) -> "Axes":
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=size, layout="constrained")
    return made


def tidy(axes: "Axes") -> None:
    """The look of all plots."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)


def plot_wealth(verdict: Verdict, axes: "Axes | None" = None) -> "Axes":
    """The wealth against the claim over the draws, with the line at which it is refuted."""
    evidence = verdict.evidence
    if not evidence.wealth_path:
        raise ValueError("`verdict` must come from a sequential audit, got no path of wealth.")
    axes = _axes(axes)
    draws, wealth = np.array(evidence.wealth_path, dtype=float).T
    base = np.log(10.0)
    colour = ALARM if verdict.word is Word.REFUTED else DATA
    axes.plot(draws, wealth / base, color=colour, label="wealth against the claim")
    axes.axhline(
        log_threshold(evidence.confidence) / base,
        color=CLAIM,
        linestyle="--",
        label=f"refuted at {100 * evidence.confidence:g}% confidence",
    )
    axes.axhline(0.0, color="0.7", linewidth=0.8)
    axes.set(xlabel="draws per side", ylabel="log₁₀ wealth", title=_title(verdict))
    top = max(float(wealth.max()), log_threshold(evidence.confidence)) / base
    axes.set_ylim(top=1.3 * top)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    tidy(axes)
    return axes


def plot_trade_off(verdict: Verdict, axes: "Axes | None" = None) -> "Axes":
    """Error rates of threshold tests on the draws, against the curve that the claim allows.

    The rectangles are exact binomial confidence regions (α/2 per rate) of each point on its own;
    one that lies wholly below the curve contradicts the claim at that point, had it been chosen
    beforehand. The verdict does not rest on them.
    """
    evidence = verdict.evidence
    if not evidence.trade_off_points:
        raise ValueError("`verdict` must hold trade-off points, got none.")
    axes = _axes(axes, (4.8, 4.6))
    alphas = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 400)])
    allowed = verdict.claim.region().type_two_error(alphas)
    axes.fill_between(alphas, 0.0, allowed, color=CLAIM, alpha=0.1, linewidth=0)
    axes.plot(alphas, allowed, color=CLAIM, label="the claim: errors below are impossible")
    level = (1.0 - evidence.confidence) / 2.0
    rows = np.array(evidence.trade_off_points)
    for index, (false, misses, draws) in enumerate(rows):
        left, right = _interval(int(false), int(draws), level)
        low, high = _interval(int(misses), int(draws), level)
        beyond = high < np.interp(right, alphas, allowed)
        colour = ALARM if beyond else DATA
        axes.fill([left, right, right, left], [low, low, high, high], color=colour, alpha=0.06)
        axes.plot(
            false / draws,
            misses / draws,
            "o",
            markersize=3.5,
            color=colour,
            label="seen, with its confidence region" if index == len(rows) // 2 else None,
        )
    axes.plot([0, 1], [1, 0], color="0.75", linewidth=0.8)
    axes.set(
        xlabel="type I error",
        ylabel="type II error",
        title=_title(verdict),
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
    )
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    tidy(axes)
    return axes


def plot_epsilon(
    evidence: Evidence, claimed: float | None = None, axes: "Axes | None" = None
) -> "Axes":
    """The lower bound of ε over the draws; valid at all of them at once."""
    if not evidence.epsilon_path:
        raise ValueError("`evidence` must come from a sequential audit, got no path of ε.")
    axes = _axes(axes)
    draws, bound = np.array(evidence.epsilon_path, dtype=float).T
    label = f"ε ≥ at δ = {evidence.delta:g}, confidence {100 * evidence.confidence:g}%"
    axes.step(draws, bound, where="post", color=DATA, label=label)
    axes.fill_between(draws, 0.0, bound, step="post", color=DATA, alpha=0.1, linewidth=0)
    if claimed is not None:
        axes.axhline(claimed, color=CLAIM, linestyle="--", label="claimed ε")
    axes.set(xscale="log", xlabel="draws per side", ylabel="lower bound of ε")
    axes.set_ylim(0.0, 1.3 * max(float(bound.max()), claimed or 0.0, 0.1))
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    tidy(axes)
    return axes


def _title(verdict: Verdict) -> str:
    return (
        f"{verdict.word.value.replace('_', ' ')} after {verdict.evidence.samples:,} draws per side"
    )


def _interval(hits: int, draws: int, level: float) -> tuple[float, float]:
    """Clopper–Pearson."""
    low = float(stats.beta.ppf(level / 2, hits, draws - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - level / 2, hits + 1, draws - hits)) if hits < draws else 1.0
    return low, high
