"""Opacus's ghost clipping does not clip where the loss of a record is an array of length one.

The clipping factors c have shape (B,). For a model with one output and MSELoss, L1Loss or
BCEWithLogitsLoss the losses have shape (B, 1), so c · loss broadcasts to (B, B), and its sum is
(Σ_j c_j) (Σ_i loss_i): each record enters with the same factor Σ_j c_j, unclipped. A gradient of
norm r ≫ C moves the sum by r Σ_j c_j, up to (B − 1) r where the others are small, and the noise is
made for C. The hooks' way clips the same model rightly, and so does this one for losses of shape
(B,).
"""

from typing import Any

NOISE, CLIP, BATCH = 2.0, 1.0, 4

ABOUT = {
    "library": "opacus",
    "requirements": ["opacus==1.6.0", "torch==2.13.0"],
    "promise": "A step of DP-SGD, each record's gradient clipped to max_grad_norm, with the given "
    "noise multiplier (PrivacyEngine.make_private with grad_sample_mode='ghost')",
    # The number of records is fixed: another of Opacus's troubles.
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 2,
        "bounds": (-2.0, 2.0),
        "min_records": BATCH,
        "max_records": BATCH,
    },
    "repair": "loss_per_sample = loss_per_sample.reshape(len(coeff), -1).mean(1) before coeff * it",
}


def prepare() -> None:
    import opacus  # noqa: F401


def flawed(data: Any) -> Any:
    """Losses as a model with one output gives them."""
    return _step(data, lambda output: output)


def repaired(data: Any) -> Any:
    """The last dimension dropped before the loss."""
    return _step(data, lambda output: output.squeeze(1))


def _step(data: Any, shaped: Any) -> Any:
    import torch
    from drivers import linear
    from opacus import PrivacyEngine

    plain = linear.model(2)
    model, optimizer, criterion, batches = PrivacyEngine().make_private(
        module=plain,
        optimizer=torch.optim.SGD(plain.parameters(), lr=1.0),
        criterion=torch.nn.L1Loss(reduction="mean"),
        data_loader=linear.loader(data, BATCH),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
        grad_sample_mode="ghost",
    )
    for records, _ in batches:
        optimizer.zero_grad()
        # |w · x + 1| at w = 0: the gradient is x.
        output = shaped(model(records))
        criterion(output, torch.full_like(output, -1.0)).backward()
        optimizer.step()
    return next(iter(model.parameters())).detach().ravel()
