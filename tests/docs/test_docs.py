"""The guides: their code runs, and the specimens and files that they name exist."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from audits.cli.main import _parser
from audits.specimens import LINTS, SPECIMENS

ROOT = Path(__file__).parents[2]
SHARP_EDGES = (ROOT / "docs" / "sharp_edges.md").read_text(encoding="utf-8")


def test_the_code_of_the_sharp_edges_runs(capsys):
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", SHARP_EDGES, re.DOTALL):
        exec(block, names)
    assert "fixed size: Bounds" in capsys.readouterr().out


PRINTING = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "docs").rglob("*.md")
    if {"```python\n", "```text\n"} <= set(page.read_text(encoding="utf-8").splitlines(True))
)


@pytest.mark.parametrize("guide", PRINTING)
def test_the_code_of_a_page_prints_what_the_page_says(guide, capsys):
    page = (ROOT / guide).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    said = "".join(re.findall(r"```text\n(.*?)```", page, re.DOTALL))
    assert said
    assert capsys.readouterr().out == said


def test_the_pages_that_print_are_found():
    assert {"docs/sampling.md", "docs/tutorial.md", "docs/questions.md"} <= set(PRINTING)


@pytest.mark.parametrize(
    "command",
    sorted(
        line
        for page in (ROOT / "docs").rglob("*.md")
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for line in block.splitlines()
        if line.startswith("dp-assay ")
    ),
)
def test_commands_of_the_pages_are_understood(command):
    """That they are read, not what they answer; `tests/cli` does that."""
    words = [word for word in shlex.split(command, comments=True)[1:] if "…" not in word]
    options = _parser().parse_args(words)
    assert callable(options.run)


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
    "guide",
    [
        "docs/architecture.md",
        "CONTRIBUTING.md",
        "docs/sharp_edges.md",
        "docs/sampling.md",
        "docs/pytest.md",
        "docs/workers.md",
        "docs/papers.md",
        "docs/zoo.md",
        "README.md",
    ],
)
def test_files_that_the_guides_name_exist(guide):
    text = (ROOT / guide).read_text(encoding="utf-8")
    paths = re.findall(
        r"`((?:accountants|audits|mechanisms|pvi|tests|docs|benchmarks)/[\w/.]*)`", text
    )
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    beside = (ROOT / guide).parent
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [path for path in links if not (beside / path).exists()] == []


def test_folders_and_files_that_the_page_on_tests_names_exist():
    folder = ROOT / "tests"
    text = (folder / "README.md").read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([a-z_]+/[\w/.]*|\w+\.py)`", text) if "…" not in name]
    assert len(named) >= 25
    assert [name for name in named if not (folder / name).exists()] == []


def test_the_table_of_what_to_touch_names_real_files():
    """Most rows name theirs; the notebooks' and the placeholders' are not checked."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| a")]
    assert len(rows) == 15
    assert all(re.search(r"`[\w/]+[./]\w*`", row) for row in rows)


def test_no_test_passes_by_return():
    """A premise that fails is assumed, parametrised away or skipped, never returned from."""
    found = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for test in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            if test.name.startswith("test_") and any(
                isinstance(node, ast.Return) for node in _own_nodes(test)
            ):
                found.append(f"{file.name}::{test.name}")
    assert found == []


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What a function consists of, but for functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
