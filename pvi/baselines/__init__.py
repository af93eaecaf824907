"""What PVI is compared with: global VI, the Bayesian committee machine, federated averaging."""

from pvi.baselines.committee import committee
from pvi.baselines.federated_averaging import AveragingResult, federated_averaging
from pvi.baselines.global_vi import ClientSampling, RecordSampling, global_vi

__all__ = [
    "AveragingResult",
    "ClientSampling",
    "RecordSampling",
    "committee",
    "federated_averaging",
    "global_vi",
]
