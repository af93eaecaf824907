"""The tables: ours beside the published ones, each row with what it costs."""

import math
from collections.abc import Sequence

from audits.papers.study import NOISY_GRADIENTS, Cost, Results, Row, Table
from audits.papers.workshop.published import TABLE_1, TABLE_5, published_row
from audits.papers.workshop.table5.budget import ACCOUNTANTS, QUESTIONS
from audits.papers.workshop.table5.settings import WorkshopSettings
from audits.papers.workshop.table5.summary import (
    KINDS,
    Summary,
    kind_cost,
    summarise,
    worst_cost,
)
from audits.papers.workshop.table5.training import GLOBAL_VARIANTS

PUBLISHED_ACCURACY = "published accuracy (Workshop, Table 5)"
TOLERANCE = 0.5
PUBLISHED_LIKELIHOOD = "published log-likelihood (Workshop, Table 5)"


def tables(settings: WorkshopSettings, results: Results) -> list[Table]:
    """All tables."""
    return [
        table_5(settings, results),
        costs(settings, results),
        budgets(settings, results),
        accuracy_bought(settings, results),
        table_1(results),
    ]


def table_5(settings: WorkshopSettings, results: Results) -> Table:
    """Workshop Table 5, with both kinds of batches and five readings of global VI."""
    rows = []
    for letter in settings.splits:
        free = Cost.without_noise()
        rows.append(_compared(results, letter, "PVI", published_row("PVI"), free))
        for variant in GLOBAL_VARIANTS:
            method = f"global VI, {variant}"
            rows.append(_compared(results, letter, method, published_row("global VI"), free))
        for question in ("Poisson", "fixed size"):
            for target in settings.targets:
                method = f"DP-PVI {target:g}, {question}"
                cost = worst_cost(results, letter, target, question)
                rows.append(
                    _compared(results, letter, method, published_row("DP-PVI", target), cost)
                )
    return Table(
        title="Test accuracy and mean log-likelihood on Adult (Workshop, Table 5)",
        columns=(
            "split",
            "method",
            "accuracy (%)",
            PUBLISHED_ACCURACY,
            "difference (points)",
            "log-likelihood",
            PUBLISHED_LIKELIHOOD,
            "communications",
            "seeds",
        ),
        rows=tuple(rows),
        note=_warning(settings)
        + "Ours: estimates, mean ± standard deviation between seeds; the test set and the "
        "division between clients are the same for all seeds. The published columns are the "
        "paper's, not ours. The cost is that of the client whose upper bound is largest, each "
        "client at its own δ (Table 1; the small clients of B have 1e-3). "
        + NOISY_GRADIENTS
        + "The paper prints deviations of 0.00 for seven of its nine cells of DP-PVI: these may be "
        "of one seed. It does not print how many updates PVI and global VI make, nor the prior's "
        f"variance: ours ({settings.pvi_updates}, {settings.global_steps}; "
        f"{settings.prior_variance:g}). DP-PVI with Poisson batches is what the paper's "
        "accounting is about, with batches of fixed size ⌈qN⌉ what its Algorithm 1 does; both make "
        "the updates that the moments accountant allows for the "
        "number in the method's name. Global VI is one method with several readings: how the "
        "paper weighted clients and kept Adagrad's state is not established. The authors' public "
        "code, in one of its versions, has clients at rates 1/N with gradients scaled by the total "
        "number of records and an optimiser each ('own states'). 'Own scales' was picked earlier, "
        "on split C, for coming near the published 53.96. " + _far(rows),
    )


def _far(rows: Sequence[Row]) -> str:
    """Which rows other than global VI's differ from the paper by more than the tolerance."""
    far = [
        f"{split}, {method} ({difference})"
        for split, method, *_, difference in (row.cells[:5] for row in rows)
        if not method.startswith("global VI") and abs(float(difference)) > TOLERANCE
    ]
    return f"More than {TOLERANCE} points off: {'; '.join(far) or 'no row of PVI or DP-PVI'}."


def _compared(results: Results, letter: str, method: str, published: str, cost: Cost) -> Row:
    """A method's row; `published` names the paper's."""
    ours, theirs = summarise(results, letter, method), TABLE_5[published, letter]
    return Row(
        cells=(
            letter,
            method,
            _accuracy(ours),
            f"{theirs.accuracy:.2f}",
            f"{ours.accuracy - theirs.accuracy:+.2f}",
            _spread(f"{ours.log_likelihood:.4f}", f"{ours.log_likelihood_spread:.4f}", ours.seeds),
            f"{theirs.log_likelihood:.4f}",
            str(ours.communications),
            str(ours.seeds),
        ),
        cost=cost,
    )


def costs(settings: WorkshopSettings, results: Results) -> Table:
    """What each kind of client pays, by batches and relation."""
    rows = []
    for letter in settings.splits:
        # On A all clients are alike.
        kinds = KINDS if TABLE_1[letter].rho else KINDS[:1]
        for target in settings.targets:
            for question in QUESTIONS:
                for kind in kinds:
                    entry = results[f"{letter}/cost/{target:g}"][f"{question}/{kind}"]
                    cost = kind_cost(results, letter, target, question, kind)
                    rows.append(
                        Row(
                            cells=(
                                letter,
                                f"{target:g}",
                                question,
                                kind if len(kinds) > 1 else "all",
                                str(entry["updates"]),
                                str(entry["updates"] * settings.local_steps),
                                "yes" if cost.upper <= target else _beyond(cost, target),
                            ),
                            cost=cost,
                        )
                    )
    return Table(
        title="What DP-PVI costs a client (Workshop, section 3, Tables 1 and 3)",
        columns=("split", "ε_max", "batches", "clients", "updates", "steps", "within ε_max"),
        rows=tuple(rows),
        note="Updates are those that the moments accountant allows for ε_max ('Fourier budget': "
        "the Fourier accountant). " + NOISY_GRADIENTS + "'No' means that the lower end exceeds "
        "ε_max, 'open' that only the upper end does. The paper stops a client after the update "
        "that exceeds ε_max, so its clients made one update more than is counted here.",
    )


