"""RPCs from a task's thread: answered, sent again, or given up with the worker."""

import asyncio
import threading
from types import SimpleNamespace

import pytest
from distributed.core import Status, error_message
from distributed.protocol import dumps, loads

from dpbb.cluster.rpc import ERROR
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.cluster.worker import link as module
from dpbb.cluster.worker.exploration import SeatClosedError, SeatStatus
from dpbb.cluster.worker.link import WorkerLink
from dpbb.errors import StaleLeaseError


class Scheduler:
    """Does what it is told, call by call."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = []

    def __getattr__(self, op):
        async def call(**message):
            self.calls.append((op, message.copy()))
            message.clear()  # as Dask's does
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            if callable(answer):  # and no answer
                answer()
                await asyncio.get_running_loop().create_future()
            return answer

        return call


@pytest.fixture
def loop():
    """An event loop in a thread of its own, as a worker has."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop

    async def cancel_all():
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run_coroutine_threadsafe(cancel_all(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


def make(loop, *answers, status=Status.running):
    worker = SimpleNamespace(
        scheduler=Scheduler(*answers),
        loop=SimpleNamespace(asyncio_loop=loop),
        status=status,
    )
    return worker, WorkerLink(worker, "run")


def test_failed_call_is_sent_again_unchanged(loop):
    """Until it is answered: a report keeps its number."""
    worker, link = make(loop, OSError("lost"), TimeoutError(), "answer")
    assert link.call("dpbb_x", seq=7) == "answer"
    assert worker.scheduler.calls == [("dpbb_x", {"seq": 7})] * 3


def test_unanswered_call_is_sent_again(loop, monkeypatch):
    """After a while."""
    monkeypatch.setitem(DEFAULTS, "rpc", 0.05)
    monkeypatch.setattr(module, "_POLL_S", 0.02)
    _, link = make(loop, lambda: None, "answer")
    assert link.call("dpbb_x") == "answer"


def test_error_that_is_an_answer_is_raised(loop):
    """And not tried again."""
    message = {**error_message(StaleLeaseError("old")), "status": ERROR}
    answer = loads(dumps(message))
    worker, link = make(loop, answer)
    with pytest.raises(StaleLeaseError, match="old"):
        link.call("dpbb_lease")
    assert len(worker.scheduler.calls) == 1


@pytest.mark.parametrize("status", [Status.closing, Status.closing_gracefully])
def test_leaving_worker_tries_once(loop, status):
    """There may be time for a last report, but not for patience."""
    _, link = make(loop, OSError("lost"), status=status)
    assert link.status() is SeatStatus.LEAVING
    with pytest.raises(SeatClosedError):
        link.call("dpbb_report")
    _, link = make(loop, "answer", status=status)
    assert link.call("dpbb_report") == "answer"
