"""The map of the Fourier accountant: what it names exists, and no module is left out."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ACCOUNTANTS = ROOT / "accountants"
MAP = (ACCOUNTANTS / "fourier" / "DERIVATION.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", MAP)


def defined(file: Path) -> set[str]:
    """Functions, classes, methods as Class.method, and module constants."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (line for line in node.body if isinstance(line, ast.FunctionDef))
            names |= {f"{node.name}.{method.name}" for method in methods}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def home(path: str) -> Path:
    return ROOT / path if path.startswith("tests/") else ACCOUNTANTS / path


def test_what_the_map_names_exists():
    assert len(NAMED) > 50
    assert [path for path, _ in NAMED if not home(path).is_file()] == []
    missing = [(path, name) for path, name in NAMED if name and name not in defined(home(path))]
    assert missing == []


def test_folders_that_the_map_names_exist():
    folders = re.findall(r"`(tests/[\w/]+/)`", MAP)
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_every_module_of_the_fourier_accountant_is_on_the_map():
    modules = {
        file.relative_to(ACCOUNTANTS).as_posix()
        for file in (ACCOUNTANTS / "fourier").rglob("*.py")
        if file.name != "__init__.py"
    }
    assert modules - {path for path, _ in NAMED} == set()
