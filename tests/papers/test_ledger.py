"""The ledger of claims: complete entries, verdicts that follow from numbers, figures checked apart.

Expected figures come from closed forms, arithmetic on the papers' own numbers, or dp-accounting.
"""

import inspect
import json
import math
import re
import subprocess
import sys

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from mechanism_tools import gaussian_epsilon
from scipy import integrate, optimize, stats

from accountants import Bounds
from audits.papers import (
    CLAIMS,
    ClaimEntry,
    Finding,
    Number,
    Standing,
    as_json,
    costs,
    run_claims,
    two_optima,
)
from audits.papers.checks import records
from audits.papers.hidden_noise import _noisy_totals, hidden_noise_epsilon, last_sum_epsilon
from audits.papers.ledger import (
    claim,
    decide,
    decide_against,
    decide_if,
    entries,
    index,
    untestable,
)
from audits.papers.numbers import computed, measured, stated
from audits.papers.thesis import accounting as thesis_accounting
from audits.papers.thesis import central_noise as thesis_central_noise
from audits.papers.thesis import dp_sgd as thesis_dp_sgd
from audits.papers.thesis import noise_splitting as thesis_noise_splitting
from audits.papers.thesis import variational as thesis_variational
from audits.papers.tmlr import logistic
from audits.papers.tmlr import perturbation as tmlr_perturbation
from audits.papers.tmlr import properties as tmlr_properties
from audits.papers.tmlr import shares as tmlr_shares
from audits.papers.tmlr import tables as tmlr_tables
from audits.papers.tum import accounting as tum
from audits.papers.workshop import accounting as workshop
from audits.papers.workshop import data as workshop_data
from audits.papers.workshop.published import Kind
from pvi import LogisticRegression, MeanFieldGaussian, Shard, elbo

FAST = [name for name, entry in CLAIMS.items() if not entry.slow]


@pytest.fixture(scope="module")
def results():
    return {result.entry.id: result for result in run_claims()}


def figure_numbers(results, name):
    """The decimals of a figure, in order."""
    return [float(n) for n in re.findall(r"-?\d+\.\d+", results[name].finding.figure)]


# --- the entries


def test_there_are_enough_and_of_every_paper():
    assert len(CLAIMS) >= 35
    papers = [entry.paper for entry in CLAIMS.values()]
    assert min(papers.count(p) for p in ("Workshop", "Thesis", "TMLR", "TUM")) >= 8


@pytest.mark.parametrize("name", CLAIMS)
def test_every_entry_is_complete(results, name):
    entry, finding = CLAIMS[name], results[name].finding
    assert entry.id == name
    assert re.search(r"\d|Appendix", entry.place), "no section, equation, table or figure"
    assert entry.statement.endswith(".")
    assert entry.doc.endswith((".", "?"))
    assert finding.figure
    assert finding.argument.endswith(".")
    assert bool(finding.condition) == (finding.verdict is not Standing.HOLDS)


def test_ids_are_unique():
    (entry,) = entries(_module_with_one_claim())
    with pytest.raises(ValueError, match="`id` must be unique, got 'tum-x' twice"):
        index([entry, entry])


def _module_with_one_claim():
    class Module:
        @claim(id="tum-x", paper="TUM", place="section 1", statement="One is two.")
        def check():
            """Compares them."""
            return decide(1 == 2, figure="1 and 2", argument="They differ.")

    return Module


def test_an_incomplete_entry_is_refused():
    def check():
        """Compares."""

    good = {"id": "tum-x", "paper": "TUM", "place": "1", "statement": "A.", "check": check}
    ClaimEntry(**good)
    for change, message in (
        ({"place": ""}, "`place` of tum-x"),
        ({"statement": ""}, "`statement` of tum-x"),
        ({"paper": "Nobody"}, "`paper` must be one of"),
        ({"id": "thesis-x"}, "`id` must start with"),
        ({"check": lambda: None}, "must have a docstring"),
    ):
        with pytest.raises(ValueError, match=message):
            ClaimEntry(**(good | change))


