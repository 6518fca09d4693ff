"""The engine sessions of one seat, kept from a run's unit to its next.

Opening a session starts threads and loads (or compiles) code; a unit that follows in
the same run should wait for neither.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dpbb.coordination.messages import RunId, RunSpec
from dpbb.engines.base import Device, Session
from dpbb.engines.nvml import EnergyMeter
from dpbb.engines.registry import ENGINES_OF_KIND, choose_engine


@dataclass(slots=True)
class Slot:
    """A session in use."""

    session: Session
    reusable: bool = False


class SeatSessions:
    """Sessions of the runs that explore on this seat.

    ``lock``: held by the one task that explores here.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = threading.Lock()
        self._meter: EnergyMeter | None = None
        self._guard = threading.Lock()  # what follows: the task and the event loop
        self._sessions: dict[RunId, Session] = {}
        self._in_use: RunId | None = None
        self._over = False  # the run in use is to be forgotten when its task ends

    def energy(self) -> float | None:
        """Joules that the device used since the first call; for the lock's holder."""
        if self._meter is None:
            self._meter = EnergyMeter(self.device)
        return self._meter.read()

    @contextmanager
    def session(self, spec: RunSpec, ub: int) -> Iterator[Slot]:
        """Lend the run's session, opened if need be; the caller holds the lock.

        ``ub`` is the run's UB now, which only falls.
        Closed on the way out unless the caller sets ``reusable``: what is left open
        in it would mix with the next unit.
        """
        with self._guard:
            self._in_use, self._over = spec.run_id, False
            session = self._sessions.pop(spec.run_id, None)
        slot = Slot(self._open(spec, ub) if session is None else session)
        try:
            yield slot
        finally:
            with self._guard:
                keep = slot.reusable and not self._over
                self._in_use = None
                if keep:
                    self._sessions[spec.run_id] = slot.session
            if not keep:
                slot.session.close()

    def forget(self, run_id: RunId) -> None:
        """Free the session of a run that is over, now or when its task ends."""
        with self._guard:
            self._over |= self._in_use == run_id
            session = self._sessions.pop(run_id, None)
        if session is not None:
            session.close()

    def close(self) -> None:
        """Free all sessions, the one in use when its task ends."""
        with self._guard:
            self._over = True
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close()

    def _open(self, spec: RunSpec, ub: int) -> Session:
        engine, _ = choose_engine(
            spec.engine, spec.problem, spec.tree, ENGINES_OF_KIND[self.device.kind]
        )
        return engine.open(
            spec.problem,
            spec.tree,
            self.device,
            ub=ub,
            all_optima=spec.options.all_optima,
            tuning=spec.tuning,
        )
