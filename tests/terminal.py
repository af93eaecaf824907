"""Processes of tests as a terminal starts them."""

import signal


def as_from_a_terminal() -> None:
    """For `preexec_fn`: a suite in the background or under nohup has inherited "ignore"."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
