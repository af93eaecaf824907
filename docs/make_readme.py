"""Writes the tables of README.md and of some pages, and README's picture.

    .venv/bin/python docs/make_readme.py

A table lies between `<!-- name -->` and `<!-- end -->`. All figures come from recorded runs, the
picture's from the accountants; a test checks that the committed files are what this makes.
"""

import collections
import json
import math
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accountants import support_table
from audits.papers import CLAIMS, KINDS
from audits.papers.checks import records
from audits.papers.coverage import HOWS, coverage
from audits.papers.studies import STUDIES, recorded
from audits.peers import scoreboard
from audits.peers.peer import PEERS
from audits.report import accounting
from audits.report.sections import summary
from audits.specimens import LINTS, SPECIMENS
from audits.specimens.examine import REPORTED_DELTA
from audits.specimens.record import recorded as recorded_zoo
from audits.wording import PAPERS, down, up

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "readings.svg"
VERDICTS = ("HOLDS", "HOLDS_IF", "REFUTED", "NOT_TESTABLE")


def accounting_peers() -> str:
    """Our interval and time beside the peers', one row per named setting."""
    found = _load("fourier.json")
    lines = [
        "| σ, q, steps, δ | dp-assay: ε in | ms | dp-accounting PLD: ε ≤ | its time / ours |"
        " prv-accountant: ε in |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["named"]:
        sigma, rate, steps, delta = row["setting"]
        prv = row["prv"] if isinstance(row["prv"], str) else _outwards(*row["prv"])
        lines.append(
            f"| {sigma:g}, {rate:g}, {steps:g}, {delta:g} | {_outwards(*row['epsilon'])} | "
            f"{row['ms_1e-6']:.1f} | {row['dp_accounting']:.7g} | "
            f"{row['dp_accounting_ratio']:.0f} | {prv} |"
        )
    ratios = [row["dp_accounting_ratio"] for row in found["named"]]
    lines.append(
        f"\nMedian ratio of times: {statistics.median(ratios):.0f}. {_source(found)} Intervals are "
        "rounded outwards to the sixth decimal; the certified gaps are in the record."
    )
    return "\n".join(lines)


def known_answers() -> str:
    """How the peers do on the settings with proved answers.

    What is too low for a cause that is not public yet is to be reported there first: it is in the
    docs, and not here.
    """
    board, answers = scoreboard.Scoreboard(), scoreboard.known()
    low = board.too_low(PEERS.values(), answers)
    lines = [
        "| Peer | right within 1% | valid but loose | by (median) | refused or no answer |"
        " too low: publicly known |",
        "|---|---|---|---|---|---|",
    ]
    for row in board.rows(PEERS.values(), answers):
        none = sum(row.counts[word] for word in ("refused", "failed", "timed out"))
        public = [
            f"{len(one.cases)} ([{one.reason.name}]({one.reason.upstream}))"
            for one in low
            if one.peer == row.peer and one.reason is not None and one.reason.upstream
        ]
        _, loose, _ = scoreboard.figures(row)
        lines.append(
            f"| {row.peer} ({PEERS[row.peer].library}) | {row.counts['right']} | "
            f"{row.counts['loose']} | {loose} | {none} | {', '.join(public) or '–'} |"
        )
    lines.append(
        f"\n{len(answers)} settings. Answers that are too low for a cause without a public report "
        "are left out of the last column."
    )
    return "\n".join(lines)


def auditing_peers() -> str:
    """How often we and the best of the others call a claim false, by draws per side."""
    found = _load("audits_peers.json")
    sizes = sorted(next(iter(found["figures"].values())), key=int)
    lines = [
        f"| Claim | {' | '.join(f'{int(n):,}' for n in sizes)} |",
        "|---|" + "---|" * len(sizes),
    ]
    for case, figures in found["figures"].items():
        lines.append(f"| {case} | {' | '.join(_beside(figures[n]) for n in sizes)} |")
    runs = found["setting"]["runs"]
    letters = ", ".join(f"{letter} {name}" for name, letter in _OTHERS.items())
    luck = math.ceil(100 * 1.96 * math.sqrt(0.5 / runs))
    lines.append(
        f"\nShare of {runs} runs that call the claim false at 95%, by draws per side: dp-assay / "
        f"the most successful other ({letters}; – if none does). A true claim should be called so "
        "in at most 5% of them; G is asymptotic, and calls it so more often where draws are few. "
        f"Two shares that differ by less than {luck} points may do so by luck. What is like the "
        f"others', and what is not, is said in `benchmarks/peer_tests.py`. {_source(found)} "
        "jax-privacy 2.0.0 was its current release on 2026-11-19; that the bound of G is not one "
        "is discussed in [its repository](https://github.com/google-deepmind/jax_privacy/pull/270)."
    )
    return "\n".join(lines)


_OTHERS = {
    "jax-privacy Gaussian": "G",
    "jax-privacy Clopper-Pearson": "C",
    "StatDP-like": "S",
    "Delta-Siege-like": "D",
    "sequential MMD-like": "M",
}


def _beside(shares: dict[str, float]) -> str:
    best = max(_OTHERS, key=lambda name: shares.get(name, 0.0))
    other = f"{shares[best]:.0%} {_OTHERS[best]}" if shares.get(best, 0.0) else "–"
    return f"{shares['dp-assay']:.0%} / {other}"


def auditorium() -> str:
    """How often we and DP-Auditorium's testers call a claim false, by draws per side."""
    found = _load("audits_auditorium.json")
    sizes = sorted(next(iter(found["figures"].values())), key=int)
    names = [
        "dp-assay",
        *(f"DP-Auditorium {kind}" for kind in ("hockey stick", "MMD", "histogram")),
    ]
    lines = [
        f"| Claim | {' | '.join(f'{int(n):,}' for n in sizes)} |",
        "|---|" + "---|" * len(sizes),
    ]
    for case, figures in found["figures"].items():
        cells = [" / ".join(f"{figures[n][name]:.0%}" for name in names) for n in sizes]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines.append(
        f"\nShare of {found['setting']['runs']} runs that call the claim false at 95%, by draws "
        "per side: dp-assay / DP-Auditorium's hockey-stick, MMD and histogram testers, its own "
        "code and defaults, on the same draws, the first of the runs above. What they are asked is "
        f"said in `benchmarks/bench_audits_auditorium.py`. Recorded {found['date']} ({versions})."
    )
    return "\n".join(lines)


def zoo() -> str:
    """Each specimen: claimed, proved, and how the recorded audits went."""
    found = recorded_zoo()["specimens"]
    lines = [
        "| Flaw | claimed ε | proved ε ≥ | flawed refuted | median draws | twin refuted |",
        "|---|---|---|---|---|---|",
    ]
    for name, specimen in SPECIMENS.items():
        row, proof = found[name], specimen.epsilon_proved(1e-5)
        proved = "–" if proof is None else down(proof, 3)
        lines.append(
            f"| {name} | {up(specimen.claim.epsilon_upper(REPORTED_DELTA), 3)} | {proved} | "
            f"{row['flawed_refuted']} of {row['seeds']} | {row['flawed_samples_median']:.0f} | "
            f"{row['repaired_refuted']} of {row['seeds']} |"
        )
    lines.append(
        f"\nε at δ = 1e-5. {len(SPECIMENS)} specimens and {len(LINTS)} lints; flawed ones are "
        "audited at 99%, twins at 99.9999%. The one that is never refuted is a setting in which "
        "the flaw leaks nothing."
    )
    return "\n".join(lines)


def ledger() -> str:
    """How many statements of each paper came out how."""
    found = records()["claims"]
    counts = collections.Counter(
        (about, found[name]["verdict"])
        for name, entry in CLAIMS.items()
        for about in (entry.paper, entry.kind)
    )
    heads = "| holds | holds if … | refuted | not testable here |"
    lines = [f"| Name | Paper {heads}", "|---|---|---|---|---|---|"]
    for paper in dict.fromkeys(entry.paper for entry in CLAIMS.values()):
        cells = " | ".join(str(counts[paper, verdict]) for verdict in VERDICTS)
        lines.append(f"| {paper} | {PAPERS[paper]} | {cells} |")
    lines += ["", f"| What the statements are about {heads}", "|---|---|---|---|---|"]
    for kind, words in KINDS.items():
        cells = " | ".join(str(counts[kind, verdict]) for verdict in VERDICTS)
        lines.append(f"| {words} | {cells} |")
    return "\n".join(lines)


def studies() -> str:
    """What has been recorded."""
    lines = ["| Study | What | Record |", "|---|---|---|"]
    for name in STUDIES:
        record = recorded(name)
        if record is None:
            raise ValueError(f"`{name}` must have a record, got none.")
        seeds = len(record["seeds"])
        lines.append(f"| `{name}` | {record['summary']} | `{name}.json`, {seeds} seeds |")
    return "\n".join(lines)


def covered() -> str:
    """What of the papers is here."""
    items = coverage()
    counts = collections.Counter(item.how for item in items)
    lines = ["| Where in the paper | What | Here | Files, entries, studies |", "|---|---|---|---|"]
    for item in items:
        how = item.how if not item.words else f"{item.how}: {item.words}"
        named = [f"`{name}`" for name in (*item.where, *item.claims, *item.studies)]
        lines.append(
            f"| {item.paper}, {item.place} | {item.what} | {how} | {', '.join(named) or '–'} |"
        )
    figures = ", ".join(f"{counts[how]} {how}" for how in HOWS)
    lines.append(f"\nOf {len(items)}: {figures}.")
    return "\n".join(lines)


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"known answers": known_answers},
    "docs/compared.md": {
        "accounting peers": accounting_peers,
        "support table": support_table,
        "auditing peers": auditing_peers,
        "auditorium": auditorium,
    },
    "docs/zoo.md": {"zoo": zoo},
    "docs/papers.md": {"ledger": ledger, "studies": studies, "coverage": covered},
}


