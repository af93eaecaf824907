"""The page of peers is in the docs, and is what the script makes of the record."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load():
    spec = importlib.util.spec_from_file_location("make_peers", ROOT / "docs" / "make_peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_page_is_what_the_script_makes():
    module = load()
    assert module.page() == module.PAGE.read_text(encoding="utf-8")


def test_each_peer_has_a_bar_as_long_as_the_others():
    text = load().PAGE.read_text(encoding="utf-8")
    svg = text[text.index("<svg") : text.index("</svg>")]
    widths = re.findall(
        r'<rect class="part [a-z-]+" x="([0-9.]+)" y="(\d+)" width="([0-9.]+)"', svg
    )
    ends = {}
    for x, y, width in widths:
        ends[y] = float(x) + float(width)
    assert len(ends) == text.count("\n| ") - 1
    assert max(ends.values()) - min(ends.values()) < 1.0


def test_what_is_not_public_stays_off_the_front_page():
    text = load().PAGE.read_text(encoding="utf-8")
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    private = re.findall(r"### [^\n]+: ([^\n]+)\n\n[^\n]+to be reported upstream first", text)
    assert private
    for name in private:
        assert name not in front
