"""Pairs, statistics, progress, plots, assertions: the small tools."""

import io
import re

import dp_accounting as dpa
import numpy as np
import pytest

from accountants import FourierAccountant
from audits import (
    AuditFailedError,
    Coordinate,
    EventClaim,
    GaussianClaim,
    LinearScore,
    Pair,
    PointClaim,
    Summary,
    Word,
    assert_private,
    audit,
    hunt,
)
from audits.testing.progress import Progress
from audits.testing.statistics import SUMMARIES, as_matrix, name_of, scores_of


def test_summaries_by_hand():
    outputs = np.array([[3.0, 4.0, 3.0], [0.25, np.inf, 1.0]])
    expected = {
        "sum": [10.0, np.inf],
        "largest coordinate": [4.0, np.inf],
        "number of repeated coordinates": [1.0, 0.0],
        "number of non-finite coordinates": [0.0, 1.0],
        "difference of the first and the last coordinate": [0.0, -0.75],
    }
    for name, values in expected.items():
        assert np.array_equal(Summary(name)(outputs), values), name
    assert np.array_equal(Summary("trailing zero bits")([[1.0], [0.1]]), [52.0, 1.0])
    for name in SUMMARIES:
        assert scores_of(Summary(name), outputs).shape == (2,)


def test_scores_order_what_is_not_finite():
    scores = scores_of(lambda outputs: outputs, np.array([np.nan, np.inf, 0.0, -np.inf]))
    assert np.array_equal(np.argsort(scores), [3, 2, 1, 0])


def test_outputs_of_several_kinds():
    assert as_matrix([(1.0, [2.0, 3.0]), (4.0, [5.0, 6.0])]).shape == (2, 3)
    assert as_matrix([1, 2, 3]).shape == (3, 1)
    assert name_of(Coordinate(2)) == "coordinate 2"
    assert name_of(np.mean) == "mean"


def test_a_linear_score_learns_the_direction():
    rng = np.random.default_rng(0)
    direction = np.array([1.0, -2.0, 0.0, 0.0])
    score = LinearScore.learn(rng.normal(size=(500, 4)) + direction, rng.normal(size=(500, 4)))
    gap = score(np.tile(direction, (2, 1)))[0] - score(np.zeros((2, 4)))[0]
    side = score(np.tile([0.0, 0.0, 1.0, 1.0], (2, 1)))[0] - score(np.zeros((2, 4)))[0]
    assert gap > 5 * abs(side)


def test_progress_is_one_line_on_its_stream():
    stream = io.StringIO()
    bar = Progress(100, True, stream)
    bar.update(50, 1.0, 4.6)
    bar.update(100, 2.0, 4.6)
    bar.close()
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert "100/100 draws per side" in text
    assert re.search(r"50/100 draws per side, log wealth 1.00 of 4.60, about \d+ s left", text)
    assert text.endswith("done \n")
    noticed = io.StringIO()
    Progress(100, True, noticed, notice=lambda: "beforehand").begin()
    assert noticed.getvalue() == "beforehand\n"
    silent = io.StringIO()
    Progress(100, None, silent, notice=lambda: pytest.fail("nobody sees it")).begin()
    Progress(100, None, silent).update(100, 0.0, 1.0)
    assert silent.getvalue() == ""


def test_an_audit_reports_on_stderr(capsys):
    audit(
        lambda data, rng, n: rng.normal(size=n),
        (0, 1),
        GaussianClaim(1.0),
        max_samples=20,
        rng=np.random.default_rng(0),
        progress=True,
    )
    captured = capsys.readouterr()
    assert "draws per side" in captured.err
    assert captured.out == ""


def counted(data, rng, n, scale=1.0):
    return len(data) + rng.laplace(scale=scale, size=n)


def test_assert_private_explains_itself():
    """False alarm of the first: 1e-6 by its default, and the seed is fixed."""
    pair = ([0, 0], [0])
    assert assert_private(counted, PointClaim(1.0), pair=pair).word is Word.NOT_REFUTED
    with pytest.raises(AssertionError, match=r"(?s)REFUTED: odds .* claim of pure ε = 1") as caught:
        assert_private(lambda data, rng, n: counted(data, rng, n, 0.4), PointClaim(1.0), pair=pair)
    assert isinstance(caught.value, AuditFailedError)
    assert caught.value.verdict.refuted


