"""`dp-assay plan`, `run` and `assay`: an experiment in a file."""

import json
import math

import dp_accounting as dpa
import numpy as np
import pytest

from accountants import epsilon_bounds
from audits.cli.main import main
from mechanisms import AGGREGATE, Experiment, NoiseSplitting, ParameterPerturbation, Prior, Scope
from pvi import ExactSolver, LinearRegression, LogisticRegression

REPLACE = dpa.NeighboringRelation.REPLACE_ONE
SLOPE = 2.0
HONEST = ParameterPerturbation(clip_norm=1.0, noise_multiplier=2.0)
FLAWED = NoiseSplitting(clip_norm=1.0, noise_multiplier=2.0)


def file_of(folder, mechanism=HONEST, **changes):
    given = {
        "name": "two sites",
        "mechanism": mechanism,
        "model": LinearRegression(dimension=1, noise_std=1.0),
        "prior": Prior(variance=1e-3),
        "clients": 2,
        "rounds": 1,
        "delta": 1e-5,
        "solver": ExactSolver(),
        "scopes": (Scope(relation=REPLACE), Scope(relation=REPLACE, view=AGGREGATE)),
    }
    file = folder / "experiment.toml"
    file.write_text(Experiment(**(given | changes)).to_toml(), encoding="utf-8")
    return str(file)


def records(folder, count=40, classes=False):
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal(count)
    targets = (inputs > 0).astype(int) if classes else SLOPE * inputs
    rows = [f"{x},{y},{k % 2}" for k, (x, y) in enumerate(zip(inputs, targets, strict=True))]
    file = folder / "records.csv"
    file.write_text("\n".join(["x,income,site", *rows]) + "\n", encoding="utf-8")
    return ["--data", str(file), "--target", "income", "--client", "site"]


