"""Progress as JSON, for programs: one snapshot a line."""

from dataclasses import fields, replace
from typing import TextIO

from dpbb.coordination.snapshot import EventRecord, RunState, Snapshot
from dpbb.progress.base import NO_RUN, STARTING, SnapshotProgress
from dpbb.result import Result, Status
from dpbb.text.json_text import json_text


class JsonLines(SnapshotProgress):
    """Writes a snapshot for every new incumbent, and at intervals; no notes.

    The address of the page is ``dashboard`` of each line.
    All seconds count from the start of the solve, as those of the result do.

    ``interval_s``: least seconds between lines that are not about a new incumbent.
    """

    def __init__(self, stream: TextIO, interval_s: float = 1.0) -> None:
        super().__init__()
        self._stream, self._interval_s = stream, interval_s
        self._due_s = 0.0
        self._shown: Snapshot | None = None

    def alert(self, text: str) -> None:
        """Write nothing: the stream has lines of JSON alone."""

    def _show(self, *, ended: bool) -> None:
        """Write the snapshot if it has something new or the last is old enough."""
        snapshot = self.last
        _, new = self._news.of(snapshot)
        new |= self._news.waits(snapshot.waits_for)
        due = snapshot.run_id != NO_RUN and snapshot.seconds >= self._due_s
        if (new or due or ended) and snapshot != self._shown:
            self._line(snapshot)

    def _line(self, snapshot: Snapshot) -> None:
        if snapshot.run_id != NO_RUN:
            self._shown = snapshot
            self._due_s = snapshot.seconds + self._interval_s
        page = {"dashboard": self.dashboard} if self.dashboard else {}
        self._stream.write(snapshot_json(snapshot, **page) + "\n")
        self._stream.flush()

    def done(self, result: Result) -> None:
        """Write the end of a solve that opened no run."""
        if self._shown is None:
            self._line(_without_run(result))


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


def snapshot_json(snapshot: Snapshot, **more: str) -> str:
    """Return a snapshot and more as a line of JSON, without its map of spans."""
    names = [item.name for item in fields(snapshot) if item.name != "spans"]
    return json_text({name: getattr(snapshot, name) for name in names} | more)
