"""Refusals."""

from dp_accounting import UnsupportedEventError


def refuse(reason: str) -> UnsupportedEventError:
    """The error that says why a question has no proven answer here."""
    return UnsupportedEventError(f"no event: {reason}.")
