"""`import pvi` is light, and knows nothing of privacy."""

import re
import subprocess
import sys
from pathlib import Path

import pvi


def test_importing_pvi_loads_neither_torch_nor_the_layers_above():
    heavy = ("torch", "matplotlib", "dp_accounting", "accountants", "mechanisms", "audits")
    code = f"import sys, pvi; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_torch_is_imported_by_one_module_only():
    root = Path(pvi.__file__).parent
    importers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"^\s*(import|from) torch", path.read_text(), re.MULTILINE)
    }
    assert importers == {"models/bnn.py"}


def test_public_names_exist_and_are_sorted():
    assert len(set(pvi.__all__)) == len(pvi.__all__) > 40
    assert all(hasattr(pvi, name) for name in pvi.__all__)
