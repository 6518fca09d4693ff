"""Files are looked at before a run, and whole afterwards."""

from __future__ import annotations

import errno
import io
import os

import pytest

from dpbb.errors import DpbbError, OptionError
from dpbb.text.files import (
    alone,
    check_writable,
    noted,
    noting,
    read_file,
    read_stream,
    whole_file,
)


def test_a_pipe_is_not_opened_before_there_is_something_to_write(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe", "--output")  # opening it would wait for a reader


def test_a_file_that_is_read_is_not_written_to_by_whatever_name(tmp_path):
    book, link = tmp_path / "book.csv", tmp_path / "link"
    book.write_text("3,2\n\n1,4\n")
    link.hardlink_to(book)
    for output, read in ((link, book), (book, f"{book}[1]"), (link, f"{book}[1]")):
        with pytest.raises(OptionError, match="--output: expected another file than"):
            check_writable(output, "--output", read)
    check_writable(tmp_path / "new", "--output", book, None, [[1, 2]])


def test_what_a_block_has_read_is_not_written_to(tmp_path):
    book, folder = tmp_path / "book.csv", tmp_path / "folder"
    folder.mkdir()
    with noting():
        assert noted(book) == book
        noted(folder)
        for path, said in ((book, book), (folder / "x", f"those in {folder}")):
            with pytest.raises(OptionError, match=f"expected another file than {said}"):
                check_writable(path, "--output")
        check_writable(tmp_path / "other", "--output")
    noted(book)
    check_writable(book, "--output")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a /dev/full")
def test_a_lock_that_cannot_be_written_is_told(tmp_path):
    lock = tmp_path / "lock"
    lock.symlink_to("/dev/full")
    with pytest.raises(DpbbError, match=f"{lock}: cannot be written"):
        alone(lock, "expected a folder").__enter__()


def write_part(path, error):
    with whole_file(path):
        path.write_text("position,")
        raise error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_part_of_a_file_stays_only_in_one_of_before(tmp_path, error):
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    for path in (old, new):
        with pytest.raises((DpbbError, KeyboardInterrupt)) as raised:
            write_part(path, error)
        if isinstance(error, OSError):
            assert str(raised.value) == f"{path}: cannot be written: full"
    assert list(tmp_path.iterdir()) == [old]


def test_files_are_read_whole_if_they_are_not_too_large(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    assert read_file(file, 3) == b"abc"
    with pytest.raises(OSError, match="3 bytes, at most 2 bytes are read"):
        read_file(file, 2)
    os.truncate(file, 2**40)  # it takes no room on the disk
    with pytest.raises(OSError, match=r"1,099,511,627,776 bytes, at most 134,217,728"):
        read_file(file)
    assert read_stream(io.BytesIO(b"abc"), 3) == b"abc"
    with pytest.raises(OSError, match="at most 2 bytes are read"):
        read_stream(io.BytesIO(b"abc"), 2)


def test_pipes_and_folders_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("pipe", "a pipe or device"), ("", "Is a directory")):
        with pytest.raises(OSError, match=message):
            read_file(tmp_path / name)
