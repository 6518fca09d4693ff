"""Steering a run: offers, stops, saves, limits, and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.coordination.incumbent import jobs_of
from dpbb.coordination.reading import RunReading, RunRecord, reached_limit
from dpbb.coordination.snapshot import RunState
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.result import Termination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpbb.coordination.messages import LeaseId
    from dpbb.coordination.optima import Optima
    from dpbb.coordination.records import LeaseRecord

STOP_GRACE_S = 10.0
"""A seat that is silent for so long after a stop has lost its lease."""

STOP_ROOT_S = 2e-5
"""For each of its open roots it is given more: it has to list them."""

STOP_NEW_S = 1.0
"""A seat that has never reported, as its kernel is still compiled, has so long."""


class RunSteering(RunReading):
    """What may be asked of a run besides work; base of ``Coordinator``."""

    def __init__(self, run: RunRecord) -> None:
        super().__init__(run)
        self._work = run.work
        self._incumbent = run.incumbent
        self._stop_asked = run.started
        self._last_save = 0
        self._saves: dict[int, set[LeaseId]] = {}  # leases yet to report in full

    def offer(self, permutation: Sequence[int], source: str, now: float) -> bool:
        """Take a permutation from outside; True if it is the new incumbent.

        Raises
        ------
        OptionError
            It is not one of all the problem's jobs.
        """
        jobs = jobs_of(self.spec.problem, permutation)
        if self.finished:
            return False
        try:
            value = self.spec.problem.evaluate(jobs)
            return self._improve(Candidate(value, jobs), source, now)
        except InvariantError as error:
            self.fail(str(error), now)
            raise

    def request_stop(self, termination: Termination, now: float) -> None:
        """End the run early, seats giving back what remains; the first reason holds."""
        if not self._running:
            return
        self._run.state, self._run.termination = RunState.STOPPING, termination
        self._run.events.add(now, "stop", f"stopping: {termination.value}")
        self._stop_asked = now
        self._work.requeue_all(leased=False)
        self._work.nudge_leased()
        self._go_on(now)

    def request_save(self, now: float) -> int:
        """Ask all leased seats for a full report; return a token for ``save_done``."""
        leases = self._work.book.leases
        for lease in leases.values():
            lease.save = True
        self._work.nudge_leased()
        self._last_save += 1
        self._saves[self._last_save] = set(leases)
        return self._last_save

    def save_done(self, token: int) -> bool:
        """Whether every lease of that moment has reported in full since, or is gone."""
        if not 1 <= token <= self._last_save:
            raise ValueError(f"expected a token of request_save, got {token}")
        leases = self._saves.get(token, set())
        if not self._work.book.leases.keys().isdisjoint(leases):
            return False
        self._saves.pop(token, None)
        return True

    def fail(self, error: str, now: float) -> None:
        """Stop at once with an error; all units stay as of their last full report."""
        if self.finished:
            return
        self._run.error = error
        self._run.events.add(now, "error", error)
        self._work.nudge_leased()
        self._work.requeue_all(leased=True)
        self._end(RunState.FAILED, Termination.STOPPED, now)

    def tick(self, now: float) -> None:
        """Look at limits and silent seats; call it about once a second."""
        if self.finished:
            return
        self._work.expire(now, self._is_silent)
        if self._running:
            limit = reached_limit(self._run, now)
            if limit is not None:
                self.request_stop(limit, now)
        self._go_on(now)

    def note_lag(self, late_s: float) -> None:
        """Take note of how late the event loop is: who is late hands over less often.

        To be called about ten times a second.
        """
        self._work.balance.note_lag(late_s)

    def _is_silent(self, lease: LeaseRecord | None, heard: float, now: float) -> bool:
        """Whether a unit's seat is lost, that was last heard of then."""
        if now - heard >= self.spec.lease_timeout_s and self._running:
            return True
        if self._running:
            return False
        # asked to stop: what has never reported has nothing that is worth waiting for
        grace = STOP_NEW_S
        if lease is not None and lease.seq > 0:
            grace = STOP_GRACE_S + STOP_ROOT_S * lease.open_roots
        return now - max(heard, self._stop_asked) >= grace

    def note_event(self, kind: str, text: str, now: float) -> None:
        """Add to the events that people see."""
        self._run.events.add(now, kind, text)

    def optima_after(self, value: int | None, position: int) -> Optima | None:
        """With all optima: the next chunk for a reader, who writes them to a file.

        Parameters
        ----------
        value, position
            Cost and number of those that are written; None and 0 at first.
        """
        if not self.spec.all_optima:
            return None
        self._incumbent.note_read(value, position)
        optima = self._incumbent.optima()
        return None if optima is None else optima.after(value, position)

    # -- inside -----------------------------------------------------------------

    @property
    def _running(self) -> bool:
        return self.state is RunState.RUNNING

    def _go_on(self, now: float) -> None:
        """After every event: end the run if it is over, else see to idle seats."""
        if self.finished:
            return
        run, book = self._run, self._work.book
        run.meter.note(now, run.decomposed + run.leaves)
        if self._work.hopeless is not None:
            self.fail(self._work.hopeless, now)
        elif not book.units:
            try:
                book.check_complete()
            except InvariantError as error:
                self.fail(str(error), now)
                raise
            self._end(RunState.FINISHED, Termination.EXHAUSTED, now)
        elif self._running:
            self._work.ask_donors(now)
        elif not book.leases and run.termination is not None:
            self._end(RunState.FINISHED, run.termination, now)

    def _end(self, state: RunState, termination: Termination, now: float) -> None:
        run = self._run
        run.state, run.termination, run.ended = state, termination, now
        run.events.add(now, "end", f"{state.value}: {termination.value}")

    def _improve(self, candidate: Candidate, source: str, now: float) -> bool:
        """Take an evaluated candidate if it is better than the incumbent."""
        if self.value is not None and candidate.value >= self.value:
            return False
        bound = self.lower_bound
        if candidate.value < bound:
            raise InvariantError(
                f"{source}: a permutation of cost {candidate.value} is below the "
                f"lower bound {bound}"
            )
        run = self._run
        self._incumbent.improve(
            candidate.value, candidate.permutation, source, now - run.opened
        )
        run.events.add(now, "incumbent", f"{candidate.value} by {source}")
        return True
