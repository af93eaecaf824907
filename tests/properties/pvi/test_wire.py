"""The codec gives back what it was given, bit for bit, and nothing else than that."""

import dataclasses
import hashlib
import json
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pvi import (
    PROTOCOL,
    Acknowledgement,
    Codec,
    Kind,
    MeanFieldGaussian,
    Revision,
    Snapshot,
    Update,
    WireError,
    Withdrawal,
)

COUNT = st.integers(0, 2**31 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SHAPES = st.tuples(st.integers(0, 2), st.integers(1, 3)) | st.tuples(st.integers(0, 5))
GAUSSIANS = SHAPES.flatmap(
    lambda shape: st.builds(
        MeanFieldGaussian,
        natural_mean=arrays(float, shape, elements=FINITE),
        precision=arrays(float, shape, elements=FINITE),
    )
)
MESSAGES = st.one_of(
    st.builds(
        Snapshot,
        client=COUNT,
        round=COUNT,
        posterior=GAUSSIANS,
        resolved=COUNT,
        applied=st.booleans(),
    ),
    st.builds(Update, client=COUNT, round=COUNT, sequence=COUNT, change=GAUSSIANS),
    st.builds(Withdrawal, client=COUNT, sequence=COUNT),
    st.builds(Acknowledgement, client=COUNT, sequence=COUNT, applied=st.booleans()),
    st.builds(
        Revision,
        client=COUNT,
        number=st.integers(1, 9),
        sequence=COUNT,
        kind=st.sampled_from(["adopt", "reset"]),
        share=GAUSSIANS,
    ),
)
RUNS = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=64)
UPDATE = Update(client=1, round=2, sequence=3, change=MeanFieldGaussian.unit(2))
FORM = b"pvi-wire-1\n"


def bits(message):
    """A message as plain values in which −0.0 and 0.0 differ."""
    return [
        (value.precision.shape, value.vector.tobytes())
        if isinstance(value, MeanFieldGaussian)
        else (type(value), value)
        for value in (getattr(message, field.name) for field in dataclasses.fields(message))
    ]


def forged(header, data=b""):
    """Bytes under a right checksum."""
    body = (header if isinstance(header, bytes) else json.dumps(header).encode()) + b"\n" + data
    return FORM + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@settings(max_examples=40)
@given(MESSAGES, RUNS)
def test_what_is_read_is_what_was_written(message, run):
    content = PROTOCOL.encode(message, run=run)
    delivery = PROTOCOL.decode(content)
    assert delivery.run == run
    assert type(delivery.message) is type(message)
    assert bits(delivery.message) == bits(message)
    assert PROTOCOL.encode(delivery.message, run=run) == content


def test_no_bit_can_flip_and_no_byte_can_lack():
    content = PROTOCOL.encode(UPDATE, run="a")
    for bit in range(8 * len(content)):
        altered = bytearray(content)
        altered[bit // 8] ^= 1 << bit % 8
        with pytest.raises(WireError):
            PROTOCOL.decode(bytes(altered))
    for length in range(len(content)):
        with pytest.raises(WireError):
            PROTOCOL.decode(content[:length])
    with pytest.raises(WireError):
        PROTOCOL.decode(content + b"\0")


@given(st.binary(max_size=200))
def test_noise_is_refused(content):
    for own in (content, FORM + content, forged(content)):
        with pytest.raises(WireError):
            PROTOCOL.decode(own)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
PLACES = [
    ("kind",),
    ("kind", 0),
    ("kind", 1),
    ("facts",),
    ("facts", "client"),
    ("facts", "sequence"),
    ("facts", "more"),
    ("arrays",),
    ("arrays", 0),
    ("arrays", 0, 0),
    ("arrays", 0, 1),
    ("arrays", 0, 2),
    ("arrays", 0, 2, 0),
]


@settings(max_examples=200)
@given(st.sampled_from(PLACES), JSON, st.binary(max_size=48))
def test_a_forger_gets_a_message_or_a_refusal(place, value, data):
    """Whoever can make the checksum right still cannot get another error out of it."""
    header = {
        "kind": ["update", "a"],
        "facts": {"client": 1, "round": 2, "sequence": 3},
        "arrays": [["change", "<f8", [4]]],
    }
    target = header
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    try:
        message = PROTOCOL.decode(forged(header, data.ljust(32, b"\0"))).message
    except WireError:
        message = UPDATE
    assert isinstance(message, Update)
    assert message.change.precision.size <= 3


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(UPDATE),
        forged(b"[" * 200_000),
        forged(b'{"kind": ["update", "a"], "facts": ' + b"9" * 10_000 + b"}"),
        forged(b'{"a":NaN}'),
        forged({"kind": ["os.system", "a"], "facts": {}, "arrays": []}),
        forged({"kind": ["update", "a"], "facts": {}, "arrays": [["change", "|O", [1]]]}),
        forged({"kind": ["update", "a"], "facts": {}, "arrays": [["change", "<f8", [2**60]]]}),
        forged(
            {
                "kind": ["update", "a"],
                "facts": {"client": 1, "round": 2, "sequence": 3},
                "arrays": [["change", "<f8", [2]]],
            },
            np.array([np.nan, 1.0]).tobytes(),
        ),
        forged(
            {
                "kind": ["update", "a"],
                "facts": {"client": 1, "round": 2, "sequence": 3},
                "arrays": [["change", "<f4", [2]]],
            },
            bytes(8),
        ),
    ],
)
def test_known_attacks(content):
    with pytest.raises(WireError):
        PROTOCOL.decode(content)


def test_a_long_header_is_not_unfolded():
    """50 MB of JSON would become gigabytes of lists."""
    content = forged(b'{"kind": [' + b"[]," * 16_000_000 + b"[]]}")
    tracemalloc.start()
    with pytest.raises(WireError):
        PROTOCOL.decode(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(content)


def test_sizes_are_limited_on_both_ends():
    small = dataclasses.replace(PROTOCOL, most_bytes=400)
    with pytest.raises(WireError, match="400"):
        small.encode(dataclasses.replace(UPDATE, change=MeanFieldGaussian.unit(40)), run="a")
    with pytest.raises(WireError, match="400"):
        small.decode(bytes(401))
    with pytest.raises(WireError, match="JSON"):
        dataclasses.replace(PROTOCOL, longest_header=20).encode(UPDATE, run="a")


@dataclasses.dataclass(frozen=True)
class Greeting:
    words: str


def test_a_codec_learns_further_kinds_and_stays_what_it_was():
    richer = PROTOCOL.including(Kind.of("greeting", Greeting))
    content = richer.encode(Greeting("good day"), run="a")
    assert richer.decode(content).message == Greeting("good day")
    with pytest.raises(WireError, match="greeting"):
        PROTOCOL.decode(content)
    with pytest.raises(TypeError, match="Greeting"):
        PROTOCOL.encode(Greeting("good day"), run="a")
    with pytest.raises(ValueError, match="different names"):
        Codec(kinds=(Kind.of("a", Greeting), Kind.of("b", Greeting)))
    with pytest.raises(WireError, match="cannot be written"):
        richer.encode(Greeting(words=float("nan")), run="a")


@pytest.mark.parametrize("run", ["", "a" * 65, "a\nb", None, 3])
def test_runs_have_short_names(run):
    with pytest.raises(ValueError, match="run"):
        PROTOCOL.encode(UPDATE, run=run)
