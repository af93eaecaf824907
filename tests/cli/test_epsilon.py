"""`dp-assay epsilon` and `dp-assay calibrate`."""

import json

import pytest

from audits.cli import epsilon
from audits.cli.main import main

SETTING = {
    "--noise-multiplier": "1",
    "--sampling-rate": "0.01",
    "--steps": "1e4",
    "--delta": "1e-5",
}


def arguments(command: str, setting: dict[str, str], *more: str) -> list[str]:
    return [command, *(part for item in setting.items() for part in item), *more]


def answer(capsys, setting: dict[str, str], *more: str) -> dict:
    assert main(arguments("epsilon", setting, *more, "--json")) == 0
    return json.loads(capsys.readouterr().out)


def test_the_issues_example(capsys):
    """ε = 6.1877 by dp-accounting's PLD accountant too; 6.7123 is the Rényi value."""
    assert main(arguments("epsilon", SETTING)) == 0
    out = capsys.readouterr().out
    assert "6.18771 ≤ ε ≤ 6.18772   at δ = 1e-05" in out
    out = " ".join(out.split())  # lines end at 80 columns
    for words in ("Rényi", "moments", "independently with probability 0.01", "at most 74.01 %"):
        assert words in out
    assert "fixed-size sampling, one record replaced" in out
    assert not any(word in out.lower() for word in ("passed", "safe", "private"))


def test_json_has_the_documented_shape(capsys):
    found = answer(capsys, SETTING)
    assert found.keys() == {
        "setting",
        "delta",
        "epsilon",
        "accountants",
        "assumptions",
        "membership",
        "alternatives",
        "notes",
    }
    # tests/golden/fourier_poisson.json: 6.18771238997…
    assert found["epsilon"]["lower"] <= 6.18771239 <= found["epsilon"]["upper"]
    assert [row["name"] for row in found["accountants"]] == ["Fourier", "Rényi", "moments"]
    assert found["setting"]["relation"] == "ADD_OR_REMOVE_ONE"


def test_fixed_size_batches_are_read_under_replacement(capsys):
    sizes = {"--sampling": "fixed_size", "--batch-size": "10", "--data-size": "1e3"}
    setting = {k: v for k, v in SETTING.items() if k != "--sampling-rate"} | sizes
    found = answer(capsys, setting | {"--steps": "1e3"})
    assert found["setting"]["relation"] == "REPLACE_ONE"
    # The pair with all other records at −C: at least 13.36.
    assert 13.36 < found["epsilon"]["lower"] < found["epsilon"]["upper"] < 15.0
    refused = found["accountants"][-1]
    assert refused["upper"] is None
    assert "refuses" in refused["note"]


TRAINING = {
    "--noise-multiplier": "1.1",
    "--batch-size": "256",
    "--data-size": "60000",
    "--epochs": "15",
    "--delta": "1e-5",
}


def test_a_shuffled_training_gets_an_answer_and_is_told_what_to_do_instead(capsys):
    """15 Gaussians with σ = 1.1 are one with μ = √15/1.1; dp-accounting 0.6.0: ε = 20.56226…"""
    found = answer(capsys, TRAINING | {"--sampling": "shuffled"})
    assert found["epsilon"]["upper"] == pytest.approx(20.562263, abs=1e-6)
    # One epoch alone, by the event that the largest sum exceeds a threshold, has ε ≥ 2.98.
    assert found["epsilon"]["lower"] > 5.9
    assert found["setting"]["steps"] == 15 * 235
    (note,) = found["notes"]
    assert "No amplification" in note
    (bins,) = (row for row in found["alternatives"] if row["sampling"] == "balls_in_bins")
    assert 1.0 < bins["upper"] < 1.2
    assert "balls in bins" in note


@pytest.mark.parametrize(
    ("more", "steps", "rate"),
    [
        ([], 8, 0.3),
        (["--drop-last"], 6, 0.3),
        (["--sampling", "shuffled", "--drop-last"], 6, 0.3),
        (["--sampling", "fixed_size"], 8, 0.3),
        (["--sampling", "balls_in_bins"], 8, 0.3),
    ],
)
def test_epochs_are_steps(capsys, monkeypatch, more, steps, rate):
    """Of 100 records, batches of 30, 30, 30 and 10."""
    monkeypatch.setattr(epsilon, "_alternatives", lambda *_: [])
    sizes = {"--batch-size": "30", "--data-size": "100", "--epochs": "2"}
    setting = answer(capsys, TRAINING | sizes, *more)["setting"]
    assert (setting["steps"], setting["sampling_rate"]) == (steps, rate)


