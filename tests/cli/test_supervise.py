"""Exit codes as a shell sees them, and who is believed about them.

`audits/cli/supervise.py` needs nothing but the standard library, so that most cases here start an
interpreter that loads this one file; a few start the whole command.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import as_from_a_terminal

from audits.cli import supervise

RUN = f"""
import atexit, ctypes, os, runpy, signal, sys, threading, time
found = runpy.run_path({supervise.__file__!r})
supervised, Stopped = found["supervised"], found["Stopped"]
"""
AUDIT = """
import os
PAIR = ([0.0, 1.0], [0.0])
def ends_it(data, rng):
    os._exit(0)
def too_little_noise(data, rng, n):
    return sum(data) + rng.normal(scale=0.5, size=n)
"""


def run_python(code, **keywords):
    command = [sys.executable, "-c", RUN + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **keywords)


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("os._exit(0)", "with exit code 0"),
        ("os._exit(1)", "with exit code 1"),
        ("ctypes.CDLL(None).exit(0)", "with exit code 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "by SIGKILL"),
        ("os.abort()", "by SIGABRT"),
        ("os.closerange(3, 100)", "with exit code 0"),
    ],
)
def test_a_process_that_ends_without_saying_how_has_no_answer(body, ending):
    done = run_python(f"sys.exit(supervised(lambda: [{body}, 0][1]))")
    assert done.returncode == 3
    assert f"dp-assay: no answer: the command's process was ended {ending}" in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("lambda: 0", 0),
        ("lambda: 1", 1),
        ("lambda: sys.exit(2)", 2),
        ("lambda: sys.exit('a message')", 3),
        ("lambda: 1 / 0", 3),
        # What happens after the answer does not change it.
        ("lambda: [atexit.register(os._exit, 0), 1][1]", 1),
        ("lambda: [threading.Thread(target=time.sleep, args=(60,)).start(), 1][1]", 1),
        # A copy of the process says nothing, were it the first to end.
        ("lambda: [time.sleep(1), 1][1] if os.fork() else 0", 1),
        # A process that is left behind is not waited for.
        ("lambda: 1 if os.fork() else time.sleep(2)", 1),
    ],
)
def test_the_code_is_the_commands_own(command, code):
    assert run_python(f"sys.exit(supervised({command}))").returncode == code


def test_each_process_cleans_up_what_is_its_own():
    done = run_python(
        "atexit.register(print, 'of the one')\n"
        "command = lambda: [atexit.register(print, 'of the other', flush=True), 0][1]\n"
        "sys.exit(supervised(command))"
    )
    assert done.stdout == "of the other\nof the one\n"


def start(code, **keywords):
    return subprocess.Popen(
        [sys.executable, "-c", RUN + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=as_from_a_terminal,
        **keywords,
    )


CLEANING = """
def command():
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        time.sleep(0.2)
        print("cleaned up", flush=True)
    return 0
sys.exit(supervised(command))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_signal_to_one_process_or_to_all_lets_the_command_clean_up(number, send):
    running = start(CLEANING)
    assert running.stdout.readline() == "ready\n"
    send(running.pid, number)
    assert running.communicate(timeout=60)[0] == "cleaned up\n"
    assert running.returncode == 128 + number


def test_a_signal_that_was_ignored_stays_ignored():
    body = "lambda: [os.kill(os.getppid(), signal.SIGHUP), time.sleep(0.2), 0][2]"
    done = run_python(
        f"sys.exit(supervised({body}))",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert done.returncode == 0


def test_a_command_that_swallows_a_signal_is_ended_by_the_second():
    running = start(
        "def command():\n"
        "    print('ready', flush=True)\n"
        "    while True:\n"
        "        try:\n"
        "            time.sleep(60)\n"
        "        except BaseException:\n"
        "            print('swallowed', flush=True)\n"
        "sys.exit(supervised(command))"
    )
    assert running.stdout.readline() == "ready\n"
    os.kill(running.pid, signal.SIGINT)
    assert running.stdout.readline() == "swallowed\n"
    os.kill(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130


def test_a_signal_inside_of_a_destructor_is_not_lost():
    done = run_python(
        "class Odd:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(0.1)\n"
        "sys.exit(supervised(lambda: 0 if (Odd() and None) else time.sleep(60)))"
    )
    assert done.returncode == 143
    assert done.stderr == ""


def test_the_command_ends_when_its_supervisor_is_killed():
    running = start("supervised(lambda: [print('ready', flush=True), time.sleep(600)])")
    assert running.stdout.readline() == "ready\n"
    running.kill()
    # The pipe is open for as long as the command lives.
    assert running.communicate(timeout=60)[0] == ""


def dp_assay(*arguments, **keywords):
    command = [sys.executable, "-m", "audits", *arguments]
    return subprocess.run(command, text=True, timeout=300, **keywords)


def test_a_mechanism_that_ends_the_process_is_not_acquitted(tmp_path):
    (tmp_path / "mine.py").write_text(AUDIT)
    done = dp_assay("audit", "mine.py:ends_it", "--mu", "1", cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no answer" in done.stderr


def test_messages_without_a_reader_do_not_cost_the_answer(tmp_path):
    """Standard error is closed: what would be shown there must not get into the answer either."""
    done = dp_assay(
        "claims",
        "thesis-fig-3-3",
        "--json",
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.close(2),
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["claims"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_answer_that_cannot_be_written_is_not_given(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = dp_assay("--version", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert done.stderr.startswith("dp-assay: the answer could not be written: ")
    done = dp_assay("--version", stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert done.returncode == 3
    assert done.stderr == "dp-assay: standard output must be open, got a closed one.\n"


def test_an_interrupt_while_it_loads_leaves_no_traceback():
    running = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "audits", "zoo"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while "audits.starting" not in running.stderr.readline():
        pass
    running.send_signal(signal.SIGINT)
    assert "Traceback" not in running.communicate(timeout=60)[1]
    assert running.returncode == -signal.SIGINT


def test_codes_of_signals():
    assert supervise.exit_code(KeyboardInterrupt()) == 130
    assert supervise.exit_code(supervise.Stopped(signal.SIGTERM)) == 143
