"""`dp-assay certify` of runs in files, its page, and what `verify` says of the JSON beside it."""

import html.parser
import json
import re
from pathlib import Path

import dp_accounting as dpa
import pytest

from accountants import Certificate, event_to_json, seals
from accountants.adapters.history import history_event
from audits.cli.main import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = [[1.1, 0.01, 1000], [1.3, 0.01, 500]]


@pytest.fixture
def history(tmp_path):
    file = tmp_path / "history.json"
    file.write_text(json.dumps(ROWS))
    return str(file)


class Tags(html.parser.HTMLParser):
    """Which elements are open when the page ends, and what it fetches."""

    void = frozenset({"meta", "br", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.fetched = [], []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_history_gets_a_page_and_json_that_verify_checks(capsys, tmp_path, history):
    page = tmp_path / "run.html"
    command = ["certify", "--history", history, "--sampling", "poisson", "--delta", "1e-5"]
    title = "<script>alert(1)</script> & more"
    assert main([*command, "--data-size", "60k", "--page", str(page), "--title", title]) == 0
    said = capsys.readouterr().err
    beside = tmp_path / "run.json"
    assert said == f"wrote {page}\nwrote {beside}\n"
    assert main(["verify", str(beside)]) == 0
    assert capsys.readouterr().out.startswith("VERIFIED\n")
    # The certificate alone is the same.
    assert main(command) == 0
    alone = Certificate.from_json(capsys.readouterr().out)
    statement = json.loads(beside.read_text("utf-8"))
    (entry,) = statement["certificates"]
    inside = Certificate.from_json(json.dumps(entry["certificate"]))
    assert inside.points == alone.points
    assert inside.event == history_event([tuple(row) for row in ROWS], sampling="poisson")
    text = page.read_text("utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text
    assert statement["sha256"] in text
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.fetched == []
    assert text.count('class="box"') == len(statement["checklist"]) == 7


def test_a_statement_that_was_altered_is_refused(capsys, tmp_path, history):
    page = tmp_path / "run.html"
    command = ["certify", "--history", history, "--sampling", "poisson", "--delta", "1e-5"]
    assert main([*command, "--page", str(page)]) == 0
    beside = tmp_path / "run.json"
    document = json.loads(beside.read_text("utf-8"))
    document["meaning"][0] = "Nobody learns anything."
    beside.write_text(json.dumps(document))
    capsys.readouterr()
    assert main(["verify", str(beside)]) == 2
    assert "another content's" in capsys.readouterr().err


def test_a_forged_certificate_inside_is_refuted(capsys, tmp_path, history):
    page = tmp_path / "run.html"
    command = ["certify", "--history", history, "--sampling", "poisson", "--delta", "1e-5"]
    assert main([*command, "--page", str(page)]) == 0
    beside = tmp_path / "run.json"
    document = json.loads(beside.read_text("utf-8"))
    certificate = document["certificates"][0]["certificate"]
    certificate["points"] = [[1e-5, 0.5, 1.0]]
    document["certificates"][0]["certificate"] = seals.sealed(certificate)
    beside.write_text(json.dumps(seals.sealed(document)))
    capsys.readouterr()
    assert main(["verify", str(beside)]) == 1
    assert capsys.readouterr().out.startswith("REFUTED\n")


def test_an_event_of_dp_accounting(capsys, tmp_path):
    file = tmp_path / "event.json"
    event = dpa.ComposedDpEvent([dpa.GaussianDpEvent(1.0), dpa.LaplaceDpEvent(20.0)])
    file.write_text(event_to_json(event))
    assert main(["certify", "--event", str(file), "--delta", "1e-5"]) == 0
    found = Certificate.from_json(capsys.readouterr().out)
    assert found.event == event
    page = tmp_path / "event.html"
    assert main(["certify", "--event", str(file), "--delta", "1e-5", "--page", str(page)]) == 0
    assert "Gaussian σ = 1 and Laplace b = 20" in page.read_text("utf-8")


def test_an_experiment_and_its_transcript_cost_the_same(capsys, tmp_path):
    experiment, transcript = str(DOCS / "experiment.toml"), str(tmp_path / "transcript.json")
    page = str(tmp_path / "plan.html")
    assert main(["certify", "--experiment", experiment, "--page", page]) == 0
    planned = capsys.readouterr().out
    data = ["--data", str(DOCS / "records.csv")]
    assert main(["run", experiment, *data, "--transcript", transcript]) == 0
    page = str(tmp_path / "run.html")
    capsys.readouterr()
    assert main(["certify", "--transcript", transcript, "--delta", "1e-5", "--page", page]) == 0
    ran = capsys.readouterr().out
    scope = "record, ADD_OR_REMOVE_ONE, messages"
    (before,) = re.findall(rf"(ε in \[.*\]) at δ = 1e-05: {scope}", planned)
    assert f"{before} at δ = 1e-05: {scope}" in ran
    assert "no certificate: client, ADD_OR_REMOVE_ONE" in ran


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([], "`--sampling` must be given with --history: Opacus records no sampling"),
        (["--sampling", "balls_in_bins", "--steps", "3"], "`--steps` must be left out"),
        (
            ["--sampling", "shuffled", "--noise-multiplier", "1"],
            "`--noise-multiplier` must be left",
        ),
        (["--sampling", "poisson", "--event", "x"], "`--history` must be the only file"),
        (["--sampling", "poisson", "--page", "x.pdf"], "`--page` must end in .html"),
        (["--sampling", "poisson", "--title", "x"], "`--title` must come with --page"),
        (["--sampling", "poisson", "--page", "x.html", "--output", "y"], "`--output` must be left"),
        (["--sampling", "poisson", "--data-size", "nan"], "`--data-size`"),
        (["--sampling", "poisson", "--relation", "zero"], "`--relation`"),
        (["--sampling", "fixed_size", "--relation", "add-or-remove-one"], "REPLACE_ONE"),
    ],
)
def test_what_does_not_fit_is_refused(capsys, monkeypatch, tmp_path, history, more, reason):
    monkeypatch.chdir(tmp_path)
    assert main(["certify", "--history", history, "--delta", "1e-5", *more]) == 2
    shown = capsys.readouterr()
    assert reason in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.json"]


def test_a_delta_of_one_in_n_is_said_on_the_page(capsys, tmp_path, history):
    page = tmp_path / "run.html"
    command = ["certify", "--history", history, "--sampling", "poisson", "--delta", "1e-4"]
    assert main([*command, "--data-size", "60k", "--page", str(page)]) == 0
    assert "not below 1/60,000" in capsys.readouterr().out
    assert "not below 1/60,000" in page.read_text("utf-8")
