"""The factor 2, counted once: each event against the measured worst-case shift over the noise.

Each mechanism runs with its noise off on neighbouring data that are as bad as can be; the distance
of the releases, over the standard deviation of the noise that the view leaves unknown (worked out
here by hand), must be what an accountant makes of the event: f/multiplier, f = 2 for REPLACE_ONE.
"""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from mechanism_tools import ExtremeSolver, records

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    SERVER,
    AdaptiveClip,
    CentralNoise,
    DPOptimisation,
    FedAvgPerturbation,
    LayerClip,
    Layout,
    LocalAveraging,
    NoiseSplitting,
    NoNoise,
    ParameterPerturbation,
    Partition,
    QuantileTracker,
    Scope,
    Setting,
    SimulationNoise,
    VirtualClients,
    colluding,
    project,
    project_clients,
)
from pvi import SGD, LinearRegression, MeanFieldGaussian, Shard

ADD, REPLACE, SPECIAL = (
    Relation.ADD_OR_REMOVE_ONE,
    Relation.REPLACE_ONE,
    Relation.REPLACE_SPECIAL,
)
CLIP, SIGMA, DAMPING, CLIENTS, PARTS = 0.7, 3.0, 0.5, 4, 3
MODEL = LinearRegression(dimension=1, noise_std=1.0)
PRIOR = MeanFieldGaussian.from_mean_variance([0.0], [1.0])

# Targets of client 0's record under scrutiny, and of the same client under the neighbour. The
# solver follows the record with the largest |target|, so one record can turn a change around.
RECORD_PAIRS = {
    ADD: ((-1.0, -1.0, -1.0), (-1.0, -1.0, -1.0, 2.0)),
    REPLACE: ((-1.0, -1.0, 2.0), (-1.0, -1.0, -2.0)),
    SPECIAL: ((-1.0, -1.0, 2.0), (-1.0, -1.0, 0.0)),
}
CLIENT_PAIRS = {
    REPLACE: ((1.0,) * PARTS, (-1.0,) * PARTS),
    SPECIAL: ((1.0,) * PARTS, (0.0,) * PARTS),
}


def accountants_shift(event, relation):
    assert isinstance(event, dpa.GaussianDpEvent)
    return (2.0 if relation is REPLACE else 1.0) / event.noise_multiplier


def neighbours(unit, relation, parts):
    """Client 0's data as partitions: the same labels for the records that stay."""
    pair = (RECORD_PAIRS if unit == "record" else CLIENT_PAIRS)[relation]
    if parts == 1:
        return [Partition.whole(records(*targets)) for targets in pair]
    if unit == "client":
        labels = [np.arange(parts)] * 2
    else:  # the last record shares part 0 with a record that pulls the other way
        labels = [np.array([0, 1, 2, 0])[: len(targets)] for targets in pair]
        if relation is not ADD:
            labels = [np.array([0, 1, 0])] * 2
    return [
        Partition.by_identity(records(*targets), own, parts)
        for targets, own in zip(pair, labels, strict=True)
    ]


def released(mechanism, own):
    """The messages of client 0 and the sums, of the one round of a run."""
    others = [Partition.whole(records(1.0)) for _ in range(CLIENTS - 1)]
    run = mechanism.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExtremeSolver()),
        [own, *others],
        np.random.default_rng(0),
    )
    run.run(1)
    message = next(r.value for r in run.transcript if r.sender == 0)
    total = next(r.value for r in run.transcript if r.sender == SERVER)
    return message, total


def settings(**more):
    return {
        "clip_norm": CLIP,
        "noise_multiplier": SIGMA,
        "damping": DAMPING,
        "precision_floor": 1.0,
    } | more


SCOPES = [
    Scope(relation=relation, unit=unit, view=view)
    for unit in ("record", "client")
    for relation in (ADD, REPLACE, SPECIAL)
    for view in (MESSAGES, AGGREGATE, colluding(2))
    if (unit, relation) != ("client", ADD)
]


