"""What a finding is: a released library, its promise, and how its users would call it.

A finding's file is read twice: here, for what it says, and in the library's own environment, for
what it draws. So at its top it imports the standard library only. Its docstring is the finding in
one sentence, then the reason with the mathematics. `ABOUT` holds what `Finding` lists, and these
functions draw, each `(data) -> output` or `(data, n) -> n outputs`:

* `flawed`: the released library, and must be refuted;
* `repaired`: its twin, a fixed release or a corrected call, and must not be;
* `sound`: a library or mode in which no flaw is known, and must not be either.

`prepare()`, where there is one, is called before all draws: for imports that take long.
"""

import ast
import hashlib
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from accountants import codec, validate
from audits.claims import Claim
from audits.domain import Domain
from audits.field import findings
from audits.pairs import Pair

FLAWED, REPAIRED, SOUND = "flawed", "repaired", "sound"
ROLES = (FLAWED, REPAIRED, SOUND)
_WORDS = ("promise", "repair", "upstream", "stand_in")
NOT_PUBLIC = "to be reported upstream first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding in a library, or a library in which nothing was found.

    Attributes:
      name: The file's, without its ending.
      flaw: The first line of its docstring.
      why: The rest.
      roles: Which of `ROLES` it draws.
      library: Its name on the package index.
      requirements: What pip installs, pinned; the library's own first.
      alone: What pip installs without what that needs in turn, because it no longer installs.
      repaired_requirements: Where the twin is a fixed release, what it needs instead.
      promise: What the library says of itself, in our words, and where.
      claim: That promise as a claim.
      domain: The data that it accepts: then a hunt looks for the pair alone.
      pair: Else the pair.
      repair: What to change, in a line.
      upstream: Where the flaw is public; None if it is not.
      stand_in: What is not the whole released package, if anything; then it does not count.
      max_samples: The most draws per side.
      chunk_size: The most draws of one question to the library.
      file: Where all this stands.
    """

    name: str
    flaw: str
    why: str
    roles: tuple[str, ...]
    library: str
    requirements: tuple[str, ...]
    alone: tuple[str, ...]
    promise: str
    claim: Claim
    domain: Domain | None
    pair: Pair | None
    repair: str
    upstream: str | None
    repaired_requirements: tuple[str, ...]
    stand_in: str
    max_samples: int
    chunk_size: int
    file: Path

    @property
    def digest(self) -> str:
        """Changes when the file does, but for its words: what was recorded of another is void."""
        tree = ast.parse(self.file.read_text(encoding="utf-8"))
        tree.body = tree.body[1:]
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                kept = [
                    (key, value)
                    for key, value in zip(node.keys, node.values, strict=True)
                    if not (isinstance(key, ast.Constant) and key.value in _WORDS)
                ]
                node.keys, node.values = [key for key, _ in kept], [value for _, value in kept]
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]

    @property
    def is_flaw(self) -> bool:
        """Whether it is no control."""
        return FLAWED in self.roles

    @property
    def is_public(self) -> bool:
        """Whether a flaw may be named on the front pages."""
        return not self.is_flaw or self.upstream is not None

    def needs(self, role: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What pip installs for a role, and what it installs alone."""
        fixed = role == REPAIRED and self.repaired_requirements
        return (self.repaired_requirements, ()) if fixed else (self.requirements, self.alone)


def read(module: ModuleType) -> Finding:
    """What a finding's file says.

    Raises:
      ValueError: Something is missing, or of the wrong kind.
    """
    name = module.__name__.rsplit(".", 1)[-1]
    flaw, _, why = (module.__doc__ or "").strip().partition("\n")
    about = dict(validate.mapping(f"{name}.ABOUT", module.ABOUT))
    roles = tuple(role for role in ROLES if hasattr(module, role))
    required = {"library", "requirements", "promise", "claim"}
    required |= {"repair"} if FLAWED in roles else set()
    optional: dict[str, Any] = {
        "repair": "", "upstream": None, "stand_in": "", "repaired_requirements": (),
        "alone": (), "max_samples": 20_000, "chunk_size": 256, "domain": None, "pair": None,
    }  # fmt: skip
    unknown = about.keys() - required - optional.keys()
    if required - about.keys() or unknown:
        missing = sorted(required - about.keys())
        raise ValueError(f"`{name}` lacks {missing} and has {sorted(unknown)}, which nobody reads.")
    if not flaw.endswith(".") or not why.strip():
        raise ValueError(f"`{name}` must begin with a sentence on a line, and then say why.")
    if roles not in ((FLAWED,), (FLAWED, REPAIRED), (SOUND,)):
        raise ValueError(f"`{name}` must draw {FLAWED} (and {REPAIRED}) or {SOUND}, got {roles}.")
    if (about.get("domain") is None) == (about.get("pair") is None):
        raise ValueError(f"`{name}` must have a domain or a pair, and not both.")
    return Finding(
        **{
            **optional,
            **about,
            "name": name,
            "flaw": flaw,
            "why": why.strip(),
            "roles": roles,
            "requirements": tuple(about["requirements"]),
            "alone": tuple(about.get("alone", ())),
            "repaired_requirements": tuple(about.get("repaired_requirements", ())),
            "claim": _claim(about["claim"]),
            "domain": Domain(**about["domain"]) if about.get("domain") else None,
            "pair": Pair.of(about["pair"]) if about.get("pair") else None,
            "file": Path(str(module.__file__)),
        }
    )


def _claim(stated: Mapping[str, Any]) -> Claim:
    """From the words of a stored claim: {"epsilon": 1.0, "relation": "REPLACE_ONE"}, {"mu": …}."""
    return Claim.from_json(codec.dump_document("dp-assay/claim", dict(stated)))


@cache
def findings_by_name() -> dict[str, Finding]:
    """All of them, by library and name."""
    found = [
        read(importlib.import_module(f"{findings.__name__}.{one.name}"))
        for one in pkgutil.iter_modules(findings.__path__)
    ]
    return {one.name: one for one in sorted(found, key=lambda one: (one.library, one.name))}


def named(names: Iterable[str]) -> list[Finding]:
    """Those of these names, of parts of names or of libraries; all of them if none is given.

    >>> [one.library for one in named(["no_such_library"])]
    Traceback (most recent call last):
    ...
    ValueError: `NAME` must be a finding, a part of one's name or a library, got 'no_such_library'.
    """
    everything = findings_by_name()
    wanted = list(names)
    chosen: dict[str, Finding] = {}
    for name in wanted:
        word = name.lower()
        mine = [one for one in everything.values() if word in (one.name, one.library.lower())]
        mine = mine or [one for one in everything.values() if word in one.name]
        if not mine:
            raise validate.refusal("NAME", "a finding, a part of one's name or a library", name)
        chosen |= {one.name: one for one in mine}
    return list(chosen.values()) if wanted else list(everything.values())
