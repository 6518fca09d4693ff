"""The scheduler's side of dpbb: RPC handlers around a ``Hub``.

Registered once per cluster, by the first client that submits a run or by
``dpbb.cluster.preload``. Nothing waits in Dask's queues: units wait in the
coordinators, and every unit in progress is one pinned future (``submitter.py``).
Reports come as acknowledged RPCs; their arrays stay opaque until a thread decodes and
checks them. The worker's stream carries hints only.
"""

import asyncio
import contextlib
import logging
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

from distributed import Scheduler
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol import pickle

from dpbb.cluster.internals import WorkerPluginSender, send_to
from dpbb.cluster.rpc import NAME, answers_errors, unwrap, wrap
from dpbb.cluster.scheduler import metrics
from dpbb.cluster.scheduler.checkpoints import Keeper, state_of
from dpbb.cluster.scheduler.elastic import Elastic
from dpbb.cluster.scheduler.forecasts import Forecaster
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.monitor import Monitor, configured_notifier
from dpbb.cluster.scheduler.open_run import FinishedRun, OpenRun
from dpbb.cluster.scheduler.page import Page
from dpbb.cluster.scheduler.restoring import restore_all
from dpbb.cluster.scheduler.submitter import Submitter
from dpbb.cluster.storage.checkpoint_folder import is_resumed
from dpbb.cluster.timeouts import timeout
from dpbb.cluster.versions import check_versions
from dpbb.cluster.worker.loader import worker_plugin_bytes
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.format import from_bytes
from dpbb.coordination.ledger import Checked, LeaseBasis, check_report
from dpbb.coordination.messages import (
    Assignment,
    LeaseId,
    Order,
    OrderKind,
    Report,
    RunId,
    RunSpec,
    SeatId,
    UnitId,
)
from dpbb.coordination.snapshot import Snapshot
from dpbb.coordination.wire import decode_report, encode
from dpbb.errors import (
    CheckpointError,
    ClusterError,
    InvariantError,
    SchedulerLostError,
)
from dpbb.result import Termination

logger = logging.getLogger(__name__)

TICK_S = 0.1
HANDLERS = (
    *("hello", "spec", "lease", "report", "note"),
    *("open", "watch", "outcome", "optima", "stop", "offer"),
    *("save", "save_now", "runs", "describe", "discard"),
)
"""RPCs of workers, and of clients."""

CHECK_THREADS = 4
"""Full reports that are checked at a time: before a checkpoint they come together."""


