"""Every mechanism in its variants, as small experiments whose worst case is attained."""

from dp_accounting import NeighboringRelation

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    AdaptiveClip,
    AllRecords,
    BallsInBins,
    CentralNoise,
    DPOptimisation,
    Experiment,
    FedAvgPerturbation,
    FixedSize,
    LocalAveraging,
    NoiseSplitting,
    ParameterPerturbation,
    Poisson,
    Prior,
    Scope,
    Shuffled,
    VirtualClients,
    colluding,
)
from pvi import SGD, ExactSolver, LinearRegression

CLIENTS, SIZE, SIGMA = 3, 8, 2.0
COMMON = {"clip_norm": 1.0, "noise_multiplier": SIGMA}
FLOORED = COMMON | {"precision_floor": 1.0}
RULE = SGD(learning_rate=1e-3)
SCOPES = [
    Scope(relation=relation, unit=unit, view=view)
    for unit in ("record", "client")
    for relation in NeighboringRelation
    for view in (MESSAGES, AGGREGATE, colluding(1))
]


def _optimisation(sampling, clip_norm=1.0):
    return DPOptimisation(
        clip_norm=clip_norm, noise_multiplier=SIGMA, steps=1, rule=RULE, sampling=sampling
    )


def _variants():
    for sampling in (
        AllRecords(),
        Poisson(0.25),
        BallsInBins(4),
        FixedSize(2, SIZE),
        Shuffled(4, SIZE),
    ):
        yield f"optimisation, {sampling}", _optimisation(sampling), {}
    adaptive = AdaptiveClip(initial_norm=1.0, batch_size=2, count_std=1.0)
    yield "optimisation, adaptive", _optimisation(Poisson(0.25), adaptive), {}
    yield "perturbation", ParameterPerturbation(**FLOORED), {}
    for kind in (LocalAveraging, VirtualClients):
        for joint in (False, True):
            for memory in ("remembers", "forgets", "resets"):
                own = kind(**FLOORED, trusted_aggregator=joint, memory=memory)
                name = f"{kind.__name__}, {'joint' if joint else 'own'} noise, {memory}"
                yield name, own, {"parts": 2}
        by_position = {"parts": 2, "assignment": "position"}
        yield f"{kind.__name__}, by position", kind(**FLOORED), by_position
    for memory in ("remembers", "forgets", "resets"):
        yield f"central noise, {memory}", CentralNoise(**FLOORED, memory=memory), {}
    yield "noise splitting", NoiseSplitting(**FLOORED), {}
    weights = (0.5, 0.25, 0.25)
    for name, own, joint in (
        ("by size", None, False),
        ("public weights", weights, False),
        ("public weights, joint noise", weights, True),
    ):
        mechanism = FedAvgPerturbation(
            **COMMON, rule=SGD(learning_rate=0.5), weights=own, trusted_aggregator=joint
        )
        yield f"averaging, {name}", mechanism, {"sizes": (SIZE,) * CLIENTS}


def experiments(rounds=1):
    """The experiments, by name."""
    return {
        name: Experiment(
            name=name,
            mechanism=mechanism,
            model=LinearRegression(dimension=1, noise_std=1.0),
            # So precise a prior that noise on precisions leaves the posterior proper.
            prior=Prior(variance=1e-3),
            clients=CLIENTS,
            rounds=rounds,
            delta=1e-3,
            solver=ExactSolver() if mechanism.takes_solver else None,
            **layout,
        )
        for name, mechanism, layout in _variants()
    }
