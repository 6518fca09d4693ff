"""Runs that somebody else opened, or that an earlier session left behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.coordination.messages import RunSpec
from dpbb.errors import ClusterError
from dpbb.options import SolveOptions, kinds
from dpbb.result import Result
from dpbb.solving.certify import certified
from dpbb.solving.plan import Plan

if TYPE_CHECKING:
    from dpbb.cluster.client.run import Run
    from dpbb.coordination.outcome import Outcome
    from dpbb.coordination.snapshot import Snapshot


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
    path = None if given is None else Path(given)
    return attach_run(client, run_id, partial(_result_maker, path), path)


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


def _result_maker(
    optima_file: Path | None, spec: RunSpec, seconds: float
) -> Callable[[Outcome], Result]:
    opened = time.monotonic() - seconds

    def make_result(outcome: Outcome) -> Result:
        if not spec.request:
            raise ClusterError(
                f"run {spec.run_id} was not opened by dpbb.solve or dpbb.submit: it "
                "has an outcome, but nothing to make a result of"
            )
        options = SolveOptions.from_mapping(spec.request["options"])
        if optima_file is not None:
            options = options.replace(optima_file=str(optima_file))
        plan = Plan.from_request(
            spec.problem, spec.instance, spec.request, opened=opened, options=options
        )
        result = plan.result(outcome, opened=opened, engine=spec.engine)
        return certified(spec, outcome, result)

    return make_result
