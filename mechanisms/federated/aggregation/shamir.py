"""Shamir 1979: a secret as values of a polynomial, any `threshold` of which give it back.

The polynomial has degree threshold − 1, the secret as its value at 0 and uniform other coefficients
in the field of `prime` elements. For any secret, any threshold − 1 values elsewhere are uniform and
independent: they say nothing. Points are 1, 2, …, below the prime.
"""

from collections.abc import Callable, Mapping, Sequence

from accountants import validate


def split(
    secret: int,
    points: Sequence[int],
    threshold: int,
    prime: int,
    randbelow: Callable[[int], int],
) -> dict[int, int]:
    """The share of each point.

    Args:
      secret: In [0, prime).
      points: Different, in [1, prime).
      threshold: How many shares are needed, at most as many as there are points.
      prime: Of the field.
      randbelow: Uniform integers below its argument.

    >>> shares = split(5, [1, 2, 3], 2, 7, lambda below: 4)
    >>> shares, join({1: shares[1], 3: shares[3]}, 7)
    ({1: 2, 2: 6, 3: 3}, 5)
    """
    if not 0 <= secret < prime:  # says nothing of the secret
        raise ValueError("`secret` must be in [0, prime), got another.")
    if len(set(points)) != len(points) or not all(0 < point < prime for point in points):
        raise validate.refusal("points", "different and in [1, prime)", points)
    threshold = validate.count("threshold", threshold, maximum=len(points))
    coefficients = [secret, *(randbelow(prime) for _ in range(threshold - 1))]
    return {point: _value(coefficients, point, prime) for point in points}


def _value(coefficients: Sequence[int], point: int, prime: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * point + coefficient) % prime
    return value


def written(share: int, prime: int) -> bytes:
    """A share in a fixed number of bytes: a length that varied would say something of it."""
    return share.to_bytes((prime.bit_length() + 7) // 8, "big")


def join(shares: Mapping[int, int], prime: int) -> int:
    """The secret, by Lagrange's interpolation at 0; of fewer shares than needed, another number."""
    return (
        sum(
            weight * share
            for weight, share in zip(weights(tuple(shares), prime), shares.values(), strict=True)
        )
        % prime
    )


def weights(points: Sequence[int], prime: int) -> list[int]:
    """What each point's share is multiplied by: Π_{q≠p} q/(q − p)."""
    found = []
    for point in points:
        numerator = denominator = 1
        for other in points:
            if other != point:
                numerator = numerator * other % prime
                denominator = denominator * (other - point) % prime
        found.append(numerator * pow(denominator, -1, prime) % prime)
    return found
