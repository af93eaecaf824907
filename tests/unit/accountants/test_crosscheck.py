import math

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import Bounds, BoundsError, MomentsAccountant, crosscheck
from accountants.crosscheck import CrossCheck, Row

REPLACE = NeighboringRelation.REPLACE_ONE


def rows(table: CrossCheck) -> dict[str, Row]:
    return {row.accountant: row for row in table.rows}


def test_everyone_agrees_on_poisson_sampling():
    step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0))
    table = crosscheck(dpa.SelfComposedDpEvent(step, 1000), 1e-5)
    assert table.consistent
    assert "prv-accountant" in rows(table)
    assert rows(table)["prv-accountant"].lower > 1.8
    # tests/golden/fourier_poisson.json
    assert all(row.upper >= 1.828236666516576 for row in table.rows)


def test_the_factor_two_of_replace_one_is_flagged():
    """Regression: dp-accounting 0.6.0's Rényi accountant says 4.7285 where the truth is 9.9973."""
    table = crosscheck(dpa.GaussianDpEvent(1.0), 1e-5, REPLACE)
    found = rows(table)
    assert found["dp-accounting RDP"].upper == pytest.approx(4.7285, abs=1e-4)
    assert "2C" in found["dp-accounting RDP"].note
    assert not table.consistent
    assert any(low == "dp-accounting RDP" for low, _ in table.conflicts)
    ours = [row for row in table.rows if row.accountant.startswith("dp-assay") and row.answered]
    assert ours
    assert all(row.upper == pytest.approx(9.9973, abs=1e-4) for row in ours)
    # dp-accounting 0.6.0: get_epsilon_gaussian(1/2, 1e-5)
    assert table.best.upper == pytest.approx(9.99725614643, abs=1e-9)
    assert "CONFLICT" in str(table)


def test_repeated_randomised_response_is_noted():
    """dp-accounting 0.6.0's PLD accountant composes a repeated randomised response only once."""
    once, ten_times = (
        rows(
            crosscheck(
                dpa.SelfComposedDpEvent(dpa.RandomizedResponseDpEvent(0.5, 2), n), 1e-5, REPLACE
            )
        )
        for n in (1, 10)
    )
    peer = "dp-accounting PLD"
    assert ten_times[peer].upper == once[peer].upper
    assert "once" in ten_times[peer].note
    # Truth 3/4 against lie 1/4, ten times: only "all true" exceeds e^ε near the pure 10·log 3, so
    # δ(ε) = 0.75^10 − e^ε·0.25^10 there.
    exact = math.log((0.75**10 - 1e-5) / 0.25**10)
    assert ten_times["dp-assay Rényi"].upper >= exact
    assert once[peer].upper < exact / 9


def test_a_peer_that_refuses_gets_a_row_with_the_reason():
    step = dpa.SampledWithoutReplacementDpEvent(1000, 10, dpa.GaussianDpEvent(1.0))
    table = crosscheck(dpa.SelfComposedDpEvent(step, 10), 1e-5, REPLACE)
    row = rows(table)["prv-accountant"]
    assert not row.answered
    assert row.note.startswith("refuses: ")
    assert row.upper == math.inf


def test_nothing_released_costs_nothing():
    table = crosscheck(dpa.NoOpDpEvent(), 1e-5)
    assert table.best.upper == 0.0
    assert table.consistent


def table_of(*bounds: tuple[float, float]) -> CrossCheck:
    return CrossCheck(
        event=dpa.NoOpDpEvent(),
        delta=1e-5,
        neighboring_relation=REPLACE,
        rows=tuple(
            Row(accountant=f"dp-assay {index}", lower=lower, upper=upper, seconds=0.0, ours=True)
            for index, (lower, upper) in enumerate(bounds)
        ),
    )


@pytest.mark.parametrize(
    ("bounds", "consistent"),
    [
        ([(0.0, 1.0), (0.5, 2.0)], True),
        ([(0.0, 1.0), (1.0, 2.0)], True),
        ([(0.0, 1.0), (1.001, 2.0)], False),
        ([(0.0, math.inf), (5.0, 6.0)], True),
        ([(math.inf, math.inf), (5.0, 6.0)], False),
    ],
)
def test_consistency_is_about_upper_below_lower(bounds, consistent):
    assert table_of(*bounds).consistent is consistent


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="`delta` must be"):
        crosscheck(dpa.NoOpDpEvent(), 0.0)
    with pytest.raises(TypeError, match="`relation` must be"):
        crosscheck(dpa.NoOpDpEvent(), 1e-5, "add")
    with pytest.raises(ValueError, match="`noise_multiplier` must be"):
        crosscheck(dpa.GaussianDpEvent(-1.0), 1e-5)


def test_what_is_not_a_number_is_no_answer(monkeypatch):
    """min() over rows with a NaN would depend on their order; our own NaN is an error."""
    monkeypatch.setattr(dpa.rdp.RdpAccountant, "get_epsilon", lambda *_: math.nan)
    table = crosscheck(dpa.GaussianDpEvent(1.0), 1e-5)
    (row,) = (row for row in table.rows if row.accountant == "dp-accounting RDP")
    assert not row.answered
    assert row.note.startswith("fails: not a number")
    monkeypatch.setattr(MomentsAccountant, "get_epsilon_bounds", lambda *_: Bounds(0.0, math.nan))
    with pytest.raises(BoundsError):
        crosscheck(dpa.GaussianDpEvent(1.0), 1e-5, peers=False)


def test_printed_bounds_are_rounded_outwards():
    printed = str(table_of((1.99999999999, 2.00000000001)))
    assert printed.splitlines()[2].split()[2:4] == ["1.9999999", "2.0000001"]
