"""Sealed records: what was written comes back, and nothing else does."""

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants.seals import DamagedError, main, read_sealed, sealed, unsealed, write_sealed
from audits.papers.checks import RECORD
from audits.papers.studies import STUDIES

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text().filter(lambda key: key != "sha256"), plain, max_size=5))
def test_what_was_sealed_comes_back(content):
    assert unsealed(json.dumps(sealed(content)), "it") == content
    assert sealed(sealed(content)) == sealed(content)


def test_what_json_changes_is_sealed_as_it_will_be_read(tmp_path):
    file = tmp_path / "a.json"
    written = write_sealed(file, {"pair": (1, 2.0), "by number": {3: "ε"}, "worst": float("inf")})
    assert read_sealed(file) | {"sha256": written["sha256"]} == written
    assert read_sealed(file) == {"pair": [1, 2.0], "by number": {"3": "ε"}, "worst": float("inf")}


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"a": 1}', '{"sha256": 3}', b"\xff\xfe{"]
)
def test_what_was_not_sealed_is_refused(text):
    with pytest.raises(DamagedError, match=r"^it must"):
        unsealed(text, "it")


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("audits.papers", RECORD),
        ("audits.specimens", "recorded.json"),
        *(("audits.papers", f"recorded/{name}.json") for name in STUDIES),
    ],
)
def test_no_flipped_bit_in_a_record_goes_unnoticed(package, name, tmp_path):
    """A flip either is refused or leaves every value as it was (white space, an escape's case)."""
    whole = resources.files(package).joinpath(name).read_bytes()
    truth = unsealed(whole, name)
    rng = np.random.default_rng(7)
    refused = 0
    for place in rng.integers(8 * len(whole), size=25).tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << (place % 8)
        try:
            found = unsealed(bytes(damaged), name)
        except DamagedError:
            refused += 1
        else:
            assert found == truth, place
    assert refused >= 15


def test_the_command_seals_what_was_edited(tmp_path):
    file = tmp_path / "a.json"
    write_sealed(file, {"a": 1})
    file.write_text(file.read_text().replace("1,", "2,"))
    with pytest.raises(DamagedError, match="another content's"):
        read_sealed(file)
    main([str(file)])
    assert read_sealed(Path(file)) == {"a": 2}
