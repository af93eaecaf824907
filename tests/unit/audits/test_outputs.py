"""Outputs of any kind are evidence: words, None, dicts, tables, ragged lists, exceptions.

A leak shows the record in nine of ten outputs, a sound mechanism (ε = 1) in e/(1+e) of them; claims
are of ε = 1. A leak's bets grow by more than 0.3 nats a draw, so that 2,000 draws convict at 99%
but for far less than 1e-9; a sound one is accused at most once in 1e9 audits.
"""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from audits import Domain, GaussianClaim, PointClaim, audit, estimate_epsilon, hunt, repeat
from audits.testing.outputs import Encoder, Raised
from audits.verdict import Word

PAIR = ([1], [0])
CLAIM = PointClaim(1.0)
SOUND = math.e / (1.0 + math.e)


class Table:
    """As much of a data frame as is looked at."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name):
        return self._columns[name]

    def to_numpy(self):
        return np.array(list(self._columns.values())).T


def failing(bit, rng):
    if bit:
        raise ZeroDivisionError("a record")
    return 0.0


KINDS = {
    "words": lambda bit, rng: "yes" if bit else "no",
    "none": lambda bit, rng: None if bit else 1.0,
    "booleans": lambda bit, rng: bool(bit),
    "bytes": lambda bit, rng: b"\x00" if bit else b"",
    "dicts": lambda bit, rng: {"count": float(bit) + rng.normal(scale=1e-3), "name": "x"},
    "keys": lambda bit, rng: {"a": 1.0} | ({"b": rng.normal()} if bit else {}),
    "nested": lambda bit, rng: {"parts": [[rng.normal()], [float(bit)]]},
    "ragged": lambda bit, rng: rng.normal(size=3 + bit),
    "sets": lambda bit, rng: {"a", "b"} if bit else {"a"},
    "tables": lambda bit, rng: Table({"x": rng.normal(size=2 + bit), "y": ["u"] * (2 + bit)}),
    "cells": lambda bit, rng: Table({"x": np.array(["u", "v" if bit else "u"])}),
    "exceptions": failing,
    "tuples": lambda bit, rng: (rng.normal(), "a" if bit else "b"),
    "complex": lambda bit, rng: complex(rng.normal(), bit),
    "objects": lambda bit, rng: range(bit),
    "huge integers": lambda bit, rng: 10**400 if bit else 1,
}


def responding(kind, truth):
    """Says the record's bit with this probability, and the other one otherwise."""

    def mechanism(data, rng):
        bit = data[0] if rng.random() < truth else 1 - data[0]
        return KINDS[kind](bit, rng)

    return repeat(mechanism)


@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_is_refuted(kind):
    rng = np.random.default_rng(0)
    verdict = audit(responding(kind, 0.99), PAIR, CLAIM, max_samples=2_000, rng=rng)
    assert verdict.refuted, verdict.explain()


@pytest.mark.parametrize("kind", KINDS)
def test_the_sound_twin_is_not(kind):
    verdict = audit(
        responding(kind, SOUND),
        PAIR,
        CLAIM,
        confidence=1 - 1e-9,
        max_samples=300,
        rng=np.random.default_rng(1),
    )
    assert verdict.word is Word.NOT_REFUTED


@pytest.mark.parametrize("kind", ["words", "ragged", "exceptions"])
def test_a_bound_is_found_from_such_outputs(kind):
    """log(0.99/0.01) = 4.6 is the truth; 2,000 draws show at least 2.5."""
    evidence = estimate_epsilon(
        responding(kind, 0.99), PAIR, max_samples=2_000, rng=np.random.default_rng(2)
    )
    assert 2.0 < evidence.epsilon_lower <= math.log(99.0)


@pytest.mark.parametrize("kind", ["words", "exceptions", "tables"])
def test_a_hunt_takes_them_too(kind):
    domain = Domain(record=lambda rng: int(rng.integers(2)), max_records=1, min_records=1)
    claim = PointClaim(1.0, relation=NeighboringRelation.REPLACE_ONE)
    verdict = hunt(responding(kind, 0.99), claim, domain=domain, rng=np.random.default_rng(3))
    assert verdict.refuted


def test_another_width_on_one_side_is_evidence():
    def widening(data, rng, n):
        return rng.normal(size=(n, 2 + data[0]))

    verdict = audit(widening, PAIR, CLAIM, rng=np.random.default_rng(0))
    assert verdict.refuted


def test_an_exception_on_one_side_is_evidence_and_on_both_is_an_error():
    def picky(data, rng, n):
        if data[0]:
            raise ValueError("no ones")
        return rng.normal(size=n)

    assert audit(picky, PAIR, CLAIM, rng=np.random.default_rng(0)).refuted
    with pytest.raises(ValueError, match="no ones"):
        audit(picky, ([1], [1]), CLAIM, rng=np.random.default_rng(0))


def test_a_statistic_of_ones_own_need_not_know_exceptions():
    verdict = audit(
        responding("exceptions", 0.99),
        PAIR,
        CLAIM,
        statistic=lambda outputs: np.asarray(outputs, dtype=float),
        rng=np.random.default_rng(0),
    )
    assert verdict.refuted


def test_plain_numbers_stay_as_they_are():
    outputs = np.arange(6.0).reshape(3, 2)
    encoder = Encoder.fit(outputs)
    assert encoder.is_plain
    np.testing.assert_array_equal(encoder(outputs), outputs)
    np.testing.assert_array_equal(encoder([[1, 2], (3, 4)]), [[1.0, 2.0], [3.0, 4.0]])
    assert np.isnan(encoder([np.zeros(3), Raised(ValueError())])).all()


def test_what_was_never_seen_has_a_column_of_its_own():
    encoder = Encoder.fit(["a", "b", "a"])
    known, unknown = encoder(["a", "zebra"])
    assert known[-1] == 0.0
    assert unknown[-1] > 0.0


def test_exceptions_can_be_sent():
    class UnsendableError(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one}{two}")

    assert isinstance(Raised(UnsendableError(1, 2)).error, RuntimeError)
    assert isinstance(Raised(KeyError("x")).error, KeyError)


@pytest.mark.parametrize("shown", ["last", "all"])
def test_a_transcript_is_no_weaker_than_its_last_entry(shown):
    """Noise √2 too small in the last of 100 numbers.

    A number alone takes 153 draws in the median and 380 in 95% of runs; with a seventh of the
    wealth, 1,500 draws are five standard deviations more than it needs.
    """

    def walk(data, rng, n):
        others = rng.normal(size=(n, 99)).cumsum(axis=1) * 0.1
        last = data[0] + rng.normal(scale=math.sqrt(0.5), size=(n, 1))
        return last if shown == "last" else np.concatenate([others, last], axis=1)

    verdict = audit(walk, PAIR, GaussianClaim(1.0), max_samples=1_500, rng=np.random.default_rng(0))
    assert verdict.refuted
