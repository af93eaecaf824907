"""How the Workshop divides Adult between clients, and which δ they get (Appendix C)."""

import math

import numpy as np
from numpy.typing import NDArray

from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if
from audits.papers.numbers import computed, stated
from audits.papers.workshop.published import ADULT_RECORDS, TABLE_1
from pvi.data import split

ADULT_POSITIVE = 11_687


@claim(
    id="workshop-delta",
    paper="Workshop",
    kind="privacy",
    place="section 3, Method; Table 1",
    statement="Each client's δ is an order of magnitude below its number of records (below one "
    "over that number, as it must mean).",
)
def delta_choice() -> Finding:
    """δ·N over the clients of Table 1, against 0.1 and against the next power of ten below 1/N."""
    pairs = [
        (kind.records, kind.delta) for row in TABLE_1.values() for kind in (row.small, row.large)
    ]
    products = [size * delta for size, delta in pairs]
    next_power = all(
        math.isclose(delta, 10.0 ** -math.ceil(math.log10(size))) for size, delta in pairs
    )
    return decide_if(
        condition="an order of magnitude means the next power of ten: δ is the largest one below "
        "1/N, not a tenth of 1/N",
        with_condition=next_power,
        without=max(products) <= 0.1,
        figure=f"δ·N from {min(products):.3f} to {max(products):.3f}",
        argument="The paper compares δ with the number of records itself; only one over it can be "
        "meant. A tenth of 1/N would be δ·N ≤ 0.1, and no client of Table 1 has that. All have the "
        "next power of ten below 1/N, which is what the code that the paper points to computes, "
        "and which can be nearly 1/N itself.",
        numbers=[
            stated("smallest δ·N", 0.1, 1.0),
            computed("smallest δ·N", min(products)),
            stated("largest δ·N", 0.1, 1.0),
            computed("largest δ·N", max(products)),
        ],
    )


def _labels(training: int) -> NDArray[np.int64]:
    """So many labels, with Adult's own share of positives."""
    positive = round(ADULT_POSITIVE * training / ADULT_RECORDS)
    return np.repeat(np.arange(2), [training - positive, positive])


def _client_sizes(training: int) -> dict[str, tuple[int, ...]]:
    """The ten clients' sizes in each split of Table 1."""
    labels, rng = _labels(training), np.random.default_rng(0)
    return {
        letter: split(labels, 10, row.rho, row.kappa, rng).sizes for letter, row in TABLE_1.items()
    }


def _as_in_table_1(sizes: dict[str, tuple[int, ...]]) -> bool:
    return all(
        sizes[letter] == (row.small.records,) * 5 + (row.large.records,) * 5
        for letter, row in TABLE_1.items()
    )


@claim(
    id="workshop-table-1",
    paper="Workshop",
    kind="reporting",
    place="Appendix C, eq. 12, Table 1",
    statement="An 80:20 split of Adult, divided by eq. 12, gives the client sizes of Table 1.",
)
def table_1() -> Finding:
    """Eq. 12 for ⌈0.8·48842⌉ training records, and for one fewer."""
    training = math.ceil(0.8 * ADULT_RECORDS)
    sizes = _client_sizes(training)
    holds = _as_in_table_1(sizes)
    return decide(
        holds,
        figure=f"{'all' if holds else 'not all'} 8 sizes with {training} training records; with "
        f"{training - 1}: {'all' if _as_in_table_1(_client_sizes(training - 1)) else 'not all'}",
        argument="Sizes are floors of N(1∓ρ)/10 and follow from the number of training records.",
        numbers=[
            number
            for letter, row in TABLE_1.items()
            for kind, printed, ours in (
                ("small", row.small.records, sizes[letter][0]),
                ("large", row.large.records, sizes[letter][-1]),
            )
            for label in [f"records of a {kind} client, {letter}"]
            for number in (stated(label, printed), computed(label, ours))
        ],
    )


@claim(
    id="workshop-table-1-shares",
    paper="Workshop",
    kind="reporting",
    place="Appendix C, eq. 13, Table 1",
    statement="With eq. 13 the clients have the shares of positive records that Table 1 prints.",
)
def table_1_shares() -> Finding:
    """Shares of positives by eq. 13 and by what is left, rounded to the digits printed."""
    labels = _labels(math.ceil(0.8 * ADULT_RECORDS))
    right, found, numbers = True, [], []
    for letter, row in TABLE_1.items():
        shares = split(labels, 10, row.rho, row.kappa, np.random.default_rng(0)).shares(labels, 1)
        ours = [100.0 * float(np.mean(part)) for part in (shares[:5], shares[5:])]
        found.append(f"{letter} {ours[0]:.2f} and {ours[1]:.2f}")
        printed = (f"{kind.positive:g}" for kind in (row.small, row.large))
        for kind, text, share in zip(("small", "large"), printed, ours, strict=True):
            half = 0.5 * 10.0 ** -len(text.partition(".")[2])
            right &= abs(share - float(text)) <= half
            label = f"positive in {kind} clients, {letter} (%)"
            numbers += [
                stated(label, float(text) - half, float(text) + half),
                computed(label, share),
            ]
    return decide(
        right,
        figure="; ".join(found) + "%",
        argument="Small clients get ⌊N·λ_target⌋ majority records, large ones share the rest; the "
        "training set's own share of positives is taken to be Adult's.",
        numbers=numbers,
    )


@claim(
    id="workshop-kappa",
    paper="Workshop",
    kind="reporting",
    place="Appendix C, after eq. 13",
    statement="κ > 1 decreases the number of minority labels on the small clients.",
)
def kappa() -> Finding:
    """The target share of eq. 13 for κ on both sides of 0 and of 1."""
    majority = 0.76  # Appendix C

    def target(value: float) -> float:
        return majority + (1.0 - majority) * value

    possible = target(1.0 + 1e-9) <= 1.0
    fewer = all(majority < target(value) <= 1.0 for value in (0.05, 0.5, 0.95, 1.0))
    more = all(target(value) < majority for value in (-0.5, -1.5, -3.0))
    return decide_against(
        stated=possible,
        reading="κ > 0",
        under_reading=fewer and more,
        figure=f"target share at κ = 1.05: {target(1.05):.4f}; at κ = 0.95 (split B): "
        f"{target(0.95):.4f}",
        argument="λ + (1−λ)κ is a share, and exceeds 1 for every κ > 1. It exceeds λ, so that "
        "minority labels are fewer, exactly for κ > 0; split B has κ = 0.95.",
        numbers=[
            stated("target share at κ = 1.05", 0.0, 1.0),
            computed("target share at κ = 1.05", target(1.05)),
            stated("target share at κ = 0.95", 0.0, 1.0),
            computed("target share at κ = 0.95", target(0.95)),
        ],
    )
