"""Partitioned variational inference. Knows nothing of privacy.

The posterior is q(θ) ∝ p(θ) Π t_m(θ) with one factor per client; a client refines its factor on its
own data and sends the change (Ashman et al. 2022). All arrays may carry leading batch axes, so that
many repetitions of a run are one run. The neural network model lives in `pvi.models.bnn` and needs
torch; nothing imported here does.
"""

from pvi.archive import Apply, CheckpointError, Companion, Packed
from pvi.baselines import (
    AfterAverage,
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
from pvi.federation import Federation
from pvi.gaussian import ImproperGaussianError, MeanFieldGaussian
from pvi.history import Callback, History, Progress, Report, RoundEvent
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
from pvi.solvers import (
    SGD,
    Adagrad,
    Adam,
    Aggregate,
    Batch,
    Context,
    ExactSolver,
    FixedSizeSampling,
    FullBatch,
    GradientSolver,
    LocalProblem,
    LocalResult,
    LocalSolver,
    PoissonSampling,
    Rule,
    Sampler,
    ShuffledSampling,
    StackedSolver,
    State,
    StepContext,
    scaled_sum,
)
from pvi.strategies import (
    AlterPart,
    AveragedShards,
    PartState,
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
    "AfterAverage",
    "Aggregate",
    "AlterPart",
    "AlterTotal",
    "AlterUpdate",
    "AlterWeights",
    "Alteration",
    "Apply",
    "Asynchronous",
    "AveragedShards",
    "Batch",
    "Callback",
    "CheckpointError",
    "Client",
    "ClientSampling",
    "Companion",
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
    "LocalProblem",
    "LocalResult",
    "LocalSolver",
    "LogisticRegression",
    "MeanFieldGaussian",
    "Model",
    "Packed",
    "PartState",
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
    "ShuffledSampling",
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
