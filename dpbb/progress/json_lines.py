"""Progress as JSON, for programs: one snapshot a line."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TextIO

from dpbb.coordination.snapshot import EventRecord, RunState, Snapshot
from dpbb.progress.base import News, Progress
from dpbb.result import Result, Status
from dpbb.text.json_text import json_text


@dataclass(slots=True)
class JsonLines(Progress):
    """Writes a snapshot for every new incumbent, and at intervals; no notes.

    All seconds count from the start of the solve, as those of the result do.

    ``interval_s``: least seconds between lines that are not about a new incumbent.
    """

    stream: TextIO
    interval_s: float = 1.0
    offset_s: float = 0.0
    _due_s: float = 0.0
    _shown: Snapshot | None = None
    _found: bool = False
    _news: News = field(default_factory=News)
    _began: float = field(default_factory=time.monotonic)

    def update(self, snapshot: Snapshot) -> None:
        """Write the snapshot if it has something new or the last is old enough."""
        _, new = self._news.of(snapshot)
        new |= self._news.waits(snapshot.waits_for)
        if new or snapshot.seconds >= self._due_s:
            self._write(snapshot)

    def waiting(self, text: str) -> None:
        """Write a snapshot of no run that says what is waited for."""
        if self._news.waits(text):
            seconds = time.monotonic() - self._began
            self._line(replace(_NOTHING, seconds=seconds, waits_for=text))

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Write a snapshot of no run with a schedule that a heuristic found."""
        if self._news.seen(value):
            known = min(bound, value)
            gap = (value - known) / max(value, 1)
            self._found = True
            self._line(
                replace(
                    _NOTHING,
                    seconds=seconds,
                    value=value,
                    ub=value,
                    lower_bound=known,
                    gap=gap,
                )
            )

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last snapshot of a run, if it is not written yet."""
        if snapshot is not self._shown:
            self._write(snapshot)

    def done(self, result: Result) -> None:
        """Write what there was if no run was opened: its incumbents, and the end."""
        if self._shown is None:
            last = list(snapshots_without_run(result))
            for snapshot in last[-1:] if self._found else last:
                self._write(snapshot)

    def _write(self, snapshot: Snapshot) -> None:
        self._shown = snapshot
        self._due_s = snapshot.seconds + self.interval_s
        since = self.offset_s
        self._line(
            replace(
                snapshot,
                seconds=since + snapshot.seconds,
                trajectory=tuple(
                    replace(step, seconds=since + step.seconds)
                    for step in snapshot.trajectory
                ),
                events=tuple(
                    replace(
                        event,
                        seconds=since + event.seconds,
                        first_s=None
                        if event.first_s is None
                        else since + event.first_s,
                    )
                    for event in snapshot.events
                ),
            )
        )

    def _line(self, snapshot: Snapshot) -> None:
        self.stream.write(snapshot_json(snapshot) + "\n")
        self.stream.flush()


NO_RUN = "none"
"""Stands for the id of a run where the heuristics proved all."""


_NOTHING = Snapshot(
    run_id=NO_RUN,
    instance="",
    state=RunState.RUNNING,
    seconds=0.0,
    value=None,
    permutation=None,
    ub=0,
    lower_bound=None,
    gap=None,
    decomposed=0,
    leaves=0,
    nodes_per_second=0.0,
    explored=0.0,
    waiting=0,
    leased=0,
    open_roots=0,
    donations=0,
    requeues=0,
)


def snapshots_without_run(result: Result) -> Iterator[Snapshot]:
    """Yield snapshots of a solve that was over before any tree was explored.

    One for every incumbent, and the last state.
    """
    value = result.makespan
    last = replace(
        _NOTHING,
        instance=result.instance,
        state=RunState.FINISHED,
        seconds=result.seconds,
        value=value,
        permutation=result.permutation,
        ub=result.lower_bound if value is None else value,
        lower_bound=result.lower_bound,
        gap=result.gap,
        explored=float(result.status is Status.OPTIMAL),
        trajectory=result.trajectory,
        events=(
            EventRecord(
                result.seconds,
                "end",
                f"finished: {result.termination}, no tree was explored",
            ),
        ),
        termination=str(result.termination),
    )
    for count, step in enumerate(result.trajectory, 1):
        known = min(result.lower_bound, step.value)
        yield replace(
            last,
            state=RunState.RUNNING,
            seconds=step.seconds,
            value=step.value,
            permutation=None if count < len(result.trajectory) else result.permutation,
            ub=step.value,
            lower_bound=known,
            gap=(step.value - known) / max(step.value, 1),
            explored=0.0,
            trajectory=result.trajectory[:count],
            events=(),
            termination=None,
        )
    yield last


def snapshot_json(snapshot: Snapshot) -> str:
    """Return a snapshot as one line of JSON, without its map of spans."""
    values = {
        item.name: getattr(snapshot, item.name)
        for item in fields(snapshot)
        if item.name != "spans"
    }
    return json_text(values)
