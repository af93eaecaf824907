r"""Each of M clients adds noise σC/√M to its message, accounted for as noise σC.

Why it breaks the claim: whoever sees a client's message sees that client's data under its own share
of the noise only. One replaced record moves the clipped change by up to 2C, so a round is Gaussian
with multiplier σ/√M, not σ. The shares add up to σC in the *sum*, which protects against those who
see nothing but sums (TMLR Theorem 8); the server of the Thesis's Algorithm 3 is sent the messages.

Why the twin keeps it: every client adds σC, so that its own message is the Gaussian mechanism of
multiplier σ on a vector of norm at most C; `mechanisms.project` proves this event for the view of
messages, and the claim is taken from there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountants import Bounds
from audits.estimators.fixed import clopper_pearson, gaussian_dp
from audits.pairs import Pair
from audits.specimens.federations import (
    FAR,
    REPLACE,
    ClientTargets,
    Watched,
    certified_claim,
    federation,
    shards,
)
from audits.specimens.specimen import CAUGHT, Specimen
from audits.specimens.sums import shifted
from audits.testing.statistics import Coordinate
from mechanisms import (
    AGGREGATE,
    MESSAGES,
    NoiseSplitting,
    ParameterPerturbation,
    Scope,
    View,
    epsilon_bounds,
    seen,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

NOISE_MULTIPLIER = 2.0


def _specimen(clients: int) -> Specimen:
    flawed = NoiseSplitting(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER)
    repaired = ParameterPerturbation(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER)
    others: ClientTargets = ((0.0,),) * (clients - 1)
    return Specimen(
        name=f"noise split over {clients} clients",
        flaw=f"Each of {clients} clients adds noise σC/√{clients} = "
        f"{NOISE_MULTIPLIER / math.sqrt(clients):.3g}·C to a message that is seen, and σC is "
        "accounted for.",
        reference="Thesis, Algorithm 3, eq. 3.4 and line 12, for the adversary of section 3.1, who "
        "intercepts messages; the twin: Thesis eq. 3.8, TMLR section 3.2.",
        explanation=__doc__ or "",
        claim=certified_claim(repaired, clients=clients, rounds=1, view=MESSAGES),
        flawed=Watched(flawed, 1, MESSAGES),
        repaired=Watched(repaired, 1, MESSAGES),
        pair=Pair(
            ((FAR,), *others), ((-FAR,), *others), "client 0's record pulls far up or far down"
        ),
        statistic=Coordinate(0),
        expected=CAUGHT,
        proof=shifted(2.0 * math.sqrt(clients) / NOISE_MULTIPLIER),
        picture=draw_split_costs,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCost:
    """One round of M clients that add σC/√M each, seen in one view, at δ.

    Attributes:
      clients: M.
      view: Messages, or the aggregator's sum.
      claimed: The ε of noise σC, from above.
      certified: The interval that `mechanisms.project` proves.
      shown: Lower bound from draws, of which nothing is assumed; it cannot pass the log of the
        number of draws.
      shown_if_normal: Lower bound from draws of which a normal law is assumed.
    """

    clients: int
    view: View
    claimed: float
    certified: Bounds
    shown: float
    shown_if_normal: float


def split_costs(
    clients: Sequence[int],
    rng: np.random.Generator,
    *,
    samples: int = 10_000,
    delta: float = 1e-5,
    confidence: float = 0.99,
) -> list[SplitCost]:
    """Claimed, certified and seen ε of split noise, in both views, for each number of clients.

    The sum of one round hides the shares: whoever sees only that learns what is claimed.
    """
    flawed = NoiseSplitting(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER)
    sound = ParameterPerturbation(clip_norm=1.0, noise_multiplier=NOISE_MULTIPLIER)
    rows = []
    for count in clients:
        pair = _specimen(count).pair
        experiment = federation(flawed, clients=count, rounds=1)
        runs = [
            experiment.build(shards(data), rng, repetitions=(samples,))
            for data in (pair.first, pair.second)
        ]
        for run in runs:
            run.run(1)
        sound_plan = federation(sound, clients=count, rounds=1).transcript()
        claimed = epsilon_bounds(sound_plan, Scope(relation=REPLACE), delta).upper
        for view in (MESSAGES, AGGREGATE):
            scores = [seen(run.transcript, view, count, samples)[:, 0] for run in runs]
            scope = Scope(relation=REPLACE, view=view)
            options = {"delta": delta, "confidence": confidence}
            rows.append(
                SplitCost(
                    clients=count,
                    view=view,
                    claimed=claimed,
                    certified=epsilon_bounds(experiment.transcript(), scope, delta),
                    shown=clopper_pearson(*scores, **options).epsilon_lower,
                    shown_if_normal=gaussian_dp(*scores, **options).epsilon_lower,
                )
            )
    return rows


def draw_split_costs(figure: "FigureBase") -> None:
    """ε against M: claimed, certified, seen; messages and sums."""
    rows = split_costs((2, 5, 10, 100), np.random.default_rng(0))
    axes = figure.subplots(1, 2, sharey=True)
    for one, view in zip(axes, (MESSAGES, AGGREGATE), strict=True):
        chosen = [row for row in rows if row.view == view]
        counts = [row.clients for row in chosen]
        certified = [row.certified.upper for row in chosen]
        one.plot(counts, [row.claimed for row in chosen], "--", color="#1f3b63", label="claimed")
        one.plot(counts, certified, "-", color="#b3402e", linewidth=1.2, label="certified")
        one.plot(
            counts,
            [row.shown_if_normal for row in chosen],
            "o",
            color="#b3402e",
            label="draws ≥, if normal",
        )
        one.plot(counts, [row.shown for row in chosen], "s", color="#2f8f6f", label="draws ≥")
        one.set(
            xscale="log",
            yscale="log",
            xlabel="clients M",
            xticks=counts,
            xticklabels=counts,
            title=f"view: {view}",
        )
        one.minorticks_off()
        one.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="ε at δ = 1e-5", yticks=(1, 3, 10, 30, 100), yticklabels=(1, 3, 10, 30, 100))
    axes[0].legend(frameon=False, fontsize=9, loc="upper left")


SPECIMENS = (_specimen(2), _specimen(10))
