"""Messages as Dask carries them: opaque frames, errors as answers."""

import pytest
from distributed.protocol import dumps, loads
from distributed.protocol.serialize import Serialized

from dpbb.cluster.rpc import ERROR, LARGE, answers_errors, raised, unwrap, wrap
from dpbb.errors import ClusterError, StaleLeaseError

LARGEST = bytes(range(256)) * 1024


@pytest.mark.parametrize("body", [b"", b"few", LARGEST], ids=["none", "few", "many"])
@pytest.mark.parametrize("context", [{}, {"compression": "zlib"}])
def test_bodies_arrive_as_they_were(body, context):
    """Dask splits large frames, of 64 MiB by default, and may compress the parts."""
    frames = dumps([wrap(body)], context=context, frame_split_size=1 << 16)
    (arrived,) = loads(frames, deserialize=False)  # as on the scheduler
    assert isinstance(arrived, Serialized if len(body) >= LARGE else bytes)
    assert unwrap(arrived) == body
    (arrived,) = loads(frames)  # as on a worker
    assert unwrap(arrived) == body
    assert unwrap(wrap(body)) == body  # as in one process


async def answer_of(error):
    @answers_errors
    async def handler():
        if error is not None:
            raise error
        return {"status": "fine"}

    return await handler()


def run(coroutine):
    import asyncio

    return asyncio.run(coroutine)


def test_errors_of_dpbb_are_answers_that_raise_where_they_arrive():
    """With their class and text."""
    answer = run(answer_of(StaleLeaseError("attempt 1 is not current")))
    assert answer["status"] == ERROR
    with pytest.raises(StaleLeaseError, match="attempt 1 is not current"):
        raised(loads(dumps(answer)))


def test_other_errors_and_answers_pass():
    """An unexpected error is Dask's to log; an answer is an answer."""
    with pytest.raises(ZeroDivisionError):
        run(answer_of(ZeroDivisionError()))
    assert raised(run(answer_of(None))) == {"status": "fine"}
    assert raised(b"blob") == b"blob"
    with pytest.raises(ClusterError):
        raised(loads(dumps(run(answer_of(ClusterError("no"))))))
