"""What the specimens of the zoo accept: all that a hunt is told beside the claim.

No pair, no statistic and no hint of the flaw. Gradients may be of any size, since the mechanisms
clip them; a federation is so many clients with a target each, or one client with a record.
"""

from functools import partial

from audits import Domain

# Far beyond what is clipped to 1, and small beside it.
_GRADIENTS = partial(Domain, special_values=(1000.0, 1e-6))
_FAR = (-1e9, 1e9)


def _clients(count: int) -> Domain:
    """That many clients with one target each."""
    return Domain(
        dimension=0, bounds=_FAR, min_records=count, max_records=count, assemble=_one_each
    )


def _first_of(count: int, bound: float = 1e9) -> Domain:
    """One record in all, at the first of so many clients."""
    return Domain(
        dimension=0,
        bounds=(-bound, bound),
        min_records=1,
        max_records=1,
        assemble=partial(_at_the_first, count=count),
    )


def _one_each(targets: list[float]) -> tuple[tuple[float, ...], ...]:
    return tuple((float(target),) for target in targets)


def _at_the_first(targets: list[float], count: int) -> tuple[tuple[float, ...], ...]:
    return (tuple(map(float, targets)), *((),) * (count - 1))


DOMAINS: dict[str, Domain] = {
    "the batch mean is clipped": _GRADIENTS(),
    "best of twenty runs": _GRADIENTS(min_records=0),
    "bounds read from the data": _GRADIENTS(),
    "C for 2C under replacement": _clients(1),
    "colluders know half of the noise": _first_of(4),
    "damping of noise and changes differs": _first_of(3),
    "divisor from the data's size": _GRADIENTS(),
    "no noise on empty batches": _GRADIENTS(min_records=0),
    "exact mean released beside": Domain(dimension=0, min_records=4, max_records=4),
    "fixed seed": _GRADIENTS(min_records=0),
    "fixed-size batches as Poisson": _GRADIENTS(min_records=8),
    "gradients accumulated twice": _GRADIENTS(min_records=0),
    "mask seeds folded": Domain(dimension=1, min_records=10, max_records=10),
    "noise after the modulo": Domain(dimension=1, min_records=3, max_records=4),
    "noise hidden in factors, 10 clients": _first_of(10),
    "noise hidden in factors, nothing clipped": _first_of(25, 25.0),
    "noise off by the batch factor": _GRADIENTS(min_records=0),
    "noise on a grid, the sum not": _GRADIENTS(min_records=0),
    "noise reused across releases": _GRADIENTS(min_records=0),
    "noise split over 2 clients": _clients(2),
    "noise split over 10 clients": _clients(10),
    "per-layer clipping, noise of one layer": _GRADIENTS(dimension=4, min_records=0),
    "percentile clipping": _GRADIENTS(dimension=2),
    "division by the realised batch size": _GRADIENTS(dimension=20),
    "shuffling as Poisson": Domain(dimension=0, min_records=2, max_records=2),
    "stop rule that overshoots": _GRADIENTS(min_records=0),
    "each of four workers adds σ/4": _GRADIENTS(min_records=0),
}
