"""Flower in one process: a grid that hands messages to a real ClientApp, round by round."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

logging.getLogger("flwr").setLevel(logging.CRITICAL)
# As Flower does at the start of a process that runs an app.
TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


class LocalGrid(Grid):
    """The transport only: Flower's interface for sending messages to nodes, without a network.

    Args:
      clients: The nodes' data, one entry each.
      app: What runs on a node: built from its data.
    """

    def __init__(self, clients: Any, app: Callable[[Any], ClientApp]) -> None:
        self._apps = {node: app(client) for node, client in enumerate(clients, start=1)}

    def get_node_ids(self) -> list[int]:
        """The nodes that are connected."""
        return list(self._apps)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Each node's reply; one that raises is lost, as Flower would report it."""
        replies = []
        for message in messages:
            node = message.metadata.dst_node_id
            context = Context(1, node, {}, RecordDict(), {})
            replies.append(self._apps[node](message, context))
        return replies

    def set_run(self, run: Any) -> None:
        """Nothing to set."""

    @property
    def run(self) -> Any:
        """None."""
        raise NotImplementedError

    def create_message(self, *args: Any, **named: Any) -> Any:
        """Of an older interface."""
        raise NotImplementedError

    def push_messages(self, messages: Any) -> Any:
        """Not needed by the strategies."""
        raise NotImplementedError

    def pull_messages(self, message_ids: Any) -> Any:
        """Not needed by the strategies."""
        raise NotImplementedError


def arrays(values: Any) -> ArrayRecord:
    """A model of one array."""
    return ArrayRecord({"weights": Array(np.asarray(values, dtype=np.float64))})


def training(update: Any, examples: int, mods: Any = None) -> ClientApp:
    """A node whose training adds `update` to the model, and which has so many examples."""
    app = ClientApp(mods=mods)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        (sent,) = message.content.array_records.values()
        current = sent.to_numpy_ndarrays()[0]
        content: Any = {
            "arrays": arrays(current + np.asarray(update)),
            "metrics": MetricRecord({"num-examples": examples}),
        }
        return Message(RecordDict(content), reply_to=message)

    return app


def uniform(kind: Any, clients: int, **named: Any) -> Any:
    """A strategy in which all clients take part and, where it averages, count alike."""
    return kind(min_train_nodes=clients, fraction_evaluate=0.0, **named)


def round_of(strategy: Any, data: Any, rounds: int = 1) -> Any:
    """The model after clients with these updates, and as many examples each, have taken part.

    A second weight always moves a little: a zero update ends the run, see flwr_zero_update.
    """
    grid = LocalGrid(data, lambda update: training([float(update), 1e-6], 1))
    return trained(strategy, grid, 2, rounds)


def trained(strategy: Any, grid: LocalGrid, size: int, rounds: int = 1) -> Any:
    """The global model after so many rounds from zero."""
    result = strategy.start(grid, arrays(np.zeros(size)), num_rounds=rounds)
    return result.arrays.to_numpy_ndarrays()[0]
