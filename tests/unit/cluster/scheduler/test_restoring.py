"""Which runs go on by themselves, as what, and what of others is left alone."""

import asyncio
import json
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dpbb.cluster.scheduler import restoring
from dpbb.cluster.scheduler.restoring import restore_all
from dpbb.cluster.storage import claim
from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder
from dpbb.cluster.storage.claim import NAME, Claim, is_owned, read_owner
from dpbb.cluster.storage.store import Folder
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.errors import CheckpointError, ClusterError
from tests.unit.coordination.test_checkpoint import flow_shop_state


class Opened(list):
    """An opener that takes notes."""

    async def open_saved(self, spec, saved):
        if spec.run_id.startswith("taken"):
            raise ClusterError("expected a new run id")
        self.append((spec, saved))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(claim, "SETTLE_S", 0.0)
    monkeypatch.setattr(restoring, "RETRY_S", 0.01)


@pytest.fixture(params=["local", "memory"])
def url(request, tmp_path):
    if request.param == "local":
        return str(tmp_path)
    return f"memory://restoring-{tmp_path.name}"


def killed(url, *, written=2, **changes):
    """Leave a folder as a run does whose scheduler is killed; return its state."""
    folder = CheckpointFolder(url, keep=3)
    state = replace(flow_shop_state(), **changes)
    Claim(folder.folder, state.spec.run_id).abandon()
    for _ in range(written):
        folder.write(state)
    return state


def restore(url):
    opened = Opened()
    asyncio.run(restore_all(url, opened.open_saved))
    return opened


def test_a_run_that_was_cut_off_goes_on(url):
    """Under a name of its own, in the same folder."""
    state = killed(f"{url}/a")
    for where in (url, f"{url}/a"):
        ((spec, saved),) = restore(where)
        assert spec.run_id.startswith(f"{state.spec.run_id}~")
        assert spec.options.checkpoint == Folder(f"{url}/a").url
        assert spec.upper_bound == state.cutoff
        assert saved.counters == state.counters


def test_runs_that_ended_are_left_alone(url):
    """Stopped, exhausted, failed, or never begun; and folders of something else."""
    stopped = CheckpointFolder(f"{url}/stopped", keep=3)
    state = flow_shop_state()
    mine = Claim(stopped.folder, state.spec.run_id)
    stopped.write(state)
    mine.release()
    killed(f"{url}/failed", error="no")
    killed(f"{url}/early", written=0)
    Folder(f"{url}/other").probe()
    assert restore(url) == []
    assert restore(f"{url}/nothing") == []


def test_one_that_cannot_go_on_does_not_keep_the_others(tmp_path, caplog):
    killed(str(tmp_path / "a"))
    for file in (tmp_path / "a").glob("*.dpbb"):
        file.write_bytes(b"x")
    killed(str(tmp_path / "b"))
    state = flow_shop_state()
    killed(str(tmp_path / "c"), spec=replace(state.spec, run_id="taken"))
    assert len(restore(str(tmp_path))) == 1
    texts = [record.getMessage() for record in caplog.records]
    assert sum("its run does not go on" in text for text in texts) == 2


def test_a_damaged_newest_one_is_passed_over(tmp_path):
    """Nobody is there to be asked; the one before it is exact, too."""
    state = killed(str(tmp_path))
    (tmp_path / "checkpoint-000002.dpbb").write_bytes(b"x")
    ((_, saved),) = restore(str(tmp_path))
    assert saved.counters == state.counters


def test_an_owner_that_may_be_alive_is_waited_for(tmp_path, monkeypatch):
    killed(str(tmp_path / "a"))
    folder = Folder(str(tmp_path / "a"))
    elsewhere = replace(read_owner(folder), host="elsewhere", beat=time.time() + 10)
    folder.write(NAME, [json.dumps(asdict(elsewhere)).encode()])

    looks = []

    def look(at):
        looks.append(at)
        return is_owned(at)

    monkeypatch.setattr(restoring, "is_owned", look)

    async def owner_dies_later():
        opened = Opened()
        task = asyncio.create_task(restore_all(str(tmp_path), opened.open_saved))
        while len(looks) < 3:
            await asyncio.sleep(0.01)
        assert not opened
        dead = replace(elsewhere, beat=0.0)
        folder.write(NAME, [json.dumps(asdict(dead)).encode()])
        await task
        return opened

    assert len(asyncio.run(owner_dies_later())) == 1


def test_a_folder_that_cannot_be_looked_at_keeps_no_other(
    tmp_path, monkeypatch, caplog
):
    """Those of other users, ``lost+found``; a store that hangs, until it answers."""
    for name in ("closed", "hangs", "odd", "open"):
        killed(str(tmp_path / name))
    ours, released = Folder.names, threading.Event()

    def names(folder):
        name = Path(folder.url).name
        if name == "closed":
            raise CheckpointError("cannot list it: PermissionError")
        if name == "odd":
            raise RuntimeError("odd indeed")
        if name == "hangs" and not released.wait(1):
            released.set()  # it answers when it is asked again
        return ours(folder)

    monkeypatch.setattr(Folder, "names", names)
    monkeypatch.setitem(DEFAULTS, "store-open", 0.3)
    monkeypatch.setattr(restoring, "RETRY_S", 0.01)
    opened = [spec.options.checkpoint for spec, _ in restore(str(tmp_path))]
    assert opened == [str(tmp_path / name) for name in ("open", "hangs")]
    for name, text in (("closed", "PermissionError"), ("odd", "odd indeed")):
        assert f"{tmp_path}/{name}: is passed over" in caplog.text
        assert text in caplog.text
    assert f"{tmp_path}/hangs has not answered for 0 s; it is asked" in caplog.text


def test_nothing_escapes(tmp_path, monkeypatch, caplog):
    """Whatever goes wrong, the scheduler starts."""
    killed(str(tmp_path / "a"))

    async def cannot(spec, saved):
        raise RuntimeError("cannot open it")

    asyncio.run(restore_all(str(tmp_path), cannot))
    assert "cannot open it" in caplog.text

    def broken(_folder):
        raise RuntimeError("cannot list them")

    monkeypatch.setattr(Folder, "folders", broken)
    assert restore(str(tmp_path)) == []
    assert "cannot list them" in caplog.text
