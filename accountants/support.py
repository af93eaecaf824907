"""Who accounts for what: events × relations × accountants, ours and the peers'.

`support_table()` asks each accountant's own `supports`, so that the table in the README cannot
drift from the code; a test compares the two.
"""

from collections.abc import Mapping

import dp_accounting as dpa
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    MixtureOfGaussiansDpEvent,
    RepeatAndSelectDpEvent,
    TruncatedSubsampledGaussianDpEvent,
)

from accountants import elementary, groups, releases, resolution
from accountants.events import (
    BallsInBinsDpEvent,
    DiscreteGaussianDpEvent,
    EpsilonDeltaDpEvent,
    ExponentialMechanismDpEvent,
    PermuteAndFlipDpEvent,
    ShuffledDpEvent,
    UserDpEvent,
)
from accountants.fourier import FourierAccountant
from accountants.moments import MomentsAccountant
from accountants.renyi import RenyiAccountant

_GAUSSIAN = dpa.GaussianDpEvent(1.0)
EXAMPLES: Mapping[str, dpa.DpEvent] = {
    "Gaussian": _GAUSSIAN,
    "Poisson-sampled Gaussian": dpa.PoissonSampledDpEvent(0.1, _GAUSSIAN),
    "fixed-size batch, Gaussian": dpa.SampledWithoutReplacementDpEvent(100, 10, _GAUSSIAN),
    "balls in bins, Gaussian": BallsInBinsDpEvent(10, _GAUSSIAN),
    "shuffled batches, Gaussian": ShuffledDpEvent(10, _GAUSSIAN),
    "batch with replacement, Gaussian": dpa.SampledWithReplacementDpEvent(100, 10, _GAUSSIAN),
    "Laplace": dpa.LaplaceDpEvent(1.0),
    "Poisson-sampled Laplace": dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(1.0)),
    "discrete Laplace": DiscreteLaplaceDpEvent(1.0, 1),
    "discrete Gaussian": DiscreteGaussianDpEvent(1.0),
    "(ε, δ)": EpsilonDeltaDpEvent(1.0, 1e-6),
    "exponential mechanism": ExponentialMechanismDpEvent(1.0),
    "permute-and-flip": PermuteAndFlipDpEvent(1.0),
    "randomised response": dpa.RandomizedResponseDpEvent(0.5, 3),
    # Of three: one with zero and another value is a sampled Gaussian.
    "mixture of Gaussians": MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.9, 0.05, 0.05]),
    "users of 4 records, Poisson-sampled Gaussian": groups.user_event(1.0, 0.1, 4),
    "users of 4 records, fixed-size batch, Gaussian": UserDpEvent(
        4, dpa.SampledWithoutReplacementDpEvent(100, 10, _GAUSSIAN)
    ),
    "zCDP": dpa.ZCDpEvent(0.1),
    "Poisson-sampled zCDP": dpa.PoissonSampledDpEvent(0.1, dpa.ZCDpEvent(0.1)),
    "truncated Poisson, Gaussian": TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 1.0),
    "tree aggregation": dpa.SingleEpochTreeAggregationDpEvent(1.0, 7),
    "repeat and select": RepeatAndSelectDpEvent(_GAUSSIAN, 10.0, 1.0),
}
_LETTERS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "A",
    NeighboringRelation.REPLACE_ONE: "R",
    NeighboringRelation.REPLACE_SPECIAL: "Z",
}
_ACCOUNTANTS = {
    "Fourier": FourierAccountant,
    "Rényi": RenyiAccountant,
    "moments": MomentsAccountant,
    "dp-accounting PLD": dpa.pld.PLDAccountant,
    "dp-accounting RDP": dpa.rdp.RdpAccountant,
}
_PRV_ATOMS = (releases.Gaussian, releases.PoissonGaussian, releases.Laplace)


def _prv_supports(event: dpa.DpEvent, relation: NeighboringRelation) -> bool:
    """prv-accountant has no events; what `crosscheck` can translate for it counts."""
    if relation is NeighboringRelation.REPLACE_ONE:
        return False
    try:
        return isinstance(resolution.resolve(event, relation), _PRV_ATOMS)
    except elementary.NotSupportedError:
        return False


def support_table() -> str:
    """A Markdown table; A, R, Z are add-or-remove, replace-one and zero-out (REPLACE_SPECIAL)."""
    names = [*_ACCOUNTANTS, "prv-accountant"]
    lines = ["| Event | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for label, event in EXAMPLES.items():
        cells = []
        for make in _ACCOUNTANTS.values():
            supported = [
                letter
                for relation, letter in _LETTERS.items()
                if make(neighboring_relation=relation).supports(event)
            ]
            cells.append(" ".join(supported) or "–")
        supported = [letter for r, letter in _LETTERS.items() if _prv_supports(event, r)]
        cells.append(" ".join(supported) or "–")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
