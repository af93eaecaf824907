"""Where a budget's books are kept: in memory, or in a file that others write to as well."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self, TypeAlias

from accountants import validate
from accountants.files import write_atomically
from mechanisms.books import Books, BudgetFileError, Terms, from_json, to_json
from mechanisms.durable import Mark, exclusive

Keep: TypeAlias = Callable[[Books], None]
"""Makes books the present ones; returns once nothing can undo that."""


class Store(Protocol):
    """Holds the present books."""

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        ...

    def read(self) -> Books:
        """The present books, whoever wrote them."""
        ...

    def alone(self) -> AbstractContextManager[Keep]:
        """A time in which nobody else changes the books."""
        ...


class MemoryStore:
    """Books for the threads of one process."""

    path = None

    def __init__(self, books: Books) -> None:
        self._books = books
        self._mutex = threading.Lock()
        self._process = os.getpid()

    def read(self) -> Books:
        """The present books."""
        return self._books

    @contextlib.contextmanager
    def alone(self) -> Iterator[Keep]:
        """Takes the lock; refuses in a forked process, whose bookings would be lost here."""
        if os.getpid() != self._process:
            raise BudgetFileError(
                "a budget without a file must be used by the process that made it: another one's "
                "bookings would be lost. Give it a `path`, and Budget.load it there."
            )
        with self._mutex:
            yield self._keep

    def _keep(self, books: Books) -> None:
        self._books = books


class FileStore:
    """Books in a file, for all who open it. See `Budget` for what this promises.

    Attributes:
      path: The file; symbolic links are followed, so that all names share one lock.
      terms: What the file allows.
    """

    def __init__(self, path: Path, terms: Terms, content: bytes, books: Books) -> None:
        self.path = path
        self.terms = terms
        # The file's content and the books that it means, replaced together.
        self._seen = (content, books)

    @classmethod
    def new(cls, path: str | os.PathLike[str], terms: Terms, books: Books) -> Self:
        """A new file."""
        file = validate.file_name("path", path).resolve()
        store = cls(file, terms, b"", books)
        with exclusive(file) as mark:
            if file.exists():
                raise FileExistsError(
                    f"`path` must not exist yet, got {file}: Budget.load resumes it."
                )
            known = mark.read()
            if known is not None:
                raise BudgetFileError(
                    f"{file} is gone, but its lock has seen booking {known[1]} of budget "
                    f"{known[0]}: bring the file back, or delete the lock to accept the loss."
                )
            store._keep(books, mark)
        return store

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The file that is there."""
        file = validate.file_name("path", path).resolve(strict=True)
        with exclusive(file) as mark:
            content = file.read_bytes()
            store = cls(file, *_with_content(content))
            store._compare(mark)
        return store

    def read(self) -> Books:
        """The books in the file, which must include what was seen in it before."""
        # Taken first: what another thread sees in the meantime is newer than what is read here.
        return self._look(self._seen)[1]

    @contextlib.contextmanager
    def alone(self) -> Iterator[Keep]:
        """Takes the lock and looks what others have written."""
        with exclusive(self.path) as mark:
            self._seen = self._look(self._seen)
            self._compare(mark)
            yield lambda books: self._keep(books, mark)

    def _look(self, seen: tuple[bytes, Books]) -> tuple[bytes, Books]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError as error:
            raise BudgetFileError(f"{self.path} is gone, and with it what was spent.") from error
        if content == seen[0]:
            return seen
        terms, books = from_json(content)
        if terms != self.terms or not books.includes(seen[1]):
            raise BudgetFileError(
                f"{self.path} no longer holds booking {seen[1].generation} of budget "
                f"{seen[1].identity}, which was there: another file, or an older one, was put in "
                "its place."
            )
        return content, books

    def _compare(self, mark: Mark) -> None:
        """Refuses a file that is older than the lock remembers."""
        books, known = self._seen[1], mark.read()
        if known is not None and (known[0] != books.identity or known[1] > books.generation):
            raise BudgetFileError(
                f"{self.path} is at booking {books.generation} of budget {books.identity}, but its "
                f"lock has seen booking {known[1]} of budget {known[0]}: an older copy was put "
                "back. Bring the newest file, or delete the lock to accept the loss."
            )

    def _keep(self, books: Books, mark: Mark) -> None:
        content = to_json(self.terms, books).encode("utf-8")
        write_atomically(self.path, content)
        mark.write(books.identity, books.generation)
        self._seen = (content, books)


def _with_content(content: bytes) -> tuple[Terms, bytes, Books]:
    terms, books = from_json(content)
    return terms, content, books
