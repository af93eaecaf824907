"""Parts as virtual clients with factors of their own (TMLR Algorithm 3)."""

from dataclasses import dataclass

from pvi.gaussian import MeanFieldGaussian
from pvi.solvers.problem import Context
from pvi.strategies.parts import ShardParts
from pvi.strategies.protocol import PartState, Wish
from pvi.validate import checked, positive, sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualShards(ShardParts):
    """N virtual clients, each with its own factor, updated in parallel (TMLR Algorithm 3).

    A virtual factor remembers the altered change. The client's own factor is not used.
    """

    def initial_state(self) -> tuple[PartState, ...]:
        """Factors of 1."""
        unit = MeanFieldGaussian.unit(self.model.dimension)
        return tuple(PartState(factor=unit) for _ in self.shards)

    @checked(posterior=MeanFieldGaussian, factor=MeanFieldGaussian, context=Context)
    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: tuple[PartState, ...],
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the product of the virtual clients' damped changes (TMLR eq. 3.4–3.5)."""
        damping = positive("damping", damping, upper=1.0)
        total = MeanFieldGaussian.unit(posterior.dimension)
        remembered = []
        parts = sequence("state", state, PartState)
        factors = [part.factor for part in parts if part.factor is not None]
        cavities = [posterior / own for own in factors]
        changes = self.part_changes(posterior, cavities, state, 1.0, context)
        for before, own in zip(factors, changes, strict=True):
            change = own.change**damping
            total = total * change
            remembered.append(PartState(solver=own.state, factor=before * change))
        return Wish(total, tuple(remembered))
