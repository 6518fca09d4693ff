"""Progress as JSON, for programs: one snapshot a line."""

import time
from dataclasses import dataclass, field, fields, replace
from typing import TextIO

from dpbb.coordination.snapshot import EventRecord, RunState, Snapshot
from dpbb.progress.base import STARTING, News, Progress, found
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
            self._line(replace(STARTING, seconds=seconds, waits_for=text))

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Write a snapshot of no run with a schedule that a heuristic found."""
        if self._news.seen(value):
            self._line(found(STARTING, seconds, value, bound))

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last snapshot of a run, if it is not written yet."""
        if snapshot is not self._shown:
            self._write(snapshot)

    def done(self, result: Result) -> None:
        """Write the end of a solve that opened no run."""
        if self._shown is None:
            self._write(_without_run(result))

    def _write(self, snapshot: Snapshot) -> None:
        self._shown = snapshot
        self._due_s = snapshot.seconds + self.interval_s
        since = self.offset_s
        steps = [
            replace(step, seconds=since + step.seconds) for step in snapshot.trajectory
        ]
        events = [
            replace(
                event,
                seconds=since + event.seconds,
                first_s=None if event.first_s is None else since + event.first_s,
            )
            for event in snapshot.events
        ]
        self._line(
            replace(
                snapshot,
                seconds=since + snapshot.seconds,
                trajectory=tuple(steps),
                events=tuple(events),
            )
        )

    def _line(self, snapshot: Snapshot) -> None:
        self.stream.write(snapshot_json(snapshot) + "\n")
        self.stream.flush()


def _without_run(result: Result) -> Snapshot:
    """Return the last state of a solve that was over before a tree was explored."""
    value = result.makespan
    end = f"finished: {result.termination}, no tree was explored"
    return replace(
        STARTING,
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
        events=(EventRecord(result.seconds, "end", end),),
        termination=str(result.termination),
    )


def snapshot_json(snapshot: Snapshot) -> str:
    """Return a snapshot as one line of JSON, without its map of spans."""
    values = {
        item.name: getattr(snapshot, item.name)
        for item in fields(snapshot)
        if item.name != "spans"
    }
    return json_text(values)
