"""Federations whose clients are processes of their own and trust nobody.

A `Holder` is a data owner's process: it keeps the data, a permission and a budget, and answers what
they allow. A `Coordinator` runs an experiment's rounds over holders. What carries bytes between
them is a `Courier`, and need not be trusted.
"""

from mechanisms.federated.coordinator import Coordinator, HolderRefusedError, NobodyAnswersError
from mechanisms.federated.courier import Courier, InProcess, LocalSockets
from mechanisms.federated.holder import Holder
from mechanisms.federated.permission import Permission, PermissionRefusedError
from mechanisms.federated.seal import Seal, SealError, new_key

__all__ = [
    "Coordinator",
    "Courier",
    "Holder",
    "HolderRefusedError",
    "InProcess",
    "LocalSockets",
    "NobodyAnswersError",
    "Permission",
    "PermissionRefusedError",
    "Seal",
    "SealError",
    "new_key",
]
