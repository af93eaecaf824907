"""Transcripts of runs that have not been made: what they would cost."""

from collections.abc import Sequence

from accountants import validate
from mechanisms.release import SERVER, Contribution, Release, ServerNoise, Transcript


def plan_rounds(
    contributions: Sequence[Contribution], server_noise: ServerNoise, rounds: int
) -> Transcript:
    """Synchronous rounds in which every client sends one message."""
    releases: list[Release] = []
    for number in range(validate.count("rounds", rounds)):
        releases.extend(
            Release(value=None, sender=own.client, round=number + 1, group=number, source=own)
            for own in contributions
        )
        releases.append(
            Release(value=None, sender=SERVER, round=number + 1, group=number, source=server_noise)
        )
    return tuple(releases)
