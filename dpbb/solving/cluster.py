"""The cluster of a call: found or started while the heuristics run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import Any

from dpbb.cluster.client.connect import leave_worker
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.format import to_bytes
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.snapshot import WAITING_S
from dpbb.engines.registry import (
    ENGINES_OF_KIND,
    TRIED,
    choose_engine,
    explain_engines,
    is_replaced,
)
from dpbb.errors import ClusterError
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import is_shared
from dpbb.options import EngineName, Heuristics, TreeOptions
from dpbb.problem import ImprovesSchedules
from dpbb.solving.arguments import Call
from dpbb.solving.plan import Plan
from dpbb.tree.branching import tree_of

HEAD_START_S = 1.0
"""Seconds that a cluster waits, at most, for the first schedule: its start is a second
of imports, beside which a heuristic of milliseconds takes as long on a busy machine."""

SHORT_S = 5.0
"""A time limit that may be over before there is a tree: the engine, whose look for a
GPU takes a second, is chosen when there is one."""

LEAST_START_S = 0.75
"""With less time left no cluster is started: nothing would be explored on it, and its
imports, which nothing interrupts, would outlast the limit."""

POLL_S = 0.02
"""Seconds between looks at the limits while a cluster starts."""

GPU_JOBS = 50
"""From so many jobs on, the start heuristics have the GPU as well."""


class Cluster:
    """Where the trees of a call are explored: a cluster, or this process.

    Attributes
    ----------
    engine
        What explores; None: another cluster decides, or nobody has decided yet.
    answered
        Set when there is a schedule, or will be none before the tree.
    unwanted
        Set when nobody waits for a cluster of the call's own any more.
    """

    def __init__(self, call: Call) -> None:
        self.engine: str | None = None
        self.answered, self.unwanted = Event(), Event()
        self._call = call
        self._in_process = call.in_process
        self._starting: Future[Any] = Future()
        self._waited_s = 0.0

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Get a client, in a thread while the heuristics run; leave it at the end."""
        call, limit = self._call, self._call.options.time_limit_s
        if self._in_process or call.client is not None:
            if self._in_process:
                self._choose_engine()
            else:
                leave_worker()
            self._starting.set_result(call.client)
            yield
            return
        own, sure = call.has_own_cluster, self._is_sure()
        # What can fail is looked at before anything starts, what cannot meanwhile, or,
        # as it may take a second, when there is a tree: there may be no time for one.
        if own and not sure:
            self._choose_engine()
        with ThreadPoolExecutor(1, "dpbb-start") as pool, ExitStack() as stack:
            self._starting = pool.submit(lambda: stack.enter_context(self._client()))
            try:
                if own and sure and (limit is None or limit > SHORT_S):
                    self._choose_engine()
                yield
            finally:
                self.answered.set()
                self.unwanted.set()
                wait([self._starting])  # to be left, it must have been entered

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Give a client of the scheduler that the call names, or of its own cluster."""
        call, options = self._call, self._call.options
        address, limit = options.scheduler, options.time_limit_s
        if address is not None or (limit is not None and limit <= SHORT_S):
            self.answered.wait(HEAD_START_S)
        if call.detached or call.saved is not None:  # whatever time is left
            limit = None
        with self._own(limit) if address is None else _connected(address, limit) as one:
            yield one

    @contextmanager
    def _own(self, limit: float | None) -> Iterator[Any]:
        """Start a cluster of the call's own."""
        call, options = self._call, self._call.options
        end = math.inf if limit is None else call.began + limit
        if end - time.monotonic() < LEAST_START_S:
            self.unwanted.wait()
            raise ClusterError("expected time for a cluster to start in, got none")
        from dpbb.cluster.local import embedded_cluster

        with embedded_cluster(
            workers=options.workers,
            threads=options.threads,
            engine=str(options.engine),
            warm_up=(call.problem, self._warm_up_tree()),
            unwanted=self.unwanted.is_set,
            # other processes may begin at once, this one's imports may not
            launched=lambda: self.answered.wait(HEAD_START_S),
        ) as (_, client):
            yield client

    def _is_sure(self) -> bool:
        """Whether the engine can run here, as far as a look of milliseconds can tell.

        Importing CuPy takes a second, in which the workers do so, too.
        """
        from dpbb.cluster.worker.gpus import gpus_for

        engine = self._call.options.engine
        if engine is EngineName.GPU:
            return bool(gpus_for("gpu", self._call.problem, self._warm_up_tree()))
        return engine in (EngineName.AUTO, EngineName.CPU)

    def _choose_engine(self) -> None:
        """Fail now, not after the heuristics, when the engine cannot run here."""
        call, tree = self._call, self._warm_up_tree()
        name = str(call.options.engine)
        tried = ENGINES_OF_KIND["cpu"] if self._in_process else TRIED
        engine, why = choose_engine(name, call.problem, tree, tried)
        self.engine = engine.name
        call.progress.note(f"engine {why}")

    def _warm_up_tree(self) -> TreeOptions:
        """Tree of the run to come, whatever its upper bound will be."""
        problem = self._call.problem
        return tree_of(problem, self._call.options, problem.trivial_ub)

    @property
    def blocks(self) -> bool:
        """Whether calls block; else they are awaited, as the client is asynchronous."""
        client = self._call.client
        return client is None or not client.asynchronous

    @property
    def client(self) -> Any:
        """The client that it is reached by, once it is there."""
        return self._starting.result()

    def is_there(self) -> bool:
        """Wait a moment; whether it is there. Says so when it takes long."""
        progress, address = self._call.progress, self._call.options.scheduler
        if self._in_process or wait([self._starting], POLL_S).done:
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
        options = self._call.options
        wanted = (
            self.has_gpu
            and not is_replaced("gpu")
            and self._call.problem.n_jobs >= GPU_JOBS
            and options.heuristics == Heuristics.AUTO
            and options.heuristic_time_s is None
            and options.cutoff is None
        )
        return "gpu" if wanted and is_shared() else "cpu"

    def tree_waits(self) -> bool:
        """Whether a GPU is there to explore, beside which the heuristics go on."""
        options, starting = self._call.options, self._starting
        if not self.has_gpu or not starting.done() or starting.exception() is not None:
            return False
        threads = options.tuning.heuristic_threads
        alone = options.heuristic_time_s is not None or threads == 0
        return (
            not alone
            and isinstance(self._call.problem, ImprovesSchedules)
            and bool(starting.result().cluster.scheduler.workers)
        )

    def stay_in_process_if_small(self, plan: Plan) -> None:
        """Explore in this process where a small tree is over before a cluster starts.

        That is where a heuristic has left nothing out, and nothing asks for a cluster.
        """
        call, options = self._call, self._call.options
        if (
            plan.small
            and call.has_own_cluster
            and not call.detached
            and not options.all_optima
            and options.workers is None
            and options.checkpoint is None
            and options.engine in (EngineName.AUTO, EngineName.CPU)
        ):
            self._in_process = True
            self.unwanted.set()
            if self.engine in (None, EngineName.GPU):
                self._choose_engine()

    def engine_of_run(self, first: bool) -> str:
        """Return the engine that a run asks for; the first one says what it is."""
        call, name = self._call, str(self._call.options.engine)
        if self.engine is None and call.has_own_cluster:
            self._choose_engine()
        elif self.engine is None and first:
            why = explain_engines(name, call.problem, self._warm_up_tree())
            call.progress.note(f"engine {why}")
        if self.engine == EngineName.GPU and name == EngineName.AUTO:
            return name  # the GPU may refuse: then the cores explore
        return self.engine or name

    def open(
        self, spec: RunSpec, saved: Checkpoint | None, make_result: Callable[..., Any]
    ) -> Any:
        """Open a run; awaitable if the client is asynchronous.

        Parameters
        ----------
        saved
            The checkpoint that it goes on from.
        make_result
            Makes the user's of its outcome; see ``Run``.
        """
        options = self._call.options
        if self._in_process:
            from dpbb.solving.in_process import InProcessRun

            threads = 1 if options.workers == 0 else physical_cores()
            return InProcessRun(spec, options.threads or threads, saved)
        from dpbb.cluster.client.open import submit_run

        return submit_run(
            self.client,
            spec,
            make_result=make_result,
            optima_file=options.optima_file,
            saved=None if saved is None else to_bytes(saved),
        )


@contextmanager
def _connected(address: str, limit: float | None) -> Iterator[Any]:
    """Connect to a cluster; its page is there from now on, before the first run."""
    from dpbb.cluster.client.connect import connect
    from dpbb.cluster.client.open import ensure_plugin

    with connect(address, limit) as client:
        client.sync(ensure_plugin, client)
        yield client
