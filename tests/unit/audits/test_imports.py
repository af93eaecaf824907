"""What `import audits` must not load."""

import subprocess
import sys


def test_import_loads_nothing_heavy():
    code = (
        "import sys, audits; "
        "print([m for m in ('torch', 'matplotlib', 'hypothesis', 'distributed', 'dask')"
        " if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_public_names_exist():
    import audits

    assert all(hasattr(audits, name) for name in audits.__all__)
