"""How Adult falls to clients, beside TMLR's Tables 2 and 3."""

from collections.abc import Sequence

import numpy as np

from audits.papers.study import Cost, Job, Result, Results, Row, Table
from audits.papers.tmlr.adult.data import Division, Source, load
from audits.papers.tmlr.adult.runs import Experiment
from audits.papers.tmlr.published import TABLES_2_AND_3


def split_job(source: Source, division: Division, clients: int) -> Result:
    """Sizes and shares of the majority class, means over small and over large clients."""
    learn, _ = load(source, "test", bias=True)
    found = division.of(learn, clients, np.random.default_rng((0, 0)))
    shares, half = found.shares(learn.labels, 0), clients // 2
    return {
        "records": [found.sizes[0], found.sizes[-1]],
        "majority": [round(float(np.mean(own)), 4) for own in (shares[:half], shares[half:])],
    }


def split_jobs(
    experiments: Sequence[Experiment], source: Source, divisions: Sequence[Division]
) -> list[Job]:
    """One for each division and number of clients."""
    return [
        Job(key=_key(clients, division), function=split_job, arguments=(source, division, clients))
        for clients in _numbers(experiments)
        for division in divisions
    ]


def splits_table(
    experiments: Sequence[Experiment], divisions: Sequence[Division], results: Results
) -> Table:
    """Ours beside the paper's."""
    rows = []
    for clients in _numbers(experiments):
        for division in divisions:
            ours = results[_key(clients, division)]
            theirs = TABLES_2_AND_3.get((clients, division.name))
            cells = (
                str(clients),
                division.name,
                f"{division.rho:g}",
                f"{division.kappa:g}",
                *map(str, ours["records"]),
                "–" if theirs is None else str(theirs.small_records),
                *(f"{share:.4f}" for share in ours["majority"]),
                *("––" if theirs is None else (f"{share:g}" for share in theirs[1:])),
            )
            rows.append(Row(cells=cells, cost=Cost.without_noise()))
    return Table(
        title="How Adult is divided (TMLR, Tables 2 and 3)",
        columns=(
            "clients",
            "split",
            "ρ",
            "κ",
            "records, small",
            "records, large",
            "published records, small (TMLR)",
            "majority, small",
            "majority, large",
            "published majority, small (TMLR)",
            "published majority, large (TMLR)",
        ),
        rows=tuple(rows),
        note="Exact counts of the data, which is why their cost is infinite: in the paper they are "
        "taken to be public. Shares are means over the clients of a kind, on seed 0; the published "
        "ones of large clients are marked as approximate for 10 clients, and may be of one client "
        "for 200. One half of the records trains: that gives the sizes of the paper's tables; its "
        "text (Appendix B) says 80%. Table 2 prints 76 for .76.",
    )


def _numbers(experiments: Sequence[Experiment]) -> list[int]:
    return sorted({experiment.clients for experiment in experiments})


def _key(clients: int, division: Division) -> str:
    return f"split/{clients} clients/{division.name}"