def test_an_incomplete_finding_is_refused():
    with pytest.raises(ValueError, match="`figure` and `argument`"):
        Finding(verdict=Standing.HOLDS, figure="", argument="a")
    for verdict in (Standing.HOLDS_IF, Standing.REFUTED, Standing.NOT_TESTABLE):
        with pytest.raises(ValueError, match="`condition` must be given"):
            Finding(verdict=verdict, figure="1", argument="a")
    with pytest.raises(ValueError, match="`condition` must be given unless"):
        Finding(verdict=Standing.HOLDS, figure="1", argument="a", condition="b")


# --- the words follow from truth values


def test_the_words():
    rest = {"figure": "1", "argument": "a"}
    assert decide(True, **rest).verdict is Standing.HOLDS
    assert decide(False, **rest).verdict is Standing.REFUTED
    words = {
        (w, o): decide_if(condition="c", with_condition=w, without=o, **rest).verdict
        for w in (True, False)
        for o in (True, False)
    }
    assert words == {
        (True, True): Standing.HOLDS,
        (True, False): Standing.HOLDS_IF,
        (False, True): Standing.REFUTED,
        (False, False): Standing.REFUTED,
    }
    for as_stated, under, condition in (
        (False, True, "r"),
        (False, False, "no known reading: the obvious one fails as well"),
        (True, True, ""),
    ):
        found = decide_against(stated=as_stated, reading="r", under_reading=under, **rest)
        assert found.condition == condition
        assert (found.verdict is Standing.HOLDS) == as_stated
    assert untestable(reason="r", argument="a").verdict is Standing.NOT_TESTABLE


@pytest.mark.parametrize("name", CLAIMS)
def test_no_check_writes_its_verdict_down(name):
    source = inspect.getsource(CLAIMS[name].check)
    assert "Standing" not in source
    literal = r"(stated|under_reading|with_condition|without)=(True|False)|decide\(\s*(True|False)"
    assert not re.search(literal, source)


@pytest.mark.parametrize("name", FAST)
def test_fast_checks_find_what_is_recorded(results, name):
    record = records()["claims"][name]
    finding = results[name].finding
    assert finding.verdict.name == record["verdict"]
    assert [(n.label, n.role) for n in finding.numbers] == [
        (row["label"], row["role"]) for row in record["numbers"]
    ]
    assert not results[name].recorded


def test_every_refutation_names_the_reading_that_holds(results):
    refuted = [r.finding for r in results.values() if r.finding.verdict is Standing.REFUTED]
    assert len(refuted) >= 15
    assert not [f.condition for f in refuted if f.condition.startswith("no known reading")]


def test_slow_checks_are_answered_from_the_record(results):
    slow = [name for name, entry in CLAIMS.items() if entry.slow]
    assert slow
    for name in slow:
        assert results[name].recorded
        record = records()["claims"][name]
        assert results[name].finding.figure == record["figure"]
        assert {"versions", "command", "seconds", "seed"} <= record.keys()


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


# --- numbers


def own(finding):
    return [n for n in finding.numbers if n.role != "stated"]


def contradictions(finding):
    pairs = [(s, n) for s in finding.numbers for n in own(finding) if s.role == "stated"]
    return [(str(s), str(n)) for s, n in pairs if n.contradicts(s)]


def test_only_findings_without_figures_have_no_numbers(results):
    assert {name for name, r in results.items() if not r.finding.numbers} == {
        "workshop-threat-model",  # one event
        "thesis-resets-privacy",
        "tmlr-damping",
    }


@pytest.mark.parametrize("name", CLAIMS)
def test_numbers_are_plain_and_come_back_from_json(results, name):
    numbers = results[name].finding.numbers
    for number in numbers:
        assert number.label == number.label.strip() != ""
        assert not math.isnan(number.value)
        assert number.high >= number.value
        text = json.dumps(number.as_json(), allow_nan=False)  # infinities are not JSON
        assert Number.from_json(json.loads(text)) == number
    stated = [n.label for n in numbers if n.role == "stated"]
    assert len(set(stated)) == len(stated), "one quantity stated twice"
    assert set(stated) <= {n.label for n in own(results[name].finding)}, "stated and not checked"


def test_every_refutation_contradicts_what_is_stated(results):
    refuted = [r for r in results.values() if r.finding.verdict is Standing.REFUTED]
    assert not [r.entry.id for r in refuted if not contradictions(r.finding)]


