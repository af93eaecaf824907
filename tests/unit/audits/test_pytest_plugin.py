"""The plugin in suites of other projects, each run by pytest's own `pytester`.

Sound mechanisms fail with probability 1e-6, by the plugin's default, and their seeds are fixed.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import audits  # noqa: F401  (numpy loads once per process, and pytester would forget it)

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]

SUITE = """
import numpy as np
import pytest

def noisy_count(data, rng):
    return len(data) + rng.laplace()

def noisy_counts(data, rng, n):
    return len(data) + rng.laplace(scale=0.5, size=n)

@pytest.mark.dp_claim(epsilon=1.0, max_samples=400)
def test_sound(dp_audit):
    verdict = dp_audit(noisy_count, pair=([0, 0], [0]))
    assert verdict.word.value == "NOT_REFUTED"
    assert verdict.evidence.seed == dp_audit.seed
    print("seed", dp_audit.seed)

@pytest.mark.dp_claim(epsilon=1.0)
def test_flawed(dp_audit):
    dp_audit(noisy_counts, pair=([0, 0], [0]))
"""


def run(pytester, *options):
    return pytester.runpytest_inprocess("-p", "pytest_dp_assay", "-p", "no:cacheprovider", *options)


def test_a_false_claim_fails_the_test_in_the_verdicts_words(pytester):
    pytester.makepyfile(test_counts=SUITE)
    result = run(pytester, "-rA")
    result.assert_outcomes(passed=1, failed=1)
    out = result.stdout.str()
    assert re.search(
        r"E .*AuditFailedError: REFUTED: odds of [\w, ]+ to 1 against the claim after [\d,]+", out
    )
    assert "The claim of pure ε = 1 differential privacy is false" in out
    assert "assert_private(" not in out  # none of our own frames
    summary = out[out.index("= dp-assay =") :]
    assert "test_counts.py::test_sound: NOT REFUTED: 400 draws per side" in summary
    assert "test_counts.py::test_flawed: REFUTED: odds of" in summary
    seed = int.from_bytes(hashlib.sha256(b"test_counts.py::test_sound").digest()[:8], "big") >> 1
    assert f"seed {seed}" in out


def test_a_test_draws_the_same_alone_and_among_others(pytester):
    pytester.makepyfile(test_counts=SUITE)
    flawed = [
        re.search(r"test_flawed: (REFUTED.*)", run(pytester, *options).stdout.str())[1]
        for options in ([], ["-k", "flawed"], ["--dp-seed", "3"])
    ]
    assert flawed[0] == flawed[1]
    assert flawed[0] != flawed[2]


def test_limits_from_the_call_the_marker_the_command_line_and_the_ini_file(pytester):
    pytester.makeini("[pytest]\ndp_max_samples = 40\ndp_confidence = 0.9\n")
    pytester.makepyfile(
        test_limits="""
        import pytest
        from audits import GaussianClaim

        def noisy(data, rng):
            return data + rng.normal()

        def used(dp_audit, **options):
            options = {"require_conclusive": False, **options}
            found = dp_audit(noisy, GaussianClaim(1.0), pair=(0.0, 0.0), **options)
            return found.evidence.samples, found.evidence.confidence

        def test_without_a_marker(dp_audit):
            assert used(dp_audit) == (40, 0.9)
            assert used(dp_audit, max_samples=20, confidence=0.95) == (20, 0.95)
            assert len(dp_audit.verdicts) == 2

        @pytest.mark.dp_claim(mu=1.0, max_samples=30)
        def test_with_a_marker(dp_audit):
            assert used(dp_audit) == (30, 0.9)
        """
    )
    run(pytester).assert_outcomes(passed=2)
    text = pytester.path / "test_limits.py"
    text.write_text(text.read_text().replace("(40, 0.9)", "(50, 0.9)"))
    run(pytester, "--dp-max-samples", "50").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "claim"),
    [
        ("epsilon=1.0", "PointClaim(1.0)"),
        ("epsilon=1.0, delta=1e-5", "PointClaim(1.0, 1e-5)"),
        ("mu=0.5, relation='REPLACE_ONE'", "GaussianClaim(0.5, relation=REPLACE)"),
        ("rho=0.5", "ZeroConcentratedClaim(0.5)"),
        ("noise_multiplier=2.0", "EventClaim(dpa.GaussianDpEvent(2.0))"),
        (
            "noise_multiplier=2.0, sampling_rate=0.1, steps=3",
            "EventClaim(dpa.SelfComposedDpEvent("
            "dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(2.0)), 3))",
        ),
        ("PointClaim(2.0)", "PointClaim(2.0)"),
        ("claim=PointClaim(2.0)", "PointClaim(2.0)"),
    ],
)
def test_the_forms_of_a_claim(pytester, marker, claim):
    pytester.makepyfile(
        f"""
        import dp_accounting as dpa
        import pytest
        from audits import *

        REPLACE = dpa.NeighboringRelation.REPLACE_ONE

        @pytest.mark.dp_claim({marker})
        def test_claim(dp_audit):
            assert dp_audit.claim == {claim}
        """
    )
    run(pytester, "--strict-markers").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "named"),
    [
        ("", "`claim` must be given to `dp_audit`"),
        ("@pytest.mark.dp_claim(epsilon=1.0, mu=1.0)", "must state one of"),
        ("@pytest.mark.dp_claim(delta=1.0)", "must state one of"),
        ("@pytest.mark.dp_claim(mu=1.0, delta=1.0)", "must have only"),
        ("@pytest.mark.dp_claim(mu=1.0, relation='NEXT')", "`relation` must be one of"),
        ("@pytest.mark.dp_claim(epsilon=-1.0)", "`epsilon` must be"),
    ],
)
def test_a_marker_that_says_too_little_or_too_much(pytester, marker, named):
    pytester.makepyfile(
        f"""
        import pytest

        {marker}
        def test_claim(dp_audit):
            dp_audit(lambda data, rng: rng.normal(), pair=(0, 1))
        """
    )
    result = run(pytester)
    assert result.ret == 1
    assert named in result.stdout.str()


def test_the_page_on_it_says_what_works(pytester):
    page = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    pytester.makepyfile(test_privacy=block)
    run(pytester, "--dp-max-samples", "2000").assert_outcomes(passed=1)
    options = run(pytester, "--help").stdout.str()
    for name in re.findall(r"(?:`|pytest [^`]*)(--dp-[a-z-]+)", page):
        assert name in options
    action = (ROOT / "docs" / "dp_audits.yml").read_text(encoding="utf-8")
    used = re.findall(r"--dp-[a-z-]+", action)
    assert len(used) == 3
    assert all(name in options for name in used)


def test_it_costs_a_suite_nothing_that_does_not_use_it(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_loaded():
            heavy = ("audits", "accountants", "dp_accounting", "torch", "matplotlib", "scipy")
            assert not [name for name in heavy if name in sys.modules]
        """
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "pytest_dp_assay", "-p", "no:cacheprovider"],
        cwd=pytester.path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "= dp-assay =" not in done.stdout
