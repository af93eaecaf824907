"""The ledger of claims: complete entries, words that follow from truth values, the record."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys

import pytest

from audits.papers import (
    CLAIMS,
    ClaimEntry,
    Finding,
    Standing,
    as_json,
    run_claims,
    thesis,
    tmlr,
    tum,
    workshop,
)
from audits.papers.checks import records
from audits.papers.ledger import (
    claim,
    decide,
    decide_against,
    decide_if,
    entries,
    index,
    untestable,
)
from audits.papers.studies import STUDIES

FAST = [name for name, entry in CLAIMS.items() if not entry.slow]


# --- the entries


def test_there_are_enough_and_of_every_paper():
    assert len(CLAIMS) >= 35
    papers = [entry.paper for entry in CLAIMS.values()]
    assert min(papers.count(p) for p in ("Workshop", "Thesis", "TMLR", "TUM")) >= 8


@pytest.mark.parametrize("name", CLAIMS)
def test_every_entry_is_complete(results, name):
    entry, finding = CLAIMS[name], results[name].finding
    assert entry.id == name
    assert re.search(r"\d|Appendix", entry.place), "no section, equation, table or figure"
    assert entry.statement.endswith(".")
    assert entry.doc.endswith((".", "?"))
    assert finding.figure
    assert finding.argument.endswith(".")
    assert bool(finding.condition) == (finding.verdict is not Standing.HOLDS)


def test_ids_are_unique():
    (entry,) = entries(_module_with_one_claim())
    with pytest.raises(ValueError, match="`id` must be unique, got 'tum-x' twice"):
        index([entry, entry])


def _module_with_one_claim():
    class Module:
        @claim(
            id="tum-x", paper="TUM", kind="mathematics", place="section 1", statement="One is two."
        )
        def check():
            """Compares them."""
            return decide(1 == 2, figure="1 and 2", argument="They differ.")

    return Module


def test_an_incomplete_entry_is_refused():
    def check():
        """Compares."""

    good = {"id": "tum-x", "paper": "TUM", "kind": "privacy", "place": "1"}
    good |= {"statement": "A.", "check": check}
    ClaimEntry(**good)
    for change, message in (
        ({"place": ""}, "`place` of tum-x"),
        ({"statement": ""}, "`statement` of tum-x"),
        ({"kind": "gossip"}, "`kind` must be one of"),
        ({"paper": "Nobody"}, "`paper` must be one of"),
        ({"id": "thesis-x"}, "`id` must start with"),
        ({"check": lambda: None}, "must have a docstring"),
    ):
        with pytest.raises(ValueError, match=message):
            ClaimEntry(**(good | change))


def test_an_incomplete_finding_is_refused():
    with pytest.raises(ValueError, match="`figure` and `argument`"):
        Finding(verdict=Standing.HOLDS, figure="", argument="a")
    for verdict in (Standing.HOLDS_IF, Standing.REFUTED, Standing.NOT_TESTABLE):
        with pytest.raises(ValueError, match="`condition` must be given"):
            Finding(verdict=verdict, figure="1", argument="a")
    with pytest.raises(ValueError, match="`condition` must be given unless"):
        Finding(verdict=Standing.HOLDS, figure="1", argument="a", condition="b")


# --- the words follow from truth values


def test_the_words():
    rest = {"figure": "1", "argument": "a"}
    assert decide(True, **rest).verdict is Standing.HOLDS
    assert decide(False, **rest).verdict is Standing.REFUTED
    words = {
        (w, o): decide_if(condition="c", with_condition=w, without=o, **rest).verdict
        for w in (True, False)
        for o in (True, False)
    }
    assert words == {
        (True, True): Standing.HOLDS,
        (True, False): Standing.HOLDS_IF,
        (False, True): Standing.REFUTED,
        (False, False): Standing.REFUTED,
    }
    for as_stated, under, condition in (
        (False, True, "r"),
        (False, False, "no known reading: the obvious one fails as well"),
        (True, True, ""),
    ):
        found = decide_against(stated=as_stated, reading="r", under_reading=under, **rest)
        assert found.condition == condition
        assert (found.verdict is Standing.HOLDS) == as_stated
    assert untestable(reason="r", argument="a").verdict is Standing.NOT_TESTABLE


@pytest.mark.parametrize("name", CLAIMS)
def test_no_check_writes_its_verdict_down(name):
    source = inspect.getsource(CLAIMS[name].check)
    assert "Standing" not in source
    literal = r"(stated|under_reading|with_condition|without)=(True|False)|decide\(\s*(True|False)"
    assert not re.search(literal, source)


@pytest.mark.parametrize("name", FAST)
def test_fast_checks_find_what_is_recorded(results, name):
    record = records()["claims"][name]
    finding = results[name].finding
    assert finding.verdict.name == record["verdict"]
    assert [(n.label, n.role) for n in finding.numbers] == [
        (row["label"], row["role"]) for row in record["numbers"]
    ]
    assert not results[name].recorded


def test_every_refutation_names_the_reading_that_holds(results):
    refuted = [r.finding for r in results.values() if r.finding.verdict is Standing.REFUTED]
    assert len(refuted) >= 15
    assert not [f.condition for f in refuted if f.condition.startswith("no known reading")]


def test_slow_checks_are_answered_from_the_record(results):
    slow = [name for name, entry in CLAIMS.items() if entry.slow]
    assert slow
    for name in slow:
        assert results[name].recorded
        record = records()["claims"][name]
        assert results[name].finding.figure == record["figure"]
        assert {"versions", "command", "seconds", "seed"} <= record.keys()


# --- front door


def test_json_shape(results):
    made = as_json(results.values())
    assert json.loads(json.dumps(made)) == made
    assert list(made) == ["claims"]
    wanted = {"id", "paper", "place", "statement", "verdict", "figure", "argument", "condition"}
    wanted |= {"check", "numbers"}
    for row in made["claims"]:
        assert wanted <= row.keys()
        assert row["verdict"] in Standing.__members__


def test_some_claims_by_name():
    found = run_claims(["workshop-kappa", "tum-trade-off"])
    assert [r.entry.id for r in found] == ["workshop-kappa", "tum-trade-off"]
    with pytest.raises(KeyError, match=r"no claims \['nonsense'\]"):
        run_claims(["nonsense"])


@pytest.mark.parametrize("module", ["audits", "audits.papers", "audits.papers.plots"])
def test_importing_is_light_and_checks_nothing(module):
    code = (
        f"import sys, {module}; print([m for m in ('torch', 'matplotlib') if m in sys.modules], "
        "'audits.papers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"[] {module != 'audits'}"


def modules_after(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_ledger_needs_no_study():
    loaded = modules_after("import audits.papers")
    assert not [name for name in loaded if name.startswith(tuple(STUDIES.values()))]


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_needs_no_other_study_and_draws_nothing_yet(name):
    loaded = modules_after(f"import {STUDIES[name]}")
    others = tuple(module for other, module in STUDIES.items() if other != name)
    assert STUDIES[name] in loaded
    assert not [module for module in loaded if module.startswith(others)]
    assert not {"torch", "matplotlib"} & set(loaded)


@pytest.mark.parametrize("room", [workshop, thesis, tmlr, tum], ids=lambda room: room.__name__)
def test_a_room_names_all_modules_with_statements(room):
    """A claim in a module that `STATEMENTS` lacks would never be checked."""
    names = [module.name for module in pkgutil.iter_modules(room.__path__) if not module.ispkg]
    modules = [importlib.import_module(f"{room.__name__}.{name}") for name in names]
    assert {m for m in modules if entries(m)} == set(room.STATEMENTS)
    assert all(f"`{module.__name__.rsplit('.')[-1]}`" in room.__doc__ for module in modules)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, e in CLAIMS.items() if e.slow])
def test_slow_checks_find_what_is_recorded(name):
    from pvi.data import DataUnavailableError

    try:
        (result,) = run_claims([name], include_slow=True)
    except DataUnavailableError as error:
        pytest.skip(f"needs the real UCI Adult files: {error}")
    assert not result.recorded
    assert result.finding.verdict.name == records()["claims"][name]["verdict"]
