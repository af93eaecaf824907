r"""Noise shares that only their sum hides, kept in the clients' factors while clipping is active.

An observer sees sums over M clients only, so the first round is as claimed: Gaussian of multiplier
σ. But each client's factor λ_m has absorbed its own noise share, and the next proposal is the
distance from λ_m to the client's optimum.

Why it breaks the claim: let client 0 be clipped in every round (it sends ±C plus noise) and let the
others pull back towards optima at 0. Unclipped, the others send −λ_m plus fresh noise: they take
back their own shares, and with them the sum of the first round except for client 0's part, C plus
its share. The sums of rounds 1 to i add up to i·C plus fresh noise and client 0's i − 1 shares,
each of variance (σC)²/M only: the shift grows as C(1 + α(i − 1)) while the noise hardly does. Where
the others are clipped as well they take back less, and the leak is smaller but stays.

Why the twin keeps it: factors are reset from public state, (q/p)^(1/M), after each round (Thesis
eq. 3.18), so that a proposal depends on the client's data and on released sums only; each round is
then a Gaussian release of the sum with fresh noise σC, and rounds compose. `mechanisms.project`
proves this event for the twin and refuses the flawed one.

Where nothing is ever clipped there is no extra leak: λ_m after a round is the client's optimum plus
its fresh share, the rounds' sums add up to the sum of the optima plus *fresh* noise, and T rounds
are T Gaussian releases, as claimed. That case is here as well, and must not be refuted: the record
is bounded by C/4 to begin with, which is what the claim is about, and a share has the standard
deviation C/10, so that a clipped change is as rare as ten of them (e^{−50}).
"""

from audits.pairs import Pair
from audits.specimens.federations import FAR, NOISE_STD, ClientTargets, Watched, certified_claim
from audits.specimens.specimen import CAUGHT, HARMLESS, Expected, Specimen
from audits.testing.statistics import Weighted
from mechanisms import AGGREGATE, NoiseSplitting, ParameterPerturbation

REFERENCE = (
    "Thesis, Algorithm 3, eq. 3.5 (factors absorb the noise) and section 3.3 after eq. 3.7 (a "
    "violation of post-processing); TMLR Theorems 8 and 11 for the sums; resets: Thesis eq. 3.18."
)


def _specimen(
    name: str,
    flaw: str,
    *,
    clients: int,
    rounds: int,
    noise_multiplier: float,
    target: float,
    sensitivity: float,
    expected: Expected,
    max_samples: int,
) -> Specimen:
    flawed = NoiseSplitting(clip_norm=1.0, noise_multiplier=noise_multiplier)
    repaired = ParameterPerturbation(
        clip_norm=1.0, noise_multiplier=noise_multiplier, trusted_aggregator=True, memory="resets"
    )
    # The others have no records: their likelihood is 1, and they pull back to where they began.
    others: ClientTargets = ((),) * (clients - 1)
    # Σ over i of the sums of rounds 1 to i is Σ over rounds j of (T − j + 1)·sum_j.
    weights = [value for j in range(rounds) for value in (float(rounds - j), 0.0)]
    return Specimen(
        name=name,
        flaw=flaw,
        reference=REFERENCE,
        explanation=__doc__ or "",
        claim=certified_claim(
            repaired, clients=clients, rounds=rounds, view=AGGREGATE, sensitivity=sensitivity
        ),
        flawed=Watched(flawed, rounds, AGGREGATE),
        repaired=Watched(repaired, rounds, AGGREGATE),
        pair=Pair(
            ((target,), *others),
            ((-target,), *others),
            f"client 0's record is at +{target:g} or at −{target:g}, the others have none",
        ),
        statistic=Weighted(tuple(weights)),
        expected=expected,
        max_samples=max_samples,
    )


def clipped_among(clients: int) -> Specimen:
    """The specimen with M clients, of which client 0 is clipped in each of ten rounds."""
    return _specimen(
        f"noise hidden in factors, {clients} clients",
        "Only sums are seen, but factors remember noise shares that nobody else knows, and later "
        "clipped changes leak them.",
        clients=clients,
        rounds=10,
        noise_multiplier=5.0,
        target=FAR,
        sensitivity=1.0,
        expected=CAUGHT,
        max_samples=800,
    )


SPECIMENS = (
    clipped_among(10),
    _specimen(
        "noise hidden in factors, nothing clipped",
        "Factors remember noise shares that nobody else knows, but no change is ever clipped, and "
        "nothing more leaks than is claimed.",
        clients=25,
        rounds=3,
        noise_multiplier=0.5,
        target=0.25 * NOISE_STD**2,
        sensitivity=0.25,
        expected=HARMLESS,
        max_samples=800,
    ),
)
