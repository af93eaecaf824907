"""What a mechanism asks of whoever runs the server, in this process or in another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.release import ServerNoise
from pvi.validate import function, mapping

NoisySum: TypeAlias = Callable[[FloatArray, np.random.Generator], FloatArray]
"""Makes the released sum of the messages, stacked as (..., clients, p)."""
AfterRound: TypeAlias = Literal["nothing", "reset", "share"]
AFTER_ROUND: tuple[AfterRound, ...] = ("nothing", "reset", "share")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRule:
    """How the server forms what it releases, and what it does after a round.

    Attributes:
      noise: The facts of the noise that it adds.
      noisy_sum: Adds it; None where the server adds up and does no more.
      after_round: "reset": every `reset_every` rounds all factors are set from public state.
        "share": each client is told its share of what the server added.
      reset_every: Rounds between resets.
      precision_floor: A public lower bound of the posterior's precisions.
      joint: Whether clients' noises are shares of one that protects them together: then a group of
        which somebody is missing is void.
      factors: How many factors a client keeps, by number, where it is more than one.
      averages: Whether weights are averaged, and no posterior is learnt: θ is then the mean of a
        Gaussian of precision 1, of which the server knows how to multiply it.
    """

    noise: ServerNoise = field(default_factory=ServerNoise)
    noisy_sum: NoisySum | None = None
    after_round: AfterRound = "nothing"
    reset_every: int = 1
    precision_floor: float | None = None
    joint: bool = False
    factors: Mapping[int, int] = field(default_factory=dict)
    averages: bool = False

    def __post_init__(self) -> None:
        validate.instance("noise", self.noise, ServerNoise)
        if self.noisy_sum is not None:
            function("noisy_sum", self.noisy_sum)
        validate.one_of("after_round", self.after_round, AFTER_ROUND)
        validate.count("reset_every", self.reset_every)
        if self.precision_floor is not None:
            validate.positive("precision_floor", self.precision_floor)
        validate.flag("joint", self.joint)
        mapping("factors", self.factors)
        validate.flag("averages", self.averages)

    def is_due(self, round: int) -> bool:  # noqa: A002
        """Whether something is done after this round."""
        if self.after_round == "reset":
            return validate.count("round", round) % self.reset_every == 0
        return self.after_round == "share"
