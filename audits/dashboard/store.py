"""What the dashboard remembers: runs and what they told, in one SQLite file.

A run's events and the place up to which its progress file was read are written in one
transaction, so that a dashboard that dies reads no line twice and misses none.
"""

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from accountants import validate

State: TypeAlias = Literal["described", "going", "pausing", "paused", "finished", "failed"]
STATES: tuple[State, ...] = ("described", "going", "pausing", "paused", "finished", "failed")
_VERSION = 1
_TABLES = """
create table runs (
  id integer primary key autoincrement, created real not null, name text not null,
  experiment text not null, plan text not null, form text not null,
  settings text not null default '{}', state text not null default 'described',
  message text not null default '', answer text not null default '',
  told integer not null default 0, tries integer not null default 0
);
create table events (
  run integer not null references runs (id) on delete cascade,
  number integer not null, line text not null, primary key (run, number)
) without rowid;
"""
_COLUMNS = (
    "id, created, name, experiment, plan, form, settings, state, message, answer, told, tries"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A run, from its description to its answer.

    Attributes:
      id: Its number, never given twice.
      created: When it was described, in seconds since 1970.
      name: For people.
      experiment: The experiment's file, TOML.
      plan: What `dp-assay plan --json` said of it, scope by scope.
      form: The fields from which the file was written; empty if it was written by hand.
      settings: What it runs on: data, seed, limit.
      state: Where it is. "going" is what is wanted: its process may still have to be started.
      message: Why it failed, or "".
      answer: What `dp-assay run --json` said in the end; None before.
      told: Up to which byte its progress file has been read.
      tries: How often its process was started since its last new round.
    """

    id: int
    created: float
    name: str
    experiment: str
    plan: list[dict[str, Any]]
    form: dict[str, str]
    settings: dict[str, Any]
    state: State
    message: str
    answer: dict[str, Any] | None
    told: int
    tries: int


class Store:
    """Runs and their events; any thread may ask.

    Args:
      path: The file, made if it is not there, for its owner's eyes only.

    Raises:
      ValueError: The file is of another version, or no such store.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        file = validate.file_name("path", path)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        try:
            self._connection.execute("pragma foreign_keys = on")
            # What a loss of power takes back is whole transactions, which come again.
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            with self._transaction():
                self._prepare(file.name)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise ValueError(
                f"`path` must be a dashboard's store, got {file.name}: {error}."
            ) from error
        except ValueError:
            self._connection.close()
            raise

    def _prepare(self, name: str) -> None:
        (found,) = self._connection.execute("pragma user_version").fetchone()
        tables = self._connection.execute("select count(*) from sqlite_master").fetchone()[0]
        if found == 0 and not tables:
            for statement in filter(str.strip, _TABLES.split(";")):
                self._connection.execute(statement)
            self._connection.execute(f"pragma user_version = {_VERSION}")
        elif found != _VERSION:
            raise ValueError(
                f"`path` must be a dashboard's store of version {_VERSION}, got {name}, which has "
                f"version {found}."
            )

    def add(
        self,
        *,
        name: str,
        experiment: str,
        plan: Sequence[Mapping[str, Any]],
        form: Mapping[str, str] | None = None,
    ) -> int:
        """Remembers what was described; its number."""
        with self._transaction():
            made = self._connection.execute(
                "insert into runs (created, name, experiment, plan, form) values (?, ?, ?, ?, ?)",
                (
                    time.time(),
                    validate.text("name", name),
                    validate.text("experiment", experiment),
                    json.dumps(list(plan)),
                    json.dumps(dict(form or {})),
                ),
            )
        assert made.lastrowid is not None
        return made.lastrowid

    def entries(self, states: Sequence[State] = STATES) -> list[Entry]:
        """The runs in these states, the newest first."""
        marks = ", ".join("?" for _ in states)
        with self._lock:
            rows = self._connection.execute(
                f"select {_COLUMNS} from runs where state in ({marks}) order by id desc",
                tuple(states),
            ).fetchall()
        return [_entry(row) for row in rows]

    def entry(self, run: int) -> Entry:
        """One run.

        Raises:
          KeyError: There is none of that number.
        """
        with self._lock, contextlib.suppress(OverflowError):  # a number of more than 64 bits
            row = self._connection.execute(
                f"select {_COLUMNS} from runs where id = ?", (run,)
            ).fetchone()
            if row is not None:
                return _entry(row)
        raise KeyError(run)

    def move(self, run: int, before: Sequence[State], state: State, message: str = "") -> bool:
        """Whether the run was in one of the states before; if so it is in the new one now."""
        validate.one_of("state", state, STATES)
        marks = ", ".join("?" for _ in before)
        with self._transaction():
            moved = self._connection.execute(
                "update runs set state = ?, message = ?, tries = 0 "
                f"where id = ? and state in ({marks})",
                (state, message, run, *before),
            )
        return moved.rowcount == 1

    def start(self, run: int, settings: Mapping[str, Any], state: State = "going") -> bool:
        """Whether the run was only described; if so it has settings now, and is to go or to wait.

        Args:
          run: Its number.
          settings: What it is to run on.
          state: "going", or "paused" where something is to be done before.
        """
        validate.one_of("state", state, ("going", "paused"))
        with self._transaction():
            moved = self._connection.execute(
                "update runs set settings = ?, state = ? where id = ? and state = 'described'",
                (json.dumps(dict(settings)), state, run),
            )
        return moved.rowcount == 1

    def try_again(self, run: int, tries: int) -> None:
        """Notes how often the run was started since its last new round."""
        with self._transaction():
            self._connection.execute("update runs set tries = ? where id = ?", (tries, run))

    def finish(self, run: int, answer: Mapping[str, Any]) -> None:
        """The run's process has given its answer."""
        with self._transaction():
            self._connection.execute(
                "update runs set answer = ?, state = 'finished', message = '' where id = ?",
                (json.dumps(dict(answer)), run),
            )

    def tell(self, run: int, lines: Sequence[str], told: int, *, progressed: bool) -> None:
        """Appends what the run told, and how far that has been read."""
        with self._transaction():
            (last,) = self._connection.execute(
                "select coalesce(max(number), -1) from events where run = ?", (run,)
            ).fetchone()
            self._connection.executemany(
                "insert into events (run, number, line) values (?, ?, ?)",
                [(run, number, line) for number, line in enumerate(lines, start=last + 1)],
            )
            again = ", tries = 0" if progressed else ""
            self._connection.execute(f"update runs set told = ?{again} where id = ?", (told, run))

    def told(self, run: int, after: int = -1, most: int = 10_000) -> list[tuple[int, str]]:
        """Numbers and lines of the run's events after the one of that number, some at a time."""
        with self._lock:
            rows: list[tuple[int, str]] = self._connection.execute(
                "select number, line from events where run = ? and number > ? "
                "order by number limit ?",
                (run, after, most),
            ).fetchall()
        return rows

    def remove(self, run: int) -> bool:
        """Forgets a run that is not going; whether there was one."""
        with self._transaction():
            gone = self._connection.execute(
                "delete from runs where id = ? and state not in ('going', 'pausing')", (run,)
            )
        return gone.rowcount == 1

    def close(self) -> None:
        """Ends it."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")


def _entry(row: Sequence[Any]) -> Entry:
    given = dict(zip(_COLUMNS.split(", "), row, strict=True))
    for name in ("plan", "form", "settings"):
        given[name] = json.loads(given[name])
    given["answer"] = json.loads(given["answer"]) if given["answer"] else None
    return Entry(**given)
