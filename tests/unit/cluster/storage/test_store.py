"""Where files are, for people and for us, and what cannot be written says why."""

import asyncio
import threading
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.cluster.storage.store import Folder, file_to_write, in_time
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.errors import CheckpointError


class Server(MemoryFileSystem):
    """Connects when it is made, as FTP does."""

    protocol = "dpbb-server"

    def __init__(self, **options):
        super().__init__(**options)
        raise ConnectionRefusedError(111, "Connection refused")


class Remote(MemoryFileSystem):
    """Its paths say neither the protocol nor the server, as those of FTP."""

    protocol = "dpbb-remote"

    @classmethod
    def _strip_protocol(cls, path):
        if "://" in path:
            path = path.partition("://")[2].partition("/")[2]
        return "/" + path.strip("/")


fsspec.register_implementation("dpbb-server", Server)
fsspec.register_implementation("dpbb-remote", Remote)


def test_relative_paths_count_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, name = Folder.of_file("x.dpbb")
    assert (folder.url, name) == (str(tmp_path), "x.dpbb")
    assert Folder("run").url == str(tmp_path / "run")


def test_the_folders_of_a_server_are_on_it():
    """Without its password in what people see."""
    folder = Folder("dpbb-remote://me:secret@host/runs/")
    Folder(f"{folder.source}/a").probe()
    (inner,) = folder.folders()
    assert inner == "dpbb-remote://me:secret@host/runs/a"
    assert Folder(inner).url == "dpbb-remote://me:***@host/runs/a"
    assert folder.label("x") == "dpbb-remote://me:***@host/runs/x"


def test_a_server_that_is_not_there_is_named():
    text = r"connect to dpbb-server://me:\*\*\*@there/x from host .*ConnectionRefused"
    for use in (Folder, load_checkpoint, file_to_write):
        with pytest.raises(CheckpointError, match=text):
            use("dpbb-server://me:secret@there/x")


@pytest.mark.parametrize("place", ["/", "memory://", "memory://dpbb-no-such-place"])
def test_what_is_not_there_is_named_as_it_was_given(place):
    """A URL is not a path below the working directory."""
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(place)
    assert place.removesuffix("dpbb-no-such-place") in str(caught.value)
    assert str(Path.cwd()) not in str(caught.value)


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    """And nothing is made for it."""
    for path, reason in (
        (tmp_path, "Is a directory"),
        (f"{tmp_path}/x/", "Is a directory"),
        ("/", "Is a directory"),
        ("memory://", "Is a directory"),
        (tmp_path / "nothing" / "x.dpbb", "No such file or directory"),
    ):
        text = f"expected a file that can be written, got {path}: {reason}"
        with pytest.raises(CheckpointError, match=f"^{text}$"):
            file_to_write(str(path))
    with pytest.raises(CheckpointError, match="cannot write to /proc on host"):
        file_to_write("/proc/x.dpbb")
    folder, name = file_to_write(str(tmp_path / "x.dpbb"))
    assert (folder.url, name) == (str(tmp_path), "x.dpbb")
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_answer_is_left_alone(monkeypatch):
    """Neither the call, nor the loop, nor the process waits for it."""
    monkeypatch.setitem(DEFAULTS, "store-open", 0.05)
    released = threading.Event()
    threads = []

    def hang():
        threads.append(threading.current_thread())
        released.wait(60)
        raise OSError("nobody listens any more")

    with pytest.raises(CheckpointError, match="there has not answered for 0 s"):
        asyncio.run(in_time("there", hang))
    (thread,) = threads
    assert thread.is_alive()
    assert thread.daemon
    released.set()
    thread.join(10)
    assert not thread.is_alive()


def test_the_folder_above_may_go_while_a_folder_is_made(tmp_path, monkeypatch):
    """Another run that looks if it can write there takes away what it had made."""
    folder = Folder(str(tmp_path / "above" / "own"))
    make, calls = folder._fs.makedirs, []

    def makedirs(path, exist_ok):
        calls.append(path)
        if len(calls) == 1:
            raise FileNotFoundError(path)
        make(path, exist_ok=exist_ok)

    monkeypatch.setattr(folder._fs, "makedirs", makedirs)
    folder.probe()
    assert (tmp_path / "above" / "own").is_dir()
