from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dpbb.cluster.storage import store
from dpbb.cluster.storage.checkpoint_folder import (
    CheckpointFolder,
    folder_of,
    load_checkpoint,
)
from dpbb.cluster.storage.store import Folder
from dpbb.errors import CheckpointError
from tests.unit.coordination.test_checkpoint import flow_shop_state


def files(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_the_last_few_are_kept(tmp_path):
    url = str(tmp_path / "run")
    folder = CheckpointFolder(url, keep=2)
    state = flow_shop_state()
    for _ in range(4):
        folder.write(state)
    assert folder.names == ["checkpoint-000004.dpbb", "checkpoint-000003.dpbb"]
    assert files(url) == sorted(folder.names)
    again = load_checkpoint(url)
    assert again.counters == state.counters
    assert len(again.units) == len(state.units)
    older = load_checkpoint(f"{url}/checkpoint-000003.dpbb")
    assert older.counters == state.counters


def test_any_file_system_will_do():
    url = "memory://dpbb-tests/run"
    state = flow_shop_state()
    CheckpointFolder(url, keep=1).write(state)
    assert load_checkpoint(url).counters == state.counters
    with pytest.raises(CheckpointError, match="expected a folder without checkpoints"):
        CheckpointFolder(url, keep=1)
    other = state.spec.run_id + "x"
    with pytest.raises(CheckpointError, match="of another run"):
        CheckpointFolder(url, keep=1, goes_on=other)
    CheckpointFolder(url, keep=1, goes_on=state.spec.run_id + "~2").write(state)


def test_a_failed_write_leaves_the_last_one(tmp_path, monkeypatch):
    folder = CheckpointFolder(str(tmp_path), keep=1)
    state = flow_shop_state()
    folder.write(state)
    before = files(tmp_path)

    def full(_handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"cannot write to .* No space left"):
            folder.write(state)
    assert files(tmp_path) == before
    load_checkpoint(str(tmp_path))
    folder.write(state)
    assert load_checkpoint(str(tmp_path)).counters == state.counters


def test_what_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="FileNotFoundError"):
        load_checkpoint(str(tmp_path / "nothing"))
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(CheckpointError, match="expected a checkpoint in folder"):
        load_checkpoint(str(tmp_path))
    with pytest.raises(CheckpointError, match="expected a checkpoint, which begins"):
        load_checkpoint(str(tmp_path / "a.txt"))
    with pytest.raises(CheckpointError, match="expected the name of a file"):
        Folder(str(tmp_path)).read("../a.txt")


def damaged_folder(tmp_path, keep=3, written=3):
    folder = CheckpointFolder(str(tmp_path), keep=keep)
    state = flow_shop_state()
    for _ in range(written):
        folder.write(state)
    newest = tmp_path / folder.names[0]
    newest.write_bytes(newest.read_bytes()[:-20])
    return state