class DpbbSchedulerPlugin(SchedulerPlugin):
    """Runs of dpbb on this scheduler; see the module.

    ``resume``: folder of checkpoints, or of such folders: runs in it that nobody ended
    go on.
    """

    name = NAME
    idempotent = True

    def __init__(self, resume: str | None = None) -> None:
        self._resume = resume
        self._restoring: asyncio.Task[None] | None = None

    async def start(self, scheduler: Scheduler) -> None:
        """Install the handlers; may be called again, or on a second plugin.

        Two clients may register at the same time: the second waits until the first
        plugin is in place, and Dask then drops its own.
        """
        while (first := scheduler.extensions.get(NAME)) is not None:
            await first.started.wait()
            if scheduler.extensions.get(NAME) is first:
                return
        scheduler.extensions[NAME] = self
        self.started = asyncio.Event()
        try:
            await self._install(scheduler).all(timeout("greet"))
        except BaseException:
            del scheduler.extensions[NAME]
            scheduler.plugins.pop(NAME, None)
            raise
        finally:
            self.started.set()
        if self._resume is not None:
            self._restoring = asyncio.create_task(
                restore_all(self._resume, self.open_saved)
            )

    def _install(self, scheduler: Scheduler) -> WorkerPluginSender:
        """Put everything in place; return what the workers are told by."""
        self.scheduler = scheduler
        self.refused: dict[str, ClusterError] = {}
        self.submitter = Submitter(scheduler, self._ended)
        self.submit, self.release = self.submitter.submit, self.submitter.release
        self.hub = Hub(self)
        self.monitor = Monitor(
            self.hub, readings=self._readings, notifier=configured_notifier()
        )
        self.elastic = Elastic(scheduler, self.hub)
        self._threads = ThreadPoolExecutor(
            CHECK_THREADS, thread_name_prefix="dpbb-check"
        )
        self._changes: dict[RunId, asyncio.Event] = {}  # of runs that are watched
        self._opening = WeakValueDictionary[str, asyncio.Lock]()  # by their folders
        self.page = Page(scheduler, self)
        self.forecasts = Forecaster(self.hub.runs, time.monotonic)
        self._ticker: asyncio.Task[None] | None = None
        self._closing = self._over = False
        scheduler.handlers.update(
            {f"dpbb_{name}": answers_errors(getattr(self, name)) for name in HANDLERS}
        )
        self.elastic.install()
        metrics.register(scheduler)
        self.page.attach()
        # at once: who leaves while others are still greeted must be known to have left
        scheduler.add_plugin(self, name=NAME, idempotent=True)
        self._sender = WorkerPluginSender(scheduler, NAME, worker_plugin_bytes())
        return self._sender

    async def before_close(self) -> None:
        """End all that is ours: client, threads, tasks, and calls that wait."""
        self._closing = True
        if self._restoring is not None:
            self._restoring.cancel()
            await asyncio.gather(self._restoring, return_exceptions=True)
        metrics.forget(self.scheduler)
        await self._sender.close()
        keepers = [run.keeper for run in self.hub.runs.values() if run.keeper]
        await asyncio.gather(*(keeper.close() for keeper in keepers))
        await self.forecasts.close()
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.gather(self._ticker, return_exceptions=True)
        self._over = True
        for event in self._changes.values():  # those who wait are answered
            event.set()
        await self.submitter.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # -- Dask's events ------------------------------------------------------------

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Requeue what the worker explored."""
        self.refused.pop(worker, None)
        if not self._closing:
            self.hub.remove_worker(worker)

    def restart(self, scheduler: Scheduler) -> None:
        """Somebody restarts the cluster: all futures are gone, the runs go on."""
        for worker in list(self.hub.table.workers):
            self.hub.remove_worker(worker)

    def valid_workers_downscaling(
        self, scheduler: Scheduler, workers: list[Any]
    ) -> list[Any]:
        """Return the workers that explore nothing."""
        busy = self.hub.busy_workers()
        return [worker for worker in workers if worker.address not in busy]

    # -- RPCs of workers ------------------------------------------------------------

    async def hello(
        self,
        worker: str,
        nthreads: int,
        versions: dict[str, Any],
        seats: list[dict[str, Any]],
        cores: int = 0,
    ) -> None:
        """Take in a worker's seats, unless it has another dpbb."""
        try:
            check_versions(versions, f"worker {worker}")
        except ClusterError as error:
            logger.warning("worker %s is not used: %s", worker, error)
            if worker in self.scheduler.workers:
                self.refused[worker] = error
            raise
        if worker in self.scheduler.workers:  # else it has left in the meantime
            host = str(versions["host"])
            name = str(self.scheduler.workers[worker].name)
            self.hub.hello(worker, nthreads, seats, host=host, cores=cores, name=name)
            if len(self.scheduler.workers) > 1 or len(seats) > 1:
                self._threads.submit(_prepare)  # they will soon share a tree

    async def spec(self, run_id: RunId) -> bytes:
        """Return the pickled RunSpec."""
        return self.hub.run(run_id).blob

    async def lease(
        self, run_id: RunId, unit: UnitId, attempt: int, seat: SeatId
    ) -> Any:
        """Lease a unit to the task that was pinned for it."""
        return wrap(encode(self.hub.lease(run_id, Assignment(unit, attempt, seat))))

    async def report(
        self, run_id: RunId, lease: LeaseId, seq: int, full: bool, body: Any
    ) -> Any:
        """Apply a report, checked in a thread if it is a full one."""
        run = self.hub.runs.get(run_id)
        if run is None:
            return encode(Order(OrderKind.DROP, 0))
        began = time.monotonic()
        try:
            if full:
                basis = run.coordinator.basis(lease, seq)
                report, checked = await asyncio.get_running_loop().run_in_executor(
                    self._threads, _decode_and_check, body, basis
                )
                took_s = time.monotonic() - began
                report = replace(report, age_s=report.age_s + took_s)
            else:
                report, checked = decode_report(unwrap(body)), None
        except InvariantError as error:
            if run_id in self.hub.runs:
                self.hub.fail(run_id, error)
            return encode(Order(OrderKind.DROP, 0))
        return wrap(encode(self.hub.on_report(run_id, report, checked)))

    async def note(self, run_id: RunId, kind: str, text: str) -> None:
        """Note for people what a worker says of a run."""
        self.hub.note(run_id, kind, text)

    # -- RPCs of clients ------------------------------------------------------------

    async def open(
        self, blob: bytes, saved: Any = None, submitter: str = ""
    ) -> dict[str, Any]:
        """Open a run from its pickled RunSpec, perhaps from a checkpoint's bytes.

        Workers with another dpbb are not used; ClusterError if there are no others.
        """
        await self.started.wait()  # until then some worker may still be refused
        if not self.hub.table.workers:
            for error in self.refused.values():
                raise error
        spec = await asyncio.to_thread(pickle.loads, blob)
        state = None
        if saved is not None:
            content = unwrap(saved)
            state = await asyncio.to_thread(
                from_bytes, content, "checkpoint", spec.problem
            )
        await self._open(spec, blob, state, str(submitter))
        for error in self.refused.values():
            self.hub.note(spec.run_id, "refused", f"not used: {error}")
        return {"page": self.page.comes}

    async def open_saved(self, spec: RunSpec, saved: Checkpoint) -> None:
        """Open a run that goes on without a client; see ``restoring``."""
        while self.scheduler.status is not Status.running:  # it has just started
            await asyncio.sleep(TICK_S)
        where = f"the scheduler on {platform.node()}, after its start"
        await self._open(spec, pickle.dumps(spec), saved, where)

    async def _open(
        self, spec: RunSpec, blob: bytes, state: Checkpoint | None, submitter: str
    ) -> None:
        folder = spec.options.checkpoint or spec.run_id
        # whoever is refused in a folder finds the run that has it
        async with self._opening.setdefault(folder, asyncio.Lock()):
            keeper = await Keeper.opened(spec)
            try:
                await self.submitter.start()
                self.hub.open(
                    spec, blob, saved=state, keeper=keeper, submitter=submitter
                )
            except BaseException:
                if keeper is not None:
                    await keeper.release(ended=not is_resumed(spec.run_id))
                raise
        self.monitor.tick()
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.create_task(self._tick())

    async def watch(
        self, run_id: RunId, version: int, timeout: float
    ) -> dict[str, Any]:
        """Answer when the run has changed since ``version``, is over, or in time."""
        deadline = time.monotonic() + timeout
        while not self._over:
            run, left = self.hub.known(run_id), deadline - time.monotonic()
            over = isinstance(run, FinishedRun)
            if over or run.version != version or left <= 0:
                return {
                    "version": run.version,
                    "finished": over,
                    "snapshot": pickle.dumps(_state_of(run)),
                }
            event = self._changes.setdefault(run_id, asyncio.Event())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), left)
        raise SchedulerLostError("the scheduler is closing; its runs end with it")

    async def outcome(self, run_id: RunId, optima: bool = True) -> bytes:
        """Return the pickled outcome of a finished run, perhaps without all optima."""
        outcome = self.hub.result(run_id).outcome
        return pickle.dumps(outcome if optima else replace(outcome, optima=None))

    async def optima(
        self, run_id: RunId, value: int | None, position: int
    ) -> dict[str, Any]:
        """Return the next chunk of optimal permutations for a reader.

        ``value`` and ``position`` say what it has written: see ``Optima.after``. An
        answer that is lost is given again.
        """
        run = self.hub.known(run_id)
        if isinstance(run, OpenRun):
            chunk = run.coordinator.incumbent.optima_after(value, position)
        else:
            held = run.outcome.optima
            chunk = None if held is None else held.after(value, position)
        return {
            "finished": isinstance(run, FinishedRun),
            "chunk": None if chunk is None else pickle.dumps(chunk),
        }

    async def stop(self, run_id: RunId) -> None:
        """Stop a run early; one that is over stays as it is."""
        run = self._if_open(run_id)
        if run is not None:
            run.coordinator.request_stop(Termination.STOPPED, time.monotonic())
            self.hub.settle(run_id)

    async def offer(self, run_id: RunId, permutation: list[int], source: str) -> bool:
        """Offer a permutation to a run; True if it is the new incumbent."""
        run = self._if_open(run_id)
        if run is None:
            return False
        try:
            return run.coordinator.offer(permutation, source, time.monotonic())
        finally:
            self.hub.settle(run_id)

    async def save(self, run_id: RunId) -> Any:
        """Return an open run's state in one piece, as of now."""
        coordinator = self._open_run(run_id).coordinator
        return wrap(await state_of(coordinator, lambda: self.hub.settle(run_id)))

    async def save_now(self, run_id: RunId) -> bytes:
        """Write a checkpoint of an open run; return the pickled state of them."""
        keeper = self._open_run(run_id).keeper
        if keeper is None:
            raise CheckpointError(
                f"run {run_id}: expected a run with checkpoints (option checkpoint)"
            )
        return pickle.dumps(await keeper.save_now())

    async def runs(self) -> list[dict[str, Any]]:
        """Return every run that is open or whose result is kept, oldest first."""
        finished = [run.snapshot for run in self.hub.finished.values()]
        states = finished + [_state_of(run) for run in self.hub.runs.values()]
        return [{"snapshot": pickle.dumps(state)} for state in states]

    async def describe(self, run_id: RunId) -> dict[str, Any]:
        """Return the pickled RunSpec of a run, its age, and whether a page shows it."""
        run = self.hub.known(run_id)
        run.attached = True
        seconds = time.monotonic() - run.opened
        return {"blob": run.blob, "seconds": seconds, "page": self.page.comes}

    async def discard(self, run_id: RunId) -> None:
        """Forget a finished run, and wait until Dask has too; an open one goes on.

        A result is kept if others than who opened the run have attached to it.
        """
        run = self.hub.finished.get(run_id)
        if run is not None and not run.attached:
            del self.hub.finished[run_id]
        if run_id not in self.hub.runs:
            await self.submitter.forgotten(run_id)

    def _if_open(self, run_id: RunId) -> OpenRun | None:
        """Return a run, None if it is over; ClusterError if nobody knows it."""
        run = self.hub.known(run_id)
        return run if isinstance(run, OpenRun) else None

    def _open_run(self, run_id: RunId) -> OpenRun:
        run = self._if_open(run_id)
        if run is None:
            raise ClusterError(f"expected an open run, got {run_id}, which is over")
        return run

    # -- what the hub has done --------------------------------------------------------

    def send(self, worker: str, op: str, run_id: RunId, **message: Any) -> None:
        """See ``Shell``."""
        send_to(self.scheduler, worker, {"op": op, "run_id": run_id, **message})

    def changed(self, run_id: RunId) -> None:
        """See ``Shell``."""
        self.monitor.changed(run_id)
        event = self._changes.pop(run_id, None)
        if event is not None:
            event.set()

    # -- inside ---------------------------------------------------------------------

    def _readings(self, worker: str) -> dict[str, Any]:
        """Return what a worker's heartbeats say; see ``Monitor``."""
        state = self.scheduler.workers.get(worker)
        if state is None:
            return {}
        metrics: Any = state.metrics
        used = (metrics.get("memory", 0), state.memory_limit)
        own = {"utilization": metrics.get("cpu"), "memory": used}
        return {"cpu": own, **(metrics.get(NAME) or {})}

    def _ended(
        self, run_id: RunId, assignment: Assignment, error: Exception | str | None
    ) -> None:
        if not self._closing:
            self.hub.ended(run_id, assignment, error)

    def _tick_keepers(self) -> None:
        for run in self.hub.runs.values():
            if run.keeper is not None:
                run.keeper.tick()

    async def _tick(self) -> None:
        """Look after the open runs until there are none."""
        while self.hub.runs:
            planned = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late_s = max(0.0, time.monotonic() - planned)
            for tick in (
                partial(self.hub.tick, late_s),
                self._tick_keepers,
                self.forecasts.tick,
                self.elastic.tick,
                self.monitor.tick,
            ):
                try:
                    tick()
                except Exception:  # each has its turn, whatever the others do
                    logger.exception("a tick failed; the next one tries again")


def _decode_and_check(
    body: Any, basis: LeaseBasis | None
) -> tuple[Report, Checked | None]:
    """Decode a report with roots, and check it unless its answer is known already."""
    report = decode_report(unwrap(body))
    return report, None if basis is None else check_report(basis, report)


@cache
def _prepare() -> None:
    """Import Numba, and compile or load what checks roots, before the first report."""
    from dpbb.tree.packed_paths import prepare

    prepare()


def _state_of(run: OpenRun | FinishedRun) -> Snapshot:
    """Return a run as it is now, or was at its end."""
    if isinstance(run, FinishedRun):
        return run.snapshot
    return run.snapshot(time.monotonic())
