"""Numbers as they are typed, and one answer wherever a question is asked."""

import argparse
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants import Certificate
from audits.cli.main import main
from audits.cli.numbers import number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.2M", 1_200_000.0),
        ("60k", 60_000.0),
        ("60K", 60_000.0),
        ("2B", 2e9),
        ("60,000", 60_000.0),
        ("1,234,567.5", 1_234_567.5),
        ("60_000", 60_000.0),
        ("1/3", 1 / 3),
        ("256/60k", 256 / 60_000),
        ("-1e-5", -1e-5),
        (".5", 0.5),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("inf", math.inf),
    ],
)
def test_numbers_as_people_type_them(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0,01", "Did you mean 0.01?"),
        ("1.2m", "Did you mean 1.2M?"),
        ("60,00", "Did you mean 60.00?"),
        ("1/0", ""),
        ("1/2/3", ""),
        ("1/inf", ""),
        ("0x10", ""),
        ("", ""),
        ("k", ""),
        ("1kk", ""),
        ("1 000", ""),
        ("9" * 10_000, ""),
        ("1e99999999999", ""),
    ],
)
def test_what_is_no_number_is_refused(text, hint):
    with pytest.raises(argparse.ArgumentTypeError) as refusal:
        number(text)
    assert "must be a number such as 1e-5, 60k, 1.2M or 256/60000" in str(refusal.value)
    assert str(refusal.value).endswith(hint or ".")
    assert len(str(refusal.value)) < 200


@given(st.floats(allow_nan=False))
def test_every_float_is_read_as_python_prints_it(value):
    assert number(repr(value)) == value


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_a_quotient_is_rounded_once(above, below):
    assert number(f"{above}/{below}") == float(Fraction(above, below))


def test_a_word_for_a_number_is_one_line_and_code_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["epsilon", "--noise-multiplier", "1", "--delta", "0,01"])
    assert stop.value.code == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "--delta: must be a number" in shown


def _json(capsys, *command):
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


SETTINGS = [
    # The contour engine, then a few steps, which go to the grid, then batches of a fixed size.
    ("1.1", "256", "60k", "15", "poisson", "replace-one"),
    ("0.7", "50", "100", "2", "poisson", "replace-one"),
    ("0.7", "10", "100", "3", "fixed_size", "replace-one"),
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_same_question_gets_the_same_number_wherever_it_is_asked(capsys, setting):
    noise, batch, size, epochs, sampling, relation = setting
    words = ["--noise-multiplier", noise, "--batch-size", batch, "--data-size", size]
    words += ["--epochs", epochs, "--delta", "1e-6"]
    asked = [*words, "--sampling", sampling, "--relation", relation]
    found = _json(capsys, "epsilon", *asked)["epsilon"]
    assert main(["certify", *asked]) == 0
    bounds = Certificate.from_json(capsys.readouterr().out).bounds(1e-6)
    assert (found["lower"], found["upper"]) == tuple(bounds)
    beside = _json(capsys, "epsilon", *words)["alternatives"]
    (same,) = (
        row
        for row in beside
        if (row["sampling"], row["relation"]) == (sampling, relation.upper().replace("-", "_"))
    )
    assert (same["lower"], same["upper"]) == tuple(bounds)