@pytest.mark.parametrize("name", FAST)
def test_what_holds_contradicts_nothing(results, name):
    finding = results[name].finding
    if finding.verdict is Standing.HOLDS:
        assert contradictions(finding) == []
    if finding.verdict is Standing.HOLDS_IF and contradictions(finding):
        # The condition decides: some row agrees, or the statement was about another adversary.
        assert len(contradictions(finding)) < len(own(finding)) or name in (
            "workshop-stop-rule",
            "thesis-post-processing",
            "tmlr-local-averaging-optimum",
        )


def shown(finding):
    """The numbers in a figure, each with half a unit of its last digit."""
    for token in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", finding.figure):
        mantissa, _, exponent = token.partition("e")
        digits = len(mantissa.partition(".")[2])
        yield float(token), 0.51 * 10.0 ** (int(exponent or 0) - digits)


@pytest.mark.parametrize("name", FAST)
def test_figures_show_their_numbers(results, name):
    """Every own number, rounded: bounds outwards, an interval by its ends or a value inside it."""
    finding = results[name].finding
    tokens = list(shown(finding))

    def appears(number):
        low, high = number.value, number.high
        if math.isinf(low):
            return "∞" in finding.figure
        if math.isinf(high):  # a lower bound that is rounded up is none
            return any(low - 2.0 * half <= token <= low * (1.0 + 1e-12) for token, half in tokens)
        if number.role == "certified":
            return any(low - 2.0 * half <= token <= high + 2.0 * half for token, half in tokens)
        if low == 0.0:
            low = high
        return any(low - half <= token <= high + half for token, half in tokens)

    hidden = {number.label for number in own(finding) if not appears(number)}
    assert hidden <= HIDDEN.get(name, set())


# Rows of a chart that the sentence does not repeat.
HIDDEN = {
    "workshop-table-1": {
        f"records of a {kind} client, {letter}" for kind in ("small", "large") for letter in "ABCD"
    },
    "thesis-probabilistic-dp": {"P(loss > 2)"},
    "thesis-fig-3-3": {f"multiplier of a message, M = {m}" for m in (2, 5, 10)},
    "tum-theorem-1-range": {f"ε of one iteration, k = {k}" for k in (187, 512, 132, 314)},
}


def test_a_wrong_number_is_refused():
    for arguments, message in (
        (("", 1.0, None, "stated"), "`label` must say"),
        (("ε", 1.0, None, "guessed"), "`role` must be one of"),
        (("ε", math.nan, None, "stated"), "`upper` must be at least `value`"),
        (("ε", 2.0, 1.0, "stated"), "`upper` must be at least `value`, got 1.0 and 2.0"),
    ):
        with pytest.raises(ValueError, match=message):
            Number(*arguments)


def test_what_contradicts_what():
    at_most = stated("ε", 0.0, 1.0)
    assert measured("ε", 1.2, math.inf).contradicts(at_most)
    assert not measured("ε", 0.8, math.inf).contradicts(at_most)
    assert not measured("μ", 1.2, math.inf).contradicts(at_most)
    assert computed("ε", math.inf).contradicts(at_most)
    assert not computed("ε", 1.0 + 1e-12).contradicts(at_most)
    assert [str(n) for n in (at_most, measured("ε", 1.2, math.inf), computed("ε", math.inf))] == [
        "≤ 1",
        "≥ 1.2",
        "∞",
    ]
    assert str(computed("ε", 1.0, 2.0)) == "1 to 2"


# --- figures, against something else


def pld_epsilon(sigma, rate, steps, delta, *, pessimistic):
    one = pld.from_gaussian_mechanism(
        sigma,
        sampling_prob=rate,
        value_discretization_interval=1e-3,
        pessimistic_estimate=pessimistic,
    )
    return one.self_compose(steps).get_epsilon_for_delta(delta)


def test_fixed_size_batches_against_dp_accounting(results):
    """All others at −C: the pair is Poisson's with σ/2, which dp-accounting composes."""
    lower = figure_numbers(results, "workshop-budget-fixed-size")[0]
    low, high = (pld_epsilon(2.5, 0.02, 3110, 1e-4, pessimistic=p) for p in (False, True))
    assert low - 1e-3 <= lower <= high + 1e-3
    claimed, lower, *_ = figure_numbers(results, "tmlr-fixed-size")
    low, high = (pld_epsilon(1.0, 0.05, 1000, 1e-5, pessimistic=p) for p in (False, True))
    assert low - 1e-3 <= lower <= high + 1e-3
    assert claimed == pytest.approx(7.50, abs=0.01)  # DESIGN, by another program


