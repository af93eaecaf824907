"""The jobs of docs/how-to/jobs.md: each command there is run, and answers what it should."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from audits.cli.main import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to" / "jobs.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
MECHANISMS = """
import time

PAIR = ([1.0] * 5, [1.0] * 4)


def number(data, rng):
    return sum(data) + rng.laplace(scale=1.0)


def vector(data, rng):
    return [sum(data) + rng.normal(scale=0.5), rng.normal()]  # half of the noise


def dictionary(data, rng):
    return {"count": len(data) + rng.laplace(scale=1.0), "words": "a" * rng.integers(3)}


def slow(data, rng):
    time.sleep(0.002)
    return sum(data) + rng.laplace(scale=1.0)
"""
# What each command must say, in the page's order. 13.4349 and 13.4700 are the ends that the control
# problem proves for these fixed-size batches; 95.26 % is (e³ + δ)/(1 + e³).
ANSWERS = [
    (0, r"shuffled sampling"),
    (0, r"fixed-size sampling at rate 0.01"),
    (0, r"target 3"),
    (0, r"ε ≤ 1\.1354 "),
    (0, r"left: [\d,]+ steps, [\d.,]+ epochs"),
    (0, r"VERIFIED"),
    (0, r"ε in \[1\.\d+, 1\.\d+\] at δ = 1e-05"),
    (0, r"at most 95\.26 %"),
    (0, r"NOT REFUTED|not refuted"),
    (1, r"REFUTED"),
    (0, r"NOT REFUTED|not refuted"),
    (0, r"NOT REFUTED|not refuted|INCONCLUSIVE"),
    (0, r"linear regression at five sites"),
]


def test_every_command_has_an_answer_here():
    assert len(COMMANDS) == len(ANSWERS)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ANSWERS)), ids=lambda n: COMMANDS[n][:50])
def test_a_job_is_done_by_its_command(capsys, monkeypatch, tmp_path, number):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opacus.json").write_text(json.dumps([[1.1, 1 / 235, 2350], [1.3, 1 / 235, 1175]]))
    (tmp_path / "my_file.py").write_text(MECHANISMS)
    for name in ("experiment.toml", "records.csv"):
        shutil.copy(DOCS / name, tmp_path)
    words = shlex.split(COMMANDS[number])
    assert words[0] == "dp-assay"
    code, answer = ANSWERS[number]
    assert main(words[1:]) == code
    shown = capsys.readouterr().out
    assert re.search(answer, shown)
    if "fixed_size" in words:
        (lower, upper) = re.search(r"([\d.]+) ≤ ε ≤ ([\d.]+)", shown).groups()
        assert 13.3 < float(lower) <= 13.4700
        assert float(upper) >= 13.4349
    for option in ("--plot", "--table", "--page", "--output"):
        if option in words:
            assert (tmp_path / words[words.index(option) + 1]).stat().st_size > 200
