"""Why a peer's answer is too low: what its code does, and where that is discussed in public.

Each reason was read off the peer's code, of the version that `audits.peers.peer` names, or off its
intermediate results. A reason without an upstream thread is one for which a search found none: it
is to be reported there first, and stays off the front page.
"""

from collections.abc import Callable
from dataclasses import dataclass

from audits.peers.question import Question

_Asked = Callable[[Question], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A cause of answers that are too low.

    Attributes:
      name: In a few words.
      text: In a sentence or two.
      peers: Whose answers.
      to: Whether a question is one that it explains.
      upstream: Where it is discussed; empty where no public thread was found.
    """

    name: str
    text: str
    peers: tuple[str, ...]
    to: _Asked = lambda _: True
    upstream: str = ""


def _replaced(question: Question) -> bool:
    return bool(question["relation"] == "REPLACE_ONE")


def _repeated_responses(question: Question) -> bool:
    return any(
        release["kind"] == "randomized_response" and release["count"] > 1
        for release in question["releases"]
    )


def _very_many_steps(question: Question) -> bool:
    return any(release["count"] >= 10**7 for release in question["releases"])


REASONS = (
    Reason(
        name="C for 2C",
        text="A replaced record moves a sum of records clipped to C by 2C; the Rényi accountant "
        "takes the noise multiplier, the noise over C, for the noise over the sensitivity.",
        peers=("dp-accounting RDP", "jax-privacy RDP"),
        to=_replaced,
        upstream="https://github.com/google/differential-privacy/issues/378",
    ),
    Reason(
        name="repeated responses counted once",
        text="The PLD accountant composes the loss of a randomised response once, however often "
        "the event says that it is released.",
        peers=("dp-accounting PLD",),
        to=_repeated_responses,
    ),
    Reason(
        name="rounding of a transform",
        text="The transform of one step is raised to the power of the steps: after 1e8 of them its "
        "rounding errors leave masses of about -1e-13 at some 4e5 losses, which take more from the "
        "tail than δ = 1e-10.",
        peers=("dp-accounting PLD", "jax-privacy PLD"),
        to=_very_many_steps,
    ),
    Reason(
        name="a limit taken for a bound",
        text="Gaussian DP by the central limit theorem is what the loss tends to as steps go to "
        "infinity; it bounds nothing, and few steps with little sampling are far from it.",
        peers=("opacus GDP",),
        upstream="https://github.com/meta-pytorch/opacus/pull/400",
    ),
    Reason(
        name="a window without a bound",
        text="Losses are wrapped into a window [-L, L), and sums of floats are subtracted: no "
        "error is bounded. Where ε is near L or beyond, or δ below the rounding of 1, the answer "
        "says little.",
        peers=("pld-accountant",),
    ),
    Reason(
        name="bounds of another variable",
        text="The solver for ε hands the range of δ, [0, 1], to scipy's minimize_scalar as "
        "`bounds`. Older releases of scipy ignored them; with 1.11.4 they bound e^ε, and ε is 0 or "
        "less.",
        peers=("autodp AFA",),
    ),
)
"""The first that fits is the reason."""


def reason(peer: str, question: Question) -> Reason | None:
    """Why this peer's answer to this question is too low, where that is known."""
    fitting = (one for one in REASONS if peer in one.peers and one.to(question))
    return next(fitting, None)
