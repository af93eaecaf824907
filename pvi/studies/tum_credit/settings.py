"""The settings of the study `tum-credit`: how TUM trains, and at which noise."""

import dataclasses
from dataclasses import dataclass

from pvi.studies.tum_credit.costs import calibrated
from pvi.studies.tum_credit.training import Method, Noise

# TUM 7.3: standard deviation of the noise, and the radius of Figure 12.
TUM_STD, TUM_CLIP = 0.5, 0.2
# Figure 12(a): iterations of logistic regression until three AUC values are reached.
TUM_ITERATIONS = (112, 187, 512)
# Figure 12(b): of the neural network.
TUM_NETWORK_ITERATIONS = (132, 314, 989)
TUM_DELTA = 0.1


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
      private_clip: C at these targets.
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
    private_clip: float = 0.1
    auc_targets: tuple[float, ...] = (0.70, 0.74, 0.78)


QUICK = Settings(
    records=3000,
    exact_rounds=10,
    averaging_rounds=2,
    local_steps=5,
    noisy_local_steps=3,
    clip_norms=(0.2,),
    noisy_rounds=15,
    epsilons=(1.0, 20.0),
    private_rounds=5,
    auc_targets=(0.55,),
)

GD = Method(optimiser="GD", learning_rate=0.5)
ADAM = Method(optimiser="Adam", learning_rate=0.1)
CENTRAL = "centralised optimum"
WAYS = ("GD", "Adam", "averaging", "GD, aggregator n_k/n", "GD, aggregator equal")
"""The ways to train at a given ε."""


def methods(settings: Settings) -> dict[str, tuple[Method, int]]:
    """Each federated method with its number of rounds, by the key of its job."""
    averaging = settings.averaging_rounds
    found = {
        "exact/GD": (GD, settings.exact_rounds),
        "exact/Adam": (ADAM, settings.exact_rounds),
        "exact/averaging with GD": (
            dataclasses.replace(GD, local_steps=settings.local_steps),
            averaging,
        ),
        "exact/averaging with Adam": (
            dataclasses.replace(ADAM, local_steps=settings.local_steps),
            averaging,
        ),
    }
    for norm in settings.clip_norms:
        noise = Noise(clip_norm=norm, noise_multiplier=TUM_STD / norm)
        noisy = dataclasses.replace(ADAM, noise=noise)
        found[f"tum/C={norm:g}"] = (noisy, settings.noisy_rounds)
    for epsilon in settings.epsilons:
        for way in WAYS:
            found[f"private/ε={epsilon:g}/{way}"] = (
                private_method(settings, epsilon, way),
                settings.private_rounds,
            )
    return found


def private_method(settings: Settings, epsilon: float, way: str) -> Method:
    """A method whose cost for a record is the target, in the view that the way supposes."""
    aggregator = {WAYS[3]: "sizes", WAYS[4]: "equal"}.get(way, "none")
    noise = calibrated(
        epsilon,
        settings.delta,
        settings.private_rounds,
        settings.private_clip,
        settings.records,
        aggregator,
    )
    if way == "Adam":
        return Method(optimiser="Adam", learning_rate=0.05, noise=noise)
    steps = settings.noisy_local_steps if way == "averaging" else 1
    return Method(optimiser="GD", learning_rate=0.1, local_steps=steps, noise=noise)
