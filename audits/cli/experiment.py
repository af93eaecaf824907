"""`dp-assay plan`, `run` and `assay`: an experiment in a file, before, while and after it runs."""

import argparse
import contextlib
import json
import math
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dp_accounting as dpa
import numpy as np

from accountants import validate
from audits.cli import Commands, executors, options, training
from audits.cli.numbers import number
from audits.wording import interval

if TYPE_CHECKING:
    from audits.assay import Assay
    from audits.claims import Claim
    from mechanisms import Experiment, Run, Scope, ScopedCost
    from pvi import Shard

_MOST_MESSAGES = 1_000_000
_PATIENCE = 2.0  # for those who only ask whether someone runs here
_PLAN_EXAMPLE = """\
example:
  dp-assay plan experiment.toml

docs/experiment.toml is one to begin with. Nothing runs and no data are needed.
"""
_RUN_EXAMPLE = """\
example:
  dp-assay run experiment.toml --data records.csv --target income --client site

CSV files have a header; all columns but the target and the client are inputs. NPZ files have the
arrays inputs, target and client. Without a client's column the records are cut into equal parts.

With --checkpoint a run that was ended goes on where it was: give the same command again. That file
is as private as the data. Held-out records belong to no client, and no certificate speaks of them.
"""
_ASSAY_EXAMPLE = """\
examples:
  dp-assay assay experiment.toml
      puts each scope's certificate to the test
  dp-assay assay experiment.toml --noise-multiplier 5
      and a claim: each round costs what one Gaussian of this noise multiplier does

Exit code 1 if a claim is contradicted, or a certificate by draws; 0 if not, which is no proof; 2
for bad input.
"""


def add(commands: Commands) -> None:
    """Adds the three sub-commands."""
    plan = commands.add_parser(
        "plan",
        help="what an experiment in a file will cost, before it runs",
        description="Certifies each scope of the experiment, or says why there is no proof.",
        epilog=_PLAN_EXAMPLE,
    )
    plan.set_defaults(run=_plan)
    run = commands.add_parser(
        "run",
        help="run an experiment on data in a file, and certify what it did cost",
        description="Runs the experiment in this process, on simulated clients.",
        epilog=_RUN_EXAMPLE,
    )
    run.add_argument(
        "--data", required=True, metavar="FILE", help="CSV, NPZ or Parquet, by its ending"
    )
    run.add_argument("--target", default="target", metavar="NAME", help='default "target"')
    run.add_argument("--client", default="client", metavar="NAME", help='default "client"')
    options.add_seed(run)
    run.add_argument("--held-out", metavar="FILE", help="records to score each round on, as --data")
    run.add_argument(
        "--limit",
        type=number,
        metavar="ε",
        help="a client whose next update would take it beyond this ε, at the file's δ and in its "
        "first scope, is left out",
    )
    run.add_argument(
        "--checkpoint", metavar="FILE", help="saved after each round, and gone on from"
    )
    run.add_argument("--progress", metavar="FILE", help="events of each round, as lines of JSON")
    run.add_argument(
        "--transcript",
        metavar="FILE",
        help="what was released, as JSON; clients' messages only if every scope shows them",
    )
    run.set_defaults(run=_run)
    assay = commands.add_parser(
        "assay",
        help="certificate and audit of an experiment, in one",
        description="Draws what each scope's adversary sees on the worst neighbouring data, and "
        "holds it against\nthe certificate and against a claim, if there is one.",
        epilog=_ASSAY_EXAMPLE,
    )
    training.add_noise(assay, required=False)
    assay.add_argument("--epsilon", type=number, metavar="ε", help="a claim: ε at the file's δ")
    options.add_limits(assay, samples=20_000)
    options.add_seed(assay)
    executors.add_executors(assay, default=1)
    assay.set_defaults(run=_assay)
    for parser in (plan, run, assay):
        parser.add_argument("file", metavar="FILE", help="the experiment, TOML or JSON")
        options.add_json(parser)


