"""The settings of the study `thesis-linreg`: which runs the Thesis's figures need."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from audits.papers.thesis.linreg.case import (
    BatchPercentile,
    Case,
    ClipRule,
    FixedNorm,
    PrivateQuantile,
)
from audits.papers.thesis.linreg.training import updates_within
from audits.papers.thesis.linreg.variant import AS_TOLD, NEAREST, VARIANTS, Variant

FIXED = FixedNorm(5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is varied; all else is the Thesis's (see `cases`).

    Attributes:
      delta: δ.
      stop: The ε at which the Thesis ends a run, by its accountant.
      most_updates: The most server updates of Figures 4.2–4.5; the Thesis has 1000.
      first_updates: The server updates of Figure 4.1.
      shown_updates: Those of them that have a row.
      noise_multipliers: σ of the table with more noise; 1 is Figure 4.1 itself.
      noise_updates: The server updates that it shows, some of Figure 4.1's.
      clip_norms: C of Figure 4.2.
      sampling_rates: q of Figure 4.2.
      variants: How else Figure 4.1 is run.
      percentiles: Of Figure 4.3, for the Thesis's rule.
      private_percentiles: Those of them that the sound rule has too.
      unstable_percentiles: Of Figures 4.4 and 4.5, for the Thesis's rule.
      unstable_private_percentiles: Those of them that the sound rule has too.
      points: Points of a curve.
    """

    delta: float = 1e-4
    stop: float = 100.0
    most_updates: int = 1000
    first_updates: int = 500
    shown_updates: tuple[int, ...] = (20, 100, 500)
    noise_multipliers: tuple[float, ...] = (1.0, 2.0, 8.0)
    noise_updates: int = 200
    clip_norms: tuple[float, ...] = (2.0, 5.0, 8.0)
    sampling_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 1.0)
    variants: tuple[Variant, ...] = VARIANTS
    percentiles: tuple[int, ...] = (20, 40, 60, 80)
    private_percentiles: tuple[int, ...] = (20, 80)
    unstable_percentiles: tuple[int, ...] = (20, 40, 60)
    unstable_private_percentiles: tuple[int, ...] = (20, 60)
    points: int = 25


QUICK = Settings(
    most_updates=3,
    first_updates=3,
    shown_updates=(1, 3),
    noise_multipliers=(1.0, 8.0),
    noise_updates=3,
    variants=(NEAREST, AS_TOLD),
    clip_norms=(5.0,),
    sampling_rates=(0.1, 1.0),
    percentiles=(40,),
    private_percentiles=(40,),
    unstable_percentiles=(40,),
    unstable_private_percentiles=(40,),
    points=3,
)

FIRST_KEY = "4.1/σ=1"
FIRST = Case(
    noise_scale=3.0,
    clients=5,
    records=200,
    clip=FIXED,
    sampling_rate=0.1,
    learning_rate=0.1,
    steps=50,
    updates=500,
)
"""Figure 4.1."""


def cases(settings: Settings) -> dict[str, Case]:
    """All settings, by the key of their job: "FIGURE/…"."""
    found = {
        f"4.1/σ={sigma:g}": dataclasses.replace(
            FIRST,
            noise_multiplier=sigma,
            # Noise moves q by α·σ·C/L in a step: with the same α the run diverges from σ = 2 on.
            learning_rate=FIRST.learning_rate / sigma,
            updates=settings.first_updates if sigma == 1.0 else settings.noise_updates,
        )
        for sigma in settings.noise_multipliers
    }
    for variant in settings.variants:
        found[f"{FIRST_KEY}/{variant}"] = dataclasses.replace(
            FIRST, updates=settings.first_updates, variant=variant
        )
    for norm in settings.clip_norms:
        for rate in settings.sampling_rates:
            found[f"4.2/C={norm:g}/q={rate:g}"] = _until_stop(
                settings, FixedNorm(norm), rate, 0.03, steps=1 if rate == 1.0 else 50
            )
    for rate, learning_rate, steps in ((1.0, 0.03, 1), (0.1, 0.03, 50), (0.03, 0.01, 100)):
        for clip in rules(settings.percentiles, settings.private_percentiles):
            found[f"4.3/q={rate:g}/{clip}"] = _until_stop(
                settings, clip, rate, learning_rate, steps=steps
            )
    for figure, theta, noise_scale in (("4.4", (-1.0, 2.0), 1.0), ("4.5", (5.0, -2.0), 3.0)):
        for clip in rules(settings.unstable_percentiles, settings.unstable_private_percentiles):
            case = _until_stop(settings, clip, 0.03, 0.03, steps=100)
            found[f"{figure}/{clip}"] = dataclasses.replace(
                case, theta=theta, noise_scale=noise_scale
            )
    return found


def rules(percentiles: Sequence[int], private: Sequence[int]) -> list[ClipRule]:
    """The fixed norm, the Thesis's rule and the sound one."""
    return [
        FIXED,
        *(BatchPercentile(p) for p in percentiles),
        *(PrivateQuantile(p, FIXED.norm) for p in private),
    ]


def _until_stop(
    settings: Settings, clip: ClipRule, rate: float, learning_rate: float, *, steps: int
) -> Case:
    case = Case(
        clip=clip,
        sampling_rate=rate,
        learning_rate=learning_rate,
        steps=steps,
        updates=settings.most_updates,
    )
    # The clip rule does not enter the Thesis's accounting: every rule has the same length.
    updates = updates_within(
        dataclasses.replace(case, clip=FIXED), settings.stop, settings.delta, case.updates
    )
    return dataclasses.replace(case, updates=updates)