def integer_moments_epsilon(sigma, rate, steps, delta):
    """The moments accountant from dp-accounting's Rényi divergences at orders 2 … 65."""
    orders = [float(order) for order in range(2, 66)]
    accountant = dpa.rdp.RdpAccountant(orders)
    event = dpa.GaussianDpEvent(sigma)
    accountant.compose(dpa.PoissonSampledDpEvent(rate, event) if rate < 1 else event, steps)
    return min(
        d - math.log(delta) / (order - 1) for order, d in zip(orders, accountant.rdp, strict=True)
    )


def test_moments_accountant_figures_against_dp_accounting(results):
    early, late = figure_numbers(results, "thesis-fig-4-1")[:2]
    assert early == pytest.approx(integer_moments_epsilon(1, 0.1, 5_000, 1e-4), abs=0.05)
    assert late == pytest.approx(integer_moments_epsilon(1, 0.1, 25_000, 1e-4), abs=0.05)
    expected = [
        integer_moments_epsilon(1, rate, steps, 1e-4)
        for steps in (5_000, 50_000)
        for rate in (0.03, 0.01)
    ]
    assert figure_numbers(results, "thesis-minibatch-steps") == pytest.approx(expected, abs=6e-3)
    assert integer_moments_epsilon(5, 0.02, 3110, 1e-4) <= 1.0
    assert integer_moments_epsilon(5, 0.02, 3111, 1e-4) > 1.0  # the budget allows 3110 steps
    after = integer_moments_epsilon(5, 0.02, 3125, 1e-4)
    assert figure_numbers(results, "workshop-stop-rule")[2] == pytest.approx(after, abs=6e-5)


def test_gaussian_figures_against_the_closed_form(results):
    cost = figure_numbers(results, "thesis-algorithm-3-cost")
    expected = [gaussian_epsilon(math.sqrt(m), 1e-4) for m in (2, 5, 10, 100, 1)]
    assert cost == pytest.approx(expected, abs=6e-3)
    assert figure_numbers(results, "tum-sensitivity")[-2:] == pytest.approx(
        [gaussian_epsilon(f * 0.4 * math.sqrt(112), 1e-5) for f in (2, 1)], abs=0.06
    )
    claimed = figure_numbers(results, "thesis-post-processing")[2]
    assert claimed == pytest.approx(gaussian_epsilon(math.sqrt(10) / 5, 1e-5), abs=6e-3)
    assert figure_numbers(results, "thesis-probabilistic-dp") == pytest.approx(
        [stats.norm.sf(0.5) - math.e * stats.norm.sf(1.5), stats.norm.sf(0.5)], abs=6e-5
    )


def test_witness_of_percentile_clipping(results):
    """One ball by hand: radius 3·10⁻⁶, χ² with a shift of one unit, and r⁴/8 by sampling."""
    stated = figure_numbers(results, "thesis-percentile-clipping")[0]
    inside = stats.ncx2.cdf(9.0, 4, 1.0) - 1e-4
    assert stated >= math.log(inside / ((3e-6) ** 4 / 8)) - 0.01
    for radius in (0.01, 0.3, 1.0):  # P(χ²₄ ≤ r²) ≤ r⁴/8
        assert stats.chi2.cdf(radius**2, 4) <= radius**4 / 8


def test_witness_of_the_realised_batch():
    """Outside of a ball is as good as any test of N(0, I) against N(0, I/4), by Neyman–Pearson."""
    ours = thesis_dp_sgd.realised_batch_epsilon(4, 1e-4)
    square = np.linspace(0.0, 30.0, 30_001)
    # In four dimensions P(χ² > x) = e^{−x/2}(1 + x/2).
    p = np.exp(-square / 2) * (1 + square / 2)
    log_q = -2 * square + np.log1p(2 * square)
    keep = p > 1e-4
    best = (np.log(p[keep] - 1e-4) - log_q[keep]).max()
    assert best - 0.01 <= ours <= best + 1e-9


