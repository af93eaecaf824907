"""The site: built without warnings, a page for everything public, nothing loaded from afar."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import accountants
import audits
import mechanisms
import pvi
from audits.specimens import LINTS, SPECIMENS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; `strict: true` in mkdocs.yml makes each warning an error."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class Loaded(HTMLParser):
    """What a page loads by itself, links apart."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "link" and found.get("rel") in ("canonical", "next", "prev"):
            return
        named = {"link": "href", "a": ""}.get(tag, "src")
        self.addresses += [found[named]] if found.get(named) else []


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        parser = Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.addresses
        assert [one for one in parser.addresses if re.match(r"(https?:)?//", one)] == []


@pytest.mark.parametrize("package", [accountants, mechanisms, pvi, audits])
def test_every_public_name_is_on_the_page_of_its_package(site, package):
    page = (site / "api" / f"{package.__name__}.html").read_text(encoding="utf-8")
    missing = [
        name
        for name in package.__all__
        if f'id="{package.__name__}.{name}"' not in page and f"<code>{name}</code>" not in page
    ]
    assert missing == []
    # A doctest is a block of code, not a quotation of a quotation.
    assert "<blockquote>" not in page


def test_every_flaw_has_a_page_with_a_picture(site):
    gallery = site / "gallery"
    pages = [page for page in gallery.glob("*.html") if page.name != "index.html"]
    assert len(pages) == len(SPECIMENS) + len(LINTS)
    for page in pages:
        assert f'src="{page.stem}.svg"' in page.read_text(encoding="utf-8")
        assert (gallery / f"{page.stem}.svg").stat().st_size > 5_000
