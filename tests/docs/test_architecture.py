"""The page on architecture: what it says of a record's way is what happens."""

import re
import sys
from pathlib import Path
from types import CodeType, FrameType

import pytest

from audits.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = re.findall(r"### `dp-assay (.*?)`\n(.*?)(?=\n##)", PAGE, flags=re.DOTALL)


def called(arguments: list[str]) -> list[str]:
    """Functions of the project, as `file:name`, in order of their first call."""
    found: dict[CodeType, None] = {}

    def note(frame: FrameType, _event: str, _: object) -> None:
        # Calls only: a trace function that gives back none is not told of lines and returns.
        found.setdefault(frame.f_code)

    before = sys.gettrace()
    sys.settrace(note)
    try:
        assert main(arguments) == 0
    finally:
        sys.settrace(before)
    return [
        f"{Path(code.co_filename).relative_to(ROOT).as_posix()}:{code.co_qualname}"
        for code in found
        if code.co_filename.startswith(f"{ROOT}/")
    ]


def test_there_are_two_walks():
    assert [command.split()[0] for command, _ in WALKS] == ["run", "assay"]


@pytest.mark.parametrize(("command", "walk"), WALKS)
def test_a_record_takes_the_way_that_is_described(command, walk, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    fewer = ["--max-samples", "200"] if command.startswith("assay") else []
    way = called([*command.split(), *fewer])
    named = [f"{path}:{name}" for path, name in re.findall(r"`([\w/]+\.py):([\w.]+)`", walk)]
    assert len(named) >= 15
    assert [step for step in named if step not in way] == []
    assert named == sorted(named, key=way.index)
    assert [int(n) for n in re.findall(r"^\| (\d+) \|", walk, flags=re.M)] == list(
        range(1, len(named) + 1)
    )
    assert capsys.readouterr().out


def test_docs_records_are_what_the_script_makes():
    namespace: dict[str, object] = {"__file__": str(ROOT / "docs" / "make_records.py")}
    exec((ROOT / "docs" / "make_records.py").read_text(encoding="utf-8"), namespace)
    made = namespace["table"]()
    assert made == (ROOT / "docs" / "records.csv").read_text(encoding="utf-8")
