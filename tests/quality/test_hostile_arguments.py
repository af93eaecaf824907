"""Bad input, everywhere: refused by name, quickly, and never answered with NaN.

`benchmarks/sweep_arguments.py` makes all the calls, in guarded processes; here is a part of them.
"""

import random

import hostile_calls
import hostile_subjects
import pytest
from hostile_calls import Case

SECONDS = 20
SOME, MANY = 3_000, 25_000


@pytest.fixture(scope="module")
def known():
    return hostile_subjects.subjects()


def faults(cases, known):
    found = []
    for case in cases:
        outcome = hostile_calls.run_within(SECONDS, case, known)
        if outcome.fault:
            found.append(f"{case}: {outcome.kind}, {outcome.detail}")
    return found


def chosen(known, count, seed):
    cases = hostile_calls.single_cases(known) + hostile_calls.pair_cases(known, count, seed)
    return random.Random(seed).sample(cases, count)


def test_every_public_callable_has_a_valid_call(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert hostile_subjects.failing_baselines() == {}


def test_the_tables_name_what_exists(known):
    everything = set(known) | set(hostile_subjects.LEFT_OUT)
    for name in (*hostile_subjects.RESULTS, *hostile_subjects.OWN, *hostile_calls.READERS):
        assert name in everything, name


def test_a_part_of_the_sweep(known, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert faults(chosen(known, SOME, seed=1), known) == []


def test_tampered_documents(known):
    cases = random.Random(2).sample(hostile_calls.document_cases(), 300)
    assert faults(cases, known) == []


@pytest.mark.slow
def test_a_large_part_of_the_sweep(known, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert faults(chosen(known, MANY, seed=3), known) == []


@pytest.mark.slow
def test_all_tampered_documents(known):
    assert faults(hostile_calls.document_cases(), known) == []


class TestTheSweepItself:
    """It can find what it looks for."""

    def judged(self, function, label="None", example=1.0):
        subject = hostile_subjects.Subject(
            "own.function", function, {"x": lambda: example}, {"x": lambda: example}
        )
        case = Case("own.function", (("x", label),))
        return hostile_calls.run_within(1, case, {"own.function": subject})

    def test_leaks_are_found(self):
        def careless(x):
            return {"a": 1}[x]

        assert self.judged(careless).kind == "leak"

    def test_nan_is_found(self):
        assert self.judged(lambda x: (0.0, [float(x)]), "NaN", example="a").kind == "nan"

    def test_numbers_that_are_none_are_found(self):
        assert self.judged(lambda x: 1.0, "text").kind == "not a number"

    def test_warnings_are_found(self):
        import warnings

        assert self.judged(lambda x: warnings.warn("careful", stacklevel=1)).kind == "warning"

    def test_endless_calls_are_found(self):
        def endless(x):
            while True:
                pass

        assert self.judged(endless).kind == "slow"

    def test_a_refusal_must_name_its_argument_to_count_as_named(self):
        def vague(x):
            raise ValueError("wrong")

        def clear(x):
            raise ValueError("`x` must be a number, got None.")

        assert not self.judged(vague).named
        assert self.judged(clear).named

    def test_refused_numpy_scalars_are_found(self):
        def narrow(x):
            if type(x) is not float:
                raise TypeError("`x` must be a float.")

        assert self.judged(narrow, hostile_calls.AS_NUMPY).kind == "numpy refused"
