"""The `dp-assay` command.

Exit codes: 0 nothing refuted, 1 a claim or an accountant refuted, 2 bad input, 130 interrupted.
"""

import argparse
import importlib.metadata
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import dp_accounting as dpa

from audits.cli import (
    audit,
    calibrate,
    claims,
    crosscheck,
    epsilon,
    experiment,
    report,
    study,
    zoo,
)

_COMMANDS = (epsilon, calibrate, crosscheck, experiment, audit, zoo, claims, study, report)
_DESCRIPTION = """\
Is this differential-privacy claim true?

What does it cost?   epsilon, calibrate, crosscheck
Your experiment      plan (before), run, assay (certificate and audit in one)
Is the claim true?   audit (your mechanism), zoo (known flaws), claims (the papers' statements)
What was learnt?     study
All of it            report
"""
_EPILOG = """\
examples:
  dp-assay epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 10000 --delta 1e-5
  dp-assay audit my_file.py:mechanism --noise-multiplier 1

Every command has --help and --json. Exit codes: 0 nothing refuted, 1 a claim refuted or an
outcome that was not expected, 2 bad input. "Not refuted" is no proof.
"""
_INTERRUPTED = 130
_PIPE_CLOSED = 141  # 128 + SIGPIPE, as other commands end


# argparse takes -1e-5 for an option, and says that the one before it lacks its argument.
_NEGATIVE = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-(inf|nan)$", re.IGNORECASE)


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    formatter = argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=100)
    formatter._action_max_length = 14  # argparse forgets that names of commands are indented
    return formatter


class _Parser(argparse.ArgumentParser):
    """Keeps the line breaks of help texts, and complains in one line."""

    def __init__(self, **keywords: object) -> None:
        keywords.setdefault("formatter_class", _help_formatter)
        super().__init__(**keywords)  # type: ignore[arg-type]
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        """One line and exit code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε gets a question mark
    options = _parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except (ValueError, TypeError, dpa.UnsupportedEventError) as error:
        print(f"dp-assay: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output has gone; the interpreter's last flush must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _PIPE_CLOSED
        print(f"dp-assay: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ndp-assay: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dp-assay", description=_DESCRIPTION, epilog=_EPILOG)
    version = importlib.metadata.version("dp-assay")
    parser.add_argument("--version", action="version", version=f"dp-assay {version}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for command in _COMMANDS:
        command.add(commands)
    return parser
