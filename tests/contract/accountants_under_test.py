"""The accountants that the contract is run for."""

from accountants import (
    FourierAccountant,
    IntervalAccountant,
    MomentsAccountant,
    RenyiAccountant,
)

ACCOUNTANTS: tuple[type[IntervalAccountant], ...] = (
    MomentsAccountant,
    RenyiAccountant,
    FourierAccountant,
)
