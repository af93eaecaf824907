"""Documented attributes exist, and the documented classes leave no field out."""

import ast
import re
from pathlib import Path

import pytest

import accountants

ROOT = Path(accountants.__file__).parents[1]
PACKAGES = ("accountants", "audits", "mechanisms", "pvi")


def documented(docstring: str, heading: str) -> list[str]:
    """The names under a heading; "a, b: …" names two."""
    lines = docstring.split(f"{heading}:\n", 1)[1].split("\n\n", 1)[0].splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    entries = (re.match(rf" {{{indent}}}(\w[\w, ]*):", line) for line in lines)
    return [name for entry in entries if entry for name in entry[1].split(", ")]


def fields(body: ast.ClassDef) -> set[str]:
    """Annotated names of the class's body that can be given to it; private ones are its own."""
    return {
        line.target.id
        for line in body.body
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and not line.target.id.startswith("_")
        and "init=False" not in ast.unparse(line)
        and "ClassVar" not in ast.unparse(line.annotation)
    }


def assigned(body: ast.ClassDef) -> set[str]:
    """Names that its methods set on `self`, and its properties."""
    named = {
        node.attr
        for node in ast.walk(body)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) == "self"
    }
    return named | {
        line.name for line in body.body if isinstance(line, ast.FunctionDef) and line.decorator_list
    }


CLASSES = [
    pytest.param(node, id=f"{file.relative_to(ROOT)}:{node.name}")
    for package in PACKAGES
    for file in sorted((ROOT / package).rglob("*.py"))
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef) and "Attributes:\n" in (ast.get_docstring(node) or "")
]


def test_there_are_such_classes():
    assert len(CLASSES) >= 100


@pytest.mark.parametrize("node", CLASSES)
def test_documented_attributes_are_the_fields(node):
    docstring = ast.get_docstring(node)
    names = documented(docstring, "Attributes")
    assert len(set(names)) == len(names) > 0
    assert set(names) <= fields(node) | assigned(node)
    arguments = documented(docstring, "Args") if "Args:\n" in docstring else []
    assert fields(node) <= {*names, *arguments}