def test_an_epoch_without_sampling_is_one_step(capsys):
    setting = {"--noise-multiplier": "1", "--delta": "1e-5", "--epochs": "3"}
    assert answer(capsys, setting)["setting"]["steps"] == 3


def test_a_delta_of_one_in_n_is_said(capsys, monkeypatch):
    monkeypatch.setattr(epsilon, "_alternatives", lambda *_: [])
    (note,) = answer(capsys, TRAINING | {"--delta": "1e-4"})["notes"]
    assert "not below 1/60,000" in note
    assert answer(capsys, TRAINING)["notes"] == []


def test_records_per_user(capsys):
    """dp-accounting 0.6.0, PLD accountant, 94 s: ε ≤ 1.5295666."""
    setting = SETTING | {"--steps": "100", "--records-per-user": "2"}
    found = answer(capsys, setting)
    assert found["epsilon"]["lower"] <= 1.5295666
    assert found["epsilon"]["upper"] == pytest.approx(1.5295661, abs=2e-6)
    assert any("at most 2 of them" in text for text in found["assumptions"])
    assert main(arguments("epsilon", setting)) == 0
    out = " ".join(capsys.readouterr().out.split())  # lines end at 80 columns
    assert "all 2 records of one user added or removed" in out


def test_no_sampling_is_the_gaussian_mechanism(capsys):
    found = answer(capsys, {"--noise-multiplier": "1", "--delta": "1e-5"})
    # dp-accounting 0.6.0: get_epsilon_gaussian(1, 1e-5), and (1/2, 1e-5) for one record replaced.
    assert found["epsilon"] == pytest.approx({"lower": 4.377178, "upper": 4.377178}, abs=1e-6)
    (other,) = found["alternatives"]
    assert other["relation"] == "REPLACE_ONE"
    # dp-accounting's Rényi accountant says 4.7285 here, and forgets that a record moves by 2C.
    assert other["lower"] == pytest.approx(9.9973, abs=1e-4)