def load(file: Path) -> "Experiment":
    """The experiment in a file; refused where it is too large to plan."""
    from mechanisms import Experiment

    try:
        _refuse_the_endless(file)
        return Experiment.load(file)
    except RecursionError as error:
        raise ValueError(f"`FILE` must be nested less deeply, got {file.name}.") from error


def _refuse_the_endless(file: Path) -> None:
    """A plan has an entry for every message: a number too many in a file would take days."""
    readers: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".json": json.loads}
    body: Any = None
    if file.suffix in readers:
        with contextlib.suppress(ValueError):  # said better by whoever reads it in earnest
            body = readers[file.suffix](file.read_text(encoding="utf-8"))
    numbers = [body.get(name) for name in ("clients", "rounds")] if isinstance(body, dict) else []
    if math.prod(one for one in numbers if isinstance(one, int)) > _MOST_MESSAGES:
        raise ValueError(
            f"`clients` times `rounds` must be at most {_MOST_MESSAGES:,} in {file.name}, got more."
        )


def _plan(given: argparse.Namespace) -> int:
    experiment = load(Path(given.file))
    costs = experiment.plan()
    if given.json:
        print(json.dumps({"name": experiment.name, "plan": [_as_json(c) for c in costs]}, indent=2))
    else:
        print(title(experiment))
        print(_table(costs, experiment.delta))
    return 0


def _run(given: argparse.Namespace) -> int:
    from mechanisms import cost_by_scope
    from mechanisms.transcript_file import public_json
    from pvi.files import write_atomically

    experiment = load(Path(given.file))
    for option in ("checkpoint", "progress", "transcript"):
        if (path := getattr(given, option)) is not None:
            options.check_writable(f"--{option}", Path(path))
    print(f"running {experiment.rounds} rounds", file=sys.stderr)
    with alone(given.checkpoint):
        run = _observed(experiment, given)
    if given.transcript is not None:
        text = public_json(run.transcript, experiment.scopes)
        write_atomically(given.transcript, text.encode("ascii"))
    costs = cost_by_scope(run.transcript, experiment.scopes, experiment.delta)
    estimate = _estimate(run)
    if given.json:
        answer = {"name": experiment.name, **estimate, "costs": [_as_json(c) for c in costs]}
        print(json.dumps(answer, indent=2))
        return 0
    print(title(experiment))
    deviations = estimate.get("std", [None] * len(estimate["mean"]))
    for index, (mean, std) in enumerate(zip(estimate["mean"], deviations, strict=True)):
        print(f"  θ[{index}] = {mean:.6g}" + ("" if std is None else f" ± {std:.3g}"))
    print(_table(costs, experiment.delta))
    return 0


def _observed(experiment: "Experiment", given: argparse.Namespace) -> "Run":
    """The run, with what was asked for beside it."""
    from mechanisms import Budget
    from mechanisms.observed import observed_run
    from mechanisms.progress_file import ProgressWriter
    from pvi.data import read_shards
    from pvi.data.tables import read_records

    names = {"target": given.target, "client": given.client}
    shards = read_shards(Path(given.data), clients=experiment.clients, **names)
    held_out = budget = None
    if given.held_out is not None:
        records = read_records(Path(given.held_out), **names)
        held_out = fitting(experiment, "--held-out", [records])[0]
    if given.limit is not None:
        budget = Budget(
            target_epsilon=validate.positive("--limit", given.limit),
            delta=experiment.delta,
            scope=experiment.scopes[0],
        )
    with contextlib.ExitStack() as stack:
        observer = given.progress and stack.enter_context(ProgressWriter(given.progress))
        return observed_run(
            experiment,
            fitting(experiment, "--data", shards),
            np.random.default_rng(validate.count("--seed", given.seed, minimum=0)),
            observer=observer,
            checkpoint=given.checkpoint,
            held_out=held_out,
            budget=budget,
        )


