"""Gauss–Legendre's rule in balls."""

from functools import lru_cache

from flint import arb, ctx

POINTS = 24


@lru_cache(maxsize=8)
def rule(prec):
    """[(node, weight)] on [−1, 1]."""
    with ctx.workprec(prec):
        return [arb.legendre_p_root(POINTS, k, weight=True) for k in range(POINTS)]
