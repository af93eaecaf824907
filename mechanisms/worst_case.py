r"""Neighbouring data on which a mechanism shows as much as `projection` says it can.

The shifts of projection's rule 3 are attained. In linear regression a record whose target is huge
has a gradient along its input, and a likelihood whose pull is along the first natural parameter,
so the clipped vector sits at the end of the ball:

* records clipped one by one: the unit at +C or −C, or absent; the others at zero, where the sum of
  a Poisson batch is theirs alone, and at −C in batches of fixed size (then the batch's sum is known
  but for the unit);
* parts clipped: beside a record at −1 the unit at +3 turns its part around, from −C to +C;
* a whole client: all of its parts at +C, and −C or silent.

Other models have bounded gradients, or gradients that turn as q moves: there the data are extreme
but the shift need not be attained in every step, which an audit's lower bound does not mind.
"""

from dataclasses import dataclass

import numpy as np
from dp_accounting import NeighboringRelation

from mechanisms.experiment import Experiment
from mechanisms.fedavg import FedAvgPerturbation
from mechanisms.observation import sees
from mechanisms.primitives.partition import Partition
from mechanisms.primitives.sampling import FixedSize, Shuffled
from mechanisms.projection import project, project_clients
from mechanisms.release import Contribution
from mechanisms.scope import Scope
from pvi import LinearRegression, LogisticRegression, Shard
from pvi.validate import at_least, checked, instance, real, sequence

_FAR = 1e9
_SMALL_INPUT = 1e-3  # So small that a record says nothing about variances.


@dataclass(frozen=True, slots=True, eq=False)
class WorstCase:
    """Two neighbouring federations' data.

    Attributes:
      first: One federation's.
      second: Its neighbour's.
      client: In whose data they differ.
      direction: The linear combination of what the scope's adversary sees in which they differ
        most: the sum over the rounds of what shows the client's first coordinate, less what is
        known of the colluders' messages.
      description: In words.
    """

    first: tuple[Partition, ...]
    second: tuple[Partition, ...]
    client: int
    direction: tuple[float, ...]
    description: str

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            sequence(name, getattr(self, name), Partition, least=1)
        at_least("client", self.client, 0)
        sequence("direction", self.direction, real)
        instance("description", self.description, str)


@checked(experiment=Experiment, scope=Scope)
def worst_case(experiment: Experiment, scope: Scope) -> WorstCase:
    """Data that attain the scope's certified cost where it is known how.

    Raises:
      UnsupportedEventError: `project` refuses the scope.
      TypeError: Nobody has said what extreme records of this model are.
    """
    client = _worst_client(experiment, scope)
    own = experiment.mechanism.contributions(experiment.layout)[client]
    units = _records(experiment, own, scope) if own.clips == "record" else None
    if units is None:
        units = _parts(experiment, own, scope, client)
    others = [_bystander(experiment, m) if m != client else None for m in range(experiment.clients)]
    sides = [tuple(side if other is None else other for other in others) for side in units]
    return WorstCase(
        first=sides[0],
        second=sides[1],
        client=client,
        direction=_direction(experiment, scope, client),
        description=f"extreme {scope.unit} of client {client} ({scope.relation.name})",
    )


def _worst_client(experiment: Experiment, scope: Scope) -> int:
    """A client whose event is the scope's, and who is not among the colluders."""
    transcript = experiment.transcript()
    worst = project(transcript, scope)
    for client, event in project_clients(transcript, scope).items():
        if event == worst and client < experiment.clients - scope.view.colluders:
            return client
    return 0


def _direction(experiment: Experiment, scope: Scope, client: int) -> tuple[float, ...]:
    # Of averaged weights the mean alone is sent; other messages have their weight in them already.
    averaged = isinstance(experiment.mechanism, FedAvgPerturbation)
    width = experiment.model.dimension * (1 if averaged else 2)
    found: list[float] = []
    for release in experiment.transcript():
        if not sees(scope.view, release, experiment.clients):
            continue
        source = release.source
        if not isinstance(source, Contribution):
            share = 0.0 if scope.view.kind == "messages" else 1.0
        elif scope.view.kind == "messages":
            share = 1.0 if source.client == client else 0.0
        else:
            share = -source.weight if averaged else -1.0
        found.extend([share, *[0.0] * (width - 1)])
    return tuple(found)


