"""Questions or answers of several clients at once, as bytes under an exchange's number."""

from collections.abc import Mapping

WAITS = b"wait"
"""There is nothing to carry now."""
OVER = b"over"
"""There will be nothing more."""
MOST_BYTES = 2**31
_NUMBER = 8


def pack(number: int, parts: Mapping[int, bytes]) -> bytes:
    """An exchange's number, and bytes by client.

    >>> unpack(pack(3, {1: b"one", 0: b""}))
    (3, {1: b'one', 0: b''})
    """
    found = [number.to_bytes(_NUMBER, "big")]
    for client, part in parts.items():
        found += [client.to_bytes(_NUMBER, "big"), len(part).to_bytes(_NUMBER, "big"), part]
    return b"".join(found)


def unpack(content: bytes) -> tuple[int, dict[int, bytes]]:
    """What `pack` was given; `ValueError` for anything else."""
    if len(content) < _NUMBER:
        raise ValueError("an exchange has a number")
    number, place = int.from_bytes(content[:_NUMBER], "big"), _NUMBER
    parts: dict[int, bytes] = {}
    while place < len(content):
        start = place + 2 * _NUMBER
        client = int.from_bytes(content[place : place + _NUMBER], "big")
        place = start + int.from_bytes(content[place + _NUMBER : start], "big")
        if max(start, place) > len(content) or client in parts:
            raise ValueError("an exchange's lengths must add up, and its clients differ")
        parts[client] = content[start:place]
    return number, parts