def test_the_best_of_ten_runs():
    """Between the hand-made event "all below −1" and the release of all ten."""
    mu = 0.268
    ours = tmlr_tables.best_of_epsilon(mu, 10, 1e-5)
    event = stats.norm.cdf([-1.0, -1.0 - mu]) ** 10
    by_hand = max(0.0, math.log(max(event[0] - 1e-5, 1e-300) / event[1]))
    assert by_hand <= ours <= gaussian_epsilon(mu * math.sqrt(10), 1e-5)
    assert tmlr_tables.best_of_epsilon(mu, 1, 1e-5) == pytest.approx(
        gaussian_epsilon(mu, 1e-5), abs=1e-3
    )


def test_the_worst_composition_against_dp_accounting():
    """Randomised response with odds e^ε: the sum by hand, and dp-accounting's on cells of 0.01.

    It rounds each of 12 losses up by less than a cell: δ at 1.3 at the least, at 1.18 at the most.
    """
    single, count = 0.5, 12
    mass = {
        single: 1.0 / (1.0 + math.exp(-single)),
        -single: 1.0 / (1.0 + math.exp(single)),
    }

    def by_hand(epsilon):
        total = 0.0
        for wrong in range(count + 1):
            loss = (count - 2 * wrong) * single
            chance = mass[-single] ** wrong * mass[single] ** (count - wrong)
            total += math.comb(count, wrong) * chance * max(0.0, -math.expm1(epsilon - loss))
        return total

    expected = by_hand(1.3)
    assert tum.worst_composed_delta(single, 0.0, count, 1.3) == pytest.approx(expected, rel=1e-12)
    response = pld.from_randomized_response(
        noise_parameter=2.0 * mass[-single], num_buckets=2, value_discretization_interval=1e-2
    )
    theirs = response.self_compose(count).get_delta_for_epsilon(1.3)
    assert expected * (1.0 - 1e-9) <= theirs <= by_hand(1.18) * (1.0 + 1e-9)


def test_equation_4_12_against_theory(results):
    """Expected KL ½(θ₀² + θ₁²)/σ² = 0.278 and 1/2000; 400 scaled χ²₁, six standard errors."""
    thesis, exact = figure_numbers(results, "thesis-eq-4-12")[:2]
    band = 6 * math.sqrt(2 / 400)
    assert abs(thesis / (0.5 * 5 / 9) - 1) < band
    assert abs(exact / (0.5 / 1000) - 1) < band


