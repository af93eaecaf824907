"""What the Workshop prints: Tables 1, 3 and 5. Published figures, never ours."""

from typing import NamedTuple

ADULT_RECORDS = 48_842
TRAINING = 39_074
"""Appendix C: 80% of Adult's records, rounded up."""
NOISE, RATE, LOCAL_STEPS = 5.0, 0.02, 25
"""Appendix D.2, Table 3: σ, q and the local steps per update."""
BUDGETS = (0.5, 0.75, 1.0)
"""ε_max of the clients."""


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
"""Appendix C: ρ, κ, and what clients of the two kinds have; ten clients, half of them small."""


class Cell(NamedTuple):
    """A cell of Table 5: test accuracy in per cent and mean log-likelihood, means of 5 seeds."""

    accuracy: float
    log_likelihood: float


TABLE_5: dict[tuple[str, str], Cell] = {
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
"""By method, with ε_max for DP-PVI, and split."""


def published_row(method: str, target: float | None = None) -> str:
    """The name of a method's row in `TABLE_5`."""
    return method if target is None else f"{method} {target:g}"
