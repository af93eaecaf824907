"""The figures: learning curves, utility against ε, accuracy by method, budgets by accountant."""

from typing import TYPE_CHECKING

import numpy as np

from accountants.arrays import FloatArray
from audits.papers.study import Results
from audits.papers.workshop.published import TABLE_5, published_row
from audits.papers.workshop.table5.budget import ACCOUNTANTS
from audits.papers.workshop.table5.settings import WorkshopSettings
from audits.papers.workshop.table5.summary import runs_of, worst_cost
from audits.papers.workshop.table5.training import GLOBAL_VARIANTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURES = {"accuracy": "test accuracy (%)", "log_likelihood": "mean test log-likelihood"}
_FIRST_DRAWN = 10
_PRIVATE_SHADES = ("#c6a5e0", "#9355c0", "#4b1a75")


def figures(settings: WorkshopSettings, results: Results) -> dict[str, "Figure"]:
    """All figures by file stem."""
    return {
        **{measure: learning(settings, results, measure) for measure in _MEASURES},
        "trade_off": trade_off(settings, results),
        "seeds": seeds(settings, results),
        "budget": budget(settings, results),
    }


def learning(settings: WorkshopSettings, results: Results, measure: str) -> "Figure":
    """Accuracy or log-likelihood against communications (Workshop Figs. 1, 4, 5)."""
    from matplotlib.figure import Figure

    splits = settings.splits
    figure = Figure(figsize=(2.15 * len(splits) + 0.9, 3.1), layout="constrained")
    axes = figure.subplots(1, len(splits), squeeze=False)[0]
    lines = {
        "PVI": ("#1b7837", "-"),
        "global VI, records": ("#888888", "-"),
        "global VI, clients 1/N, own states": ("#d95f02", "-"),
    }
    for target, shade in zip(settings.targets, _PRIVATE_SHADES, strict=False):
        lines[f"DP-PVI {target:g}, Poisson"] = (shade, "--")
    for panel, letter in zip(axes, splits, strict=True):
        for method, look in lines.items():
            _curve(panel, results, letter, method, measure, look)
        panel.set_xscale("log")
        panel.set_title(f"split {letter}")
        panel.set_xlabel("communications")
    axes[0].set_ylabel(_MEASURES[measure])
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=min(2, len(splits)),
        title="mean and standard deviation of the seeds; the number of DP-PVI is ε_max",
        title_fontsize="small",
    )
    return figure


def trade_off(settings: WorkshopSettings, results: Results) -> "Figure":
    """Accuracy and log-likelihood against ε (Workshop Figs. 1, 4, 5, lower rows).

    The paper has ε_max; ours are also at what they certifiably cost.
    """
    from matplotlib.figure import Figure

    splits = settings.splits
    figure = Figure(figsize=(2.15 * len(splits) + 0.9, 4.4), layout="constrained")
    axes = figure.subplots(len(_MEASURES), len(splits), squeeze=False, sharex=True)
    for row, (measure, label) in enumerate(_MEASURES.items()):
        for panel, letter in zip(axes[row], splits, strict=True):
            _utility(panel, settings, results, letter, measure)
        axes[row, 0].set_ylabel(label)
    for top, bottom, letter in zip(axes[0], axes[-1], splits, strict=True):
        top.set_title(f"split {letter}")
        bottom.set_xlabel("ε")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(2, len(splits)), fontsize=8)
    return figure


def _utility(
    panel: "Axes", settings: WorkshopSettings, results: Results, letter: str, measure: str
) -> None:
    """DP-PVI at the three ε_max: published, and ours at both costs of the worst client."""
    plain = np.mean([run[measure] for run in runs_of(results, letter, "PVI")])
    panel.axhline(plain, color="#1b7837", lw=1.2, label="PVI, no noise")
    published = [
        getattr(TABLE_5[published_row("DP-PVI", target), letter], measure)
        for target in settings.targets
    ]
    panel.plot(
        settings.targets, published, "D", mfc="none", color="black", label="published, at ε_max"
    )
    for batches, colour, relation in (
        ("Poisson", "#9355c0", "add/remove one"),
        ("fixed size", "#2166ac", "replace one"),
    ):
        costs = [worst_cost(results, letter, target, batches) for target in settings.targets]
        methods = [f"DP-PVI {target:g}, {batches}" for target in settings.targets]
        runs = [runs_of(results, letter, method) for method in methods]
        values = np.array([[run[measure] for run in own] for own in runs]).T
        middle = np.array([(cost.lower + cost.upper) / 2.0 for cost in costs])
        panel.errorbar(
            middle,
            values.mean(axis=0),
            xerr=[(cost.upper - cost.lower) / 2.0 for cost in costs],
            yerr=_deviation(values),
            color=colour,
            marker="o",
            ms=3,
            lw=1.0,
            label=f"{batches} batches, at certified ε ({relation})",
        )


