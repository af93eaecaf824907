"""NVFlare's sparse vector filter adds noise to weights that it has not clipped, then clips the sum.

The noise Lap(2 γ/ε₃) is made for values in ±γ, but it is added to the raw difference Δw, and
clip(Δw + noise, ±γ) is sent. With |Δw| ≫ γ the result is the sign of Δw, γ or −γ, whatever the
noise: two updates with opposite signs are told apart at every ε. Clipping first, as 2.9 does,
bounds the sensitivity by 2 γ.
"""

from typing import Any

ABOUT = {
    "library": "nvflare",
    "requirements": ["nvflare==2.4.2"],
    "repaired_requirements": ["nvflare==2.9.0"],
    "promise": "The sparse vector technique's differential privacy at ε = .1 for the selection and "
    ".1 for the noise (docstring of SVTPrivacy, user guide on filters). Three times as much for "
    "either phase is allowed here: with one weight ε₂ = ε₁ 2^(2/3)",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    # A weight's change in a round, before the clip to ±1e-5. Whole numbers: on NaN it never ends.
    "domain": {
        "dimension": 1,
        "bounds": (-1, 1),
        "dtype": int,
        "min_records": 1,
        "max_records": 1,
    },
    "repair": "np.clip(delta_w[accepted], -gamma, gamma) + noise",
    "upstream": "https://github.com/NVIDIA/NVFlare/issues/462",
}


def prepare() -> None:
    import nvflare.app_common.filters.svt_privacy  # noqa: F401


def flawed(data: Any) -> Any:
    from nvflare.apis.dxo import DXO, DataKind, from_shareable
    from nvflare.apis.fl_context import FLContext
    from nvflare.app_common.filters.svt_privacy import SVTPrivacy

    update = DXO(DataKind.WEIGHT_DIFF, data={"weights": data[0].astype(float)}).to_shareable()
    sent = SVTPrivacy(fraction=1.0).process(update, FLContext())
    return from_shareable(sent).data["weights"]


repaired = flawed
