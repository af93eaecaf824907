"""Federations whose clients are processes of their own and trust nobody.

A `Holder` is a data owner's process: it keeps the data, a permission and a budget, and answers what
they allow. What carries its bytes, and whoever asks, need not be trusted with more than that.
"""

from mechanisms.federated.holder import Holder
from mechanisms.federated.permission import Permission, PermissionRefusedError
from mechanisms.federated.seal import Seal, SealError, new_key

__all__ = [
    "Holder",
    "Permission",
    "PermissionRefusedError",
    "Seal",
    "SealError",
    "new_key",
]
