"""Runs that go on by themselves when their scheduler was killed and started again.

A folder of checkpoints whose ``owner.json`` is still there (``claim.py``) holds a run
that nobody ended: it was neither exhausted nor stopped, and met no limit. A scheduler
that is told where such folders are (``dpbb.resume`` in Dask's configuration, read by
``dpbb.cluster.preload``) opens these runs again when it starts.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

from dpbb.cluster.storage.checkpoint_folder import newest_whole, resumed_id
from dpbb.cluster.storage.claim import NAME, is_owned
from dpbb.cluster.storage.store import Folder, in_thread, in_time, shown
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.messages import RunSpec
from dpbb.errors import CheckpointError, DpbbError

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

CONFIG = "dpbb.resume"
"""Key of Dask's configuration."""

RETRY_S = 5.0
"""A folder whose owner may be alive, on another host, is looked at again."""

OpenSaved = Callable[[RunSpec, Checkpoint], Awaitable[None]]
"""Opens a run that goes on."""


async def restore_all(url: str, open_saved: OpenSaved) -> None:
    """Open every run below ``url`` that nobody ended; wait for those still owned.

    Never raises: what cannot be opened is logged, and the others go on.
    """
    try:
        sources = await _answer(shown(url), _folders_of, url)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is logged
        _log(f"{CONFIG}: {shown(url)}", error)
        return
    await asyncio.gather(*(_attend(source, open_saved) for source in sources))


def _folders_of(url: str) -> list[str]:
    """Where runs may be: in ``url`` itself, and in the folders in it."""
    folder = Folder(url)
    return [folder.source, *folder.folders()]


async def _attend(source: str, open_saved: OpenSaved) -> None:
    """Open the run of a folder, if nobody ended it, when its owner is gone."""
    url = shown(source)
    trouble = "is passed over"
    try:
        folder = await _answer(url, unended, source)
        if folder is None:
            return
        trouble = "its run does not go on"
        while await _answer(url, is_owned, folder):
            await asyncio.sleep(RETRY_S)
        await _restore(folder, open_saved)
    except Exception as error:  # noqa: BLE001 - a folder may hold anything
        _log(f"{url}: {trouble}", error)


async def _answer(
    url: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call what asks a store; one that hangs is asked again."""
    while True:
        try:
            return await in_time(url, function, *args, **kwargs)
        except CheckpointError as error:
            if not isinstance(error.__cause__, TimeoutError):
                raise
            logger.warning("%s: %s; it is asked again", url, error)
            await asyncio.sleep(RETRY_S)


def _log(text: str, error: Exception) -> None:
    """Log what was raised, with a traceback if nobody had foreseen it."""
    known = isinstance(error, DpbbError)
    logger.error("%s: %s", text, error, exc_info=None if known else error)


def unended(source: str) -> Folder | None:
    """Return a folder if it holds a run that nobody ended."""
    folder = Folder(source)
    return folder if NAME in folder.names() else None


async def _restore(folder: Folder, open_saved: OpenSaved) -> None:
    """Open the run of a folder, unless it is over."""
    # maybe a gigabyte: in its own time
    _, saved, _ = await in_thread(newest_whole, folder)
    if saved.error is not None or saved.finished:
        logger.info("%s: run %s is over", folder.url, saved.spec.run_id)
        return
    spec = going_on(saved, folder.source)
    await open_saved(spec, saved)
    logger.warning(
        "%s: run %s goes on after %.0f s as %s",
        folder.url,
        saved.spec.run_id,
        saved.totals.seconds,
        spec.run_id,
    )


def going_on(saved: Checkpoint, url: str) -> RunSpec:
    """Return the run as it was, from where it is; what was left of its limits is."""
    return replace(
        saved.spec,
        run_id=resumed_id(saved.spec.run_id),
        upper_bound=saved.cutoff,
        permutation=None,  # the checkpoint has a better one, or the same
        options=replace(saved.spec.options, checkpoint=url),
        time_limit_s=saved.left_s,
    )
