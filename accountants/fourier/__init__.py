"""The Fourier accountant and its engines."""

from accountants.fourier.accountant import Answer, FourierAccountant
from accountants.fourier.trade_off import TradeOff

__all__ = ["Answer", "FourierAccountant", "TradeOff"]
