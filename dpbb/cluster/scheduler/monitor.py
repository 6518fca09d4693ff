"""What dashboard and metrics read of a hub: cached snapshots and their histories.

Finished runs stay, also after the client that started them has taken its result. Who
is named in the scheduler's configuration is told of ends, failures and want of seats.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import dask.config

from dpbb.cluster.scheduler.hub import Hub
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.pace import window_of
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.dashboard.feed import DeviceRow, History, RunView
from dpbb.errors import OptionError
from dpbb.problem import best_known_of
from dpbb.progress.notices import END, FAILURE, Notifier, facts_of
from dpbb.text.names import told_apart

logger = logging.getLogger(__name__)

NOTICES = "dpbb.on-end"
"""Dask setting of the scheduler: a command, or a web address."""

FRESH_S = 0.45
"""A snapshot serves all who ask for it within this time."""

MAX_SHARE = 0.01
"""Of a core: with very many seats or units, snapshots are made less often."""

KEPT_RUNS = 32
"""Of so many runs that are over the page shows the end."""

QUIET_S = 15.0
"""Devices that were heard of within this time are all the same, in order of names."""

TOLD_S = 3600.0
"""Metrics have the final state of a run for so long, so that alerts can be raised."""


@dataclass(slots=True)
class _Watched:
    """One run, and until when its snapshot serves."""

    view: RunView
    until: float = 0.0
    over_at: float | None = None

    def note(self, snapshot: Snapshot) -> None:
        self.view = replace(self.view, snapshot=snapshot)
        self.view.history.note(snapshot)


class Monitor:
    """Runs of a hub, as they are and as they were.

    Parameters
    ----------
    readings
        What a worker says of its devices and itself, by its address: see
        ``dpbb.cluster.worker.plugin``.
    notifier
        Tells of ends, failures and runs without seats; default: nobody.
    """

    def __init__(
        self,
        hub: Hub,
        clock: Callable[[], float] = time.monotonic,
        readings: Callable[[str], Mapping[str, Any]] = lambda _: {},
        notifier: Notifier | None = None,
    ) -> None:
        self._hub = hub
        self._clock = clock
        self._readings = readings
        self.notifier = notifier or Notifier(None)
        self._devices: tuple[DeviceRow, ...] = ()
        self._devices_until = -math.inf
        self._runs: dict[str, _Watched] = {}

    def tick(self) -> None:
        """Look at all open runs; called a few times a second while there are any."""
        for run_id in self._hub.runs:
            self._look(run_id)
            self.notifier.look(self._runs[run_id].view.snapshot)

    def changed(self, run_id: Any) -> None:
        """Take note that something happened to a run, which may be its end."""
        self._look(run_id)
        finished = self._hub.finished.get(run_id)
        if finished is None:
            return
        last = finished.snapshot
        kind = FAILURE if last.state is RunState.FAILED else END
        self.notifier.tell(kind, facts_of(last))
        watched = self._runs.get(run_id)
        if watched is None:
            return
        watched.over_at = self._clock()
        watched.note(last)
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
        return None if watched is None else watched.view

    def devices(self) -> tuple[DeviceRow, ...]:
        """Devices of the cluster, those that were not heard of for longest first."""
        now = self._clock()
        if now >= self._devices_until:
            self.tick()
            rows = list(self._device_rows())
            rows.sort(key=lambda row: (-(row.heard_ago_s or 0.0) // QUIET_S, row.name))
            self._devices = tuple(rows)
            took = self._clock() - now
            self._devices_until = now + max(FRESH_S, took / MAX_SHARE)
        return self._devices

    def _device_rows(self) -> Iterator[DeviceRow]:
        seats = {
            seat.seat: (self._runs[run_id].view.snapshot, seat)
            for run_id in self._hub.runs
            for seat in self._runs[run_id].view.snapshot.seats
        }
        known = {one: self._runs[one].view.snapshot.instance for one in self._hub.runs}
        names = told_apart(known)
        table = self._hub.table
        readings = {worker: self._readings(worker) for worker in table.workers}
        for state in table.seats.values():
            row = DeviceRow(state.name, state.worker, state.device.name)
            said = readings.get(state.worker, {})
            own = said.get(state.device.uuid) or said.get(state.device.kind) or {}
            row = replace(row, **own)
            if state.id in seats:
                run, seat = seats[state.id]
                heard = None if seat.heard_s is None else run.seconds - seat.heard_s
                row = replace(
                    row,
                    instance=names[RunId(run.run_id)],
                    nodes_per_second=seat.nodes_per_second,
                    heard_ago_s=heard,
                )
            yield row

    def snapshots(self) -> list[Snapshot]:
        """Snapshots of the open runs."""
        self.tick()
        return [self._runs[run_id].view.snapshot for run_id in self._hub.runs]

    def ended(self) -> list[Snapshot]:
        """Last snapshots of the runs that are over since an hour at most."""
        since = self._clock() - TOLD_S
        return [
            watched.view.snapshot
            for watched in self._runs.values()
            if watched.over_at is not None and watched.over_at >= since
        ]

    def _look(self, run_id: Any) -> None:
        run = self._hub.runs.get(run_id)
        if run is None:
            return
        watched, began = self._runs.get(run_id), self._clock()
        if watched is not None and began < watched.until:
            return
        snapshot = run.snapshot(began)
        if watched is None:
            spec = run.coordinator.spec
            known = best_known_of(spec.problem)
            view = RunView(
                snapshot,
                History(window_of(spec.options.report_interval_s)),
                spec.problem,
                tuple(parameters_of(spec)),
                None if known is None else known.upper_bound,
            )
            watched = self._runs[run_id] = _Watched(view)
        watched.note(snapshot)
        now = self._clock()
        watched.until = now + max(FRESH_S, (now - began) / MAX_SHARE)


def configured_notifier() -> Notifier:
    """Return who tells whom the setting names; an error in it is logged."""
    target = dask.config.get(NOTICES, None)
    try:
        return Notifier(None if target is None else str(target))
    except OptionError as error:
        logger.error("%s: %s", NOTICES, error)
        return Notifier(None)


def parameters_of(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """Yield what a run was asked to do, for people; not the options that are None."""
    problem = spec.problem
    yield "instance", f"{spec.instance or 'unnamed'} ({problem.digest[:16]})"
    yield "problem", f"{problem.name}, {problem.n_jobs:,} jobs"
    yield "engine", spec.engine
    plain = {
        **asdict(spec.tree),
        "upper bound": spec.upper_bound,
        "time limit": None if spec.time_limit_s is None else f"{spec.time_limit_s:g} s",
        "certificate": spec.certificate or None,
        **asdict(spec.options),
        **spec.tuning.to_mapping(),
    }
    for name, value in plain.items():
        if value is not None and value is not False:
            text = f"{value:g} s" if name.endswith("_s") else str(value)
            text = text if len(text) < 80 else f"{text[:79]}…"
            yield name.removesuffix("_s").replace("_", " "), text
