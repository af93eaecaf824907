r"""What an adversary learns about a unit: the one place where a transcript becomes an event.

`project` answers for one `Scope`. Notation: client m's message in a group is w_m·(S_m + Z_m), S_m a
sum of vectors of norm at most C_m, Z_m its Gaussian noise of standard deviation s_m per coordinate;
the server may add noise of standard deviation s_0 to a group's sum. The rules, with their proofs:

1. **One client at a time (parallel composition).** A record belongs to one client m. Given all that
   was released before, every other client's next message has the same law under both neighbours:
   it is a function of that client's own data and noise and of earlier releases. Only m's messages
   carry privacy loss, and the model's cost is that of the worst client (TMLR App. A after Theorem
   A.1). The same holds for a client as the unit. The schedule must not depend on the data.

2. **Rounds compose adaptively.** Each message is a fixed function of (data, earlier releases,
   fresh noise), if what the client remembers is itself a function of (data, earlier releases). Then
   the dominating pairs of the rounds compose (Zhu, Dong, Wang 2022, Theorem 10). Randomness that is
   independent of the data, not released, and not counted upon as noise or as sampling (Monte Carlo
   draws, orders of shuffling) may be conditioned upon: hockey-stick divergences are jointly convex.

3. **The shift.** How far can the unit move S_m, in Euclidean norm?

   ======================  =======================  ===========================================
   unit, relation          clipped: each record     clipped: each of N parts
   ======================  =======================  ===========================================
   record, add or remove   C: one vector more       2C: one part's vector changes, anywhere in
   record, REPLACE_SPECIAL C: one vector becomes 0  the ball; the other parts stay as they are,
   record, REPLACE_ONE     2C                       if the record's part is its own affair
   client, REPLACE_SPECIAL refused                  N·C: all parts become 0
   client, REPLACE_ONE     refused                  2·N·C
   client, add or remove   refused                  refused
   ======================  =======================  ===========================================

   The shifts are attained, so the table is tight. Refused: a client's records are not bounded
   together where only single ones are clipped; and the number of clients M, which enters noise
   shares, resets and averages, is a public constant, so a client is not added or removed but set to
   zero. Adding or removing a record is also refused where parts are cut by position (a record more
   moves all boundaries) or the number of records acts outside of what is clipped.

4. **C or 2C, once.** Accountants read `noise_multiplier` as std/C and double the shift by
   themselves under REPLACE_ONE. So the multiplier must be f·std/shift with f = 2 for REPLACE_ONE
   and 1 otherwise: then their f/multiplier is shift/std, each factor 2 counted once.

5. **Hidden noise.** An adversary who sees client m's message knows w_m(S_m + Z_m): standard
   deviation s_m, whatever others add. One who sees only a group's sum and knows the noises of k
   clients has an unknown noise of variance Σ w_j²s_j² over the others, plus s_0², against the shift
   of w_m·S_m; all else in the sum can be conditioned upon. With equal shares s_j = σC/√M this is
   a multiplier of σ·√(h/M), h the unknown shares: h = M outside, M − k for k colluders (who are
   taken to be those that know most), 1 for messages. It uses that the unknown noises stay unknown:

6. **Remembered noise.** If a client's later messages depend on Z_j, and an adversary cannot
   compute Z_j from the data and what it sees, then rule 2 fails: the noise that hid an earlier
   round is released again. Refused, if such a client sends a second message, unless just one noise
   was unknown in the sum (then Z_j is a function of the data and the release: rule 2 holds). This
   separates the Thesis's Algorithm 3 from TMLR's Theorems 8 and 11, which hold for clients that
   forget their share or reset from public state. Server noise that clients are told is, for
   colluders, no noise.

7. **Messages that protect themselves** (`summed=False`). A message computed from noisy local steps
   is post-processing of them, and sums are post-processing of messages: the event of the steps
   answers every view. So does, for sums, that of a message with noise of its own that its client
   remembers. Where noise is only a share (a trusted aggregator was counted upon) and remembered,
   that answer would not be the one asked for, and rule 6 refuses.

8. **Discrete noise** is accounted for as its rounded continuous twin, see `discrete_gaussian`: δ is
   larger by at most the slack that `epsilon_bounds` adds. So are sums of several discrete noises
   on one grid, which are nearly rounded Gaussians (`discrete_sums` has the proof), if the client's
   own data are put on that grid and the aggregator adds whole numbers of its steps, as
   `mechanisms.federated.aggregation` does. Noises on several grids are refused, and continuous ones
   among discrete ones.

9. **Which client is worst** can depend on δ. `project` gives a client's event if it provably
   dominates all others': adding noise, thinning a sample and leaving out steps are post-processing,
   and dominated events compose to dominated ones. Otherwise it refuses; ask `project_clients`.

The event's upper bound holds for the view. The lower end of an accountant's interval is attained by
some data where rules 3 and 5 apply; under rule 7 and for shuffled batches only the upper end speaks
of the view.

How batches are drawn (rule 2 for one message) is the scheme's own: its `event` has the proof, or
the reason why a relation is refused. A run that ends within an epoch has begun it: it is counted.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import dp_accounting as dpa
from dp_accounting import NeighboringRelation

from accountants import Bounds, FourierAccountant, IntervalAccountant, validate
from mechanisms.dominance import dominates
from mechanisms.errors import refuse
from mechanisms.primitives.discrete_gaussian import delta_slack, total_variation
from mechanisms.primitives.discrete_sums import sum_distance
from mechanisms.primitives.sampling import repeated
from mechanisms.release import Contribution, Release, ServerNoise
from mechanisms.scope import Scope
from pvi.validate import checked

# The part of δ that is set aside for the slack of discrete noise.
SLACK_SHARE = 1e-3


def check_transcript(transcript: Iterable[Release]) -> Iterator[Release]:
    """The releases one by one, each a `Release`."""
    try:
        releases = iter(transcript)
    except Exception:  # whatever a stranger's __iter__ raises
        got = validate.shown(transcript)
        raise TypeError(f"`transcript` must be releases, got {got}.") from None
    for release in releases:
        yield validate.instance("transcript", release, Release)


@checked(scope=Scope)
def project(transcript: Iterable[Release], scope: Scope) -> dpa.DpEvent:
    """The event of what the scope's adversary learns about the scope's unit: the worst client's.

    Raises:
      UnsupportedEventError: No proof is known (the module lists the rules); the reason is given.
    """
    events = project_clients(transcript, scope)
    if not events:
        return dpa.NoOpDpEvent()
    distinct: list[dpa.DpEvent] = []
    for event in events.values():
        if event not in distinct:
            distinct.append(event)
    for candidate in distinct:
        if all(dominates(candidate, other) for other in distinct):
            return candidate
    raise refuse(
        f"no client's event dominates the others' (clients {sorted(events)}): which of them is "
        "worst depends on delta; use project_clients or epsilon_bounds"
    )


@checked(scope=Scope)
def project_clients(transcript: Iterable[Release], scope: Scope) -> Mapping[int, dpa.DpEvent]:
    """Each client's event: what the adversary learns about that client or one of its records."""
    groups = _groups(transcript)
    _refuse_remembered_noise(groups, scope)
    ledgers: dict[int, Counter[Contribution]] = {}
    for contributions, server in groups:
        for own in contributions:
            seen = _as_seen(own, contributions, server, scope)
            ledgers.setdefault(own.client, Counter())[seen] += 1
    return {client: _compose(ledger, scope) for client, ledger in sorted(ledgers.items())}


