"""The field: how findings are read, how their draws get here, what is recorded."""

import math
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from audits.field import examine as examining
from audits.field import library as libraries
from audits.field import pages, served
from audits.field import record as records
from audits.field.examine import FAILED, Outcome, examine
from audits.field.finding import FLAWED, REPAIRED, findings_by_name, named, read
from audits.field.library import Library, LostError, encoded
from audits.field.record import RECORD, Record, convicted, table
from audits.peers import environment
from audits.peers.environment import InstallError
from audits.testing.outputs import Raised

ABOUT = """
ABOUT = {
    "library": "made-up", "requirements": ["made-up==1"], "promise": "pure ε = 1",
    "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "REPLACE_ONE"},
    "domain": {"dimension": 0, "bounds": (0, 1), "min_records": 1, "max_records": 1},
    "repair": "add noise",
}
"""
NOISY = """
import random
def noise():
    return random.expovariate(1) - random.expovariate(1)
"""


@pytest.fixture
def finding(tmp_path, monkeypatch):
    """A finding made of the lines that a test gives, in this interpreter's environment."""
    monkeypatch.setattr(environment, "python", lambda *_: sys.executable)
    monkeypatch.setattr(libraries, "_START", 10.0)

    def make(body, about=ABOUT):
        file = tmp_path / "made_up.py"
        file.write_text(f'"""It is made up.\n\nBecause.\n"""\n{about}\n{textwrap.dedent(body)}')
        return read(served.load(str(file)))

    return make


def drawn(finding, data=None, n=3, role=FLAWED, seconds=5.0):
    with Library(finding, role, seconds) as library:
        return library(data, np.random.default_rng(0), n)


def test_data_and_outputs_keep_every_bit(finding):
    values = np.array([0.1, math.pi, 5e-324, math.inf, -0.0])
    one = finding(
        "def flawed(data):\n    assert str(data['a'].dtype) == 'float64'\n    return data['a']"
    )
    for output in drawn(one, {"a": values}):
        assert output.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'text'", "text"),
        ("None", None),
        ("[1, 'a', None]", [1, "a", None]),
        ("{'a': 1.5, 2: (3, 4)}", {"a": 1.5, 2: [3, 4]}),
        ("__import__('numpy').float32(0.5)", 0.5),
        ("__import__('numpy').bool_(True)", True),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
    ],
)
def test_outputs_of_any_kind(finding, expression, expected):
    (output,) = drawn(finding(f"def flawed(data):\n    return {expression}"), n=1)
    if isinstance(expected, dict):
        output = {key: getattr(v, "tolist", lambda v=v: v)() for key, v in output.items()}
    assert getattr(output, "tolist", lambda: output)() == expected


def test_data_arrive_as_they_were():
    data = (np.arange(6).reshape(2, 3), [1.5, "a", None], {"b": np.float64(2.5)})
    array, plain, mapping = served.decoded(encoded(data))
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array.dtype == np.int64
    assert (plain, mapping) == ([1.5, "a", None], {"b": 2.5})


def test_arrays_are_lists_where_there_is_no_numpy(monkeypatch):
    arrays = [np.arange(24).reshape(2, 3, 4), np.array([1.5, 2.5])]
    given = [encoded(array) for array in arrays]
    monkeypatch.setitem(sys.modules, "numpy", None)
    found = [served.decoded(array) for array in given]
    monkeypatch.undo()
    assert found == [array.tolist() for array in arrays]


def test_what_a_library_prints_is_no_answer(finding):
    one = finding("import os\ndef flawed(data):\n    print('x'); os.system('echo y'); return 7.0")
    assert drawn(one) == [7.0, 7.0, 7.0]


def test_calls_cannot_reach_each_others_data(finding):
    assert (
        drawn(finding("def flawed(data):\n    data.append(1)\n    return len(data)"), []) == [1] * 3
    )


def test_draws_follow_the_seed_and_differ(finding):
    one = finding(NOISY + "def flawed(data):\n    return noise()")
    with Library(one, FLAWED, 5.0) as library:
        first, again = (library([], np.random.default_rng(1), 4) for _ in range(2))
        other = library([], np.random.default_rng(2), 4)
    assert first == again
    assert len({*first, *other}) == 8


