"""The settings of the study `tum-credit`: how TUM trains, and at which noise."""

import dataclasses
from dataclasses import dataclass

from audits.papers.tum import published
from audits.papers.tum.credit.costs import calibrated
from audits.papers.tum.credit.grids import (
    GRIDS,
    QUICK_GRIDS,
    TUM_NOISE,
    WAYS,
    Candidate,
    Grid,
)
from audits.papers.tum.credit.training import Method, Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is varied.

    Attributes:
      records: Of all 14 clients together.
      delta: δ of the certified ε.
      exact_rounds: Rounds without noise, one local step each.
      averaging_rounds: Rounds of federated averaging without noise, `local_steps` each.
      local_steps: E.
      noisy_local_steps: E where updates are noisy.
      clip_norms: C with TUM's noise.
      noisy_rounds: Rounds with TUM's noise.
      epsilons: Targets for a record.
      private_rounds: Rounds at these targets.
      grids: Learning rates and C: what is tried and what is used.
      auc_targets: For the iterations of Figure 12.
    """

    records: int = 40_000
    delta: float = 1e-5
    exact_rounds: int = 300
    averaging_rounds: int = 20
    local_steps: int = 50
    noisy_local_steps: int = 5
    clip_norms: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    noisy_rounds: int = 512
    epsilons: tuple[float, ...] = (1.0, 10.0, 100.0)
    private_rounds: int = 50
    grids: tuple[Grid, ...] = GRIDS
    auc_targets: tuple[float, ...] = (0.70, 0.74, 0.78)

    def used(self, way: str) -> Candidate:
        """What the search has chosen for a way to train."""
        return next(grid.used for grid in self.grids if grid.way == way)


QUICK = Settings(
    records=3000,
    exact_rounds=6,
    averaging_rounds=2,
    local_steps=5,
    noisy_local_steps=3,
    clip_norms=(0.2,),
    noisy_rounds=8,
    epsilons=(1.0, 20.0),
    private_rounds=3,
    grids=QUICK_GRIDS,
    auc_targets=(0.55,),
)

GD = Method(optimiser="GD", learning_rate=0.5)
"""With TUM's learning rate (7.2)."""
CENTRAL = "centralised optimum"


def methods(settings: Settings) -> dict[str, tuple[Method, int]]:
    """Each federated method with its number of rounds, by the key of its job."""
    averaging = settings.averaging_rounds
    chosen = settings.used(TUM_NOISE)
    adam = Method(optimiser="Adam", learning_rate=chosen.learning_rate)
    found = {
        "exact/GD": (GD, settings.exact_rounds),
        "exact/Adam": (adam, settings.exact_rounds),
        "exact/averaging with GD": (
            dataclasses.replace(GD, local_steps=settings.local_steps),
            averaging,
        ),
        "exact/averaging with Adam": (
            dataclasses.replace(adam, local_steps=settings.local_steps),
            averaging,
        ),
    }
    for norm in settings.clip_norms:
        noisy = tum_method(dataclasses.replace(chosen, clip_norm=norm))
        found[f"tum/C={norm:g}"] = (noisy, settings.noisy_rounds)
    for epsilon in settings.epsilons:
        for way in WAYS:
            found[f"private/ε={epsilon:g}/{way}"] = (
                private_method(settings, epsilon, way, settings.used(way)),
                settings.private_rounds,
            )
    return found


def tum_method(candidate: Candidate) -> Method:
    """Adam with noise of TUM's standard deviation."""
    norm = candidate.clip_norm
    noise = Noise(clip_norm=norm, noise_multiplier=published.SIGMA / norm)
    return Method(optimiser="Adam", learning_rate=candidate.learning_rate, noise=noise)


def private_method(settings: Settings, epsilon: float, way: str, candidate: Candidate) -> Method:
    """A method whose cost for a record is the target, in the view that the way supposes."""
    aggregator = {WAYS[3]: "sizes", WAYS[4]: "equal"}.get(way, "none")
    noise = calibrated(
        epsilon,
        settings.delta,
        settings.private_rounds,
        candidate.clip_norm,
        settings.records,
        aggregator,
    )
    return Method(
        optimiser="Adam" if way == "Adam" else "GD",
        learning_rate=candidate.learning_rate,
        local_steps=settings.noisy_local_steps if way == "averaging" else 1,
        noise=noise,
    )
