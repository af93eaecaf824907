"""The runs: PVI, global VI and DP-PVI on one split with one seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

import pvi
from audits.papers.study import Result
from audits.papers.workshop.adult import AdultClients, divided_adult
from audits.papers.workshop.published import TABLE_1
from audits.papers.workshop.table5.budget import (
    Accountant,
    Batches,
    mechanism,
    sampling,
    updates_within,
)
from audits.papers.workshop.table5.settings import WorkshopSettings
from mechanisms import Setting

GlobalVariant = Literal[
    "records", "clients alike", "clients 1/N", "clients 1/N, own states", "clients 1/N, own scales"
]
GLOBAL_VARIANTS: tuple[GlobalVariant, ...] = get_args(GlobalVariant)


def pvi_job(settings: WorkshopSettings, letter: str, seed: int) -> Result:
    """PVI without noise: clients report at rates 1/N."""
    clients, rng = _clients(settings, letter), _generator(seed, f"{letter}/pvi")
    solver = pvi.GradientSolver(
        rule=pvi.Adagrad(learning_rate=settings.pvi_rate),
        steps=settings.local_steps,
        sampler=pvi.FixedSizeSampling(batch_size=settings.batch_size),
    )
    members = [
        pvi.Client(
            number,
            pvi.WholeShard(model=clients.model, shard=shard, solver=solver),
            damping=settings.damping,
        )
        for number, shard in enumerate(clients.shards)
    ]
    schedule = pvi.Asynchronous.inverse_size(clients.sizes)
    federation = pvi.Federation(clients.prior, members, schedule, rng=rng, record=False)
    trajectory = _Trajectory(clients, settings.pvi_updates, settings.trajectory_points)
    federation.run(
        settings.pvi_updates, callbacks=[lambda e: trajectory.look(e.round, e.posterior)]
    )
    return trajectory.result()


def global_job(
    settings: WorkshopSettings, letter: str, variant: GlobalVariant, seed: int
) -> Result:
    """Global VI: one gradient step per communication.

    "records": drawn from all data alike. "clients alike": a client at random, N/L times its
    gradient. "clients 1/N": at rates 1/N, as in the asynchronous setting. "own states": and every
    client keeps an Adagrad state of its own, as in the authors' public code. "own scales": and
    gradients are scaled by N_m/L, each client's own number of records.
    """
    clients, rng = _clients(settings, letter), _generator(seed, f"{letter}/{variant}")
    size = settings.batch_size
    draws: dict[GlobalVariant, pvi.DataSampling] = {
        "records": pvi.RecordSampling(batch_size=size),
        "clients alike": pvi.ClientSampling(batch_size=size, rates=(1.0,) * len(clients.shards)),
        "clients 1/N": pvi.ClientSampling(batch_size=size),
        "clients 1/N, own states": pvi.ClientSampling(batch_size=size),
        "clients 1/N, own scales": pvi.ClientSampling(batch_size=size, weight="own"),
    }
    trajectory = _Trajectory(clients, settings.global_steps, settings.trajectory_points)
    pvi.global_vi(
        clients.model,
        clients.prior,
        clients.shards,
        rule=pvi.Adagrad(learning_rate=settings.global_rate),
        steps=settings.global_steps,
        sampling=draws[variant],
        own_state=variant.endswith(("own states", "own scales")),
        rng=rng,
        callback=trajectory.look,
    )
    return trajectory.result()


def private_job(
    settings: WorkshopSettings,
    letter: str,
    target: float,
    batches: Batches,
    accountant: Accountant,
    seed: int,
) -> Result:
    """DP-PVI: every client makes as many updates as the accountant allows, at rates 1/N.

    Adagrad's states persist between updates. What the run costs follows from these numbers alone
    (`cost_job`), so that no accountant has to be asked while it runs.
    """
    clients = _clients(settings, letter)
    rng = _generator(seed, f"{letter}/{target}/{batches}/{accountant}")
    row, half = TABLE_1[letter], len(clients.shards) // 2
    small, large = (
        updates_within(accountant, settings, target, kind.delta) for kind in (row.small, row.large)
    )
    order = _reporting_order(clients.sizes, [small] * half + [large] * half, rng)
    schemes = [sampling(settings, batches, size) for size in clients.sizes]
    run = mechanism(settings, *schemes).build(
        Setting(model=clients.model, prior=clients.prior, schedule=_Order(order)),
        clients.shards,
        rng,
        keep_values=False,
    )
    run.federation.record = False
    trajectory = _Trajectory(clients, len(order), settings.trajectory_points)
    run.run(len(order), callbacks=[lambda e: trajectory.look(e.round, e.posterior)])
    return trajectory.result()


def without_trajectory(result: Result) -> Result:
    """The end of a run alone, for those that no figure draws."""
    return {key: value for key, value in result.items() if key != "trajectory"}


def private_end_job(*arguments: Any) -> Result:
    """`private_job` without its trajectory."""
    return without_trajectory(private_job(*arguments))


def global_end_job(*arguments: Any) -> Result:
    """`global_job` without its trajectory."""
    return without_trajectory(global_job(*arguments))


@dataclass(frozen=True, slots=True)
class _Order:
    """A schedule that is known beforehand: one client per round."""

    clients: tuple[int, ...]

    @property
    def stale(self) -> bool:
        """Always False."""
        return False

    def groups(
        self,
        clients: int,
        round: int,  # noqa: A002
        rng: np.random.Generator,
    ) -> list[tuple[int, ...]]:
        """The round's client."""
        return [(self.clients[round - 1],)]


def _reporting_order(
    sizes: Sequence[int], updates: Sequence[int], rng: np.random.Generator
) -> tuple[int, ...]:
    """Clients at rates 1/N until each has made its updates: clocks that stop one after the other.

    Client m's reports come at the sums of exponential waiting times of mean N_m.
    """
    times = [
        np.cumsum(rng.exponential(size, count)) for size, count in zip(sizes, updates, strict=True)
    ]
    who = np.repeat(np.arange(len(sizes)), updates)
    return tuple(int(client) for client in who[np.argsort(np.concatenate(times))])


class _Trajectory:
    """Scores after some of the communications, more often at the beginning, and after the last."""

    def __init__(self, clients: AdultClients, last: int, points: int) -> None:
        self._clients = clients
        self._last = last
        marks = 1 + (last - 1) * np.linspace(0.0, 1.0, points) ** 2
        self._marks = set(np.round(marks).astype(int).tolist())
        self._seen: list[tuple[int, float, float]] = []

    def look(self, communications: int, posterior: pvi.MeanFieldGaussian) -> None:
        """Scores the posterior if it is time."""
        if communications in self._marks:
            score = self._clients.score(posterior)
            self._seen.append(
                (communications, round(score.accuracy, 4), round(score.log_likelihood, 4))
            )

    def result(self) -> Result:
        """The last score, and all of them."""
        communications, accuracy, log_likelihood = zip(*self._seen, strict=True)
        assert communications[-1] == self._last
        return {
            "accuracy": accuracy[-1],
            "log_likelihood": log_likelihood[-1],
            "communications": communications[-1],
            "trajectory": {
                "communications": list(communications),
                "accuracy": list(accuracy),
                "log_likelihood": list(log_likelihood),
            },
        }


def _clients(settings: WorkshopSettings, letter: str) -> AdultClients:
    row = TABLE_1[letter]
    return divided_adult(
        settings.data, rho=row.rho, kappa=row.kappa, prior_variance=settings.prior_variance
    )


def _generator(seed: int, name: str) -> np.random.Generator:
    """A stream of its own for each run."""
    return np.random.default_rng([seed, *name.encode()])
