"""Events that dp-accounting has no word for."""

import attr
import dp_accounting as dpa

__all__ = ["BallsInBinsDpEvent"]


# attrs, as dp-accounting's own events: its serialisation loses a dataclass's fields.
@attr.s(frozen=True, slots=True, auto_attribs=True)
class BallsInBinsDpEvent(dpa.DpEvent):
    """One epoch of balls-in-bins sampling, also known as random allocation.

    Each record, on its own, joins exactly one of the epoch's `steps_per_epoch` steps, uniformly,
    and `event` is applied to each step's records in turn; epochs are composed, each with fresh
    choices.
    """

    steps_per_epoch: int
    event: dpa.DpEvent
