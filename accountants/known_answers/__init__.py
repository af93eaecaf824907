"""Settings whose ε is known: intervals that `accountants.verify` proved, for other libraries too.

`answers.json`, beside this file, says how it was made; `answers.schema.json` describes it. An
answer is an event (as `accountants.codec` writes it), a neighbouring relation, δ, and an interval
of ε. A library that reports an ε below `epsilon_lower` is wrong. Nearly all intervals are
narrower than 1e-9, relative; each carries its `relative_width`.
"""

import json
from importlib import resources
from typing import Any

from accountants import seals

__all__ = ["load"]


def load() -> list[dict[str, Any]]:
    """The answers, as the file has them.

    >>> answer = load()[0]
    >>> sorted(answer)[:4]
    ['delta', 'epsilon_lower', 'epsilon_upper', 'event']
    """
    file = resources.files(__name__).joinpath("answers.json")
    answers: list[dict[str, Any]] = seals.unsealed(file.read_bytes(), file.name)["answers"]
    return answers


def as_certificate(answer: dict[str, Any]) -> str:
    """An answer as the text of a certificate of format 1, which `accountants.verify` checks."""
    point = [answer[key] for key in ("delta", "epsilon_lower", "epsilon_upper")]
    return json.dumps(
        {
            "format": "dp-assay/certificate",
            "version": 1,
            "event": answer["event"],
            "neighboring_relation": answer["neighboring_relation"],
            "points": [point],
        }
    )