def test_exceptions_are_outputs_and_are_counted(finding):
    one = finding("def flawed(data):\n    return 1 / data")
    with Library(one, FLAWED, 5.0) as library:
        outputs = library(0, np.random.default_rng(0), 2)
        assert all(isinstance(output, Raised) for output in outputs)
        assert library.raised == {"ZeroDivisionError: division by zero": 2}
        assert library(2, np.random.default_rng(0), 1) == [0.5]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import time\ndef flawed(data):\n    time.sleep(60)", "no answer within"),
        ("import os\ndef flawed(data):\n    os._exit(1)", "died"),
        ("def prepare():\n    import no_such_library\ndef flawed(data): ...", "no_such_library"),
    ],
)
def test_a_library_that_hangs_dies_or_is_not_there_gives_no_verdict(
    finding, body, reason, monkeypatch
):
    one = finding(body)
    monkeypatch.setattr(libraries, "_START", 0.5)
    with pytest.raises(LostError, match=reason):
        drawn(one, seconds=0.5)
    monkeypatch.setattr(examining, "Library", lambda f, role, _: Library(f, role, 0.5))
    outcome = examine(one, FLAWED, seconds=1.0)
    assert outcome.word == FAILED
    assert not outcome.as_expected


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")
def test_a_library_dies_with_whoever_asked(finding):
    one = finding("import os\ndef flawed(data):\n    return os.getpid()")
    killed = f"""
import os, sys
import numpy as np
from audits.field import served
from audits.field.finding import read
from audits.field.library import Library
from audits.peers import environment

environment.python = lambda *_: sys.executable
library = Library(read(served.load({str(one.file)!r})), "flawed", 30.0)
print(int(library([], np.random.default_rng(0), 1)[0]), flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", killed], capture_output=True, text=True)
    assert done.returncode == -9
    place = Path("/proc") / done.stdout.strip()
    deadline = time.monotonic() + 10.0
    while place.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert done.stdout.strip().isdigit()
    assert not place.exists()


def test_a_flaw_is_refuted_and_its_twin_is_not(finding):
    body = "def flawed(data):\n    return data[0] + 0.2 * noise()\n"
    one = finding(NOISY + body + "def repaired(data):\n    return data[0] + noise()")
    flawed, repaired = (examine(one, role, seconds=4.0) for role in (FLAWED, REPAIRED))
    assert (flawed.word, repaired.word) == ("REFUTED", "NOT_REFUTED")
    assert flawed.as_expected
    assert repaired.as_expected
    assert flawed.epsilon_proved <= 5.0
    assert flawed.by_hunt
    assert Outcome.from_dictionary(flawed.as_dictionary()) == flawed


def test_what_cannot_be_installed_has_failed(finding, monkeypatch):
    def none(*_):
        raise InstallError("no such version")

    one = finding("def flawed(data):\n    return 1")
    monkeypatch.setattr(environment, "python", none)
    assert "no such version" in examine(one, FLAWED).reason


def test_a_run_goes_on_where_it_stopped(finding, tmp_path, monkeypatch):
    one = finding("def flawed(data):\n    return data[0]")
    path, asked = tmp_path / "record.json", []

    def known(which, role, **_):
        asked.append(role)
        return Outcome(
            finding=which.name, role=role, digest=which.digest, requirements=("made-up==1",),
            word="REFUTED", reason="", by_hunt=True, seed=0, confidence=0.999,
        )  # fmt: skip

    monkeypatch.setattr(records, "examine", known)
    for _ in range(2):
        Record(path).run([one], seconds=1.0, seed=0)
    assert asked == [FLAWED]
    assert "REFUTED" in table(Record(path).outcomes([one]))
    one.file.write_text(one.file.read_text().replace("add noise", "or do not") + "# a comment\n")
    assert len(Record(path).outcomes([one])) == 1
    other = Record(tmp_path / "other.json")
    other.take([Record(path)], [one])
    assert len(Record(other.path).outcomes([one])) == 1
    one.file.write_text(one.file.read_text() + "changed = 1\n")
    assert Record(path).outcomes([one]) == []
    Record(path).run([one], seconds=1.0, seed=0)
    assert asked == [FLAWED, FLAWED]
    other.take([], [one])
    assert '"made_up' not in other.path.read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"repair": "add noise",', ""), "lacks .'repair'"),
        (('"promise"', '"promis"'), "promis"),
        (('"relation": "REPLACE_ONE"', '"relation": "NONE"'), "relation"),
        (('"domain": {', '"pair": ([1], [2]), "domain": {'), "a domain or a pair"),
    ],
)
def test_a_finding_that_says_too_little_is_refused(finding, change, message):
    with pytest.raises(ValueError, match=message):
        finding("def flawed(data): ...", ABOUT.replace(*change))


def test_a_finding_draws_something(finding):
    with pytest.raises(ValueError, match="must draw"):
        finding("def repaired(data): ...")


def test_every_finding_pins_its_library_and_says_enough():
    for one in findings_by_name().values():
        for requirement in (*one.requirements, *one.alone, *one.repaired_requirements):
            assert "==" in requirement, one.name
        first = (one.alone or one.requirements)[0].split("==")[0].split("[")[0]
        assert first.lower() == one.library.lower(), one.name
        assert len(one.why) > 60, one.name
        assert one.promise, one.name


def test_names_and_libraries():
    everything = findings_by_name()
    name = next(iter(everything))
    assert named([name]) == [everything[name]]
    library = everything[name].library
    assert {one.library for one in named([library])} == {library}
    assert named([]) == list(everything.values())
    with pytest.raises(ValueError, match="NAME"):
        named(["no such finding"])


def test_the_record_is_what_was_expected():
    for one, outcome in Record(RECORD).outcomes(findings_by_name().values()):
        assert outcome.as_expected, (one.name, outcome.role, outcome.word)


def test_the_committed_pages_are_what_the_record_makes():
    found = Record(RECORD).outcomes(findings_by_name().values())
    made = {"field.md": pages.field_page(found), "disclosure.md": pages.disclosure_page(found)}
    for name, text in made.items():
        assert (pages.DOCS / name).read_text(encoding="utf-8") == text, name


def test_what_is_not_public_has_a_report_to_send_and_is_marked():
    found = Record(RECORD).outcomes(findings_by_name().values())
    text = pages.disclosure_page(found)
    for one, outcome in convicted(found):
        assert (f"`dp-assay field {one.name}`" in text) == (one.upstream is None), one.name
        assert one.flaw.rstrip(".") in pages.field_page([(one, outcome)])


@pytest.mark.slow
def test_a_light_library_is_convicted_again_and_its_neighbour_is_not(tmp_path):
    """Installed from the package index, where there is one to be reached."""
    for name, word in (("eeprivacy_vector_mean", "REFUTED"), ("eeprivacy_sum", "NOT_REFUTED")):
        (one,) = named([name])
        outcome = examine(one, one.roles[0], seconds=20.0, seed=1)
        if "not installed" in outcome.reason:
            pytest.skip(outcome.reason[:200])
        assert outcome.word == word, outcome.reason
        assert outcome.by_hunt
