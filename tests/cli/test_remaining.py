"""`dp-assay remaining`, and tables of ε over a training's epochs."""

import csv
import json

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant, calibrate_steps, remaining_steps
from accountants.dp_sgd import repeated_event
from audits.cli.main import main

# ε(1e-5) of one Gaussian at σ = 1 is 4.37717809568121 (Balle, Wang 2018, Theorem 8, by mpmath);
# k Gaussians at σ = √k are one at σ = 1.
ONE = 4.37717809568121


@pytest.mark.parametrize(("done", "left"), [(1, 15), (15, 1), (16, 0), (17, 0)])
def test_of_sixteen_gaussians_at_four_so_many_are_left(done, left):
    after = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(4.0), done)
    found = remaining_steps(
        after=after, target_epsilon=ONE * (1 + 1e-9), delta=1e-5, noise_multiplier=4.0
    )
    assert found == left
    less = {"target_epsilon": ONE * (1 - 1e-9), "delta": 1e-5, "noise_multiplier": 4.0}
    assert remaining_steps(after=after, **less) == max(0, left - 1)


def test_other_noise_from_now_on():
    """12 at σ = 4 leave a quarter of μ² = 1: 25 at σ = 10."""
    after = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(4.0), 12)
    setting = {"target_epsilon": ONE * (1 + 1e-9), "delta": 1e-5, "noise_multiplier": 10.0}
    assert remaining_steps(after=after, **setting) == 25


def test_after_nothing_it_is_calibrate_steps():
    setting = {
        "target_epsilon": 1.0,
        "delta": 1e-5,
        "noise_multiplier": 4.0,
        "sampling_rate": 0.01,
    }
    found = remaining_steps(after=dpa.NoOpDpEvent(), **setting)
    assert abs(found - calibrate_steps(**setting)) <= 1


def test_whole_epochs_of_balls_in_bins():
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    after = dpa.GaussianDpEvent(2.0)
    setting = {"noise_multiplier": 2.0, "sampling_rate": 0.1, "sampling": "balls_in_bins"}
    found = remaining_steps(after=after, target_epsilon=4.0, delta=1e-5, **setting)
    assert found % 10 == 0
    assert found >= 10
    for steps, fits in ((found, True), (found + 10, False)):
        event, count = repeated_event(2.0, 0.1, steps, "balls_in_bins", relation)
        spent = FourierAccountant(relation).compose(after).compose(event, count).get_epsilon(1e-5)
        assert (spent <= 4.0) is fits


@pytest.fixture
def history(tmp_path):
    file = tmp_path / "history.json"
    file.write_text(json.dumps({"history": [[4.0, 1.0, 12]], "mechanism": "rdp"}))
    return str(file)


def test_the_command_says_what_is_left(capsys, history):
    words = ["remaining", "--history", history, "--sampling", "all", "--delta", "1e-5"]
    assert main([*words, "--epsilon", "4.3772", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 4
    assert found["then"]["upper"] == pytest.approx(ONE, rel=1e-9)
    assert main([*words, "--epsilon", "4.3772", "--noise-multiplier", "10"]) == 0
    assert "left: 25 steps, at noise multiplier 10" in capsys.readouterr().out
    assert main([*words, "--epsilon", "1"]) == 0
    assert "left: nothing (over budget)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--epsilon", "0"], "`--epsilon` must be positive"),
        (["--epsilon", "1", "--sampling", "poissn"], "Did you mean 'poisson'?"),
        (["--epsilon", "1", "--noise-multiplier", "0"], "`--noise-multiplier` must be positive"),
        (["--epsilon", "1", "--sampling-rate", "2"], "`--sampling-rate` must be"),
        (["--epsilon", "1", "--batch-size", "3"], "`--batch-size` must be left out"),
    ],
)
def test_what_does_not_fit_is_refused(capsys, history, more, reason):
    words = ["--sampling", "all"] if "--sampling" not in more else []
    command = ["remaining", "--history", history, "--delta", "1e-5", *words, *more]
    assert main(command) == 2
    shown = capsys.readouterr()
    assert reason in shown.err
    assert shown.out == ""


TRAINING = ["--noise-multiplier", "1.1", "--batch-size", "256", "--data-size", "60k"]


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size", "shuffled"])
def test_a_table_over_epochs_contains_the_truth_and_ends_with_the_answer(
    capsys, tmp_path, sampling
):
    pytest.importorskip("matplotlib").use("Agg")
    file, picture = tmp_path / "epochs.csv", tmp_path / "epochs.png"
    words = [*TRAINING, "--epochs", "4", "--delta", "1e-5", "--sampling", sampling]
    extra = ["--table", str(file), "--plot", str(picture), "--json"]
    assert main(["epsilon", *words, *extra]) == 0
    answer = json.loads(capsys.readouterr().out)["epsilon"]
    head, *rows = csv.reader(file.read_text("utf-8").splitlines())
    assert head == ["epoch", "steps", "ε ≥", "ε ≤"]
    assert [(row[0], row[1]) for row in rows] == [(str(n), str(235 * n)) for n in (1, 2, 3, 4)]
    ends = [(float(row[2]), float(row[3])) for row in rows]
    assert all(lower <= upper for lower, upper in ends)
    assert ends == sorted(ends)
    assert ends[-1][0] <= answer["lower"] <= answer["upper"] <= ends[-1][1]
    assert ends[-1][0] == pytest.approx(answer["lower"], rel=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_table_in_latex_over_steps(capsys, tmp_path):
    file = tmp_path / "steps.tex"
    words = ["--noise-multiplier", "4", "--steps", "16", "--delta", "1e-5", "--table", str(file)]
    assert main(["epsilon", *words]) == 0
    text = file.read_text("utf-8")
    assert r"steps & $\varepsilon$ $\geq$ & $\varepsilon$ $\leq$ \\" in text
    assert r"16 & 4.37717 & 4.37718 \\" in text
    assert text.isascii()


def test_a_table_of_another_kind_is_refused(capsys, tmp_path):
    words = ["--noise-multiplier", "4", "--delta", "1e-5", "--table", str(tmp_path / "a.xls")]
    assert main(["epsilon", *words]) == 2
    assert "`--table` must end in one of ['.csv', '.tex']" in capsys.readouterr().err
