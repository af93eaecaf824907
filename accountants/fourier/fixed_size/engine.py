"""From a setting to a certified interval: plan, policy from below, cover, values from above."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from accountants.arrays import FloatArray
from accountants.bounds import Bounds
from accountants.fourier.fixed_size.cover import chosen_cover, sampled_steps
from accountants.fourier.fixed_size.geometry import CORNERS, Gram
from accountants.fourier.fixed_size.laws import law_above
from accountants.fourier.fixed_size.policy import policy_values
from accountants.fourier.fixed_size.values import Folded, Grid, Moments

__all__ = ["Plan", "Question", "Report", "Setting", "lower_end", "upper_end"]

Report = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""

_LONGEST = 2**17
_MOST_CELLS = 1500
_LEAST_CELLS = 60
# Transforms of 2^14 nodes, or their like, in one pass: a few minutes.
_MOST_WORK = 2e6
_TAIL_SHARE = 1e-7


@dataclass(frozen=True, slots=True)
class Setting:
    """σ, q < 1 and T."""

    noise_multiplier: float
    rate: float
    steps: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A grid for a setting near (ε, δ); good or bad, what is computed on it holds.

    Attributes:
      grid: The grid.
      reach: Standard deviations that laws are followed for.
    """

    grid: Grid
    reach: float

    @classmethod
    def near(
        cls,
        setting: Setting,
        epsilon: float,
        delta: float,
        fineness: float,
        node: float | None = None,
    ) -> "Plan":
        """A grid to beyond ε whose step is about `fineness` of a step's typical loss.

        Args:
          setting: σ, q, T.
          epsilon: The largest ε in question.
          delta: The δ in question, about.
          fineness: The step, as a share of a step's typical loss.
          node: An ε > 0 that is to be a node.
        """
        share = _TAIL_SHARE * delta / (setting.steps * setting.rate)
        reach = min(-float(special.ndtri(max(min(share, 1e-3), 1e-250))), 36.0)
        moments = _LogMoments(setting, reach)
        tilt = moments.tilt(delta)
        size = moments.size(tilt)
        most = epsilon + max(0.05 * epsilon, 4.0 / tilt, 4.0 * size)
        up = moments.highest
        down = min(up, max(15.0 / tilt, 8.0 * size))
        span = most + up + down
        step = max(fineness * size, span / _LONGEST)
        length = min(2 ** max(math.ceil(math.log2(span / step + 16.0) - 0.2), 6), _LONGEST)
        step = span / (0.97 * length - 12.0)
        if node:
            # One node more or less moves the step by little, unless there are few nodes.
            step = node / max(math.ceil(node / step), 1) if node / step > 40.0 else step
        last, below, above = (math.ceil(part / step) for part in (most, down, up))
        return cls(Grid(step, last, below, above, tilt, length), reach)


class _LogMoments:
    """log E[e^{θL}] of the corner g = v, by a sum; for the plan only."""

    def __init__(self, setting: Setting, reach: float) -> None:
        length = 2.0 / setting.noise_multiplier
        z = np.linspace(-reach, reach + length, 20_001)
        ratio = length * z - 0.5 * length * length
        self._loss = np.logaddexp(math.log1p(-setting.rate), math.log(setting.rate) + ratio)
        log_mass = -0.5 * z * z + self._loss
        self._log_mass = log_mass - special.logsumexp(log_mass)
        self._steps = setting.steps
        self.highest = float(self._loss[-1])
        self._least = math.sqrt(float(np.exp(self._log_mass) @ self._loss**2))

    def size(self, tilt: float) -> float:
        """A step's typical loss where it matters: the deviation of a Gaussian loss of this moment.

        A grid of step h adds about θ(1+θ)h²/12 to the log moment, and θ(1+θ)s²/2 is that of a
        Gaussian.
        """
        return max(math.sqrt(2.0 * self._moment(tilt) / (tilt * (1.0 + tilt))), 0.5 * self._least)

    def _moment(self, tilt: float) -> float:
        return float(special.logsumexp(self._log_mass + tilt * self._loss))

    def tilt(self, delta: float) -> float:
        """The θ that gives the least ε of Rényi's kind."""

        def epsilon(tilt: float) -> float:
            moment = self._moment(tilt)
            start = tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt)
            return (self._steps * moment - math.log(delta) + start) / tilt

        tilts = np.geomspace(1e-3, 1e5, 400)
        found = float(tilts[int(np.argmin([epsilon(float(tilt)) for tilt in tilts]))])
        return min(found, 300.0 / max(self.highest, 1e-9), 30.0 / self._least)


