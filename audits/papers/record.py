"""Writes `recorded.json`: every finding with its time, the versions and the command.

python -m audits.papers.record           # fast checks; keeps what is recorded of slow ones
python -m audits.papers.record --slow    # all checks
python -m audits.papers.record ID …      # these only, slow or not; keeps the others
"""

import sys
from pathlib import Path

from accountants import versions
from accountants.seals import read_sealed, write_sealed
from audits.papers import CLAIMS, as_json, run_claims
from audits.papers.checks import RECORD
from audits.papers.workshop.training import SEED

_KEPT = ("verdict", "figure", "argument", "condition", "numbers", "seconds")


def main(arguments: list[str]) -> None:
    """Runs the checks and rewrites the record."""
    target = Path(__file__).with_name(RECORD)
    old = read_sealed(target)["claims"] if target.exists() else {}
    everything = arguments in ([], ["--slow"])
    chosen = list(CLAIMS) if everything else arguments
    slow = arguments != []
    wanted = [name for name in chosen if slow or not CLAIMS[name].slow]
    command = " ".join(["python -m audits.papers.record", *arguments])
    found = {name: old[name] for name in CLAIMS if name in old}
    for row in as_json(run_claims(wanted, include_slow=True))["claims"]:
        record = {key: row[key] for key in _KEPT}
        seed = {"seed": SEED} if row["slow"] else {}
        found[str(row["id"])] = (
            record | seed | {"versions": versions.installed(), "command": command}
        )
    content = {
        "what": "Findings of the ledger of claims; all checks are deterministic, given the seed",
        "claims": {name: found[name] for name in CLAIMS if name in found},
    }
    write_sealed(target, content)


if __name__ == "__main__":
    main(sys.argv[1:])
