"""Mechanisms around the PVI engine, each release with the event that accounts for it.

A `Mechanism` builds a run whose transcript records every message with the facts behind it;
`project(transcript, scope)` is the event of what an adversary learns, and `plan` gives the
transcript of a run before it is made. An `Experiment` is a mechanism with all that it runs on but
the data: one value, one file.
"""

from dp_accounting import UnsupportedEventError

from mechanisms.books import BudgetFileError, Charge
from mechanisms.budget import Budget, BudgetExceededError
from mechanisms.budgeted_schedule import BudgetedSchedule
from mechanisms.central_noise import CentralNoise
from mechanisms.certify import certify
from mechanisms.distributed_sum import DistributedSum
from mechanisms.dominance import dominates
from mechanisms.dp_optimisation import DPOptimisation
from mechanisms.experiment import Experiment, ScopedCost, cost_by_scope
from mechanisms.fedavg import AveragingRun, FedAvgPerturbation
from mechanisms.guarded import GuardedSolver
from mechanisms.local_averaging import LocalAveraging
from mechanisms.noise_splitting import NoiseSplitting
from mechanisms.observation import Observation, seen
from mechanisms.parameter_perturbation import ParameterPerturbation
from mechanisms.part_noise import Memory
from mechanisms.primitives.adaptive_clipping import AdaptiveClip, QuantileTracker
from mechanisms.primitives.clipping import (
    Clipped,
    Clipping,
    FlatClip,
    LayerClip,
    Screened,
    clip_rows,
    screen_records,
)
from mechanisms.primitives.discrete_gaussian import (
    delta_slack,
    sample_discrete_gaussian,
    total_variation,
)
from mechanisms.primitives.noise import (
    NoiseSource,
    NoNoise,
    ReleaseNoise,
    SimulationNoise,
    SimulationNoiseWarning,
)
from mechanisms.primitives.partition import Partition
from mechanisms.primitives.rounding import Rounding
from mechanisms.primitives.sampling import (
    AllRecords,
    BallsInBins,
    FixedSize,
    Poisson,
    Sampling,
    Shuffled,
    require_match,
)
from mechanisms.prior import Prior
from mechanisms.private_run import PrivateRun
from mechanisms.projection import (
    epsilon_bounds,
    lower_end_is_attained,
    project,
    project_clients,
)
from mechanisms.protocol import Data, Layout, Mechanism, Run, Setting
from mechanisms.release import SERVER, Contribution, Release, ServerNoise, Transcript
from mechanisms.scope import AGGREGATE, MESSAGES, Scope, View, colluding
from mechanisms.secure_statistics import ClassCounts, ColumnSums, SumTerms
from mechanisms.virtual_clients import VirtualClients
from mechanisms.worst_case import WorstCase, worst_case

__all__ = [
    "AGGREGATE",
    "MESSAGES",
    "SERVER",
    "AdaptiveClip",
    "AllRecords",
    "AveragingRun",
    "BallsInBins",
    "Budget",
    "BudgetExceededError",
    "BudgetFileError",
    "BudgetedSchedule",
    "CentralNoise",
    "Charge",
    "ClassCounts",
    "Clipped",
    "Clipping",
    "ColumnSums",
    "Contribution",
    "DPOptimisation",
    "Data",
    "DistributedSum",
    "Experiment",
    "FedAvgPerturbation",
    "FixedSize",
    "FlatClip",
    "GuardedSolver",
    "LayerClip",
    "Layout",
    "LocalAveraging",
    "Mechanism",
    "Memory",
    "NoNoise",
    "NoiseSource",
    "NoiseSplitting",
    "Observation",
    "ParameterPerturbation",
    "Partition",
    "Poisson",
    "Prior",
    "PrivateRun",
    "QuantileTracker",
    "Release",
    "ReleaseNoise",
    "Rounding",
    "Run",
    "Sampling",
    "Scope",
    "ScopedCost",
    "Screened",
    "ServerNoise",
    "Setting",
    "Shuffled",
    "SimulationNoise",
    "SimulationNoiseWarning",
    "SumTerms",
    "Transcript",
    "UnsupportedEventError",
    "View",
    "VirtualClients",
    "WorstCase",
    "certify",
    "clip_rows",
    "colluding",
    "cost_by_scope",
    "delta_slack",
    "dominates",
    "epsilon_bounds",
    "lower_end_is_attained",
    "project",
    "project_clients",
    "require_match",
    "sample_discrete_gaussian",
    "screen_records",
    "seen",
    "total_variation",
    "worst_case",
]