def test_tables_by_arithmetic(results):
    rows = workshop_data.TABLE_1.values()
    products = [kind.records * kind.delta for row in rows for kind in (row.small, row.large)]
    assert figure_numbers(results, "workshop-delta") == pytest.approx(
        [min(products), max(products)], abs=6e-4
    )
    assert "(2442, 610, 732)" in results["tmlr-table-2"].finding.figure
    assert [24421 * 100 // 1000, 24421 * 25 // 1000, 24421 * 30 // 1000] == [2442, 610, 732]
    assert [39074 * 19 // 100, 39073 * 19 // 100] == [7424, 7423]


def test_the_small_logistic_model_against_the_engine():
    """Its ELBO is the engine's, and its optimum a stationary point of it."""
    signed = tmlr_properties.BOTH
    shard = Shard(inputs=signed[:, None], targets=np.ones(len(signed)))
    model = LogisticRegression(dimension=1, nodes=64)
    prior = MeanFieldGaussian.from_mean_variance([0.0], [1.0])
    rng = np.random.default_rng(0)

    def engine(q):
        gaussian = MeanFieldGaussian(natural_mean=q[:1], precision=q[1:])
        return float(elbo(model, gaussian, prior, [shard], rng))

    best = logistic.optimum(logistic.PRIOR, signed)
    assert engine(best) == pytest.approx(logistic.elbo(best, signed), abs=1e-9)
    for shift in ([1e-2, 0.0], [-1e-2, 0.0], [0.0, 1e-2], [0.0, -1e-2]):
        assert engine(best + np.array(shift)) < engine(best)


def test_the_model_with_two_optima_against_quadrature():
    """The expectation by adaptive quadrature; local and global optima by a search of their own."""

    def log_likelihood(theta):
        return math.log(0.1 + 0.9 * math.exp(-2.0 * theta**2))

    def expected(mean, variance):
        normal = stats.norm(mean, math.sqrt(variance))
        points = [mean + k * math.sqrt(variance) for k in range(-8, 9)] + [-2.0, 0.0, 2.0]
        return integrate.quad(
            lambda t: log_likelihood(t) * normal.pdf(t),
            min(points),
            max(points),
            points=sorted(points)[1:-1],
            limit=400,
        )[0]

    for mean, variance in ((0.0, 0.2), (0.0, 11.0), (3.0, 5.0)):
        # Beyond eight standard deviations 1e-15 of the mass is left, at −2.3 each.
        assert two_optima.expected(mean, variance) == pytest.approx(
            expected(mean, variance), abs=1e-8
        )
    found = two_optima.between()
    cavity = 0.01 + found.factor

    def bound(clients, precision):
        def negative(parameters):
            mean, log_variance = parameters
            variance = math.exp(log_variance)
            square = mean**2 + variance
            data = clients * two_optima.expected(mean, variance)
            return -(data + 0.5 * log_variance - 0.5 * precision * square)

        return negative

    own = [0.0, math.log(found.variance)]
    for start in ([0.0, 0.0], [2.0, -2.0], [5.0, 3.0], [0.5, -1.0]):
        local = optimize.minimize(bound(1, cavity), start, method="Nelder-Mead")
        assert local.fun >= bound(1, cavity)(own) - 1e-9
    best = optimize.minimize(bound(2, 0.01), [0.0, -1.0], method="Nelder-Mead")
    assert bound(2, 0.01)(own) - best.fun == pytest.approx(found.global_excess, abs=2e-3)


def test_hidden_noise_evidence_respects_a_true_claim():
    """Values that do not differ: the bound must be 0, up to the 1% that it allows itself."""
    assert hidden_noise_epsilon(5, 4000, 7, absent_value=1.0) == 0.0


def test_the_last_sum_of_one_client_is_the_gaussian_mechanism():
    """No others: ten rounds of noise 5 and a shift of 10, so μ = √10/5."""
    expected = gaussian_epsilon(math.sqrt(10) / 5, 1e-5)
    assert last_sum_epsilon(1, 10, 0) == pytest.approx(expected, abs=2e-3)


def test_the_last_sum_of_ten_clients_against_plain_sampling():
    """At δ = 0.01 the tails can be counted: a few hundred of 200,000, hence about 0.05."""
    rng = np.random.default_rng(8)
    present, absent = (np.sort(_noisy_totals(v, 10, 200_000, rng)[-1]) for v in (1.0, 0.0))
    thresholds = np.quantile(absent, np.linspace(0.9, 0.998, 50))
    p, q = (1.0 - np.searchsorted(x, thresholds) / 200_000 for x in (present, absent))
    counted = np.log((p - 0.01)[p > 0.01] / q[p > 0.01]).max()
    assert last_sum_epsilon(10, 200_000, 3, delta=0.01) == pytest.approx(counted, abs=0.3)


# --- front door


def test_json_shape(results):
    made = as_json(results.values())
    assert json.loads(json.dumps(made)) == made
    assert list(made) == ["claims"]
    wanted = {"id", "paper", "place", "statement", "verdict", "figure", "argument", "condition"}
    wanted |= {"check", "numbers"}
    for row in made["claims"]:
        assert wanted <= row.keys()
        assert row["verdict"] in Standing.__members__


def test_some_claims_by_name():
    found = run_claims(["workshop-kappa", "tum-trade-off"])
    assert [r.entry.id for r in found] == ["workshop-kappa", "tum-trade-off"]
    with pytest.raises(KeyError, match=r"no claims \['nonsense'\]"):
        run_claims(["nonsense"])


@pytest.mark.parametrize("module", ["audits", "audits.papers", "audits.papers.plots"])
def test_importing_is_light_and_checks_nothing(module):
    code = (
        f"import sys, {module}; print([m for m in ('torch', 'matplotlib') if m in sys.modules], "
        "'audits.papers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"[] {module != 'audits'}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, e in CLAIMS.items() if e.slow])
def test_slow_checks_find_what_is_recorded(name):
    from pvi.data import DataUnavailableError

    try:
        (result,) = run_claims([name], include_slow=True)
    except DataUnavailableError as error:
        pytest.skip(f"needs the real UCI Adult files: {error}")
    assert not result.recorded
    assert result.finding.verdict.name == records()["claims"][name]["verdict"]
