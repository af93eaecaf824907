"""Partitioned variational inference. Knows nothing of privacy.

The posterior is q(θ) ∝ p(θ) Π t_m(θ) with one factor per client; a client refines its factor on its
own data and sends the change (Ashman et al. 2022). All arrays may carry leading batch axes, so that
many repetitions of a run are one run. The neural network model lives in `pvi.models.bnn` and needs
torch; nothing imported here does.
"""

from pvi.baselines import (
    AfterAveraging,
    AlterWeights,
    ClientSampling,
    DataSampling,
    Draw,
    FederatedAveraging,
    RecordSampling,
    committee,
    global_vi,
)
from pvi.checkpoint import restore, save
from pvi.client import Alteration, AlterUpdate, Client
from pvi.energy import elbo, elbo_gradient, local_energy
from pvi.federation import Callback, Federation, History, Progress, Report, RoundEvent
from pvi.gaussian import ImproperGaussianError, MeanFieldGaussian
from pvi.messages import (
    Acknowledgement,
    ProtocolError,
    Snapshot,
    StaleSnapshotError,
    Update,
    Withdrawal,
)
from pvi.models import (
    ExactModel,
    LinearRegression,
    LogisticRegression,
    Model,
    PointModel,
    kl_to_full,
)
from pvi.schedule import Asynchronous, Schedule, Sequential, Synchronous
from pvi.server import AlterTotal, Server, ServerContext, reset_factors
from pvi.shard import Shard
from pvi.solvers.local import (
    Aggregate,
    Context,
    ExactSolver,
    GradientSolver,
    LocalResult,
    LocalSolver,
    StepContext,
    scaled_sum,
)
from pvi.solvers.minibatch import Batch, FixedSizeSampling, FullBatch, PoissonSampling, Sampler
from pvi.solvers.rules import SGD, Adagrad, Adam, Rule, State
from pvi.solvers.stacked import StackedSolver
from pvi.strategies.strategy import (
    AlterPart,
    AveragedShards,
    Strategy,
    VirtualShards,
    WholeShard,
    Wish,
)

__all__ = [
    "SGD",
    "Acknowledgement",
    "Adagrad",
    "Adam",
    "AfterAveraging",
    "Aggregate",
    "AlterPart",
    "AlterTotal",
    "AlterUpdate",
    "AlterWeights",
    "Alteration",
    "Asynchronous",
    "AveragedShards",
    "Batch",
    "Callback",
    "Client",
    "ClientSampling",
    "Context",
    "DataSampling",
    "Draw",
    "ExactModel",
    "ExactSolver",
    "FederatedAveraging",
    "Federation",
    "FixedSizeSampling",
    "FullBatch",
    "GradientSolver",
    "History",
    "ImproperGaussianError",
    "LinearRegression",
    "LocalResult",
    "LocalSolver",
    "LogisticRegression",
    "MeanFieldGaussian",
    "Model",
    "PointModel",
    "PoissonSampling",
    "Progress",
    "ProtocolError",
    "RecordSampling",
    "Report",
    "RoundEvent",
    "Rule",
    "Sampler",
    "Schedule",
    "Sequential",
    "Server",
    "ServerContext",
    "Shard",
    "Snapshot",
    "StackedSolver",
    "StaleSnapshotError",
    "State",
    "StepContext",
    "Strategy",
    "Synchronous",
    "Update",
    "VirtualShards",
    "WholeShard",
    "Wish",
    "Withdrawal",
    "committee",
    "elbo",
    "elbo_gradient",
    "global_vi",
    "kl_to_full",
    "local_energy",
    "reset_factors",
    "restore",
    "save",
    "scaled_sum",
]
