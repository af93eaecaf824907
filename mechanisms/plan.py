"""Transcripts of runs that have not been made: what they would cost."""

from collections.abc import Sequence

import numpy as np

from accountants import validate
from mechanisms.release import SERVER, Contribution, Release, ServerNoise, Transcript
from pvi import Asynchronous, Schedule, Sequential, Synchronous
from pvi.validate import having

# A transcript holds every message; these are some gigabytes already.
_MOST_MESSAGES = 10**7


def plan_rounds(
    contributions: Sequence[Contribution],
    server_noise: ServerNoise,
    rounds: int,
    schedule: Schedule,
) -> Transcript:
    """Rounds of a schedule, each client's messages as many as there can be."""
    releases: list[Release] = []
    having("schedule", schedule, "groups", "stale")
    # A schedule made for other clients refuses these; who reports in this round does not matter.
    schedule.groups(len(contributions), 1, np.random.default_rng(0))
    groups = _most_groups(schedule, len(contributions))
    rounds = validate.count("rounds", rounds)
    messages = rounds * sum(len(group) + 1 for group in groups)
    if messages > _MOST_MESSAGES:
        raise ValueError(
            f"`rounds` must make at most {_MOST_MESSAGES} messages, got {rounds}, which makes "
            f"{messages}."
        )
    for number in range(rounds):
        for position, group in enumerate(groups):
            where = {"round": number + 1, "group": number * len(groups) + position}
            releases.extend(
                Release(value=None, sender=client, source=contributions[client], **where)
                for client in group
            )
            releases.append(Release(value=None, sender=SERVER, source=server_noise, **where))
    return tuple(releases)


def _most_groups(schedule: Schedule, clients: int) -> list[tuple[int, ...]]:
    """Groups such that no round of the schedule costs any client more.

    A client's cost is made of its own messages and of the noise of the others in its group. In a
    group of one there are no others, so who else reports, and when, does not matter; a client of an
    asynchronous schedule may be the one that reports each time.
    """
    alone: list[tuple[int, ...]] = [(client,) for client in range(clients)]
    match schedule:
        case Synchronous():
            return [tuple(range(clients))]
        case Sequential():
            return alone
        case Asynchronous():
            return alone * schedule.updates
    raise TypeError(
        "`schedule` must be Synchronous, Sequential or Asynchronous to be planned for (of another "
        f"nobody knows who reports how often), got {type(schedule).__name__}."
    )
