"""Opacus divides gradient and noise by a batch size that it takes from the number of records.

`make_private` sets the sampling rate to 1 / len(loader), which is ⌈n / B⌉, and divides the noisy
sum by int(n / len(loader)). The accountant's relation is one record more or less: then n differs,
and with it the divisor. With B = 8, n = 8 gives noise of σ C / 8 and n = 9 of σ C / 4, in every
weight: two normal laws of different variance in d dimensions, which tell n after one step.
(Reported of Opacus 0.9 to 1.5.4 in arXiv 2605.15648, and by arXiv 2602.17454.) A fixed rate and a
fixed divisor, chosen without looking at n, leave μ = 1 / σ.
"""

from typing import Any

NOISE, CLIP, BATCH, DIMENSION = 2.0, 1.0, 8, 16

ABOUT = {
    "library": "opacus",
    "requirements": ["opacus==1.6.0", "torch==2.13.0"],
    "promise": "A step of DP-SGD with the given noise multiplier, for one record more or less "
    "(PrivacyEngine.make_private; sampling can only help)",
    "claim": {"mu": 1 / NOISE, "relation": "ADD_OR_REMOVE_ONE"},
    "domain": {
        "dimension": DIMENSION,
        "bounds": (-1.0, 1.0),
        "min_records": BATCH,
        "max_records": BATCH + 1,
    },
    "repair": "take the sampling rate and the expected batch size as arguments, not from the data",
    "upstream": "https://arxiv.org/abs/2605.15648",
}


def prepare() -> None:
    import opacus  # noqa: F401


def flawed(data: Any) -> Any:
    import torch
    from drivers import linear
    from opacus import PrivacyEngine

    plain = linear.model(DIMENSION)
    model, optimizer, batches = PrivacyEngine().make_private(
        module=plain,
        optimizer=torch.optim.SGD(plain.parameters(), lr=1.0),
        data_loader=linear.loader(data, BATCH),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
    )
    return linear.step(model, optimizer, batches)


def repaired(data: Any) -> Any:
    import torch
    from drivers import linear
    from opacus import GradSampleModule
    from opacus.data_loader import DPDataLoader
    from opacus.optimizers import DPOptimizer

    model = GradSampleModule(linear.model(DIMENSION))
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=1.0),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    records = linear.loader(data, BATCH).dataset
    return linear.step(model, optimizer, DPDataLoader(records, sample_rate=0.9))
