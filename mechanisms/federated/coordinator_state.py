"""What a coordinator must not forget, as one file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms import transcript_file
from mechanisms.private_run import Recorder
from pvi import CheckpointError, MeanFieldGaussian, Packed, Server
from pvi.archive import decode, encode
from pvi.federation_state import Saved
from pvi.files import write_atomically
from pvi.generator_state import checked_state

_KIND = "coordinator"


@dataclass(slots=True)
class Course:
    """How far a run has come, beside what the server knows.

    Attributes:
      run: Its name.
      made: Rounds that are over.
      groups: The groups of the round in progress; empty between rounds.
      place: How many of them are done.
      before: The posterior at the round's beginning.
      held: For stale schedules, the posterior that each client works from, and its round.
      shares: Revisions that somebody may not have followed yet, by number.
      revisions: How many there have been.
      heard: For each client, how many revisions it has followed.
      left_out: Clients that answer no more, and why.
      updated: Who has sent an update in this round, in order.
      stray: Clients whose last answer did not come.
      change: Of the last round.
      note: About the last round.
    """

    run: str
    before: FloatArray
    heard: list[int]
    made: int = 0
    groups: list[list[int]] = field(default_factory=list)
    place: int = 0
    held: dict[int, tuple[int, MeanFieldGaussian]] = field(default_factory=dict)
    shares: dict[int, tuple[Literal["adopt", "reset"], MeanFieldGaussian]] = field(
        default_factory=dict
    )
    revisions: int = 0
    left_out: dict[int, str] = field(default_factory=dict)
    updated: list[int] = field(default_factory=list)
    stray: set[int] = field(default_factory=set)
    change: float = 0.0
    note: str = ""


def save(
    path: Path,
    experiment: str,
    server: Server,
    course: Course,
    recorder: Recorder,
    rng: np.random.Generator,
) -> None:
    """Writes the file; whoever reads it sees the old one or this one."""
    transcript = transcript_file.pack(recorder.releases)
    arrays: dict[str, Any] = {
        "prior": server.prior.vector,
        "posterior": server.posterior.vector,
        "offset": server.offset.vector,
        "before": course.before,
    }
    arrays |= {f"release/{name}": value for name, value in transcript.arrays.items()}
    arrays |= {f"held/{m}": posterior.vector for m, (_, posterior) in course.held.items()}
    arrays |= {f"share/{number}": share.vector for number, (_, share) in course.shares.items()}
    for m, last in enumerate(server.last):
        if last is not None:
            arrays[f"last/{m}"] = last.change.vector
    facts = {
        "experiment": experiment,
        "run": course.run,
        "round": server.round,
        "resolved": server.resolved,
        "applied": server.applied,
        "last": [None if last is None else last.round for last in server.last],
        "made": course.made,
        "groups": course.groups,
        "place": course.place,
        "held": [[m, made] for m, (made, _) in course.held.items()],
        "shares": [[number, kind] for number, (kind, _) in course.shares.items()],
        "revisions": course.revisions,
        "heard": course.heard,
        "left_out": [[m, why] for m, why in course.left_out.items()],
        "updated": course.updated,
        "stray": sorted(course.stray),
        "change": course.change,
        "note": course.note,
        "transcript": transcript.facts,
        "group": recorder.group,
        "rng": rng.bit_generator.state,
    }
    write_atomically(path, encode(_KIND, Packed(facts, arrays)))


def load(
    path: Path,
    experiment: str,
    server: Server,
    recorder: Recorder,
    rng: np.random.Generator,
) -> Course:
    """Puts a saved state into a new server, recorder and generator; gives the rest.

    Raises:
      CheckpointError: The file is damaged or of another run. Nothing has changed then.
    """
    try:
        return _load(decode(_KIND, path.read_bytes()), experiment, server, recorder, rng)
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be gone on from: {error}") from error
    except (KeyError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be gone on from, it holds {error!r}") from error


def _load(
    packed: Packed,
    experiment: str,
    server: Server,
    recorder: Recorder,
    rng: np.random.Generator,
) -> Course:
    facts, arrays = packed.facts, dict(packed.arrays)
    if facts["experiment"] != experiment:
        raise CheckpointError("it was saved for another experiment")
    clients = len(server.resolved)
    values = {name: arrays.pop(f"release/{name}") for name in _below("release/", arrays)}
    releases = transcript_file.unpack(Packed(facts["transcript"], values), clients)
    saved = Saved(Packed({}, arrays), server.prior.dimension)
    if not np.array_equal(saved.take("prior"), server.prior.vector):
        raise CheckpointError("it was saved with another prior")
    rounds = validate.count("round", facts["round"], minimum=0)
    resolved = [validate.count("resolved", number, minimum=0) for number in facts["resolved"]]
    applied = [validate.flag("applied", value) for value in facts["applied"]]
    heard = [validate.count("heard", number, minimum=0) for number in facts["heard"]]
    if not len(resolved) == len(applied) == len(heard) == len(facts["last"]) == clients:
        raise CheckpointError(f"it has other than {clients} clients")
    last = [
        None if made is None else saved.update(f"last/{m}", m, made, resolved[m], rounds)
        for m, made in enumerate(facts["last"])
    ]
    posterior = saved.gaussian("posterior").require_proper()
    offset = saved.gaussian("offset")
    course = Course(
        run=validate.text("run", facts["run"]),
        before=saved.take("before"),
        heard=heard,
        made=validate.count("made", facts["made"], minimum=0),
        groups=[[int(m) for m in group] for group in facts["groups"]],
        place=validate.count("place", facts["place"], minimum=0),
        held={m: (made, saved.gaussian(f"held/{m}")) for m, made in facts["held"]},
        shares={
            number: (kind, saved.gaussian(f"share/{number}")) for number, kind in facts["shares"]
        },
        revisions=validate.count("revisions", facts["revisions"], minimum=0),
        left_out={int(m): str(why) for m, why in facts["left_out"]},
        updated=[int(m) for m in facts["updated"]],
        stray={int(m) for m in facts["stray"]},
        change=float(facts["change"]),
        note=str(facts["note"]),
    )
    group = validate.count("group", facts["group"], minimum=0)
    saved.require_empty()
    rng.bit_generator.state = checked_state(facts["rng"], rng)
    server.posterior, server.offset, server.round = posterior, offset, rounds
    server.resolved, server.applied, server.last = resolved, applied, last
    recorder.releases, recorder.group = list(releases), group
    return course


def _below(prefix: str, arrays: dict[str, Any]) -> list[str]:
    return [name.removeprefix(prefix) for name in arrays if name.startswith(prefix)]