def unknown_shares(view):
    return {"messages": 1, "aggregate": CLIENTS, "colluding": CLIENTS - 2}[view.kind]


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize(
    ("mechanism", "parts"),
    [(ParameterPerturbation, 1), (LocalAveraging, PARTS), (VirtualClients, PARTS)],
)
def test_perturbed_changes(mechanism, parts, joint, scope):
    quiet = mechanism(**settings(noise=NoNoise(), trusted_aggregator=joint))
    before, after = (
        released(quiet, own)[0] for own in neighbours(scope.unit, scope.relation, parts)
    )
    shift = np.linalg.norm(before - after)
    share = SIGMA * CLIP / (math.sqrt(CLIENTS) if joint else 1.0)
    own_weight = DAMPING / (parts if mechanism is LocalAveraging else 1)
    # The other clients have one part each: weight α.
    others = (unknown_shares(scope.view) - 1) * (DAMPING * share) ** 2
    std = math.sqrt((own_weight * share) ** 2 + others)

    loud = mechanism(**settings(trusted_aggregator=joint, memory="forgets"))
    run = loud.build(
        Setting(model=MODEL, prior=PRIOR, solver=ExtremeSolver()),
        [
            neighbours(scope.unit, scope.relation, parts)[0],
            *(Partition.whole(records(1.0)) for _ in range(CLIENTS - 1)),
        ],
        np.random.default_rng(0),
    )
    run.run(1)
    event = project_clients(run.transcript, scope)[0]
    assert accountants_shift(event, scope.relation) == pytest.approx(shift / std, rel=1e-8)


@pytest.mark.parametrize("scope", [s for s in SCOPES if s.view is not MESSAGES], ids=str)
def test_central_noise(scope):
    quiet = CentralNoise(**settings(noise=NoNoise()))
    before, after = (released(quiet, own)[1] for own in neighbours(scope.unit, scope.relation, 1))
    std = DAMPING * SIGMA * CLIP
    event = project(CentralNoise(**settings()).plan(Layout(clients=CLIENTS), rounds=1), scope)
    measured = np.linalg.norm(before - after) / std
    assert accountants_shift(event, scope.relation) == pytest.approx(measured, rel=1e-8)


@pytest.mark.parametrize("scope", [s for s in SCOPES if s.view is MESSAGES], ids=str)
def test_central_noise_leaves_messages_bare(scope):
    transcript = CentralNoise(**settings()).plan(Layout(clients=CLIENTS), rounds=1)
    assert project(transcript, scope) == dpa.NonPrivateDpEvent()


@pytest.mark.parametrize("scope", [s for s in SCOPES if s.view is MESSAGES], ids=str)
def test_noise_splitting(scope):
    quiet = NoiseSplitting(**settings(noise=NoNoise()))
    before, after = (released(quiet, own)[0] for own in neighbours(scope.unit, scope.relation, 1))
    std = DAMPING * SIGMA * CLIP / math.sqrt(CLIENTS)
    event = project(NoiseSplitting(**settings()).plan(Layout(clients=CLIENTS), rounds=1), scope)
    measured = np.linalg.norm(before - after) / std
    assert accountants_shift(event, scope.relation) == pytest.approx(measured, rel=1e-8)


class RecordingRule:
    """Plain ascent that keeps what it was given."""

    def __init__(self):
        self.gradients = []

    def step(self, gradient, state):
        self.gradients.append(gradient)
        return 0.0 * gradient, state


# A record's gradient by the mean at the prior is its target, by the log-variance −½.
GRADIENT_PAIRS = {
    ADD: (records(1.0, -1.0), records(1.0, -1.0, 1e9)),
    REPLACE: (records(1.0, 1e9), records(1.0, -1e9)),
    SPECIAL: (
        records(1.0, 1e9),
        Shard(inputs=[[1.0], [0.0]], targets=[1.0, 0.0]),  # its gradient is zero
    ),
}