def test_assert_private_does_not_accept_an_audit_that_cannot_tell():
    pair, claim = ([0, 0], [0]), PointClaim(1.0)
    with pytest.raises(AuditFailedError, match="INCONCLUSIVE"):
        assert_private(counted, claim, pair=pair, max_samples=3)
    verdict = assert_private(counted, claim, pair=pair, max_samples=3, require_conclusive=False)
    assert verdict.word is Word.INCONCLUSIVE


def test_assert_private_hunts_without_a_pair():
    with pytest.raises(AssertionError, match="explored"):
        assert_private(
            lambda data, rng, n: np.nansum(data) + rng.normal(size=n),
            EventClaim(dpa.GaussianDpEvent(1.0)),
            dimensions=(1,),
        )


def test_hunt_uses_the_pairs_given_and_skips_what_raises():
    def picky(data, rng, n):
        if len(data) >= 6:
            raise ValueError("six is too many")
        return counted(data, rng, n, 0.3)

    pairs = [Pair([0] * 7, [0] * 6, "seven"), Pair([0] * 5, [0] * 4, "five")]
    verdict = hunt(picky, PointClaim(1.0), pairs=pairs, rng=np.random.default_rng(0))
    assert verdict.refuted
    assert verdict.evidence.pair == "five"
    with pytest.raises(ValueError, match="six is too many"):
        hunt(picky, PointClaim(1.0), pairs=pairs[:1], rng=np.random.default_rng(0))


def test_a_certificate_is_a_claim():
    """The same draws and the same verdict as on the event that it certifies."""
    certificate = FourierAccountant().compose(dpa.GaussianDpEvent(1.0)).certify([1e-5])
    claim, pair = EventClaim(certificate.event), Pair([0.0, 1.0], [0.0])

    def flawed(data, rng, n):
        return np.sum(data) + rng.normal(scale=0.5, size=n)

    audited = [audit(flawed, pair, c, rng=np.random.default_rng(0)) for c in (claim, certificate)]
    hunted = [
        hunt(flawed, c, pairs=[pair], rng=np.random.default_rng(0)) for c in (claim, certificate)
    ]
    for plain, certified in (audited, hunted):
        assert certified.refuted
        assert certified == plain
        assert certified.claim == claim
    with pytest.raises(AuditFailedError, match="Gaussian σ = 1"):
        assert_private(flawed, certificate, pair=pair)


@pytest.fixture
def axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt.subplots()[1]
    plt.close("all")


def test_plots_draw_what_they_say(axes):
    from audits import plots

    verdict = audit(
        lambda data, rng, n: data + rng.normal(scale=0.3, size=n),
        (1.0, 0.0),
        GaussianClaim(1.0),
        rng=np.random.default_rng(0),
    )
    wealth = plots.plot_wealth(verdict, axes)
    line, threshold = wealth.lines[:2]
    assert line.get_ydata()[-1] >= threshold.get_ydata()[0] == pytest.approx(2.0)
    assert "REFUTED" in wealth.get_title()
    trade_off = plots.plot_trade_off(verdict)
    assert trade_off.get_xlabel() == "type I error"
    epsilon = plots.plot_epsilon(verdict.evidence, claimed=4.377)
    assert "ε" in epsilon.get_ylabel()
    from audits import Evidence, Method

    with pytest.raises(ValueError, match="sequential audit"):
        plots.plot_epsilon(Evidence(method=Method.GAUSSIAN_DP, samples=1, confidence=0.9))


def test_a_hunts_evidence_pays_for_all_of_its_tests():
    """Three tests share the stake: the p-value holds for the hunt, not for the test that won."""

    def flawed(data, rng, n):
        return np.sum(data) + rng.normal(scale=0.5, size=n)

    claim = GaussianClaim(1.0)
    verdict = hunt(flawed, claim, rng=np.random.default_rng(0), dimensions=(1,))
    evidence = verdict.evidence
    assert verdict.refuted
    assert evidence.p_value <= 0.01
    assert evidence.p_value == pytest.approx(np.exp(-evidence.log_largest_wealth))
    assert evidence.wealth_path[0][1] == pytest.approx(-np.log(3), abs=0.1)
    assert evidence.wealth_path[-1][1] == pytest.approx(evidence.log_e_value)