def _beyond(cost: Cost, target: float) -> str:
    return "no" if cost.lower > target else "open"


def budgets(settings: WorkshopSettings, results: Results) -> Table:
    """How many updates each accountant allows."""
    steps = results["budget"]
    rows = []
    for delta, letter, kind in _budget_cases(settings):
        for target in settings.targets:
            allowed = [
                steps[f"{accountant}/{target:g}/{delta:g}"] // settings.local_steps
                for accountant in ACCOUNTANTS
            ]
            rows.append(
                Row(
                    cells=(
                        f"{target:g}",
                        f"{delta:g}",
                        *map(str, allowed),
                        *(f"{count / allowed[0]:.2f}" for count in allowed[1:]),
                    ),
                    cost=kind_cost(results, letter, target, "Fourier budget", kind),
                )
            )
    return Table(
        title="What a tight accountant buys: updates of a client at the same ε_max",
        columns=(
            "ε_max",
            "δ",
            *(f"{accountant} updates" for accountant in ACCOUNTANTS),
            *(f"{accountant} / moments" for accountant in ACCOUNTANTS[1:]),
        ),
        rows=tuple(rows),
        note=f"Whole updates of {settings.local_steps} steps, σ = {settings.noise_multiplier:g}, "
        f"Poisson q = {settings.sampling_rate:g}, one record more or less. Each number is exact "
        "for its accountant's upper bound; the cost is that of the Fourier accountant's updates.",
    )


def _budget_cases(settings: WorkshopSettings) -> list[tuple[float, str, str]]:
    """Each δ of the trained splits, with a kind of clients that has it."""
    found: dict[float, tuple[str, str]] = {}
    for letter in settings.splits:
        for kind in KINDS:
            found.setdefault(getattr(TABLE_1[letter], kind).delta, (letter, kind))
    return [(delta, *found[delta]) for delta in sorted(found)]


def accuracy_bought(settings: WorkshopSettings, results: Results) -> Table:
    """Whether the updates that the Fourier accountant adds help."""
    rows = []
    for letter in settings.splits:
        for target in settings.targets:
            paper = summarise(results, letter, f"DP-PVI {target:g}, Poisson")
            tight = summarise(results, letter, f"DP-PVI {target:g}, Fourier budget")
            rows.append(
                Row(
                    cells=(
                        letter,
                        f"{target:g}",
                        f"{paper.seeds} and {tight.seeds}",
                        str(paper.communications),
                        _accuracy(paper),
                        str(tight.communications),
                        _accuracy(tight),
                        _gain(paper, tight),
                        f"{tight.log_likelihood - paper.log_likelihood:+.4f}",
                    ),
                    cost=worst_cost(results, letter, target, "Fourier budget"),
                )
            )
    return Table(
        title="What a tight accountant buys: accuracy of DP-PVI at the same ε_max",
        columns=(
            "split",
            "ε_max",
            "seeds",
            "communications, moments",
            "accuracy, moments (%)",
            "communications, Fourier",
            "accuracy, Fourier (%)",
            "gain (points)",
            "gain of log-likelihood",
        ),
        rows=tuple(rows),
        note="Estimates. Noise, clipping and learning rate are those of the paper in both, though "
        "they were chosen there for the smaller number of updates. The gain is given with its "
        "standard error where there are several seeds, as far as seeds go.",
    )


def _gain(paper: Summary, tight: Summary) -> str:
    gain = f"{tight.accuracy - paper.accuracy:+.2f}"
    if min(paper.seeds, tight.seeds) < 2:
        return f"{gain} (one seed)"
    return f"{gain} ± {math.hypot(paper.accuracy_error, tight.accuracy_error):.2f}"


def table_1(results: Results) -> Table:
    """Workshop Table 1: sizes and shares."""
    rows = []
    for letter, row in TABLE_1.items():
        for kind in KINDS:
            ours, theirs = results[f"{letter}/split"][kind], getattr(row, kind)
            rows.append(
                Row(
                    cells=(
                        letter,
                        kind,
                        str(ours["records"]),
                        str(theirs.records),
                        f"{ours['positive']:.2f}",
                        f"{theirs.positive:g}",
                        f"{theirs.delta:g}",
                    ),
                    cost=Cost.without_noise(),
                )
            )
    return Table(
        title="How Adult is divided (Workshop, Table 1)",
        columns=(
            "split",
            "clients",
            "records",
            "published records (Workshop, Table 1)",
            "positive (%)",
            "published positive (Workshop, Table 1, %)",
            "δ (Workshop, Table 1)",
        ),
        rows=tuple(rows),
        note="Exact counts of the data, which is why their cost is infinite: in the paper they are "
        "taken to be public. The share of the large clients is a mean over them.",
    )


def _warning(settings: WorkshopSettings) -> str:
    if settings.data.source == "adult":
        return ""
    return "GENERATED DATA, small settings: no difference from the paper means anything here. "


def _accuracy(summary: Summary) -> str:
    return _spread(f"{summary.accuracy:.2f}", f"{summary.accuracy_spread:.2f}", summary.seeds)


def _spread(mean: str, deviation: str, seeds: int) -> str:
    return f"{mean} ± {deviation}" if seeds > 1 else mean
