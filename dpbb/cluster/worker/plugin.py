"""The worker's side: seats, their sessions, and hints from the scheduler.

Sent to the workers by the scheduler plugin (``loader.py``). Announces the worker's
seats when it joins: its CPU threads as one seat, and a seat a GPU. The tasks that the
scheduler plugin pins to this worker find everything here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.system import CPU_COUNT
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol import pickle

from dpbb.cluster.internals import stop_deadly_profiler
from dpbb.cluster.rpc import FORGET, HINT, IMPROVE, NAME, raised
from dpbb.cluster.timeouts import timeout
from dpbb.cluster.versions import versions
from dpbb.cluster.worker.exploration import Exploration, SeatClosedError
from dpbb.cluster.worker.gpus import seat_kinds
from dpbb.cluster.worker.heuristics import Channel, RunHeuristics
from dpbb.cluster.worker.link import WorkerLink
from dpbb.cluster.worker.sessions import SeatSessions
from dpbb.coordination.messages import Assignment, RunId, RunSpec, SeatId
from dpbb.engines import nvml
from dpbb.engines.base import Device
from dpbb.engines.cpu.engine import processor_name
from dpbb.engines.registry import get_engine, is_replaced
from dpbb.errors import ClusterError, EngineUnavailable, StaleLeaseError
from dpbb.kernels.cores import physical_cores
from dpbb.problem import Incumbent

if TYPE_CHECKING:
    from distributed import Worker

logger = logging.getLogger(__name__)


class DpbbWorkerPlugin(WorkerPlugin):
    """Seats of one worker. See the module's docstring."""

    name = NAME

    def __init__(self) -> None:
        self.seats: dict[SeatId, SeatSessions] = {}
        self._specs: dict[RunId, RunSpec] = {}
        self._specs_lock = threading.Lock()
        self._links: dict[SeatId, WorkerLink] = {}
        self._heuristics: dict[RunId, RunHeuristics] = {}

    async def setup(self, worker: Worker) -> None:
        """Announce the seats; a refusal is logged and leaves the worker idle."""
        self.worker = worker
        stop_deadly_profiler(worker)
        worker.extensions[NAME] = self
        worker.stream_handlers[HINT] = self.hint
        worker.stream_handlers[FORGET] = self.forget
        worker.stream_handlers[IMPROVE] = self.improve
        for device in await _devices(worker):
            seat = SeatId(f"{worker.address}/{device.kind}{device.index}")
            self.seats[seat] = SeatSessions(device)
        hello = {
            "worker": worker.address,
            "nthreads": worker.state.nthreads,
            "versions": versions(),
            "cores": min(physical_cores(), CPU_COUNT),
            "seats": [
                {"id": seat, **asdict(sessions.device)}
                for seat, sessions in self.seats.items()
            ],
        }
        devices = [sessions.device for sessions in self.seats.values()]
        gpus = [device.uuid for device in devices if device.kind == "cuda"]
        if gpus:
            worker.metrics[NAME] = Health(gpus)
        try:
            raised(await worker.scheduler.dpbb_hello(**hello))
        except ClusterError as error:
            logger.warning("this worker explores nothing: %s", error)
            return
        if all(one.device.kind == "cpu" for one in self.seats.values()):
            # the first unit comes soon: load the engine while the loop goes on
            threading.Thread(target=_warm_up, name="dpbb-warm-up", daemon=True).start()

    async def teardown(self, worker: Worker) -> None:
        """Let the seats send their last reports, then free their sessions."""
        for op in (HINT, IMPROVE, FORGET):
            worker.stream_handlers[op] = _ignore
        worker.metrics.pop(NAME, None)
        for run in self._heuristics.values():
            run.resize(0)
        for link in list(self._links.values()):
            link.control.wake()  # it sees that the worker leaves when its slice ends
        deadline = time.monotonic() + timeout("last-report")
        while self._links and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
        for link in list(self._links.values()):
            link.torn_down = True
        if worker.extensions.get(NAME) is self:
            del worker.extensions[NAME]
        for sessions in self.seats.values():
            sessions.close()

    # -- stream handlers: an exception in one would lose the worker ----------------

    def hint(self, run_id: RunId, seat: SeatId | None = None, **told: Any) -> None:
        """Pass a hint on to a seat, or to every seat of the run."""
        for name, link in list(self._links.items()):
            if link.run_id == run_id and seat in (None, name):
                link.control.hint(**told)

    def improve(
        self,
        run_id: RunId,
        threads: int,
        explorers: int | None = None,
        value: int | None = None,
        permutation: bytes | None = None,
        **_: Any,
    ) -> None:
        """Improve a run's schedule with so many threads from now on."""
        try:
            known = None
            if value is not None and permutation is not None:
                jobs = np.frombuffer(permutation, "<u2").astype(np.intp)
                known = Incumbent(value, jobs, "start")
            run = self._heuristics.get(run_id)
            if run is None:
                link = WorkerLink(self.worker, run_id)
                channel = Channel(link, self.worker.address, self._spec_of)
                run = RunHeuristics(channel, f"{self.worker.address}/{run_id}")
                self._heuristics[run_id] = run
            run.explorers = explorers
            run.resize(threads)
            if known is not None:
                run.know(known)
        except Exception:
            logger.exception("no heuristics for run %s", run_id)

    def forget(self, run_id: RunId, **_: Any) -> None:
        """Free what is kept of a run that is over."""
        try:
            run = self._heuristics.pop(run_id, None)
            if run is not None:
                run.resize(0)
            self.hint(run_id, report=True)  # who still explores learns it at once
            self._specs.pop(run_id, None)
            for sessions in self.seats.values():
                sessions.forget(run_id)
        except Exception:
            logger.exception("run %s could not be forgotten", run_id)

    # -- in the task's thread ------------------------------------------------------

    def explore(self, run_id: RunId, given: Assignment) -> None:
        """Explore a unit on a seat; a stale assignment is nothing to do."""
        sessions = self.seats[given.seat]
        link = WorkerLink(self.worker, run_id)
        with sessions.lock:
            self._links[given.seat] = link
            try:
                spec = self._spec_of(link)
                lease = link.lease(given)
                with sessions.session(spec, lease.ub) as slot:
                    slot.reusable = Exploration(
                        spec,
                        lease,
                        slot.session,
                        link,
                        energy=sessions.energy,
                        explorers=partial(self._explorers, run_id),
                    ).run()
            except (StaleLeaseError, SeatClosedError) as reason:
                logger.debug("unit %s of run %s: %s", given.unit, run_id, reason)
            finally:
                del self._links[given.seat]

    def _spec_of(self, link: WorkerLink) -> RunSpec:
        """Return the run of a link, fetched if it is not known here; blocks."""
        run_id = link.run_id
        with self._specs_lock:
            spec = self._specs.get(run_id)
            if spec is None:
                spec = self._specs[run_id] = pickle.loads(link.spec())
        return spec

    def _explorers(self, run_id: RunId) -> int | None:
        """How many threads a CPU seat is to explore with; None: all of its own."""
        run = self._heuristics.get(run_id)
        return None if run is None else run.explorers