def _curve(
    panel: "Axes",
    results: Results,
    letter: str,
    method: str,
    measure: str,
    look: tuple[str, str],
) -> None:
    """The mean over seeds, with error bars of one standard deviation where there is room.

    The first few communications are left out: one client's data decide them.
    """
    runs = [run["trajectory"] for run in runs_of(results, letter, method)]
    where = np.array(runs[0]["communications"])
    values = np.array([run[measure] for run in runs])[:, where >= _FIRST_DRAWN]
    mean, spread, where = values.mean(axis=0), _deviation(values), where[where >= _FIRST_DRAWN]
    color, style = look
    panel.errorbar(
        where,
        mean,
        yerr=spread,
        errorevery=4,
        color=color,
        linestyle=style,
        label=method,
        linewidth=1.5,
        elinewidth=0.8,
    )


def _deviation(values: FloatArray) -> FloatArray:
    """The standard deviation between seeds, the first axis; 0 for a single one."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def seeds(settings: WorkshopSettings, results: Results) -> "Figure":
    """Every seed's accuracy beside the published mean; global VI on a scale of its own."""
    from matplotlib.figure import Figure

    pooled = published_row("global VI")
    groups = (
        [
            ("PVI", published_row("PVI")),
            *(
                (f"DP-PVI {target:g}, {batches}", published_row("DP-PVI", target))
                for batches in ("Poisson", "fixed size")
                for target in settings.targets
            ),
        ],
        [(f"global VI, {variant}", pooled) for variant in GLOBAL_VARIANTS],
    )
    splits = settings.splits
    figure = Figure(figsize=(1.9 * len(splits) + 2.3, 4.8), layout="constrained")
    axes = figure.subplots(
        len(groups), len(splits), squeeze=False, sharey="row", height_ratios=[*map(len, groups)]
    )
    for row, methods in enumerate(groups):
        for panel, letter in zip(axes[row], splits, strict=True):
            for height, (method, published) in enumerate(reversed(methods)):
                _dots(panel, results, letter, method, published, height)
            panel.margins(0.12)
            panel.locator_params(axis="x", nbins=3)
        names = [method for method, _ in reversed(methods)]
        axes[row, 0].set_yticks(range(len(methods)), names)
    for top, bottom, letter in zip(axes[0], axes[-1], splits, strict=True):
        top.set_title(f"split {letter}")
        bottom.set_xlabel("test accuracy (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[:2], labels[:2], loc="outside lower center", ncols=2)
    return figure


def _dots(
    panel: "Axes", results: Results, letter: str, method: str, published: str, height: int
) -> None:
    """One dot per seed, and the published mean."""
    ours = [run["accuracy"] for run in runs_of(results, letter, method)]
    panel.plot(
        ours,
        [height] * len(ours),
        "o",
        color="#2166ac",
        markersize=5,
        label="ours, one dot per seed",
    )
    panel.plot(
        TABLE_5[published, letter].accuracy,
        height,
        "D",
        color="black",
        markersize=9,
        markerfacecolor="none",
        label="published mean (Workshop, Table 5)",
    )


def budget(settings: WorkshopSettings, results: Results) -> "Figure":
    """Updates of a client by accountant, at both δ."""
    from matplotlib.figure import Figure

    steps = results["budget"]
    deltas = sorted({float(key.rsplit("/", 1)[1]) for key in steps})
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.subplots(1, len(deltas), squeeze=False, sharey=True)[0]
    width = 0.8 / len(ACCOUNTANTS)
    for panel, delta in zip(axes, deltas, strict=True):
        for number, (accountant, shade) in enumerate(
            zip(ACCOUNTANTS, ("#bdbdbd", "#74a9cf", "#0570b0"), strict=True)
        ):
            heights = [
                steps[f"{accountant}/{target:g}/{delta:g}"] // settings.local_steps
                for target in settings.targets
            ]
            where = np.arange(len(heights)) + (number - 1) * width
            bars = panel.bar(where, heights, width, color=shade, label=accountant)
            panel.bar_label(bars, fontsize=8)
        panel.set_xticks(range(len(settings.targets)), [f"{t:g}" for t in settings.targets])
        panel.set_xlabel("ε_max")
        panel.set_title(f"δ = {delta:g}")
    axes[0].set_ylabel("updates that a client may make")
    axes[0].legend(title="accountant", loc="upper left")
    return figure