def page(file: str) -> str:
    """A file of `PARTS` with its tables made anew."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for name, make in PARTS[file].items():
        before, rest = text.split(f"<!-- {name} -->\n")
        _, after = rest.split("\n<!-- end -->", maxsplit=1)
        text = f"{before}<!-- {name} -->\n{make()}\n<!-- end -->{after}"
    return text


def picture() -> str:
    """The report's first picture as a file of its own, with the colours that it needs."""
    figure = summary.readings(accounting.readings())
    (svg,) = re.findall("<svg.*?</svg>", figure, re.DOTALL)
    (title,) = re.findall('class="conclusion">(.*?)</p>', figure)
    words = f'<text x="6" y="-12" class="figure">{title.split(": ")[0]}</text>'
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 -32 {width:g} {height + 32:g}"'
    svg = re.sub(r'viewBox="[^"]*"', box, svg, count=1)
    return svg.replace("</title>", f"</title><style>{_STYLE}</style>{words}", 1) + "\n"


_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1c2024}.figure{font-weight:600}"
    ".grid{stroke:#d8dbdd}.bar{fill:#1f4e8c}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e7e9}.grid{stroke:#363c42}.bar{fill:#8fb8f2}}"
)


def _outwards(lower: float, upper: float) -> str:
    return f"[{math.floor(lower * 1e6) / 1e6:.6f}, {math.ceil(upper * 1e6) / 1e6:.6f}]"


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return content


def _source(found: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return f"Recorded {found['date']} by `{found['command']}` ({versions})."


if __name__ == "__main__":
    for file in PARTS:
        (ROOT / file).write_text(page(file), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