@contextlib.contextmanager
def alone(checkpoint: str | None) -> Iterator[None]:
    """Two runs that wrote one checkpoint would each undo what the other has done."""
    if checkpoint is None:
        yield
        return
    from mechanisms.durable import exclusive

    with contextlib.ExitStack() as stack:
        try:
            mark = stack.enter_context(exclusive(Path(checkpoint), patience=_PATIENCE))
        except BlockingIOError:
            raise ValueError(
                f"`--checkpoint` must be a file that no other run is at, got {checkpoint!r}."
            ) from None
        mark.write("process", os.getpid())
        yield


def fitting(experiment: "Experiment", option: str, shards: "list[Shard]") -> "list[Shard]":
    """Records as the model has them: classes 0 and 1 become −1 and +1 of logistic regression."""
    from pvi import LogisticRegression, Shard

    if shards[0].inputs.shape[-1] != experiment.model.dimension:
        raise ValueError(
            f"`{option}` must have {experiment.model.dimension} columns of inputs, as the "
            f"experiment's model, got {shards[0].inputs.shape[-1]}."
        )
    classes = all(np.isin(shard.targets, (0.0, 1.0)).all() for shard in shards)
    if isinstance(experiment.model, LogisticRegression) and classes:
        return [Shard.from_classes(shard.inputs, shard.targets) for shard in shards]
    return shards


def _estimate(run: "Run") -> dict[str, list[float]]:
    from mechanisms import PrivateRun

    found = {"mean": run.estimate.tolist()}
    if isinstance(run, PrivateRun):
        found["std"] = np.sqrt(run.posterior.variance).tolist()
    return found


def _assay(given: argparse.Namespace) -> int:
    from audits.assay import assay

    experiment = load(Path(given.file))
    limits, seed = options.read_limits(given), options.read_seed(given)
    rng = np.random.default_rng(seed)
    claims = [_claim(given, experiment, scope) for scope in experiment.scopes]
    with executors.executor_of(given) as executor:
        found = [
            assay(experiment, scope=scope, claim=claim, rng=rng, executor=executor, **limits)
            for scope, claim in zip(experiment.scopes, claims, strict=True)
        ]
    found = [replace(one, verdict=one.verdict.seeded_by(seed)) for one in found]
    if given.json:
        print(json.dumps([json.loads(one.to_json()) for one in found], indent=2))
    else:
        print(title(experiment))
        print(*(one.explain() for one in found), sep="\n\n")
    return 1 if any(_is_bad(one) for one in found) else 0


def _is_bad(found: "Assay") -> bool:
    return found.contradicted or not found.consistent


def _claim(given: argparse.Namespace, experiment: "Experiment", scope: "Scope") -> "Claim | None":
    from audits.claims import EventClaim, PointClaim
    from mechanisms.primitives.sampling import repeated

    if given.noise_multiplier is not None and given.epsilon is not None:
        raise ValueError("the claim must be one of --noise-multiplier and --epsilon, got both.")
    if given.noise_multiplier is not None:
        round_event = dpa.GaussianDpEvent(training.read_noise(given))
        return EventClaim(repeated(round_event, experiment.rounds), relation=scope.relation)
    if given.epsilon is not None:
        epsilon = validate.non_negative("--epsilon", given.epsilon)
        return PointClaim(epsilon, experiment.delta, relation=scope.relation)
    return None


def title(experiment: "Experiment") -> str:
    """What is run, in a line."""
    name = f"{experiment.name}: " if experiment.name else ""
    kind = type(experiment.mechanism).__name__
    return f"{name}{kind}, {experiment.clients} clients, {experiment.rounds} rounds"


def _table(costs: "Sequence[ScopedCost]", delta: float) -> str:
    lines = []
    for cost in costs:
        if cost.certificate is None:
            lines.append(f"  {cost.scope!s:<45} no certificate: {cost.refusal}")
        else:
            bounds = cost.certificate.bounds(delta)
            lines.append(f"  {cost.scope!s:<45} ε in {interval(bounds)} at δ = {delta:g}")
    return "\n".join(lines)


def _as_json(cost: "ScopedCost") -> dict[str, Any]:
    certificate = None if cost.certificate is None else json.loads(cost.certificate.to_json())
    return {"scope": str(cost.scope), "certificate": certificate, "refusal": cost.refusal}
