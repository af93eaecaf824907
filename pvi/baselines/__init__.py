"""What PVI is compared with: global VI, the Bayesian committee machine, federated averaging."""

from pvi.baselines.committee import committee
from pvi.baselines.federated_averaging import AfterAverage, AlterWeights, FederatedAveraging
from pvi.baselines.global_vi import ClientSampling, DataSampling, Draw, RecordSampling, global_vi

__all__ = [
    "AfterAverage",
    "AlterWeights",
    "ClientSampling",
    "DataSampling",
    "Draw",
    "FederatedAveraging",
    "RecordSampling",
    "committee",
    "global_vi",
]
