"""A run's own process: `dp-assay run` in a folder, alive as long as the folder's lock is held.

The lock is handed to the process when it is made. So there is no moment at which a run goes on
that nobody knows of, whichever of dashboard and run is killed, and when.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mechanisms import durable

_MOST_SHOWN = 2_000


class RunFolder:
    """A run's files, and the process at them.

    Args:
      path: The folder, made when it is needed, for its owner's eyes only: a checkpoint is as
        private as the data.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.experiment = path / "experiment.toml"
        self.checkpoint = path / "checkpoint"
        self.progress = path / "progress.jsonl"
        self.transcript = path / "transcript.json"
        self.federation = path / "federation"
        self._answer = path / "answer.json"
        self._errors = path / "errors.txt"
        self._lock = path / "process.lock"

    def make(self) -> None:
        """Makes the folder, if it is not there."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Starts `dp-assay` with the arguments; None if a process is here already."""
        self.make()
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for checkpoint in self._checkpoints():
                with contextlib.suppress(FileNotFoundError):  # the number of one that is gone
                    os.truncate(checkpoint.with_name("checkpoint.lock"), 0)
            with self._answer.open("wb") as answer, self._errors.open("wb") as errors:
                return subprocess.Popen(
                    [sys.executable, "-m", "audits", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=answer,
                    stderr=errors,
                    pass_fds=[lock],
                    start_new_session=True,  # an interrupt of the dashboard is not the run's
                )
        except BlockingIOError:
            return None
        finally:
            os.close(lock)  # not unlocked: the process has it too

    def is_alive(self) -> bool:
        """Whether a process is at the run, made by this dashboard or by one before it."""
        try:
            lock = os.open(self._lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            # Shared: two who ask at once do not take each other for the run.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def stop(self) -> bool:
        """Asks the process to end; False if it cannot be reached yet, or no more."""
        found = next(filter(None, map(durable.holder, self._checkpoints())), None)
        if not found or not self.is_alive():
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(found, signal.SIGTERM)
            return True
        return False

    def _checkpoints(self) -> tuple[Path, Path]:
        """A run's own, and a coordinator's."""
        return self.checkpoint, self.federation / "checkpoint"

    def answer(self) -> dict[str, Any] | None:
        """What the run said in the end; None if it did not come to its end."""
        try:
            found = json.loads(self._answer.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def errors(self) -> str:
        """The end of what the process said to standard error."""
        try:
            content = self._errors.read_bytes()
        except FileNotFoundError:
            return ""
        return content[-_MOST_SHOWN:].decode("utf-8", errors="replace").strip()
