import importlib.metadata
import json
import os
import signal
import subprocess
import sys

import pytest

from audits.cli import main as cli
from audits.cli import options, study
from audits.cli.main import main
from audits.papers.studies import STUDIES

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


def test_the_suite_is_shown_from_the_record_and_what_does_not_fit_is_refused(
    capsys, monkeypatch, tmp_path
):
    from audits.peers import asking, scoreboard

    class Peer:
        def __init__(self, peer):
            self.peer = peer

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def ask(self, question, seconds):
            return {"upper": 0.0, "seconds": 0.1}

    monkeypatch.setattr(scoreboard, "Asked", Peer)
    assert asking.Asked is not Peer
    record = tmp_path / "record.json"
    monkeypatch.setattr(scoreboard, "RECORD", record)
    command = ["crosscheck", "--suite", "opendp"]
    assert main([*command, "--output", str(record)]) == 1  # ε = 0 is too low for most of them
    capsys.readouterr()
    assert main([*command, "--recorded", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["peer"] == "opendp"
    assert row["counts"]["too low"] > 100
    assert row["lowest"][0] == -1.0
    assert main(["crosscheck", "--suite", "nobody"]) == 2
    assert "opendp" in capsys.readouterr().err
    assert main(["crosscheck", "--recorded", *SETTING]) == 2
    assert main(["crosscheck", "--delta", "1e-5"]) == 2
    assert "--noise-multiplier" in capsys.readouterr().err


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
        ("--noise-multiplier", "-1", "--noise-multiplier"),
        ("--sampling-rate", "2", "--sampling-rate"),
        ("--steps", "1.5", "--steps"),
        ("--steps", "nan", "--steps"),
        ("--delta", "0", "--delta"),
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


def test_unknown_options_end_with_code_2_and_one_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["crosscheck", "--nonsense"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


COMMANDS = [
    "epsilon",
    "calibrate",
    "remaining",
    "explain",
    "crosscheck",
    "certify",
    "verify",
    "audit",
    "zoo",
    "claims",
    "study",
    "report",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "--json" in capsys.readouterr().out


def test_help_lists_every_command_and_version_is_the_distributions(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert all(f"\n    {command}" in out for command in COMMANDS)
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    version = importlib.metadata.version("dp-assay")
    assert capsys.readouterr().out == f"dp-assay {version}\n"


def test_an_interrupt_ends_with_code_130_and_no_traceback(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("audits.cli.crosscheck.crosscheck", interrupted)
    assert main(["crosscheck", *SETTING]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_terminal_without_greek_letters_gets_the_answer():
    command = [sys.executable, "-m", "audits", "epsilon", *SETTING]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    # tests/golden/fourier_poisson.json: 1.828236…
    assert "1.82823 ? ? ? 1.82824" in done.stdout


@pytest.mark.slow
def test_an_interrupt_of_many_processes_leaves_no_traceback(tmp_path):
    """As a terminal does it: the signal goes to all processes of the command."""
    command = [sys.executable, "-m", "audits", "report", "--workers", "2"]
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A suite that runs in the background has inherited "ignore"; a terminal's command has not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert running.stderr is not None
    assert running.stderr.readline().startswith("[1/")
    os.killpg(running.pid, signal.SIGINT)
    rest = running.communicate()[1]
    assert running.returncode == 130
    assert "Traceback" not in rest
    assert not (tmp_path / "report.html").exists()


def test_a_reader_that_has_gone_is_not_complained_about():
    """`dp-assay crosscheck … | head -0`: the pipe is closed before anything is written."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "audits", "crosscheck", *SETTING]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""


def test_zoo_shows_one_specimen_with_its_explanation(capsys):
    assert main(["zoo", "C for 2C"]) == 0
    captured = capsys.readouterr()
    assert "REFUTED" in captured.out
    assert "Reference: " in captured.out
    assert "[1/1]" in captured.err


def test_zoo_explains_and_draws_a_lint(capsys, tmp_path):
    target = tmp_path / "lint.png"
    name = "central noise walks at random"
    assert main(["zoo", name, "--plot", str(target)]) == 0
    out = capsys.readouterr().out
    assert "random walk about the product" in " ".join(out.split())
    assert target.read_bytes().startswith(b"\x89PNG")


def test_zoo_shows_a_witness_and_draws_the_specimen(capsys, tmp_path):
    target = tmp_path / "percentile.png"
    assert main(["zoo", "percentile clipping", "--plot", str(target)]) == 0
    assert "Witness: the first round moves" in capsys.readouterr().out
    assert target.read_bytes().startswith(b"\x89PNG")


def test_a_plot_is_of_one_specimen(capsys, tmp_path):
    target = tmp_path / "two.png"
    assert main(["zoo", "noise split", "--plot", str(target)]) == 2
    assert "noise split over 10 clients" in capsys.readouterr().err
    assert not target.exists()


def test_zoo_json_has_the_documented_shape(capsys):
    assert main(["zoo", "fixed seed", "--json"]) == 0
    (specimen,) = json.loads(capsys.readouterr().out)["specimens"]
    assert {"name", "reference", "flawed", "repaired"} <= specimen.keys()
    assert specimen["flawed"]["verdict"] == "REFUTED"
    assert specimen["repaired"]["verdict"] == "NOT_REFUTED"


def test_claims_shows_one_entry_with_its_argument(capsys):
    assert main(["claims", "thesis-fig-3-3"]) == 0
    out = capsys.readouterr().out
    assert "thesis-fig-3-3" in out
    assert "Thesis" in out
    assert "Checked: `project` on Algorithm 3's messages" in out
    assert "Holds if: the adversary sees messages" in out


def test_claims_json_has_the_documented_shape(capsys):
    assert main(["claims", "tum-theorem", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["claims"]
    assert [e["id"] for e in entries] == ["tum-theorem-1", "tum-theorem-1-range", "tum-theorem-2"]
    wanted = {"id", "paper", "place", "statement", "verdict", "figure", "numbers"}
    assert all(wanted <= entry.keys() for entry in entries)
    assert {"label", "value", "upper", "role"} == entries[0]["numbers"][0].keys()


def test_an_exact_claim_id_wins_over_longer_ones(capsys):
    assert main(["claims", "tum-theorem-1", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["claims"]
    assert entry["id"] == "tum-theorem-1"


def test_claims_draws_one_claim(capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    file = tmp_path / "claim.png"
    assert main(["claims", "tum-sensitivity", "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    captured = capsys.readouterr()
    assert "refuted" in captured.out
    assert str(file) in captured.err


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("tum-theorem", "a.png", "`ID` must name one claim to draw, got 'tum-theorem', in"),
        ("tmlr-damping", "a.png", "no numbers to draw for tmlr-damping"),
        ("tum-sensitivity", "file/a.png", "`--plot` must be a file that can be written"),
        ("tum-sensitivity", "a.nonsense", "nonsense"),
    ],
)
def test_what_cannot_be_drawn_ends_with_code_2(capsys, tmp_path, name, file, message):
    pytest.importorskip("matplotlib").use("Agg")
    (tmp_path / "file").write_text("where a folder would have to be")
    assert main(["claims", name, "--plot", str(tmp_path / file)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("command", ["zoo", "claims"])
def test_an_unknown_name_ends_with_code_2(capsys, command):
    assert main([command, "no such thing"]) == 2
    assert "must be part of one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "slip", "meant"),
    [
        ("zoo", "precentile clipping", "percentile clipping"),
        ("claims", "thesis-random-wlk", "thesis-random-walk"),
        ("study", "TMLR-adlt", "tmlr-adult"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_nearest_name(capsys, command, slip, meant):
    assert main([command, slip]) == 2
    captured = capsys.readouterr()
    assert captured.err.endswith(f"Did you mean '{meant}'?\n")
    assert captured.out == ""


def test_names_are_found_in_any_case(capsys):
    assert main(["zoo", "Fixed SEED", "--json"]) == 0
    (specimen,) = json.loads(capsys.readouterr().out)["specimens"]
    assert specimen["name"] == "fixed seed"


def test_the_studies_named_in_the_help_are_the_studies():
    assert tuple(STUDIES) == study._NAMES


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["study", "table6"], "`NAME` must be one of ['thesis-linreg', "),
        (["study", "tum-credit", "--redraw"], "`folder` must hold tum-credit.json"),
        (["study", "tum-credit", "--redraw", "--seeds", "2"], "`--redraw` must be without"),
        (["zoo", "fixed seed", "--seed", "-1"], "`--seed` must be at least 0, got -1."),
        (["zoo", "fixed seed", "--plot", "a.nonsense"], "`--plot` must end in one of"),
        (["study", "tum-credit", "--seeds", "0"], "`--seeds` must be at least 1, got 0."),
        (["study", "tum-credit", "--workers", "0"], "`--workers` must be at least 1, got 0."),
        (["study", "tum-credit", "--output", "file"], "`--output` must be a file that can"),
        (["report", "--output", "file/report.html"], "`--output` must be a file that can"),
        (["report", "--output", "."], "`--output` must be a file that can"),
        (["zoo", "fixed seed", "--plot", "file/a.png"], "`--plot` must be a file that can"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_computed(
    capsys, monkeypatch, tmp_path, arguments, named
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("where a folder would have to be")
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert named in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_there_survives_the_check(capsys, monkeypatch, tmp_path):
    kept = tmp_path / "old.html"
    kept.write_text("old")
    options.check_writable("--output", kept)
    options.check_writable("--output", tmp_path / "new" / "page.html")
    assert kept.read_text() == "old"
    assert list((tmp_path / "new").iterdir()) == []


def test_a_negative_number_with_an_exponent_is_a_number(capsys):
    """argparse would take -1e-5 for an unknown option."""
    assert main(["epsilon", "--noise-multiplier", "1", "--delta", "-1e-5"]) == 2
    assert capsys.readouterr().err == "dp-assay: `--delta` must be in (0, 1), got -1e-05.\n"


def test_a_command_has_its_help_beside_it(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("    crosscheck  account for") for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command):
    """With an example of the command, and lines that fit a terminal."""
    (subparsers,) = (a for a in cli._parser()._actions if isinstance(a.choices, dict))
    parser = subparsers.choices[command]
    assert all(action.help for action in parser._actions)
    text = parser.format_help()
    assert f"dp-assay {command}" in parser.epilog
    assert max(map(len, text.splitlines())) <= 80


def test_an_epsilon_below_zero_means_zero(capsys):
    """At δ = 0.5, prv-accountant's upper bound is negative; that contradicts nobody."""
    pytest.importorskip("prv_accountant")
    assert main(["crosscheck", "--noise-multiplier", "1", "--delta", "0.5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["accountants"]
    assert all(row["upper"] >= 0.0 for row in rows)
