"""The pages without a browser: what each address answers, and what it refuses."""

import html
import json
import re
import tempfile
import time
from pathlib import Path

import pytest
from web_client import Client

from accountants import Certificate, epsilon_bounds
from audits.cli.experiment import _as_json
from audits.cli.main import _parser
from audits.dashboard import planner
from audits.dashboard.app import Dashboard
from audits.dashboard.fields import DEFAULTS
from audits.dashboard.planner import PlanError, Planned
from audits.dashboard.runner import Runner
from audits.dashboard.settings import Settings
from audits.dashboard.store import Store
from mechanisms import Experiment
from mechanisms.progress import (
    ClientStatus,
    EpsilonSpent,
    RunBegan,
    RunEnded,
    to_json,
)

OWN = "http://127.0.0.1:8800"
TOKEN = "a token of more than enough letters"
ROOT = Path(__file__).parents[4]
EXAMPLE = (ROOT / "docs" / "experiment.toml").read_text(encoding="utf-8")


class Site:
    """A dashboard whose runner tends only when it is told to."""

    def __init__(self, folder, token=None):
        self.store = Store(folder / "store.sqlite")
        self.runner = Runner(self.store, folder / "runs")
        (folder / "data").mkdir()
        dashboard = Dashboard(self.store, self.runner, folder / "data")
        self.client = Client(dashboard.guarded(8800, token), OWN)

    def get(self, path, **more):
        return self.client.get(path, **more)

    def post(self, path, fields=None, **more):
        headers = {"origin": OWN} | more.pop("headers", {})
        return self.client.post(path, data=fields or {"": ""}, headers=headers, **more)

    def described(self, **more):
        given = {"name": "a", "experiment": EXAMPLE, "plan": PLAN} | more
        return self.store.add(**given)


def quick_plan(text, unwanted=None):
    """What the planner's process would say, in this one."""
    try:
        experiment = Experiment.from_toml(text)
    except ValueError as error:
        raise PlanError(str(error)) from error
    return Planned(experiment.name, [_as_json(cost) for cost in experiment.plan()])


PLAN = quick_plan(EXAMPLE).costs


@pytest.fixture
def quick(monkeypatch):
    """Plans are made here; one test makes them where they are made in earnest."""
    monkeypatch.setattr("audits.dashboard.app.plan", quick_plan)


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.runner.end()
    made.store.close()


def text_of(answer):
    return html.unescape(re.sub(r"<[^>]*>", " ", answer.text))


def test_describing_shows_the_planned_certificate_before_anything_runs(site):
    sent = site.post("/describe", DEFAULTS)
    assert sent.status_code == 303
    page = site.get(sent.headers["location"])
    bounds = epsilon_bounds(noise_multiplier=4, sampling_rate=0.25, steps=20, delta=1e-5)
    low, high = map(float, re.search(r"ε in \[([\d.]+), ([\d.]+)\]", text_of(page)).groups())
    assert low <= bounds.lower <= bounds.upper <= high
    assert high - low < 2e-3
    entry = site.store.entries()[0]
    assert entry.state == "described"
    site.runner.tend()
    assert not site.runner.folder_of(entry.id).path.exists()
    assert 'name="data"' in page.text


def test_a_preview_is_a_plan_or_the_reason_why_there_is_none(site, quick):
    assert "ε in [" in text_of(site.post("/plan", DEFAULTS))
    split = DEFAULTS | {
        "mechanism.kind": "noise_splitting",
        "rounds": "2",
        "scopes.0.view": "aggregate",
    }
    assert "remembers noise" in text_of(site.post("/plan", split))
    refused = site.post("/plan", DEFAULTS | {"delta": "2"})
    assert "`delta` must be" in text_of(refused)


def test_a_wrong_field_is_marked_and_the_others_keep_what_was_typed(site):
    typed = {"clients": "minus one", "name": "<i>mine</i>"}
    answer = site.post("/describe", DEFAULTS | typed)
    assert answer.status_code == 422
    assert "`clients` must be a whole number" in text_of(answer)
    (field,) = re.findall(r"<[^>]*aria-invalid[^>]*>", answer.text)
    assert 'name="clients"' in field
    assert "&lt;i&gt;mine&lt;/i&gt;" in answer.text
    assert "<i>" not in answer.text
    assert site.store.entries() == []


def test_a_file_can_be_pasted_and_a_wrong_one_comes_back_with_the_reason(site, quick):
    sent = site.post("/describe", {"toml": EXAMPLE.replace("\n", "\r\n")})
    assert sent.status_code == 303
    wrong = site.post("/describe", {"toml": EXAMPLE + "\nevil = 1"})
    assert wrong.status_code == 422
    assert "evil" in text_of(wrong)
    assert "linear regression at five sites" in wrong.text
    like = site.get("/describe", params={"like": "1"})
    assert "linear regression at five sites" in like.text


