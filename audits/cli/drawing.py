"""Pictures that a command writes to a file; needs matplotlib."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountants import epsilon_curve
from accountants.files import write_atomically
from audits.cli.options import check_writable
from audits.cli.sampled_steps import SampledSteps
from audits.verdict import Verdict
from audits.wording import sampling_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_epsilon(
    file: Path, noise: float, steps: int, delta: float, sampling: SampledSteps
) -> None:
    """ε over the steps up to `steps`, both ends of the interval."""
    figure = _figure((6.4, 4.0))
    axes = figure.subplots()
    unit = sampling.batches if sampling.in_epochs else 1
    counts = unit * np.unique(np.geomspace(1, steps // unit, 40).round().astype(int))
    curve = epsilon_curve(
        noise_multiplier=noise,
        steps=counts.tolist(),
        delta=delta,
        sampling_rate=sampling.accounted_rate,
        relation=sampling.relation,
        sampling=sampling.kind,
    )
    axes.plot(curve.steps, curve.upper, color="#1f3b63", label="proved upper end")
    axes.fill_between(curve.steps, curve.lower, curve.upper, color="#1f3b63", alpha=0.25)
    axes.plot(curve.steps, curve.lower, color="#2f8f6f", linestyle="--", label="proved lower end")
    axes.set(xlabel="steps", ylabel=f"ε at δ = {delta:g}")
    axes.set_title(
        f"noise multiplier {noise:g}, {sampling_words(sampling.kind)}, rate {sampling.rate:g}"
    )
    if len(counts) > 1:
        axes.set(xscale="log")
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
