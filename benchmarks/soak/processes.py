"""One command line in a process of its own, and what must be true of it afterwards."""

import contextlib
import json
import multiprocessing.synchronize
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

# What commands import when they run: once here, and readable for a user without rights.
import matplotlib.backends.backend_svg
import matplotlib.pyplot

import audits.plots
import audits.report
import audits.specimens.pictures
import mechanisms
import pvi.data
from accountants.seals import DamagedError, unsealed
from audits.cli.main import main
from audits.papers.studies import STUDIES, load_study

_READY = (
    multiprocessing.synchronize,
    mechanisms,
    pvi.data,
    matplotlib,
    audits,
    [load_study(name) for name in STUDIES],
)
PATIENCE_SECONDS = 240.0
NOBODY = 65534
_ENDS = {".png": b"IEND\xaeB`\x82", ".svg": b"</svg>", ".html": b"</html>"}
_FORBIDDEN = ("Traceback (most recent", "Exception ignored", "Fatal Python", "Warning: ")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command line, the circumstances, and the exit codes that are right.

    Attributes:
      name: Its family and number.
      arguments: After `dp-assay`.
      codes: Which are right; with a signal, -n is right too while the interpreter loads.
      files: What is in its folder, by name.
      environment: Beside what is there.
      closed: Of the streams 0, 1 and 2, those that are closed.
      gone: Those whose reader has gone.
      full: Those that lead to a full disk.
      most_bytes: Of a file that it writes.
      stop: A signal, after how many seconds, and whether all its processes get it.
      nobody: Whether it runs as a user without rights.
      fresh: Whether the interpreter is started anew.
      kept: Files that must be as they were, whatever the code.
    """

    name: str
    arguments: tuple[str, ...]
    codes: tuple[int, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    closed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    full: tuple[int, ...] = ()
    most_bytes: int | None = None
    stop: tuple[int, float, bool] | None = None
    nobody: bool = False
    fresh: bool = False
    kept: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The first part of the name."""
        return self.name.partition("/")[0]


def run_case(case: Case, folder: Path) -> dict[str, Any]:
    """Runs it in the folder: its exit code, and what was wrong with it."""
    home, streams = folder / "home", folder / "streams"
    for made in (home, streams):
        made.mkdir()
        made.chmod(0o777)
    for name, content in case.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    folder.chmod(0o755)
    out, err = streams / "out", streams / "err"
    sys.stdout.flush()
    sys.stderr.flush()
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        _become(case, home, out, err)  # closes `begun` on its way
    os.close(begun)
    os.read(ready, 1)
    os.close(ready)
    if case.stop is not None and case.fresh:
        _await_loading(child)
    code, late = _wait(case, child)
    shown = [file.read_text("utf-8", "replace") if file.exists() else "" for file in (out, err)]
    wrong = [*late, *_left_running(child), *_judge(case, code, *shown), *_half_written(case, home)]
    found: dict[str, Any] = {"code": code, "wrong": wrong}
    if wrong:
        found |= {"arguments": [a[:200] for a in case.arguments], "stderr": shown[1][-600:]}
    return found


def _become(case: Case, home: Path, out: Path, err: Path) -> NoReturn:
    """What a shell does between fork and exec; then the command."""
    code = 99
    try:
        os.setsid()
        os.chdir(home)
        os.environ.update(case.environment)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        _open_streams(case, out, err)
        if case.most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.most_bytes, case.most_bytes))
        if case.nobody and os.getuid() == 0:  # anyone else has no rights there anyway
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        if case.fresh:
            command = [sys.executable, "-m", "audits", *case.arguments]
            os.execv(sys.executable, [os.fsencode(word) for word in command])
        _as_if_started(case)
        sys.argv = ["dp-assay", *case.arguments]
        code = main()
    finally:
        os._exit(code)


def _open_streams(case: Case, out: Path, err: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    targets = [null, os.open(out, flags, 0o666), os.open(err, flags, 0o666)]
    for number in case.gone:
        reader, targets[number] = os.pipe()
        os.close(reader)
    for number in case.full:
        targets[number] = os.open("/dev/full", os.O_WRONLY)
    for number, target in enumerate(targets):
        os.dup2(target, number)
    for number in case.closed:
        os.close(number)
    os.closerange(3, 64)


def _as_if_started(case: Case) -> None:
    """The streams as an interpreter makes them when it starts."""
    sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]
    if 1 not in case.closed:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if 2 not in case.closed:
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
        )


def _await_loading(child: int) -> None:
    """Until the command's own code has begun: what Python does before nobody can change.

    Python catches interrupts as soon as it can, and `audits.starting` is the first to undo that.
    """
    caught = False
    while True:
        try:
            status = Path(f"/proc/{child}/status").read_text()
        except OSError:
            return
        signals = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")]
        now = bool(signals) and bool(int(signals[0], 16) >> (signal.SIGINT - 1) & 1)
        if (caught and not now) or "\nState:\tZ" in status:
            return
        caught = caught or now
        time.sleep(0.005)


def _wait(case: Case, child: int) -> tuple[int, list[str]]:
    began, sent = time.monotonic(), case.stop is None
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), []
        passed = time.monotonic() - began
        if not sent and case.stop is not None and passed >= case.stop[1]:
            number, _, everyone = case.stop
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if everyone else os.kill)(child, number)
            sent = True
        if passed > PATIENCE_SECONDS:
            for process in _session(child):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            os.waitpid(child, 0)
            return -9, [f"was not done after {PATIENCE_SECONDS:g} s"]
        time.sleep(0.02)


def _session(leader: int) -> list[int]:
    """The processes of the session that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found


def _left_running(child: int) -> list[str]:
    until = time.monotonic() + 20.0
    while left := _session(child):
        if time.monotonic() > until:
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            return [f"left {len(left)} processes running"]
        time.sleep(0.05)
    return []


def _judge(case: Case, code: int, out: str, err: str) -> list[str]:
    wrong = []
    right = list(case.codes)
    if case.stop is not None:
        right += [128 + case.stop[0]] + ([-case.stop[0]] if case.fresh else [])
    if code not in right:
        wrong.append(f"exit code {code}, must be one of {right}")
    wrong += [f"shows {words!r}" for words in _FORBIDDEN if words in err or words in out]
    unseen = {*case.closed, *case.gone, *case.full}
    if code in (2, 3) and 2 not in unseen and not err.strip():
        wrong.append("fails without a word")
    if code == 2 and out:
        wrong.append("has an answer and bad input at once")
    whole = code in (0, 1) and 1 not in unseen and case.most_bytes is None
    if whole and "--json" in case.arguments:
        try:
            json.loads(out)
        except ValueError:
            wrong.append(f"JSON that is none: {out[:100]!r}")
    return wrong


def _half_written(case: Case, home: Path) -> list[str]:
    """Every file must be whole, and what was there before untouched where that was asked."""
    wrong = []
    for name in case.kept:
        if not (home / name).exists() or (home / name).read_bytes() != case.files[name]:
            wrong.append(f"changed {name}")
    for file in home.rglob("*"):
        relative = str(file.relative_to(home))
        if not file.is_file() or relative in case.files:
            continue
        content = file.read_bytes()
        if file.name.startswith(".partial"):
            wrong.append(f"left {file.name}")
        elif file.suffix in _ENDS and not content.rstrip().endswith(_ENDS[file.suffix]):
            wrong.append(f"half of {relative}")
        elif file.suffix == ".json":
            try:
                unsealed(content, relative)
            except DamagedError as error:
                wrong.append(str(error))
    return wrong
