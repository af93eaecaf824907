"""Client splits: table values that need no real records, and refusals that give the reason."""

import numpy as np
import pytest

from pvi.data import balance, holdout, split

# TMLR, Appendix B, Table 4 (balanced MIMIC-III, 10 clients, 4475 training stays): rho, kappa,
# n_small, λ_small, λ_large. κ of the last row is -0.5: the plain-text copy of the paper has "5",
# which is outside κ's domain, and λ_small = 0.25 = 0.5 + 0.5κ leaves no other value.
TMLR_TABLE_4 = {
    "balanced": (0, 0, 447, 0.5, 0.5),
    "unbalanced 1": (0.75, 0.95, 111, 0.97, 0.4144),
    "unbalanced 2": (0.7, -0.5, 134, 0.25, 0.5158),
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def mimic_like():
    return np.repeat([0, 1], [2238, 2237])  # 4475 stays, as even as can be


@pytest.mark.parametrize("name", TMLR_TABLE_4)
def test_tmlr_table_4_sizes_and_small_shares(mimic_like, rng, name):
    rho, kappa, small, small_share, _ = TMLR_TABLE_4[name]
    parts = split(mimic_like, 10, rho, kappa, rng, majority=0)
    assert parts.sizes[:5] == (small,) * 5
    assert round(parts.shares(mimic_like, 0)[0], 2) == small_share


@pytest.mark.parametrize(("name", "ours"), [("unbalanced 1", 0.433), ("unbalanced 2", 0.545)])
def test_tmlr_table_4_large_shares_contradict_its_balanced_data(mimic_like, rng, name, ours):
    """The printed λ_large imply 48.4% and 47.5% of class 0 overall; off by −0.019 and −0.029.

    A random 80% of a balanced 5594 has a standard deviation of 0.33 percentage points.
    """
    rho, kappa, small, _, large_share = TMLR_TABLE_4[name]
    parts = split(mimic_like, 10, rho, kappa, rng, majority=0)
    shares = np.array(parts.shares(mimic_like, 0))
    assert shares[5:].mean() == pytest.approx(ours, abs=0.0015)
    large = parts.sizes[-1]
    implied = (small * shares[0] + large * large_share) / (small + large)
    deviation = np.sqrt(0.25 / 4475 * (1 - 4475 / 5594))
    assert (0.5 - implied) / deviation > 4.5


def test_balanced_table_4_training_size():
    assert 5594 * 8 // 10 == 4475  # TMLR Appendix B gives both numbers


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"clients": 5}, "`clients` must be even.*got 5"),
        ({"clients": 0}, "`clients` must be at least 2, got 0"),
        ({"rho": -0.1}, r"`rho` must be .* in \[0, 1\], got -0.1"),
        ({"rho": 1.1}, r"`rho` must be .* in \[0, 1\], got 1.1"),
        ({"rho": float("nan")}, "`rho` must be .*got nan"),
        ({"kappa": 1.01}, r"`kappa` must be in \[-3, 1\], got 1.01.*fraction of 1.0025"),
        ({"kappa": -3.1}, r"`kappa` must be in \[-3, 1\], got -3.1"),
        ({"kappa": float("nan")}, "`kappa` must be .*got nan"),
        ({"kappa": 5}, "`kappa` must be in .*got 5"),
        (
            {"rho": 0, "kappa": -3},
            "5 small clients with 100 records of the minority class each need 500, there are 250",
        ),
        ({"majority": 2}, r"`majority` must be one of the labels \[0.0, 1.0\], got 2"),
        ({"labels": np.zeros(10)}, "`labels` must hold exactly 2 distinct values, got 1"),
        ({"labels": np.arange(3)}, "`labels` must hold exactly 2 distinct values, got 3"),
        ({"labels": np.zeros((2, 2))}, r"`labels` must have the shape \(n,\).*got \(2, 2\)"),
    ],
)
def test_invalid_settings_are_refused_with_the_reason(rng, kwargs, message):
    arguments = {
        "labels": np.repeat([0, 1], [750, 250]),
        "clients": 10,
        "rho": 0.5,
        "kappa": 0.0,
    } | kwargs
    with pytest.raises(ValueError, match=message):
        split(**arguments, rng=rng)


