"""pyvacy's optimisers clip the gradient of the batch, not of a record, and divide the noise by √B.

DP-SGD clips each record's gradient to C, so that one record moves the mean of B by C / B, or 2 C /
B if it is exchanged, for which noise of σ C / B is enough. `DPSGD.step` clips the mean gradient to
C: exchanging one record can turn it from −C to C. The noise has standard deviation σ C / √B. So μ =
2 √B / σ where the accountant, which is fed σ, counts on 2 / σ: with B = 16, a quarter of the noise
multiplier that is reported.
"""

from typing import Any

NOISE, CLIP, BATCH = 4.0, 0.01, 16

ABOUT = {
    "library": "pyvacy",
    "requirements": ["pyvacy==0.0.32", "torch==2.13.0", "scipy==1.17.1", "six==1.17.0"],
    "promise": "DP-SGD at the given noise multiplier, for which moments_accountant gives ε "
    "(README, docstrings of DPSGD)",
    "claim": {"mu": 2 / NOISE, "relation": "REPLACE_ONE"},
    "domain": {
        "dimension": 1,
        "bounds": (-1.0, 1.0),
        "min_records": BATCH,
        "max_records": BATCH,
    },
    "repair": "clip each record's gradient before the mean, and add noise of σ C / B to it",
}


def prepare() -> None:
    import torch  # noqa: F401


def _model() -> Any:
    """Its loss is w · x: the gradient is the mean of the records, balanced but for the last."""
    from drivers import linear

    return linear.model(1)


def _signed(data: Any) -> Any:
    # Half of the others on each side, as in any trained model: their mean gradient is near zero.
    import torch

    records = torch.tensor(data, dtype=torch.float32)
    records[: BATCH // 2 - 1] *= -1
    return records


def flawed(data: Any) -> Any:
    from pyvacy.optim import DPSGD

    model = _model()
    optimizer = DPSGD(CLIP, NOISE, BATCH, model.parameters(), lr=1.0)
    model(_signed(data)).mean().backward()
    optimizer.step()
    return model.weight.detach().ravel()


def repaired(data: Any) -> Any:
    """Records one by one, each a batch; their steps are added."""
    from pyvacy.optim import DPSGD

    model = _model()
    noise = NOISE / BATCH**0.5  # of B steps with noise of σ C / √B each, the sum has σ C
    for record in _signed(data):
        optimizer = DPSGD(CLIP, noise, 1, model.parameters(), lr=1.0)
        optimizer.zero_grad()
        model(record[None]).mean().backward()
        optimizer.step()
    return model.weight.detach().ravel()
