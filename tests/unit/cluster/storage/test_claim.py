"""A folder of checkpoints has one owner at a time, on any file system."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from dpbb.cluster.storage import claim as module
from dpbb.cluster.storage.claim import NAME, Claim, is_owned, read_owner
from dpbb.cluster.storage.store import Folder
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.errors import CheckpointError


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "SETTLE_S", 0.0)
    monkeypatch.setattr(module, "POLL_S", 0.01)


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    url = str(tmp_path) if request.param == "local" else f"memory://{tmp_path.name}"
    folder = Folder(url)
    folder.probe()
    return folder


def rewrite(folder, **changes):
    owner = replace(read_owner(folder), **changes)
    folder.write(NAME, [json.dumps(asdict(owner)).encode()])


def test_second_run_is_refused_and_told_who_is_there(folder):
    claim = Claim(folder, "run~1")
    with pytest.raises(CheckpointError) as caught:
        Claim(folder, "run~2")
    text = str(caught.value)
    assert f"run run~1 on host {folder.host} (process {os.getpid()})" in text
    assert f"delete {folder.url}/{NAME}" in text
    claim.release()
    Claim(folder, "run~2").release()
    assert NAME not in folder.names()


@pytest.fixture
def after(monkeypatch):
    """Call it with what is to be done before each look at an owner that is watched."""

    def put(action):
        sleep = time.sleep

        def done_first(seconds):
            action()
            sleep(seconds)

        monkeypatch.setattr(module.time, "sleep", done_first)

    return put


def test_owner_on_another_host_is_believed_at_its_next_sign_of_life(folder, after):
    Claim(folder, "run~1")
    beat = time.time()
    rewrite(folder, host="elsewhere", nonce="other", beat=beat)
    assert is_owned(folder)  # who only looks does not wait
    after(lambda: rewrite(folder, beat=beat + 10))
    with pytest.raises(CheckpointError, match="on host elsewhere"):
        Claim(folder, "run~2")


def test_owner_on_another_host_that_gives_none_is_replaced(folder, monkeypatch):
    """It was killed with its node: the next try waits instead of failing."""
    Claim(folder, "run~1")
    rewrite(
        folder, host="elsewhere", nonce="other",
        beat=time.time() - DEFAULTS["stale"] + 0.2,
    )  # fmt: skip
    Claim(folder, "run~2").release()
    Claim(folder, "run~3")  # by a clock that is behind ours it is never stale
    monkeypatch.setitem(DEFAULTS, "stale", 0.2)
    rewrite(folder, host="elsewhere", nonce="other", beat=time.time() + 0.15)
    Claim(folder, "run~4").release()


def test_owner_on_another_host_that_ends_meanwhile_is_no_owner(folder, after):
    claim = Claim(folder, "run~1")
    nonce = read_owner(folder).nonce
    rewrite(folder, host="elsewhere")
    assert read_owner(folder).nonce == nonce
    after(claim.release)
    Claim(folder, "run~2").release()


def test_killed_owner_on_this_host_is_replaced_at_once(folder):
    """Its process is gone, or its number has been used again."""
    Claim(folder, "run~1")
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    rewrite(folder, pid=process.pid, nonce="other")
    claim = Claim(folder, "run~2")
    claim.release()
    Claim(folder, "run~3")
    rewrite(folder, pid=os.getppid(), started=1.0, nonce="other")
    Claim(folder, "run~4").release()


def test_living_owner_on_this_host_is_not(folder):
    Claim(folder, "run~1")
    parent = os.getppid()
    started = module.psutil.Process(parent).create_time()
    rewrite(folder, pid=parent, started=started, nonce="other")
    with pytest.raises(CheckpointError, match=f"process {parent}"):
        Claim(folder, "run~2")


def test_owner_of_a_former_container_is_replaced(folder):
    """It had the same host name and the same pid, but is not in this process."""
    Claim(folder, "run~1")
    rewrite(folder, nonce="of a process that is no more")
    Claim(folder, "run~2").release()


def test_replaced_owner_finds_out_before_it_writes(folder):
    first = Claim(folder, "run~1")
    first.renew()
    rewrite(folder, nonce="other", run_id="run~2")
    with pytest.raises(CheckpointError, match=r"run run~2 on host"):
        first.renew()
    first.release()
    assert read_owner(folder).run_id == "run~2"  # theirs


def test_of_two_that_take_it_at_the_same_time_one_gets_it(folder, monkeypatch):
    """The other looks again, and finds that somebody wrote after it."""

    def meanwhile(_seconds):
        rewrite(folder, nonce="other", run_id="run~2")

    monkeypatch.setattr(module.time, "sleep", meanwhile)
    with pytest.raises(CheckpointError, match="run run~2"):
        Claim(folder, "run~1")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"nonce": 1}'])
def test_a_file_of_somebody_else_is_not_written_over(folder, content):
    folder.write(NAME, [content])
    assert read_owner(folder) is None
    with pytest.raises(CheckpointError, match="which is not written over"):
        Claim(folder, "run~1")
    assert folder.read(NAME) == content


def test_owner_whose_clock_is_ahead_is_watched(folder, monkeypatch, after):
    """A year ahead: it says nothing about when; one that moves is alive."""
    monkeypatch.setitem(DEFAULTS, "stale", 0.3)
    Claim(folder, "run~1")
    ahead = time.time() + 366 * 86_400
    rewrite(folder, host="elsewhere", nonce="other", beat=ahead)
    assert not is_owned(folder)
    Claim(folder, "run~2").release()
    Claim(folder, "run~3")
    rewrite(folder, host="elsewhere", nonce="other", beat=ahead)
    after(lambda: rewrite(folder, beat=ahead + 10))
    with pytest.raises(CheckpointError, match="run~3 on host elsewhere"):
        Claim(folder, "run~4")


def test_a_former_owner_that_overwrites_the_file_does_not_get_the_folder(folder):
    """It slept between its look and its writing."""
    old = Claim(folder, "run~1")
    rewrite(folder, beat=0.0)
    new = Claim(folder, "run~2")
    assert (old.tag, len(new.tag)) == ("", 8)
    old._beat(time.time())
    new.check()
    new.renew()
    for call in (old.check, old.renew):
        with pytest.raises(CheckpointError, match="run run~2"):
            call()
    assert read_owner(folder).run_id == "run~2"


def test_a_sign_of_life_that_wakes_too_late_is_not_written(folder, monkeypatch):
    """The folder was taken while the file lay beside, or was on its way."""
    old = Claim(folder, "run~1")
    write = old._folder.write

    def late(name, chunks, before=None):
        rewrite(folder, nonce="other", run_id="run~2", generation=1)
        return write(name, chunks, before)

    monkeypatch.setattr(old._folder, "write", late)
    with pytest.raises(CheckpointError, match="run run~2"):
        old.renew()
    assert read_owner(folder).run_id == "run~2"


def test_no_sign_of_life_after_the_end(folder):
    """One that hung until the folder was left would be a ghost."""
    claim = Claim(folder, "run~1")
    claim.release()
    claim.renew()
    assert NAME not in folder.names()


def test_owner_in_another_container_of_the_same_name_is_believed(folder, after):
    """What its pid is here says nothing: it is a number of another name space."""
    Claim(folder, "run~1")
    beat = time.time()
    rewrite(folder, machine="another", nonce="other", pid=2**22 + 1, beat=beat)
    assert is_owned(folder)
    after(lambda: rewrite(folder, beat=beat + 10))
    with pytest.raises(CheckpointError, match=f"process {2**22 + 1}"):
        Claim(folder, "run~2")
