"""A command runs in a process of its own, and is believed only if it says how it ended.

Code that is audited shares the command's process. It may call `os._exit(0)`, crash the interpreter
or use up the memory; an exit code of the operating system would then pass for a verdict. So the
command's process tells its code to the one that started it as the last thing, after its answer is
written; where nothing is told, the code is `CRASHED`. That guards against accidents; code that is
out to deceive its audit can do so in easier ways.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing import util
from types import FrameType
from typing import NoReturn

CRASHED = 3
"""The exit code where there is no answer, through an error of ours or of the audited code."""
_PATIENCE_SECONDS = 10
_STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Stopped(KeyboardInterrupt):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(stop: KeyboardInterrupt) -> int:
    """As a shell has it: 130 for an interrupt, 143 for a termination."""
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def say(text: str) -> None:
    """A message for whoever reads; if nobody does, the exit code must do."""
    with contextlib.suppress(OSError):
        print(f"dp-assay: {text}", file=sys.stderr, flush=True)


def open_standard_streams() -> bool:
    """Whether there is a standard output; what is closed leads nowhere afterwards.

    A file opened later would otherwise get the number of a closed stream, and with it whatever some
    library prints there; and `print(…, file=None)` would mix messages into the answer.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    return sys.stdout is not None


def supervised(command: Callable[[], int]) -> int:
    """The exit code that `command` returned in a child process; `CRASHED` if it returned none.

    Signals that end a command are passed on to the child, which gets some seconds to clean up; if
    this process is killed, the child ends too.
    """
    told, tell = os.pipe()
    ended, alive = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    child = os.fork()
    if child == 0:
        os.close(told)
        os.close(alive)
        threading.Thread(target=_end_with_the_parent, args=(ended,), daemon=True).start()
        _be_the_command(command, tell)
    os.close(tell)
    os.close(ended)
    received: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        if received:
            os.kill(child, signal.SIGKILL)
            return
        received.append(number)
        os.kill(child, number)
        signal.signal(signal.SIGALRM, forward)
        signal.alarm(_PATIENCE_SECONDS)

    _listen(forward)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    os.set_blocking(told, False)  # a process that the audited code left behind may hold it open
    with contextlib.suppress(BlockingIOError):
        if code := os.read(told, 1):
            return code[0]
    if received:
        return 128 + received[0]
    ending = os.waitstatus_to_exitcode(status)
    how = f"with exit code {ending}" if ending >= 0 else f"by {signal.Signals(-ending).name}"
    say(
        f"no answer: the command's process was ended {how}, by the code that it ran or by the "
        "system (for want of memory, perhaps)."
    )
    return CRASHED


def _be_the_command(command: Callable[[], int], tell: int) -> NoReturn:
    """Runs the command in the child, tells its code, and ends."""
    code = CRASHED
    own = os.getpid()
    atexit._clear()  # what the other process has registered is its own to clean up

    def stop(number: int, _: FrameType | None) -> NoReturn:
        # Once is enough: cleaning up is not to be interrupted.
        for other in _STOPPING:
            signal.signal(other, lambda *_: None)
        raise Stopped(number)

    def unraisable(found: "sys.UnraisableHookArgs") -> None:
        """A stop that came inside of a destructor is lost there: it comes again a little later."""
        if isinstance(found.exc_value, Stopped):
            number = found.exc_value.number
            signal.signal(signal.SIGALRM, lambda *_: stop(number, None))
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            sys.__unraisablehook__(found)

    sys.unraisablehook = unraisable
    try:
        _listen(stop)
        code = command()
    except SystemExit as leaving:  # the parser's, for --help and for what it does not understand
        code = leaving.code if isinstance(leaving.code, int) else CRASHED
    except KeyboardInterrupt as stopped:
        code = exit_code(stopped)
    finally:
        if os.getpid() == own:  # not a copy that the audited code has made of this process
            with contextlib.suppress(OSError):
                os.write(tell, bytes([code]))
            with contextlib.suppress(BaseException):
                atexit._run_exitfuncs()
                # Registered before the fork, so not among those.
                util._exit_function()  # type: ignore[attr-defined]
        os._exit(code)


def _listen(handler: Callable[[int, FrameType | None], None]) -> None:
    """Handles the stopping signals from now on, but for those that a caller had ignored."""
    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)


def _end_with_the_parent(ended: int) -> None:
    os.read(ended, 1)  # returns when the other end is closed
    os._exit(CRASHED)
