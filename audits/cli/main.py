"""The `dp-assay` command.

Exit codes: 0 nothing refuted, 1 a claim or an accountant refuted, 2 bad input, 3 no answer because
something crashed, 128 + n ended by signal n (130 interrupted, 141 the reader of the output left).
"""

import argparse
import contextlib
import errno
import importlib.metadata
import io
import os
import re
import select
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import dp_accounting as dpa

from accountants import validate
from audits.cli import (
    audit,
    calibrate,
    certify,
    claims,
    completion,
    crosscheck,
    dashboard,
    epsilon,
    experiment,
    explain,
    field,
    join,
    remaining,
    report,
    serve,
    study,
    verify,
    zoo,
)
from audits.cli.loading import UserCrashError
from audits.cli.supervise import CRASHED, exit_code, open_standard_streams, say, supervised
from audits.wording import wrapped

_COMMANDS = (
    epsilon,
    calibrate,
    remaining,
    explain,
    crosscheck,
    certify,
    verify,
    experiment,
    dashboard,
    serve,
    join,
    audit,
    zoo,
    field,
    claims,
    study,
    report,
    completion,
)
_DESCRIPTION = """\
Is this differential-privacy claim true?

What does it cost?   epsilon, calibrate, remaining, explain, crosscheck;
                     certify (a page to sign), and verify a certificate
Your experiment      plan (before), run, assay (certificate and audit in one),
                     dashboard (in a browser)
A federation         serve (the coordinator), join (a data owner, whose data stay there)
Is the claim true?   audit (your mechanism), zoo (known flaws), field (other libraries),
                     claims (the papers' statements)
What was learnt?     study
All of it            report
For your shell       completion
"""
_EPILOG = """\
examples:
  dp-assay epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 10000 --delta 1e-5
  dp-assay audit my_file.py:mechanism --noise-multiplier 1

Every command has --help and --json. "Not refuted" is no proof.

exit codes:
  0    an answer, and nothing refuted
  1    a claim refuted, or an outcome that was not expected
  2    bad input: nothing was computed, or not to its end; standard error says what to change
  3    no answer: the audited code, a worker or dp-assay itself crashed, or the disk is full. With
       DP_ASSAY_TRACEBACK=1 in the environment the traceback is shown
  130, 143, 141
       ended by an interrupt, by a termination, or because the reader of the output had gone
"""
_TRACEBACK_VARIABLE = "DP_ASSAY_TRACEBACK"
_WIDTH = 80
_PIPE_CLOSED = 141  # 128 + SIGPIPE, as other commands end
# Nothing that other input would change.
_NOT_THE_INPUTS_FAULT = frozenset(
    getattr(errno, name, None)
    for name in ("EAGAIN", "EBADF", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOSPC", "EPIPE")
)


# argparse takes -1e-5 for an option, and says that the one before it lacks its argument.
_NEGATIVE = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-(inf|nan)$", re.IGNORECASE)


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    formatter = _Formatter(prog, max_help_position=26, width=_WIDTH)
    formatter._action_max_length = 14  # argparse forgets that names of commands are indented
    return formatter


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of texts, and breaks what is too long for a terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in wrapped(text.splitlines()))


class _Parser(argparse.ArgumentParser):
    """Keeps the line breaks of help texts, and complains in one line."""

    def __init__(self, **keywords: object) -> None:
        keywords.setdefault("formatter_class", _help_formatter)
        super().__init__(**keywords)  # type: ignore[arg-type]
        self._negative_number_matcher = _NEGATIVE

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does it, but an unknown option is refused here, where it is known best."""
        found, rest = super().parse_known_args(args, namespace)
        for word in rest:
            if word.startswith("--"):
                typed = word.partition("=")[0]
                near = validate.did_you_mean(typed, self._option_string_actions)
                self.error(f"`{typed[:60]}` must be one of its options.{near}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = validate.did_you_mean(str(value), map(str, action.choices))
            allowed = ", ".join(map(str, action.choices))
            what = action.metavar if isinstance(action.metavar, str) else action.dest
            got = validate.shown(value)
            self.error(f"`{what}` must be one of {allowed}, got {got}.{near}")

    def error(self, message: str) -> NoReturn:
        """One line and exit code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """As argparse does it, but help that cannot be written is not passed over."""
        (file or sys.stderr).write(message or "")


class _Messages:
    """Standard error, for messages that may get lost: their reader's absence is no error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes if it can."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes if it can."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    Args:
      arguments: By default those of this process; then the command runs in a child process, so that
        nothing that happens there can pass for an answer. Given ones run here.
    """
    if arguments is not None or not hasattr(os, "fork"):
        return _run(arguments)
    if not open_standard_streams():
        say("standard output must be open, got a closed one.")
        return CRASHED
    return supervised(lambda: _run(None))


def _run(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε gets a question mark
    with contextlib.redirect_stderr(_Messages(sys.stderr)):
        try:
            try:
                options = _parser().parse_args(arguments)
            finally:
                sys.stdout.flush()  # --help has a reader too
            code = int(_answer(options))
            sys.stdout.flush()
            return code
        except OSError as error:
            return _unwritable(error)
        except KeyboardInterrupt as stop:
            code = exit_code(stop)
            print(f"\ndp-assay: {'interrupted' if code == 130 else 'ended'}", file=sys.stderr)
            return code


def _answer(options: argparse.Namespace) -> int:
    """Runs the command; what goes wrong becomes one line and an exit code."""
    try:
        with _quiet() if options.quiet else contextlib.nullcontext():
            return int(options.run(options))
    except UserCrashError as error:
        return _complain(error, CRASHED, str(error))
    except (ValueError, TypeError, dpa.UnsupportedEventError) as error:
        return _complain(error, 2, str(error))
    except KeyboardInterrupt:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _reader_has_gone():
            raise
        ours = isinstance(error, ChildProcessError) or error.errno in _NOT_THE_INPUTS_FAULT
        return _complain(error, CRASHED if ours else 2, str(error))
    except BaseException as error:  # SystemExit included: no code but ours decides how this ends
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        return _complain(error, CRASHED, f"no answer, because of an error: {what}{where}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing is said on standard error; what goes wrong is said after it."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,  # noqa: PTH123
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def _complain(error: BaseException, code: int, text: str) -> int:
    if os.environ.get(_TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    say(text)
    return code


def _reader_has_gone() -> bool:
    """Whether it is our own output that nobody reads, and not some worker's pipe that broke."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return bool(poll.poll(0))
    except (AttributeError, OSError, ValueError):  # no such call here, or no such stream
        return True


def _unwritable(error: OSError) -> int:
    """The answer did not reach its reader; the interpreter's last flush must not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return _PIPE_CLOSED
    return _complain(error, CRASHED, f"the answer could not be written: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dp-assay", description=_DESCRIPTION, epilog=_EPILOG)
    version = importlib.metadata.version("dp-assay")
    parser.add_argument("--version", action="version", version=f"dp-assay {version}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for command in _COMMANDS:
        command.add(commands)
    for one in commands.choices.values():
        one.add_argument(
            "--quiet", action="store_true", help="say nothing beside the answer but what went wrong"
        )
    return parser
