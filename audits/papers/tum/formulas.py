"""Printed formulas of the TUM report that are not what its text and its results say.

None of them bears on privacy: the text around each says what is meant, and the implementation must
have had that. They are here because whoever implements from the page gets something else.
"""

import numpy as np

from audits.papers.ledger import Finding, claim, decide_against
from audits.papers.numbers import computed, stated

_SHARE = 0.3
"""The share of positive labels in the sample on which the estimates are compared."""
_GRID = np.linspace(0.0, 1.0, 1001)


def _best(objective: np.ndarray) -> float:
    """The probability on the grid with the largest objective."""
    return float(_GRID[np.argmax(objective)])


@claim(
    id="tum-likelihood",
    paper="TUM",
    kind="reporting",
    place="section 5.1.1, eq. 3",
    statement="Logistic regression's parameters maximise the product over records of "
    "Pr(y = 1 | x)^y + (1 − Pr(y = 1 | x))^(1 − y).",
)
def likelihood() -> Finding:
    """The estimate of one probability p from a sample of labels, by the sum and by the product."""
    # p^y + (1 − p)^(1 − y) is p + 1 for y = 1 and 2 − p for y = 0.
    plus = _best(_SHARE * np.log(_GRID + 1.0) + (1.0 - _SHARE) * np.log(2.0 - _GRID))
    times = _best(_GRID**_SHARE * (1.0 - _GRID) ** (1.0 - _SHARE))
    total = (0.5 + 1.0) + (2.0 - 0.5)
    return decide_against(
        stated=abs(plus - _SHARE) < 1e-3 and total == 1.0,
        reading="the two powers are multiplied",
        under_reading=abs(times - _SHARE) < 1e-3,
        figure=f"{_SHARE:.0%} positive labels: p = {plus:g} with +, {times:g} with ·; the terms of "
        f"both labels add up to {total:g}",
        argument="A label's probability is p^y·(1 − p)^(1 − y), which is 1 in all over y. With a "
        "sum instead, the terms of both labels add up to 3 for every p, and a share s of positive "
        "labels is estimated as 3s − 1, cut to [0, 1].",
        numbers=[
            stated("estimate of p", _SHARE),
            computed("estimate of p", plus),
        ],
    )


@claim(
    id="tum-negative-log-likelihood",
    paper="TUM",
    kind="reporting",
    place="section 5.1.1, after eq. 3",
    statement="Maximising the likelihood is minimising Σ y·log p + (1 − y)·log(1 − p).",
)
def negative_log_likelihood() -> Finding:
    """The minimiser of the sum, with and without a minus sign in front of it."""
    p = _GRID[1:-1]
    sum_of_logs = _SHARE * np.log(p) + (1.0 - _SHARE) * np.log1p(-p)
    printed, with_minus = (float(p[np.argmin(sign * sum_of_logs)]) for sign in (1.0, -1.0))
    return decide_against(
        stated=abs(printed - _SHARE) < 1e-3,
        reading="a minus stands before the sum",
        under_reading=abs(with_minus - _SHARE) < 1e-3,
        figure=f"{_SHARE:.0%} positive labels: the sum is least at p = {printed:g}, with a minus "
        f"at {with_minus:g}",
        argument="The sum is the log-likelihood. It has no minimum: it falls to −∞ at p = 0 and "
        "p = 1, where some label is impossible, and what the report seeks is its maximum.",
        numbers=[
            stated("minimiser", _SHARE),
            computed("minimiser", printed),
        ],
    )


@claim(
    id="tum-cross-entropy",
    paper="TUM",
    kind="reporting",
    place="section 5.1.2",
    statement="A classifier minimises the cross-entropy ∏ over records of Σ over classes of "
    "1{y = k}·σ(x)_k.",
)
def cross_entropy() -> Finding:
    """The minimiser over shares of two classes, of the product and of minus its logarithm."""
    likelihoods = _GRID**_SHARE * (1.0 - _GRID) ** (1.0 - _SHARE)
    printed = float(_GRID[np.argmin(likelihoods)])
    with np.errstate(divide="ignore"):
        meant = _best(np.log(likelihoods))
    return decide_against(
        stated=abs(printed - _SHARE) < 1e-3,
        reading="minus the logarithm of the product is minimised",
        under_reading=abs(meant - _SHARE) < 1e-3,
        figure=f"classes in shares {_SHARE:g} and {1.0 - _SHARE:g}: the product is least at "
        f"{printed:g}, minus its logarithm at {meant:g}",
        argument="The inner sum picks the probability of the label that was seen, so the product "
        "is the likelihood, and its least value is 0: a classifier that calls what was seen "
        "impossible. The cross-entropy is minus its logarithm.",
        numbers=[
            stated("minimiser", _SHARE),
            computed("minimiser", printed),
        ],
    )


@claim(
    id="tum-scaling-sums",
    paper="TUM",
    kind="reporting",
    place="section 5.3.2",
    statement="The global mean of a feature is 1/n times the sum over j up to n_k of client k's "
    "values, and the standard deviation likewise.",
)
def scaling_sums() -> Finding:
    """Mean and deviation of three clients' values, by one client's sums and by all of them."""
    rng = np.random.default_rng(1)
    clients = [rng.normal(mean, 1.0, size) for mean, size in ((1.0, 20), (2.0, 30), (4.0, 50))]
    together = np.concatenate(clients)
    mean, deviation = float(together.mean()), float(together.std())

    def by(chosen: list[np.ndarray]) -> tuple[float, float]:
        first = sum(float(values.sum()) for values in chosen) / together.size
        second = sum(float((values**2).sum()) for values in chosen) / together.size
        return first, float(np.sqrt(second - first**2))

    printed, meant = by(clients[-1:]), by(clients)
    return decide_against(
        stated=np.allclose(printed, (mean, deviation), rtol=1e-9),
        reading="the sums run over the clients too",
        under_reading=np.allclose(meant, (mean, deviation), rtol=1e-9),
        figure=f"mean and deviation {mean:.3f} and {deviation:.3f}; by one client's sums over n "
        f"{printed[0]:.3f} and {printed[1]:.3f}, by all {meant[0]:.3f} and {meant[1]:.3f}",
        argument="Every client sends its own sums; the server adds them up before it divides by "
        "the number of all records. As printed, k is free and the other clients are left out.",
        numbers=[
            stated("mean", mean),
            computed("mean", printed[0]),
        ],
    )
