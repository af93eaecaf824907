"""While `dp-assay` loads, an interrupt ends it at once and without a traceback.

Loading takes a second or two, before any code of the command could handle a signal. So this is
imported first of all. In any other program it does nothing. The tenth of a second in which Python
itself starts is out of reach.
"""

import os.path
import signal
import sys


def is_the_command(arguments: list[str], program: str) -> bool:
    """Whether the interpreter was started as `dp-assay` or as `python -m audits`.

    >>> is_the_command(["python", "-m", "audits", "zoo"], "-m")
    True
    >>> is_the_command(["python", "-m", "pytest", "audits"], "-m")
    False
    """
    if os.path.splitext(os.path.basename(program))[0] == "dp-assay":  # noqa: PTH119, PTH122
        return True
    return program == "-m" and "audits" in arguments[arguments.index("-m") + 1 :][:1]


if is_the_command(sys.orig_argv, sys.argv[0] if sys.argv else "") and (
    signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
