"""The report on a part of the zoo and the ledger: what is on the page, and that it is HTML."""

import dataclasses
import html.parser
import json
import math
import re
from importlib import resources
from typing import get_args

import pytest

from audits.cli.main import main
from audits.papers.ledger import Paper
from audits.papers.studies import STUDIES, recorded
from audits.peers.reasons import REASONS
from audits.report import gather, render
from audits.report.charts import Axis, Series, line_chart
from audits.report.markup import Markup, badge, join, prose, table, tag
from audits.report.rows import Contrast, Interval, contrasts, interval_bars
from audits.wording import PAPERS, down, up

VOID = {"meta", "img", "br", "col", "input"}


class Page(html.parser.HTMLParser):
    """Checks that every element is closed in order, and collects what is asked of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.missing_alt = 0
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.loaded += [given["src"]] if "src" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.missing_alt += tag == "img" and not given.get("alt")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


@pytest.fixture(scope="module")
def contents():
    return gather(
        command="dp-assay report --seed 0",
        specimens=["fixed seed", "percentile clipping"],
        claims=["tum-theorem-1", "thesis-fig-3-3"],
        settings=[3, 5],
    )


@pytest.fixture(scope="module")
def pages(contents):
    return {name: Page(text) for name, text in render(contents).items()}


@pytest.fixture(scope="module")
def page(pages):
    return pages["report.html"]


@pytest.fixture(scope="module")
def ledger(pages):
    return pages["report-ledger.html"]


def of_studies(contents) -> str:
    return render(contents)["report-studies.html"]


def test_they_load_nothing_and_link_only_among_themselves(pages):
    for name, page in pages.items():
        assert not any(tag in page.tags for tag in ("script", "link", "iframe", "object"))
        assert all(source.startswith("data:image/png;base64,") for source in page.loaded)
        within = {link[1:] for link in page.links if link.startswith("#")}
        assert within <= set(page.ids)
        assert {link for link in page.links if not link.startswith("#")} == set(pages) - {name}
        assert len(page.ids) == len(set(page.ids))
        assert "url(" not in page.text


def test_every_table_has_a_caption_and_every_picture_words(pages, page):
    assert page.tags.count("table") >= 5
    # Readings, curves, peers, one picture of the zoo and one of each specimen.
    assert page.tags.count("svg") == 1 + 3 + 1 + 1 + 2
    for one in pages.values():
        assert one.tags.count("table") == one.tags.count("caption")
        assert one.missing_alt == 0


def test_every_part_is_on_a_page(page, ledger, contents):
    for one in (*contents.specimens, *contents.lints):
        assert one["name"] in page.text
        assert " ".join(one["reference"].split())[:30].split("`")[0] in page.text
    for one in contents.claims:
        assert one["statement"] in ledger.text
        assert f"claim-{one['id']}" in ledger.ids
    for version in contents.versions.values():
        assert version in page.text
    assert contents.command in page.text
    assert contents.unexpected == []
    assert "Every outcome is the one expected." in page.text


def test_the_title_picture_says_what_the_readings_are(page, contents):
    """Each interval, outwards to three digits; the ends of all of them in the title."""
    assert len(contents.readings) == 5
    for one in contents.readings:
        assert one["name"] in page.text
        assert up(one["upper"], 3) in page.text
    least = down(min(one["lower"] for one in contents.readings), 3)
    most = up(max(one["upper"] for one in contents.readings), 3)
    assert f"cost ε = {least} to {most}" in page.text


def test_a_bar_has_the_place_and_length_of_its_interval():
    """Against the scale of the axis' own ticks."""
    rows = [Interval("a", 1.0, 5.0), Interval("b", 8.0, 8.0)]
    chart = interval_bars("t", "c", "x", rows)
    ticks = {
        float(words): float(at)
        for at, words in re.findall(
            r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">(\d+)<', chart
        )
    }
    unit = (ticks[10.0] - ticks[0.0]) / 10.0
    bars = [
        (float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)".*?width="([\d.]+)"', chart)
    ]
    assert bars[0] == pytest.approx((ticks[0.0] + unit, 4.0 * unit), abs=0.2)
    assert bars[1][0] == pytest.approx(ticks[0.0] + 8.0 * unit, abs=0.2)
    assert ">1 to 5<" in chart
    assert ">8<" in chart


