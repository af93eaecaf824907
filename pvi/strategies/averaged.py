"""Averages of separately optimised parts (TMLR Algorithm 2)."""

from dataclasses import dataclass

from pvi.gaussian import MeanFieldGaussian
from pvi.solvers.problem import Context
from pvi.strategies.parts import ShardParts
from pvi.strategies.protocol import PartState, Wish
from pvi.validate import checked, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragedShards(ShardParts):
    """N optimisations on shards with likelihoods to the power N, averaged (TMLR Algorithm 2)."""

    def initial_state(self) -> tuple[PartState, ...]:
        """Parts without factors."""
        return tuple(PartState() for _ in self.shards)

    @checked(posterior=MeanFieldGaussian, factor=MeanFieldGaussian, context=Context)
    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: tuple[PartState, ...],
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the damped mean of the parts' changes (TMLR eq. 3.1–3.2)."""
        damping, parts = positive("damping", damping, upper=1.0), len(self.shards)
        total = MeanFieldGaussian.unit(posterior.dimension)
        remembered = []
        cavities = [posterior / factor] * parts
        for own in self.part_changes(posterior, cavities, state, float(parts), context):
            total = total * own.change
            remembered.append(PartState(solver=own.state))
        return Wish(total ** (damping / parts), tuple(remembered))
