"""How dpbb's messages look to Dask: arrays as opaque frames, errors as answers.

The scheduler does not deserialize: arrays arrive there as Dask's own opaque objects
and stay so until a thread opens them (``unwrap``). An exception that leaves an RPC
handler is logged with a traceback on the scheduler; the expected errors of dpbb are
ordinary answers, so they travel as values and are raised where they matter.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import numpy as np
from distributed.core import clean_exception, error_message
from distributed.protocol.serialize import Serialize, Serialized, to_serialize

from dpbb.cluster.internals import opened
from dpbb.errors import DpbbError

ERROR = "dpbb-error"


def wrap(value: Any) -> Any:
    """Return a message body with every array as an opaque frame."""
    if isinstance(value, np.ndarray):
        return to_serialize(value)
    if isinstance(value, dict):
        return {key: wrap(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [wrap(item) for item in value]
    return value


def unwrap(value: Any) -> Any:
    """Inverse of ``wrap``; opens what the scheduler kept opaque."""
    if isinstance(value, Serialized):
        return opened(value)
    if isinstance(value, Serialize):  # in-process connections
        return value.data
    if isinstance(value, dict):
        return {key: unwrap(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [unwrap(item) for item in value]
    return value


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
