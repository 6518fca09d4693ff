"""Keeps Dask's own log quiet while clusters of this process are open."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

_LOGGERS = ("distributed", "bokeh")
_lock = Lock()
_open = 0
_restore = ExitStack()


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Let Dask log errors only, for the length of the block.

    Blocks of several threads may overlap and end in any order, unlike those of
    ``LocalCluster(silence_logs=...)``: the last one that ends restores the levels.
    """
    global _open
    from distributed.utils import silence_logging_cmgr

    with _lock:
        _open += 1
        if _open == 1:
            for name in _LOGGERS:
                _restore.enter_context(silence_logging_cmgr(logging.ERROR, name))
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            if not _open:
                _restore.close()
