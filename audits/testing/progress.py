"""A progress line on stderr."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from audits.wording import duration

_WIDTH = 24


@dataclass(slots=True)
class Progress:
    """Shows how far an audit has come; silent unless asked for or on a terminal.

    Args:
      total: The most draws per side.
      shown: `None` shows it on a terminal only.
      stream: Where; stderr by default.
      notice: What is said before the first draw, if anything; asked for only where it is shown.
    """

    total: int
    shown: bool | None = None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    notice: Callable[[], str] = lambda: ""
    _began: float = field(default_factory=time.monotonic)
    _last: float = 0.0
    _written: bool = False

    def begin(self) -> None:
        """Says what is to be known beforehand; time counts from here."""
        self._began = time.monotonic()
        said = self.notice() if self._wanted() else ""
        if said:
            self.stream.write(f"{said}\n")
            self.stream.flush()

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
            f"log wealth {log_wealth:.2f} of {log_threshold:.2f}, {self._left(now, samples)} "
        )
        self.stream.write(line)
        self.stream.flush()
        self._written = True

    def _left(self, now: float, samples: int) -> str:
        """The time that the rest takes at the pace so far, if nothing is refuted before."""
        left = (now - self._began) * (self.total - samples) / max(samples, 1)
        return f"about {duration(left)} left" if left else "done"

    def close(self) -> None:
        """Ends the line."""
        if self._written:
            self.stream.write("\n")
            self.stream.flush()
            self._written = False

    def _wanted(self) -> bool:
        return self.stream.isatty() if self.shown is None else self.shown