@dataclass(frozen=True, slots=True)
class Question:
    """ε at a δ, or δ at an ε."""

    delta: float | None = None
    epsilon: float | None = None

    def locate(self, grid: Grid, values: FloatArray) -> tuple[float, float]:
        """Where on the grid the answer lies, about, and |dV/dε| there; no bounds."""
        if self.epsilon is not None:
            place = self.epsilon / grid.step
        else:
            assert self.delta is not None
            logs = np.log(np.maximum(values, 1e-300))
            place = float(np.interp(-math.log(self.delta), -logs, np.arange(logs.size)))
        place = min(max(place, 0.0), grid.last - 1.0)
        low = int(place)
        slope = max(float(values[low] - values[low + 1]) / grid.step, 1e-300)
        return place, slope

    def above(self, grid: Grid, values: FloatArray) -> float:
        """The upper end: V_T is convex in e^ε, so between nodes it lies below their chord."""
        if self.epsilon is not None:
            low = int(np.searchsorted(grid.epsilons, self.epsilon, side="right")) - 1
            if low >= grid.last:
                return float(values[-1])
            share = math.expm1(self.epsilon - grid.epsilons[low]) / math.expm1(grid.step)
            share = min(max(share - 1e-9, 0.0), 1.0)
            return float(values[low] + share * (values[low + 1] - values[low])) * (1.0 + 1e-12)
        assert self.delta is not None
        below = np.flatnonzero(values <= self.delta)
        if below.size == 0:
            return math.inf
        node = int(below[0])
        if node == 0:
            return 0.0
        share = (values[node - 1] - self.delta) / (values[node - 1] - values[node])
        part = math.log1p(min(float(share) + 1e-9, 1.0) * math.expm1(grid.step))
        return min(float(grid.epsilons[node - 1]) + part, float(grid.epsilons[node])) * (
            1.0 + 1e-14
        )

    def below(self, grid: Grid, values: FloatArray, slip: float) -> float:
        """The lower end: values fall in ε, and those at a node hold `slip` below it."""
        proved = grid.epsilons * (1.0 - 1e-14) - slip
        if self.epsilon is not None:
            node = int(np.searchsorted(proved, self.epsilon, side="left"))
            return float(values[node]) if node <= grid.last else 0.0
        assert self.delta is not None
        reached = np.flatnonzero(values >= self.delta)
        return max(float(proved[reached[-1]]), 0.0) if reached.size else 0.0


def lower_end(
    setting: Setting,
    question: Question,
    about: Bounds,
    delta: float,
    fineness: float,
    report: Report,
) -> float:
    """A lower end by the policy of the two corners, on a grid with a node at about the answer.

    Args:
      setting: σ, q, T.
      question: What is asked.
      about: An interval for the ε in question.
      delta: The δ in question, about.
      fineness: The grid's step, as a share of a step's typical loss.
      report: Told what is being done.
    """
    best, node = 0.0, about.lower
    parts = 1 if question.delta is None else 2
    for part in range(parts):
        before = part * setting.steps
        plan = Plan.near(setting, about.upper, delta, fineness, node)
        values, slip = policy_values(
            setting.noise_multiplier,
            setting.rate,
            setting.steps,
            plan.grid,
            functools.partial(_told, report, before, parts * setting.steps),
        )
        best = max(best, question.below(plan.grid, values, slip))
        place, _ = question.locate(plan.grid, values)
        node = place * plan.grid.step * (1.0 - 1e-5)
    return best


def _told(report: Report, before: int, of: int, step: int) -> None:
    """Tells that a step of the policy is done."""
    report("lower end", before + step + 1, of)


def upper_end(
    setting: Setting, plan: Plan, question: Question, loss: float, report: Report
) -> float:
    """An upper end by a cover that should lose no more than `loss` of ε, relatively."""
    grid, steps = plan.grid, setting.steps

    def law(gram: Gram) -> Folded:
        kernel = law_above(gram, setting.rate, setting.noise_multiplier, grid.step, plan.reach)
        return grid.fold(kernel, 1)

    corners = [law(corner) for corner in CORNERS]
    start: list[float] = []

    def weights(values: FloatArray) -> FloatArray:
        place, slope = question.locate(grid, values)
        size = slope * place * grid.step
        if question.epsilon is not None:
            size = max(size, float(values[round(place)]))
        start.append(max(size, slope * grid.step))
        low = int(place)
        found = np.zeros(grid.last + 1)
        found[low : low + 2] = (1.0 - (place - low), place - low)
        return found

    samples, _ = sampled_steps(
        grid, corners, steps, weights, lambda step: report("policy", step + 1, steps)
    )
    work = steps * grid.length * math.log2(grid.length) / (2**14 * 14)
    most = int(min(_MOST_CELLS, max(_LEAST_CELLS, _MOST_WORK / work)))
    laws, _ = chosen_cover(
        samples, grid, law, loss * start[0], most, lambda made: report("cells", made, 2 * most)
    )
    values, moments = np.zeros(grid.last + 1), Moments.at_start(grid.tilt)
    for step in range(steps):
        transformed = grid.transform(values, moments)
        values = grid.largest(transformed, laws)
        moments.advance(laws)
        report("steps", step + 1, steps)
    return question.above(grid, values)
