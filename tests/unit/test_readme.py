"""Every Python block of the README runs, top to bottom, in one namespace."""

import re
from pathlib import Path

import pytest

from accountants import support_table

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_has_examples():
    assert len(BLOCKS) >= 2


def test_every_block_runs(capsys):
    namespace: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, str(README), "exec"), namespace)
    out = capsys.readouterr().out
    assert "Rényi accountant: 0.0000 <= epsilon <= 2.10" in out
    assert "Fourier accountant: 1.8282 <= epsilon <= 1.8282" in out


def test_the_support_table_is_what_the_accountants_say():
    text = README.read_text(encoding="utf-8")
    written = text.split("<!-- support table -->\n")[1].split("\n<!-- end -->")[0]
    assert written == support_table()


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_two_commands_are_there(command):
    assert command in README.read_text(encoding="utf-8")
    target = command.split()[1]
    assert f"\n{target}:" in (README.parent / "Makefile").read_text(encoding="utf-8")
