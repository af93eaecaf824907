"""Pictures that a command writes to a file; needs matplotlib."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from accountants import Bounds
from accountants.files import write_atomically
from audits import telling
from audits.cli.course import Course
from audits.cli.options import check_writable
from audits.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_epsilon(file: Path, course: Course) -> None:
    """ε over a training's steps or epochs, both ends of the interval."""
    figure = _figure((6.4, 4.0))
    axes = figure.subplots()
    axes.plot(course.at, course.upper, color="#1f3b63", label="proved upper end")
    axes.fill_between(course.at, course.lower, course.upper, color="#1f3b63", alpha=0.25)
    axes.plot(course.at, course.lower, color="#2f8f6f", linestyle="--", label="proved lower end")
    axes.set(xlabel=course.unit, ylabel=f"ε at δ = {course.delta:g}")
    axes.set_title(course.title)
    if len(course.at) > 1 and course.unit == "steps":
        axes.set(xscale="log")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False)
    save(figure, file)


def draw_trade_off(file: Path, title: str, alphas: list[float], found: list[Bounds]) -> None:
    """What an attack finds at each rate of false accusations, at most and for the worst record."""
    figure = _figure((5.2, 4.6))
    axes = figure.subplots()
    axes.fill_between(alphas, [one.upper for one in found], alphas, color="#1f3b63", alpha=0.15)
    axes.plot(alphas, [one.upper for one in found], color="#1f3b63", label="no attack does better")
    axes.plot(alphas, alphas, color="#7a8188", linestyle=":", label="guessing")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="false positive rate",
        ylabel="true positive rate",
        title=title,
        xlim=(alphas[0], 1.0),
        ylim=(alphas[0], 1.0),
    )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False)
    save(figure, file)


def draw_verdict(file: Path, verdict: Verdict) -> None:
    """The wealth against the claim, and the error rates that were seen."""
    from audits.plots import plot_trade_off, plot_wealth

    figure = _figure((10.0, 4.2))
    left, right = figure.subplots(1, 2)
    plot_wealth(verdict, left)
    plot_trade_off(verdict, right)
    save(figure, file)


def check_plot(file: Path | None) -> None:
    """Refuses a file that could not be drawn, before anything is computed."""
    if file is None:
        return
    known = sorted(_figure((1.0, 1.0)).canvas.get_supported_filetypes())
    if file.suffix[1:].lower() not in known:
        raise ValueError(f"`--plot` must end in one of {known}, got {str(file)!r}.")
    check_writable("--plot", file)


def _figure(size: tuple[float, float]) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(
            "`--plot` must be left out unless matplotlib is installed "
            "(pip install matplotlib, or dp-assay with the extra `plots`)."
        ) from error
    return Figure(figsize=size, layout="constrained")


def save(figure: "Figure", file: Path, *, dpi: int = 150) -> None:
    """Writes the picture, whole or not at all."""
    image = io.BytesIO()
    figure.savefig(image, format=file.suffix[1:].lower(), dpi=dpi)
    write_atomically(file, image.getvalue())
    telling.wrote(file)
