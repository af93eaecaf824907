"""Laws of `project`: who sees more learns more, and more rounds cost more."""

import itertools
import math

from dp_accounting import NeighboringRelation as Relation
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    CentralNoise,
    FedAvgPerturbation,
    Layout,
    LocalAveraging,
    Scope,
    VirtualClients,
    colluding,
    dominates,
    project_clients,
)
from pvi import SGD

relations = st.sampled_from([Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL])
units = st.sampled_from(["record", "client"])


@st.composite
def plans(draw, rounds):
    """A synchronous plan and its number of clients."""
    clients = draw(st.integers(3, 6))
    common = {
        "clip_norm": draw(st.floats(0.1, 10.0)),
        "noise_multiplier": draw(st.floats(0.5, 9.0)),
    }
    kind = draw(st.sampled_from(["average", "virtual", "central", "fedavg"]))
    if kind == "central":
        mechanism = CentralNoise(**common, damping=draw(st.floats(0.1, 1.0)))
        return mechanism.plan(Layout(clients=clients), rounds=rounds), clients
    if kind == "fedavg":
        raw = draw(st.lists(st.floats(0.1, 1.0), min_size=clients, max_size=clients))
        weights = tuple(weight / math.fsum(raw) for weight in raw)
        mechanism = FedAvgPerturbation(**common, weights=weights, rule=SGD(learning_rate=0.1))
        return mechanism.plan(Layout(clients=clients), rounds=rounds), clients
    mechanism = (LocalAveraging if kind == "average" else VirtualClients)(
        **common, memory="forgets", trusted_aggregator=draw(st.booleans())
    )
    parts = draw(st.integers(1, 4))
    return mechanism.plan(Layout(clients=clients, parts=parts), rounds=rounds), clients


@settings(max_examples=60)
@given(plans(rounds=2), relations, units)
def test_seeing_more_costs_more(plan, relation, unit):
    transcript, clients = plan
    views = [AGGREGATE, *(colluding(k) for k in range(1, clients)), MESSAGES]
    events = [
        project_clients(transcript, Scope(relation=relation, unit=unit, view=view))
        for view in views
    ]
    for less, more in itertools.pairwise(events):
        assert all(dominates(more[m], less[m]) for m in range(clients))


@settings(max_examples=30)
@given(st.integers(1, 5), st.data(), relations, units)
def test_more_rounds_cost_more(rounds, data, relation, unit):
    long, clients = data.draw(plans(rounds=rounds + 1))
    short = tuple(release for release in long if release.group < rounds)
    for view in (AGGREGATE, colluding(1), MESSAGES):
        scope = Scope(relation=relation, unit=unit, view=view)
        first, second = project_clients(short, scope), project_clients(long, scope)
        assert all(dominates(second[m], first[m]) for m in range(clients))


@settings(max_examples=30)
@given(plans(rounds=3), st.permutations(range(12)))
def test_the_order_of_releases_within_a_group_does_not_matter(plan, order):
    transcript, _ = plan
    shuffled = [transcript[i] for i in order if i < len(transcript)]
    shuffled += [release for i, release in enumerate(transcript) if i >= 12]
    scope = Scope(relation=Relation.REPLACE_ONE, view=AGGREGATE)
    assert project_clients(shuffled, scope) == project_clients(transcript, scope)
