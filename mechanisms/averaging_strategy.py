"""Local steps of federated averaging as a client's strategy, so that its messages have numbers too.

The weights are the mean of a Gaussian of precision 1, whose natural mean is that mean: multiplying
it by a "factor" of precision 0 and natural mean Δ adds Δ to the weights, in the same floating-point
operation. So `Server`, acknowledgements and retries serve averaging as they are, and the weights
are the start plus the sum of what clients remember of their changes.
"""

from dataclasses import dataclass

import numpy as np

from pvi import Context, MeanFieldGaussian, PartState, PointModel, Rule, Shard, Wish
from pvi.baselines.federated_averaging import descend


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragingStrategy:
    """Descends on one client's own objective, as `FederatedAveraging` does.

    Attributes:
      model: A likelihood with per-record scores.
      shard: The client's records.
      rule: SGD or Adam.
      local_steps: Steps per message.
      penalty: The strength of the squared penalty over the number of all records.
      persistent: Whether the rule keeps its state.
    """

    model: PointModel
    shard: Shard
    rule: Rule
    local_steps: int
    penalty: float
    persistent: bool

    @property
    def size(self) -> int:
        """The number of records."""
        return self.shard.size

    def initial_state(self) -> tuple[PartState, ...]:
        """One part."""
        return (PartState(),)

    def propose(
        self,
        posterior: MeanFieldGaussian,
        factor: MeanFieldGaussian,
        state: tuple[PartState, ...],
        damping: float,
        context: Context,
    ) -> Wish:
        """Gives the change of weights as a Gaussian of precision 0."""
        before = state[0].solver if self.persistent else {}
        change, solver = descend(
            self.model,
            self.shard,
            posterior.natural_mean,
            before,
            rule=self.rule,
            steps=self.local_steps,
            penalty=self.penalty,
        )
        if not all(np.isfinite(array).all() for array in (change, *solver.values())):
            # As clipping screens it: an error would tell of the data.
            change, solver = np.zeros_like(change), before
        moved = MeanFieldGaussian(natural_mean=change, precision=np.zeros_like(change))
        return Wish(moved, (PartState(solver=solver),))
