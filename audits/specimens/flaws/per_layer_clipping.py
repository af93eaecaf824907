"""Each layer is clipped to C, and the noise is that of one layer.

Why it breaks the claim: a record that is large in all L layers contributes a vector of norm √L·C,
and noise σC in each coordinate gives it the multiplier σ/√L.

Why the twin keeps it: the noise is σ·√L·C, in proportion to the norm of the whole row
(`mechanisms.LayerClip.norm`, which is √(Σ C_l²)).
"""

from dataclasses import dataclass

import numpy as np

from accountants.arrays import FloatArray
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import GAUSSIAN_TWIN, gaussian_claim, normals, present_or_absent, shifted
from audits.testing.statistics import Summary
from mechanisms import LayerClip

LAYERS = 4
CLIP = LayerClip(sizes=(1,) * LAYERS, clip_norms=(1.0,) * LAYERS)


@dataclass(frozen=True, slots=True)
class LayeredSum:
    """The sum of rows whose layers are clipped to 1 each."""

    noise_std: float

    def __call__(self, data: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """The draws."""
        total = CLIP(data).rows.sum(axis=0)
        return np.asarray(total + normals(rng, n, LAYERS, self.noise_std))


SPECIMENS = (
    Specimen(
        name="per-layer clipping, noise of one layer",
        flaw="Each of four layers is clipped to C, and the noise is σC although a record's whole "
        "gradient has norm 2C.",
        reference="McMahan, Ramage, Talwar and Zhang 2018, on per-layer clipping. " + GAUSSIAN_TWIN,
        explanation=__doc__ or "",
        claim=gaussian_claim(1.0),
        flawed=LayeredSum(noise_std=1.0),
        repaired=LayeredSum(noise_std=CLIP.norm),
        pair=present_or_absent([1e3] * LAYERS, name="one record large in all layers, or none"),
        statistic=Summary("sum"),
        expected=CAUGHT,
        proof=shifted(LAYERS**0.5),
    ),
)
