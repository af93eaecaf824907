"""What the Workshop says (Tables 1-5), and what this study runs."""

from dataclasses import dataclass, field
from typing import NamedTuple

from audits.papers.workshop.table5.adult import AdultSetting


class Kind(NamedTuple):
    """One half of the clients: their records, their positives in per cent, their δ (Table 1)."""

    records: int
    positive: float
    delta: float


class Distribution(NamedTuple):
    """A row of Table 1."""

    rho: float
    kappa: float
    small: Kind
    large: Kind


TABLE_1 = {
    "A": Distribution(0.0, 0.0, Kind(3907, 24.0, 1e-4), Kind(3907, 24.0, 1e-4)),
    "B": Distribution(0.9, 0.95, Kind(390, 1.3, 1e-3), Kind(7424, 25.0, 1e-4)),
    "C": Distribution(0.7, -3.0, Kind(1172, 96.0, 1e-4), Kind(6642, 11.0, 1e-4)),
    "D": Distribution(0.6, -1.5, Kind(1562, 60.0, 1e-4), Kind(6251, 15.0, 1e-4)),
}


class Cell(NamedTuple):
    """A cell of Table 5: test accuracy in per cent and mean log-likelihood, means of 5 seeds."""

    accuracy: float
    log_likelihood: float


PUBLISHED: dict[tuple[str, str], Cell] = {
    ("PVI", "A"): Cell(85.23, -0.3181),
    ("PVI", "B"): Cell(85.15, -0.3216),
    ("PVI", "C"): Cell(85.13, -0.3193),
    ("global VI", "A"): Cell(85.21, -0.3184),
    ("global VI", "B"): Cell(78.76, -0.7006),
    ("global VI", "C"): Cell(53.96, -1.1997),
    ("DP-PVI 0.5", "A"): Cell(84.57, -0.3439),
    ("DP-PVI 0.5", "B"): Cell(84.43, -0.3379),
    ("DP-PVI 0.5", "C"): Cell(81.83, -0.4218),
    ("DP-PVI 0.75", "A"): Cell(84.78, -0.3372),
    ("DP-PVI 0.75", "B"): Cell(84.87, -0.3332),
    ("DP-PVI 0.75", "C"): Cell(82.38, -0.4130),
    ("DP-PVI 1", "A"): Cell(85.02, -0.3332),
    ("DP-PVI 1", "B"): Cell(84.94, -0.3323),
    ("DP-PVI 1", "C"): Cell(82.46, -0.4070),
}
"""Table 5 of the Workshop. Published figures, never ours."""


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
    targets: tuple[float, ...] = (0.5, 0.75, 1.0)
    prior_variance: float = 1.0
    pvi_rate: float = 2.0
    pvi_updates: int = 1000
    private_rate: float = 0.5
    local_steps: int = 25
    batch_size: int = 100
    damping: float = 0.1
    noise_multiplier: float = 5.0
    sampling_rate: float = 0.02
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


def published_row(method: str, target: float | None = None) -> str:
    """The name of a method's row in Table 5."""
    return method if target is None else f"{method} {target:g}"
