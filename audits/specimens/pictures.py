"""A specimen at a glance: the wealth against both twins, what was shown of ε, and the law behind.

matplotlib is imported when something is drawn, not before.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from audits.plots import ALARM, CLAIM, DATA, tidy
from audits.specimens.examine import Examination
from audits.specimens.lint import Lint, LintResult
from audits.testing.sequential import log_threshold
from audits.verdict import Verdict, Word
from audits.wording import down, up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

_WIDTH, _HEIGHT = 9.0, 3.6


def plot_examination(examination: Examination) -> "Figure":
    """The audits of a flawed mechanism and its twin; below, the specimen's own picture if any."""
    figure, parts = _stacked(examination.specimen.picture is not None)
    left, right = parts[0].subplots(1, 2)
    _wealth(left, examination)
    _epsilon(right, examination)
    if examination.specimen.picture is not None:
        examination.specimen.picture(parts[1])
    figure.suptitle(examination.specimen.name)
    return figure


def plot_lint(lint: Lint) -> "Figure":
    """What is stated and what is found, for the mistake and the repair; below, the law if any."""
    figure, parts = _stacked(lint.picture is not None)
    axes = parts[0].subplots()
    for height, (side, finding) in enumerate(
        (("repaired", lint.repaired()), ("flawed", lint.flawed()))
    ):
        _stated_and_found(axes, height, finding)
        axes.text(0.0, height + 0.28, f"{side}: {_word(finding.word)}", transform=_across(axes))
    axes.set(ylim=(-0.5, 1.7), yticks=[], title="○ stated   ● found")
    tidy(axes)
    axes.spines["left"].set_visible(False)
    if lint.picture is not None:
        lint.picture(parts[1])
    figure.suptitle(lint.name)
    return figure


def _stacked(two: bool) -> tuple["Figure", list["FigureBase"]]:
    from matplotlib.figure import Figure

    rows = 2 if two else 1
    figure = Figure(figsize=(_WIDTH, _HEIGHT * rows), layout="constrained")
    return figure, list(figure.subfigures(rows, 1, squeeze=False)[:, 0])


def _wealth(axes: "Axes", examination: Examination) -> None:
    base = math.log(10.0)
    for side, colour in (("flawed", ALARM), ("repaired", DATA)):
        verdict: Verdict = getattr(examination, side)
        draws, wealth = np.array(verdict.evidence.wealth_path, dtype=float).T
        axes.plot(draws, wealth / base, color=colour, label=f"{side}: {_word(verdict.word)}")
        axes.plot(draws[-1], wealth[-1] / base, "o", color=colour, markersize=4)
    confidence = examination.flawed.evidence.confidence
    axes.axhline(
        log_threshold(confidence) / base,
        color=CLAIM,
        linestyle="--",
        label=f"the flawed one is refuted at {100 * confidence:g}%",
    )
    axes.set(xscale="log", xlabel="draws per side", ylabel="log₁₀ wealth against the claim")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.5)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    tidy(axes)


def _epsilon(axes: "Axes", examination: Examination) -> None:
    specimen = examination.specimen
    delta = examination.flawed.evidence.delta
    claimed = specimen.claim.epsilon_upper(delta)
    for side, colour in (("flawed", ALARM), ("repaired", DATA)):
        path = getattr(examination, side).evidence.epsilon_path
        draws, bound = np.array(path, dtype=float).T
        axes.step(draws, bound, where="post", color=colour, label=f"{side}: draws show ε ≥")
    if math.isfinite(claimed):
        axes.axhline(claimed, color=CLAIM, linestyle="--", label=f"claimed: {up(claimed, 3)}")
    proved = specimen.epsilon_proved(delta)
    if proved is not None and math.isinf(proved):
        axes.plot([], [], " ", label="proved of the flawed one: ε = ∞")
    elif proved is not None:
        axes.axhline(
            proved,
            color=ALARM,
            linestyle=":",
            label=f"proved of the flawed one: ε ≥ {down(proved, 3)}",
        )
    axes.set(xscale="log", xlabel="draws per side", ylabel=f"ε at δ = {delta:g}")
    axes.set_ylim(0.0, axes.get_ylim()[1] * 1.5)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    tidy(axes)


def _stated_and_found(axes: "Axes", height: int, finding: LintResult) -> None:
    colour = ALARM if finding.word is Word.REFUTED else DATA
    values = (finding.claimed, finding.found)
    if not all(map(math.isfinite, values)):
        axes.text(0.5, height, finding.sentence, transform=_across(axes), ha="center", fontsize=8)
        return
    axes.plot(values, (height, height), color=colour, linewidth=1.0)
    axes.plot(finding.claimed, height, "o", color=CLAIM, markerfacecolor="white", markersize=8)
    axes.plot(finding.found, height, "o", color=colour)
    for value, shift in zip(values, (9, -14), strict=True):
        axes.annotate(
            f"{value:.4g}", (value, height), (0, shift), textcoords="offset points", ha="center",
            fontsize=8,
        )  # fmt: skip


def _across(axes: "Axes") -> object:
    return axes.get_yaxis_transform()


def _word(word: Word) -> str:
    return word.value.replace("_", " ").lower()
