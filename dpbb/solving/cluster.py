"""The cluster of a call: found or started while the heuristics run."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

from dpbb.cluster.client.connect import leave_worker
from dpbb.cluster.storage.checkpoint_folder import resumed_id
from dpbb.cluster.storage.claim import read_owner
from dpbb.cluster.storage.store import Folder
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.format import to_bytes
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.snapshot import WAITING_S
from dpbb.engines.registry import (
    ENGINES_OF_KIND,
    TRIED,
    choose_engine,
    explain_engines,
    is_replaced,
)
from dpbb.errors import CheckpointError, ClusterError
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import is_shared
from dpbb.options import EngineName, Heuristics
from dpbb.problem import ImprovesSchedules
from dpbb.solving.arguments import Call
from dpbb.solving.plan import Plan
from dpbb.solving.resume import going_on, plan_of_running
from dpbb.tree.branching import tree_of

HEAD_START_S = 1.0
"""Seconds that a cluster waits, at most, for the first schedule: its start is a second
of imports, beside which a heuristic of milliseconds takes as long on a busy machine."""

GPU_HEAD_START_S = 3.0
"""The same where the heuristics have the GPU first, for a schedule of theirs: what they
load would take a second more beside those imports, and the tree begins long after."""

SHORT_S = 5.0
"""A time limit that may be over before there is a tree: the engine, whose look for a
GPU takes a second, is chosen when there is one."""

LEAST_START_S = 0.75
"""With less time left no cluster is started: nothing would be explored on it, and its
imports, which nothing interrupts, would outlast the limit."""

POLL_S = 0.02
"""Seconds between looks at the limits while a cluster starts."""

GPU_JOBS = 50
"""From so many jobs on, the start heuristics have the GPU as well, if beams are among
them: no others use it."""


class Cluster:
    """Where the trees of a call are explored: a cluster, or this process.

    Attributes
    ----------
    engine
        What explores; None: another cluster decides, or nobody has decided yet.
    answered
        Set when there is a schedule, of the GPU's if the heuristics have it, or will be
        none before the tree.
    unwanted
        Set when nobody waits for a cluster of the call's own any more.
    """

    def __init__(self, call: Call, plan: Plan) -> None:
        self.engine: str | None = None
        self.answered, self.unwanted = Event(), Event()
        self._call, self._asked = call, plan
        self._problem, self._options = plan.problem, plan.options
        # of the run to come, whatever its upper bound will be
        self._tree = tree_of(plan.problem, plan.options, plan.problem.trivial_ub)
        # its client; None: this process explores
        self._starting: Future[Any] = Future()
        self._waited_s = 0.0
        self._choosing = False
        # a run that goes on is opened whatever time is left
        lasting = call.detached or plan.saved is not None
        self._limit = None if lasting else plan.options.time_limit_s

    @contextmanager
    def entered(self) -> Iterator[Cluster]:
        """Get a client, in a thread while the heuristics run; leave it at the end."""
        call, limit = self._call, self._options.time_limit_s
        if call.where:
            call.progress.note(call.where)
        if call.in_process:
            self._stay_in_process()
        elif call.client is not None:
            leave_worker()
            self._starting.set_result(call.client)
        if self._starting.done():
            yield self
            return
        own, sure = call.has_own_cluster, self._is_sure()
        # What can fail is looked at before anything starts, what cannot meanwhile, or,
        # as it may take a second, when there is a tree: there may be no time for one.
        if own and not sure:
            self._choose_engine()
        self._choosing = own and sure and (limit is None or limit > SHORT_S)
        with ThreadPoolExecutor(1, "dpbb-start") as pool, ExitStack() as stack:
            starting = pool.submit(lambda: stack.enter_context(self._client()))
            self._starting = starting
            try:
                if self._choosing:
                    self._choose_engine()
                    self._choosing = False
                yield self
            finally:
                self.answered.set()
                self.unwanted.set()
                wait([starting])  # to be left, it must have been entered

    def _client(self) -> AbstractContextManager[Any]:
        """Give a client of the scheduler that the call names, or of its own cluster."""
        address, limit = self._options.scheduler, self._options.time_limit_s
        if address is not None or (limit is not None and limit <= SHORT_S):
            self.answered.wait(HEAD_START_S)
        return self._own() if address is None else _connected(address, self._limit)

    @contextmanager
    def _own(self) -> Iterator[Any]:
        """Start a cluster of the call's own."""
        options, limit = self._options, self._limit
        end = math.inf if limit is None else self._call.began + limit
        if end - time.monotonic() < LEAST_START_S:
            self.unwanted.wait()
            raise ClusterError("expected time for a cluster to start in, got none")
        from dpbb.cluster.local import embedded_cluster

        with embedded_cluster(
            workers=options.workers,
            threads=options.threads,
            engine=str(options.engine),
            warm_up=(self._problem, self._tree),
            unwanted=self.unwanted.is_set,
            # other processes may begin at once, this one's imports may not
            launched=self._give_head_start,
        ) as (_, client):
            yield client

    def _give_head_start(self) -> None:
        """Wait for the first schedule; the engine may still be chosen."""
        began = time.monotonic()
        while not self.answered.wait(POLL_S):
            on_gpu = self._choosing or self.start_device() == "gpu"
            limit = GPU_HEAD_START_S if on_gpu else HEAD_START_S
            if time.monotonic() >= began + limit:
                return

    def _is_sure(self) -> bool:
        """Whether the engine can run here, as far as a look of milliseconds can tell.

        Importing CuPy takes a second, in which the workers do so, too.
        """
        from dpbb.cluster.worker.gpus import gpus_for

        engine = self._options.engine
        if engine is EngineName.GPU:
            return bool(gpus_for("gpu", self._problem, self._tree))
        return engine in (EngineName.AUTO, EngineName.CPU)

    def _choose_engine(self, tried: tuple[str, ...] = TRIED) -> None:
        """Fail now, not after the heuristics, when the engine cannot run here."""
        name = str(self._options.engine)
        engine, why = choose_engine(name, self._problem, self._tree, tried)
        self.engine = engine.name
        self._call.progress.note(f"engine {why}")

    def is_there(self) -> bool:
        """Wait a moment; whether it is there. Says so when it takes long."""
        progress, address = self._call.progress, self._options.scheduler
        if wait([self._starting], POLL_S).done:
            progress.waiting("")
            return True
        self._waited_s += POLL_S
        if self._waited_s >= WAITING_S:
            where = f"an answer of {address}" if address else "workers to start here"
            progress.waiting(where)
        return False

    @property
    def has_gpu(self) -> bool:
        """Whether trees are explored on a GPU of this machine, as far as known."""
        return self._call.has_own_cluster and self.engine == EngineName.GPU

    def start_device(self) -> str:
        """Where the start heuristics run: on a GPU as well if it has no tree yet.

        Trees of few jobs are explored in seconds, in which the GPU had better begin.
        """
        options = self._options
        wanted = (
            self.has_gpu
            and not is_replaced("gpu")
            and self._problem.n_jobs >= GPU_JOBS
            and isinstance(self._problem, ImprovesSchedules)
            and "beam" in self._problem.improving_methods
            and options.heuristics == Heuristics.AUTO
            and options.heuristic_time_s is None
            and options.cutoff is None
        )
        return "gpu" if wanted and is_shared() else "cpu"

    def tree_waits(self) -> bool:
        """Whether a GPU is there to explore, beside which the heuristics go on."""
        options, starting = self._options, self._starting
        if not self.has_gpu or not starting.done() or starting.exception() is not None:
            return False
        threads = options.tuning.heuristic_threads
        alone = options.heuristic_time_s is not None or threads == 0
        return (
            not alone
            and isinstance(self._problem, ImprovesSchedules)
            and bool(starting.result().cluster.scheduler.workers)
        )

    def stay_in_process_if_small(self, plan: Plan) -> None:
        """Explore in this process where a small tree is over before a cluster starts.

        That is where a heuristic has left nothing out, and nothing asks for a cluster.
        """
        call, options = self._call, self._options
        if (
            plan.small
            and call.has_own_cluster
            and not call.detached
            and not options.all_optima
            and options.workers is None
            and options.checkpoint is None
            and options.engine in (EngineName.AUTO, EngineName.CPU)
        ):
            self.unwanted.set()
            self._stay_in_process()

    def _stay_in_process(self) -> None:
        """Explore in this process from now on: there is nothing to wait for."""
        self._starting = Future()
        self._starting.set_result(None)
        if self.engine in (None, EngineName.GPU):
            self._choose_engine(ENGINES_OF_KIND["cpu"])

    async def attach(self, plan: Plan) -> tuple[Plan, Any] | None:
        """Attach to the run that writes to the plan's folder; return its plan, too.

        None: there is none here.
        """
        writer = _writer(plan.options.checkpoint) if plan.attaches else None
        if writer is None:
            return None
        self.answered.set()  # no heuristic is waited for
        while not self.is_there():
            if self._call.should_stop():
                return None
        from dpbb.cluster.client.open import attach_run, describe_run

        client, file = self._starting.result(), plan.options.optima_file
        found = await self._call.value(describe_run(client, writer))
        if found is None:
            return None
        spec, opened = found
        plan = plan_of_running(plan, spec, opened, self._call.began)
        run = await self._call.value(attach_run(client, spec.run_id, optima_file=file))
        self._call.progress.offset_s = spec.request.seconds
        self._call.progress.note(f"attached to run {run.run_id}, which writes there")
        return plan, run

    async def open(self, plan: Plan, before: RunId | None = None) -> tuple[Plan, Any]:
        """Open the run of a plan's tree; return both.

        If another call took the folder of checkpoints meanwhile, attach to its run, or,
        if that is over already, go on from what it left.

        ``before``: the run of the tree before it: the checkpoints of both are in the
        same folder.
        """
        try:
            return plan, await self._open(plan, before)
        except CheckpointError:
            if not self._asked.attaches or self._call.detached:
                raise
            now = going_on(self._call, self._asked, fresh=False)
            attached = await self.attach(now)
            if attached is not None:
                return attached
            if now.saved is None or plan.saved is not None:
                raise
            return now, await self._open(now)

    async def _open(self, plan: Plan, before: RunId | None = None) -> Any:
        progress, first = self._call.progress, before is None
        engine = self._engine_of_run(first)
        if plan.saved is not None:
            before = plan.saved.spec.run_id
        run_id = None if before is None else resumed_id(before)
        spec = plan.spec(time.monotonic(), engine, run_id)
        folder = spec.options.checkpoint
        if folder is not None and self._call.has_own_cluster and "://" not in folder:
            folder = os.path.abspath(os.path.expanduser(folder))
            spec = replace(spec, options=replace(spec.options, checkpoint=folder))
        progress.offset_s = spec.request.seconds
        if folder is not None and first:
            progress.note(f"checkpoints {folder}")
        run = await self._call.value(self._run(spec, plan.saved))
        if run.dashboard is not None and first:
            progress.note(f"dashboard {run.dashboard}")
        return run

    def _engine_of_run(self, first: bool) -> str:
        """Return the engine that a run asks for; the first one says what it is."""
        name = str(self._options.engine)
        if self.engine is None and self._call.has_own_cluster:
            self._choose_engine()
        elif self.engine is None and first:
            why = explain_engines(name, self._problem, self._tree)
            self._call.progress.note(f"engine {why}")
        if self.engine == EngineName.GPU and name == EngineName.AUTO:
            return name  # the GPU may refuse: then the cores explore
        return self.engine or name

    def _run(self, spec: RunSpec, saved: Checkpoint | None) -> Any:
        """Open a run; awaitable if the client is asynchronous."""
        client, options = self._starting.result(), self._options
        if client is None:
            from dpbb.solving.in_process import InProcessRun

            threads = 1 if options.workers == 0 else physical_cores()
            return InProcessRun(spec, options.threads or threads, saved)
        from dpbb.cluster.client.open import submit_run

        content = None if saved is None else to_bytes(saved)
        return submit_run(client, spec, optima_file=options.optima_file, saved=content)


def _writer(url: str | None) -> RunId | None:
    """Return the last run that writes into a folder, as far as it is seen from here."""
    try:
        owner = None if url is None else read_owner(Folder(url))
    except CheckpointError:
        return None  # it is the scheduler's
    return None if owner is None else RunId(owner.run_id)


@contextmanager
def _connected(address: str, limit: float | None) -> Iterator[Any]:
    """Connect to a cluster; its page is there from now on, before the first run."""
    from dpbb.cluster.client.connect import connect
    from dpbb.cluster.client.open import ensure_plugin

    with connect(address, limit) as client:
        client.sync(ensure_plugin, client)
        yield client
