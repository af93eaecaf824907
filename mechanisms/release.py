"""What was released: values, each with the facts from which its cost follows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms.primitives.sampling import AllRecords, Sampling
from pvi.validate import having, sequence

SERVER = -1
"""The sender of what the server or the aggregator releases."""

Clips: TypeAlias = Literal["record", "part"]
Assignment: TypeAlias = Literal["identity", "position"]
ASSIGNMENTS: tuple[Assignment, ...] = ("identity", "position")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """How a client's data entered one message: the facts that `project` turns into an event.

    In each of `steps` steps the client forms a sum of vectors of norm at most `clip_norm`, adds
    Gaussian noise of standard deviation `noise_std` to each coordinate, and multiplies by a public
    number, `weight`; the message is a function of the results and of earlier releases.

    Attributes:
      client: Whose data.
      clips: What has norm at most `clip_norm`: each "record"'s vector, or each "part"'s, where a
        part is a shard of the client's data (one part: the client's whole data).
      clip_norm: C.
      noise_std: Of the client's own noise; 0 where only the server adds noise.
      steps: Noisy sums behind this message.
      parts: Parts in a sum.
      weight: What multiplies sum and noise before clients' messages are added up.
      sampling: Which records enter a step; for `clips="record"` only.
      extra_multipliers: Noise multipliers of further queries about the same batch.
      assignment: Whether a record's part follows from its "identity" alone, or from its "position"
        among the others (then one record more or less moves the others).
      uses_size: Whether the number of records acts outside of what is clipped.
      noise_shares: Independent noises that the message's noise is the sum of.
      remembers_noise: Whether the client's later messages depend on these noises.
      summed: Whether the message is weight · (sum + noise) itself, so that sums over clients hide
        it among others. Otherwise a view of the sums is answered as if messages were seen, which
        show at least as much.
      grid: The spacing of discrete noise; None for continuous noise.
      coordinates: The number of coordinates that are noised.
    """

    client: int
    clips: Clips
    clip_norm: float
    noise_std: float
    steps: int = 1
    parts: int = 1
    weight: float = 1.0
    sampling: Sampling = field(default_factory=AllRecords)
    extra_multipliers: tuple[float, ...] = ()
    assignment: Assignment = "identity"
    uses_size: bool = False
    noise_shares: int = 1
    remembers_noise: bool = False
    summed: bool = True
    grid: float | None = None
    coordinates: int = 1

    def __post_init__(self) -> None:
        validate.count("client", self.client, minimum=0)
        validate.one_of("clips", self.clips, ("record", "part"))
        validate.positive("clip_norm", self.clip_norm)
        validate.non_negative("noise_std", self.noise_std)
        for name in ("steps", "parts", "noise_shares", "coordinates"):
            validate.count(name, getattr(self, name))
        validate.positive("weight", self.weight)
        extra = self.extra_multipliers
        if isinstance(extra, Iterator):  # is read once: run dry, it would lose its values
            extra = tuple(validate.positive("extra_multipliers", m) for m in extra)
        extra = validate.sequence("extra_multipliers", extra, validate.positive)
        object.__setattr__(self, "extra_multipliers", extra)
        validate.one_of("assignment", self.assignment, ASSIGNMENTS)
        having("sampling", self.sampling, "sampler", "scale")
        for name in ("uses_size", "remembers_noise", "summed"):
            validate.flag(name, getattr(self, name))
        if self.grid is not None:
            validate.positive("grid", self.grid)
        if self.clips == "part" and (self.steps != 1 or self.sampling != AllRecords()):
            raise ValueError("`steps` and `sampling` must be left alone where parts are clipped.")
        if self.clips == "record" and self.summed:
            raise ValueError("`summed` must be False where records are clipped in local steps.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNoise:
    """The noise that a trusted server adds to the sum of a group of messages.

    Attributes:
      noise_std: Its standard deviation; 0 where the server only adds up.
      told_to_clients: Whether each client's factor learns its part of this noise.
      grid: The spacing of discrete noise; None for continuous noise.
      coordinates: The number of coordinates that are noised.
    """

    noise_std: float = 0.0
    told_to_clients: bool = False
    grid: float | None = None
    coordinates: int = 1

    def __post_init__(self) -> None:
        validate.non_negative("noise_std", self.noise_std)
        validate.flag("told_to_clients", self.told_to_clients)
        if self.grid is not None:
            validate.positive("grid", self.grid)
        validate.count("coordinates", self.coordinates)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """One message, with its cost; a value cannot exist without it.

    Attributes:
      value: What was sent, (..., p); None in a plan, where nothing has been sent yet.
      sender: A client's number, or `SERVER`.
      round: The server's round.
      group: Messages of one group are added up before anyone but the aggregator sees them.
      source: The facts behind it.
    """

    value: FloatArray | None
    sender: int
    round: int
    group: int
    source: Contribution | ServerNoise

    def __post_init__(self) -> None:
        if type(self.source) not in (Contribution, ServerNoise):
            got = validate.shown(self.source)
            raise TypeError(f"`source` must be a Contribution or a ServerNoise, got {got}.")
        expected = self.source.client if isinstance(self.source, Contribution) else SERVER
        for name in ("sender", "round", "group"):
            validate.count(name, getattr(self, name), minimum=SERVER if name == "sender" else 0)
        if self.value is not None and not np.isfinite(validate.reals("value", self.value)).all():
            raise validate.refusal("value", "finite", self.value)
        if self.sender != expected:
            raise ValueError(f"`sender` must be {expected}, as its source says, got {self.sender}.")


Transcript: TypeAlias = tuple[Release, ...]


def check_contributions(contributions: Sequence[Contribution]) -> tuple[Contribution, ...]:
    """The facts of clients, in their order."""
    return sequence("contributions", contributions, Contribution)


def check_server_noise(server_noise: ServerNoise | None) -> ServerNoise:
    """What the server adds; nothing if that is not given."""
    noise = ServerNoise() if server_noise is None else server_noise
    return validate.instance("server_noise", noise, ServerNoise)
