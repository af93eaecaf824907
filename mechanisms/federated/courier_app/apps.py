"""Flower as a courier: its ServerApp and its ClientApp carry sealed bytes and do nothing else.

The ClientApp runs on an owner's machine with code that the server ships, so it is trusted with
nothing: it reads its node's configuration (the client's number and the holder's socket), hands the
bytes to the holder and takes the answer back. It needs no access to data, key or budget.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from .doors import DoorError, ask
from .exchanges import MOST_BYTES, OVER, WAITS, pack, unpack

_TYPE = "query"
_PAUSE = 0.2
_UNREACHED = 60.0  # seconds without the coordinator, after which the ServerApp goes home

server_app = ServerApp()
client_app = ClientApp()


@client_app.query()
def carry(message: Message, context: Context) -> Message:
    """Hands bytes to the holder; without bytes, says for which client this node stands."""
    client = int(context.node_config["client"])
    asked = message.content["asked"].get("bytes")
    answer: dict[str, Any] = {"client": client}
    if isinstance(asked, bytes):
        try:
            patience = float(str(message.content["asked"]["patience"]))
            answer["bytes"] = ask(
                Path(str(context.node_config["socket"])), asked, patience=patience
            )
        except DoorError:
            pass  # no answer: the coordinator asks again
    return Message(RecordDict({"answer": ConfigRecord(answer)}), reply_to=message)


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """Fetches questions from the coordinator's relay, and brings back what nodes answer."""
    door = Path(str(context.run_config["door"]))
    patience = float(str(context.run_config["patience"]))
    post = _Post(grid, patience)
    brought = pack(0, {})
    last = time.monotonic()
    while time.monotonic() - last < _UNREACHED:
        try:
            found = ask(door, brought, most=MOST_BYTES)
        except DoorError:
            time.sleep(_PAUSE)
            continue
        last = time.monotonic()
        if found == OVER:
            return
        if found == WAITS:
            brought = pack(0, {})
            continue
        number, asked = unpack(found)
        brought = pack(number, post.carry(asked))


class _Post:
    """Knows which node stands for which client, and sends there.

    A node that says it is another's client gains nothing: what it is given is sealed.
    """

    def __init__(self, grid: Grid, patience: float) -> None:
        self._grid = grid
        self._patience = patience
        self._clients: dict[int, int] = {}

    def carry(self, asked: Mapping[int, bytes]) -> dict[int, bytes]:
        """The answers of clients whose nodes are there and answer in time."""
        until = time.monotonic() + self._patience
        nodes = self._nodes(set(asked), until)
        left = max(1.0, until - time.monotonic())
        messages = [
            self._message(nodes[m], {"bytes": content, "patience": left})
            for m, content in asked.items()
            if m in nodes
        ]
        found = {}
        for record in self._exchange(messages, until):
            if isinstance(record.get("bytes"), bytes):
                found[int(str(record["client"]))] = record["bytes"]
        return found

    def _nodes(self, wanted: set[int], until: float) -> dict[int, int]:
        """Nodes by client; waits for those that are not there yet, up to half of the time left."""
        half = time.monotonic() + (until - time.monotonic()) / 2
        while True:
            present = set(self._grid.get_node_ids())
            self._clients = {node: m for node, m in self._clients.items() if node in present}
            new = [node for node in present if node not in self._clients]
            if new:
                messages = [self._message(node, {}) for node in new]
                self._exchange(messages, half, self._clients.__setitem__)
            nodes = {m: node for node, m in self._clients.items()}
            if wanted <= set(nodes) or time.monotonic() > half:
                return nodes
            time.sleep(_PAUSE)

    def _message(self, node: int, fields: dict[str, Any]) -> Message:
        content = RecordDict({"asked": ConfigRecord(fields)})
        return Message(content, dst_node_id=node, message_type=_TYPE)

    def _exchange(
        self,
        messages: Iterable[Message],
        until: float,
        note: Callable[[int, int], None] | None = None,
    ) -> list[Any]:
        """The records of all good answers that come in time; shorter pauses than Flower's own."""
        waiting = set(self._grid.push_messages(list(messages)))
        found = []
        while waiting and time.monotonic() < until:
            for reply in self._grid.pull_messages(list(waiting)):
                waiting.discard(reply.metadata.reply_to_message_id)
                if reply.has_error() or "answer" not in reply.content:
                    continue
                record = reply.content["answer"]
                if note is not None:
                    note(reply.metadata.src_node_id, int(str(record["client"])))
                found.append(record)
            if waiting:
                time.sleep(_PAUSE)
        return found