def test_the_relation_may_be_written_in_small_letters(capsys):
    found = answer(capsys, SETTING | {"--steps": "100", "--relation": "replace-one"})
    assert found["setting"]["relation"] == "REPLACE_ONE"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"--noise-multiplier": "0"}, "`--noise-multiplier` must be positive, got 0.0."),
        ({"--noise-multiplier": "nan"}, "--noise-multiplier"),
        ({"--sampling-rate": "2"}, "--sampling-rate"),
        ({"--steps": "0"}, "--steps"),
        ({"--steps": "1.5"}, "--steps"),
        ({"--steps": "inf"}, "--steps"),
        ({"--steps": "1e300"}, "`--steps` must be at most 1e+09, got 1e+300."),
        ({"--noise-multiplier": "1e300"}, "`--noise-multiplier` must be at most 1e+12"),
        ({"--noise-multiplier": "1e-300"}, "`--noise-multiplier` must be at least 0.01"),
        ({"--sampling-rate": "1e-300"}, "`--sampling-rate` must be at least 1e-12"),
        ({"--sampling-rate": "-0.5"}, "`--sampling-rate` must be in (0, 1], got -0.5."),
        (
            {"--sampling": "shuffled", "--sampling-rate": "0.3", "--steps": "13"},
            "whole epochs of 4",
        ),
        ({"--plot": "/dev/null/curve.png"}, "`--plot` must be a file that can be written"),
        ({"--delta": "1"}, "--delta"),
        ({"--relation": "sibling"}, "--relation"),
        ({"--batch-size": "10"}, "--batch-size"),
        ({"--batch-size": "10", "--data-size": "20"}, "--sampling-rate"),
        ({"--sampling": "all"}, "--sampling-rate"),
        ({"--sampling": "fixed-size"}, "Did you mean 'fixed_size'?"),
        ({"--sampling": "Poisson"}, "Did you mean 'poisson'?"),
        ({"--sampling": "none"}, "Did you mean 'all'?"),
        ({"--sampling": "balls_in_bins", "--steps": "150"}, "`--steps` must be whole epochs"),
        (
            {"--sampling": "balls_in_bins", "--sampling-rate": "0.3"},
            "`--sampling-rate` must be one over",
        ),
        (
            {"--sampling": "balls_in_bins", "--relation": "REPLACE_ONE"},
            "`--relation` must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL",
        ),
        ({"--sampling": "fixed_size", "--relation": "ADD_OR_REMOVE_ONE"}, "`--relation` must be"),
        ({"--sampling": "shuffled", "--relation": "ADD_OR_REMOVE_ONE"}, "REPLACE_ONE"),
        ({"--sampling": "shuffled", "--steps": "99"}, "`--steps` must be whole epochs of 100"),
        ({"--epochs": "3"}, "`--steps` must be left out where --epochs is given."),
        ({"--records-per-user": "0"}, "`--records-per-user` must be"),
        ({"--records-per-user": "nan"}, "`--records-per-user` must be"),
        ({"--records-per-user": "2.5"}, "`--records-per-user` must be"),
        ({"--records-per-user": "1e9"}, "`--records-per-user` must be"),
        (
            {"--records-per-user": "2", "--sampling": "fixed_size"},
            "`--records-per-user` must come with --batch-size and --data-size",
        ),
        (
            {"--records-per-user": "2", "--sampling": "balls_in_bins"},
            "`--records-per-user` must be 1 for balls_in_bins",
        ),
        ({"--plot": "curve.nonsense"}, "--plot"),
    ],
)
def test_bad_input_ends_with_code_2_and_one_line(capsys, changed, named):
    assert main(arguments("epsilon", SETTING | changed)) == 2
    captured = capsys.readouterr()
    assert named in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        (["--batch-size", "30", "--data-size", "20"], "at most --data-size"),
        (["--batch-size", "nan", "--data-size", "20"], "--batch-size"),
        (["--batch-size", "1", "--data-size", "inf"], "--data-size"),
        (["--sampling", "poisson"], "--sampling-rate"),
        (["--drop-last"], "`--drop-last` must come with --batch-size"),
        (["--sampling-rate", "0.3", "--epochs", "2"], "`--epochs` must come with --batch-size"),
        (["--epochs", "nan"], "--epochs"),
        (["--epochs", "1.5"], "--epochs"),
        (["--epochs", "1e300"], "`--epochs` must be at most"),
        (["--batch-size", "1", "--data-size", "1e9", "--epochs", "1e9"], "`--epochs` must be"),
    ],
)
def test_bad_sizes(capsys, sizes, named):
    assert main(["epsilon", "--noise-multiplier", "1", "--delta", "1e-5", *sizes]) == 2
    assert named in capsys.readouterr().err


def test_the_curve_is_drawn(tmp_path, capsys):
    file = tmp_path / "new" / "curve.png"
    assert main(arguments("epsilon", SETTING, "--plot", str(file))) == 0
    assert file.read_bytes().startswith(b"\x89PNG")


CALIBRATION = {"--epsilon": "1", "--delta": "1e-5", "--sampling-rate": "0.01"}


def test_calibrate_noise(capsys):
    assert main(arguments("calibrate", CALIBRATION, "--steps", "1e4", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0.999 < found["epsilon"]["upper"] <= 1.0
    # dp-accounting 0.6.0, PLD on cells of 1e-5: ε = 1.000007 at 3.8128 and 0.999977 at 3.8129.
    assert found["noise_multiplier"] == pytest.approx(3.8128, abs=1e-4)


def test_calibrate_steps_gives_the_most(capsys):
    assert main(arguments("calibrate", CALIBRATION, "--noise-multiplier", "4", "--json")) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    for count, within in ((steps, True), (steps + 1, False)):
        setting = {"--noise-multiplier": "4", "--sampling-rate": "0.01", "--delta": "1e-5"}
        found = answer(capsys, setting | {"--steps": str(count)})
        assert (found["epsilon"]["upper"] <= 1.0) is within


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["--steps", "1e4"], "noise multiplier 3.81"),
        (["--noise-multiplier", "4"], "steps at noise"),
    ],
)
def test_calibrate_in_words(capsys, wanted, words):
    assert main(arguments("calibrate", CALIBRATION, *wanted)) == 0
    out = capsys.readouterr().out
    assert words in out
    assert "one record added or removed" in out


