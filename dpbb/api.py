"""The public functions: ``solve``, ``submit``, ``resume``, ``attach``, ``evaluate``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

from dpbb.errors import OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options import SolveKeywords, SolveOptions, Strategy, kinds, naming
from dpbb.problem import Problem, Scheduled, part_of
from dpbb.progress import Progress
from dpbb.result import Result
from dpbb.result.schedule import Schedule
from dpbb.solving.arguments import called, planned
from dpbb.solving.exploring import solved, submitted
from dpbb.solving.results import result_of_attached
from dpbb.solving.resume import going_on, read_saved
from dpbb.text.labels import names_of

if TYPE_CHECKING:
    from dpbb.cluster.client.run import Run
    from dpbb.coordination.snapshot import Snapshot
    from dpbb.options.derived import StyleName

P = ParamSpec("P")
T = TypeVar("T")


@naming()
def solve(
    instance: Any,
    *,
    front: Iterable[Any] = (),
    back: Iterable[Any] = (),
    client: Any = None,
    options: SolveOptions | None = None,
    fresh: bool = False,
    progress: Progress | StyleName | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **changes: Unpack[SolveKeywords],
) -> Result:
    """Find an optimal schedule and prove it, or stop at a limit.

    Parameters
    ----------
    instance
        Name (``"ta022"``), path, table of processing times (rows are jobs),
        ``FlowShopInstance``, or any ``Problem``. See
        ``read_instance`` for files of several instances and for other tables.
    front, back
        Of a flow shop: jobs that stay before and after all others, in their order, by
        numbers or names. Only those between are sequenced; schedule, permutation and
        makespan are those of the whole sequence, and so is ``initial``.
    client
        A ``distributed.Client`` of the cluster to explore on. Default: the cluster
        that the option ``scheduler`` names, Dask's current client,
        ``$DPBB_SCHEDULER``, ``$DASK_SCHEDULER_ADDRESS``, ``scheduler-address`` in
        Dask's files, else one of this call's own on this machine, closed before the
        call returns, as with the option ``workers``. Within a Dask task the default is
        this process alone.
    options
        How to solve; default: all defaults. Where the folder ``checkpoint`` holds a
        run of this problem and tree, the call goes on from its last checkpoint, or, if
        that run is still on the cluster, attaches to it.
    fresh
        Begin anew: delete the checkpoints that are in the folder.
    progress
        Shows the progress: the option of this name (``"plain"``, ``"none"``, ...), or
        a ``dpbb.progress.Progress``, which is closed at the end. Default: a live view
        on a terminal or in a notebook, else rows on stderr.
    should_stop
        Polled often; once True, the search stops and what is known is returned.
    **changes
        Single options, such as ``time_limit_s=60``; they override ``options``.
        ``heuristics`` may be a function, see ``dpbb.heuristics.OwnHeuristic``.

    Returns
    -------
    Result, or awaitable of Result
        Awaitable if the client is asynchronous: see ``asynchronous`` for type checkers.

    Raises
    ------
    InstanceError, OptionError
        Bad input; says what was expected and what came.
    CheckpointError
        The folder ``checkpoint`` cannot be used, or has another problem's run.
    EngineUnavailable
        The engine cannot run here; says what is missing.
    ClusterError
        The cluster cannot run dpbb, or the run failed there.
    InvariantError
        The books of the proof do not balance: there is no result to trust.
    Interrupted
        A ``KeyboardInterrupt``: somebody pressed Ctrl-C. What was found is its
        ``result``; on a cluster of yours the stopped run stays in ``runs``. Ctrl-C
        again raises Python's own, without a result.

    Examples
    --------
    >>> import dpbb
    >>> dpbb.solve([[3, 2], [1, 4], [2, 2]], verbosity="quiet").makespan
    9
    """
    call = called(client, options, {**changes}, progress, should_stop)
    plan = planned(instance, call, front, back)
    return solved(call, going_on(call, plan, fresh=fresh))


@naming()
def submit(
    instance: Any,
    *,
    front: Iterable[Any] = (),
    back: Iterable[Any] = (),
    client: Any = None,
    options: SolveOptions | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    **changes: Unpack[SolveKeywords],
) -> Run:
    """Start to solve; do not wait for the end.

    The start heuristics run first, in this call. Use the ``Run`` in a ``with`` block,
    or ``close`` it: without a client of yours it has a cluster of its own. A run is one
    tree: ``strategy="from-below"``, several trees one after the other, is ``solve``'s.

    Parameters
    ----------
    instance, front, back, client, options, fresh, **changes
        As in ``solve``.
    progress
        Shows the start heuristics; closed when the run is open.

    Returns
    -------
    Run, or awaitable of Run
        Awaitable if the client is asynchronous.

    Raises
    ------
    InstanceError, OptionError, CheckpointError, EngineUnavailable, ClusterError
        As ``solve``. A run that still writes to the folder is not attached to.
    """
    shown = Progress() if progress is None else progress
    call = called(client, options, {**changes}, shown, detached=True)
    plan = planned(instance, call, front, back)
    if call.in_process:
        raise OptionError(
            "workers: expected at least 1, as nobody waits for the run while it goes "
            "on, got 0, or a Dask task without client: use dpbb.solve"
        )
    if call.options.strategy is Strategy.FROM_BELOW:
        raise OptionError(
            f"strategy: expected {Strategy.INCUMBENT}, as a run that is not waited for "
            f"is one tree, and nobody would open the next, got "
            f"{call.options.strategy}: use dpbb.solve (dpbb solve), which may explore "
            f"on the same cluster"
        )
    plan = going_on(call, plan, fresh=fresh)
    if plan.below is not None:
        raise OptionError(
            f"checkpoint: expected a run of one tree in {plan.options.checkpoint}, as "
            f"nobody would open the next, got one from below: use dpbb.solve (dpbb "
            f"solve), or fresh"
        )
    return submitted(call, plan)


@naming()
def resume(
    source: str | Path,
    *,
    client: Any = None,
    problem: Problem[Any] | None = None,
    progress: Progress | StyleName | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **changes: Unpack[SolveKeywords],
) -> Result:
    """Go on from a checkpoint, on a cluster of any size and kind.

    Parameters
    ----------
    source
        Path or fsspec URL: of a folder of checkpoints (the newest counts), of one of
        them, or of a file that ``Run.save`` wrote.
    client, progress, should_stop
        As in ``solve``.
    problem
        Of a kind that is not known here (``dpbb.problems``), or that has no
        ``encode()``: then a checkpoint does not hold it.
    **changes
        Single options. The tree's options are as before, or refused; a smaller
        ``upper_bound`` and a better ``initial`` schedule are used. Limits count from
        now, but for ``node_limit``, which counts all nodes.

    Returns
    -------
    Result, or awaitable of Result
        Counters, trajectory and seconds are those of all parts of the run together.

    Raises
    ------
    CheckpointError
        Nothing there, damaged, or of another problem, schema or version.
    OptionError, EngineUnavailable, ClusterError, InvariantError
        As ``solve``.
    """
    plan = read_saved(source, problem, changes)
    call = called(client, plan.options, {}, progress, should_stop)
    return solved(call, replace(plan, options=call.options))


def attach(run_id: str, client: Any, *, optima_file: str | Path | None = None) -> Run:
    """Get a handle of a run on a cluster.

    Closing it leaves the run alone; ``stop`` stops it.

    Parameters
    ----------
    run_id
        Name of the run (``Run.run_id``), or what it begins with.
    client
        A ``distributed.Client`` of the cluster.
    optima_file
        Of a run with ``all_optima``: where to write the optimal permutations, those
        found before too, until the handle is closed.

    Returns
    -------
    Run, or awaitable of Run
        Awaitable if the client is asynchronous.

    Raises
    ------
    ClusterError
        There is no such run, or there are several.
    OptionError
        The file cannot be written, or there are no optimal permutations for it.

    Examples
    --------
    >>> run = dpbb.attach("3f2a", client)  # doctest: +SKIP
    >>> run.snapshot().value  # doctest: +SKIP
    """
    from dpbb.cluster.client.open import attach_run

    kinds.name("the name of a run").check(run_id, "run_id")
    given = kinds.optional(kinds.path("FILE", "a path")).check(
        optima_file, "optima_file"
    )

    return attach_run(client, run_id, partial(result_of_attached, given), given)


def runs(client: Any) -> list[Snapshot]:
    """Return the state of every run that a cluster knows, open or finished.

    Parameters
    ----------
    client
        A ``distributed.Client`` of the cluster.

    Returns
    -------
    list of Snapshot, or awaitable of it
        Those that are over first, then the open ones, each in the order of opening.
        ``dpbb.attach(snapshot.run_id, client)`` gives a handle.
    """
    from dpbb.cluster.client.open import list_runs

    return list_runs(client)


def asynchronous(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Return a function as type checkers see it with an asynchronous client.

    ``solve``, ``submit``, ``resume``, ``attach`` and ``runs`` give awaitables where the
    client is asynchronous, which its type does not say; their own types are those of
    blocking clients. At run time this is the function itself.

    Examples
    --------
    >>> async def prove(client: distributed.Client) -> dpbb.Result:
    ...     return await dpbb.asynchronous(dpbb.solve)("ta022", client=client)
    """
    return cast("Callable[P, Awaitable[T]]", function)


def evaluate(instance: Any, permutation: Iterable[Any]) -> Schedule:
    """Return the schedule of a given order of the jobs: numbers from 0, or names.

    Raises
    ------
    InstanceError, OptionError
        Bad instance, or not a permutation of its jobs; or a problem of a kind that has
        no schedules, but ``problem.evaluate``.
    """
    problem = read_problem(instance)
    order = part_of(problem, names_of(problem).numbers(permutation, "permutation"))
    if not isinstance(problem, Scheduled):
        raise OptionError(
            f"instance: expected a problem that has schedules, got one of kind "
            f"{problem.name!r}, of which problem.evaluate gives the cost"
        )
    return problem.schedule(order)
