"""The report on a part of the zoo and the ledger: what is on the page, and that it is HTML."""

import dataclasses
import html.parser
import json
import re
from typing import get_args

import pytest

from audits.cli.main import main
from audits.papers.ledger import Paper
from audits.papers.studies import STUDIES, recorded
from audits.report import gather, render
from audits.report.charts import Axis, Series, line_chart
from audits.report.markup import Markup, badge, join, prose, table, tag
from audits.wording import PAPERS

VOID = {"meta", "img", "br", "col"}


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
def page(contents):
    return Page(render(contents))


def test_it_loads_nothing_and_links_only_within(page):
    assert not any(tag in page.tags for tag in ("script", "link", "iframe", "object"))
    assert all(source.startswith("data:image/png;base64,") for source in page.loaded)
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "url(" not in page.text


def test_every_table_has_a_caption_and_every_picture_words(page):
    assert page.tags.count("table") == page.tags.count("caption") > 5
    assert page.tags.count("svg") == 3 + 1 + 2
    assert page.missing_alt == 0


def test_every_part_is_on_the_page(page, contents):
    for one in (*contents.specimens, *contents.lints):
        assert one["name"] in page.text
        assert " ".join(one["reference"].split())[:30].split("`")[0] in page.text
    for one in contents.claims:
        assert one["statement"] in page.text
        assert f"claim-{one['id']}" in page.ids
    for version in contents.versions.values():
        assert version in page.text
    assert contents.command in page.text
    assert contents.unexpected == []
    assert "Every outcome is the one expected." in page.text


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
    assert Page(render(empty)).text.count("Not recorded.") == len(STUDIES)


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
    shown = Page(render(dataclasses.replace(contents, studies={"nothing": record}))).text
    for words in ("A study <of> nothing.", "<i>", "N&M", "numpy 9.9", "Settings()", "is not there"):
        assert words in shown


def test_a_studys_tables_open_on_a_click_and_figures_do_not(contents):
    name = "thesis-linreg"
    studies = {name: recorded(name)}
    text = render(dataclasses.replace(contents, studies=studies))
    section = text[text.index('id="studies"') : text.index('id="reproduce"')]
    closed = "".join(re.findall(r"<details>.*?</details>", section, re.DOTALL))
    assert section.count("<table") == closed.count("<table") == len(studies[name]["tables"])
    assert "<img" not in closed
    assert "Fig. 4.4 and 4.5</figcaption>" in section


def test_the_papers_are_named_by_their_titles(page):
    assert "Distributed Variational Inference and Privacy" in page.text
    assert set(PAPERS) == set(get_args(Paper))


def test_the_certified_interval_comes_first(contents):
    text = render(contents)
    assert text.index(">dp-assay Fourier</th>") < text.index(">dp-assay moments</th>")


def test_what_was_not_expected_is_named(contents):
    odd = [one | {"as_expected": False} for one in contents.specimens]
    text = Page(render(dataclasses.replace(contents, specimens=odd))).text
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
    page = Page(render(dataclasses.replace(contents, claims=claims, specimens=specimens)))
    assert "script" not in page.tags
    assert page.text.count(evil) >= 2 * 3 + 2 * 5


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
    out = capsys.readouterr().out
    assert Page(file.read_text(encoding="utf-8")).tags[0] == "html"
    assert "flawed mechanisms refuted" in out
    assert str(file) in out
    assert ("NOT EXPECTED: lint: " in out) is odd
    assert main(["report", "--output", str(file), "--json"]) == (1 if odd else 0)
    summary = json.loads(capsys.readouterr().out)
    assert summary.keys() == {"report", "seconds", "counts", "unexpected"}
    assert bool(summary["unexpected"]) is odd