def test_majority_class_can_run_out_too(rng):
    labels = np.repeat([0, 1], [500, 501])
    with pytest.raises(ValueError, match=r"of the majority class each need 500, there are 400"):
        split(np.repeat([0, 1], [400, 600]), 2, 0, 1, rng, majority=0)
    assert split(labels, 2, 0, 0.99, rng).sizes == (500, 500)


def test_one_record_short_is_refused_and_just_enough_is_not(rng):
    with pytest.raises(
        ValueError, match="5 records of the minority class each need 5, there are 4"
    ):
        split(np.repeat([0, 1], [6, 4]), 2, 0, -1.5, rng)
    assert split(np.repeat([0, 1], [6, 4]), 2, 0.2, -1.5, rng).sizes == (4, 6)


def test_decimals_are_not_floored_by_their_binary_form(rng):
    # (1 - 0.9)·100/10 is 0.99999… in binary and 1 on paper.
    labels = np.repeat([0, 1], [60, 40])
    assert split(labels, 10, 0.9, 0, rng).sizes == (1,) * 5 + (19,) * 5


@pytest.mark.parametrize(("kappa", "share"), [(1, 1.0), (-0.76 / 0.24, 0.0)])
def test_ends_of_kappas_domain(rng, kappa, share):
    labels = np.repeat([0, 1], [760, 240])
    parts = split(labels, 10, 0.7, kappa, rng)
    assert parts.shares(labels, 0)[:5] == (share,) * 5


def test_rho_one_leaves_small_clients_empty(rng):
    labels = np.repeat([0, 1], [60, 40])
    parts = split(labels, 4, 1, 0.5, rng)
    assert parts.sizes == (0, 0, 50, 50)
    assert np.isnan(parts.shares(labels, 0)[0])


def test_ties_take_the_smaller_label_unless_told(rng):
    labels = np.repeat([-1, 1], [50, 50])
    assert split(labels, 2, 0.5, 1, rng).shares(labels, -1)[0] == 1
    assert split(labels, 2, 0.5, 1, rng, majority=1).shares(labels, -1)[0] == 0


def test_same_seed_same_split_other_seed_another():
    labels = np.repeat([0, 1], [60, 40])
    one, two, other = (split(labels, 4, 0.5, 0.1, np.random.default_rng(s)) for s in (1, 1, 2))
    for a, b in zip(one.clients, two.clients, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(not np.array_equal(a, b) for a, b in zip(one.clients, other.clients, strict=True))


def test_large_clients_are_drawn_without_regard_to_class(rng):
    """Shares of the large clients scatter as a hypergeometric draw does, around what is left."""
    labels = np.repeat([0, 1], [760, 240])
    shares = np.array([split(labels, 10, 0.7, -3, rng).shares(labels, 0)[5:] for _ in range(400)])
    left = (760 - 5) / 850  # each small client takes one of the majority class
    deviation = np.sqrt(left * (1 - left) / 170 * (850 - 170) / 849)
    assert shares.mean(axis=0) == pytest.approx(np.full(5, left), abs=5 * deviation / 20)
    assert shares.std(axis=0) == pytest.approx(np.full(5, deviation), rel=0.2)


def test_every_record_can_go_to_every_client(rng):
    labels = np.repeat([0, 1], [6, 4])
    seen = [set() for _ in range(2)]
    for _ in range(200):
        for client, rows in enumerate(split(labels, 2, 0.4, 0, rng).clients):
            seen[client].update(rows.tolist())
    assert seen == [set(range(10))] * 2


def test_holdout_refuses_more_than_there_are(rng):
    with pytest.raises(ValueError, match="`train` must be at most 10, got 11"):
        holdout(10, 11, rng)
    with pytest.raises(ValueError, match="`train` must be at least 0, got -1"):
        holdout(10, -1, rng)


def test_balance_keeps_the_rarer_class_whole(rng):
    labels = np.repeat([0, 1], [21139 - 2797, 2797])  # MIMIC-III in-hospital mortality
    kept = balance(labels, rng)
    assert len(kept) == len(set(kept.tolist())) == 5594  # TMLR Appendix B
    assert set(np.flatnonzero(labels == 1).tolist()) <= set(kept.tolist())
    assert labels[kept].mean() == 0.5
    assert labels[kept][:100].std() > 0, "classes are not shuffled"
