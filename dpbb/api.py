"""The public functions: ``solve``, ``submit``, ``evaluate``."""

from __future__ import annotations

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.engines.registry import explain_engines
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopProblem, schedule
from dpbb.flowshop.formats import read_instance
from dpbb.options import EngineName, SolveOptions, Verbosity
from dpbb.permutations import check_permutation
from dpbb.plan import check_fit, make_plan
from dpbb.problem import Problem
from dpbb.progress import ProgressPrinter
from dpbb.result import Termination
from dpbb.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from dpbb.coordination.outcome import Outcome
    from dpbb.coordination.snapshot import Snapshot
    from dpbb.options import TreeOptions
    from dpbb.plan import Plan
    from dpbb.result import Improvement, Result

POLL_S = 0.1
"""Seconds between looks at ``should_stop`` while a run goes on."""


def solve(
    instance: Any,  # noqa: ANN401 (names, paths, tables, instances, problems)
    *,
    client: Any = None,  # noqa: ANN401 (distributed.Client)
    options: SolveOptions | None = None,
    progress: ProgressPrinter | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **changes: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Find an optimal schedule and prove it, or stop at a limit.

    Parameters
    ----------
    instance
        Name (``"ta022"``), path, table of processing times (rows are jobs),
        ``FlowShopInstance``, or any ``Problem`` (no heuristics for these). See
        ``read_instance`` for files of several instances and for other tables.
    client
        A ``distributed.Client`` of the cluster to explore on. Default: the cluster
        that the option ``scheduler`` names, else one of this call's own on this
        machine, closed before the call returns.
    options
        How to solve; default: all defaults.
    progress
        Writes the progress rows. Default: to stderr, unless ``verbosity`` is quiet.
    should_stop
        Polled often; once True, the search stops and what is known is returned.
    **changes
        Single options, such as ``time_limit_s=60``; they override ``options``.

    Returns
    -------
    Result, or awaitable of Result
        Awaitable if the client is asynchronous, as Dask's own functions.

    Raises
    ------
    InstanceError, OptionError
        Bad input; says what was expected and what came.
    EngineUnavailable
        The engine cannot run here; says what is missing.
    ClusterError
        The cluster cannot run dpbb, or the run failed there.
    InvariantError
        The books of the proof do not balance: there is no result to trust.

    Examples
    --------
    >>> import dpbb
    >>> dpbb.solve([[3, 2], [1, 4], [2, 2]], verbosity="quiet").makespan
    9
    """
    task = _task(instance, client, options, changes, progress, should_stop)
    if client is not None and client.asynchronous:
        return _solve_async(task, client)
    with task.client(client) as get_client:
        plan = task.plan()
        result = task.early(plan)
        if result is not None:
            return result
        with task.open(plan, get_client()) as run:
            snapshot = None
            for snapshot in run.stream(POLL_S):
                if task.look(snapshot):
                    run.stop()
            return task.end(run.result(), snapshot)


async def _solve_async(task: _Task, client: Any) -> Result:  # noqa: ANN401
    plan = await asyncio.to_thread(task.plan)
    result = task.early(plan)
    if result is not None:
        return result
    async with await task.open(plan, client) as run:
        snapshot = None
        async for snapshot in run.stream(POLL_S):
            if task.look(snapshot):
                await run.stop()
        return task.end(await run.result(), snapshot)


def submit(
    instance: Any,  # noqa: ANN401
    *,
    client: Any = None,  # noqa: ANN401
    options: SolveOptions | None = None,
    **changes: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Start to solve; do not wait for the end.

    The start heuristics run first, in this call. Use the ``Run`` in a ``with`` block,
    or ``close`` it: without a client of yours it has a cluster of its own.

    Parameters
    ----------
    instance, client, options, **changes
        As in ``solve``.

    Returns
    -------
    Run, or awaitable of Run
        Awaitable if the client is asynchronous.

    Raises
    ------
    InstanceError, OptionError, EngineUnavailable, ClusterError
        As ``solve``.
    """
    task = _task(instance, client, options, changes, ProgressPrinter(None))
    if client is not None and client.asynchronous:
        return _submit_async(task, client)
    with ExitStack() as stack:
        get_client = stack.enter_context(task.client(client))
        plan = task.plan()
        run = task.open(plan, get_client())
        run.on_close(stack.pop_all().close)
        return run


async def _submit_async(task: _Task, client: Any) -> Any:  # noqa: ANN401
    return await task.open(await asyncio.to_thread(task.plan), client)


def evaluate(instance: Any, permutation: Sequence[int]) -> Schedule:  # noqa: ANN401
    """Return the schedule of a given order of the jobs, which count from 0.

    Raises
    ------
    InstanceError, OptionError
        Bad instance, or not a permutation of its jobs.
    """
    times = read_instance(instance).times
    order = check_permutation(permutation, n_jobs=len(times))
    return Schedule(order, *schedule(times, order))


@dataclass(slots=True)
class _Task:
    """One call of ``solve`` or ``submit``, blocking or asynchronous."""

    problem: Problem[Any]
    name: str
    options: SolveOptions
    progress: ProgressPrinter
    should_stop: Callable[[], bool]
    began: float
    engine: str | None = None
    stopping: bool = False

    def client(
        self,
        given: Any,  # noqa: ANN401
    ) -> AbstractContextManager[Callable[[], Any]]:
        """Get a client, in a thread while the heuristics run; call what is yielded."""
        if given is not None:
            return _background(lambda: _nothing(given))
        address = self.options.scheduler
        if address is not None:
            return _background(lambda: _connect(address))
        return self._embedded()

    @contextmanager
    def _embedded(self) -> Iterator[Callable[[], Any]]:
        # What can fail is looked at first, what cannot while the cluster starts.
        sure = self.options.engine in (EngineName.AUTO, EngineName.CPU)
        if not sure:
            self._choose_engine()
        with _background(self._start) as get_client:
            if sure:
                self._choose_engine()
            yield get_client

    def _choose_engine(self) -> None:
        """Fail now, not after the heuristics, when the engine cannot run here."""
        from dpbb.engines.registry import choose_engine

        engine, why = choose_engine(
            str(self.options.engine), self.problem, self._warm_up_tree()
        )
        self.engine = engine.name
        self.progress.note(f"engine {why}")

    def _warm_up_tree(self) -> TreeOptions:
        """Tree of the run to come, whatever its upper bound will be."""
        return self.options.tree(self.problem.trivial_ub)

    @contextmanager
    def _start(self) -> Iterator[Any]:
        from dpbb.cluster.local import embedded_cluster

        cluster = embedded_cluster(
            workers=self.options.workers,
            threads=self.options.threads,
            engine=str(self.options.engine),
            warm_up=(self.problem, self._warm_up_tree(), None),
        )
        with cluster as (_, client):
            yield client

    def plan(self) -> Plan:
        """Run the start heuristics."""
        return make_plan(
            self.problem,
            self.name,
            self.options,
            began=self.began,
            on_incumbent=self._found,
            should_stop=self.should_stop,
        )

    def _found(self, step: Improvement, bound: int) -> None:
        self.progress.incumbent(step.seconds, step.value, bound)

    def early(self, plan: Plan) -> Result | None:
        """Return the result if there is nothing to explore, or no time."""
        left = plan.seconds_left(time.monotonic())
        if plan.proved:
            return plan.result_without_tree(Termination.EXHAUSTED)
        if self.should_stop():
            return plan.result_without_tree(Termination.STOPPED)
        if left is not None and left <= 0:
            return plan.result_without_tree(Termination.TIME_LIMIT)
        return None

    def open(self, plan: Plan, client: Any) -> Any:  # noqa: ANN401
        """Open the run; awaitable if the client is asynchronous."""
        from dpbb.cluster.run import submit_run

        if client.dashboard_link:
            self.progress.note(f"dashboard {client.dashboard_link}")
        if self.engine is None:
            tree = self._warm_up_tree()
            why = explain_engines(str(self.options.engine), self.problem, tree)
            self.progress.note(f"engine {why}")
        opened = time.monotonic()
        self.progress.offset_s = opened - self.began
        engine = self.engine or str(self.options.engine)
        file = self.options.optima_file

        def make_result(outcome: Outcome) -> Result:
            return plan.result(outcome, opened=opened, engine=engine)

        return submit_run(
            client,
            plan.spec(opened, engine),
            make_result=make_result,
            optima_file=None if file is None else Path(file),
        )

    def look(self, snapshot: Snapshot) -> bool:
        """Show the state of the run; True, once, if it is to be stopped."""
        self.progress.update(snapshot)
        if self.stopping or not self.should_stop():
            return False
        self.stopping = True
        return True

    def end(self, result: Result, snapshot: Snapshot | None) -> Result:
        """Show the last state of the run and return its result."""
        if snapshot is not None:
            self.progress.finish(snapshot)
        return result


def _task(
    instance: Any,  # noqa: ANN401
    client: Any,  # noqa: ANN401
    options: SolveOptions | None,
    changes: dict[str, Any],
    progress: ProgressPrinter | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> _Task:
    """Check everything that can be checked before anything is started."""
    began = time.monotonic()
    chosen = (options or SolveOptions()).replace(**changes)
    if client is not None:
        if not hasattr(client, "scheduler_info"):
            raise OptionError(f"client: expected a distributed.Client, got {client!r}")
        for name in ("scheduler", "workers"):
            if getattr(chosen, name) is not None:
                raise OptionError(f"{name}: expected without a client, got both")
    if isinstance(instance, Problem):
        problem, name = instance, instance.name
    else:
        found = read_instance(instance)
        problem, name = FlowShopProblem(found), found.name
    check_fit(problem, chosen)
    if progress is None:
        quiet = chosen.verbosity is Verbosity.QUIET
        progress = ProgressPrinter(
            None if quiet else sys.stderr, interval_s=chosen.report_interval_s
        )
    return _Task(problem, name, chosen, progress, should_stop, began)


def _connect(address: str) -> AbstractContextManager[Any]:
    from dpbb.cluster.local import connect

    return connect(address)


@contextmanager
def _nothing(value: Any) -> Iterator[Any]:  # noqa: ANN401
    yield value


@contextmanager
def _background(
    make: Callable[[], AbstractContextManager[Any]],
) -> Iterator[Callable[[], Any]]:
    """Enter a context manager in a thread; yields what waits for its value."""
    with ThreadPoolExecutor(1, "dpbb-start") as pool, ExitStack() as stack:
        future = pool.submit(lambda: stack.enter_context(make()))
        try:
            yield future.result
        finally:
            wait([future])  # to be left, it must have been entered
