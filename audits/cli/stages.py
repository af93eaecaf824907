"""A line on stderr that says what a long computation is doing, and how much of it is done."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(slots=True)
class StageLine:
    """Redrawn at most ten times a second, and on a terminal only unless asked for.

    Args:
      shown: `None` shows it on a terminal only.
      stream: Where; stderr by default.
    """

    shown: bool | None = None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _last: float = -1.0
    _widest: int = 0

    def update(self, what: str, done: int, of: int) -> None:
        """What is being done, how much of it is done, and of how much."""
        wanted = self.stream.isatty() if self.shown is None else self.shown
        now = time.monotonic()
        if not wanted or (now - self._last < 0.1 and done < of):
            return
        self._last = now
        line = f"{what}: {done:,} of {of:,}"
        self._widest = max(self._widest, len(line))
        self.stream.write(f"\r{line:<{self._widest}}")
        self.stream.flush()

    def close(self) -> None:
        """Ends the line, if there is one."""
        if self._widest:
            self.stream.write("\n")
            self.stream.flush()
            self._widest = 0
