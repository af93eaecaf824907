"""A whole federation on this machine, with nothing left out: `make federation`.

Three holders and a coordinator, each a process of its own, over Flower with TLS and authenticated
nodes on the loopback. It ends by itself. For the comparison with a run in one process all
randomness follows from a seed, which a permission must allow expressly (`trial_seed`); without that
line the noise comes from the operating system.

    python benchmarks/run_federation.py            over Flower
    python benchmarks/run_federation.py --local    the same without Flower, in seconds
    python benchmarks/run_federation.py --kill flower-superlink
                                                   kills the processes of that name after round 1
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

import numpy as np
import tomli_w

from mechanisms import DPOptimisation, Experiment, Poisson, Prior, Scope
from mechanisms.federated import site
from mechanisms.federated.flower import free_port
from pvi import SGD, LogisticRegression, Shard
from pvi.generator_state import pinned

CLIENTS, RECORDS, DIMENSION, SEED = 3, 200, 4, 11
MOST_SECONDS = 170


def experiment(rounds):
    return Experiment(
        name="three holders",
        mechanism=DPOptimisation(
            clip_norm=1.0,
            noise_multiplier=4.0,
            steps=5,
            rule=SGD(learning_rate=0.2),
            sampling=Poisson(0.2),
            objective_divisor=float(RECORDS),
            damping=0.5,
        ),
        model=LogisticRegression(dimension=DIMENSION),
        clients=CLIENTS,
        rounds=rounds,
        delta=1e-5,
        scopes=(Scope(),),
        prior=Prior(variance=4.0),
    )


def tables():
    """Synthetic records of each holder: inputs and classes."""
    rng = np.random.default_rng(SEED)
    truth = rng.normal(size=DIMENSION)
    for m in range(CLIENTS):
        inputs = rng.normal(size=(RECORDS, DIMENSION)).round(6)
        chance = 1.0 / (1.0 + np.exp(-(inputs @ truth) - 0.3 * m))
        yield inputs, (rng.random(RECORDS) < chance).astype(int)


def command(*arguments):
    start = "import sys; from audits.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", start, *map(str, arguments)]


def invite(folder, file, port, records):
    """Keys and invitations; then what each owner would do by hand."""
    subprocess.run(
        command("serve", file, "--folder", folder, "--prepare", "--port", port), check=True
    )
    for m, (inputs, classes) in enumerate(records):
        own = site.invitation(folder, m)
        names = ",".join(f"x{i}" for i in range(DIMENSION))
        rows = [",".join(map(str, [*row, c])) for row, c in zip(inputs, classes, strict=True)]
        (own / "records.csv").write_text("\n".join([f"{names},target", *rows]) + "\n")
        body = tomllib.loads((own / "permission.toml").read_text())
        (own / "permission.toml").write_text(tomli_w.dumps(body | {"trial_seed": SEED}))


@contextlib.contextmanager
def holders(folder, local):
    """Each a process of its own, with a Flower node of its own."""
    running = []
    try:
        for m in range(CLIENTS):
            own = site.invitation(folder, m)
            node = [] if local else ["--node", own / "node.toml"]
            with (own / "holder.log").open("wb") as log:
                running.append(
                    subprocess.Popen(
                        command(
                            *("join", own / "permission.toml", "--socket", site.door(folder, m)),
                            *("--idle", 120, *node),
                        ),
                        stdout=log,
                        stderr=subprocess.STDOUT,
                    )
                )
        yield running
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(30)


def kill_after_a_round(folder, progress, name):
    """Kills Flower's processes of a name once a round has been made; none but this federation's."""
    while not (progress.exists() and '"round_ended"' in progress.read_text()):
        time.sleep(0.2)
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            of_ours = any(os.fsencode(folder) in word for word in words)
            if of_ours and any(word.endswith(name.encode()) for word in words):
                os.kill(int(entry.parent.name), signal.SIGKILL)
                print(f"killed {name}, process {entry.parent.name}", flush=True)


def in_process(planned, records):
    shards = [Shard.from_classes(inputs, classes) for inputs, classes in records]
    run = planned.build(shards, np.random.default_rng(SEED))
    run.federation.client_rng = pinned(SEED)
    run.run(planned.rounds)
    return run.posterior


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local", action="store_true", help="without Flower")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=30.0)
    parser.add_argument("--most-seconds", type=float, default=MOST_SECONDS)
    parser.add_argument("--kill", metavar="NAME", help="of Flower's processes, after a round")
    given = parser.parse_args()
    planned, records, port = experiment(given.rounds), list(tables()), free_port()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fed") as name:
        folder, file = Path(name) / "f", Path(name) / "experiment.toml"
        file.write_text(planned.to_toml())
        invite(folder, file, port, records)
        options = ["--local"] if given.local else ["--port", port]
        progress = Path(name) / "progress"
        if given.kill:
            arguments = (folder, progress, given.kill)
            threading.Thread(target=kill_after_a_round, args=arguments, daemon=True).start()
        with holders(folder, given.local):
            served = subprocess.run(
                command(
                    *("serve", file, "--folder", folder, "--seed", SEED, "--json"),
                    *("--progress", progress),
                    *("--patience", given.patience, *options),
                ),
                check=True,
                stdout=subprocess.PIPE,
                timeout=given.most_seconds,
            )
        found = json.loads(served.stdout)
        ended = [json.loads(line) for line in progress.read_text().splitlines()]
        seconds = [round(one["seconds"], 1) for one in ended if one["event"] == "round_ended"]
        print(f"seconds of the rounds: {seconds}")
        posterior = in_process(planned, records)
        same = (
            found["mean"] == posterior.mean.tolist()
            and found["std"] == np.sqrt(posterior.variance).tolist()
        )
        print(f"{given.rounds} rounds with {CLIENTS} holders in {time.monotonic() - began:.0f} s")
        print(f"posterior equal to that of one process, bit for bit: {same}")
        held = True
        for m in range(CLIENTS):
            own = site.invitation(folder, m)
            print(f"holder {m} certifies:")
            print(end="", flush=True)
            subprocess.run(command("join", own / "permission.toml", "--certificate"), check=True)
            said = found["holders"][str(m)]
            held = held and said["spent"] <= said["limit"]
        print(f"all budgets hold: {held}")
    return 0 if same and held else 1


if __name__ == "__main__":
    sys.exit(main())
