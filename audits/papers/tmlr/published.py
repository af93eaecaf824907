"""What TMLR prints of how it divides data (Appendix B). Published figures, never ours."""

from typing import NamedTuple

ADULT_RECORDS = 48_842
RHO = {"balanced": 0.0, "unbalanced 1": 0.75, "unbalanced 2": 0.7}
"""Tables 2 to 4: ρ by split."""


class SplitRow(NamedTuple):
    """A row of Table 2 or 3: records of a small client, shares of the majority class."""

    small_records: int
    small_majority: float
    large_majority: float


TABLES_2_AND_3 = {
    (10, "balanced"): SplitRow(2442, 0.76, 0.76),
    (10, "unbalanced 1"): SplitRow(610, 0.99, 0.73),
    (10, "unbalanced 2"): SplitRow(732, 0.03, 0.89),
    (200, "balanced"): SplitRow(122, 0.75, 0.78),
    (200, "unbalanced 1"): SplitRow(30, 0.97, 0.6778),
    (200, "unbalanced 2"): SplitRow(36, 0.03, 0.8593),
}
"""Adult among 10 clients and among 200, by clients and split."""
