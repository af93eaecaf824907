"""Flower as a courier: its ServerApp and its ClientApp carry sealed bytes and do nothing else.

The ClientApp runs on an owner's machine with code that the server ships, so it is trusted with
nothing: it reads its node's configuration (the holder's socket), hands the bytes to the holder and
takes the answer back. It needs no access to data, key or budget.
"""

import time
from collections.abc import Mapping, Sequence
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
    """Hands bytes to the holder."""
    asked = message.content["asked"].get("bytes")
    answer: dict[str, Any] = {}
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
    nodes = [int(number) for number in str(context.run_config["nodes"]).split(",")]
    post = _Post(grid, nodes, patience)
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
    """Sends to nodes, each of which stands for one client.

    Args:
      grid: Flower's.
      nodes: The nodes' numbers, by client.
      patience: Seconds for one exchange.
    """

    def __init__(self, grid: Grid, nodes: Sequence[int], patience: float) -> None:
        self._grid = grid
        self._nodes = nodes
        self._patience = patience

    def carry(self, asked: Mapping[int, bytes]) -> dict[int, bytes]:
        """The answers of clients whose nodes are there and answer in time."""
        until = time.monotonic() + self._patience
        present = self._wait_for({self._nodes[m] for m in asked}, until)
        left = max(1.0, until - time.monotonic())
        messages = {
            m: self._message(self._nodes[m], {"bytes": content, "patience": left})
            for m, content in asked.items()
            if self._nodes[m] in present
        }
        return self._exchange(messages, until)

    def _wait_for(self, wanted: set[int], until: float) -> set[int]:
        """The nodes that are there; waits for all, up to half of the time left."""
        half = time.monotonic() + (until - time.monotonic()) / 2
        while True:
            present = set(self._grid.get_node_ids())
            if wanted <= present or time.monotonic() > half:
                return present
            time.sleep(_PAUSE)

    def _message(self, node: int, fields: dict[str, Any]) -> Message:
        content = RecordDict({"asked": ConfigRecord(fields)})
        return Message(content, dst_node_id=node, message_type=_TYPE)

    def _exchange(self, messages: Mapping[int, Message], until: float) -> dict[int, bytes]:
        """All good answers that come in time; shorter pauses than Flower's own."""
        numbers = self._grid.push_messages(list(messages.values()))
        waiting = dict(zip(numbers, messages, strict=True))
        found = {}
        while waiting and time.monotonic() < until:
            for reply in self._grid.pull_messages(list(waiting)):
                client = waiting.pop(reply.metadata.reply_to_message_id, None)
                if client is None or reply.has_error() or "answer" not in reply.content:
                    continue
                answer = reply.content["answer"].get("bytes")
                if isinstance(answer, bytes):
                    found[client] = answer
            if waiting:
                time.sleep(_PAUSE)
        return found
