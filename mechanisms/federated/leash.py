"""Runs a command, and ends it with all that it has started when whoever started this dies.

Run as a script: `python leash.py COMMAND …`, with a pipe for standard input whose other end the
parent holds and never writes to. However the parent ends, the system closes the pipe. Needs the
standard library only.
"""

import os
import signal
import subprocess
import sys
import threading
import time

_GRACE = 5.0


def _watch() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGTERM)  # this process, too, but for the handler below
    time.sleep(_GRACE)
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    """The command's exit code."""
    signal.signal(signal.SIGTERM, lambda number, frame: None)  # there may be something left to end
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_watch, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
