"""σ·√(h/M) against the Gaussian that an adversary faces, written out as a covariance matrix.

The adversary's view of one round is linear in the clients' independent noises and in the unit's
shift. Two Gaussians with the same covariance Σ and means apart by d are as far apart as N(0, 1) and
N(μ, 1) with μ² = dᵀΣ⁻¹d; μ must be what an accountant makes of the event.
"""

import itertools
import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation as Relation
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    AGGREGATE,
    MESSAGES,
    SERVER,
    Contribution,
    Layout,
    LocalAveraging,
    Release,
    Scope,
    ServerNoise,
    colluding,
    project_clients,
)


def separation(target, weights, stds, shift, server_std, view):
    """The largest μ over the colluders that the view allows."""
    clients = len(weights)
    if view is MESSAGES:
        observed = np.diag(weights)
        covariance = observed @ np.diag(stds**2) @ observed.T
        mean = observed[:, target] * shift
        return math.sqrt(mean @ np.linalg.solve(covariance, mean))
    others = [m for m in range(clients) if m != target]
    largest = 0.0
    for known in itertools.combinations(others, view.colluders):
        # the sum (with the server's noise), and each colluder's own noise
        observed = np.zeros((1 + len(known), clients))
        observed[0] = weights
        for row, client in enumerate(known, start=1):
            observed[row, client] = 1.0
        covariance = observed @ np.diag(stds**2) @ observed.T
        covariance[0, 0] += server_std**2
        mean = np.zeros(1 + len(known))
        mean[0] = weights[target] * shift
        largest = max(largest, math.sqrt(mean @ np.linalg.solve(covariance, mean)))
    return largest


positive = st.floats(0.1, 10.0)


@settings(max_examples=60)
@given(st.data())
def test_the_unknown_noise_is_what_the_covariance_says(data):
    clients = data.draw(st.integers(2, 5))
    weights = np.array(data.draw(st.lists(positive, min_size=clients, max_size=clients)))
    stds = np.array(data.draw(st.lists(positive, min_size=clients, max_size=clients)))
    server_std = data.draw(st.sampled_from([0.0, 0.5, 3.0]))
    colluders = data.draw(st.integers(1, clients - 1))
    relation, factor = data.draw(
        st.sampled_from([(Relation.REPLACE_ONE, 2.0), (Relation.REPLACE_SPECIAL, 1.0)])
    )
    sources = [
        Contribution(client=m, clips="part", clip_norm=1.5, noise_std=stds[m], weight=weights[m])
        for m in range(clients)
    ]
    transcript = (
        *(
            Release(value=None, sender=m, round=1, group=0, source=sources[m])
            for m in range(clients)
        ),
        Release(
            value=None, sender=SERVER, round=1, group=0, source=ServerNoise(noise_std=server_std)
        ),
    )
    for view in (MESSAGES, AGGREGATE, colluding(colluders)):
        events = project_clients(transcript, Scope(relation=relation, unit="record", view=view))
        for target in range(clients):
            truth = separation(target, weights, stds, 2 * 1.5, server_std, view)
            assert factor / events[target].noise_multiplier == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(("clients", "colluders"), [(2, 1), (5, 0), (5, 2), (10, 9)])
def test_equal_shares_give_the_square_root_of_the_unknown_part(clients, colluders):
    """TMLR Theorem 8's shares: the multiplier is σ·√(h/M), h = M − k."""
    sigma = 3.0
    mechanism = LocalAveraging(
        clip_norm=1.0, noise_multiplier=sigma, trusted_aggregator=True, memory="forgets"
    )
    transcript = mechanism.plan(Layout(clients=clients, parts=4), rounds=1)
    view = colluding(colluders) if colluders else AGGREGATE
    event = project_clients(transcript, Scope(relation=Relation.REPLACE_ONE, view=view))[0]
    hidden = clients - colluders
    assert event.noise_multiplier == pytest.approx(sigma * math.sqrt(hidden / clients), rel=1e-12)
    weights, stds = np.full(clients, 0.25), np.full(clients, sigma / math.sqrt(clients))
    truth = separation(0, weights, stds, 2.0, 0.0, view)
    assert 2.0 / event.noise_multiplier == pytest.approx(truth, rel=1e-9)
