"""`dp-assay audit`: a user's own file, in this process and from outside.

All seeds are fixed; a twin that keeps its claim is audited at confidence 1 − 1e-6 or above, so that
a change of seed alone would raise a false alarm with at most that probability.
"""

import json
import re
import subprocess
import sys

import dp_accounting as dpa
import numpy as np
import pytest

from audits import EventClaim, Pair, Verdict, Word, audit
from audits.cli.main import main

USER_CODE = """
import os
import numpy as np
from audits import GaussianClaim, Pair

PAIR = ([0.0, 1.0], [0.0])
NAMED = Pair([1.0], [], "a lone record")
NOT_A_PAIR = 3
CLAIM = GaussianClaim(1.0)
print("printed on import")

def too_little_noise(data, rng):
    return sum(data) + rng.normal(scale=0.7)

def repaired(data, rng, n, scale=1.0):
    return sum(data) + rng.normal(scale=scale, size=n)

def leaves_traces(data, rng):
    data[0] += 1.0
    return sum(data) - 1.0 + rng.normal()

def pair_of_arrays():
    return np.ones(3), np.ones(2)

def fails(data, rng, n):
    return {}["missing"]

def gives_one(data, rng, n):
    return 1.0

def takes_four(a, b, c, d):
    return a

def forgets_to_return(data, rng):
    sum(data) + rng.normal()

def words(data, rng, n):
    return ["yes"] * n

def not_a_batch(data, rng, n):
    return type("Odd", (), {"__len__": lambda self: n})()

def size_tells(data, rng):
    return rng.normal(size=len(data))

def leaves(data, rng):
    raise SystemExit(7)

def ends_the_process(data, rng):
    os._exit(0)

def gives_up(data, rng):
    raise BaseException("enough")

class Leaving:
    def __len__(self):
        raise SystemExit(0)

def leaves_unseen(data, rng, n):
    return Leaving()

def leaving_pair():
    raise SystemExit(0)

def keyword_only(data, *, rng):
    return 0.0

def hidden_in_the_imaginary_part(data, rng, n):
    return rng.normal(size=n) + 1j * sum(data)

def not_a_number(data, rng, n):
    return np.full(n, np.nan)
"""
CLAIMED = ["--noise-multiplier", "1"]
SURE = ["--confidence", "0.999999", "--max-samples", "2e3"]


@pytest.fixture
def user_file(tmp_path):
    """A file of the user's; every test has its own, since modules are loaded once."""
    file = tmp_path / "my_file.py"
    file.write_text(USER_CODE, encoding="utf-8")
    return file