def test_claims_beside_what_is_proved_of_them():
    """The largest ratio first; what has no bound is an arrow and says so."""
    rows = [
        Contrast("small", 2.0, 3.0, False),
        Contrast("boundless", 1.0, math.inf, True),
        Contrast("large", 1.0, 9.0, True),
    ]
    chart = contrasts("c", "x", rows)
    assert re.findall("<title>(.*?)</title>", chart)[1:] == [
        "boundless: claimed 1, proved ∞",
        "large: claimed 1, proved at least 9",
        "small: claimed 2, shown by draws at least 3",
    ]
    assert chart.count("<path") == 1
    assert "inf" not in chart


def test_the_ledger_can_show_one_verdict(ledger, contents):
    verdicts = {one["verdict"] for one in contents.claims}
    assert {f"only-{verdict}" for verdict in verdicts} | {"only-all"} <= set(ledger.ids)
    rows = re.findall('<tr[^>]*data-verdict="([A-Z_]+)"', render(contents)["report-ledger.html"])
    assert sorted(rows) == sorted(2 * [one["verdict"] for one in contents.claims])
    style = resources.files("audits.report").joinpath("style.css").read_text(encoding="utf-8")
    for verdict in verdicts:
        assert f'#only-{verdict}:checked) tr[data-verdict]:not([data-verdict="{verdict}"])' in style


def test_what_nobody_has_reported_upstream_is_not_on_the_page(page):
    unreported = [reason.text for reason in REASONS if not reason.upstream]
    assert unreported
    assert not any(text in page.text for text in unreported)


def test_a_known_conflict_is_shown_as_one(page, contents):
    assert [one["as_expected"] for one in contents.crosschecks] == [True, True]
    assert "✕ too low" in page.text
    assert "Known: it counts C" in page.text


def test_silence_is_not_called_a_proof(page):
    lowered = page.text.lower()
    assert "not refuted" in lowered
    assert not any(word in lowered for word in ("passed", " safe "))


def test_a_study_without_a_record_is_said_to_have_none(contents):
    empty = dataclasses.replace(contents, studies=dict.fromkeys(STUDIES))
    assert Page(of_studies(empty)).text.count("Not recorded.") == len(STUDIES)


def test_a_record_is_shown_with_how_it_was_made(contents):
    record = {
        "summary": "A study <of> nothing.",
        "tables": [{"title": "T", "columns": ["a", "b"], "rows": [["<i>", "2"]], "note": "N&M"}],
        "figures": ["no_such_file.png"],
        "versions": {"numpy": "9.9"},
        "python": "3.x",
        "command": "dp-assay study nothing",
        "seeds": [0, 1],
        "settings": "Settings()",
    }
    shown = Page(of_studies(dataclasses.replace(contents, studies={"nothing": record}))).text
    for words in ("A study <of> nothing.", "<i>", "N&M", "numpy 9.9", "Settings()", "is not there"):
        assert words in shown


def test_a_studys_tables_open_on_a_click_and_figures_do_not(contents):
    name = "thesis-linreg"
    studies = {name: recorded(name)}
    section = of_studies(dataclasses.replace(contents, studies=studies))
    closed = "".join(re.findall(r"<details>.*?</details>", section, re.DOTALL))
    assert section.count("<table") == closed.count("<table") == len(studies[name]["tables"])
    assert "<img" not in closed
    assert "Fig. 4.4 and 4.5</figcaption>" in section


def test_the_papers_are_named_by_their_titles(ledger):
    assert "Distributed Variational Inference and Privacy" in ledger.text
    assert set(PAPERS) == set(get_args(Paper))


