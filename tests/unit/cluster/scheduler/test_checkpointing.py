"""Who writes into a folder of checkpoints, and until when."""

import asyncio
import threading
import time

import pytest

from dpbb.cluster.scheduler.checkpointing import Checkpointer
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.storage import patience
from dpbb.cluster.storage.claim import NAME, Claim, read_owner
from dpbb.cluster.storage.claim import _held as held
from dpbb.errors import CheckpointError
from dpbb.result import Termination
from tests.unit.cluster.support import FakeShell, tiny_spec


def test_a_save_that_comes_late_leaves_the_folder_of_a_run_that_is_over_alone(
    tmp_path, monkeypatch
):
    """Else the folder would hold a run that nobody ended, which goes on by itself."""
    renew = Claim.renew

    def when_it_is_released(claim):
        if list(tmp_path.glob("*.dpbb")):
            deadline = time.monotonic() + 1
            while (tmp_path / NAME).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
        renew(claim)

    monkeypatch.setattr(Claim, "renew", when_it_is_released)
    hub = Hub(FakeShell())
    checkpointer = Checkpointer(hub)
    spec = tiny_spec(checkpoint=str(tmp_path))

    async def both():
        keeper = await checkpointer.keeper(spec, None)
        hub._shell.write_last = checkpointer.write_last
        hub.open(spec, b"", keeper=keeper)
        run = hub.runs[spec.run_id]
        run.coordinator.request_stop(Termination.STOPPED, time.monotonic())
        hub.advance(spec.run_id)
        while not keeper.lock.locked():
            await asyncio.sleep(0)
        status = await checkpointer.save_now(run)
        await checkpointer.close()
        return status

    status = asyncio.run(both())
    assert spec.run_id in hub.finished
    assert status.written == 1
    assert status.files == ("checkpoint-000001.dpbb",)
    assert not (tmp_path / NAME).exists()


def test_a_folder_that_is_claimed_too_late_is_left_again(tmp_path, monkeypatch):
    """Nobody waits for the claim any more: the next one to ask may have the folder."""
    answers, before = threading.Event(), set(held)
    renew = Claim._beat

    def late(claim, *now):
        answers.wait(30)
        renew(claim, *now)

    monkeypatch.setattr(patience, "OPEN_S", 0.05)
    monkeypatch.setattr(Claim, "_beat", late)
    spec = tiny_spec(checkpoint=str(tmp_path))
    with pytest.raises(CheckpointError, match="has not answered"):
        asyncio.run(Checkpointer(Hub(FakeShell())).keeper(spec, None))
    answers.set()
    for thread in threading.enumerate():
        if thread.name == "dpbb-store":
            thread.join(10)
    assert not (tmp_path / NAME).exists()
    assert held == before


def test_signs_of_life_do_not_wait_for_a_checkpoint(tmp_path, monkeypatch):
    """One that takes minutes must not make its owner look dead."""
    hub = Hub(FakeShell())
    checkpointer = Checkpointer(hub)
    spec = tiny_spec(checkpoint=str(tmp_path))
    answers, writes = threading.Event(), threading.Event()

    async def both():
        keeper = await checkpointer.keeper(spec, None)
        hub.open(spec, b"", keeper=keeper)
        run = hub.runs[spec.run_id]
        write = keeper.folder.write

        def slow(*arguments):
            writes.set()
            assert answers.wait(30)
            return write(*arguments)

        monkeypatch.setattr(keeper.folder, "write", slow)
        writing = asyncio.create_task(keeper.write(run.coordinator))
        assert await asyncio.to_thread(writes.wait, 30)
        before = read_owner(keeper.folder.folder).beat
        assert keeper.beat_due(time.monotonic() + 11)
        assert not keeper.beat_due(time.monotonic() + 99)  # one at a time
        await asyncio.wait_for(keeper.beat(run.coordinator), 10)
        assert read_owner(keeper.folder.folder).beat > before
        assert not writing.done()
        answers.set()
        assert await writing
        await checkpointer.close()

    asyncio.run(both())
