"""Who may ask the dashboard, and who may not: each way in from another page is tried."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from web_client import Client

from audits.dashboard.guard import Guard, is_loopback

OWN = "http://127.0.0.1:8800"
TOKEN = "a token of more than enough letters"


def client(token=None, base=OWN):
    async def answer(request):
        return PlainTextResponse(f"{request.method} {request.url.query}")

    app = Starlette(routes=[Route("/{rest:path}", answer, methods=["GET", "POST", "PUT"])])
    return Client(Guard(app, 8800, token), base)


@pytest.mark.parametrize(
    "base", [OWN, "http://localhost:8800", "http://[::1]:8800", "http://localhost:9000"]
)
def test_the_pages_own_requests_pass(base):
    ask = client(base=base)
    assert ask.get("/").status_code == 200
    assert ask.post("/", headers={"origin": base}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8800",
        "127.0.0.1.evil.example:8800",
        "localhost.evil.example",
        "evil.example",
        "10.0.0.1:8800",
        "",
        "localhost@evil.example:8800",
        "0.0.0.0:8800",
        "[::1].evil.example",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_gets_nothing(host):
    assert client().get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://localhost:8800"},
        {"origin": OWN + ".evil.example"},
        {"origin": "file://"},
    ],
)
def test_forged_forms_are_refused(headers):
    assert client().post("/", headers=headers).status_code == 403


def test_other_methods_are_refused():
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert client().request(method, "/", headers={"origin": OWN}).status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_read_nothing_but_people_may_follow_links(site):
    ask = client()
    for mode in ("no-cors", "cors", ""):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
        assert ask.get("/", headers=headers).status_code == 403
    followed = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert ask.get("/", headers=followed).status_code == 200


def test_every_answer_tells_the_browser_to_load_and_frame_nothing_else():
    for answer in (client().get("/"), client().post("/"), client(TOKEN).get("/")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_without_the_token_only_the_door_is_open():
    ask = client(TOKEN)
    assert ask.get("/").status_code == 401
    assert ask.post("/", headers={"origin": OWN}).status_code == 401
    sent = ask.get("/", headers={"accept": "text/html,*/*"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/enter")
    assert ask.get("/enter").status_code == 200
    assert ask.get("/static/style.css").status_code == 200
    for path in ("/enter/", "/enter/../runs/1", "//enter", "/static/../runs", "/Enter"):
        assert ask.get(path).status_code == 401, path


@pytest.mark.parametrize("wrong", ["", "x", TOKEN[:-1], TOKEN + "x", "é", "\0"])
def test_a_wrong_token_does_not_open(wrong):
    ask = client(TOKEN)
    assert ask.get("/", params={"token": wrong}).status_code == 401
    bearer = {"authorization": b"Bearer " + wrong.encode("latin-1")}
    assert ask.get("/", headers=bearer).status_code == 401
    ask.cookies.set("dp-assay-8800", "0" * 64)
    assert ask.get("/").status_code == 401


def test_the_link_with_the_token_opens_and_does_not_stay_in_the_address():
    ask = client(TOKEN)
    first = ask.get("/runs", params={"token": TOKEN, "a": "1 2"})
    assert (first.status_code, first.headers["location"]) == (303, "/runs?a=1+2")
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert TOKEN not in cookie
    assert ask.get("/runs").status_code == 200


def test_a_bearer_may_ask():
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert client(TOKEN).get("/", headers=headers).status_code == 200


def test_the_door_leads_nowhere_else():
    """A path that browsers take for another host's name does not become one."""
    for path in ("//evil.example", "/\\evil.example", "/%09/evil.example"):
        answer = client(TOKEN).get(f"{OWN}{path}?token={TOKEN}")
        where = answer.headers["location"]
        assert where.startswith("/")
        assert not where.startswith(("//", "/\\", "/\t"))


def test_what_makes_no_guard_is_refused():
    for port, token in ((0, None), (65536, None), (8800, "short"), (8800, "")):
        with pytest.raises(ValueError, match=r"`(port|token)` must"):
            Guard(None, port, token)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("LOCALHOST", True),
        ("127.255.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("::", False),
        ("", False),
        ("127.0.0.1.nip.io", False),
        ("::ffff:10.0.0.1", False),
    ],
)
def test_loopback_is_this_machine_alone(host, expected):
    assert is_loopback(host) is expected
