"""Figure 4.1 in other ways: which of them has the Thesis's small oscillations to the end."""

from collections.abc import Mapping

import numpy as np

from audits.papers.study import Result, Results, Row, Table
from audits.papers.thesis.linreg.case import Case
from audits.papers.thesis.linreg.cases import FIRST_KEY, Settings
from audits.papers.thesis.linreg.cells import MEASURES, digits, spread
from audits.papers.thesis.linreg.costs import cost
from audits.papers.thesis.linreg.variant import NEAREST


def variants_table(settings: Settings, cases: Mapping[str, Case], results: Results) -> Table:
    """One row for this study's way and one for each variant."""
    rows = []
    for variant in (cases[FIRST_KEY].variant, *settings.variants):
        key = next(k for k, case in cases.items() if _is_first(k) and case.variant == variant)
        result, case = results[key], cases[key]
        ended = result["diverged"]
        cells = (
            str(variant),
            *(_at(result, updates) for updates in settings.shown_updates),
            digits(float(np.median(result["worst"]))) if ended is None else "–",
            "none" if ended is None else f"update {ended}",
        )
        rows.append(Row(cells=cells, cost=cost(case, ended or case.updates, settings.delta)))
    return Table(
        title="Thesis Fig. 4.1 run in other ways: which has small oscillations to the end?",
        columns=(
            "what differs",
            *(f"KL after {updates}, median (10–90%)" for updates in settings.shown_updates),
            "worst KL of the last fifth, median",
            "first seed to diverge",
        ),
        rows=tuple(rows),
        note=MEASURES + _note(results),
    )


def _is_first(key: str) -> bool:
    return key == FIRST_KEY or key.startswith(FIRST_KEY + "/")


def _at(result: Result, updates: int) -> str:
    if updates not in result["updates"]:
        return "–"
    at = result["updates"].index(updates)
    return spread(*(result[name][at] for name in ("low", "median", "high")))


def _note(results: Results) -> str:
    (first, second), best = _precisions(results[FIRST_KEY])
    nearest, _ = _precisions(results[f"{FIRST_KEY}/{NEAREST}"])
    return (
        "Rows differ from the first, this study's way, only by what they name; all share data and "
        "settings. The Thesis prints KL as a curve, so no number of its own stands here. What "
        "makes the difference is where the noise is added. Section 4.2.1 says that descent is on "
        "the mean and the log-variance; section 4.1.3 has the gradients by mean and variance "
        "(eq. 4.21–4.22) and hands them to DP-SGD. Which of the two is "
        "clipped and perturbed is not said. On the log-variance a step's noise has the standard "
        "deviation α·σ·C/L = 0.025, with little that pulls back, and precisions wander: the seed "
        f"of Fig. 4.1(a) ends at {first:.0f} and {second:.0f}, the optimum has {best[0]:.0f} and "
        f"{best[1]:.0f}. On the gradient by variance the chain rule multiplies the same noise by "
        "q's variance, about 0.01 at the end, at no cost in privacy; with clients in turn that "
        f"seed ends at {nearest[0]:.0f} and {nearest[1]:.0f}. Only rows with noise so stay "
        "near the optimum to the end, though not equally near: see the worst KL. The "
        "prior's share, the batch, the order of the clients, damping and the threshold alone do "
        "not do it. That the Thesis did so is inferred, not known. "
        "For the division by the realised batch nothing is certified: [0, ∞]. A run ends where q "
        "or a cavity of some seed leaves all bounds; its cost is that of the updates until then. "
        "Figs 4.2–4.5 are run in this study's way only."
    )


def _precisions(result: Result) -> tuple[list[float], list[float]]:
    """At the end of the run, and of the best factorised q; of the first seed."""
    return result["natural"][-1][2:], result["optimum"][2:]
