"""Certified means certified: questions to the accountants, their answers judged by the oracle.

`benchmarks/attack_accountants.py` asks twenty thousand such questions; here are those that were
once answered wrongly, and the first random ones.
"""

import pytest
from attack import FAILURES, attack
from attack_cases import KNOWN, ONCE_FAILED, random_case, tight_case

RANDOM, TIGHT = 206, 100
# Of those that run by default, what takes more than two seconds.
LONG = (
    14,
    126,
    186,
    "tiny rate, two steps",
    "hardly any noise, two steps",
    "almost all in the batch",
)


def slow_if(long):
    return pytest.mark.slow if long else ()


def is_quick(case):
    """Whether no grid is needed: orders, closed forms, and many sampled steps along a contour."""
    if case.accountant != "fourier":
        return True
    if case.relation == "REPLACE_ONE" or case.tolerance < 1e-8:
        return all(kind == "gaussian" for kind, *_ in case.parts)
    counts = [part[-1] for part in case.parts if part[0] == "poisson"]
    return all(kind in ("gaussian", "poisson") for kind, *_ in case.parts) and (
        not counts or max(counts) >= 100
    )


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=slow_if(case.name in LONG)) for case in KNOWN],
)
def test_what_once_failed(case):
    assert attack(case)["word"] not in FAILURES


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, marks=slow_if(n in LONG or not is_quick(random_case(n))))
        for n in range(RANDOM)
    ],
)
def test_random_questions(number):
    record = attack(random_case(number))
    assert record["word"] not in FAILURES, record


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("case", ONCE_FAILED, ids=lambda case: case.name)
def test_random_questions_that_once_failed(case):
    record = attack(case)
    assert record["word"] not in FAILURES, record


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("number", range(TIGHT))
def test_tight_questions(number):
    record = attack(tight_case(number))
    assert record["word"] not in FAILURES, record