def _size(experiment: Experiment, own: Contribution) -> int:
    if isinstance(own.sampling, FixedSize | Shuffled):
        return own.sampling.size
    return experiment.sizes[own.client] if experiment.sizes is not None else 2


def _records(
    experiment: Experiment, own: Contribution, scope: Scope
) -> tuple[Partition, Partition]:
    """With the unit at +C, and its neighbour, where each record is clipped."""
    size = _size(experiment, own)
    background = -1.0 if isinstance(own.sampling, FixedSize) else 0.0
    rest = [background] * (size - 1)
    with_unit = _shard(experiment, [1.0, *rest], _SMALL_INPUT)
    if scope.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        without = _shard(experiment, rest, _SMALL_INPUT)
    elif scope.relation is NeighboringRelation.REPLACE_ONE:
        without = _shard(experiment, [-1.0, *rest], _SMALL_INPUT)
    else:
        without = _shard(experiment, [0.0, *rest], _SMALL_INPUT)
    return Partition.whole(with_unit), Partition.whole(without)


def _parts(
    experiment: Experiment, own: Contribution, scope: Scope, client: int
) -> tuple[Partition, Partition]:
    """With the unit at one end of the ball, and its neighbour, where parts are clipped."""
    size = max(_size(experiment, own), 2 * own.parts)
    sizes = [size // own.parts + (part < size % own.parts) for part in range(own.parts)]
    if scope.unit == "client":
        high = _partition(experiment, [[1.0, *[0.0] * (count - 1)] for count in sizes])
        if scope.relation is NeighboringRelation.REPLACE_SPECIAL:
            return high, high.mute()
        return high, _partition(experiment, [[-1.0, *[0.0] * (count - 1)] for count in sizes])
    rest = [[0.0] * count for count in sizes[1:]]
    first = [-1.0, *[0.0] * (sizes[0] - 2)]
    with_unit = _partition(experiment, [[*first, 3.0], *rest])
    if scope.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        return with_unit, _partition(experiment, [first, *rest])
    other = -3.0 if scope.relation is NeighboringRelation.REPLACE_ONE else 0.0
    return with_unit, _partition(experiment, [[*first, other], *rest])


def _bystander(experiment: Experiment, client: int) -> Partition:
    """A client whose records pull nowhere."""
    own = experiment.mechanism.contributions(experiment.layout)[client]
    size = max(_size(experiment, own), own.parts)
    sizes = [size // own.parts + (part < size % own.parts) for part in range(own.parts)]
    return _partition(experiment, [[0.0] * count for count in sizes])


def _partition(experiment: Experiment, pulls: list[list[float]]) -> Partition:
    shards = tuple(_shard(experiment, pull, 1.0) for pull in pulls)
    return Partition(shards=shards, assignment=experiment.assignment)


def _shard(experiment: Experiment, pulls: list[float], scale: float) -> Shard:
    """Records that pull θ's first coordinate by these amounts, times a huge number."""
    amounts = np.array(pulls, dtype=np.float64)
    inputs = np.zeros((amounts.size, experiment.model.dimension))
    match experiment.model:
        case LinearRegression():
            inputs[:, 0] = np.where(amounts == 0.0, 0.0, scale)
            return Shard(inputs=inputs, targets=_FAR * amounts)
        case LogisticRegression():
            inputs[:, 0] = 1e3 * np.abs(amounts)
            return Shard(inputs=inputs, targets=np.where(amounts < 0.0, -1.0, 1.0))
    raise TypeError(
        "`pair` must be given for this model: extreme records are known of LinearRegression and "
        f"LogisticRegression, got {type(experiment.model).__name__}."
    )
