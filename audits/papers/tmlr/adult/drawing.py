"""Accuracy and log-likelihood against communications, as TMLR draws them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from audits.papers.study import Results
from audits.papers.tmlr.adult.data import Division
from audits.papers.tmlr.adult.results import METRICS, Curve, curve, standard_error
from audits.papers.tmlr.adult.runs import Experiment
from audits.papers.tmlr.adult.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = {
    "global VI, trusted aggr.": ("black", "-"),
    "DP optimisation": ("tab:blue", "-"),
    "local avg": ("tab:orange", "-"),
    "local avg, trusted aggr.": ("tab:orange", "--"),
    "virtual": ("tab:green", "-"),
    "virtual, trusted aggr.": ("tab:green", "--"),
    "BCM same": ("tab:red", ""),
    "BCM split": ("tab:purple", ""),
}
_LABELS = {"accuracy": "accuracy, %", "log_likelihood": "mean log-likelihood"}
_SHOWN_BELOW_MEDIAN = {"accuracy": 16.0, "log_likelihood": 0.35}


def figures(settings: Settings, results: Results) -> "dict[str, Figure]":
    """Accuracy and log-likelihood against communications, one for each of the paper's figures."""
    return {
        experiment.key: _draw(experiment, settings.divisions, results)
        for experiment in settings.experiments
        if experiment.possible
    }


def _draw(experiment: Experiment, divisions: Sequence[Division], results: Results) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.4), layout="constrained")
    axes = figure.subplots(len(METRICS), len(divisions), sharex=True, sharey="row", squeeze=False)
    for column, division in enumerate(divisions):
        curves = {
            grid.method: curve(experiment, divisions, division, grid.method, results)
            for grid in experiment.grids
        }
        for row, metric in enumerate(METRICS):
            for method, own in curves.items():
                _plot(axes[row, column], method, own, metric)
        axes[0, column].set_title(division.name, fontsize=10)
        axes[-1, column].set_xlabel("communications")
        axes[-1, column].set_xscale("log")
        axes[-1, column].minorticks_off()
    for row, metric in enumerate(METRICS):
        axes[row, 0].set_ylabel(_LABELS[metric])
        _limit(list(axes[row]), metric)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    model = "logistic regression" if experiment.model == "logistic" else "BNN"
    figure.suptitle(
        f"{model}, {experiment.clients} clients, certified ε ≤ {experiment.target_epsilon:g} at "
        "δ = 1e-5\nestimates, mean ± s.e.; ▼ at the edge: a point below the panel",
        fontsize=10,
    )
    return figure


def _plot(axis: Any, method: str, own: Curve, metric: str) -> None:
    colour, line = _STYLES[method]
    values = own.values(metric)
    mean, error = values.mean(axis=0), np.nan_to_num(standard_error(values))
    if len(mean) == 1:
        # One hollow: both stay visible where they coincide.
        marker, size, fill = ("s", 7, "none") if method == "BCM same" else ("^", 4, colour)
        axis.errorbar(
            own.communications,
            mean,
            error,
            color=colour,
            marker=marker,
            ms=size,
            mfc=fill,
            ls="",
            label=method,
        )
        return
    axis.plot(
        own.communications, mean, color=colour, ls=line, marker=".", ms=4, lw=1.4, label=method
    )
    axis.fill_between(
        own.communications, mean - error, mean + error, color=colour, alpha=0.2, lw=0, aa=False
    )


def _limit(row: Sequence[Any], metric: str) -> None:
    """Keeps one bad start from flattening all other curves; points below are marked at the edge."""
    lines = [(axis, line) for axis in row for line in axis.get_lines()]
    drawn = np.concatenate([line.get_ydata() for _, line in lines])
    lowest = max(float(drawn.min()), float(np.median(drawn)) - _SHOWN_BELOW_MEDIAN[metric])
    highest = float(drawn.max())
    room = 0.06 * (highest - lowest)
    if room <= 0.0:
        return
    row[0].set_ylim(lowest - room, highest + room)
    for axis, line in lines:
        below = line.get_ydata() < lowest - room
        for place in line.get_xdata()[below]:
            (mark,) = axis.plot(
                place, lowest - room, "v", color=line.get_color(), ms=5, clip_on=False
            )
            mark.set_in_layout(False)