@checked(scope=Scope)
def epsilon_bounds(transcript: Sequence[Release], scope: Scope, delta: float) -> Bounds:
    """A certified interval for ε(δ) of the worst client, the slack of discrete noise included.

    Raises:
      UnsupportedEventError: No proof is known, or the slack of discrete noise is not small
        against δ.
    """
    found = epsilon_by_client(transcript, scope, delta).values()
    return Bounds(
        max((bounds.lower for bounds in found), default=0.0),
        max((bounds.upper for bounds in found), default=0.0),
    )


@checked(scope=Scope)
def epsilon_by_client(
    transcript: Sequence[Release], scope: Scope, delta: float
) -> Mapping[int, Bounds]:
    """A certified interval for each client's ε(δ), the slack of discrete noise included.

    Raises:
      UnsupportedEventError: As `epsilon_bounds`.
    """
    delta, transcript = validate.open_unit("delta", delta), tuple(check_transcript(transcript))
    distances = noise_distances(transcript)
    asked: list[tuple[dpa.DpEvent, float, Bounds]] = []
    found = {}
    for client, event in project_clients(transcript, scope).items():
        distance = distances[client]
        answers = (bounds for other, far, bounds in asked if (other, far) == (event, distance))
        bounds = next(answers, None)
        if bounds is None:
            accountant = FourierAccountant(scope.relation).compose(event)
            answer = bounds_with_slack(accountant, delta, distance)
            bounds = Bounds(float(answer.lower), float(answer.upper))
            asked.append((event, distance, bounds))
        found[client] = bounds
    return found


