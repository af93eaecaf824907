"""The zoo of flaws: differential-privacy mistakes, each beside its repair.

Every module in `flaws/` is a flaw: it defines `SPECIMENS`, `LINTS` or both and is found by itself,
so a new specimen is one new file.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from audits.specimens import flaws
from audits.specimens.examine import Examination, as_json, examine, run_zoo
from audits.specimens.lint import Lint, LintResult
from audits.specimens.specimen import CAUGHT, HARMLESS, Expected, Specimen, Witness

__all__ = [
    "CAUGHT",
    "HARMLESS",
    "LINTS",
    "SPECIMENS",
    "Examination",
    "Expected",
    "Lint",
    "LintResult",
    "Specimen",
    "Witness",
    "as_json",
    "examine",
    "run_zoo",
]


def _members(attribute: str) -> Iterator[Any]:
    for module in sorted(found.name for found in pkgutil.iter_modules(flaws.__path__)):
        loaded = importlib.import_module(f"{flaws.__name__}.{module}")
        if not hasattr(loaded, "SPECIMENS") and not hasattr(loaded, "LINTS"):
            raise ImportError(f"{loaded.__name__} must define SPECIMENS or LINTS.")
        yield from getattr(loaded, attribute, ())


def _by_name(members: Iterator[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for member in members:
        if member.name in found:
            raise ValueError(f"`name` must be unique in the zoo, got {member.name!r} twice.")
        found[member.name] = member
    return found


SPECIMENS: dict[str, Specimen] = _by_name(_members("SPECIMENS"))
"""All specimens, by name."""

LINTS: dict[str, Lint] = _by_name(_members("LINTS"))
"""All lints, by name."""
