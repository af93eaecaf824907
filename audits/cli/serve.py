"""`dp-assay serve`: the coordinator of an experiment over holders."""

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountants import validate
from audits.cli import Commands, options
from audits.cli import experiment as files

if TYPE_CHECKING:
    from mechanisms import Experiment
    from mechanisms.federated import Coordinator, Courier

_PORT = 8943
_EXAMPLE = """\
examples:
  dp-assay serve experiment.toml --folder fed --prepare --host server.example.org
      makes keys, and fed/invitations/0, 1, …: one to be carried to each holder
  dp-assay serve experiment.toml --folder fed
      makes the rounds over Flower (TLS, authenticated nodes), until all are made
  dp-assay serve experiment.toml --folder fed --local
      the same with holders of this machine, at fed/invitations/*/holder.sock

What was made is kept in the folder: give the same command again after a crash.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    serve = commands.add_parser(
        "serve",
        help="run an experiment over holders on other machines",
        description="Makes an experiment's rounds with data owners who each run `dp-assay join`. "
        "It sees what they\nsend, and can make them spend no more than they allow.",
        epilog=_EXAMPLE,
    )
    serve.add_argument("file", metavar="FILE", help="the experiment, TOML or JSON")
    serve.add_argument(
        "--folder", required=True, metavar="FOLDER", help="keys, invitations and state"
    )
    serve.add_argument("--prepare", action="store_true", help="make the folder, and no more")
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="NAME", help="of this server, default 127.0.0.1"
    )
    serve.add_argument(
        "--port", type=int, default=_PORT, metavar="N", help=f"of this server, default {_PORT}"
    )
    serve.add_argument(
        "--listen", default="127.0.0.1", metavar="ADDRESS", help="where to, default loopback only"
    )
    serve.add_argument("--local", action="store_true", help="holders of this machine, no Flower")
    serve.add_argument(
        "--patience", type=float, default=60.0, metavar="SECONDS", help="for an answer, default 60"
    )
    serve.add_argument(
        "--attempts", type=int, default=5, metavar="N", help="questions in a round, default 5"
    )
    serve.add_argument("--held-out", metavar="FILE", help="records to score each round on")
    serve.add_argument("--target", default="target", metavar="NAME", help='default "target"')
    serve.add_argument("--progress", metavar="FILE", help="events of each round, lines of JSON")
    serve.add_argument("--transcript", metavar="FILE", help="what was released, as JSON")
    options.add_seed(serve)
    options.add_json(serve)
    serve.set_defaults(run=_serve)


def _serve(given: argparse.Namespace) -> int:
    from mechanisms.federated import site

    experiment = files.load(Path(given.file))
    folder = Path(given.folder)
    port = validate.count("--port", given.port, maximum=65535)
    if given.prepare:
        if folder.exists():
            raise ValueError(f"`--folder` must not exist yet, got {folder}.")
        site.prepare(folder, experiment, host=given.host, port=port)
        print(f"invitations for {experiment.clients} holders are in {folder / 'invitations'}")
        return 0
    if not folder.is_dir():
        raise ValueError(f"`--folder` must have been made with --prepare, got {folder}.")
    for option in ("progress", "transcript"):
        if (path := getattr(given, option)) is not None:
            options.check_writable(f"--{option}", Path(path))
    with files.alone(str(folder / "checkpoint")):
        run = _run(experiment, given, folder, port)
    if given.transcript is not None:
        from mechanisms.transcript_file import public_json
        from pvi.files import write_atomically

        text = public_json(run.transcript, experiment.scopes)
        write_atomically(given.transcript, text.encode("ascii"))
    _print(experiment, run, as_json=given.json)
    return 0


def _run(
    experiment: "Experiment", given: argparse.Namespace, folder: Path, port: int
) -> "Coordinator":
    """All rounds that are missing."""
    from mechanisms.federated import Coordinator, site
    from mechanisms.progress_file import ProgressWriter
    from pvi.data.tables import read_records

    held_out = None
    if given.held_out is not None:
        records = read_records(Path(given.held_out), target=given.target)
        held_out = files.fitting(experiment, "--held-out", [records])[0]
    patience = validate.positive("--patience", given.patience)
    seed = validate.count("--seed", given.seed, minimum=0)
    with contextlib.ExitStack() as stack:
        observer = None
        if given.progress is not None:
            observer = stack.enter_context(ProgressWriter(given.progress))
        courier: Courier
        if given.local:
            from mechanisms.federated import LocalSockets

            doors = {m: site.door(folder, m) for m in range(experiment.clients)}
            courier = LocalSockets(doors, patience=patience)
        else:
            from mechanisms.federated.flower import FlowerCourier

            courier = stack.enter_context(
                FlowerCourier(folder, host=given.listen, port=port, patience=patience)
            )
        run = Coordinator(
            experiment,
            site.seals(folder, experiment.clients),
            courier,
            rng=np.random.default_rng(seed),
            checkpoint=folder / "checkpoint",
            observer=observer,
            held_out=held_out,
            attempts=validate.count("--attempts", given.attempts),
        )
        print(f"{experiment.rounds - run.round} rounds to make", file=sys.stderr)
        run.run()
    return run


def _print(experiment: "Experiment", run: "Coordinator", *, as_json: bool) -> None:
    mean = run.estimate.tolist()
    std = None if run.averages else np.sqrt(run.posterior.variance).tolist()
    said = {
        client: {"spent": one.spent, "limit": one.limit, "delta": one.delta, "scope": one.scope}
        for client, one in sorted(run.statements.items())
    }
    if as_json:
        answer = {"name": experiment.name, "mean": mean, "std": std, "holders": said}
        print(json.dumps(answer, indent=2))
        return
    print(files.title(experiment))
    for number, value in enumerate(mean[:20]):
        print(f"  θ[{number}] = {value:.6g}" + ("" if std is None else f" ± {std[number]:.3g}"))
    if len(mean) > 20:
        print(f"  … and {len(mean) - 20} more")
    for client, own in said.items():
        spent = "nothing finite" if own["spent"] is None else f"{own['spent']:.6g}"
        print(
            f"  holder {client} says: ε ≤ {spent} of {own['limit']:g} spent at "
            f"δ = {own['delta']:g} ({own['scope']})"
        )
    for client, why in sorted(run.left_out.items()):
        print(f"  client {client} was left out: {why}")
