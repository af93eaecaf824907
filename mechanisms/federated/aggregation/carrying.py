"""Who carries the bytes of a secure sum: the couriers of a federation, or a loop in one process."""

import os
from collections.abc import Callable, Iterable, Mapping

from accountants import validate
from mechanisms.federated.aggregation.client import AggregationClient
from mechanisms.federated.aggregation.server import AggregationServer, SecureSum
from mechanisms.federated.courier import Courier
from mechanisms.federated.local_socket import serve
from mechanisms.federated.seal import SealError
from pvi import ProtocolError, WireError

ROUNDS = ("keys", "shares", "masked", "signed", "unmasked")


def sum_over(server: AggregationServer, courier: Courier) -> SecureSum:
    """Asks over a courier until there is a sum.

    Whoever cannot be reached in time has dropped out, and whoever answers with what is no answer.

    Args:
      server: That has asked nothing yet.
      courier: Must deliver an answer under the number of the client that gave it. A forged answer
        spoils the sum; it does not show a vector.

    Raises:
      AggregationAbandonedError: Too many dropped out.
    """
    for _ in ROUNDS:
        for client, answer in courier.exchange(server.requests()).items():
            try:
                server.receive(client, answer)
            except (ProtocolError, WireError):
                continue
        server.close()
    assert server.result is not None
    return server.result


def serve_client(
    client: AggregationClient, path: str | os.PathLike[str], *, idle: float = 60.0
) -> None:
    """Answers a courier of this machine at a socket, until nobody has asked for `idle` seconds.

    A request that cannot follow gets no answer.
    """
    validate.instance("client", client, AggregationClient)

    def answer(request: bytes) -> bytes:
        try:
            return client.answer(request)
        except (ProtocolError, WireError) as error:
            raise SealError(str(error)) from error

    serve(path, answer, idle=validate.positive("idle", idle))


def carry(
    server: AggregationServer,
    clients: Iterable[AggregationClient],
    *,
    lost: Mapping[int, int] | None = None,
    watch: Callable[[int, int, bytes, bytes], None] | None = None,
) -> SecureSum:
    """Carries all requests and answers within one process, for simulations and tests; the sum.

    Args:
      server: That has asked nothing yet.
      clients: Who take part.
      lost: For clients that drop out, the first round, from 0 to 4, whose answer does not arrive.
      watch: Is told round, client, request and answer of each exchange.

    Raises:
      AggregationAbandonedError: Too many dropped out.
    """
    there = {client.number: client for client in clients}
    return sum_over(server, _InProcess(there, {} if lost is None else dict(lost), watch))


class _InProcess:
    """The courier of `carry`."""

    def __init__(
        self,
        clients: Mapping[int, AggregationClient],
        lost: Mapping[int, int],
        watch: Callable[[int, int, bytes, bytes], None] | None,
    ) -> None:
        self._clients, self._lost, self._watch = clients, lost, watch
        self._round = 0

    def exchange(self, asked: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """The answers of those who are there."""
        answers = {}
        for client, request in asked.items():
            if client in self._clients and self._lost.get(client, len(ROUNDS)) > self._round:
                answers[client] = self._clients[client].answer(request)
                if self._watch is not None:
                    self._watch(self._round, client, request, answers[client])
        self._round += 1
        return answers
