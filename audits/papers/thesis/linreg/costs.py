"""What a run of the Thesis's chapter 4 costs, as a table's last column."""

from accountants import Bounds
from audits.papers.study import Cost
from audits.papers.thesis.linreg.case import Case
from audits.papers.thesis.linreg.training import SCOPE, certified

READ_FROM_THE_DATA = "clip norm read from the data"


def cost(case: Case, updates: int, delta: float) -> Cost:
    """What so many server updates cost the worst client's records."""
    bounds = certified(case, updates, delta)
    if bounds is None:
        return Cost.unbounded(READ_FROM_THE_DATA)
    rate = case.sampling_rate
    sampling = "all records" if rate == 1.0 else f"Poisson, q = {rate:g}"
    return Cost.from_bounds(Bounds(*bounds), SCOPE, delta, sampling)
