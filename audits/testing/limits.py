"""A limit on the time of one call: a mechanism may loop for ever on data that it does not like."""

import contextlib
import math
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class CallTimeoutError(BaseException):
    """A call of the mechanism took longer than it was given; nothing that it catches itself."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `CallTimeoutError` inside the block once its time is up.

    By a signal, so in the main thread of a process on systems that have it; elsewhere the block
    takes as long as it takes. A call that is inside of compiled code is interrupted when that
    returns.
    """
    free = (
        signal.getsignal(signal.SIGALRM) is signal.SIG_DFL if hasattr(signal, "SIGALRM") else False
    )
    if not free or math.isinf(seconds) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise CallTimeoutError(f"the mechanism gave no answer within {seconds:g} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
