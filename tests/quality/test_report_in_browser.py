"""The whole report, in a real browser: made once, looked at on wide and narrow screens."""

import re
import subprocess
import sys
from pathlib import Path

import browser
import pytest

from audits.papers import CLAIMS
from audits.specimens import LINTS, SPECIMENS

pytestmark = pytest.mark.slow
SCREENS = [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """As `make run` makes it."""
    folder = tmp_path_factory.mktemp("report")
    done = subprocess.run(
        [sys.executable, "-m", "audits", "report", "--output", "report.html", "--workers", "2"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "NOT EXPECTED" not in done.stdout
    return folder / "report.html"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A browser, or a clear message that there is none."""
    missing = browser.missing()
    if missing:
        pytest.skip(f"no browser: install {missing} (Debian: chromium, chromium-driver)")
    with browser.open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(report) -> list[Path]:
    return [report, *(report.with_stem(f"report-{name}") for name in ("ledger", "studies"))]


def test_every_specimen_and_claim_is_there(report, pages):
    text = report.read_text(encoding="utf-8")
    for name in (*SPECIMENS, *LINTS):
        assert f"<strong>{name}</strong>" in text
    text = pages[1].read_text(encoding="utf-8")
    for name in CLAIMS:
        assert f'id="claim-{name}"' in text


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_it_reads_well(chromium, report, width, scheme):
    chromium.visit(report.as_uri(), width=width, scheme=scheme)
    assert chromium.console() == []
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0
    tables = chromium.run(
        "return [...document.querySelectorAll('main table')].filter("
        "t => !t.closest('details') && t.getBoundingClientRect().height > 40).length"
    )
    assert tables >= 6  # cross-check, peers, points, specimens, lints, versions
    pictures = chromium.run(
        "return [...document.querySelectorAll('svg, img')].map(p => {"
        "const b = p.getBoundingClientRect();"
        "return b.width > 50 && b.height > 20 && (p.naturalWidth ?? 1) > 0})"
    )
    assert len(pictures) >= 3 + len(SPECIMENS)
    assert all(pictures)
    assert chromium.run("return document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("width", "scheme"), [SCREENS[0], SCREENS[-1]])
def test_the_other_pages_read_well(chromium, pages, width, scheme):
    for page in pages[1:]:
        chromium.visit(page.as_uri(), width=width, scheme=scheme)
        assert chromium.console() == []
        assert chromium.run("return document.documentElement.scrollWidth") == width


def test_the_ledger_shows_what_is_chosen_and_its_contents_stay(chromium, pages):
    chromium.visit(pages[1].as_uri(), width=1200)
    shown = (
        "return [...new Set([...document.querySelectorAll('tr[data-verdict]')].filter("
        "row => row.offsetHeight > 0).map(row => row.dataset.verdict))]"
    )
    assert len(chromium.run(shown)) > 1
    chromium.run("document.getElementById('only-REFUTED').click()")
    assert chromium.run(shown) == ["REFUTED"]
    chromium.run("document.getElementById('only-all').click(); window.scrollTo(0, 5000)")
    top = "return document.querySelector('nav').getBoundingClientRect().top"
    assert abs(chromium.run(top)) < 1


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_open_details_fit_too(chromium, report, width, scheme):
    chromium.visit(report.as_uri(), width=width, scheme=scheme)
    chromium.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert chromium.run("return document.documentElement.scrollWidth") == width
    wide = chromium.run(
        "return [...document.querySelectorAll('.scroll')].filter("
        "box => box.scrollWidth > box.clientWidth + 1).map(box => box.ariaLabel)"
    )
    assert wide == [] or width < 1200  # a wide screen shows every column


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_has_contrast(chromium, report, scheme):
    """WCAG AA: 4.5 between the text's colour and the page's, for all colours that text has."""
    chromium.visit(report.as_uri(), width=1200, scheme=scheme)
    colours = chromium.run(
        "const seen = new Set();"
        "document.querySelectorAll('body *').forEach(e => seen.add(getComputedStyle(e).color));"
        "return [getComputedStyle(document.body).backgroundColor, ...seen]"
    )
    paper, *inks = [_luminance(colour) for colour in colours]
    assert (paper > 0.5) is (scheme == "light")
    for ink in inks:
        light, dark = max(paper, ink), min(paper, ink)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_it_prints(chromium, report):
    chromium.visit(report.as_uri(), width=1200)
    printed = chromium.printed()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 6


def _luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)`, as WCAG defines it."""
    channels = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
