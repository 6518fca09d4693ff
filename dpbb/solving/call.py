"""One call of ``solve``, ``submit`` or ``resume``: from its arguments to its result."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from dpbb.cluster.client.which import placed
from dpbb.cluster.storage.checkpoint_folder import check_new, resumed_id
from dpbb.coordination.format import from_bytes
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.snapshot import WAITING_S, RunState, Snapshot
from dpbb.engines.registry import explain_engines, is_replaced
from dpbb.errors import (
    ClusterError,
    DpbbError,
    EngineUnavailable,
    Interrupted,
    OptionError,
    UnwrittenError,
)
from dpbb.flowshop.family import read_problem
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import is_shared
from dpbb.options import (
    EngineName,
    Heuristics,
    RunOptions,
    SolveOptions,
    Strategy,
    TreeOptions,
    kinds,
)
from dpbb.problem import (
    ImprovesBeside,
    Problem,
    instance_name_of,
    with_bound,
    with_ends,
)
from dpbb.progress import Progress
from dpbb.result import Improvement, Result, Termination
from dpbb.solving.arguments import (
    check_client,
    check_engine,
    check_fit,
    numbered,
    shown_by,
    style_of,
)
from dpbb.solving.certify import certified, certified_at_root
from dpbb.solving.from_below import Step
from dpbb.solving.interrupt import interruptible
from dpbb.solving.plan import Plan, run_options
from dpbb.solving.start import make_plan
from dpbb.solving.strategy import chosen_strategy
from dpbb.text.files import check_writable
from dpbb.tree.branching import tree_of

if TYPE_CHECKING:
    from dpbb.cluster.client.optima_file import OptimaFile
    from dpbb.cluster.client.run import Run
    from dpbb.coordination.outcome import Outcome


BOUND = "{bound}"
"""Stands for the proved lower bound in the path of a certificate: one of each tree."""

SHORT_S = 5.0
"""A time limit that may be over before there is a tree."""

HEAD_START_S = 1.0
"""Seconds that a cluster waits, at most, for the first schedule: its start is a second
of imports, beside which a heuristic of milliseconds takes as long on a busy machine."""


LEAST_START_S = 0.75
"""With less time left no cluster is started: nothing would be explored on it, and its
imports, which nothing interrupts, would outlast the limit."""

logger = logging.getLogger(__name__)

GPU_JOBS = 50
"""From so many jobs on, the start heuristics have the GPU as well."""


@dataclass(slots=True)
class Call:
    """One call of ``solve`` or ``submit``, blocking or asynchronous.

    Attributes
    ----------
    given
        A client to explore with; None: there is none yet.
    starting
        The client of the embedded cluster; None: there is none.
    detached
        Nobody stays until the end of the run.
    waited_s
        For the cluster, so far.
    run_ids
        Names of the runs so far, one for each tree.
    answered
        Set when there is a schedule, or will be none before the tree.
    interrupted
        Whether somebody has pressed Ctrl-C.
    here
        Whether this process explores, without a cluster.
    unwanted
        Set when nobody waits for the embedded cluster any more.
    """

    problem: Problem[Any]
    name: str
    options: SolveOptions
    progress: Progress
    should_stop: Callable[[], bool]
    began: float
    given: Any = None
    engine: str | None = None
    stopping: bool = False
    embedded: bool = False
    starting: Future[Any] | None = None
    detached: bool = False
    waited_s: float = 0.0
    run_ids: list[RunId] = field(default_factory=list)
    answered: Event = field(default_factory=Event)
    interrupted: Callable[[], bool] = lambda: False

    here: bool = field(init=False)
    unwanted: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        kinds.FUNCTION.check(self.should_stop, "should_stop")
        self.here = self.options.workers == 0

    def client(self) -> AbstractContextManager[Future[Any]]:
        """Get a client, in a thread while the heuristics run."""
        if self.here:
            self._choose_engine()
            return nullcontext(_done(None))
        if self.given is not None:
            return _background(lambda: nullcontext(self.given))
        address, limit = self.options.scheduler, self.options.time_limit_s
        if address is not None:
            return self._background(lambda: _connect(address, limit))
        return self._embedded()

    @contextmanager
    def _embedded(self) -> Iterator[Future[Any]]:
        self.embedded = True
        # What can fail is looked at first, what cannot while the cluster starts, or,
        # as it takes a second, when there is a tree: there may be no time for one.
        sure, limit = self._is_sure(), self.options.time_limit_s
        short = limit is not None and limit <= SHORT_S
        if not sure:
            self._choose_engine()
        with self._background(self._start, at_once=not short) as starting:
            self.starting = starting
            if sure and not short:
                self._choose_engine()
            try:
                yield starting
            finally:
                self.unwanted.set()

    @contextmanager
    def _background(
        self, make: Callable[[], AbstractContextManager[Any]], *, at_once: bool = False
    ) -> Iterator[Future[Any]]:
        """Enter a context manager in a thread when the first schedule is there."""

        def make_then() -> AbstractContextManager[Any]:
            if not at_once:
                self.answered.wait(HEAD_START_S)
            return make()

        with _background(make_then) as future:
            try:
                yield future
            finally:
                self.answered.set()

    def _is_sure(self) -> bool:
        """Whether the engine can run here, as far as a look of milliseconds can tell.

        Importing CuPy takes a second, in which the workers do so, too.
        """
        from dpbb.cluster.worker.gpus import gpus_for

        engine = self.options.engine
        if engine is EngineName.GPU:
            return bool(gpus_for("gpu", self.problem, self._warm_up_tree()))
        return engine in (EngineName.AUTO, EngineName.CPU)

    def _choose_engine(self) -> None:
        """Fail now, not after the heuristics, when the engine cannot run here."""
        from dpbb.engines.registry import choose_engine, engines_by_kind

        name = str(self.options.engine)
        if self.here and self.options.engine is EngineName.AUTO:
            name = engines_by_kind(name, self.problem, self._warm_up_tree())["cpu"]
        engine, why = choose_engine(name, self.problem, self._warm_up_tree())
        self.engine = engine.name
        self.progress.note(f"engine {why}")

    def _warm_up_tree(self) -> TreeOptions:
        """Tree of the run to come, whatever its upper bound will be."""
        return tree_of(self.problem, self.options, self.problem.trivial_ub)

    @contextmanager
    def _start(self) -> Iterator[Any]:
        limit = self.options.time_limit_s
        end = math.inf if limit is None else self.began + limit
        if end - time.monotonic() < LEAST_START_S and self.may_end_early:
            self.unwanted.wait()
            raise ClusterError("expected time for a cluster to start in, got none")
        from dpbb.cluster.local import embedded_cluster

        cluster = embedded_cluster(
            workers=self.options.workers,
            threads=self.options.threads,
            engine=str(self.options.engine),
            warm_up=(self.problem, self._warm_up_tree()),
            unwanted=self.unwanted.is_set,
            # other processes may begin at once, this one's imports may not
            launched=lambda: self.answered.wait(HEAD_START_S),
        )
        with cluster as (_, client):
            yield client

    def plan(self) -> Plan:
        """Run the start heuristics, and decide on the strategy."""
        try:
            plan = self._with_heuristics(self._start_device())
        finally:
            self.answered.set()
        if plan.proved or plan.within_gap:
            return plan
        if self._stays_here(plan):
            self.here = True
            self.unwanted.set()
            if self.engine in (None, EngineName.GPU):
                self._choose_engine()
            if self.options.strategy is Strategy.AUTO:
                return plan
        if self.options.strategy is Strategy.AUTO:
            self.progress.waiting("an estimate of the tree")
        strategy, why = chosen_strategy(
            plan,
            engine=self.engine,
            detached=self.detached,
            should_stop=self.should_stop,
        )
        self.progress.waiting("")
        if why:
            self.progress.note(f"strategy {strategy}: {why}")
        if strategy is Strategy.FROM_BELOW:
            plan = replace(plan, step=Step(1, plan.lower_bound))
        return plan

    def _stays_here(self, plan: Plan) -> bool:
        """Whether the tree is so small that it is over before a cluster is there."""
        options, starting = self.options, self.starting
        return (
            plan.small
            and starting is not None
            and not starting.done()
            and not self.detached
            and not options.all_optima
            and options.checkpoint is None
            and options.engine in (EngineName.AUTO, EngineName.CPU)
        )

    def say(self, text: str) -> None:
        """Tell people something, if it is anything."""
        if text:
            self.progress.note(text)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Stop at Ctrl-C, and say so at the end; see ``done``."""
        asked = self.should_stop
        with interruptible(self.progress.alert) as self.interrupted:
            self.should_stop = lambda: self.interrupted() or asked()
            yield

    def done(self, result: Result) -> Result:
        """Show the result of the call and return it.

        Interrupted: somebody pressed Ctrl-C; it has the result.
        """
        self.progress.done(result)
        if self.interrupted():
            raise Interrupted(result)
        return result

    def _with_heuristics(self, device: str) -> Plan:
        """Run the start heuristics; on the cores alone if the GPU refuses."""
        waits = self._tree_waits if device == "cpu" else lambda: False
        try:
            return make_plan(
                self.problem,
                self.name,
                self.options,
                began=self.began,
                on_incumbent=self._found,
                should_stop=self.should_stop,
                tree_waits=waits,
                on_note=self.progress.waiting,
                device=device,
            )
        except (EngineUnavailable, RuntimeError, MemoryError) as error:
            if device == "cpu":
                raise
            logger.warning("no heuristics on the GPU: %s", error)
            return self._with_heuristics("cpu")

    def _start_device(self) -> str:
        """Where the start heuristics run: on a GPU as well if it has no tree yet.

        Trees of few jobs are explored in seconds, in which the GPU had better begin.
        """
        options = self.options
        wanted = (
            self.embedded
            and self.engine == EngineName.GPU
            and not is_replaced("gpu")
            and self.problem.n_jobs >= GPU_JOBS
            and options.heuristics == Heuristics.AUTO
            and options.heuristic_time_s is None
            and options.cutoff is None
        )
        return "gpu" if wanted and is_shared() else "cpu"

    def _tree_waits(self) -> bool:
        """Whether a GPU is there to explore, beside which the heuristics go on."""
        options, starting = self.options, self.starting
        if starting is None or not starting.done() or starting.exception() is not None:
            return False
        alone = options.heuristic_time_s is not None or options.heuristic_threads == 0
        return (
            not alone
            and self.engine == EngineName.GPU
            and isinstance(self.problem, ImprovesBeside)
            and bool(starting.result().cluster.scheduler.workers)
        )

    def _found(self, step: Improvement, bound: int) -> None:
        self.progress.incumbent(step.seconds, step.value, bound)
        self.answered.set()

    def wait(self, starting: Future[Any], most_s: float) -> bool:
        """Wait for the cluster; whether it is there. Says so when it takes long."""
        if wait([starting], most_s).done:
            self.progress.waiting("")
            return True
        self.waited_s += most_s
        if self.waited_s >= WAITING_S:
            address = self.options.scheduler
            where = f"an answer of {address}" if address else "workers to start here"
            self.progress.waiting(where)
        return False

    @property
    def may_end_early(self) -> bool:
        """Whether ``early`` is asked, so that no run may be opened at all."""
        return not self.detached

    def early(self, plan: Plan) -> Result | None:
        """Return the result if there is nothing to explore, or no time."""
        left = plan.seconds_left(time.monotonic())
        if plan.proved:
            end = Termination.EXHAUSTED
        elif plan.within_gap:
            end = Termination.GAP_LIMIT
        elif self.should_stop():
            end = Termination.STOPPED
        elif left is not None and left <= 0:
            end = Termination.TIME_LIMIT
        else:
            return None
        result = plan.result_without_tree(end)
        if plan.step is not None and plan.before is not None:
            return result
        if plan.proved and self.options.certificate is not None:
            result = certified_at_root(self.problem, result)
        self.write_certificate(result)
        return result

    def write_certificate(self, result: Result) -> None:
        """Write the result's certificate where the options say, if they do.

        UnwrittenError: that fails; it has the result.
        """
        path, certificate = self.options.certificate, result.certificate
        if path is None:
            return
        if certificate is None:
            if not result.bounds:
                self.progress.note(f"no certificate: {result.termination}")
            return
        path = path.replace(BOUND, str(result.lower_bound))
        try:
            certificate.write(path)
        except DpbbError as error:
            raise UnwrittenError(str(error), result) from error

    def after(
        self, plan: Plan, outcome: Outcome, result: Result, snapshot: Snapshot | None
    ) -> tuple[Plan, Result | None]:
        """Take the end of a tree: what to explore next, or the result of the call."""
        if plan.goes_on_after(outcome, result):
            plan = plan.after(outcome, result)
            what = f"nothing is below {plan.lower_bound}"
            if not outcome.exhausted:
                what = f"the tree is too large: half the step, as {what}"
            self.progress.note(f"from below: {what}; looking below {plan.upper_bound}")
        else:
            return plan, self.end(result, snapshot)
        early = self.early(plan)
        return plan, None if early is None else self.end(early, snapshot)

    def open(self, plan: Plan, client: Any) -> Any:
        """Open the run; awaitable if the client is asynchronous."""
        if self.embedded and self.engine is None:
            self._choose_engine()
        elif self.engine is None and not self.run_ids:
            tree = self._warm_up_tree()
            why = explain_engines(str(self.options.engine), self.problem, tree)
            self.progress.note(f"engine {why}")
        now = time.monotonic()
        opened = self.opened(plan, now)
        self.progress.offset_s = opened - plan.began
        engine = self.engine or str(self.options.engine)
        if self.engine == EngineName.GPU and self.options.engine is EngineName.AUTO:
            engine = str(EngineName.AUTO)  # the GPU may refuse: then the cores explore
        spec, saved = self.spec(plan, now, engine)
        if self.progress.part_of:
            request = {**spec.request, "part_of": dict(self.progress.part_of)}
            spec = replace(spec, request=request)
        if spec.options.checkpoint is not None and not self.run_ids:
            self.progress.note(f"checkpoints {spec.options.checkpoint}")
        self.run_ids.append(spec.run_id)

        def make_result(outcome: Outcome) -> Result:
            result = plan.result(outcome, opened=opened, engine=engine)
            result = certified(spec, outcome, result)
            self.write_certificate(result)
            return result

        if self.here:
            from dpbb.solving.here import RunHere

            before = None if saved is None else from_bytes(saved, problem=self.problem)
            threads = 1 if self.options.workers == 0 else physical_cores()
            return RunHere(spec, self.options.threads or threads, make_result, before)
        from dpbb.cluster.client.open import submit_run

        return submit_run(
            client,
            spec,
            make_result=make_result,
            optima_file=self.optima_file(),
            saved=saved,
        )

    def note_page(self, run: Run) -> None:
        """Say where the run is shown."""
        if run.dashboard is not None and len(self.run_ids) == 1:
            self.progress.note(f"dashboard {run.dashboard}")

    def optima_file(self) -> OptimaFile | None:
        """Return what writes the optimal permutations; see ``OptimaFile``."""
        from dpbb.cluster.client.optima_file import OptimaFile

        path = self.options.optima_file
        return None if path is None else OptimaFile(Path(path), self.problem)

    def opened(self, plan: Plan, now: float) -> float:
        """When the run was opened, if it is opened now."""
        return now

    def spec(self, plan: Plan, now: float, engine: str) -> tuple[RunSpec, bytes | None]:
        """Return the run to open, and the state that it goes on from, if any."""
        spec = replace(plan.spec(now, engine), options=self.run_options(plan))
        if self.run_ids:  # its checkpoints go on in the same folder
            spec = replace(spec, run_id=resumed_id(self.run_ids[-1]))
        return spec, None

    def run_options(self, plan: Plan) -> RunOptions:
        """Return the options of the run; paths are absolute where its scheduler is."""
        options = replace(run_options(self.options), node_limit=plan.node_limit())
        url = options.checkpoint
        if url is None or "://" in url or not self.embedded:
            return options
        path = os.path.abspath(os.path.expanduser(url))
        return replace(options, checkpoint=path)

    def look(self, plan: Plan, snapshot: Snapshot) -> bool:
        """Show the state of the run; True, once, if it is to be stopped."""
        # at the end of one from below another tree may follow
        if plan.step is None or snapshot.state is not RunState.FINISHED:
            self.progress.update(plan.earlier.shown_on(snapshot))
        if self.stopping:
            return False
        self.stopping = self.should_stop()
        return self.stopping

    def end(self, result: Result, snapshot: Snapshot | None) -> Result:
        """Show the last state of the run and return its result."""
        if snapshot is not None:
            self.progress.finish(snapshot)
        return result


