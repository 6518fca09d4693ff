"""Progress as JSON, for programs: one snapshot a line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, TextIO

from dpbb.progress.base import News, Progress

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import Snapshot


@dataclass(slots=True)
class JsonLines(Progress):
    """Writes a snapshot for every new incumbent, and at intervals; no notes.

    Parameters
    ----------
    stream
        Where to write.
    interval_s
        Least seconds between lines that are not about a new incumbent.
    """

    stream: TextIO
    interval_s: float = 1.0
    offset_s: float = 0.0
    _due_s: float = 0.0
    _shown: Snapshot | None = None
    _news: News = field(default_factory=News)

    def update(self, snapshot: Snapshot) -> None:
        """Write the snapshot if it has a new incumbent or the last is old enough."""
        _, new = self._news.of(snapshot)
        if new or snapshot.seconds >= self._due_s:
            self._write(snapshot)

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last snapshot of a run, if it is not written yet."""
        if snapshot is not self._shown:
            self._write(snapshot)

    def _write(self, snapshot: Snapshot) -> None:
        self._shown = snapshot
        self._due_s = snapshot.seconds + self.interval_s
        self.stream.write(snapshot_json(snapshot) + "\n")
        self.stream.flush()


def snapshot_json(snapshot: Snapshot) -> str:
    """Return a snapshot as one line of JSON, without its map of spans."""
    values = {
        item.name: getattr(snapshot, item.name)
        for item in fields(snapshot)
        if item.name != "spans"
    }
    # Seats, improvements and events are dataclasses.
    return json.dumps(values, default=asdict)