@pytest.mark.parametrize("relation", [ADD, REPLACE, SPECIAL])
@pytest.mark.parametrize("view", [MESSAGES, AGGREGATE, colluding(1)], ids=str)
@pytest.mark.parametrize("clip", [CLIP, LayerClip(sizes=(1, 1), clip_norms=(0.3, 0.4))])
def test_dp_optimisation(relation, view, clip):
    rule = RecordingRule()
    quiet = DPOptimisation(
        clip_norm=clip, noise_multiplier=SIGMA, steps=1, rule=rule, noise=NoNoise()
    )
    for shard in GRADIENT_PAIRS[relation]:
        run = quiet.build(
            Setting(model=MODEL, prior=PRIOR), [shard, records(1.0)], np.random.default_rng(0)
        )
        run.run(1)
    before, after = rule.gradients[0], rule.gradients[2]
    loud = DPOptimisation(clip_norm=clip, noise_multiplier=SIGMA, steps=1, rule=rule)
    event = project(loud.plan(Layout(clients=2), rounds=1), Scope(relation=relation, view=view))
    # At layer norms (0.3, 0.4) the log-variance part of −½ is clipped to 0.4, whatever the target.
    norm = CLIP if clip == CLIP else 0.5
    measured = np.linalg.norm(before - after) / (SIGMA * norm)
    counted = accountants_shift(event, relation)
    if clip == CLIP or relation is not REPLACE:
        assert counted == pytest.approx(measured, rel=1e-6)
    else:  # both gradients share their log-variance part: less than the worst case
        assert measured == pytest.approx(2 * 0.3 / (SIGMA * 0.5), rel=1e-6)
        assert counted == pytest.approx(2 / SIGMA)


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("joint", [False, True])
def test_federated_averaging(scope, joint):
    weights = (0.4, 0.1, 0.2, 0.3)
    pair = {
        ("record", ADD): ((-1e9,), (-1e9, 3e9)),
        ("record", REPLACE): ((1e9,), (-1e9,)),
        ("record", SPECIAL): ((-1e9, 3e9), (-1e9, 0.0)),
        ("client", REPLACE): ((1e9,), (-1e9,)),
        ("client", SPECIAL): ((1e9,), (0.0,)),
    }[scope.unit, scope.relation]

    def run(noise, targets):
        mechanism = FedAvgPerturbation(
            clip_norm=CLIP,
            noise_multiplier=SIGMA,
            rule=SGD(learning_rate=1.0),
            weights=weights,
            trusted_aggregator=joint,
            noise=noise,
        )
        data = [records(*targets), *(records(1.0) for _ in range(CLIENTS - 1))]
        run = mechanism.build(Setting(model=MODEL, prior=PRIOR), data, np.random.default_rng(0))
        run.run(1)
        return run

    before, after = (run(NoNoise(), targets).estimate for targets in pair)
    share = SIGMA * CLIP / (math.sqrt(CLIENTS) if joint else 1.0)
    known = {"messages": (0.1, 0.2, 0.3), "aggregate": (), "colluding": (0.2, 0.3)}[scope.view.kind]
    std = share * math.sqrt(sum(w * w for w in weights if w not in known))
    event = project_clients(run(SimulationNoise(), pair[0]).transcript, scope)[0]
    measured = np.linalg.norm(before - after) / std
    assert accountants_shift(event, scope.relation) == pytest.approx(measured, rel=1e-8)


@pytest.mark.parametrize(
    ("relation", "pair"),
    [
        (ADD, ([[1e9]], [[0.0]])),
        (SPECIAL, ([[1e9]], [[0.0]])),
        (REPLACE, ([[1e9]], [[-CLIP * (1 - 1e-8)]])),  # clipped, and just not clipped
    ],
)
def test_adaptive_clipping(relation, pair):
    """Sum and count together: distances in units of each noise, as one Gaussian query."""
    settings = AdaptiveClip(initial_norm=CLIP, batch_size=1, count_std=1.5)
    tracker = QuantileTracker(settings)
    (first, first_bit, _), (second, second_bit, _) = (tracker.clip(np.array(x)) for x in pair)
    measured = math.hypot(
        (first - second).item() / (SIGMA * CLIP), (first_bit - second_bit).item() / 1.5
    )
    mechanism = DPOptimisation(
        clip_norm=settings, noise_multiplier=SIGMA, steps=1, rule=SGD(learning_rate=1.0)
    )
    event = project(mechanism.plan(Layout(clients=1), rounds=1), Scope(relation=relation))
    inverse = math.hypot(*(1.0 / part.noise_multiplier for part in event.events))
    factor = 2.0 if relation is REPLACE else 1.0
    assert factor * inverse == pytest.approx(measured, rel=1e-6)
