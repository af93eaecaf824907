"""Gradient rules: how an ascent direction becomes a step. State is a flat dict of arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np

from pvi.validate import FloatArray, mapping, positive, real, reals

State: TypeAlias = Mapping[str, FloatArray]
LearningRate: TypeAlias = float | Callable[[int], float]


class Rule(Protocol):
    """An optimiser's update rule."""

    def step(self, gradient: FloatArray, state: State) -> tuple[FloatArray, State]:
        """Gives the (ascent) step for a gradient and the new state; `{}` is the initial state."""
        ...


def _rate(learning_rate: LearningRate, step: int) -> float:
    return real("learning_rate", learning_rate(step) if callable(learning_rate) else learning_rate)


def _check_rate(learning_rate: LearningRate) -> None:
    if not callable(learning_rate) or isinstance(learning_rate, type):
        positive("learning_rate", cast(float, learning_rate))


def _begin(gradient: FloatArray, state: State) -> tuple[FloatArray, int]:
    """The gradient as an array, and the number of this step."""
    count = mapping("state", state).get("count", 0.0)
    return reals("gradient", gradient), int(real("state", float(count), lower=0.0)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SGD:
    """Plain gradient ascent: rate · g.

    Attributes:
      learning_rate: A number, or a function of the step number, which starts at 1.

    Example:
      >>> SGD(learning_rate=0.5).step(np.array([2.0]), {})[0]
      array([1.])
    """

    learning_rate: LearningRate

    def __post_init__(self) -> None:
        _check_rate(self.learning_rate)

    def step(self, gradient: FloatArray, state: State) -> tuple[FloatArray, State]:
        """Gives the step and the new state."""
        gradient, count = _begin(gradient, state)
        return _rate(self.learning_rate, count) * gradient, {"count": np.array(float(count))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Adagrad:
    """Adagrad (Duchi, Hazan, Singer 2011): rate · g / (√Σg² + stability).

    Attributes:
      learning_rate: A number, or a function of the step number, which starts at 1.
      stability: Keeps the divisor away from 0.

    Example:
      >>> Adagrad(learning_rate=0.5, stability=0.0).step(np.array([-2.0]), {})[0]
      array([-0.5])
    """

    learning_rate: LearningRate
    stability: float = 1e-10

    def __post_init__(self) -> None:
        _check_rate(self.learning_rate)
        real("stability", self.stability, lower=0.0)

    def step(self, gradient: FloatArray, state: State) -> tuple[FloatArray, State]:
        """Gives the step and the new state."""
        gradient, count = _begin(gradient, state)
        with np.errstate(over="ignore", invalid="ignore"):  # what diverges is refused as a result
            total = state.get("squares", np.zeros(())) + gradient**2
            step = _rate(self.learning_rate, count) * gradient / (np.sqrt(total) + self.stability)
        return step, {"count": np.array(float(count)), "squares": total}


@dataclass(frozen=True, slots=True, kw_only=True)
class Adam:
    """Adam with bias correction (Kingma and Ba 2015; TUM 5.2.2).

    Attributes:
      learning_rate: A number, or a function of the step number, which starts at 1.
      first_decay: β₁.
      second_decay: β₂.
      stability: Keeps the divisor away from 0.

    Example:
      >>> Adam(learning_rate=0.5, stability=0.0).step(np.array([-2.0]), {})[0]
      array([-0.5])
    """

    learning_rate: LearningRate
    first_decay: float = 0.9
    second_decay: float = 0.999
    stability: float = 1e-8

    def __post_init__(self) -> None:
        _check_rate(self.learning_rate)
        for name in ("first_decay", "second_decay"):
            if not real(name, getattr(self, name), lower=0.0) < 1.0:
                raise ValueError(f"`{name}` must be in [0, 1), got {getattr(self, name)!r}.")
        real("stability", self.stability, lower=0.0)

    def step(self, gradient: FloatArray, state: State) -> tuple[FloatArray, State]:
        """Gives the step and the new state."""
        gradient, count = _begin(gradient, state)
        zero = np.zeros(())
        first = self.first_decay * state.get("first", zero) + (1 - self.first_decay) * gradient
        with np.errstate(over="ignore", invalid="ignore"):  # what diverges is refused as a result
            squares = (1 - self.second_decay) * gradient**2
            second = self.second_decay * state.get("second", zero) + squares
            corrected = first / (1.0 - self.first_decay**count)
            scale = np.sqrt(second / (1.0 - self.second_decay**count)) + self.stability
            step = _rate(self.learning_rate, count) * corrected / scale
        return step, {"count": np.array(float(count)), "first": first, "second": second}