def test_a_run_is_started_watched_and_taken_along(site):
    run = site.described()
    assert site.post(f"/runs/{run}/start", {"made_up": "20", "seed": "1"}).status_code == 303
    assert site.post(f"/runs/{run}/start", {"made_up": "20", "seed": "2"}).status_code == 409
    assert site.post(f"/runs/{run}/remove").status_code == 409
    given_up = time.monotonic() + 90
    while site.store.entry(run).state != "finished":
        site.runner.tend()
        assert time.monotonic() < given_up
        assert site.get(f"/runs/{run}").status_code == 200
    page = text_of(site.get(f"/runs/{run}"))
    assert "Round 5 of 5" in page
    assert "certified of what was run" in page
    told = site.get(f"/runs/{run}/events").text
    assert told.count("event: panels") == 1
    assert told.endswith("event: end\ndata: {}\n\n")
    for name in ("experiment.toml", "certificate-1.json", "transcript.json", "answer.json"):
        answer = site.get(f"/runs/{run}/{name}")
        assert answer.status_code == 200
        stem, ending = name.split(".")
        assert f'filename="{stem}-run-{run}.{ending}"' in answer.headers["content-disposition"]
    certificate = Certificate.from_json(site.get(f"/runs/{run}/certificate-1.json").text)
    assert certificate.bounds(1e-5) == Certificate.from_json(
        json.dumps(PLAN[0]["certificate"])
    ).bounds(1e-5)
    assert site.post(f"/runs/{run}/remove").headers["location"] == "/"
    assert site.get(f"/runs/{run}").status_code == 404


@pytest.mark.parametrize(
    "name",
    ["checkpoint", "store.sqlite", "certificate-9.json", "..", "%2e%2e", "records.csv", "token"],
)
def test_no_other_file_can_be_had(site, name):
    run = site.described()
    folder = site.runner.folder_of(run)
    folder.make()
    folder.checkpoint.write_text("as private as the data")
    assert site.get(f"/runs/{run}/{name}").status_code == 404


def test_only_offered_files_are_read(site, tmp_path):
    (tmp_path / "data" / "mine.csv").touch()
    (tmp_path / "secret.csv").touch()
    run = site.described()
    asked = {"seed": "0", "target": "target", "client": "client"}
    for name in ("../secret.csv", str(tmp_path / "secret.csv"), "other.csv"):
        for field in ({"data": name}, {"data": "mine.csv", "held_out": name}):
            answer = site.post(f"/runs/{run}/start", asked | field)
            assert answer.status_code == 422
            assert "must be one of" in text_of(answer)
    assert site.store.entry(run).state == "described"
    assert site.post(f"/runs/{run}/start", asked | {"data": "mine.csv"}).status_code == 303
    assert site.store.entry(run).settings["data"] == str(tmp_path / "data" / "mine.csv")


@pytest.mark.parametrize(
    "wrong",
    [{"seed": "x"}, {"seed": "-1"}, {"made_up": "0"}, {"limit": "x"}, {"limit": "nan"}],
)
def test_settings_that_no_run_can_have_are_refused(site, wrong):
    run = site.described()
    answer = site.post(f"/runs/{run}/start", {"made_up": "20", "seed": "0"} | wrong)
    assert answer.status_code == 422
    assert "must be" in text_of(answer)
    assert site.store.entry(run).state == "described"


def test_a_socket_must_fit_where_runs_are_kept(tmp_path):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    site = Site(deep)
    run = site.described()
    fields = {"where": "holders", "seed": "0", "target": "t", "port": "1", "host": "h"}
    answer = site.post(f"/runs/{run}/start", fields | {"listen": "l"})
    assert answer.status_code == 422
    assert "--folder" in text_of(answer)
    assert site.store.entry(run).state == "described"
    site.store.close()


@pytest.fixture
def short():
    """A path so short that sockets fit in."""
    with tempfile.TemporaryDirectory(prefix="dp") as folder:
        yield Path(folder)


def test_a_run_over_holders_waits_until_they_have_their_invitations(short):
    site = Site(short)
    run = site.described()
    asked = {"where": "holders", "seed": "0", "target": "target", "port": "8943"}
    answer = site.post(f"/runs/{run}/start", asked | {"host": "127.0.0.1", "listen": "127.0.0.1"})
    assert answer.status_code == 303
    assert site.store.entry(run).state == "paused"
    folder = site.runner.folder_of(run)
    assert sorted(one.name for one in (folder.federation / "invitations").iterdir()) == [*"01234"]
    assert not folder.path.stat().st_mode & 0o077
    page = text_of(site.get(f"/runs/{run}"))
    for client in range(5):
        invitation = folder.federation / "invitations" / str(client)
        line = f"dp-assay join {invitation}/permission.toml --socket {invitation}/holder.sock"
        assert line in page
        _parser().parse_args(line.split()[1:])
    assert site.get(f"/runs/{run}/seal.key").status_code == 404
    for where in ("holders", "flower"):
        given = Settings(where=where, seed=3, held_out="-x.csv").arguments(folder)
        options = _parser().parse_args(given)
        assert (options.local, options.seed, options.held_out) == (where == "holders", 3, "-x.csv")
        assert options.progress == str(folder.progress)
    site.store.close()


