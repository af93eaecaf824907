"""What is installed, and what importing it costs."""

import importlib.metadata
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("accountants", "audits", "mechanisms", "pvi")


def run_python(code: str) -> str:
    """Standard output of a fresh interpreter, outside of the checkout."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.anchor
    )
    return done.stdout.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_comes_from_this_distribution(package):
    """PyPI has an unrelated `pvi`; a stray install must not shadow ours."""
    origin = Path(run_python(f"import {package}; print({package}.__file__)")).resolve()
    assert origin == ROOT / package / "__init__.py"
    providers = importlib.metadata.packages_distributions().get(package, [])
    assert set(providers) <= {"dp-assay"}
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize("package", ["accountants", "audits"])
def test_importing_loads_neither_torch_nor_matplotlib(package):
    heavy = run_python(
        f"import sys, {package}; print([m for m in ('torch', 'matplotlib') if m in sys.modules])"
    )
    assert heavy == "[]"


def test_importing_pvi_does_not_load_torch():
    assert run_python("import sys, pvi; print('torch' in sys.modules)") == "False"


def test_the_command_is_installed():
    scripts = importlib.metadata.distribution("dp-assay").entry_points
    assert [s.value for s in scripts if s.name == "dp-assay"] == ["dp_assay:main"]


SETTING = [
    "--noise-multiplier",
    "1",
    "--sampling-rate",
    "0.01",
    "--steps",
    "100",
    "--delta",
    "1e-5",
]


def command_then(arguments: list[str], code: str) -> str:
    """What the command prints in a fresh interpreter, and then what `code` does."""
    return run_python(f"import sys, dp_assay\nsys.argv[1:] = {arguments}\ndp_assay.main()\n{code}")


def test_the_command_does_not_wait_for_what_it_does_not_use():
    parts = ("scipy.stats._stats_py", "scipy.signal._signaltools")
    code = f"print([part for part in {parts} if part in sys.modules])"
    assert command_then(["epsilon", *SETTING], code).endswith("[]")


def test_what_the_command_put_off_is_there_when_it_is_wanted():
    """dp-accounting's PLD accountant uses both modules; answers as without the stand-ins."""
    started, plain = (
        json.loads(text)["accountants"]
        for text in (
            command_then(["crosscheck", *SETTING, "--json"], ""),
            run_python(f"from audits.cli import main; main({['crosscheck', *SETTING, '--json']})"),
        )
    )
    assert "dp-accounting PLD" in [row["name"] for row in started]
    assert not [row for row in started if row["upper"] is None]
    for one, other in zip(started, plain, strict=True):
        assert (one["lower"], one["upper"]) == (other["lower"], other["upper"])


def test_stand_ins_become_the_modules():
    code = """
import sys, dp_assay
dp_assay._put_off()
import scipy.stats
from scipy import signal, stats
print(stats.norm.cdf(0.0), stats.norm(1.0).mean(), signal.convolve([1, 2], [3])[1])
print([hasattr(sys.modules[module.__name__], "__file__") for module in (signal, stats)])
"""
    assert run_python(code).splitlines() == ["0.5 1.0 6", "[True, True]"]


def test_the_core_does_not_require_torch():
    required = importlib.metadata.requires("dp-assay") or []
    core = [line for line in required if "extra ==" not in line]
    assert core
    assert not any(line.startswith(("torch", "matplotlib", "prv")) for line in core)


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_no_tests(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert set(PACKAGES) <= tops
    assert {top for top in tops if not top.endswith(".dist-info")} == {*PACKAGES, "dp_assay.py"}
    assert all(f"{package}/py.typed" in names for package in PACKAGES)
    assert not any("test" in Path(name).name for name in names)
