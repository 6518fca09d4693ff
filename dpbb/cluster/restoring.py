"""Runs that go on by themselves when their scheduler was killed and started again.

A folder of checkpoints whose ``owner.json`` is still there (``claim.py``) holds a run
that nobody ended: it was neither exhausted nor stopped, and met no limit. A scheduler
that is told where such folders are (``dpbb.resume`` in Dask's configuration, read by
``dpbb.cluster.preload``) opens these runs again when it starts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from dpbb.cluster.checkpoint_folder import newest_whole, resumed_id
from dpbb.cluster.claim import NAME, read_owner
from dpbb.cluster.store import Folder
from dpbb.engines.base import Tuning
from dpbb.errors import DpbbError
from dpbb.options import SolveOptions

if TYPE_CHECKING:
    from dpbb.coordination.checkpoint import Checkpoint
    from dpbb.coordination.messages import RunSpec

logger = logging.getLogger(__name__)

CONFIG = "dpbb.resume"
"""Key of Dask's configuration."""

RETRY_S = 5.0
"""A folder whose owner may be alive, on another host, is looked at again."""


class Opener(Protocol):
    """What opens a run that goes on."""

    async def open_saved(self, spec: RunSpec, saved: Checkpoint) -> None:
        """Open the run."""


async def restore_all(url: str, opener: Opener) -> None:
    """Open every run below ``url`` that nobody ended; wait for those still owned.

    Never raises: what cannot be opened is logged, and the others go on.
    """
    try:
        left = await asyncio.to_thread(unended_folders, url)
        while left:
            left = [folder for folder in left if not await _restore(folder, opener)]
            if left:
                await asyncio.sleep(RETRY_S)
    except DpbbError as error:
        logger.error("%s: %s", CONFIG, error)


def unended_folders(url: str) -> list[Folder]:
    """Folders with a run that nobody ended: ``url`` itself, or those in it."""
    folder = Folder(url)
    found = [folder, *(Folder(inner) for inner in folder.folders())]
    return [one for one in found if NAME in one.names()]


async def _restore(folder: Folder, opener: Opener) -> bool:
    """Open the run of a folder; False if its owner may still be alive."""
    try:
        owner = await asyncio.to_thread(read_owner, folder)
        if owner is not None and owner.is_alive(folder.host, time.time()):
            return False
        saved = await asyncio.to_thread(newest_whole, folder)
        if saved.error is not None or saved.finished:
            logger.info("%s: run %s is over", folder.url, saved.spec.run_id)
            return True
        spec = going_on(saved, folder.url)
        await opener.open_saved(spec, saved)
    except DpbbError as error:
        logger.error("%s: its run does not go on: %s", folder.url, error)
    else:
        logger.warning(
            "%s: run %s goes on after %.0f s as %s",
            folder.url,
            saved.spec.run_id,
            saved.seconds,
            spec.run_id,
        )
    return True


def going_on(saved: Checkpoint, url: str) -> RunSpec:
    """Return the run as it was, from where it is; limits count all of its time."""
    spec = replace(
        saved.spec,
        run_id=resumed_id(saved.spec.run_id),
        upper_bound=saved.cutoff,
        permutation=None,  # the checkpoint has a better one, or the same
        checkpoint=url,
    )
    request: Any = spec.request
    if not request:
        return spec
    options = SolveOptions.from_mapping(request["options"])
    limit = options.time_limit_s
    if limit is not None:
        limit = max(0.0, limit - request["seconds"] - saved.seconds)
    return replace(
        spec,
        tuning=Tuning.of(options),
        time_limit_s=limit,
        node_limit=options.node_limit,
        gap_limit=options.gap_limit,
    )
