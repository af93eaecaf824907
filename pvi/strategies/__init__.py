"""What a client does with its data when asked for an update: one of TMLR's three ways."""

from pvi.strategies.averaged import AveragedShards
from pvi.strategies.parts import AlterPart
from pvi.strategies.protocol import PartState, Strategy, Wish
from pvi.strategies.virtual import VirtualShards
from pvi.strategies.whole import WholeShard

__all__ = [
    "AlterPart",
    "AveragedShards",
    "PartState",
    "Strategy",
    "VirtualShards",
    "WholeShard",
    "Wish",
]
