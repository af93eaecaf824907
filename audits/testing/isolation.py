r"""Calls that cannot reach each other: data of their own, outputs of their own, draws that repeat.

A test of independent draws is only as good as their independence. A mechanism may alter its data in
place, answer with views of one buffer, draw from numpy's global generator (of which every forked
worker has the same copy), or answer from a cache. So each call gets its own copy of the data
(`own`), its outputs are copied before the next call, the global generators are seeded for it
(`seed_globals`), and draws that come again in the same order are noticed (`RepeatedDraws`).
"""

import contextlib
import copy
import pickle
import random
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
_WINDOW = 12
# How many outputs of a chunk are looked at: one that repeats does so from its start.
_LOOKED_AT = 128
# Words that are mixed at once: they stay in the processor's cache.
_TOGETHER = 2**15
# Odd numbers that mix the words of a row, and the rows of a window, into one number.
_MIXERS = np.random.default_rng(0x5EED).integers(2**63, size=1024, dtype=np.uint64) | np.uint64(1)


def own(value: Any) -> Any:
    """A copy that shares no memory with `value` that anybody could write to.

    Raises:
      TypeError: The value cannot be copied (an open file, a generator, …).
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value.copy()
    if type(value) in (list, tuple) and all(isinstance(item, _PLAIN) for item in value):
        return type(value)(value)
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            "data and outputs must be copied, lest one call of the mechanism alter what another "
            f"one sees, got {type(value).__name__}, which cannot be ({error})."
        ) from error


def fingerprint(value: Any) -> bytes | None:
    """Bytes that change when the value does; `None` where it has none."""
    try:
        return pickle.dumps(value)
    except Exception:
        return None


def altered(before: bytes | None, value: Any) -> bool:
    """Whether the value is another one than when its fingerprint was taken.

    An object that has remembered something more (a cached property) is the same; so is one whose
    bytes differ though its parts do not.
    """
    if before is None or fingerprint(value) == before:
        return False
    try:
        return _differs(pickle.loads(before), value, set())
    except Exception:  # Whatever a stranger's == or unpickling raises.
        return True


def _differs(one: Any, two: Any, seen: set[tuple[int, int]]) -> bool:
    if type(one) is not type(two):
        return True
    if (id(one), id(two)) in seen:  # A cycle.
        return False
    seen.add((id(one), id(two)))
    if isinstance(one, np.ndarray):
        if one.dtype != two.dtype or one.shape != two.shape:
            return True
        if one.dtype.kind != "O":
            return bool(one.tobytes() != two.tobytes())
        return any(_differs(*both, seen) for both in zip(one.flat, two.flat, strict=True))
    if isinstance(one, list | tuple):
        both = zip(one, two, strict=False)
        return len(one) != len(two) or any(_differs(*pair, seen) for pair in both)
    if isinstance(one, dict):
        return one.keys() != two.keys() or any(_differs(one[k], two[k], seen) for k in one)
    if fingerprint(one) == fingerprint(two):
        return False
    if not hasattr(one, "__dict__") or isinstance(one, set):
        return bool(one != two)
    kept, now = vars(one), vars(two)
    return any(name not in now or _differs(kept[name], now[name], seen) for name in kept)


def seed_globals(sequence: np.random.SeedSequence) -> None:
    """Seeds the generators that mechanisms share with all the world; within `kept_globals`.

    Those of `numpy.random`, `random`, and torch where it is loaded. In threads nothing is seeded:
    they have one generator together, whose draws differ by themselves.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    words = sequence.generate_state(8)
    np.random.seed(words)  # noqa: NPY002
    random.seed(words.tobytes())
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(int(words[0]))


@contextlib.contextmanager
def kept_globals() -> Iterator[None]:
    """Puts the generators that `seed_globals` seeds back into the state that they were in."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    torch = sys.modules.get("torch")
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    torch_before = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        np.random.set_state(before[0])  # noqa: NPY002
        random.setstate(before[1])
        if torch is not None:
            torch.set_rng_state(torch_before)


@dataclass(slots=True)
class RepeatedDraws:
    """Notices twelve different outputs in a row that have come before in the same order.

    If draws are independent with one law on each side, two given windows of k outputs that do not
    overlap are equal, and all different within, with probability at most k!·k^{−2k} on one side
    (the most is that of a uniform law on k values), and no more across sides (Cauchy–Schwarz). For
    k = 12 that is 6e-18, so that even the 1e5 windows of a long audit, all pairs together, are
    taken for repeated by mistake with probability below 1e-7. Windows that do overlap cannot be
    equal: they would have a period, and so an output twice. Laws with few values, constants above
    all, have no such windows: they are never noticed, and need not be.

    Attributes:
      found: Whether draws have repeated.
    """

    found: bool = False
    _seen: set[int] = field(default_factory=set)

    def look(self, outputs: Any) -> None:
        """Takes note of one chunk's outputs."""
        codes = _codes(outputs[:_LOOKED_AT])
        if self.found or codes.size < _WINDOW:
            return
        windows, ordered = sliding_window_view(codes, _WINDOW), np.sort(codes)
        if (ordered[1:] == ordered[:-1]).any():
            ordered = np.sort(windows, axis=1)
            windows = windows[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
        mixed = (windows * _MIXERS[:_WINDOW]).sum(axis=1, dtype=np.uint64)
        new = set(mixed.tolist())
        self.found = len(new) < mixed.size or not self._seen.isdisjoint(new)
        self._seen |= new


def _codes(outputs: Any) -> NDArray[np.uint64]:
    """One number per output, equal for equal outputs and else hardly ever."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biufc" and len(outputs):
        rows = np.ascontiguousarray(outputs).reshape(len(outputs), -1)
        if not rows.size:
            return np.zeros(len(rows), dtype=np.uint64)
        size = rows.shape[1] * rows.itemsize
        if size % 8:
            padded = np.zeros((len(rows), -(-size // 8) * 8), dtype=np.uint8)
            padded[:, :size] = rows.view(np.uint8)
            rows = padded
        words = rows.view(np.uint64)
        mixers = np.resize(_MIXERS, words.shape[1])
        found = np.empty(len(words), dtype=np.uint64)
        together = -(-_TOGETHER // words.shape[1])
        for start in range(0, len(words), together):
            some = words[start : start + together]
            # Multiplying by a position's own odd number, then folding, keeps equal words apart.
            products = some >> np.uint64(29)
            products ^= some
            products *= mixers
            folded = products >> np.uint64(32)
            folded ^= products
            found[start : start + together] = folded.sum(axis=1, dtype=np.uint64)
        return found
    codes = [hash(fingerprint(output)) & (2**64 - 1) for output in outputs]
    return np.array(codes, dtype=np.uint64)
