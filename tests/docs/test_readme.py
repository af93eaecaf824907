"""README.md: every block runs, and the generated parts are what their script makes."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from audits.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
CONSOLE = [
    line.split("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
]
OURS = [line for line in CONSOLE if line.startswith("dp-assay ")]


def make_readme():
    spec = importlib.util.spec_from_file_location("make_readme", ROOT / "docs" / "make_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_python_block_runs(capsys):
    namespace: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), namespace)
    out = capsys.readouterr().out
    assert "Bounds(lower=6.18771" in out
    assert "Rényi accountant: epsilon in Bounds(lower=0.0, upper=2.10" in out
    assert re.search(r"Fourier accountant: .*\(lower=1\.82823\d+, upper=1\.82823\d+\)", out)
    assert re.search(r"^REFUTED: odds of \d+ to 1 against the claim after \d+ draws", out, re.M)


@pytest.mark.parametrize("line", OURS)
def test_every_command_runs(line, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    refuted = int("mechanism.py" in line)  # the one example that has a flaw
    assert main(shlex.split(line)[1:]) == refuted
    assert capsys.readouterr().out.strip()


def test_the_output_that_is_shown_is_what_comes_out(capsys, monkeypatch):
    """Every line, in order; dots stand for what is left out."""
    monkeypatch.chdir(ROOT)
    shown = re.findall(r"```console\n([^\n]*)\n```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert len(shown) == 2
    for command, text in shown:
        main(shlex.split(command)[1:])
        said = iter(capsys.readouterr().out.splitlines())
        for line in text.splitlines():
            assert line == "…" or line in said, line


def test_the_commands_are_ours_or_those_of_the_makefile():
    assert len(OURS) >= 4
    assert [line for line in CONSOLE if line not in OURS] == ["make run", "make test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nrun:" in makefile
    assert "\ntest:" in makefile


def test_the_examples_are_short():
    """An accountant in ten lines, an audit in ten lines (blank ones and comments apart)."""
    accountant = next(block for block in BLOCKS if "RenyiAccountant()" in block)
    audit = next(block for block in BLOCKS if "from audits import" in block)
    for block in (accountant, audit):
        assert len([line for line in block.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("file", make_readme().PARTS)
def test_the_generated_parts_are_what_the_script_makes(file):
    assert make_readme().page(file) == (ROOT / file).read_text(encoding="utf-8")


def test_the_picture_is_what_the_script_makes():
    """The same places; its digits may differ in the last one drawn."""
    module = make_readme()
    made, kept = module.picture(), module.PICTURE.read_text(encoding="utf-8")
    number = re.compile(r"\d+\.\d+")
    assert number.sub("#", made) == number.sub("#", kept)
    assert list(map(float, number.findall(made))) == pytest.approx(
        list(map(float, number.findall(kept))), abs=0.15
    )


def test_anchors_exist():
    for file, anchor in re.findall(r"\]\((?!http)([^)#]+)#([^)]+)\)", README):
        heads = re.findall(r"^#+ (.*)$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
        assert anchor in slugs, (file, anchor)
