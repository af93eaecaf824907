"""The figures of the study `thesis-linreg`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from accountants.rounding import up
from audits.papers.study import Result, Results
from audits.papers.thesis.linreg.case import BatchPercentile, Case, FixedNorm
from audits.papers.thesis.linreg.cases import FIRST_KEY, Settings, cases
from audits.papers.thesis.linreg.training import moments_epsilon
from audits.papers.thesis.linreg.variant import NEAREST, OWN_WAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3")
_NEAREST_KEY = f"{FIRST_KEY}/{NEAREST}"


def figures(settings: Settings, results: Results) -> dict[str, "Figure"]:
    """Figures 4.1 to 4.5, by file stem."""
    found = cases(settings)
    return {
        "fig4_1a": _natural(results),
        "fig4_1": _first(settings.delta, found[FIRST_KEY], results),
        "fig4_2": _panels(found, results, "4.2", "clipping norm {}"),
        "fig4_3": _panels(found, results, "4.3", "{}"),
        "fig4_4_and_4_5": _panels(
            {k: c for k, c in found.items() if k.startswith(("4.4", "4.5"))}, results, "", "Fig. {}"
        ),
    }


def _natural(results: Results) -> "Figure":
    """Natural parameters of one seed's q, as this study runs it and in the nearest variant."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    shown = ((FIRST_KEY, OWN_WAY), (_NEAREST_KEY, NEAREST))
    for panel, (key, variant) in zip(panels, shown, strict=True):
        result = results[key]
        names = ("natural mean of θ₀", "of θ₁", "precision of θ₀", "of θ₁")
        for j, (colour, name) in enumerate(zip(_COLOURS, names, strict=True)):
            path = [point[j] for point in result["natural"]]
            panel.plot(result["updates"], path, color=colour, label=name)
            panel.axhline(result["optimum"][j], color=colour, lw=0.8, ls="--")
        largest = max(abs(value) for value in result["optimum"])
        panel.set(xlabel="server updates", ylim=(-2.0 * largest, 3.0 * largest))
        panel.set_title(str(variant).replace(", clients", ",\nclients"), fontsize=9)
    panels[0].set_ylabel("natural parameters, one seed")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(
        "Thesis Fig. 4.1(a), cut off above and below; dashed: the best factorised q", fontsize=11
    )
    return figure


def _first(delta: float, case: Case, results: Results) -> "Figure":
    from matplotlib.figure import Figure

    result, nearest = results[FIRST_KEY], results[_NEAREST_KEY]

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    updates = result["updates"]
    left.fill_between(updates, result["low"], result["high"], alpha=0.25, lw=0, label="10–90%")
    left.plot(updates, result["median"], label="median of the seeds")
    left.plot(updates, result["first"], lw=0.8, color="0.4", label="one seed")
    left.plot(
        nearest["updates"],
        nearest["median"],
        color=_COLOURS[1],
        label="median, noise by variance,\nclients in turn",
    )
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
        if key.startswith(prefix):
            groups.setdefault(key.removeprefix(prefix + "/").rsplit("/", 1)[0], []).append(key)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 2.8), layout="constrained")
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, (group, keys) in zip(panels, groups.items(), strict=True):
        for index, key in enumerate(keys):
            _curve(panel, index, key, cases[key], results[key])
        # Only runs that differ in cost need ε as their axis.
        by_epsilon = prefix == "4.2"
        panel.set(
            yscale="log", xlabel="certified ε (upper bound)" if by_epsilon else "server updates"
        )
        panel.xaxis.label.set_fontsize(8)
        panel.tick_params(which="both", labelsize=8)
        panel.set_title(title.format(group) + _price(cases, results, keys, by_epsilon), fontsize=8)
    panels[0].set_ylabel("KL(q ‖ posterior), nats, median", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7)
    return figure


def _price(cases: Mapping[str, Case], results: Results, keys: list[str], by_epsilon: bool) -> str:
    if by_epsilon:
        return ""
    fixed = next(key for key in keys if isinstance(cases[key].clip, FixedNorm))
    end = up(results[fixed]["epsilon"][-1], decimals=1)
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
        style = "--" if isinstance(case.clip, BatchPercentile) else "-"
        colour, width = _COLOURS[case.clip.percentile // 20 - 1], 1.4
    label = str(case.clip) + (" (not private)" if isinstance(case.clip, BatchPercentile) else "")
    panel.plot(result["updates"], result["median"], style, color=colour, lw=width, label=label)
