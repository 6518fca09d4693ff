"""What dashboard and metrics read of a hub: cached snapshots and their histories.

Finished runs stay, also after the client that started them has taken its result.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dpbb.dashboard.feed import RunView
from dpbb.dashboard.history import History

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpbb.cluster.scheduler.hub import Hub
    from dpbb.coordination.snapshot import Snapshot
    from dpbb.problem import Problem

FRESH_S = 0.45
"""A snapshot serves all who ask for it within this time."""

MAX_SHARE = 0.01
"""Of a core: with very many seats or units, snapshots are made less often."""

KEPT_RUNS = 32
"""Of so many runs that are over the page shows the end."""


class _Watched:
    """One run."""

    def __init__(self, problem: Problem[Any], snapshot: Snapshot) -> None:
        self.problem = problem
        self.snapshot = snapshot
        self.history = History()
        self.until = 0.0  # as long as the snapshot serves


class Monitor:
    """Runs of a hub, as they are and as they were.

    Parameters
    ----------
    hub
        Holds the runs.
    clock
        Seconds, monotonic; the hub's.
    """

    def __init__(self, hub: Hub, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub = hub
        self._clock = clock
        self._runs: dict[str, _Watched] = {}

    def tick(self) -> None:
        """Look at all open runs; called a few times a second while there are any."""
        for run_id in self._hub.runs:
            self._look(run_id)

    def changed(self, run_id: Any) -> None:
        """Take note that something happened to a run, which may be its end."""
        self._look(run_id)
        finished = self._hub.finished.get(run_id)
        watched = self._runs.get(run_id)
        if finished is None or watched is None:
            return
        watched.snapshot = finished.snapshot
        watched.history.note(finished.snapshot)
        over = [known for known in self._runs if known not in self._hub.runs]
        for oldest in over[:-KEPT_RUNS]:
            del self._runs[oldest]

    def run_ids(self) -> list[str]:
        """Names of the runs, in the order in which they were opened."""
        self.tick()
        return list(self._runs)

    def view(self, run_id: str) -> RunView | None:
        """Return a run as it is now, or was less than half a second ago."""
        self._look(run_id)
        watched = self._runs.get(run_id)
        if watched is None:
            return None
        return RunView(watched.snapshot, watched.history, watched.problem)

    def snapshots(self) -> list[Snapshot]:
        """Snapshots of the open runs."""
        self.tick()
        return [self._runs[run_id].snapshot for run_id in self._hub.runs]

    def _look(self, run_id: Any) -> None:
        run = self._hub.runs.get(run_id)
        if run is None:
            return
        watched, began = self._runs.get(run_id), self._clock()
        if watched is not None and began < watched.until:
            return
        snapshot = run.snapshot(began)
        if watched is None:
            problem = run.coordinator.spec.problem
            watched = self._runs[run_id] = _Watched(problem, snapshot)
        watched.snapshot = snapshot
        watched.history.note(snapshot)
        now = self._clock()
        watched.until = now + max(FRESH_S, (now - began) / MAX_SHARE)
