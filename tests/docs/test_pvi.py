"""The guide's code runs, and its model's gradient is right."""

import re
from pathlib import Path

import numpy as np

import pvi

GUIDE = Path(__file__).parents[2] / "docs" / "pvi_add_a_model.md"


def test_the_guide_to_adding_a_model_works(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    assert len(blocks[0].splitlines()) <= 40
    names = {"__name__": "guide"}
    for block in blocks:
        exec(block, names)
    assert "round 20/20" in capsys.readouterr().err
    q = names["report"].posterior
    # three posterior standard deviations around the truth that made this fixed data set
    assert (np.abs(q.mean - [0.5, -1.0]) < 3 * np.sqrt(q.variance)).all()
    model = names["PoissonRegression"](2)
    assert isinstance(model, pvi.Model)

    shard = names["clients"][0].strategy.shard
    point, step = np.concatenate([q.mean, np.log(q.variance)]), 1e-5

    def value(v):
        at = pvi.MeanFieldGaussian.from_mean_variance(v[:2], np.exp(v[2:]))
        return model.expected_log_likelihood(at, shard, None)

    for index, direction in enumerate(np.eye(4) * step):
        numeric = (value(point + direction) - value(point - direction)) / (2 * step)
        np.testing.assert_allclose(
            model.gradients(q, shard, None)[:, index], numeric, rtol=1e-6, atol=1e-8
        )
