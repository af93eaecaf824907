"""Certified means certified: questions to the accountants, their answers judged by the oracle.

`benchmarks/attack_accountants.py` asks twenty thousand such questions; here are those that were
once answered wrongly, and the first random ones.
"""

import pytest
from attack import FAILURES, attack
from attack_cases import KNOWN, ONCE_FAILED, random_case, tight_case

RANDOM, TIGHT = 206, 100
# Of the random ones those that take a second or more: answer and oracle.
LONG = frozenset()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.name)
def test_what_once_failed(case):
    assert attack(case)["word"] not in FAILURES


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=pytest.mark.slow if n in LONG or n % 2 else ()) for n in range(RANDOM)],
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
