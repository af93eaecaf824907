"""A sample of `benchmarks/soak_commands.py` and of `soak_flips.py`, which go on for longer.

Codes, tracebacks, half-written files and processes left behind are judged there.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def soak(script, output, *more):
    command = [sys.executable, str(BENCHMARKS / script), "--output", str(output), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(output.read_text(encoding="utf-8"))


def test_fifteen_command_lines(tmp_path):
    families = ("options", "crashes", "hostile", "streams", "permissions")
    found = soak(
        "soak_commands.py",
        tmp_path / "found.json",
        *("--count", "15", "--workers", "1", "--forked", "--families", *families),
    )
    assert found["commands"] == 15
    assert {"2", "3"} <= found["by_exit_code"].keys()


@pytest.mark.slow
def test_sixty_command_lines_of_every_family(tmp_path):
    found = soak("soak_commands.py", tmp_path / "found.json", "--count", "60")
    assert found["commands"] == 60
    assert len(found["by_family"]) >= 9


def test_flips(tmp_path):
    found = soak("soak_flips.py", tmp_path / "found.json", "--count", "150")
    assert found["silent"] == 0
    assert found["outcomes"]["journal"]["done again"] >= 60
