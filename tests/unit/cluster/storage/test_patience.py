"""What is called in a thread may answer, raise, or never return."""

import asyncio
import threading

import pytest

from dpbb.cluster.storage import patience
from dpbb.cluster.storage.patience import in_thread, in_time
from dpbb.errors import CheckpointError


def test_answers_and_errors_come_back():
    async def both():
        assert await in_thread(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await in_time("there", divmod, 7, 0)

    asyncio.run(both())


def test_what_does_not_answer_is_left_alone(monkeypatch):
    """Neither the call, nor the loop, nor the process waits for it."""
    monkeypatch.setattr(patience, "OPEN_S", 0.05)
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
