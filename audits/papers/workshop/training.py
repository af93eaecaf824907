"""The Workshop's results on Adult that need training: slow, run on demand, seed 0."""

import functools

import numpy as np

import pvi
from audits.papers import costs
from audits.papers.ledger import Finding, claim, decide, decide_against, decide_if
from audits.papers.numbers import Number, measured, stated
from audits.papers.workshop.adult import AdultClients
from audits.papers.workshop.published import (
    ADULT_RECORDS,
    LOCAL_STEPS,
    NOISE,
    RATE,
    TABLE_1,
    TABLE_5,
    TRAINING,
)
from mechanisms import SERVER, Budget, DPOptimisation, Poisson, Setting
from pvi.data import holdout, load_adult, split

SEED = 0
SPLITS = ("A", "C")
PVI_PRINTED, PRIVATE_PRINTED = (
    {letter: TABLE_5[method, letter].accuracy for letter in SPLITS}
    for method in ("PVI", "DP-PVI 1")
)
GLOBAL_PRINTED = TABLE_5["global VI", "C"].accuracy
# Two test sets of 9768 records, each with a standard error of 0.36 points: three of √2·0.36.
CLOSE = 1.5


class _Runs:
    """One split of Adult with the Workshop's model; settings of its Appendix D."""

    def __init__(self, letter: str) -> None:
        data, row = load_adult(), TABLE_1[letter]
        train, test = holdout(len(data), TRAINING, np.random.default_rng(SEED))
        rng = np.random.default_rng(SEED + 1)
        parts = split(data.labels[train], 10, rho=row.rho, kappa=row.kappa, rng=rng)
        rows = [train[rows] for rows in parts.clients]
        self.clients = AdultClients.of(data, rows, test, prior_variance=1.0)
        self.model, self.prior = self.clients.model, self.clients.prior
        self.shards = self.clients.shards

    def accuracy(self, q: pvi.MeanFieldGaussian) -> float:
        """Test accuracy in per cent."""
        return self.clients.score(q).accuracy

    def partitioned(self) -> float:
        """PVI: 1000 asynchronous updates at rates 1/N."""
        solver = pvi.GradientSolver(
            rule=pvi.Adagrad(learning_rate=2.0),
            steps=25,
            sampler=pvi.FixedSizeSampling(batch_size=100),
        )
        clients = [
            pvi.Client(m, pvi.WholeShard(model=self.model, shard=shard, solver=solver), damping=0.1)
            for m, shard in enumerate(self.shards)
        ]
        schedule = pvi.Asynchronous.inverse_size(self.clients.sizes)
        rng = np.random.default_rng(SEED + 2)
        run = pvi.Federation(self.prior, clients, schedule, rng=rng, record=False).run(1000)
        return self.accuracy(run.posterior)

    def pooled(self, sampling: pvi.DataSampling, *, own_state: bool = False) -> float:
        """Global VI: 15,000 gradient steps."""
        q = pvi.global_vi(
            self.model,
            self.prior,
            self.shards,
            rule=pvi.Adagrad(learning_rate=0.05),
            steps=15_000,
            sampling=sampling,
            own_state=own_state,
            rng=np.random.default_rng(SEED + 3),
        )
        return self.accuracy(q)

    def private(self, target_epsilon: float, seed: int) -> float:
        """DP-PVI: as many updates per client as the moments accountant allows, Poisson batches.

        Gradients are clipped at 75 after scaling by N/L = 50 (workshop-clip-norm), hence at 1.5
        before it.
        """
        updates = costs.steps_within(target_epsilon, NOISE, RATE, 1e-4) // LOCAL_STEPS
        cost = costs.poisson(NOISE, RATE, LOCAL_STEPS * updates, 1e-4).upper
        run = DPOptimisation(
            clip_norm=75.0 * RATE,
            noise_multiplier=NOISE,
            steps=LOCAL_STEPS,
            rule=pvi.Adagrad(learning_rate=0.5),
            sampling=Poisson(RATE),
            damping=0.1,
        ).build(
            Setting(
                model=self.model,
                prior=self.prior,
                schedule=pvi.Asynchronous.inverse_size(self.clients.sizes),
            ),
            self.shards,
            np.random.default_rng(seed),
            budget=Budget(target_epsilon=cost * (1.0 + 1e-6), delta=1e-4),
            keep_values=False,
        )
        run.federation.record = False
        while sum(release.sender != SERVER for release in run.transcript) < 10 * updates:
            run.run(200)
        return self.accuracy(run.posterior)


_runs = functools.cache(_Runs)


def _beside(printed: dict[str, float], ours: dict[str, float]) -> list[Number]:
    """Printed and measured accuracies by split."""
    return [
        number
        for letter, value in ours.items()
        for label in [f"accuracy on {letter} (%)"]
        for number in (stated(label, printed[letter]), measured(label, value))
    ]