def bounds_with_slack(accountant: IntervalAccountant, delta: float, distance: float) -> Bounds:
    """The accountant's ε(δ), for laws within total variation `distance` of those it composed.

    Raises:
      UnsupportedEventError: The distance costs more than a thousandth of δ.
    """
    if distance == 0.0:
        return accountant.get_epsilon_bounds(delta)
    reserve = SLACK_SHARE * delta
    upper = accountant.get_epsilon_bounds(delta - reserve).upper
    if delta_slack(upper, distance) > reserve:
        raise refuse(
            f"discrete noise on this grid is within {distance:.2g} of the continuous one in total "
            f"variation, too coarse at delta={delta:g}; use a finer grid"
        )
    return Bounds(accountant.get_epsilon_bounds(delta + reserve).lower, upper)


@checked(scope=Scope)
def lower_end_is_attained(transcript: Iterable[Release], scope: Scope) -> bool:
    """Whether some data leak the lower end of the accountant's interval in this very view.

    Not where a view is answered through more than it sees (rule 7): messages made of noisy steps,
    which an optimiser's rule may have changed beyond return, and sums of messages that protect
    themselves.
    """
    releases = check_transcript(transcript)
    sources = [r.source for r in releases if isinstance(r.source, Contribution)]
    return all(
        own.clips == "part" and (own.summed or scope.view.kind == "messages") for own in sources
    )


def noise_distances(transcript: Iterable[Release]) -> Mapping[int, float]:
    """Total variation between each client's discrete noise and the continuous one accounted."""
    totals: dict[int, float] = {}
    for contributions, server in _groups(transcript):
        shared = [one for one in contributions if one.summed]
        for own in contributions:
            distance = _distance(own, [one for one in shared if one is not own], server)
            totals[own.client] = min(1.0, totals.get(own.client, 0.0) + distance)
    return totals


def _distance(own: Contribution, others: Sequence[Contribution], server: ServerNoise) -> float:
    """Of one client's group, whatever the view: the client's noise alone, or with others'."""
    noises: list[Contribution | ServerNoise] = [own, server]
    distance = 0.0
    for noise in noises:
        if noise.grid is not None and noise.noise_std:
            draws = noise.coordinates * (own.steps if noise is own else 1)
            distance += total_variation(_coarsest(noise.noise_std / noise.grid), draws)
    discrete = [one for one in (*noises, *others) if one.grid is not None and one.noise_std]
    if own.summed and len(discrete) > 1:
        least = min(_coarsest(one.noise_std / one.grid) for one in discrete if one.grid)
        draws = max(one.coordinates for one in discrete)
        distance += sum_distance(least, len(discrete), draws)
    return distance


def _coarsest(std_in_steps: float) -> float:
    """The power of two below: what a grid of so many bits guarantees whatever the norm is."""
    return math.ldexp(1.0, math.frexp(std_in_steps)[1] - 1)


_Group = tuple[list[Contribution], ServerNoise]


def _groups(transcript: Iterable[Release]) -> list[_Group]:
    found: dict[int, tuple[list[Contribution], list[ServerNoise]]] = {}
    for release in check_transcript(transcript):
        contributions, servers = found.setdefault(release.group, ([], []))
        if isinstance(release.source, Contribution):
            contributions.append(release.source)
        else:
            servers.append(release.source)
    groups: list[_Group] = []
    for number, (contributions, servers) in sorted(found.items()):
        if len(servers) > 1:
            raise ValueError(f"`transcript` must have one sum per group, got more in {number}.")
        if len({own.client for own in contributions}) != len(contributions):
            raise ValueError(f"`transcript` must have a client once in group {number}.")
        groups.append((contributions, servers[0] if servers else ServerNoise()))
    return groups


def _refuse_remembered_noise(groups: Sequence[_Group], scope: Scope) -> None:
    """Rule 6."""
    hidden: set[int] = set()
    for contributions, server in groups:
        again = [own.client for own in contributions if own.client in hidden]
        if again:
            raise refuse(
                f"client {again[0]} remembers noise that the {scope.view} view does not show, and "
                "sends a message that depends on it: the noise that hid an earlier message is "
                "released again. Let factors forget their noise or reset them from public state"
            )
        unknown = 1 if server.noise_std else 0
        if scope.view.kind != "messages":
            unknown += max(0, len(contributions) - scope.view.colluders)
        for own in contributions:
            among_others = own.summed and scope.view.kind != "messages" and unknown > 1
            is_hidden = own.noise_shares > 1 or among_others
            if own.remembers_noise and own.noise_std and is_hidden:
                hidden.add(own.client)
            if server.told_to_clients and server.noise_std and scope.view.kind != "messages":
                hidden.add(own.client)


