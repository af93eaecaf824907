"""What a local solver is asked, and what it answers (Thesis eq. 2.4, TMLR eq. 2.4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pvi.gaussian import MeanFieldGaussian
from pvi.models.protocol import Model, check_model, temperature_of
from pvi.shard import Shard
from pvi.solvers.rules import State
from pvi.validate import at_least, generator, instance, mapping, sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Who computes, when, and with which randomness.

    Attributes:
      client: The client's number.
      round: The server's round.
      rng: The source of all randomness of this call.
    """

    client: int
    round: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        at_least("client", self.client, 0)
        at_least("round", self.round, 0)
        generator(self.rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalProblem:
    """Maximise temperature · E_q[log p(shard | θ)] − KL(q ‖ cavity) over q.

    Attributes:
      model: The likelihood.
      shard: The data.
      cavity: The distribution that stands for all other data; it may be improper.
      start: Where an iterative solver begins.
      state: What the solver gave back with its last answer; empty the first time.
      temperature: The power of the likelihood.
      context: Who asks, and when.
    """

    model: Model
    shard: Shard
    cavity: MeanFieldGaussian
    start: MeanFieldGaussian
    state: State
    temperature: float
    context: Context

    def __post_init__(self) -> None:
        check_model("model", self.model)
        instance("shard", self.shard, Shard)
        instance("cavity", self.cavity, MeanFieldGaussian)
        instance("start", self.start, MeanFieldGaussian)
        mapping("state", self.state)
        temperature_of(self.temperature)
        instance("context", self.context, Context)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The repetitions that are solved at once."""
        return np.broadcast_shapes(
            self.start.batch_shape, self.cavity.batch_shape, self.shard.batch_shape
        )


class LocalResult(NamedTuple):
    """A local solver's answer: the new distribution, and the state to carry on with."""

    q: MeanFieldGaussian
    state: State


class LocalSolver(Protocol):
    """Solves local problems. Inherit from it to have `solve_parts` from `solve`."""

    __slots__ = ()

    def solve(self, problem: LocalProblem) -> LocalResult:
        """Gives the new q."""
        ...

    def solve_parts(self, problems: Sequence[LocalProblem]) -> Iterator[LocalResult]:
        """Gives the answers for the parts of one client, in order.

        Unless a solver takes parts together, each is solved when its answer is asked for, so that
        whatever is done with an answer draws its random numbers before the next part does.
        """
        return map(self.solve, sequence("problems", problems, LocalProblem))
