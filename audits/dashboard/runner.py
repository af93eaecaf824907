"""Whoever keeps the runs going: each a process of its own, started again where it was ended.

What is wanted stands in the store, what is there shows in the run's folder, and `tend` brings the
second nearer to the first. So it does not matter when the dashboard or a run is killed: whoever
tends next finds both as they are.
"""

import logging
import shutil
import subprocess
import threading
import time
from pathlib import Path

from accountants import validate
from audits.dashboard.process import RunFolder
from audits.dashboard.settings import Settings
from audits.dashboard.store import Entry, Store
from mechanisms.progress import RoundEnded, to_json
from mechanisms.progress_file import read_progress

MOST_TRIES = 3
"""A run that ends so often without a new round is not started again."""

_PAUSE = 0.2
_FAREWELL = 5.0  # less than a command has to end once it is asked to
_BAD_INPUT = 2  # exit code: the same input will be refused again
_log = logging.getLogger(__name__)


class Runner:
    """Keeps the runs of a store going.

    Args:
      store: What is wanted, and what the runs told.
      folder: Where each run has a folder of its own.
      at_once: How many runs may go at a time; the others wait.
    """

    def __init__(self, store: Store, folder: Path, *, at_once: int = 2) -> None:
        self._store = store
        self._folder = folder
        self._at_once = validate.count("at_once", at_once)
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._asked: set[int] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_tending, name="runner", daemon=True)

    def folder_of(self, run: int) -> RunFolder:
        """Where the run's files are."""
        return RunFolder(self._folder / str(run))

    def begin(self) -> None:
        """Tends from now on, in a thread of its own."""
        for entry in self._store.entries(("going",)):
            self._store.try_again(entry.id, 0)
        self._thread.start()

    def end(self) -> None:
        """Tends no more, and ends the processes; the next runner goes on from their checkpoints."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        alive = [self.folder_of(e.id) for e in self._store.entries(("going", "pausing"))]
        given_up = time.monotonic() + _FAREWELL
        while (alive := [one for one in alive if one.is_alive()]) and time.monotonic() < given_up:
            for one in alive:
                one.stop()
            time.sleep(_PAUSE)
        self._reap()

    def tend(self) -> None:
        """Looks once after each run that is to go or to pause."""
        self._reap()
        entries = self._store.entries(("going", "pausing"))
        alive = {entry.id for entry in entries if self.folder_of(entry.id).is_alive()}
        for entry in reversed(entries):  # the first that was described goes first
            try:
                if entry.id in alive:
                    self._look_after(entry)
                elif self._settle(entry) and len(alive) < self._at_once:
                    self._start(entry)
                    alive.add(entry.id)
            except OSError:  # a full disk, say, or a folder that is gone; the others go on
                _log.exception("run %d could not be looked after", entry.id)

    def remove(self, run: int) -> bool:
        """Forgets a run that is not going, and deletes its files; whether there was one."""
        if not self._store.remove(run):
            return False
        shutil.rmtree(self._folder / str(run), ignore_errors=True)
        return True

    def _keep_tending(self) -> None:
        while not self._done.wait(_PAUSE):
            try:
                self.tend()
            except Exception:  # a full disk, say; it may be better the next time
                _log.exception("the runs could not be looked after")
                self._done.wait(1.0)

    def _reap(self) -> None:
        for child in self._children.values():
            child.poll()

    def _look_after(self, entry: Entry) -> None:
        """Hears what a run that goes has to say, and ends its process if it is to pause."""
        self._listen(entry)
        asked = entry.id in self._asked
        if entry.state == "pausing" and not asked and self.folder_of(entry.id).stop():
            self._asked.add(entry.id)

    def _listen(self, entry: Entry) -> None:
        """Takes down what the run has told since the last time."""
        told = entry.told
        while True:
            events, end = read_progress(self.folder_of(entry.id).progress, told)
            if end == told:
                return
            new = any(isinstance(e, RoundEnded) and e.seconds is not None for e in events)
            self._store.tell(entry.id, [to_json(e) for e in events], end, progressed=new)
            told = end

    def _settle(self, entry: Entry) -> bool:
        """Whether the run, which no process is at, is to be started."""
        folder = self.folder_of(entry.id)
        self._listen(entry)
        self._asked.discard(entry.id)
        child = self._children.pop(entry.id, None)
        if (answer := folder.answer()) is not None:
            self._store.finish(entry.id, answer)
            return False
        if entry.state == "pausing":
            self._store.move(entry.id, ["pausing"], "paused")
            return False
        tries = self._store.entry(entry.id).tries
        refused = child is not None and child.returncode == _BAD_INPUT
        if refused or tries >= MOST_TRIES:
            reason = folder.errors() or "The run's process was ended again and again."
            self._store.move(entry.id, ["going"], "failed", reason)
            return False
        return True

    def _start(self, entry: Entry) -> None:
        folder = self.folder_of(entry.id)
        folder.make()
        folder.experiment.write_text(entry.experiment, encoding="utf-8")
        try:
            arguments = Settings.of(entry.settings).arguments(folder)
        except (ValueError, TypeError, OSError) as error:
            self._store.move(entry.id, ["going"], "failed", str(error))
            return
        if child := folder.start(arguments):  # else somebody asks just now whether it is alive
            self._children[entry.id] = child
            self._store.try_again(entry.id, self._store.entry(entry.id).tries + 1)