def test_a_damaged_newest_one_names_the_one_before_it(tmp_path):
    """Which is as good as said: it can be read, and the folder goes on."""
    state = damaged_folder(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(str(tmp_path))
    text = str(caught.value)
    assert "checkpoint-000003.dpbb" in text
    before = f"{tmp_path}/checkpoint-000002.dpbb"
    assert text.endswith(f"go on from it by dpbb resume {before}")
    again = load_checkpoint(before)
    assert again.counters == state.counters
    folder = CheckpointFolder(str(tmp_path), keep=3, goes_on=state.spec.run_id)
    folder.write(again)
    assert load_checkpoint(str(tmp_path)).counters == state.counters


def test_names_are_in_the_order_of_their_numbers(tmp_path):
    """The millionth has a digit more, and is the newest for all that."""
    state = damaged_folder(tmp_path, written=2)
    (tmp_path / "checkpoint-000001.dpbb").rename(tmp_path / "checkpoint-999998.dpbb")
    (tmp_path / "checkpoint-000002.dpbb").unlink()
    folder = CheckpointFolder(str(tmp_path), keep=2, goes_on=state.spec.run_id)
    for number in ("999999", "1000000", "1000001"):
        assert folder.write(state)[0] == f"checkpoint-{number}.dpbb"
        assert folder.names[0] == f"checkpoint-{number}.dpbb"
    assert folder.names[1] == "checkpoint-1000000.dpbb"
    assert {name for name in files(tmp_path) if name.endswith("dpbb")} == {
        *folder.names
    }
    assert load_checkpoint(str(tmp_path)).counters == state.counters


def test_what_was_written_is_read_again(tmp_path, monkeypatch):
    """A store that loses or spoils what it is given is a failure at once."""
    folder = CheckpointFolder(str(tmp_path), keep=1)
    state = flow_shop_state()
    folder.write(state)
    write = folder.folder.write

    def spoil(name, chunks, before=None):
        n_bytes = write(name, chunks, before)
        path = tmp_path / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        return n_bytes

    with monkeypatch.context() as patch:
        patch.setattr(folder.folder, "write", spoil)
        with pytest.raises(CheckpointError, match="expected to read what was written"):
            folder.write(state)
    assert folder.names == ["checkpoint-000001.dpbb"]
    folder.write(state)
    assert load_checkpoint(str(tmp_path)).counters == state.counters


def test_an_owner_that_wakes_leaves_its_successors_files_alone(tmp_path):
    """It slept for longer than an owner may, and another goes on from its folder."""
    url = str(tmp_path)
    old = CheckpointFolder(url, keep=1)
    state = flow_shop_state()
    old.write(state)
    new = CheckpointFolder(url, keep=1, goes_on=state.spec.run_id)
    new.write(state, "0123abcd")
    theirs = set(files(tmp_path))
    assert theirs == {"checkpoint-000002-0123abcd.dpbb"}
    taken = []

    def check():
        raise CheckpointError(f"another's {taken}")

    with pytest.raises(CheckpointError, match="another's"):
        old.write(state, "", check)
    assert theirs <= set(files(tmp_path))
    old.write(state)  # even one that is not told
    assert theirs <= set(files(tmp_path))
    new.write(state, "0123abcd")
    load_checkpoint(url)


def test_a_folder_that_was_removed_is_made_again(tmp_path):
    """With all that a checkpoint needs, and nothing that is gone is said to be kept."""
    url = tmp_path / "deep" / "run"
    folder = CheckpointFolder(str(url), keep=3)
    state = flow_shop_state()
    folder.write(state)
    shutil.rmtree(url.parent)
    folder.write(state)
    assert folder.names == ["checkpoint-000002.dpbb"]
    assert load_checkpoint(str(url)).counters == state.counters


FIRST = "checkpoint-000001.dpbb"


@pytest.mark.parametrize("what", ["link", "device", "pipe", "folder"])
def test_nothing_but_files_of_the_folder_is_read(tmp_path, what):
    """A link leads to what nobody meant; a device or a pipe has no end."""
    CheckpointFolder(str(tmp_path / "run"), keep=1).write(flow_shop_state())
    file = tmp_path / "run" / FIRST
    kept = file.rename(tmp_path / "elsewhere")
    if what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    else:
        file.symlink_to(kept if what == "link" else "/dev/zero")
    with pytest.raises(CheckpointError, match=FIRST):
        load_checkpoint(str(tmp_path / "run"))


def test_a_link_that_somebody_names_is_followed(tmp_path):
    CheckpointFolder(str(tmp_path / "run"), keep=1).write(flow_shop_state())
    (tmp_path / "latest").symlink_to(tmp_path / "run" / FIRST)
    assert load_checkpoint(str(tmp_path / "latest")).units
    assert folder_of(str(tmp_path / "latest")) == str(tmp_path / "run")


def test_what_is_written_goes_through_no_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    folder = CheckpointFolder(str(tmp_path / "run"), keep=1)
    (tmp_path / "run" / FIRST).symlink_to(victim)
    folder.write(flow_shop_state())
    assert victim.read_bytes() == b"mine"
    assert load_checkpoint(str(tmp_path / "run")).units
