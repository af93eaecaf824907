"""`dp-assay join`: a data owner's holder, which answers what its owner allows."""

import argparse
import contextlib
import signal
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from accountants import validate
from audits.cli import Commands, options
from audits.wording import interval

if TYPE_CHECKING:
    from mechanisms.federated import Permission

_EXAMPLE = """\
examples:
  dp-assay join permission.toml --socket holder.sock
      answers couriers on this machine until it is ended
  dp-assay join permission.toml --socket holder.sock --node node.toml
      and starts a Flower node, which calls the coordinator's server and carries questions here
  dp-assay join permission.toml --certificate
      what everything that was ever answered costs at most

The permission says whose key may ask, for which mechanisms, with how much noise, and up to which
total cost; all else is refused. Nothing listens on a network.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    join = commands.add_parser(
        "join",
        help="hold your own data in a federation, within a budget of your own",
        description="Keeps data, budget and noise in this process, and answers through a socket in "
        "the file\nsystem what the permission allows.",
        epilog=_EXAMPLE,
    )
    join.add_argument("file", metavar="FILE", help="the permission, TOML")
    join.add_argument("--socket", metavar="FILE", help="where couriers ask")
    join.add_argument(
        "--node",
        metavar="FILE",
        help="node.toml of an invitation: start a Flower node that carries questions here",
    )
    join.add_argument(
        "--group", action="store_true", help="couriers may be other users of the socket's group"
    )
    join.add_argument(
        "--idle", type=float, metavar="SECONDS", help="end when nobody has asked for so long"
    )
    join.add_argument(
        "--certificate", action="store_true", help="print what was spent, and answer nobody"
    )
    options.add_json(join)
    join.set_defaults(run=_join)


def _join(given: argparse.Namespace) -> int:
    from mechanisms.federated import Holder, Permission, local_socket

    if given.certificate == (given.socket is not None):
        raise ValueError("one of --socket and --certificate must be given, and not both.")
    permission = Permission.load(Path(given.file))
    if given.certificate:
        _print_certificate(permission, as_json=given.json)
        return 0
    idle = None if given.idle is None else validate.positive("--idle", given.idle)
    holder = Holder(permission)
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    with contextlib.ExitStack() as stack:
        stack.enter_context(holder.alone())
        if given.node is not None:
            _start_node(stack, Path(given.node), Path(given.socket))
        print(f"answering {permission.coordinator} at {given.socket}", flush=True)
        local_socket.serve(
            Path(given.socket),
            holder.answer,
            mode=0o660 if given.group else 0o600,
            idle=idle,
            stopped=lambda: bool(ended),
        )
    said_no = ", ".join(f"{count} by {kind}" for kind, count in sorted(holder.refusals.items()))
    print(f"ended; refused: {said_no or 'nothing'}")
    return 0


def _start_node(stack: contextlib.ExitStack, file: Path, socket_file: Path) -> None:
    """A courier of Flower's on this machine, until the holder ends."""
    from mechanisms.federated import flower

    body = tomllib.loads(file.read_text(encoding="utf-8"))
    stack.enter_context(
        flower.node(
            file.parent,
            server=validate.text("server", body.get("server")),
            socket_file=socket_file,
            port=flower.free_port(),
        )
    )


def _print_certificate(permission: "Permission", *, as_json: bool) -> None:
    from mechanisms.federated.holder import budget_of
    from mechanisms.federated.ledger import certificate_of

    certificate = certificate_of(budget_of(permission))
    if as_json:
        print(certificate.to_json())
        return
    bounds = certificate.bounds(permission.delta)
    print(f"{permission.scope}: ε in {interval(bounds)} at δ = {permission.delta:g}")
    print(f"  limit {permission.epsilon:g}; kept by: {certificate.method}")
    for assumption in certificate.assumptions:
        print(f"  - {assumption}")
