import json

import pytest

from audits.cli import main

SETTING = [
    "--noise-multiplier",
    "1",
    "--sampling-rate",
    "0.01",
    "--steps",
    "1e3",
    "--delta",
    "1e-5",
]


def test_crosscheck_prints_a_table(capsys):
    assert main(["crosscheck", *SETTING]) == 0
    out = capsys.readouterr().out
    assert "dp-assay Rényi" in out
    assert "consistent: True" in out


def test_crosscheck_json_and_exit_code_of_a_conflict(capsys):
    code = main(
        [
            "crosscheck",
            "--noise-multiplier",
            "1",
            "--delta",
            "1e-5",
            "--relation",
            "REPLACE_ONE",
            "--json",
        ]
    )
    table = json.loads(capsys.readouterr().out)
    assert code == 1
    assert table["consistent"] is False
    assert table["conflicts"]


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("--noise-multiplier", "-1", "noise_multiplier"),
        ("--sampling-rate", "2", "sampling_probability"),
        ("--steps", "1.5", "--steps"),
        ("--steps", "nan", "--steps"),
        ("--delta", "0", "delta"),
    ],
)
def test_bad_input_ends_with_code_2_and_a_sentence(capsys, option, value, named):
    arguments = [*SETTING]
    arguments[arguments.index(option) + 1] = value
    assert main(["crosscheck", *arguments]) == 2
    captured = capsys.readouterr()
    assert named in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_unknown_options_end_with_code_2():
    with pytest.raises(SystemExit) as stop:
        main(["crosscheck", "--nonsense"])
    assert stop.value.code == 2
