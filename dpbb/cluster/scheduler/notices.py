"""Who is told of the runs of a scheduler, as its own configuration says."""

import logging
import time
from typing import Any

import dask.config

from dpbb.cluster.scheduler.hub import Hub
from dpbb.coordination.snapshot import RunState
from dpbb.errors import OptionError
from dpbb.progress.notices import END, FAILURE, Notifier, facts_of

logger = logging.getLogger(__name__)

CONFIG = "dpbb.on-end"
"""Dask setting of the scheduler: a command, or a web address."""


class Notices:
    """Tells of ends, failures and runs without seats; nobody without the setting."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._notifier: Notifier | None = None
        target = dask.config.get(CONFIG, None)
        if target is not None:
            try:
                self._notifier = Notifier(str(target))
            except OptionError as error:
                logger.error("%s: %s", CONFIG, error)

    def changed(self, run_id: Any) -> None:
        """Tell of the end of a run, if that is what happened to it."""
        finished = self._hub.finished.get(run_id)
        if self._notifier is None or finished is None:
            return
        failed = finished.snapshot.state is RunState.FAILED
        self._notifier.tell(FAILURE if failed else END, facts_of(finished.snapshot))

    def tick(self) -> None:
        """Look for runs without seats."""
        if self._notifier is None:
            return
        now = time.monotonic()
        for run in self._hub.runs.values():
            if run.waits_for and not run.seats:
                self._notifier.look(run.snapshot(now))
            elif run.seats:
                self._notifier.seated(run.id)
