"""Transcripts as plain arrays and facts, and back, through an allow-list.

The facts behind a message are few and repeat, so each occurs once and releases name it by number.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from accountants import codec, validate
from mechanisms.primitives.sampling import (
    AllRecords,
    BallsInBins,
    FixedSize,
    Poisson,
    Sampling,
    Shuffled,
)
from mechanisms.release import SERVER, Contribution, Release, ServerNoise, Transcript
from mechanisms.scope import Scope
from pvi import CheckpointError, Packed

_SAMPLINGS: Mapping[str, type[Any]] = {
    kind.__name__: kind for kind in (AllRecords, Poisson, BallsInBins, FixedSize, Shuffled)
}
_RELEASE = {"round", "group", "sender", "source", "value"}
_MOST_CLIENTS = 2**31
_SOURCES: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Contribution, ServerNoise)}


def pack(transcript: Sequence[Release]) -> Packed:
    """The transcript in plain things.

    Raises:
      CheckpointError: A sampling scheme is none that a file may name.
    """
    sources: list[Contribution | ServerNoise] = []
    numbers: dict[Contribution | ServerNoise, int] = {}
    for release in transcript:
        if release.source not in numbers:
            numbers[release.source] = len(sources)
            sources.append(release.source)
    facts = {
        "sources": [encode(source) for source in sources],
        "releases": [[r.round, r.group, numbers[r.source]] for r in transcript],
    }
    values = {str(i): r.value for i, r in enumerate(transcript) if r.value is not None}
    return Packed(facts, values)


def unpack(packed: Packed, clients: int) -> Transcript:
    """What `pack` was given; any exception means that it was something else."""
    sources = [decode(source, clients) for source in packed.facts["sources"]]
    values = dict(packed.arrays)
    found, last = [], 0
    for number, (round_number, group, index) in enumerate(packed.facts["releases"]):
        if validate.count("group", group, minimum=last) not in (last, last + 1) or index < 0:
            raise CheckpointError(f"release {number} cannot follow the one before it")
        source, last = sources[index], group
        found.append(
            Release(
                value=_finite(number, values.pop(str(number), None)),
                sender=source.client if isinstance(source, Contribution) else -1,
                round=validate.count("round", round_number),
                group=group,
                source=source,
            )
        )
    if values:
        raise CheckpointError(f"values belong to no release: {sorted(values)}")
    return tuple(found)


def public_json(transcript: Sequence[Release], scopes: Sequence[Scope]) -> str:
    """The transcript as JSON for those who may see what the scopes' adversaries see, no more.

    Clients' messages have their values only if every scope is about an adversary who sees them;
    otherwise a certificate would not hold against a reader of this text. Facts are public.

    >>> public_json([], [])
    '{"format": "dp-assay/transcript", "version": 1, "sources": [], "releases": []}'
    """
    packed = pack(transcript)
    shows_messages = all(scope.view.kind == "messages" for scope in scopes)
    releases = []
    for (round_number, group, source), release in zip(
        packed.facts["releases"], transcript, strict=True
    ):
        shown = release.sender == SERVER or shows_messages
        value = release.value.tolist() if shown and release.value is not None else None
        releases.append(
            {
                "round": round_number,
                "group": group,
                "sender": "server" if release.sender == SERVER else release.sender,
                "source": source,
                "value": value,
            }
        )
    document = {"format": "dp-assay/transcript", "version": codec.VERSION}
    return json.dumps(
        document | {"sources": packed.facts["sources"], "releases": releases}, allow_nan=False
    )


def from_public_json(text: str) -> Transcript:
    """The transcript that `public_json` wrote, without its values: what it cost needs none.

    Raises:
      ValueError: It is anything else.

    >>> from_public_json(public_json([], []))
    ()
    """
    body = codec.load_document("dp-assay/transcript", text)
    codec.expect_keys("transcript", body, {"sources", "releases"})
    facts = {"sources": body["sources"], "releases": []}
    for entry in codec.expect(list, "releases", body["releases"]):
        codec.expect_keys("releases", codec.expect(dict, "releases", entry), _RELEASE)
        facts["releases"].append([entry["round"], entry["group"], entry["source"]])
    try:
        codec.expect(list, "sources", body["sources"])
        found = unpack(Packed(facts, {}), clients=_MOST_CLIENTS)
    except (KeyError, TypeError, IndexError, CheckpointError) as error:
        raise ValueError(f"`text` must be a transcript, got: {error}.") from error
    for release, entry in zip(found, body["releases"], strict=True):
        sender = "server" if release.sender == SERVER else release.sender
        if entry["sender"] != sender:
            got = validate.shown(entry["sender"])
            raise ValueError(f"`sender` must be {sender!r}, as its source says, got {got}.")
    return found


def encode(source: Contribution | ServerNoise) -> dict[str, Any]:
    """The facts behind a message."""
    fields = {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}
    if isinstance(source, Contribution):
        fields["sampling"] = _encode_sampling(source.sampling)
    return {"type": type(source).__name__} | fields


def _encode_sampling(sampling: Sampling) -> dict[str, Any]:
    name = type(sampling).__name__
    if _SAMPLINGS.get(name) is not type(sampling):
        raise CheckpointError(f"`sampling` must be one of {sorted(_SAMPLINGS)}, got {sampling!r}")
    fields: dict[str, Any] = dataclasses.asdict(sampling)  # type: ignore[call-overload]
    return {"type": name} | fields


def decode(data: Any, clients: int) -> Contribution | ServerNoise:
    """What `encode` was given; any exception means that it was something else."""
    body = dict(codec.expect(dict, "source", data))
    kind = _SOURCES[body.pop("type")]
    codec.expect_keys("source", body, {field.name for field in dataclasses.fields(kind)})
    if kind is Contribution:
        scheme = dict(body["sampling"])
        body["sampling"] = _SAMPLINGS[scheme.pop("type")](**scheme)
        body["extra_multipliers"] = tuple(body["extra_multipliers"])
        if body["client"] >= clients:
            raise CheckpointError(f"a release is client {body['client']}'s; there are {clients}")
    source: Contribution | ServerNoise = kind(**body)
    return source


def _finite(number: int, value: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
    if value is not None and not np.isfinite(value).all():
        raise CheckpointError(f"the value of release {number} is not finite")
    return value
