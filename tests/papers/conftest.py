"""What the fast checks of the ledger find, once for all tests of a process."""

import re

import pytest

from audits.papers import run_claims


@pytest.fixture(scope="session")
def results():
    """Every claim's result by id: fast checks run, slow ones from the record."""
    return {result.entry.id: result for result in run_claims()}


@pytest.fixture
def figure_numbers(results):
    """A function from a claim's id to the decimals of its figure, in order."""

    def numbers(name):
        return [float(n) for n in re.findall(r"-?\d+\.\d+", results[name].finding.figure)]

    return numbers