def _ignore(**_: Any) -> None:
    """Take a hint that nobody waits for; an unknown one would lose the worker."""


async def _devices(worker: Worker) -> list[Device]:
    """Devices of this process, of the kinds that ``DPBB_SEATS`` leaves."""
    kinds = seat_kinds(os.environ)
    devices: list[Device] = []
    if "cpu" in kinds:  # without the engine: importing Numba takes longer than joining
        uuid = f"cpu-{platform.node()}-{os.getpid()}-{worker.id}"
        threads, name = worker.state.nthreads, processor_name()
        devices = [Device("cpu", uuid, threads=threads, name=name)]
    if "gpu" in kinds and (find_spec("cupy") is not None or is_replaced("gpu")):
        # importing CuPy takes a second: not on the loop
        devices += await asyncio.to_thread(_gpu_devices)
    return devices


def _gpu_devices() -> list[Device]:
    try:
        engine = get_engine("gpu")
        if engine.availability() is not None:
            return []
        return engine.devices()
    except EngineUnavailable as error:
        logger.info("no GPU seats: %s", error)
        return []


def _warm_up() -> None:
    try:
        get_engine("cpu").availability()
    except EngineUnavailable as error:
        logger.debug("no CPU engine: %s", error)


FRESH_S = 2.0
"""A reading serves for so long: to ask a driver takes milliseconds."""


class Health:
    """Readings of some GPUs, as a metric of a Dask worker.

    Dask's heartbeats may carry metrics of others; the scheduler holds the latest ones
    of each worker, and the page shows them. Dask itself says how busy cores are.
    """

    def __init__(self, uuids: Sequence[str]) -> None:
        self._uuids = tuple(uuids)
        self._latest: dict[str, dict[str, Any]] = {}
        self._until = 0.0
        self._thread: Thread | None = None

    def __call__(self, _worker: object) -> dict[str, dict[str, Any]]:
        """Return what the driver said last, by UUID: fields of ``feed.DeviceRow``.

        It is asked in a thread, and not waited for: a heartbeat that comes late costs
        the worker.
        """
        now = time.monotonic()
        if now >= self._until and not (self._thread and self._thread.is_alive()):
            self._until = now + FRESH_S
            self._thread = Thread(target=self._read, name="dpbb-health", daemon=True)
            self._thread.start()
        return self._latest

    def _read(self) -> None:
        self._latest = {uuid: nvml.health(uuid) for uuid in self._uuids}
