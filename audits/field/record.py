"""What came of every finding, in a file that an interrupted run goes on from."""

import json
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from accountants import versions
from accountants.seals import read_sealed, write_sealed
from audits.field.examine import FAILED, Outcome, examine
from audits.field.finding import FLAWED, Finding
from audits.wording import down, odds, up

RECORD = Path(__file__).with_name("recorded.json")
_ABOUT = (
    "Audits of released libraries, each in an environment of its own: flaws at 99.9%, twins and "
    "controls at 1 - 1e-6. Seconds are those of a shared machine of two cores."
)


class Record:
    """Outcomes by finding and role.

    Args:
      path: The file; it is made where it is not there yet.
    """

    def __init__(self, path: Path = RECORD) -> None:
        self.path = path
        self._body: dict[str, Any] = {"about": _ABOUT, "outcomes": {}}
        if path.exists():
            self._body = read_sealed(path)

    def outcome(self, finding: Finding, role: str) -> Outcome | None:
        """What is recorded, unless the finding's file has changed since."""
        body = self._body["outcomes"].get(f"{finding.name} {role}")
        if body is None or body["digest"] != finding.digest:
            return None
        return Outcome.from_dictionary({k: v for k, v in body.items() if k != "versions"})

    def outcomes(self, chosen: Iterable[Finding]) -> list[tuple[Finding, Outcome]]:
        """All that is recorded of these findings."""
        both = ((one, self.outcome(one, role)) for one in chosen for role in one.roles)
        return [(one, outcome) for one, outcome in both if outcome is not None]

    def run(
        self,
        chosen: Iterable[Finding],
        *,
        seconds: float,
        seed: int,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Examines what is not recorded yet, and what failed; each outcome is written at once."""
        waiting = [(one, role) for one in chosen for role in one.roles]
        for number, (one, role) in enumerate(waiting, 1):
            known = self.outcome(one, role)
            if known is not None and known.word != FAILED:
                continue
            note(f"[{number}/{len(waiting)}] {one.name}, {role}")
            self.keep(examine(one, role, seconds=seconds, seed=seed))

    def take(self, others: Iterable["Record"], chosen: Collection[Finding]) -> None:
        """What others say of these goes before what is said here; all else, failures too, goes."""
        kept: dict[str, Any] = {}
        for record in (self, *others):
            for one, outcome in record.outcomes(chosen):
                name = f"{one.name} {outcome.role}"
                if outcome.word != FAILED:
                    kept[name] = record._body["outcomes"][name]
        self._body["outcomes"] = {name: kept[name] for name in sorted(kept)}
        write_sealed(self.path, self._body)

    def keep(self, outcome: Outcome) -> None:
        """Writes an outcome down, beside what others have written since."""
        if self.path.exists():
            self._body = read_sealed(self.path)
        self._body["outcomes"][f"{outcome.finding} {outcome.role}"] = outcome.as_dictionary() | {
            "versions": versions.installed()
        }
        write_sealed(self.path, self._body)


def table(found: Iterable[tuple[Finding, Outcome]]) -> str:
    """Outcomes as text, a line each."""
    lines = [
        f"{'finding':<44}{'role':<10}{'verdict':<14}{'odds':>26}{'draws':>7}{'claimed ε':>11}"
        f"{'proved ε ≥':>12}{'s':>7}"
    ]
    lines += [
        f"{one.name:<44}{outcome.role:<10}{outcome.word:<14}{odds_of(outcome):>26}"
        f"{outcome.draws:>7}{claimed_of(outcome):>11}{down(outcome.epsilon_proved, 3):>12}"
        f"{outcome.seconds:>7.1f}{'' if outcome.as_expected else '  UNEXPECTED'}"
        for one, outcome in found
    ]
    return "\n".join(lines)


def odds_of(outcome: Outcome) -> str:
    """The odds against a refuted claim."""
    if outcome.word != "REFUTED" or outcome.log_e_value is None:
        return "–"
    return odds(outcome.log_e_value)


def claimed_of(outcome: Outcome) -> str:
    """The claimed ε, rounded upwards."""
    return "–" if outcome.epsilon_claimed is None else up(outcome.epsilon_claimed, 3)


def as_json(found: Iterable[tuple[Finding, Outcome]]) -> str:
    """Outcomes with what they are about."""
    rows = [
        outcome.as_dictionary()
        | {
            "library": one.library,
            "flaw": one.flaw,
            "promise": one.promise,
            "claim": one.claim.describe(),
            "upstream": one.upstream,
            "as_expected": outcome.as_expected,
        }
        for one, outcome in found
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def convicted(found: Iterable[tuple[Finding, Outcome]]) -> list[tuple[Finding, Outcome]]:
    """The flaws that count: refuted, in whole packages."""
    return [
        (one, outcome)
        for one, outcome in found
        if outcome.role == FLAWED and outcome.word == "REFUTED" and not one.stand_in
    ]
