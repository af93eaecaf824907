"""Certified means certified: questions to the accountants, their answers judged by the oracle.

`benchmarks/attack_accountants.py` asks twenty thousand such questions; here are those that were
once answered wrongly, and a few random ones.
"""

import pytest
from attack import FAILURES, attack
from attack_cases import KNOWN, random_case, tight_case

# Of the first two hundred cases those that take least.
QUICK = (
    2, 3, 4, 5, 6, 8, 9, 12, 13, 16, 17, 23, 25, 29, 30, 31, 33, 34, 40, 41, 44, 46, 47, 49, 54,
    56, 57, 58, 62, 63, 65, 70, 72, 73, 74, 75, 77, 85, 86, 87, 90, 91, 92, 93, 94, 97, 98, 100,
    101, 102, 103, 106, 110, 111, 120, 124, 126, 128, 131, 133, 136, 139, 141, 142, 148, 149,
    151, 153, 154, 155, 156, 159, 163, 164, 168, 169, 173, 174, 179, 182, 184, 185, 186, 189,
    190, 191, 193, 198, 201, 202, 203, 204, 205, 206,
)  # fmt: skip


# Random cases at which an earlier version crashed, hung or said infinity.
ONCE_FAILED = (
    11, 28, 42, 52, 55, 76, 108, 116, 121, 129, 132, 137, 138, 152, 158, 160, 172, 192, 224, 228,
    234, 236, 237, 243, 248, 259, 268,
)  # fmt: skip


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.name)
def test_what_once_failed(case):
    assert attack(case)["word"] not in FAILURES


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("number", QUICK)
def test_random_questions(number):
    record = attack(random_case(number))
    assert record["word"] not in FAILURES, record


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("number", ONCE_FAILED)
def test_random_questions_that_once_failed(number):
    record = attack(random_case(number))
    assert record["word"] not in FAILURES, record


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("number", range(0, 100, 7))
def test_tight_questions(number):
    record = attack(tight_case(number))
    assert record["word"] not in FAILURES, record
