"""Who writes into a folder of checkpoints, and until when."""

import asyncio
import threading
import time

import pytest

from dpbb.cluster.scheduler.checkpoints import Keeper
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.storage.claim import NAME, Claim, read_owner
from dpbb.cluster.storage.claim import _held as held
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.errors import CheckpointError
from dpbb.result import Termination
from tests.unit.cluster.support import FakeShell, World, tiny_spec


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
    spec = tiny_spec(checkpoint=str(tmp_path))

    async def both():
        keeper = await Keeper.opened(spec)
        hub.open(spec, b"", keeper=keeper)
        run = hub.runs[spec.run_id]
        run.coordinator.request_stop(Termination.STOPPED, time.monotonic())
        hub.settle(spec.run_id)
        while not keeper._lock.locked():
            await asyncio.sleep(0)
        status = await keeper.save_now()
        await keeper.close()
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

    monkeypatch.setitem(DEFAULTS, "store-open", 0.05)
    monkeypatch.setattr(Claim, "_beat", late)
    spec = tiny_spec(checkpoint=str(tmp_path))
    with pytest.raises(CheckpointError, match="has not answered"):
        asyncio.run(Keeper.opened(spec))
    answers.set()
    for thread in threading.enumerate():
        if thread.name == "dpbb-store":
            thread.join(10)
    assert not (tmp_path / NAME).exists()
    assert held == before


def test_signs_of_life_do_not_wait_for_a_checkpoint(tmp_path, monkeypatch):
    """One that takes minutes must not make its owner look dead."""
    hub = Hub(FakeShell())
    spec = tiny_spec(checkpoint=str(tmp_path))
    answers, writes = threading.Event(), threading.Event()

    async def both():
        keeper = await Keeper.opened(spec)
        hub.open(spec, b"", keeper=keeper)
        write = keeper._folder.write

        def slow(*arguments):
            writes.set()
            assert answers.wait(30)
            return write(*arguments)

        monkeypatch.setattr(keeper._folder, "write", slow)
        writing = asyncio.create_task(keeper._write())
        assert await asyncio.to_thread(writes.wait, 30)
        before = read_owner(keeper._folder.folder).beat
        keeper._beat_at = 0.0
        keeper.tick()
        while read_owner(keeper._folder.folder).beat == before:
            await asyncio.sleep(0.01)
        assert not writing.done()
        answers.set()
        assert await writing
        await keeper.close()

    asyncio.run(both())


def test_seats_are_asked_before_a_checkpoint_and_a_silent_one_is_not_waited_for(
    tmp_path,
):
    world = World()
    spec = tiny_spec(n_jobs=9, checkpoint=str(tmp_path), checkpoint_interval_s=0.2)

    async def first(n):
        while run.keeper._folder._number < n or run.keeper._lock.locked():
            world.clock.now = time.monotonic()
            run.keeper.tick()
            await asyncio.sleep(0.001)
        return run.keeper.status(time.monotonic(), 0.0)

    async def both():
        nonlocal run
        world.clock.now = time.monotonic()
        keeper = await Keeper.opened(spec)
        world.hub.open(spec, b"", keeper=keeper)
        run = world.hub.runs[spec.run_id]
        world.join("a")
        (given,) = world.shell.futures.values()
        world.hub.lease(spec.run_id, given)
        one = await first(1)
        assert ("a", "a/cpu0", None) in world.shell.hints
        assert world.shell.full[-1]
        assert one.at_risk_s > 0.1  # what it has explored is nowhere
        world.shell.full.clear()
        await first(2)
        assert world.shell.full == [True]  # asked again
        await run.keeper.close()

    run = None
    asyncio.run(asyncio.wait_for(both(), 60))


@pytest.mark.parametrize("broken", ["request_save", "checkpoint"])
def test_a_checkpoint_that_could_not_be_asked_for_is_due_again(
    broken, tmp_path, monkeypatch, caplog
):
    """One error, of whatever kind, must not be the end of a run's checkpoints."""
    hub = Hub(FakeShell())
    spec = tiny_spec(checkpoint=str(tmp_path), checkpoint_interval_s=0.05)
    calls = 0

    async def both():
        keeper = await Keeper.opened(spec)
        hub.open(spec, b"", keeper=keeper)
        coordinator = hub.runs[spec.run_id].coordinator
        works = getattr(coordinator, broken)

        def breaks_once(*arguments):
            nonlocal calls
            calls += 1
            if calls == 1:
                raise RuntimeError("not now")
            return works(*arguments)

        monkeypatch.setattr(coordinator, broken, breaks_once)
        while calls < 2 or not keeper._folder.names:
            keeper.tick()
            await asyncio.sleep(0.001)
        await keeper.close()

    asyncio.run(asyncio.wait_for(both(), 60))
    assert "not now" in caplog.text
