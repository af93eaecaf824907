"""A coordinator's folder: its keys, and an invitation for each holder to be carried there by hand.

An invitation holds what a holder and its courier need to take part: the experiment to read, the key
that only this holder and the coordinator know, the node's key for Flower, the certificate by which
the server is known, and a permission to be looked at and changed. It is as secret as its keys.
"""

import math
import shutil
from pathlib import Path

import tomli_w

from accountants import validate
from mechanisms.experiment import Experiment
from mechanisms.federated.keys import make_node_key, make_server_keys
from mechanisms.federated.permission import MECHANISMS
from mechanisms.federated.seal import Seal, new_key
from mechanisms.scope import Scope


def prepare(folder: Path, experiment: Experiment, *, host: str, port: int) -> None:
    """Makes the folder: keys, and an invitation for each client.

    Args:
      folder: Where to; must not exist yet.
      experiment: What will be run.
      host: The server's name or address, as holders reach it.
      port: Its port.
    """
    validate.instance("experiment", experiment, Experiment)
    validate.count("port", port, maximum=65535)
    validate.text("host", host)
    folder.mkdir(mode=0o700, parents=True)
    (folder / "experiment.json").write_text(experiment.to_json(), encoding="utf-8")
    make_server_keys(folder, list(dict.fromkeys([host, "127.0.0.1", "localhost"])))
    for client in range(experiment.clients):
        _invite(folder, experiment, client, f"{host}:{port}")


def invitation(folder: Path, client: int) -> Path:
    """Where a client's invitation is."""
    return folder / "invitations" / str(client)


def door(folder: Path, client: int) -> Path:
    """Where a holder of this very machine answers, in a trial."""
    return invitation(folder, client) / "holder.sock"


def seals(folder: Path, clients: int) -> dict[int, Seal]:
    """The keys that the coordinator shares with each holder."""
    return {m: Seal.load(folder / "seals" / f"{m}.key") for m in range(clients)}


def _invite(folder: Path, experiment: Experiment, client: int, server: str) -> None:
    own = invitation(folder, client)
    own.mkdir(mode=0o700, parents=True)
    (folder / "seals").mkdir(mode=0o700, exist_ok=True)
    (folder / "nodes").mkdir(mode=0o700, exist_ok=True)
    new_key(own / "seal.key")
    shutil.copy2(own / "seal.key", folder / "seals" / f"{client}.key")
    make_node_key(own)
    shutil.copy2(own / "node.pub", folder / "nodes" / f"{client}.pub")
    shutil.copy2(folder / "ca.pem", own / "ca.pem")
    (own / "experiment.json").write_text(experiment.to_json(), encoding="utf-8")
    (own / "node.toml").write_text(tomli_w.dumps({"server": server}), encoding="utf-8")
    text = tomli_w.dumps(_proposal(experiment, client))
    (own / "permission.toml").write_text(_HEAD + text, encoding="utf-8")


_HEAD = """\
# What the coordinator would like to be allowed. Your holder obeys this file and nobody else:
# read it, and experiment.json beside it, and change what you do not agree to.
"""


def _proposal(experiment: Experiment, client: int) -> dict[str, object]:
    """A permission for just this experiment, with its planned cost as the budget."""
    own = experiment.mechanism.contributions(experiment.layout)[client]
    scope = next((scope for scope in experiment.scopes if scope.view.kind == "messages"), Scope())
    words = [word for word, kind in MECHANISMS.items() if type(experiment.mechanism) is kind]
    upper = experiment.certify(scope).bounds(experiment.delta).upper
    return {
        "format": "dp-assay/permission",
        "version": 1,
        "data": "records.csv",
        "target": "target",
        "coordinator": experiment.name or "a coordinator",
        "key": "seal.key",
        "experiment": "experiment.json",
        "client": client,
        "mechanisms": words,
        "most_clip_norm": own.clip_norm,
        "least_noise": own.noise_std / own.clip_norm,
        "budget": {
            "epsilon": math.ceil(upper * 1e4) / 1e4,
            "delta": experiment.delta,
            "relation": scope.relation.name,
            "unit": scope.unit,
            "view": scope.view.kind,
        },
    }
