"""A carrier within one process: a secure sum without a network, for simulations and tests."""

from collections.abc import Callable, Iterable, Mapping

from mechanisms.federated.aggregation.client import AggregationClient
from mechanisms.federated.aggregation.server import AggregationServer, SecureSum

ROUNDS = ("keys", "shares", "masked", "signed", "unmasked")


def carry(
    server: AggregationServer,
    clients: Iterable[AggregationClient],
    *,
    lost: Mapping[int, int] | None = None,
    watch: Callable[[int, int, bytes, bytes], None] | None = None,
) -> SecureSum:
    """Carries all requests and answers; the sum.

    Args:
      server: That has asked nothing yet.
      clients: Who take part.
      lost: For clients that drop out, the first round, from 0 to 4, whose answer does not arrive.
      watch: Is told round, client, request and answer of each exchange.

    Raises:
      AggregationAbandonedError: Too many dropped out.
    """
    there = {client.number: client for client in clients}
    gone = {} if lost is None else dict(lost)
    for number in range(len(ROUNDS)):
        for client, request in server.requests().items():
            if client not in there or gone.get(client, len(ROUNDS)) <= number:
                continue
            answer = there[client].answer(request)
            if watch is not None:
                watch(number, client, request, answer)
            server.receive(client, answer)
        server.close()
    assert server.result is not None
    return server.result