def answer(capsys, *command):
    code = main([*command, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_plan_certifies_each_scope(tmp_path, capsys):
    """A part may turn around, 2C of σC: one Gaussian of multiplier σ/2, by the closed form."""
    code, found = answer(capsys, "plan", file_of(tmp_path))
    assert code == 0
    assert found["name"] == "two sites"
    exact = epsilon_bounds(noise_multiplier=1.0, sampling_rate=1.0, steps=1, delta=1e-5)
    delta, lower, upper = found["plan"][0]["certificate"]["points"][0]
    assert delta == 1e-5
    assert lower <= exact.upper
    assert exact.lower <= upper <= exact.upper * (1 + 1e-6)
    assert main(["plan", file_of(tmp_path)]) == 0
    assert "two sites: ParameterPerturbation, 2 clients, 1 rounds" in capsys.readouterr().out


def test_plan_gives_the_reason_where_there_is_no_proof(tmp_path, capsys):
    code, found = answer(capsys, "plan", file_of(tmp_path, FLAWED, rounds=2))
    assert code == 0
    assert found["plan"][1]["certificate"] is None
    assert "remembers noise" in found["plan"][1]["refusal"]


def test_run_learns_and_certifies_what_it_did(tmp_path, capsys):
    """With next to no noise and a wide prior, exact inference in one round is regression."""
    quiet = ParameterPerturbation(clip_norm=1e6, noise_multiplier=1e-9)
    file = file_of(tmp_path, quiet, prior=Prior(variance=1e6))
    code, found = answer(capsys, "run", file, *records(tmp_path))
    assert code == 0
    assert found["mean"] == pytest.approx([SLOPE], rel=1e-4)
    assert len(found["std"]) == 1
    assert len(found["costs"]) == 2
    noisy = file_of(tmp_path)
    _, ran = answer(capsys, "run", noisy, *records(tmp_path))
    _, planned = answer(capsys, "plan", noisy)
    assert ran["costs"] == planned["plan"]
    assert main(["run", noisy, *records(tmp_path)]) == 0
    assert "θ[0] = " in capsys.readouterr().out


def test_the_seed_is_the_run(tmp_path, capsys):
    command = ["run", file_of(tmp_path), *records(tmp_path)]
    first, again, other = (answer(capsys, *command, "--seed", seed)[1] for seed in "112")
    assert first == again
    assert first["mean"] != other["mean"]


def test_classes_0_and_1_are_those_of_logistic_regression(tmp_path, capsys):
    from pvi import SGD, GradientSolver

    file = file_of(
        tmp_path,
        ParameterPerturbation(clip_norm=1e6, noise_multiplier=1e-9),
        model=LogisticRegression(dimension=1),
        prior=Prior(variance=1.0),
        solver=GradientSolver(rule=SGD(learning_rate=0.05), steps=50),
    )
    code, found = answer(capsys, "run", file, *records(tmp_path, classes=True))
    assert code == 0
    assert found["mean"][0] > 0.5


def test_an_honest_experiment_passes_its_assay(tmp_path, capsys):
    command = ["assay", file_of(tmp_path), "--confidence", "0.999999999", "--max-samples", "500"]
    code, found = answer(capsys, *command)
    assert code == 0
    assert [one["consistent"] for one in found] == [True, True]
    assert main(command) == 0
    assert capsys.readouterr().out.count("NOT CONTRADICTED") == 2


def test_split_noise_is_contradicted_by_its_assay(tmp_path, capsys):
    """Two clients with σC/√2 each, claimed as σ: false in the messages, true of their sum."""
    command = ["assay", file_of(tmp_path, FLAWED), "--noise-multiplier", "2"]
    code, found = answer(capsys, *command)
    assert code == 1
    assert [one["contradicted"] for one in found] == [True, False]
    assert main(command) == 1
    printed = capsys.readouterr().out
    assert "CONTRADICTED" in printed


def test_a_claim_of_epsilon(tmp_path, capsys):
    """A Gaussian of shift 2C and noise 2C has ε(1e-5) = 4.377 (Balle and Wang 2018, Theorem 8)."""
    options = ["--max-samples", "20000", "--seed", "1"]
    code, found = answer(capsys, "assay", file_of(tmp_path), "--epsilon", "4.378", *options)
    assert code == 0
    code, found = answer(capsys, "assay", file_of(tmp_path), "--epsilon", "0.5", *options)
    assert code == 1
    assert all(one["contradicted"] for one in found)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["plan", "missing.toml"], "missing.toml"),
        (["plan", "experiment.yaml"], "must end in .toml or .json"),
        (["assay", "FILE", "--confidence", "1"], "confidence"),
        (["assay", "FILE", "--max-samples", "0.5"], "max-samples"),
        (["assay", "FILE", "--epsilon", "1", "--noise-multiplier", "1"], "got both"),
        (["assay", "FILE", "--epsilon", "-1"], "epsilon"),
        (["assay", "FILE", "--epsilon", "nan"], "epsilon"),
        (["assay", "FILE", "--seed", "-1"], "seed"),
        (["run", "FILE"], "--data"),
        (["run", "FILE", "--data", "missing.csv"], "missing.csv"),
        (["run", "FILE", "--data", "records.txt"], "must end in"),
    ],
)
def test_bad_input_ends_with_code_2(tmp_path, capsys, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    file = file_of(tmp_path)
    try:
        code = main([file if word == "FILE" else word for word in command])
    except SystemExit as stop:  # argparse's own refusals
        code = stop.code
    assert code == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_data_of_another_width_are_refused(tmp_path, capsys):
    wide = LinearRegression(dimension=3, noise_std=1.0)
    file = file_of(tmp_path, model=wide)
    assert main(["run", file, *records(tmp_path)]) == 2
    assert "`--data` must have 3 columns of inputs" in capsys.readouterr().err


def test_the_example_is_planned(capsys):
    """`docs/experiment.toml` is the first thing a reader tries."""
    from pathlib import Path

    example = Path(__file__).parents[2] / "docs" / "experiment.toml"
    code, found = answer(capsys, "plan", str(example))
    assert code == 0
    assert all(
        math.isfinite(one["certificate"]["points"][0][2])
        for one in found["plan"]
        if one["certificate"]
    )
