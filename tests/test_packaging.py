"""What is installed, and what importing it costs."""

import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("accountants", "audits", "mechanisms", "pvi", "pytest_dp_assay")


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
    assert [s.value for s in scripts if s.name == "dp-assay"] == ["audits.cli.main:main"]


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
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert all(f"{package}/py.typed" in names for package in PACKAGES)
    assert not any("test" in Path(name).name for name in names)
