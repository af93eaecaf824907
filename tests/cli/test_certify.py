"""`dp-assay certify`: what it writes, what `--verify` says of it, exit codes."""

import json
import sys

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import Certificate
from audits.cli import certify
from audits.cli.main import main

# ε(1e-5) of one Gaussian at σ = 1 is 4.37717809568121 (Balle, Wang 2018, Theorem 8, by mpmath).
GAUSSIAN = ["certify", "--noise-multiplier", "1", "--delta", "1e-5"]


def test_standard_output_is_the_certificate_and_the_verdict_is_aside(capsys):
    assert main([*GAUSSIAN, "--verify"]) == 0
    shown = capsys.readouterr()
    lower, upper = Certificate.from_json(shown.out).bounds(1e-5)
    assert lower <= 4.377178095682
    assert upper >= 4.377178095680
    assert shown.err.startswith("VERIFIED\n")
    assert shown.err.count("delta(") == 2


def test_the_file_is_what_verify_reads(tmp_path, capsys):
    file = tmp_path / "certificate.json"
    sampled = ["--sampling-rate", "0.01", "--steps", "50", "--relation", "replace-special"]
    assert main([*GAUSSIAN, *sampled, "--output", str(file)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("ε in [")
    assert shown.err == f"wrote {file}\n"
    found = Certificate.from_json(file.read_text("utf-8"))
    step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.0))
    assert found.event == dpa.SelfComposedDpEvent(step, 50)
    assert found.neighboring_relation is NeighboringRelation.REPLACE_SPECIAL
    assert "Poisson sampling" in found.sampling[0]
    assert main(["verify", str(file)]) == 0


def test_json_alone_is_on_standard_output(tmp_path, capsys):
    output = ["--output", str(tmp_path / "certificate.json"), "--json"]
    assert main([*GAUSSIAN, *output]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "dp-assay/certificate"
    assert main([*GAUSSIAN, *output, "--verify"]) == 0
    assert json.loads(capsys.readouterr().out)["word"] == "VERIFIED"


def test_what_the_checker_does_not_cover_has_exit_code_2(capsys):
    shuffled = ["--sampling", "shuffled", "--batch-size", "10", "--data-size", "100"]
    assert main([*GAUSSIAN, *shuffled, "--epochs", "1", "--verify"]) == 2
    shown = capsys.readouterr()
    Certificate.from_json(shown.out)
    assert shown.err.startswith("NOT COVERED\n")


def test_a_false_certificate_has_exit_code_1(monkeypatch, capsys):
    false = Certificate(
        event=dpa.GaussianDpEvent(1.0),
        neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        points=((1e-5, 4.37, 4.3771),),
        method="by hand",
    )
    monkeypatch.setattr(certify, "certificate", lambda given: false)
    assert main([*GAUSSIAN, "--verify"]) == 1
    assert capsys.readouterr().err.startswith("REFUTED\n")


@pytest.mark.parametrize("output", ["", "/dev/null/file"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(monkeypatch, capsys, output):
    monkeypatch.setattr(certify, "certificate", lambda given: pytest.fail("computed"))
    assert main([*GAUSSIAN, "--output", output]) == 2
    assert "`--output` must be a file" in capsys.readouterr().err


def test_without_flint_it_says_so_before_the_work(monkeypatch, capsys):
    monkeypatch.setattr(certify, "certificate", lambda given: pytest.fail("computed"))
    for name in [m for m in sys.modules if m.split(".")[:2] == ["accountants", "verify"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flint", None)
    assert main([*GAUSSIAN, "--verify"]) == 2
    assert "pip install 'dp-assay[verify]'" in capsys.readouterr().err