def test_calibrate_shuffled_batches(capsys):
    """No amplification: the noise of 2 Gaussian releases, σ = √2·σ(1)."""
    sizes = ["--batch-size", "10", "--data-size", "95", "--sampling", "shuffled"]
    setting = {"--epsilon": "1", "--delta": "1e-5"}
    assert main(arguments("calibrate", setting, *sizes, "--epochs", "2", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    # dp-accounting 0.6.0: get_sigma_gaussian(1, 1e-5) = 3.730631634…
    assert found["noise_multiplier"] == pytest.approx(2**0.5 * 3.730632, rel=1e-6)
    assert "balls in bins" in found["notes"][0]
    assert main(arguments("calibrate", setting, *sizes, "--noise-multiplier", "6", "--json")) == 0
    # (6/3.7306)² = 2.59 epochs of 10 batches.
    assert json.loads(capsys.readouterr().out)["steps"] == 20


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ([], "neither"),
        (["--steps", "10", "--noise-multiplier", "1"], "both"),
        (["--noise-multiplier", "-1"], "--noise-multiplier"),
        (["--noise-multiplier", "0.1"], "`--epsilon` must allow one step at"),
        (["--steps", "nan"], "--steps"),
        (["--steps", "10", "--epsilon", "0"], "--epsilon"),
        (["--steps", "10", "--delta", "0"], "--delta"),
        (["--steps", "10", "--sampling", "shuffled"], "`--steps` must be whole epochs"),
        (["--steps", "10", "--epochs", "2"], "--epochs"),
    ],
)
def test_calibrate_refuses(capsys, more, named):
    assert main(arguments("calibrate", CALIBRATION, *more)) == 2
    assert named in capsys.readouterr().err


def test_calibrate_to_a_risk(capsys):
    """Closed forms of plain Gaussians, μ = √T/σ: 2Φ(μ/2) − 1 = 0.1 at μ = 0.2513227, and Φ⁻¹(0.05)
    − Φ⁻¹(0.01) = 0.6814942 (tables of Φ).
    """
    for target, mu, tight in (
        (["--advantage", "0.1"], 0.2513227, 1e-6),
        (["--tpr", "0.05", "--fpr", "0.01"], 0.6814942, 1e-5),
        (["--mu", "2"], 2.0, 1e-9),
    ):
        assert main(["calibrate", *target, "--steps", "4", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["noise_multiplier"] == pytest.approx(2.0 / mu, rel=tight)
        assert found["found"]["upper"] <= float(target[1])


def test_calibrate_to_a_risk_in_words(capsys):
    given = ["calibrate", "--advantage", "0.1", "--sampling-rate", "0.01", "--steps", "1000"]
    assert main(given) == 0
    out = capsys.readouterr().out
    assert out.startswith("noise multiplier 1.4")
    assert "an attack's advantage, target 0.1, in [0.0" in out


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--epsilon", "1"], "`--delta` must be given"),
        (["--tpr", "0.1"], "`--fpr` must be given"),
        (["--advantage", "0.1", "--delta", "1e-5"], "`--delta` must be left out"),
        (["--advantage", "0.1", "--slack", "0.1"], "`--slack` must be left out"),
        (["--advantage", "2"], "`--advantage` must be in (0, 1)"),
        (["--tpr", "0.1", "--fpr", "0.2"], "`--tpr` must be above"),
        (["--mu", "1", "--noise-multiplier", "1"], "`--steps` must be given"),
    ],
)
def test_calibrate_to_a_risk_refuses(capsys, given, named):
    assert main(["calibrate", "--steps", "3", *given]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--advantage", "0.1", "--mu", "1"]])
def test_one_target_is_given(given):
    with pytest.raises(SystemExit, match="2"):
        main(["calibrate", "--steps", "3", *given])


FIXED_SIZE = {
    "--noise-multiplier": "1",
    "--sampling-rate": "0.1",
    "--steps": "4",
    "--delta": "1e-4",
    "--sampling": "fixed_size",
}


def test_tight_says_so_and_lies_within_the_fast_interval(capsys):
    fast, tight = answer(capsys, FIXED_SIZE), answer(capsys, FIXED_SIZE, "--tight")
    assert tight["accountants"][0]["name"] == "control problem"
    assert "control problem" not in [row["name"] for row in fast["accountants"]]
    assert fast["epsilon"]["lower"] <= tight["epsilon"]["lower"]
    assert tight["epsilon"]["upper"] < fast["epsilon"]["upper"]


def test_tight_is_for_fixed_size_only(capsys):
    assert main(arguments("epsilon", SETTING, "--tight")) == 2
    assert "--tight" in capsys.readouterr().err