def _as_seen(
    own: Contribution, group: Sequence[Contribution], server: ServerNoise, scope: Scope
) -> Contribution:
    """Rule 5: the contribution with the standard deviation of the noise that hides it."""
    if not own.summed or scope.view.kind == "messages":
        return own
    others = [other for other in group if other.client != own.client]
    if scope.view.colluders > len(others):
        raise refuse(
            f"{scope.view.colluders} clients cannot collude against one of a group of "
            f"{len(others) + 1}"
        )
    noises = sorted(other.weight * other.noise_std for other in others if other.summed)
    unknown = noises[: max(0, len(noises) - scope.view.colluders)]
    known = scope.view.colluders > 0 and server.told_to_clients
    hiding = ServerNoise() if known else server
    _require_one_grid(own, [other for other in others if other.summed], hiding)
    sources = [own.weight * own.noise_std, *unknown, hiding.noise_std]
    return replace(own, noise_std=math.hypot(*sources) / own.weight)


def _require_one_grid(
    own: Contribution, others: Sequence[Contribution], server: ServerNoise
) -> None:
    """Rule 8: discrete noises that are summed, and the client's own data, are on one grid."""
    grids = {_grid_of_sum(one) for one in (own, *others) if one.noise_std}
    grids |= {server.grid} if server.noise_std else set()
    if grids <= {None}:
        return
    if len(grids) > 1:
        raise refuse(
            "the sum of discrete noises on several grids, or of discrete and continuous ones, is "
            f"not known to be nearly Gaussian (spacings {sorted(map(str, grids))}, weights "
            "included)"
        )
    if not own.noise_std and not server.noise_std:
        raise refuse(
            f"client {own.client} adds no noise, so that its data are not put on the grid of the "
            "others' discrete noise: what is between the grid's points would show"
        )


def _grid_of_sum(own: Contribution) -> float | None:
    """The spacing of a client's noise in the sum."""
    return None if own.grid is None else own.weight * own.grid


def _shift(own: Contribution, scope: Scope) -> float:
    """Rule 3: how far the unit moves the client's sum."""
    relation, unit = scope.relation, scope.unit
    added = relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    if unit == "client":
        if added:
            raise refuse(
                "the number of clients is a public constant (it enters noise shares, resets and "
                "averages): an absent client contributes zero, which is REPLACE_SPECIAL"
            )
        if own.clips == "record":
            raise refuse(
                "records are clipped one by one, which does not bound what a whole client can do"
            )
        replaced = relation is NeighboringRelation.REPLACE_ONE
        return (2.0 if replaced else 1.0) * own.parts * own.clip_norm
    if added and own.uses_size:
        raise refuse(
            "the number of records acts outside of what is clipped, so it must be public: use "
            "REPLACE_ONE or REPLACE_SPECIAL, or give a nominal constant instead"
        )
    if own.clips == "record":
        return (2.0 if relation is NeighboringRelation.REPLACE_ONE else 1.0) * own.clip_norm
    if added and own.parts > 1 and own.assignment == "position":
        raise refuse(
            "shards cut by position depend on the data under ADD_OR_REMOVE_ONE (one record more "
            "moves the others to other shards); assign records by identity, or use REPLACE_ONE or "
            "REPLACE_SPECIAL"
        )
    return 2.0 * own.clip_norm


def noise_multiplier(own: Contribution, scope: Scope) -> float:
    """Rule 4: the multiplier that makes an accountant of this relation count the shift once."""
    factor = 2.0 if scope.relation is NeighboringRelation.REPLACE_ONE else 1.0
    return factor * own.noise_std / _shift(own, scope)


def _compose(ledger: Counter[Contribution], scope: Scope) -> dpa.DpEvent:
    entries: list[tuple[dpa.DpEvent, int]] = []
    for own, messages in ledger.items():
        multiplier = noise_multiplier(own, scope)
        if multiplier == 0.0:
            return dpa.NonPrivateDpEvent()
        step: dpa.DpEvent = dpa.GaussianDpEvent(multiplier)
        if own.extra_multipliers:
            extras = [dpa.GaussianDpEvent(extra) for extra in own.extra_multipliers]
            step = dpa.ComposedDpEvent([step, *extras])
        event = own.sampling.event(step, own.steps, scope.relation)
        if isinstance(event, dpa.SelfComposedDpEvent):
            add_entry(entries, event.event, messages * int(event.count))
        else:
            add_entry(entries, event, messages)
    events = [repeated(event, count) for event, count in entries]
    return events[0] if len(events) == 1 else dpa.ComposedDpEvent(events)


def add_entry(entries: list[tuple[dpa.DpEvent, int]], event: dpa.DpEvent, count: int) -> None:
    """Adds `count` releases of `event` to a list that has every event once."""
    for index, (known, times) in enumerate(entries):
        if known == event:
            entries[index] = (known, times + count)
            return
    entries.append((event, count))
