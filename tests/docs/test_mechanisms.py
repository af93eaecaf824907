"""The table of every mechanism × scope is in the docs, and is what the script makes."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "make_mechanisms.py"


def load():
    spec = importlib.util.spec_from_file_location("make_mechanisms", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers_apart(text):
    """The text without its decimals, and the decimals."""
    pattern = r"\d+\.\d+"
    return re.sub(pattern, "#", text), [float(found) for found in re.findall(pattern, text)]


def test_the_committed_page_is_what_the_script_makes():
    """Word for word; decimals within one unit of the last digit shown, for another machine."""
    made, numbers = numbers_apart(load().page())
    committed, known = numbers_apart(load().PAGE.read_text(encoding="utf-8"))
    assert made == committed
    assert all(
        abs(a - b) <= 1.01e-4 * max(1.0, abs(b)) for a, b in zip(numbers, known, strict=True)
    )


def test_every_scope_of_every_mechanism_has_an_answer_or_a_reason():
    text = load().PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith(("| record", "| client"))]
    assert len(rows) == 6 * text.count("## ") - 6  # the last heading is that of the reasons
    for row in rows:
        for answer in row.split("|")[3:6]:
            assert re.search(r"ε = |ε in \[|refused \[\d\]", answer), row
