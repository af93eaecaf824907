"""Verdicts follow their inputs: change one, and the word or the figure changes."""

import numpy as np
import pytest

from accountants import Bounds
from audits.papers import (
    CLAIMS,
    costs,
    two_optima,
)
from audits.papers.thesis import accounting as thesis_accounting
from audits.papers.thesis import central_noise as thesis_central_noise
from audits.papers.thesis import dp_sgd as thesis_dp_sgd
from audits.papers.thesis import noise_splitting as thesis_noise_splitting
from audits.papers.thesis import variational as thesis_variational
from audits.papers.tmlr import perturbation as tmlr_perturbation
from audits.papers.tmlr import properties as tmlr_properties
from audits.papers.tmlr import shares as tmlr_shares
from audits.papers.tmlr import tables as tmlr_tables
from audits.papers.tum import accounting as tum
from audits.papers.tum import aggregation as tum_aggregation
from audits.papers.workshop import accounting as workshop
from audits.papers.workshop import data as workshop_data
from audits.papers.workshop.published import Kind


def still(memory, damping=1.0):
    """A process that does not walk."""
    draws = np.random.default_rng(0).normal(0.0, 20.0 * damping, (2000, 2))
    return dict.fromkeys((1, 5, 20, 50), draws)


def split_b(**change):
    """A row of the Workshop's Table 1 with something else in it."""
    return workshop_data.TABLE_1["B"]._replace(**change)


# Each row changes an input so that the statement becomes true, or false: the verdict must follow.
ALTERED = [
    (
        "workshop-delta",
        workshop_data,
        "TABLE_1",
        {"A": split_b(small=Kind(390, 1.3, 1e-2))},
        "REFUTED",
    ),
    (
        "workshop-table-1-shares",
        workshop_data,
        "TABLE_1",
        {"B": split_b(small=Kind(390, 1.2, 1e-3))},
        "REFUTED",
    ),
    ("tmlr-network-link", tmlr_tables.special, "logit", tmlr_tables.special.expit, "HOLDS"),
    ("tum-aggregation-keys", tum_aggregation, "_BASE", 1, "HOLDS"),
    ("workshop-moments-tight", costs, "poisson", lambda *a: Bounds(1.0, 1.0), "HOLDS"),
    ("workshop-budget-fixed-size", costs, "fixed_size", lambda *a: Bounds(0.5, 0.9), "HOLDS"),
    ("workshop-budget-poisson", costs, "poisson", lambda *a: Bounds(2.0, 2.0), "REFUTED"),
    ("workshop-table-1", workshop_data, "ADULT_RECORDS", 48_900, "REFUTED"),
    ("workshop-stop-rule", costs, "steps_within", lambda *a: 100, "HOLDS"),
    ("workshop-clip-norm", workshop, "RATE", 1.0, "REFUTED"),
    ("thesis-fig-4-1", thesis_accounting, "DELTA", 1e-300, "REFUTED"),
    ("thesis-minibatch-tenth", thesis_accounting, "DELTA", 1e-20, "REFUTED"),
    ("thesis-gaussian-mechanism", thesis_accounting.gaussian, "delta", lambda *a: 1.0, "REFUTED"),
    ("thesis-moments-accountant", costs, "poisson", lambda *a: Bounds(1e3, 1e3), "REFUTED"),
    ("thesis-realised-batch", thesis_dp_sgd, "realised_batch_epsilon", lambda *a: 0.1, "HOLDS"),
    ("thesis-percentile-clipping", thesis_dp_sgd, "percentile_epsilon", lambda *a: 1, "HOLDS"),
    ("thesis-algorithm-3-cost", thesis_noise_splitting, "CLIENTS", (1,), "REFUTED"),
    ("thesis-minibatch-steps", thesis_accounting, "DELTA", 1e-40, "REFUTED"),
    ("thesis-tail-bound", thesis_accounting.gaussian, "delta", lambda *a: 0.0, "HOLDS"),
    ("thesis-theorem-2-1-1-optimum", two_optima, "OUTLIERS", 0.9, "HOLDS"),
    ("thesis-fig-3-3", thesis_noise_splitting, "multiplier", lambda *a: 0.7, "REFUTED"),
    (
        "thesis-post-processing",
        thesis_noise_splitting,
        "hidden_noise_epsilon",
        lambda *a: 1.0,
        "REFUTED",
    ),
    ("thesis-random-walk", thesis_central_noise, "_walk", still, "REFUTED"),
    ("thesis-resets-variance", thesis_central_noise, "_walk", still, "REFUTED"),
    ("thesis-eq-4-12", thesis_variational, "_data", thesis_variational._orthogonal, "HOLDS"),
    ("tmlr-fixed-size", costs, "fixed_size", lambda *a: Bounds(1.0, 2.0), "HOLDS"),
    ("tmlr-theorem-3", costs, "poisson_replaced", lambda *a: Bounds(1.0, 1.0), "REFUTED"),
    (
        "tmlr-shares-over-rounds",
        tmlr_shares,
        "hidden_noise_epsilon",
        lambda *a, **k: 1.0,
        "HOLDS",
    ),
    ("tmlr-theorem-4-9", tmlr_perturbation, "multiplier", lambda *a: 6.0, "REFUTED"),
    ("tmlr-local-averaging-optimum", tmlr_properties, "SECOND", tmlr_properties.FIRST, None),
    ("tmlr-property-a4", tmlr_properties, "FIRST", np.zeros(3), "HOLDS"),
    ("tmlr-property-a5", tmlr_properties, "SECOND", np.zeros(30), None),
    ("tmlr-table-2", tmlr_tables, "SMALL", {10: (3907, 976, 1172)}, "HOLDS"),
    ("tmlr-table-3", tmlr_tables, "ADULT_RECORDS", 30_526, "HOLDS"),
    ("tmlr-table-4-large", tmlr_tables, "TABLE_4", ((0.75, 111, 0.97, 0.4335),), "HOLDS"),
    ("tmlr-table-4-sizes", tmlr_tables, "MIMIC_TRAINING", 4000, "REFUTED"),
    ("tmlr-property-a3-optimum", two_optima, "OUTLIERS", 0.9, "HOLDS"),
    ("tmlr-virtual-clients-optimum", two_optima, "OUTLIERS", 0.9, "HOLDS"),
    ("tmlr-hyperparameters", tmlr_tables, "best_of_epsilon", lambda *a: 0.5, "HOLDS"),
    ("tmlr-table-1-local-data", tmlr_shares, "calibrate_noise", lambda **k: 1.0, "REFUTED"),
    ("tum-theorem-1-range", tum, "MU", 0.1, "HOLDS"),
    ("tum-theorem-2", tum, "worst_composed_delta", lambda *a: 1.0, "REFUTED"),
    ("tum-delta", tum, "TOTAL_DELTA", 1e-6, "HOLDS"),
]


@pytest.mark.parametrize(("name", "where", "attribute", "value", "verdict"), ALTERED)
def test_verdicts_follow_their_inputs(monkeypatch, results, name, where, attribute, value, verdict):
    monkeypatch.setattr(where, attribute, value)
    found = CLAIMS[name].check()
    if verdict is None:  # the verdict stays, its figure does not
        assert found.figure != results[name].finding.figure
    else:
        assert found.verdict.name == verdict
