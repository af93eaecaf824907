"""Events that dp-accounting has no word for."""

from typing import Any

import attr
import dp_accounting as dpa

from accountants import groups, validate

__all__ = ["BallsInBinsDpEvent", "ShuffledDpEvent", "UserDpEvent"]

# Rounding errors grow with the steps of an epoch; at so many they are still far below 1e-4.
_MOST_STEPS = 10**6


def _steps(value: Any) -> int:
    return validate.count("steps_per_epoch", value, maximum=_MOST_STEPS)


def _records(value: Any) -> int:
    return validate.count("records", value, maximum=groups.MOST_RECORDS)


def _share(value: Any) -> float:
    return validate.rate("share", value)


def _event(value: Any) -> dpa.DpEvent:
    return validate.instance("event", value, dpa.DpEvent)


# attrs, as dp-accounting's own events: its serialisation loses a dataclass's fields.
@attr.s(frozen=True, slots=True, auto_attribs=True)
class BallsInBinsDpEvent(dpa.DpEvent):
    """One epoch of balls-in-bins sampling, also known as random allocation.

    Each record, on its own, joins exactly one of the epoch's `steps_per_epoch` steps, uniformly,
    and `event` is applied to each step's records in turn; epochs are composed, each with fresh
    choices.
    """

    steps_per_epoch: int = attr.ib(converter=_steps)
    event: dpa.DpEvent = attr.ib(converter=_event)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledDpEvent(dpa.DpEvent):
    """One epoch of shuffled batches.

    The records, in random order, are cut into `steps_per_epoch` batches, the last of which may be
    smaller, and `event` is applied to each batch in turn; epochs are composed, each with a fresh
    order. Where records are left over and dropped, `share` is a record's chance to be in a batch.
    """

    steps_per_epoch: int = attr.ib(converter=_steps)
    event: dpa.DpEvent = attr.ib(converter=_event)
    share: float = attr.ib(default=1.0, converter=_share)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class UserDpEvent(dpa.DpEvent):
    """`event`, for neighbours that differ in all `records` records of one user, not in one record.

    Each of them moves a sum by at most C. Under ADD_OR_REMOVE_ONE all are added or removed, under
    REPLACE_ONE replaced, under REPLACE_SPECIAL set to zero.
    """

    records: int = attr.ib(converter=_records)
    event: dpa.DpEvent = attr.ib(converter=_event)
