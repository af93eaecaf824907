"""`dp-assay dashboard`: where it listens, whom it lets in, and how it ends."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from terminal import as_from_a_terminal

from audits.cli.main import main
from audits.dashboard.server import TOKEN_VARIABLE, serve


def refused(capsys, tmp_path, *options):
    assert main(["dashboard", "--folder", str(tmp_path / "runs"), *options]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "-1"], "--port"),
        (["--port", "70000"], "--port"),
        (["--at-once", "0"], "--at-once"),
        (["--data", "missing"], "`--data` must be a folder"),
        (["--host", "203.0.113.7"], "must be free to listen at"),
    ],
)
def test_bad_input_is_refused_by_its_name(options, message, capsys, tmp_path):
    assert message in refused(capsys, tmp_path, *options)


def test_a_port_that_is_taken_is_said(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "must be free to listen at" in refused(capsys, tmp_path, "--port", port)


def test_without_its_extra_it_says_what_to_install(capsys, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "audits.dashboard.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert 'pip install "dp-assay[dashboard]"' in refused(capsys, tmp_path)


def test_a_weak_token_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "short")
    with pytest.raises(ValueError, match="at least 16 characters"):
        serve(tmp_path / "runs", tmp_path, port=0, with_token=True)


def test_one_dashboard_a_folder_with_a_token_that_lasts_and_an_end_on_request(tmp_path, capsys):
    """In a process of its own, as a person starts it."""
    command = [sys.executable, "-m", "audits", "dashboard", "--folder", str(tmp_path / "runs")]
    environment = {k: v for k, v in os.environ.items() if k != TOKEN_VARIABLE}
    process = subprocess.Popen(
        [*command, "--port", "0", "--token", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=as_from_a_terminal,
    )
    try:
        url = json.loads(process.stdout.readline())["url"]
        base, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=([\w-]{32})", url).groups()
        with_cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with with_cookies.open(url) as answer:
            assert answer.url == f"{base}/"
            assert "Nothing has been described yet" in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError) as closed:
            urllib.request.urlopen(base)
        closed.value.close()
        assert closed.value.code == 401
        asked = urllib.request.Request(base, headers={"authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 200
        file = tmp_path / "runs" / "token"
        assert file.read_text() == token
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert "no other dashboard" in refused(capsys, tmp_path, "--port", "0")
        process.send_signal(signal.SIGINT)
    except BaseException:
        process.kill()
        raise
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
