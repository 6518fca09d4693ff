"""Who writes into a folder of checkpoints, and until when."""

import asyncio
import threading
import time

import pytest

from dpbb.cluster.scheduler.checkpointing import Checkpointer
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
    checkpointer = Checkpointer(hub)
    spec = tiny_spec(checkpoint=str(tmp_path))

    async def both():
        keeper = await checkpointer.keeper(spec)
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

    monkeypatch.setitem(DEFAULTS, "store-open", 0.05)
    monkeypatch.setattr(Claim, "_beat", late)
    spec = tiny_spec(checkpoint=str(tmp_path))
    with pytest.raises(CheckpointError, match="has not answered"):
        asyncio.run(Checkpointer(Hub(FakeShell())).keeper(spec))
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
        keeper = await checkpointer.keeper(spec)
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


def test_the_next_one_is_there_when_the_interval_is_over(tmp_path):
    """However long it takes, as long as that is possible."""
    hub = Hub(FakeShell())
    spec = tiny_spec(checkpoint=str(tmp_path), checkpoint_interval_s=20.0)

    async def planned(began, now):
        checkpointer = Checkpointer(hub)
        keeper = await checkpointer.keeper(spec)
        keeper._plan(began, now)
        at = next(at for at in range(1000) if keeper.due(float(at)))
        await keeper.release(ended=True)
        return at, keeper.status(now, now).promised_s

    assert asyncio.run(planned(100, 100)) == (120, 20)
    assert asyncio.run(planned(100, 107)) == (113, 20)
    # not without a pause: then more than an interval is at risk, which is said
    assert asyncio.run(planned(100, 110)) == (115, 25)
    assert asyncio.run(planned(100, 130)) == (135, 65)


def test_seats_are_asked_before_a_checkpoint_and_a_silent_one_is_not_waited_for(
    tmp_path,
):
    world = World()
    checkpointer = Checkpointer(world.hub)
    spec = tiny_spec(n_jobs=9, checkpoint=str(tmp_path), checkpoint_interval_s=0.2)

    async def first(n):
        while run.keeper.folder._number < n or run.keeper.lock.locked():
            world.clock.now = time.monotonic()
            checkpointer.tick()
            await asyncio.sleep(0.001)
        return run.keeper.status(time.monotonic(), 0.0)

    async def both():
        nonlocal run
        world.clock.now = time.monotonic()
        keeper = await checkpointer.keeper(spec)
        world.hub.open(spec, b"", keeper=keeper)
        run = world.hub.runs[spec.run_id]
        world.join("a")
        (key,) = world.shell.futures
        assignment = world.shell.futures[key]
        world.hub.lease(spec.run_id, assignment.unit, assignment.attempt, "a/cpu0")
        one = await first(1)
        assert ("a", "a/cpu0", None) in world.shell.hints
        assert world.shell.full[-1]
        assert one.at_risk_s > 0.1  # what it has explored is nowhere
        world.shell.full.clear()
        await first(2)
        assert world.shell.full == [True]  # asked again
        await checkpointer.close()

    run = None
    asyncio.run(asyncio.wait_for(both(), 60))


@pytest.mark.parametrize("broken", ["request_save", "checkpoint"])
def test_a_checkpoint_that_could_not_be_asked_for_is_due_again(
    broken, tmp_path, monkeypatch, caplog
):
    """One error, of whatever kind, must not be the end of a run's checkpoints."""
    hub = Hub(FakeShell())
    checkpointer = Checkpointer(hub)
    spec = tiny_spec(checkpoint=str(tmp_path), checkpoint_interval_s=0.05)
    calls = 0

    async def both():
        keeper = await checkpointer.keeper(spec)
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
        while calls < 2 or not keeper.folder.names:
            checkpointer.tick()
            await asyncio.sleep(0.001)
        await checkpointer.close()

    asyncio.run(asyncio.wait_for(both(), 60))
    assert "not now" in caplog.text