@claim(
    id="workshop-pvi-accuracy",
    paper="Workshop",
    kind="reporting",
    place="Table 5, row PVI",
    statement="Non-private PVI reaches about 85.2% on the homogeneous split A and 85.1% on C.",
    slow=True,
)
def pvi_accuracy() -> Finding:
    """PVI on splits A and C with the settings of Appendix D, one seed."""
    ours = {letter: _runs(letter).partitioned() for letter in SPLITS}
    close = all(abs(ours[letter] - printed) < CLOSE for letter, printed in PVI_PRINTED.items())
    return decide(
        close,
        figure=", ".join(f"{letter}: {value:.2f}%" for letter, value in ours.items()),
        argument="One seed, another random test set (whose standard error is 0.36 points), prior "
        "variance 1 and 1000 updates, which the paper does not name.",
        numbers=_beside(PVI_PRINTED, ours),
    )


@claim(
    id="workshop-global-vi-unequal",
    paper="Workshop",
    kind="reporting",
    place="section 3, Results; Table 5",
    statement="Where clients report at rates 1/N, global VI ends at 53.96% on split C, far behind "
    "PVI.",
    slow=True,
)
def global_vi_unequal() -> Finding:
    """Global VI on split C under five ways to choose records and to keep Adagrad's state."""
    runs = _runs("C")
    ours = {
        "records": runs.pooled(pvi.RecordSampling(batch_size=100)),
        "clients at 1/N, importance weights": runs.pooled(
            pvi.ClientSampling(batch_size=100, weight="importance")
        ),
        "clients uniformly": runs.pooled(pvi.ClientSampling(batch_size=100, rates=(1.0,) * 10)),
        "clients at 1/N": runs.pooled(pvi.ClientSampling(batch_size=100)),
        "clients at 1/N, own states": runs.pooled(
            pvi.ClientSampling(batch_size=100), own_state=True
        ),
    }
    near = {name: abs(value - GLOBAL_PRINTED) < 3.0 for name, value in ours.items()}
    return decide_if(
        condition="reports are not weighted by 1/rate and each client keeps its own Adagrad state; "
        "global VI that draws records alike, or weights reports, is as good on C as on A",
        with_condition=near["clients at 1/N, own states"],
        without=all(near.values()),
        figure="; ".join(f"{name}: {value:.2f}%" for name, value in ours.items()),
        argument="With records drawn uniformly, global VI does not see how data are distributed. "
        "Clients that report at rates 1/N without weights optimise another objective, in which "
        "small clients count for more; the paper says so itself, of gradients whose size does not "
        "depend on N. In the code that it points to, each client also runs an Adagrad of its own; "
        "with both, one seed comes within 3 points of the printed mean. The figure belongs to that "
        "way of sampling, and is not what global VI can do on these data.",
        numbers=[
            number
            for name, value in ours.items()
            for number in (stated(name, GLOBAL_PRINTED), measured(name, value))
        ],
    )


@claim(
    id="workshop-dp-pvi-accuracy",
    paper="Workshop",
    kind="reporting",
    place="Table 5, rows DP-PVI",
    statement="With a budget of ε_max = 1, DP-PVI reaches about 85.0% on split A and 82.5% on C.",
    slow=True,
)
def dp_pvi_accuracy() -> Finding:
    """DP-PVI with Poisson batches on splits A and C, 124 updates per client, one seed."""
    ours = {letter: _runs(letter).private(1.0, SEED + 5) for letter in SPLITS}
    close = all(abs(ours[letter] - printed) < CLOSE for letter, printed in PRIVATE_PRINTED.items())
    return decide(
        close,
        figure=", ".join(f"{letter}: {value:.2f}%" for letter, value in ours.items()),
        argument="The noise and steps are those of the paper, the batches Poisson samples, for "
        "which the accounting holds; Adagrad's state persists between rounds.",
        numbers=_beside(PRIVATE_PRINTED, ours),
    )


@claim(
    id="workshop-five-seeds",
    paper="Workshop",
    kind="reporting",
    place="section 3, Results; Table 5",
    statement="Accuracies of DP-PVI are means over five random seeds, with standard deviations "
    "of 0.00 percentage points in seven of nine cells.",
    slow=True,
)
def five_seeds() -> Finding:
    """DP-PVI on split A at ε_max = 0.5 with five seeds, the data and their division kept."""
    runs = _runs("A")
    ours = np.array([runs.private(0.5, SEED + 100 + k) for k in range(5)])
    unit = 100.0 / (ADULT_RECORDS - TRAINING)
    # The deviation of five counts of which one differs by one record: √(4/25) records.
    one_record = 0.4 * unit
    return decide_against(
        stated=float(ours.std()) < 0.005,
        reading="those cells are one run each, or five with one stream of noise: ±0.00 leaves room "
        "for a difference of one test record",
        under_reading=one_record < 0.005 <= 2.0 * one_record,
        figure=f"{', '.join(f'{value:.2f}' for value in ours)}: ± {ours.std():.3f}; one of "
        f"{ADULT_RECORDS - TRAINING} test records is {unit:.4f} points",
        argument="Accuracy counts test records, so that 0.00 means that five runs agree to one "
        "record. Independent noise of multiplier 5 does not do that, here with fixed data and in "
        "the two cells of Table 5 that have ±0.15 and ±0.14.",
        numbers=[
            stated("standard deviation of accuracies (points)", 0.0, 0.005),
            measured("standard deviation of accuracies (points)", float(ours.std())),
        ],
    )
