"""Files in one step: interrupted anywhere, the reader sees the old content or the new one."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from accountants.files import write_atomically


def test_text_and_bytes_arrive_as_they_are(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, "ε\r\n")
    assert path.read_bytes() == "ε\r\n".encode()
    write_atomically(str(path), b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, name):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def fails(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, name, fails)
    with pytest.raises(OSError, match="full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_it_reaches_the_disk_before_its_name_does_and_the_name_before_it_returns(
    tmp_path, monkeypatch
):
    seen = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(handle):
        seen.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def note_replace(source, target):
        seen.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_atomically(tmp_path / "file", "text")
    assert seen == ["file", "rename", "folder"]


def test_many_writers_never_mix(tmp_path):
    path = tmp_path / "file"
    contents = [str(number) * 50_000 for number in range(8)]
    write_atomically(path, contents[0])
    with ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(write_atomically, path, text) for text in contents * 5]
        reads = [pool.submit(path.read_text) for _ in range(40)]
        for write in writes:
            write.result()
        assert {read.result() for read in reads} <= set(contents)
    assert list(tmp_path.iterdir()) == [path]


def test_links_modes_and_long_names_are_kept(tmp_path):
    path = tmp_path / ("n" * 255)
    path.write_text("old")
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_cannot_be_replaced_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, "text")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no" / "file", "text")


def test_a_stream_by_its_name_is_written_to(tmp_path):
    """/dev/stdout is a link to a pipe, whose own name leads nowhere."""
    script = "from accountants.files import write_atomically; write_atomically('/dev/stdout', 'x')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"x"), done.stderr
