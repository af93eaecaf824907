"""Every golden says what it is, and who computed it when, by which version and which command."""

import datetime
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ABOUT = {"what", "library", "version", "command", "date"}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_a_golden_says_where_it_comes_from(file):
    golden = json.loads(file.read_text(encoding="utf-8"))
    assert golden.keys() >= ABOUT
    assert all(golden[key] for key in ABOUT)
    assert datetime.date.fromisoformat(golden["date"]).year >= 2026
    assert golden["command"] == f"python tests/golden/make_{file.stem}.py"
    assert (FOLDER / f"make_{file.stem}.py").is_file()
    points = [row for rows in golden.values() if isinstance(rows, list) for row in rows]
    assert len(points) >= 10
    # Inputs and values side by side.
    assert all({"epsilon", "steps"} <= row.keys() or "rounds" in row for row in points)
