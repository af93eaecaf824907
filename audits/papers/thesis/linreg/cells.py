"""How the tables of `thesis-linreg` print KL divergences."""

import math

MEASURES = (
    "KL(q ‖ exact posterior) in nats, an estimate over the seeds, each with data of its own. "
)
_LARGE = 1e6


def spread(low: float, median: float, high: float) -> str:
    """The median with the quantiles beside it."""
    return f"{digits(median)} ({digits(low)}–{digits(high)})"


def digits(value: float) -> str:
    """Three significant digits, an exponent only for very large values.

    >>> digits(0.01234), digits(12345.0), digits(3.99e9)
    ('0.0123', '12345', '4.0e+09')
    """
    if value >= _LARGE:
        return f"{value:.1e}"
    decimals = max(0, 2 - math.floor(math.log10(value))) if value > 0.0 else 0
    return f"{value:.{decimals}f}"
