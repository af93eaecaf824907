"""Shards as virtual clients with factors of their own (TMLR Algorithm 3, Theorems 9–11)."""

from dataclasses import dataclass

from mechanisms.parameter_perturbation import PartMechanism
from mechanisms.part_noise import Kind, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClients(PartMechanism):
    """The sum of N clipped changes, one per virtual client, plus noise.

    A record is in one shard, so the sum moves by at most 2C, and the noise does not depend on N
    (Theorem 9). The dilemma of remembered noise exists here within a client already: with
    memory="remembers" each virtual factor gets its own share σC/√N of the client's noise, which
    even an observer of messages does not see; `project` refuses this for N > 1 and more than one
    round. So the default is "forgets".
    """

    memory: Memory = "forgets"

    @property
    def kind(self) -> Kind:
        """Virtual clients."""
        return "virtual"
