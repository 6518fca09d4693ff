"""How dpbb's messages look to Dask: large ones as opaque frames, errors as answers.

The scheduler does not deserialize: frames arrive there as Dask's own opaque objects
and stay so until a thread opens them (``unwrap``). An exception that leaves an RPC
handler is logged with a traceback on the scheduler; the expected errors of dpbb are
ordinary answers, so they travel as values and are raised where they matter.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from distributed.core import clean_exception, error_message
from distributed.protocol.serialize import Serialize, Serialized, to_serialize

from dpbb.cluster.internals import opened
from dpbb.errors import DpbbError

NAME = "dpbb"
"""Of the plugins, as extensions of their scheduler and workers."""

HINT, IMPROVE, FORGET = "dpbb-hint", "dpbb-improve", "dpbb-forget"
"""What the scheduler says on a worker's stream."""

ERROR = "dpbb-error"

LARGE = 1 << 16
"""Bytes of a body from which Dask is to send them without a copy."""


def wrap(content: bytes) -> Any:
    """Return a message body; a large one is an opaque frame."""
    return content if len(content) < LARGE else to_serialize(content)


def unwrap(body: Any) -> bytes:
    """Inverse of ``wrap``; opens what the scheduler kept opaque."""
    if isinstance(body, Serialized):
        body = opened(body)
    if isinstance(body, Serialize):  # in-process connections
        body = body.data
    return bytes(body)


def answers_errors(
    handler: Callable[..., Awaitable[Any]],
) -> Callable[..., Awaitable[Any]]:
    """Decorate an RPC handler: dpbb's own errors become answers for ``raised``."""

    @wraps(handler)
    async def answer(*args: Any, **kwargs: Any) -> Any:
        try:
            return await handler(*args, **kwargs)
        except DpbbError as error:
            return {**error_message(error), "status": ERROR}

    return answer


def raised(answer: Any) -> Any:
    """Raise the error in an answer, if it holds one, else return the answer."""
    if isinstance(answer, dict) and answer.get("status") == ERROR:
        _, error, trace = clean_exception(**answer)
        if error is not None:
            raise error.with_traceback(trace)
    return answer
