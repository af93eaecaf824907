"""Averages of separately optimised shards (TMLR Algorithm 2, Theorems 4–8)."""

from dataclasses import dataclass

from mechanisms.parameter_perturbation import PartMechanism
from mechanisms.part_noise import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAveraging(PartMechanism):
    """A client's N shards each propose a change with likelihood to the power N; noise/N is added.

    The message is α/N · (Σ_k clip(Δ_k) + noise): a record is in one shard, so the sum moves by at
    most 2C, and the noise on the average falls as 1/N (Theorem 6). N is a public constant. With
    clients that have different N and a trusted aggregator, weights differ, and `project` counts the
    noise of the sum against the client whose weight is largest.
    """

    @property
    def kind(self) -> Kind:
        """Averaged."""
        return "average"
