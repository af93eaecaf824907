"""Other accountants: what they are, and what has to be installed to ask them."""

from dataclasses import dataclass

from accountants import validate


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """An accountant of another library.

    Attributes:
      name: As in `audits.peers.asked.METHODS`.
      requirements: What pip installs into its environment, pinned.
      gives: What it says of its own answer: "upper bound", "interval" or "estimate".
    """

    name: str
    requirements: tuple[str, ...]
    gives: str = "upper bound"

    @property
    def library(self) -> str:
        """The library with its version."""
        name = self.name.split()[0]
        return next(one for one in self.requirements if one.startswith(f"{name}==")).replace(
            "==", " "
        )


_DP_ACCOUNTING = ("dp-accounting==0.6.0",)
# The CPU build that the index has; an open requirement of torch would bring gigabytes.
_OPACUS = ("torch==2.13.0", "opacus==1.6.0")
_JAX_PRIVACY = ("jax-privacy==2.0.0",)
# It calls what later releases of scipy no longer have.
_AUTODP = ("autodp==0.2.3.1", "numpy==1.26.4", "scipy==1.11.4")

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(name="dp-accounting PLD", requirements=_DP_ACCOUNTING),
        Peer(name="dp-accounting RDP", requirements=_DP_ACCOUNTING),
        Peer(name="opacus PRV", requirements=_OPACUS),
        Peer(name="opacus RDP", requirements=_OPACUS),
        Peer(name="opacus GDP", requirements=_OPACUS, gives="estimate"),
        Peer(name="jax-privacy PLD", requirements=_JAX_PRIVACY),
        Peer(name="jax-privacy RDP", requirements=_JAX_PRIVACY),
        Peer(name="prv-accountant", requirements=("prv-accountant==0.2.0",), gives="interval"),
        Peer(name="riskcal", requirements=("riskcal==1.5.1",)),
        Peer(name="autodp RDP", requirements=_AUTODP),
        Peer(name="autodp AFA", requirements=_AUTODP, gives="estimate"),
        Peer(name="pld-accountant", requirements=("pld-accountant==0.12.1",), gives="estimate"),
        Peer(name="opendp", requirements=("opendp==0.16.0",)),
        Peer(name="random-allocation", requirements=("random-allocation==1.0.5", "pandas==2.3.3")),
    )
}
"""All of them by name."""


def named(names: list[str] | None) -> list[Peer]:
    """The peers of these names or of these libraries; all of them for None.

    >>> [peer.name for peer in named(["autodp"])]
    ['autodp RDP', 'autodp AFA']
    """
    if names is None:
        return list(PEERS.values())
    found = []
    for name in names:
        mine = [peer for peer in PEERS.values() if name in (peer.name, peer.name.split()[0])]
        if not mine:
            libraries = sorted({known.split()[0] for known in PEERS})
            raise validate.refusal("peers", f"among {[*PEERS, *libraries]}", name)
        found += mine
    return found
