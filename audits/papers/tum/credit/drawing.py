"""The figures of the study `tum-credit`."""

from typing import TYPE_CHECKING

import numpy as np

from accountants import gaussian
from audits.papers.study import Results
from audits.papers.tum import published
from audits.papers.tum.credit.grids import WAYS
from audits.papers.tum.credit.settings import (
    CENTRAL,
    Settings,
)
from audits.papers.tum.theorems import composed_by_tum, composed_exact_rounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a")


def figures(settings: Settings, results: Results) -> dict[str, "Figure"]:
    """Figures 10 and 12, and AUC against ε, by file stem."""
    return {
        "fig10": _training(settings, results),
        "fig12": _composition(),
        "auc_by_epsilon": _by_epsilon(settings, results),
    }


def _training(settings: Settings, results: Results) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    panel = figure.subplots()
    exact = results["exact/Adam"]
    panel.plot(exact["rounds"], exact["auc"], color="black", label="no noise")
    for colour, norm in zip(_COLOURS, reversed(settings.clip_norms), strict=False):
        result = results[f"tum/C={norm:g}"]
        panel.fill_between(
            result["rounds"], result["low"], result["high"], color=colour, alpha=0.15, lw=0
        )
        panel.plot(result["rounds"], result["auc"], color=colour, label=f"C = {norm:g}")
    panel.set(xlabel="rounds", ylabel="AUC: mean, min and max of the seeds")
    panel.set_title(f"TUM Fig. 10 on synthetic data: Adam, noise {published.SIGMA:g}", fontsize=11)
    panel.grid(alpha=0.3)
    panel.legend(loc="lower right", fontsize=9)
    return figure


def _composition() -> "Figure":
    """ε against δ for TUM's least and largest number of iterations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, letter, iterations in zip(
        panels,
        ("(a)", "(b), network"),
        (published.ITERATIONS, published.NETWORK_ITERATIONS),
        strict=True,
    ):
        for colour, rounds in zip(_COLOURS, (iterations[0], iterations[-1]), strict=False):
            _pairs(panel, rounds, colour)
        panel.set(xscale="log", yscale="log", xlabel="δ")
        panel.set_title(f"Fig. 12{letter}: k = {iterations[0]} and {iterations[-1]}", fontsize=10)
        panel.axvline(published.TOTAL_DELTA, color="0.5", lw=0.8)
        panel.annotate(
            "TUM's δ ",
            (published.TOTAL_DELTA, 0.97),
            xycoords=panel.get_xaxis_transform(),
            ha="right",
            va="top",
            fontsize=8,
        )
        panel.minorticks_off()
    panels[0].set_ylabel("ε")
    figure.suptitle(
        f"TUM's noise: σ = {published.SIGMA:g}, C = {published.CLIP:g}, k iterations", fontsize=11
    )
    handles, labels = panels[0].get_legend_handles_labels()
    least = len(handles) // 2
    figure.legend(
        [*handles[:least], handles[-2]],
        [*labels[:least], "orange: largest k"],
        loc="outside lower center",
        ncols=3,
        fontsize=8,
    )
    return figure


def _pairs(panel: "Axes", rounds: int, colour: str) -> None:
    """The four curves of (ε, δ) after so many rounds."""
    mu, deltas = published.MU, np.geomspace(1e-6, 0.5, 13).tolist()
    root = rounds**0.5
    for style, label, values in (
        ("--", "Theorems 1, 2", [composed_by_tum(mu, rounds, d)[0] for d in deltas]),
        ("-.", "Theorem 2, exact rounds", [composed_exact_rounds(mu, rounds, d) for d in deltas]),
        ("-", "exact, 2C", [gaussian.epsilon(2.0 * mu * root, d) for d in deltas]),
        (":", "exact, C", [gaussian.epsilon(mu * root, d) for d in deltas]),
    ):
        panel.plot(deltas, values, style, color=colour, label=label)


def _by_epsilon(settings: Settings, results: Results) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    panel = figure.subplots()
    for place, (colour, way) in enumerate(zip(_COLOURS, WAYS, strict=True)):
        found = [results[f"private/ε={e:g}/{way}"]["final"]["auc"] for e in settings.epsilons]
        means = [float(np.mean(values)) for values in found]
        ends = [(m - min(v), max(v) - m) for m, v in zip(means, found, strict=True)]
        panel.errorbar(
            [epsilon * 1.07 ** (place - 2) for epsilon in settings.epsilons],
            means,
            yerr=np.array(ends).T,
            color=colour,
            marker="o",
            ms=4,
            capsize=3,
            label=way,
        )
    panel.axhline(
        float(np.mean(results[CENTRAL]["final"]["auc"])), color="black", lw=1, label=CENTRAL
    )
    panel.axhline(0.5, color="0.6", lw=1, ls=":", label="guessing")
    panel.set(xscale="log", xlabel=f"certified ε of a record, δ = {settings.delta:g}", ylabel="AUC")
    asked = ", ".join(f"{epsilon:g}" for epsilon in settings.epsilons)
    panel.set_title(f"AUC at ε = {asked} (set apart): mean, min and max of the seeds", fontsize=11)
    panel.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure
