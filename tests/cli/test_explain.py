"""`dp-assay explain`: sentences and rates, against the closed forms of (ε, δ) and of a Gaussian."""

import json
import math

import pytest
from scipy import stats

from accountants import Certificate
from audits.cli.main import main


def explained(capsys, *words):
    assert main(["explain", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("epsilon", "delta"), [(3.0, 1e-5), (0.5, 1e-3), (1.0, 0.0), (20.0, 1e-5)])
def test_a_point_means_what_kairouz_oh_and_viswanath_say(capsys, epsilon, delta):
    """Theorem 2.1 of their paper: the region is bounded by two lines; here the higher of both."""
    words = ["--epsilon", str(epsilon), *(["--delta", str(delta)] if delta else [])]
    found = explained(capsys, *words)
    accuracy = (math.exp(epsilon) + delta) / (1.0 + math.exp(epsilon))
    assert found["accuracy"]["upper"] == pytest.approx(accuracy, rel=1e-12)
    for row in found["true_positive_rates"]:
        alpha = row["false_positive_rate"]
        steep = math.exp(epsilon) * alpha + delta
        flat = 1.0 - math.exp(-epsilon) * (1.0 - delta - alpha)
        assert row["upper"] == pytest.approx(min(steep, flat), rel=1e-10)
        assert row["upper"] >= min(steep, flat) * (1.0 - 1e-14)


def test_a_curve_says_more_than_a_point_of_it(capsys):
    """One Gaussian at σ = 1: the power of the best test is Φ(Φ⁻¹(α) + 1)."""
    found = explained(capsys, "--noise-multiplier", "1")
    for row in found["true_positive_rates"]:
        power = stats.norm.cdf(stats.norm.ppf(row["false_positive_rate"]) + 1.0)
        assert row["upper"] == pytest.approx(power, rel=1e-6)
    assert found["sentences"][1].endswith("at most 93.")  # 92.36 of 1,000
    point = explained(capsys, "--epsilon", "4.3772", "--delta", "1e-5")
    assert point["true_positive_rates"][0]["upper"] > 0.5


def test_people_are_counted_upwards(capsys):
    """1,000 × Φ(Φ⁻¹(0.01) + 1) = 92.36: at most 93, not 92."""
    assert main(["explain", "--noise-multiplier", "1"]) == 0
    out = capsys.readouterr().out
    assert "wrongly names 10 of 1,000\n  others recognises at most 93." in out
    assert "█ 10\n" in out
    assert "████ 93\n" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_certificate_and_a_history_are_explained(capsys, tmp_path):
    file = tmp_path / "certificate.json"
    words = ["--noise-multiplier", "1", "--sampling-rate", "0.01", "--steps", "100"]
    assert main(["certify", *words, "--delta", "1e-5", "--output", str(file)]) == 0
    Certificate.from_json(file.read_text("utf-8"))
    history = tmp_path / "history.json"
    history.write_text("[[1.0, 0.01, 100]]")
    capsys.readouterr()
    direct = explained(capsys, *words)
    for other in (
        ["--certificate", str(file)],
        ["--history", str(history), "--sampling", "poisson"],
    ):
        found = explained(capsys, *other)
        assert found["true_positive_rates"] == direct["true_positive_rates"]
        assert found["accuracy"] == direct["accuracy"]


def test_a_picture_and_a_delta_of_one_in_n(capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    file = tmp_path / "picture.png"
    words = ["--epsilon", "3", "--delta", "1e-4", "--data-size", "60k"]
    assert main(["explain", *words, "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert "not below 1/60,000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "what is explained must be one of"),
        (["--epsilon", "1", "--noise-multiplier", "1"], "what is explained must be one of"),
        (["--epsilon", "-1"], "`--epsilon` must be"),
        (["--epsilon", "nan"], "`--epsilon` must be"),
        (["--epsilon", "inf"], "`--epsilon` must be"),
        (["--epsilon", "1", "--delta", "1"], "`--delta` must be in (0, 1)"),
        (["--epsilon", "1", "--steps", "5"], "`--steps` must be left out"),
        (["--certificate", "nothing.json"], "nothing.json"),
        (["--epsilon", "1", "--plot", "x.nonsense"], "`--plot` must end in one of"),
    ],
)
def test_what_cannot_be_explained_is_refused(capsys, monkeypatch, tmp_path, words, reason):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *words]) == 2
    shown = capsys.readouterr()
    assert reason in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
