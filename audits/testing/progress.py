"""A progress line on stderr."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

_WIDTH = 24


@dataclass(slots=True)
class Progress:
    """Shows how far an audit has come; silent unless asked for or on a terminal.

    Args:
      total: The most draws per side.
      shown: `None` shows it on a terminal only.
      stream: Where; stderr by default.
    """

    total: int
    shown: bool | None = None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _last: float = 0.0
    _written: bool = False

    def update(self, samples: int, log_wealth: float, log_threshold: float) -> None:
        """Redraws the line, at most ten times a second."""
        if not self._wanted():
            return
        now = time.monotonic()
        if now - self._last < 0.1 and samples < self.total:
            return
        self._last = now
        full = round(_WIDTH * min(1.0, samples / self.total))
        line = (
            f"\r[{'#' * full}{'.' * (_WIDTH - full)}] {samples:,}/{self.total:,} draws per side, "
            f"log wealth {log_wealth:.2f} of {log_threshold:.2f} "
        )
        self.stream.write(line)
        self.stream.flush()
        self._written = True

    def close(self) -> None:
        """Ends the line."""
        if self._written:
            self.stream.write("\n")
            self.stream.flush()
            self._written = False

    def _wanted(self) -> bool:
        return self.stream.isatty() if self.shown is None else self.shown