def make_call(
    instance: Any,
    client: Any,
    options: SolveOptions | None,
    changes: dict[str, Any],
    progress: Progress | str | None,
    should_stop: Callable[[], bool] = lambda: False,
    ends: tuple[Iterable[Any], Iterable[Any]] = ((), ()),
) -> Call:
    """Check everything that can be checked before anything is started."""
    began = time.monotonic()
    if not isinstance(options, SolveOptions | None):
        raise OptionError(
            f"options: expected SolveOptions, got {options!r}; single options are "
            "keywords, SolveOptions.from_mapping reads a dict"
        )
    chosen = (options or SolveOptions()).replace(**changes, **style_of(progress))
    check_client(client, chosen)
    check_engine(chosen)
    client, chosen, where = placed(client, chosen)
    problem = with_ends(read_problem(instance), *ends)
    problem = with_bound(problem, chosen.bound)
    chosen = numbered(problem, chosen)
    check_fit(problem, chosen)
    if chosen.certificate is not None:
        check_writable(chosen.certificate, "certificate", instance)
    if chosen.optima_file is not None:
        files = instance, chosen.certificate
        check_writable(chosen.optima_file, "optima_file", *files)
    if chosen.checkpoint is not None and client is None and chosen.scheduler is None:
        check_new(chosen.checkpoint)
    shown = shown_by(progress, chosen)
    name = instance_name_of(problem)
    call = Call(problem, name, chosen, shown, should_stop, began, client)
    call.say(where)
    return call


@contextmanager
def _connect(address: str, limit: float | None) -> Iterator[Any]:
    """Connect to a cluster; its page is there from now on, before the first run."""
    from dpbb.cluster.client.connect import connect
    from dpbb.cluster.client.open import ensure_plugin

    with connect(address, limit) as client:
        client.sync(ensure_plugin, client)
        yield client


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


@contextmanager
def _background(
    make: Callable[[], AbstractContextManager[Any]],
) -> Iterator[Future[Any]]:
    """Enter a context manager in a thread; yields the future of its value."""
    with ThreadPoolExecutor(1, "dpbb-start") as pool, ExitStack() as stack:
        future = pool.submit(lambda: stack.enter_context(make()))
        try:
            yield future
        finally:
            wait([future])  # to be left, it must have been entered
