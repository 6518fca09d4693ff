"""Compilation by Numba, kept in a cache on the disk where there can be one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_njit: Any = numba.njit


def compiled(function: Callable[..., Any], **options: Any) -> Any:  # noqa: ANN401
    """Compile on the first call, once per machine if a folder can be written to.

    Numba alone fails on a read-only disk (set ``NUMBA_CACHE_DIR`` there, or every
    process compiles anew), and for ever when a file of the cache is damaged.
    """
    try:
        dispatcher = _njit(cache=True, **options)(function)
    except RuntimeError as error:  # "cannot cache function"
        logger.info("compiled code is not kept: %s", error)
        return _njit(**options)(function)
    cache = dispatcher._cache
    load = cache.load_overload

    def load_if_whole(*key: Any) -> Any:  # noqa: ANN401
        try:
            return load(*key)
        except Exception:  # noqa: BLE001 (unpickling may raise anything)
            logger.warning("damaged cache of %s: compiled again", function.__name__)
            cache.flush()
            return None

    cache.load_overload = load_if_whole
    return dispatcher
