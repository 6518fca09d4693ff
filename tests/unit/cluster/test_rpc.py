"""Messages as Dask carries them: opaque arrays, errors as answers."""

import numpy as np
import pytest
from distributed.protocol import dumps, loads
from distributed.protocol.serialize import Serialize, Serialized

from dpbb.cluster.rpc import ERROR, answers_errors, raised, unwrap, wrap
from dpbb.errors import ClusterError, StaleLeaseError

BODY = {"lease": "r/1.1", "seq": 3, "best": b"\x01\x02", "closed": np.arange(5)}


def test_arrays_stay_opaque_until_they_are_unwrapped():
    """The scheduler's loop must not deserialize what a thread will."""
    frames = dumps(wrap(BODY))
    arrived = loads(frames, deserialize=False)
    assert isinstance(arrived["closed"], Serialized)
    found = unwrap(arrived)
    assert found["closed"].tolist() == [0, 1, 2, 3, 4]
    assert {k: v for k, v in found.items() if k != "closed"} == {
        k: v for k, v in BODY.items() if k != "closed"
    }


@pytest.mark.parametrize("context", [{}, {"compression": "zlib"}])
def test_large_arrays_are_put_together_again(context):
    """Dask splits frames, of 64 MiB by default, and may compress the parts."""
    large = np.arange(100_000) // 7
    frames = dumps(
        wrap({"tails": large, "few": np.ones(3)}),
        context=context,
        frame_split_size=1 << 16,
    )
    assert len(frames) > 12
    found = unwrap(loads(frames, deserialize=False))
    assert np.array_equal(found["tails"], large)
    assert found["few"].tolist() == [1, 1, 1]


def test_arrays_arrive_as_arrays_elsewhere():
    """A worker's connection deserializes."""
    assert loads(dumps(wrap(BODY)))["closed"].tolist() == [0, 1, 2, 3, 4]


def test_in_process_connections_are_unwrapped_too():
    """They pass the wrapped objects on."""
    wrapped = wrap(BODY)
    assert isinstance(wrapped["closed"], Serialize)
    assert unwrap(wrapped)["closed"] is BODY["closed"]


def test_nested_values_are_wrapped():
    """In dicts and lists."""
    nested = {"a": [np.zeros(2), {"b": np.ones(1)}]}
    found = unwrap(loads(dumps(wrap(nested)), deserialize=False))
    assert found["a"][0].tolist() == [0, 0]
    assert found["a"][1]["b"].tolist() == [1]


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
