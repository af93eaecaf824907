"""What the checks of TMLR's theorems share: the scope, and a plan's multiplier."""

from dp_accounting import GaussianDpEvent, NeighboringRelation

from mechanisms import MESSAGES, Scope, Transcript, View, project

DELTA = 1e-5


def record_scope(view: View = MESSAGES) -> Scope:
    """One record replaced, as TMLR defines neighbours."""
    return Scope(relation=NeighboringRelation.REPLACE_ONE, view=view)


def multiplier(plan: Transcript, view: View = MESSAGES) -> float:
    """The multiplier std/C that a plan of one round has for a REPLACE_ONE accountant."""
    event = project(plan, record_scope(view))
    assert isinstance(event, GaussianDpEvent)
    return float(event.noise_multiplier)
