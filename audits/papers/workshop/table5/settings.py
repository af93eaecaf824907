"""What the study `workshop-table5` runs."""

from dataclasses import dataclass, field

from audits.papers.workshop.adult import AdultSetting
from audits.papers.workshop.published import BUDGETS, LOCAL_STEPS, NOISE, RATE


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopSettings:
    """Settings of Appendix D where it names them (Tables 2-4); the others are marked as ours.

    Attributes:
      data: Records and test set.
      splits: Which rows of Table 1 are trained on.
      targets: ε_max of the clients.
      prior_variance: Ours; also what the configurations in the authors' public code have.
      pvi_rate: Adagrad's learning rate of PVI.
      pvi_updates: How many updates PVI makes; ours.
      private_rate: Adagrad's learning rate of DP-PVI.
      local_steps: Gradient steps per update.
      batch_size: L of PVI and global VI.
      damping: Of every update.
      noise_multiplier: σ.
      sampling_rate: q of DP-PVI.
      clip_norm: C of one record's gradient before it is scaled by 1/q. The paper's 75 is the norm
        after scaling the loss by N/L = 50, as its public code does.
      global_rate: Adagrad's learning rate of global VI.
      global_steps: How many steps, one communication each; ours, and what the configurations in the
        authors' public code have.
      trajectory_points: How many points of a trajectory are kept.
    """

    data: AdultSetting = field(default_factory=AdultSetting)
    splits: tuple[str, ...] = ("A", "B", "C")
    targets: tuple[float, ...] = BUDGETS
    prior_variance: float = 1.0
    pvi_rate: float = 2.0
    pvi_updates: int = 1000
    private_rate: float = 0.5
    local_steps: int = LOCAL_STEPS
    batch_size: int = 100
    damping: float = 0.1
    noise_multiplier: float = NOISE
    sampling_rate: float = RATE
    clip_norm: float = 1.5
    global_rate: float = 0.05
    global_steps: int = 5000
    trajectory_points: int = 30


FULL = WorkshopSettings()
QUICK = WorkshopSettings(
    data=AdultSetting(source="synthetic", records=2500, columns=12, training=2000),
    splits=("C",),
    targets=(0.5, 1.0),
    pvi_updates=40,
    local_steps=5,
    batch_size=20,
    noise_multiplier=2.0,
    global_steps=200,
    trajectory_points=6,
)
