"""What PVI is compared with: global VI, the Bayesian committee machine, federated averaging."""

from pvi.baselines.committee import committee
from pvi.baselines.federated_averaging import AlterWeights, AveragingResult, federated_averaging
from pvi.baselines.global_vi import ClientSampling, DataSampling, Draw, RecordSampling, global_vi

__all__ = [
    "AlterWeights",
    "AveragingResult",
    "ClientSampling",
    "DataSampling",
    "Draw",
    "RecordSampling",
    "committee",
    "federated_averaging",
    "global_vi",
]
