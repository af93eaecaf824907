"""A clipping norm that follows a quantile, privately (Andrew, Thakkar, McMahan, Ramaswamy 2021).

Each step also releases how many gradients were below the current norm, with noise; the norm then
moves geometrically, C ← C·exp(−η(b̃ − γ)), towards the γ-quantile. A record's bit is centred to
±½: the count has sensitivity ½, and noise of standard deviation σ_b gives it the multiplier 2σ_b.
Sum and count are one Gaussian query on one batch, of multiplier (1/σ² + 1/(2σ_b)²)^(−½): the event
lists both, so the cost is in the open. C itself is then post-processing.

The percentile of the batch's own norms (Thesis 4.3) is not private at all and exists only as a
specimen in the audits.
"""

from dataclasses import dataclass

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.primitives.clipping import check_rows, clip_rows
from mechanisms.primitives.noise import NoiseSource
from pvi.validate import having


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveClip:
    """Settings of the private quantile; all are public constants.

    Attributes:
      initial_norm: C before the first step.
      target_quantile: γ in (0, 1), the share of gradients to leave unclipped.
      learning_rate: η.
      count_std: σ_b, the noise on the count of unclipped gradients.
      batch_size: The nominal batch size that turns the count into a share.
      lowest, highest: Bounds of C.

    >>> clip = AdaptiveClip(initial_norm=1.0, batch_size=100, count_std=5.0)
    >>> clip.count_multiplier
    10.0
    """

    initial_norm: float
    batch_size: float
    count_std: float
    target_quantile: float = 0.5
    learning_rate: float = 0.2
    lowest: float = 1e-6
    highest: float = 1e6

    def __post_init__(self) -> None:
        for name in ("initial_norm", "batch_size", "count_std", "learning_rate", "lowest"):
            validate.positive(name, getattr(self, name))
        validate.open_unit("target_quantile", self.target_quantile)
        if not self.lowest <= self.initial_norm <= validate.positive("highest", self.highest):
            raise ValueError(
                f"`initial_norm` must be in [{self.lowest}, {self.highest}], got "
                f"{self.initial_norm!r}."
            )

    @property
    def count_multiplier(self) -> float:
        """The count's noise multiplier: std over sensitivity ½."""
        return 2.0 * self.count_std


class QuantileTracker:
    """One client's current norm, for each repetition its own.

    Attributes:
      norm: C; a number, or an array over the batch axes. Post-processing of noisy counts.
    """

    def __init__(self, settings: AdaptiveClip) -> None:
        self.settings = validate.instance("settings", settings, AdaptiveClip)
        self.norm: float | FloatArray = settings.initial_norm

    def clip(self, rows: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        """Clipped rows, centred bits (..., n, 1), and how many rows were not finite.

        A row of zeros (left out of the batch, or not finite) has the bit 0, not ±½.
        """
        rows = check_rows(rows)
        norm = np.asarray(self.norm)[..., None] if np.ndim(self.norm) else self.norm
        clipped, screened = clip_rows(rows, norm)
        lengths = np.sqrt(np.einsum("...i,...i->...", clipped, clipped))
        # A clipped row lies within 2^-32 of the sphere; so does, now and then, an unclipped one.
        below = lengths < np.asarray(norm) * (1.0 - 2.0**-31)
        bits = np.where(lengths > 0.0, np.where(below, 0.5, -0.5), 0.0)
        return clipped, bits[..., None], screened

    def update(self, bits: FloatArray, noise: NoiseSource, rng: np.random.Generator) -> None:
        """Moves C by the noisy share of gradients below it."""
        settings = self.settings
        bits = check_rows(validate.reals("bits", bits), "bits")
        having("noise", noise, "noisy_sum")
        validate.generator("rng", rng)
        noisy = noise.noisy_sum(bits, settings.count_std, rng)[..., 0]
        share = 0.5 + noisy / settings.batch_size
        factor = np.exp(-settings.learning_rate * (share - settings.target_quantile))
        moved = np.clip(self.norm * factor, settings.lowest, settings.highest)
        self.norm = float(moved) if moved.ndim == 0 else moved