def test_the_certified_interval_comes_first(contents):
    text = render(contents)["report.html"]
    assert text.index(">dp-assay Fourier</th>") < text.index(">dp-assay moments</th>")


def test_what_was_not_expected_is_named(contents):
    odd = [one | {"as_expected": False} for one in contents.specimens]
    text = Page(render(dataclasses.replace(contents, specimens=odd))["report.html"]).text
    assert "2 outcomes were not expected" in text
    assert "specimen: fixed seed" in text


def test_everything_is_escaped(contents):
    evil = "<script>alert('x')</script>&amp;\"'"
    claims = [
        one | dict.fromkeys(("statement", "figure", "argument"), evil) for one in contents.claims
    ]
    specimens = [
        one | dict.fromkeys(("name", "flaw", "explanation", "reference", "pair"), evil)
        for one in contents.specimens
    ]
    texts = render(dataclasses.replace(contents, claims=claims, specimens=specimens)).values()
    pages = [Page(text) for text in texts]
    assert not any("script" in page.tags for page in pages)
    assert sum(page.text.count(evil) for page in pages) >= 2 * 3 + 2 * 5


def test_the_same_seed_gives_the_zoos_own_result(contents, capsys):
    assert main(["zoo", "fixed seed", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["specimens"]
    shown = contents.specimens[0]["flawed"]
    assert row["flawed"] == {key: shown[key] for key in row["flawed"]}


def test_markup():
    assert tag("a", "<", title='"') == '<a title="&quot;">&lt;</a>'
    assert join(["a&", Markup("<b>")]) == "a&amp;<b>"
    assert prose("x `y` <z>\n\n* one\n  two\n* three") == (
        "<p>x <code>y</code> &lt;z&gt;</p><ul><li>one two</li><li>three</li></ul>"
    )
    assert "not refuted" in badge("NOT_REFUTED")
    assert Page(table("c", ("a", "b"), [(1, "<")], numeric=(1,))).text == "cab1<"


def test_a_chart_leaves_out_what_it_cannot_draw():
    infinite = Series(name="x", x=[1.0, 10.0], lower=[0.0, 1.0], upper=[2.0, float("inf")])
    chart = line_chart("c", "x", "y", [infinite])
    assert "inf" not in chart.replace("infinite", "")
    assert Axis(1.0, 1000.0, 0.0, 100.0).at(10.0) == pytest.approx(33.3)
    assert Axis(1e-12, 1e-2, 0.0, 1.0).ticks()[0] == pytest.approx(1e-12)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--seed", "-1"], "--seed"),
        (["--workers", "0"], "--workers"),
        (["--output", "."], "--output"),
    ],
)
def test_bad_input_ends_with_code_2(capsys, more, named):
    assert main(["report", *more]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("odd", [False, True])
def test_the_command_writes_the_page_and_a_summary(contents, monkeypatch, tmp_path, capsys, odd):
    shown = contents
    if odd:
        lints = [one | {"as_expected": False} for one in contents.lints]
        shown = dataclasses.replace(contents, lints=lints)
    monkeypatch.setattr("audits.report.gather", lambda **_: shown)
    file = tmp_path / "new" / "report.html"
    assert main(["report", "--output", str(file)]) == (1 if odd else 0)
    printed = capsys.readouterr()
    out = printed.out
    assert Page(file.read_text(encoding="utf-8")).tags[0] == "html"
    assert "flawed mechanisms refuted" in out
    assert f"wrote {file}\n" in printed.err
    beside = {path.name for path in file.parent.iterdir()}
    assert beside == {"report.html", "report-ledger.html", "report-studies.html"}
    assert ("NOT EXPECTED: lint: " in out) is odd
    assert main(["report", "--output", str(file), "--json"]) == (1 if odd else 0)
    summary = json.loads(capsys.readouterr().out)
    assert summary.keys() == {"report", "pages", "seconds", "counts", "unexpected"}
    assert bool(summary["unexpected"]) is odd
