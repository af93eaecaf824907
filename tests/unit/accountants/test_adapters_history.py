"""Histories as Opacus writes them, and files that only pretend to be one."""

import io
import json
import pickle
import zipfile

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import FourierAccountant
from accountants.adapters.history import history_event, read_history, rows_of

ROWS = ((1.1, 0.01, 1000), (1.3, 0.01, 500))


class Evil:
    """What a pickle can do: here, make a file."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return open, (str(self.target), "w")


@pytest.mark.parametrize(
    "document",
    [
        ROWS,
        {"history": ROWS, "mechanism": "prv"},
        {"privacy_accountant_state_dict": {"history": ROWS}},
    ],
)
def test_json_in_each_form(tmp_path, document):
    file = tmp_path / "history.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(document).encode())
    assert read_history(file) == ROWS


def test_what_opacus_and_torch_write_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    accountants = pytest.importorskip("opacus.accountants")
    accountant = accountants.RDPAccountant()
    for noise, rate, steps in ROWS:
        for _ in range(steps):
            accountant.step(noise_multiplier=noise, sample_rate=rate)
    state, checkpoint = tmp_path / "state.pt", tmp_path / "checkpoint.pt"
    torch.save(accountant.state_dict(), state)
    torch.save(
        {
            "module_state_dict": torch.nn.Linear(3, 2).state_dict(),
            "privacy_accountant_state_dict": accountant.state_dict(),
        },
        checkpoint,
    )
    torch.save(accountant.state_dict(), tmp_path / "old", _use_new_zipfile_serialization=False)
    assert read_history(state) == read_history(checkpoint) == read_history(tmp_path / "old") == ROWS


@pytest.mark.parametrize("zipped", [False, True])
def test_a_pickle_that_does_something_is_refused_and_does_nothing(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    file, target = tmp_path / "evil.pt", tmp_path / "harm"
    if zipped:
        torch.save({"history": Evil(target)}, file)
    else:
        file.write_bytes(pickle.dumps({"history": Evil(target)}))
    with pytest.raises(ValueError, match=r"tensors, numbers and text only.*json\.dump"):
        read_history(file)
    assert not target.exists()


def _zip(**files):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return whole.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "must hold a history as JSON or as torch"),
        (b"noise 1.1", "must hold a history as JSON or as torch"),
        (b"[", "must be JSON"),
        (b"[\xff]", "must be JSON in UTF-8"),
        (b"[[1.1, 0.01]]", "rows \\(noise_multiplier, sample_rate, steps\\)"),
        (b"[]", "at least one"),
        (b"[[NaN, 0.01, 1]]", "finite"),
        (b'[["1.1", 0.01, 1]]', "noise_multiplier"),
        (b"[[1.1, 1.5, 1]]", "sample_rate"),
        (b"[[1.1, 0.01, 1.5]]", "steps"),
        (b'{"rows": []}', "must be rows"),
        (b'{"history": {"history": 1}}', "history"),
        (b"PK\x03\x04 nothing", "tensors, numbers and text only"),
        (_zip(readme="no model"), "tensors, numbers and text only"),
        (b"\x80\x04.", "tensors, numbers and text only"),
    ],
)
def test_what_is_no_history_is_refused_in_words(tmp_path, content, reason):
    if content[:2] in (b"PK", b"\x80\x04"):
        pytest.importorskip("torch")
    file = tmp_path / "history"
    file.write_bytes(content)
    with pytest.raises((ValueError, TypeError), match=reason):
        read_history(file)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_history(tmp_path / "nothing")


def test_the_events_of_two_rows_compose():
    """The peer's upper bound is above our lower one, and near our upper one."""
    pld = dpa.pld.PLDAccountant(value_discretization_interval=1e-3)
    event = history_event(ROWS, sampling="poisson")
    peer = pld.compose(event).get_epsilon(1e-5)
    lower, upper = FourierAccountant().compose(event).get_epsilon_bounds(1e-5)
    assert lower <= peer
    assert upper == pytest.approx(peer, rel=2e-2)


def test_each_kind_of_sampling_has_its_event():
    replace = NeighboringRelation.REPLACE_ONE
    (fixed,) = (history_event([(1.0, 0.01, 3)], sampling="fixed_size", relation=replace),)
    assert isinstance(fixed.event, dpa.SampledWithoutReplacementDpEvent)
    whole = history_event([(2.0, 1.0, 5)], sampling="all")
    assert whole == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 5)
    with pytest.raises(ValueError, match="whole epochs of 4"):
        history_event([(1.0, 0.25, 7)], sampling="balls_in_bins")
    with pytest.raises(ValueError, match="REPLACE_ONE"):
        history_event([(1.0, 0.01, 3)], sampling="fixed_size")


def test_rows_of_arrays_and_lists():
    assert rows_of([[1, 1, 2]]) == ((1.0, 1.0, 2),)
