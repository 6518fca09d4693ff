"""The seam between a run and whoever shows it."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from dpbb.coordination.snapshot import EventRecord, RunState, Snapshot
from dpbb.result import Improvement, Result

NO_RUN = "none"
"""Stands for the id of a run before there is one, or where heuristics proved all."""

STARTING = Snapshot(
    run_id=NO_RUN,
    instance="",
    state=RunState.RUNNING,
    seconds=0.0,
    value=None,
    permutation=None,
    ub=0,
    lower_bound=None,
    gap=None,
    nodes_per_second=0.0,
    explored=0.0,
    waiting=0,
    leased=0,
    open_roots=0,
)
"""The state of a solve that has opened no run."""


class Progress:
    """Shows nothing; what shows something overrides some of the methods.

    A call of ``solve`` gives notes and the incumbents of its heuristics first, then
    snapshots, the last one to ``finish``, then the result, and closes it in any case.

    Attributes
    ----------
    offset_s
        Seconds from the start of the solve to the opening of the run: what the times
        of snapshots are counted from.
    """

    offset_s: float = 0.0

    def begin(self, instance: str) -> None:
        """Take the name of the instance, first of all."""

    def note(self, text: str) -> None:
        """Take a line for people; its first word says what it is about."""

    def waiting(self, text: str) -> None:
        """Take what the solve waits for, for longer than a second, in a few words.

        Such as compiled code, before there is a run; a run's snapshots say it of the
        run. Empty: it waits no more.
        """

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Take an incumbent that a heuristic found before there was a run.

        Parameters
        ----------
        seconds
            Since the start of the solve.
        value, bound
            Its value, and the lower bound of the root.
        """

    def update(self, snapshot: Snapshot) -> None:
        """Take the state of the run now; called several times a second."""

    def finish(self, snapshot: Snapshot) -> None:
        """Take the last state of the run."""

    def done(self, result: Result) -> None:
        """Take the result of the run."""

    def alert(self, text: str) -> None:
        """Tell people something at once; called by signal handlers.

        They may have interrupted a writer of the same stream, which then refuses.
        """
        with contextlib.suppress(RuntimeError):
            print(text, file=sys.stderr)  # noqa: T201

    def close(self) -> None:
        """Leave everything as it was found; may be called again, and after errors."""


class SnapshotProgress(Progress):
    """Shows also the time before there is a run as snapshots: of ``NO_RUN``.

    All times that it shows count from the start of the solve.

    Attributes
    ----------
    last
        The last snapshot.
    dashboard
        Address of the page that shows the run live; empty until it is known.
    """

    def __init__(self) -> None:
        self.last = STARTING
        self.dashboard = ""
        self._news = News()
        self._began = time.monotonic()

    def begin(self, instance: str) -> None:
        """See ``Progress.begin``."""
        self._take(replace(self.last, instance=instance))

    def note(self, text: str) -> None:
        """Keep the address of the page; see ``Progress.note``."""
        place, _, address = text.partition(" ")
        if place == "dashboard":
            self.dashboard = address

    def waiting(self, text: str) -> None:
        """See ``Progress.waiting``."""
        now = replace(self.last, waits_for=text)
        if now.run_id == NO_RUN:
            now = replace(now, seconds=time.monotonic() - self._began)
        self._take(now)

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """See ``Progress.incumbent``."""
        known = min(bound, value)
        self._take(
            replace(
                self.last,
                seconds=seconds,
                value=value,
                ub=value,
                lower_bound=known,
                gap=(value - known) / max(value, 1),
            )
        )

    def update(self, snapshot: Snapshot) -> None:
        """See ``Progress.update``."""
        self._take(snapshot.later(self.offset_s))

    def finish(self, snapshot: Snapshot) -> None:
        """See ``Progress.finish``."""
        self._take(snapshot.later(self.offset_s), ended=True)

    def _take(self, snapshot: Snapshot, *, ended: bool = False) -> None:
        self.last = snapshot
        self._show(ended=ended)

    def _show(self, *, ended: bool) -> None:
        """Show the last snapshot, if it is time; ``ended``: the run's last, anyway."""


def show(
    snapshots: Iterable[Snapshot],
    progress: Progress,
    should_leave: Callable[[], bool] = lambda: False,
) -> Snapshot:
    """Show a run from its snapshots, until the last one or until ``should_leave``.

    Returns
    -------
    Snapshot
        The last one that was seen.
    """
    snapshot = None
    for snapshot in snapshots:
        progress.update(snapshot)
        if should_leave():
            return snapshot
    if snapshot is None:
        raise ValueError("expected snapshots, got none")
    progress.finish(snapshot)
    return snapshot


TROUBLE = ("checkpoint-failed", "error", "lost", "no-seat", "refused", "seat-lost")
"""Kinds of events that somebody may want to do something about."""

TOLD = (*TROUBLE, "heuristics", "bound")
"""Kinds of events that have a line of their own."""

PAST_S = 5.0
"""An incumbent that is older when it is seen is told with its own time."""


class News:
    """Which incumbents and events of snapshots have not been shown yet."""

    def __init__(self) -> None:
        self._value: int | None = None
        self._event_s = -1.0
        self._waits_for = ""

    def waits(self, text: str) -> bool:
        """Note what is waited for; True if it is something else than before."""
        before, self._waits_for = self._waits_for, text
        return bool(text) and text != before

    def seen(self, value: int) -> bool:
        """Note a value; True if it is better than all before."""
        if self._value is not None and value >= self._value:
            return False
        self._value = value
        return True

    def of(self, snapshot: Snapshot) -> tuple[list[Improvement], bool]:
        """Return what was found since the last snapshot.

        Returns
        -------
        list of Improvement, bool
            New incumbents that better ones replaced meanwhile, and the present one if
            it is not of now (of a run that was attached to: all of its past); whether
            the present one is new and of now.
        """
        passed = [
            step
            for step in snapshot.trajectory
            if step.value != snapshot.value and self.seen(step.value)
        ]
        new = snapshot.value is not None and self.seen(snapshot.value)
        if new and snapshot.trajectory:
            last = snapshot.trajectory[-1]
            if snapshot.seconds - last.seconds > PAST_S:
                return [*passed, last], False
        return passed, new

    def told(self, snapshot: Snapshot) -> list[EventRecord]:
        """Return new events that are told, oldest first."""
        since, self._event_s = (
            self._event_s,
            max([self._event_s, *(event.seconds for event in snapshot.events)]),
        )
        return [
            event
            for event in snapshot.events
            if event.seconds > since and event.kind in TOLD
        ]