def test_a_flaw_in_the_users_own_file_from_the_command_line(user_file):
    command = [sys.executable, "-m", "audits", "audit"]
    done = subprocess.run(
        [*command, "my_file.py:too_little_noise", *CLAIMED],
        cwd=user_file.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    evidence = (
        "REFUTED",
        "draws per side",
        "my_file.py:PAIR",
        "looking at the output itself",
        "ε ≥ ",
        "confidence 99%",
    )
    assert all(words in done.stdout for words in evidence)
    assert "printed on import" not in done.stdout
    done = subprocess.run(
        [*command, "my_file.py:repaired", *CLAIMED, *SURE],
        cwd=user_file.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("NOT REFUTED")
    assert not any(word in done.stdout.lower() for word in ("passed", "safe", " private"))


def test_a_module_by_its_name(user_file):
    done = subprocess.run(
        [sys.executable, "-m", "audits", "audit", "my_file:too_little_noise", *CLAIMED],
        cwd=user_file.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr


def test_json_is_a_verdict(user_file, capsys):
    assert main(["audit", f"{user_file}:too_little_noise", *CLAIMED, "--json"]) == 1
    verdict = Verdict.from_json(capsys.readouterr().out)
    assert verdict.word is Word.REFUTED
    assert verdict.evidence.samples < 2_000


def test_the_number_of_workers_changes_nothing(user_file, capsys):
    found = []
    for workers in ("1", "2"):
        command = ["audit", f"{user_file}:repaired", *CLAIMED, *SURE, "--workers", workers]
        assert main([*command, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


def test_the_files_own_claim_and_another_pair(user_file, capsys):
    target = f"{user_file}:too_little_noise"
    assert main(["audit", target, "--pair", "NAMED"]) == 1
    out = capsys.readouterr().out
    assert "1-Gaussian differential privacy" in out
    assert "a lone record" in out
    assert main(["audit", target, "--pair", f"{user_file}:pair_of_arrays"]) == 1


@pytest.mark.parametrize("claim", [["--mu", "1"], ["--rho", "0.5"], ["--epsilon", "0.2"]])
def test_other_forms_of_a_claim(user_file, capsys, claim):
    """N(0) against N(1) at σ = 0.7: no pure ε, μ = 1.43, ρ = 1.02."""
    assert main(["audit", f"{user_file}:too_little_noise", *claim]) == 1
    assert "REFUTED" in capsys.readouterr().out


def test_a_point_is_called_weak(user_file, capsys):
    claim = ["--epsilon", "5", "--delta", "1e-5", "--max-samples", "500"]
    assert main(["audit", f"{user_file}:repaired", *claim]) == 0
    out = capsys.readouterr().out
    assert out.startswith("INCONCLUSIVE")
    assert "weak claim" in out


def test_the_evidence_is_named_beside_the_claim(user_file, capsys):
    """ε = 4.3772 at δ = 1e-5 for μ = 1 (Balle and Wang 2018, Theorem 8)."""
    assert main(["audit", f"{user_file}:too_little_noise", *CLAIMED]) == 1
    out = capsys.readouterr().out
    first, details = out.splitlines()[:2]
    assert re.fullmatch(
        r"REFUTED: odds of \d+ to 1 against the claim after \d+ draws per side\.", first
    )
    assert "less than the claimed 4.38 takes nothing from the verdict" in details
    assert "ε ≤ 4.38 at δ = 1e-05" in out
    assert re.search(r"bound of ε +ε ≥ .*, weaker than the verdict", out)


def test_the_seed_given_is_the_seed_shown(user_file, capsys):
    for pair in ([], ["--pair", "NAMED"]):
        command = ["audit", f"{user_file}:too_little_noise", *CLAIMED, "--seed", "3", *pair]
        assert main(command) == 1
        assert re.search(r"\n  seed +3\n", capsys.readouterr().out)
        assert main([*command, "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["evidence"]["seed"] == 3


def test_a_point_that_takes_too_many_draws_is_said_before_the_first(user_file, capsys):
    point = ["--epsilon", "4.377", "--delta", "1e-5", "--max-samples", "100"]
    assert main(["audit", f"{user_file}:repaired", *point]) == 0
    captured = capsys.readouterr()
    assert "it can only end REFUTED or INCONCLUSIVE" in captured.err
    assert "As a claim of μ = " in captured.err
    assert captured.out.startswith("INCONCLUSIVE: 100 draws per side cannot tell")


def test_one_at_a_time_on_the_command_line_is_as_isolated_as_in_python(user_file, capsys):
    """Each call has data of its own: what one leaves behind is not in the next one's."""
    command = ["audit", f"{user_file}:leaves_traces", *CLAIMED, *SURE, "--json"]
    assert main(command) == 0
    shown = Verdict.from_json(capsys.readouterr().out)

    def leaves_traces(data, rng):
        data[0] += 1.0
        return sum(data) - 1.0 + rng.normal()

    pair = Pair([0.0, 1.0], [0.0], shown.evidence.pair)
    alone = audit(
        leaves_traces,
        pair,
        EventClaim(dpa.GaussianDpEvent(1.0)),
        confidence=0.999999,
        max_samples=2000,
        rng=np.random.default_rng(0),
    )
    assert shown == alone.seeded_by(0)


def test_the_imaginary_part_is_looked_at(user_file, capsys):
    assert main(["audit", f"{user_file}:hidden_in_the_imaginary_part", *CLAIMED]) == 1
    assert "REFUTED" in capsys.readouterr().out


def test_silence_of_a_broken_mechanism_is_remarked_upon(user_file, capsys):
    command = ["audit", f"{user_file}:not_a_number", *CLAIMED, "--max-samples", "500"]
    assert main(command) == 0
    assert "All outputs were the same" in capsys.readouterr().out


def test_steps_and_sampling_make_an_event(user_file, capsys):
    event = [*CLAIMED, "--sampling-rate", "0.5", "--steps", "4", "--max-samples", "50"]
    assert main(["audit", f"{user_file}:repaired", *event, "--json"]) == 0
    claim = json.loads(capsys.readouterr().out)["claim"]
    assert claim["event"]["type"] == "SelfComposedDpEvent"


def test_without_a_pair_it_hunts(tmp_path, capsys):
    file = tmp_path / "unclipped.py"
    file.write_text(
        "import numpy as np\n"
        "def mechanism(data, rng, n):\n"
        "    return np.nansum(data) + rng.normal(size=n)\n"
    )
    assert main(["audit", f"{file}:mechanism", *CLAIMED, "--delta", "1e-6"]) == 1
    captured = capsys.readouterr()
    assert "hunting" in captured.err
    assert "a record" in captured.out
    assert "δ = 1e-06" in captured.out


def test_a_hunt_that_fails_everywhere_says_what_it_tried(tmp_path, capsys):
    file = tmp_path / "other_data.py"
    file.write_text("def f(data, rng, n): return [data['x']] * n")
    assert main(["audit", f"{file}:f", *CLAIMED]) == 3
    err = capsys.readouterr().err
    assert "IndexError" in err
    assert "arrays of shape (records, dimension); give PAIR or --pair" in err


@pytest.mark.parametrize(("name", "code"), [("words", 0), ("size_tells", 1)])
def test_outputs_of_any_kind_are_looked_at(user_file, capsys, name, code):
    assert main(["audit", f"{user_file}:{name}", *CLAIMED]) == code


def test_the_evidence_is_drawn(user_file, tmp_path, capsys):
    picture = tmp_path / "evidence.svg"
    assert main(["audit", f"{user_file}:too_little_noise", "--plot", str(picture)]) == 1
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize(
    ("name", "more", "named"),
    [
        ("gives_one", CLAIMED, "must return n = "),
        ("takes_four", CLAIMED, "(data, rng, n) or (data, rng)"),
        ("PAIR", CLAIMED, "must be a function"),
        ("absent", CLAIMED, "must define 'absent'"),
        ("too_litle_noise", CLAIMED, "Did you mean 'too_little_noise'?"),
        ("forgets_to_return", CLAIMED, "must return its outputs, as a list or an array, got None"),
        ("not_a_batch", CLAIMED, "must return its outputs"),
        ("keyword_only", CLAIMED, "got (data, *, rng)."),
        ("repaired", ["--epsilon", "1", "--steps", "9"], "`--steps` must be left out unless"),
        ("repaired", ["--mu", "1", "--sampling-rate", "0.1"], "`--sampling-rate` must be left"),
        ("repaired", ["--steps", "9"], "got CLAIM in "),
        ("repaired", [*CLAIMED, "--plot", "/dev/null/x.png"], "`--plot` must be a file that can"),
        ("repaired", ["--pair", "NOT_A_PAIR"], "must be two data sets"),
        ("repaired", ["--pair", "absent"], "must define 'absent'"),
        ("repaired", ["--mu", "1", "--rho", "1"], "--mu, --rho"),
        ("repaired", ["--mu", "-1"], "--mu"),
        ("repaired", ["--rho", "inf"], "--rho"),
        ("repaired", ["--epsilon", "nan"], "--epsilon"),
        ("repaired", ["--epsilon", "1", "--delta", "0"], "--delta"),
        ("repaired", ["--noise-multiplier", "0"], "--noise-multiplier"),
        ("repaired", [*CLAIMED, "--sampling", "shuffled", "--sampling-rate", "0.1"], "shuffled"),
        ("repaired", ["--confidence", "1"], "--confidence"),
        ("repaired", ["--max-samples", "0"], "--max-samples"),
        ("repaired", ["--max-samples", "inf"], "--max-samples"),
        ("repaired", ["--seed", "-1"], "--seed"),
        ("repaired", ["--workers", "0"], "--workers"),
        ("repaired", ["--chunk-size", "0"], "--chunk-size"),
        ("repaired", ["--seconds", "0"], "--seconds"),
        ("repaired", ["--max-samples", "50", "--plot", "x.nonsense"], "--plot"),
    ],
)
def test_bad_input_ends_with_code_2_and_one_sentence(user_file, capsys, name, more, named):
    assert main(["audit", f"{user_file}:{name}", *more]) == 2
    captured = capsys.readouterr()
    assert named in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("fails", "KeyError: 'missing' (my_file.py, line "),
        ("leaves", "failed: SystemExit: 7 (my_file.py, line "),
        ("leaves_unseen", "SystemExit: 0 (my_file.py, line "),
        ("gives_up", "BaseException: enough (my_file.py, line "),
        ("repaired --pair leaving_pair", "`leaving_pair` failed: SystemExit: 0 (my_file.py, line "),
    ],
)
def test_a_crash_of_the_audited_code_is_no_verdict_and_no_bad_input(user_file, capsys, name, named):
    target, *more = name.split()
    assert main(["audit", f"{user_file}:{target}", *CLAIMED, *more]) == 3
    captured = capsys.readouterr()
    assert named in captured.err.replace(f"{user_file}:", "")
    assert captured.err.splitlines()[-1].startswith("dp-assay: ")
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_whoever_wants_the_traceback_gets_it(user_file, capsys, monkeypatch):
    monkeypatch.setenv("DP_ASSAY_TRACEBACK", "1")
    assert main(["audit", f"{user_file}:fails", *CLAIMED]) == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.slow
def test_a_worker_that_the_audited_code_ends_is_a_crash(user_file, capsys):
    assert main(["audit", f"{user_file}:ends_the_process", *CLAIMED, "--workers", "2"]) == 3
    captured = capsys.readouterr()
    assert "lost with their workers" in captured.err
    assert captured.out == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_answer_without_the_file(user_file, capsys):
    """The workers get the function by value: what is in the file is theirs, wherever they run."""
    distributed = pytest.importorskip("distributed")
    command = ["audit", f"{user_file}:too_little_noise", *CLAIMED, "--json"]
    assert main(command) == 1
    alone = capsys.readouterr().out
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        assert main([*command, "--cluster", cluster.scheduler_address]) == 1
    captured = capsys.readouterr()
    assert captured.out == alone
    assert "2 workers" in captured.err


def test_a_cluster_that_is_none(user_file, capsys):
    pytest.importorskip("distributed")
    assert main(["audit", f"{user_file}:repaired", *CLAIMED, "--cluster", "nonsense://1"]) == 2
    assert "`--cluster` must be the address of a dask scheduler" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "named", "code"),
    [
        ("import sys; sys.exit(3)", "SystemExit", 3),
        ("import sys; sys.exit(0)", "SystemExit", 3),
        ("1 / 0", "ZeroDivisionError", 3),
        ("import no_such_module_either", "no_such_module_either", 3),
        ("def f(:", "SyntaxError", 2),
        ("\0", "null bytes", 2),
        ("def f(data, rng): return 0.0", "a claim must be given", 2),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, capsys, content, named, code):
    file = tmp_path / "broken.py"
    file.write_text(content)
    assert main(["audit", f"{file}:f"]) == code
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("target", ["no_such_file.py:f", "no_such_module:f", "f", "my_file.py:"])
def test_a_target_that_is_none(capsys, target):
    assert main(["audit", target, *CLAIMED]) == 2
    assert capsys.readouterr().err.count("\n") == 1
