"""The guides: their code runs, and the specimens and files that they name exist."""

import re
from pathlib import Path

import pytest

from audits.specimens import LINTS, SPECIMENS

ROOT = Path(__file__).parents[2]
SHARP_EDGES = (ROOT / "docs" / "sharp_edges.md").read_text(encoding="utf-8")


def test_the_code_of_the_sharp_edges_runs(capsys):
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", SHARP_EDGES, re.DOTALL):
        exec(block, names)
    assert "fixed size: Bounds" in capsys.readouterr().out


def test_the_sharp_edges_name_real_specimens():
    named = [
        name
        for listed in re.findall(r"Specimens?: (.*?)\.\n", SHARP_EDGES, re.DOTALL)
        for name in re.findall(r'"(.*?)"', listed, re.DOTALL)
    ]
    assert len(named) >= 15
    assert {" ".join(name.split()) for name in named} <= set(SPECIMENS) | set(LINTS)


def test_percentile_clipping_costs_as_much_as_is_said():
    specimen = SPECIMENS["percentile clipping"]
    proved = specimen.epsilon_proved(1e-5)
    assert proved is not None
    assert proved > 10 * 4.377178095681296  # the exact curve of the Gaussian claimed, mpmath


@pytest.mark.parametrize(
    "guide", ["docs/architecture.md", "CONTRIBUTING.md", "docs/sharp_edges.md", "README.md"]
)
def test_files_that_the_guides_name_exist(guide):
    text = (ROOT / guide).read_text(encoding="utf-8")
    paths = re.findall(
        r"`((?:accountants|audits|mechanisms|pvi|tests|docs|benchmarks)/[\w/.]*)`", text
    )
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert [path for path in paths + links if not (ROOT / path).exists()] == []
