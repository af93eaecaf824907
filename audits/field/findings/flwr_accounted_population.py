"""Flower's accountant counts a client that comes or goes, its sampling exchanges one for another.

The accounted mode (new in 1.41) allows one relation: a client is added to or removed from the
population. It books a Gaussian with noise multiplier z, that is a sensitivity of C / K. But exactly
K clients are sampled in either case, so a client that comes takes the place of another: the mean
moves by up to 2 C / K. With K = 4 out of 5 clients or of 4 the newcomer is among them with
probability 4/5, and then μ is 2 / z where 1 / z is booked.
"""

from typing import Any

NOISE, CLIP, SAMPLED = 2.0, 1.0, 4

ABOUT = {
    "library": "flwr",
    "requirements": ["flwr==1.41.0", "dp-accounting==0.4.4"],
    "chunk_size": 32,
    "promise": "The accountant's ε for a client that is added to or removed from the population: "
    "that of a Gaussian with the given noise multiplier (PrivacyConfig, RdpAccountant)",
    "claim": {"mu": 1 / NOISE, "relation": "ADD_OR_REMOVE_ONE"},
    "pair": ([-1.0, -1.0, -1.0, -1.0, 1.0], [-1.0, -1.0, -1.0, -1.0]),
    "repair": "book a noise multiplier of z / 2 where the sample has a fixed size",
}


def flawed(data: Any) -> Any:
    """A round of the accounted mode."""
    return _round(data, NOISE)


def repaired(data: Any) -> Any:
    """The same with twice the noise."""
    return _round(data, 2 * NOISE)


def _round(data: Any, noise: float) -> Any:
    from drivers import flower
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
    from flwr.supercore import privacy_accounting as accounting
    from flwr.supercore.privacy_accounting.rdp_accountant import RdpAccountant

    setting = accounting.PrivacyConfig(
        target_delta=1e-5,
        population_size=len(data),
        neighboring_relation=accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        sampling_method=accounting.SamplingMethod.NO_AMPLIFICATION,
    )
    strategy = DifferentialPrivacyServerSideFixedClipping(
        FedAvg(fraction_train=0.8, min_train_nodes=SAMPLED, fraction_evaluate=0.0),
        noise,
        CLIP,
        SAMPLED,
        accountant=RdpAccountant(setting),
    )
    return flower.round_of(strategy, data)
