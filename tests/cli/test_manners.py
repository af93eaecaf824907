"""How the command line behaves towards people, pipes and shells."""

import io
import shutil
import subprocess

import pytest

from audits import telling
from audits.cli import main as cli
from audits.cli.main import main

(COMMANDS,) = (a.choices for a in cli._parser()._actions if isinstance(a.choices, dict))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_eighty_columns_and_every_option_is_explained(command):
    parser = COMMANDS[command]
    assert all(action.help for action in parser._actions)
    assert max(map(len, parser.format_help().splitlines())) <= 80
    assert "--quiet" in parser._option_string_actions


def test_the_first_help_fits_eighty_columns():
    assert max(map(len, cli._parser().format_help().splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["epsilom"], "Did you mean 'epsilon'?"),
        (["certfy"], "Did you mean 'certify'?"),
        (["epsilon", "--nois-multiplier", "1"], "Did you mean '--noise-multiplier'?"),
        (["epsilon", "--smpling=poisson"], "Did you mean '--sampling'?"),
        (["completion", "bsh"], "Did you mean 'bash'?"),
        (["epsilon", "--qqqq"], "must be one of its options. (see dp-assay epsilon --help)"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(capsys, words, meant):
    setting = ["--noise-multiplier", "1", "--delta", "1e-5"] if words[0] == "epsilon" else []
    with pytest.raises(SystemExit) as stop:
        main([words[0], *setting, *words[1:]])
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert meant in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_quiet_says_nothing_beside_the_answer(capsys, tmp_path):
    file = tmp_path / "certificate.json"
    words = ["certify", "--noise-multiplier", "1", "--delta", "1e-5", "--output", str(file)]
    assert main(words) == 0
    loud = capsys.readouterr()
    assert loud.err == f"wrote {file}\n"
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr() == (loud.out, "")
    assert main(["certify", "--noise-multiplier", "0", "--delta", "1e-5", "--quiet"]) == 2
    assert "`--noise-multiplier` must be positive" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "lines"), [(io.StringIO, 1), (Terminal, 3)])
def test_a_pipe_gets_one_line_of_progress(monkeypatch, stream, lines):
    monkeypatch.setattr("sys.stderr", stream())
    for index in (1, 2, 3):
        telling.step(index, 3, "something")
    said = telling.sys.stderr.getvalue()
    assert said.count("\n") == lines
    assert said.startswith("[1/3] something")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_understands_its_completion(capsys, tmp_path, shell):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert "noise-multiplier" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    script = tmp_path / "script"
    script.write_text(text)
    subprocess.run([shell, "-n", str(script)], check=True)


def completed(tmp_path, text, *words):
    """What bash offers after these words."""
    script = tmp_path / "script"
    line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _dp_assay"
    script.write_text(f'{text}\n{line}\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n')
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_and_their_options(capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    text = capsys.readouterr().out
    assert completed(tmp_path, text, "dp-assay", "ep") == ["epsilon"]
    assert "--history" in completed(tmp_path, text, "dp-assay", "remaining", "--h")
    assert completed(tmp_path, text, "dp-assay", "epsilon", "--noise") == ["--noise-multiplier"]
