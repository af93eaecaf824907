"""The figures of the study `thesis-linreg`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pvi.studies.study import Result, Results, upper_bound
from pvi.studies.thesis_linreg.case import BatchPercentile, Case, FixedNorm
from pvi.studies.thesis_linreg.training import moments_epsilon

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3")


def draw(delta: float, cases: Mapping[str, Case], results: Results) -> dict[str, "Figure"]:
    """Figures 4.1 to 4.5, by file stem."""
    return {
        "fig4_1": _first(delta, cases["4.1/σ=1"], results["4.1/σ=1"]),
        "fig4_2": _panels(cases, results, "4.2", "clipping norm {}"),
        "fig4_3": _panels(cases, results, "4.3", "{}"),
        "fig4_4_and_4_5": _panels(
            {k: c for k, c in cases.items() if k.startswith(("4.4", "4.5"))}, results, "", "Fig. {}"
        ),
    }


def _first(delta: float, case: Case, result: Result) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    updates = result["updates"]
    left.fill_between(updates, result["low"], result["high"], alpha=0.25, lw=0, label="10–90%")
    left.plot(updates, result["median"], label="median of the seeds")
    left.plot(updates, result["first"], lw=0.8, color="0.4", label="one seed")
    left.set(yscale="log", xlabel="server updates", ylabel="KL(q ‖ exact posterior), nats")
    left.legend(fontsize=8)
    moments = [moments_epsilon(case, update, delta) for update in updates]
    right.plot(updates, moments, "--", color=_COLOURS[1], label="moments accountant")
    right.plot(updates, result["epsilon"], color=_COLOURS[0], label="certified")
    right.plot([100, 500], [100, 400], "kx", label="published: about 100, above 400")
    right.set(xlabel="server updates", ylabel=f"ε at δ = {delta:g} (upper bounds)", ylim=(0, None))
    right.legend(fontsize=8)
    figure.suptitle("Thesis Fig. 4.1: learning and privacy, σ = 1, q = 0.1, C = 5", fontsize=11)
    return figure


def _panels(cases: Mapping[str, Case], results: Results, prefix: str, title: str) -> "Figure":
    """One panel for each part of the keys after the prefix, one line for each last part."""
    groups: dict[str, list[str]] = {}
    for key in cases:
        if key.startswith(prefix) and not _left_out(key):
            groups.setdefault(key.removeprefix(prefix + "/").rsplit("/", 1)[0], []).append(key)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.8, 3.4), layout="constrained")
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, (group, keys) in zip(panels, groups.items(), strict=True):
        for index, key in enumerate(keys):
            _curve(panel, index, key, cases[key], results[key])
        # Only runs that differ in cost need ε as their axis.
        by_epsilon = prefix == "4.2"
        panel.set(
            yscale="log", xlabel="certified ε (upper bound)" if by_epsilon else "server updates"
        )
        panel.set_title(title.format(group) + _price(cases, results, keys, by_epsilon), fontsize=9)
    panels[0].set_ylabel("KL(q ‖ posterior), nats, median")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _left_out(key: str) -> bool:
    """The table has all of Figure 4.3's percentiles; the figure only those of both rules."""
    return key.startswith("4.3") and key.endswith(("percentile 40", "percentile 60"))


def _price(cases: Mapping[str, Case], results: Results, keys: list[str], by_epsilon: bool) -> str:
    if by_epsilon:
        return ""
    fixed = next(key for key in keys if isinstance(cases[key].clip, FixedNorm))
    end = upper_bound(results[fixed]["epsilon"][-1], 1)
    return f"\nto ε ≤ {end}, where private"


def _curve(panel: "Axes", index: int, key: str, case: Case, result: Result) -> None:
    if key.startswith("4.2"):
        label, style, colour = f"q = {case.sampling_rate:g}", "-", _COLOURS[index]
        panel.fill_between(
            result["epsilon"], result["low"], result["high"], color=colour, alpha=0.2, lw=0
        )
        panel.plot(result["epsilon"], result["median"], style, color=colour, label=label)
        return
    if isinstance(case.clip, FixedNorm):
        style, colour, width = "-", "black", 1.8
    else:
        style = ":" if isinstance(case.clip, BatchPercentile) else "-"
        colour, width = _COLOURS[case.clip.percentile // 20 - 1], 1.4
    label = str(case.clip) + (" (not private)" if isinstance(case.clip, BatchPercentile) else "")
    panel.plot(result["updates"], result["median"], style, color=colour, lw=width, label=label)