def test_where_clients_cannot_be_is_refused(site):
    run = site.described()
    asked = {"seed": "0", "target": "t", "host": "h", "listen": "l"}
    for wrong in ({"where": "mars", "port": "1"}, {"where": "flower", "port": "x"}):
        assert site.post(f"/runs/{run}/start", asked | wrong).status_code == 422
    assert site.store.entry(run).state == "described"


def test_what_cannot_be_asked_in_a_state_is_refused(site):
    run = site.described()
    for what in ("pause", "resume"):
        assert site.post(f"/runs/{run}/{what}").status_code == 409
    wrong = ("99", "-1", "x", "²", "1.0", str(10**30), "9" * 5000)
    for number in wrong:
        for path in ("/runs/{}", "/runs/{}/events", "/describe?like={}", "/compare?run=1&run={}"):
            assert site.get(path.format(number)).status_code == 404
    assert site.get("/nothing").status_code == 404
    assert site.get("/compare?run=1").status_code == 422
    assert site.get("/runs/1/start").status_code in (404, 405)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"x=" + b"a" * 1_100_000, "application/x-www-form-urlencoded", 413),
        (b"x=%ff", "application/x-www-form-urlencoded", 400),
        (b"\xff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(1000)), "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 415),
        (b"", "multipart/form-data; boundary=x", 415),
    ],
)
def test_bodies_that_are_no_form_are_refused(site, body, kind, status):
    headers = {"origin": OWN, "content-type": kind}
    assert site.client.post("/describe", content=body, headers=headers).status_code == status


def test_what_clients_report_is_shown_as_bounds_and_escaped(site):
    run = site.described(name="<script>alert(1)</script>")
    site.store.start(run, {})
    scope = PLAN[0]["scope"]
    events = [
        RunBegan(name="x", clients=3, rounds=9),
        *(ClientStatus(client=m, status=s) for m, s in enumerate(("online", "pending", "retried"))),
        EpsilonSpent(
            round=1, client=0, scope=scope, delta=1e-5, spent=1.00001, limit=3.0, reporter="holder"
        ),
        EpsilonSpent(round=1, client=1, scope=scope, delta=1e-5, spent=None, reporter="holder"),
    ]
    site.store.tell(run, [to_json(event) for event in events], 1, progressed=True)
    answer = site.get(f"/runs/{run}")
    assert "<script>alert" not in answer.text
    page = text_of(answer)
    assert "1.001" in page  # 1.00001 rounded up
    assert "1.999" in page  # what is left, 1.99999, rounded down
    assert re.search(r"spent so far ≤.*?–", page, re.DOTALL)  # one client's is not known
    assert "as each holder reports them" in page


def test_runs_are_compared(site):
    first = site.described()
    other = site.described(experiment=EXAMPLE.replace("damping = 0.3", "damping = 0.5"), name="b")
    site.store.tell(other, [to_json(RunEnded(round=5))], 1, progressed=True)
    page = text_of(site.get(f"/compare?run={first}&run={other}&run={first}"))
    assert "mechanism.damping" in page
    assert re.search(r"mechanism.damping\s+0.3\s+0.5", page)
    assert "mechanism.steps" not in page
    assert site.get(f"/compare?run={first}&run=99").status_code == 404


def test_the_door_takes_the_token_alone(tmp_path):
    site = Site(tmp_path, TOKEN)
    assert site.post("/enter", {"token": "wrong"}).status_code == 403
    assert site.get("/").status_code == 401
    opened = site.post("/enter", {"token": f" {TOKEN} "})
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    assert site.get("/").status_code == 200
    site.store.close()


def test_a_plan_that_takes_too_long_is_ended():
    with pytest.raises(PlanError, match="longer than"):
        planner.plan(EXAMPLE, patience=0.05)
    with pytest.raises(PlanError, match="must be TOML"):
        planner.plan("\udcff = [")  # no text that a file could hold


def test_a_plan_that_nobody_wants_any_more_is_ended():
    asked = []

    def unwanted():
        asked.append(time.monotonic())
        return len(asked) > 3

    with pytest.raises(PlanError, match="Nobody"):
        planner.plan(EXAMPLE, unwanted=unwanted)
    assert len(asked) == 4
    for _ in range(3):  # its place is free again
        with pytest.raises(PlanError, match="Nobody"):
            planner.plan(EXAMPLE, unwanted=lambda: True)


def test_pages_load_nothing_from_elsewhere_and_have_no_inline_code(site):
    run = site.described()
    for path in ("/", "/describe", f"/runs/{run}", "/static/style.css"):
        page = site.get(path).text
        assert not re.search(r"(src|href)=\"(https?:)?//", page)
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|javascript:|@import", page)
