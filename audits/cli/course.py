"""ε in the course of a training: after each epoch, or after some numbers of steps."""

from dataclasses import dataclass

import numpy as np

from accountants import Bounds, FourierAccountant, epsilon_curve
from audits.cli.sampled_steps import SampledSteps
from audits.wording import down, sampling_words, up

_MOST_POINTS, _FEW_POINTS = 100, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Certified intervals along a training.

    Attributes:
      unit: "epochs" or "steps": what `at` counts.
      at: After so many of them.
      steps: The same in steps.
      lower, upper: ε(δ) lies between them.
      delta: The δ.
      title: The setting in a line.
    """

    unit: str
    at: list[int]
    steps: list[int]
    lower: list[float]
    upper: list[float]
    delta: float
    title: str

    @property
    def columns(self) -> list[str]:
        """Headings of a table."""
        counted = ["epoch", "steps"] if self.unit == "epochs" else ["steps"]
        return [*counted, "ε ≥", "ε ≤"]

    @property
    def rows(self) -> list[list[str]]:
        """Its lines, rounded outwards."""
        counted = [self.at, self.steps] if self.unit == "epochs" else [self.steps]
        ends = [map(down, self.lower), map(up, self.upper)]
        return [[str(cell) for cell in row] for row in zip(*counted, *ends, strict=True)]


def course(
    noise: float,
    steps: int,
    delta: float,
    sampling: SampledSteps,
    *,
    whole: Bounds,
    epochs: bool,
) -> Course:
    """The course of the steps; over epochs where they are counted so, or can be counted only so.

    Args:
      noise: The noise multiplier.
      steps: All of them.
      delta: The δ.
      sampling: How records get into a step.
      whole: The answer for all steps, which stands at the end.
      epochs: Whether epochs were given.
    """
    by_epoch = epochs or sampling.in_epochs
    length = (1 if sampling.kind == "all" else sampling.batches) if by_epoch else 1
    last = steps // length
    if sampling.in_epochs or not epochs:
        points = np.geomspace(1, last, _FEW_POINTS)
    else:
        points = np.linspace(1, last, _MOST_POINTS)
    at = np.unique(points.round().astype(int))
    counts = [int(count) for count in length * at]
    bounds = _intervals(noise, counts, delta, sampling)
    if counts[-1] == steps:
        bounds[-1] = whole
    return Course(
        unit="epochs" if by_epoch else "steps",
        at=at.tolist(),
        steps=counts,
        lower=[one.lower for one in bounds],
        upper=[one.upper for one in bounds],
        delta=delta,
        title=f"noise multiplier {noise:g}, {sampling_words(sampling.kind)}, "
        f"rate {sampling.rate:g}",
    )


def _intervals(
    noise: float, counts: list[int], delta: float, sampling: SampledSteps
) -> list[Bounds]:
    """ε after each number of steps."""
    if sampling.kind in ("poisson", "all"):  # the counts share the work
        curve = epsilon_curve(
            noise_multiplier=noise,
            steps=counts,
            delta=delta,
            sampling_rate=sampling.rate,
            relation=sampling.relation,
            sampling=sampling.kind,
            records_per_user=sampling.records,
        )
        return [Bounds(*ends) for ends in zip(curve.lower, curve.upper, strict=True)]
    found = []
    for count in counts:
        event, repeats = sampling.repeated(noise, count)
        accountant = FourierAccountant(sampling.relation).compose(event, repeats)
        found.append(accountant.get_epsilon_bounds(delta))
    return found
