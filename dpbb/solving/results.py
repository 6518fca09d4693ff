"""From the outcome of a tree to the result of a call, with its certificate."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dpbb.coordination.messages import RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import DpbbError, Interrupted, UnwrittenError
from dpbb.options import EngineName, SolveOptions
from dpbb.problem import (
    Encodable,
    Problem,
    Scheduled,
    instance_name_of,
    n_machines_of,
    objective_of,
    whole_of,
    wholes_of,
)
from dpbb.problems import encoded
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate, books_of_root
from dpbb.result import Proof, ProvedBound, Result, Status, Termination, Totals
from dpbb.solving.arguments import Call
from dpbb.solving.plan import Plan
from dpbb.text.labels import names_of
from dpbb.tree.counters import Counters


def result_of_run(
    plan: Plan, spec: RunSpec, outcome: Outcome, n_written: int | None
) -> Result:
    """Return what a finished run proved, with its certificate.

    ``n_written``: optimal permutations in a file; None: none were written.
    """
    made = result_of(plan, outcome, spec.request.seconds, spec.engine)
    return certified(spec, outcome, replace(made, n_optima_written=n_written))


def result_of_attached(
    optima_file: str | None, spec: RunSpec, outcome: Outcome, n_written: int | None
) -> Result:
    """Return what a run proved that somebody else opened, by what it keeps of its call.

    ``optima_file``: where this process writes its optimal permutations.
    """
    options = SolveOptions.from_mapping(spec.request.options)
    if optima_file is not None:
        options = options.replace(optima_file=optima_file)
    return result_of_run(Plan.of_run(spec, 0.0, options), spec, outcome, n_written)


def result_of(
    plan: Plan, outcome: Outcome, before_s: float, engine: str | None = None
) -> Result:
    """Return what a finished run proved; with the trees from below before it.

    ``before_s``: from the start of the call to the opening of the run.
    """
    problem, totals = plan.problem, outcome.totals
    if engine is None or engine == EngineName.AUTO:
        engine = "+".join(sorted(outcome.engines)) or "none"
    trajectory = list(plan.trajectory)
    for step in outcome.trajectory:
        if not trajectory or step.value < trajectory[-1].value:
            trajectory.append(replace(step, seconds=step.seconds + before_s))
    bounds, seconds = plan.bounds, totals.seconds + before_s
    if plan.below is not None and outcome.exhausted:
        proved = ProvedBound(seconds, outcome.lower_bound, totals.decomposed)
        bounds = (*bounds, proved)
    makespan, permutation = outcome.value, outcome.permutation
    optima = None if outcome.optima is None else outcome.optima.permutations
    bound, proof = outcome.lower_bound, Proof.OPEN_ROOTS
    if outcome.exhausted:
        proof = Proof.TREE_EXHAUSTED
        if makespan is not None and makespan > bound:
            # Known from elsewhere, above the upper bound: nothing is proved of it.
            makespan, permutation, optima = None, None, None
    elif bound <= plan.lower_bound:
        bound = plan.lower_bound
        by_tree = bound > plan.root_bound
        proof = Proof.CUTOFF_EXHAUSTED if by_tree else Proof.ROOT_BOUND
    status = Status.INFEASIBLE_CUTOFF if outcome.exhausted else Status.UNKNOWN
    if makespan is not None:
        bound = min(bound, makespan)
        status = Status.OPTIMAL if bound == makespan else Status.FEASIBLE
    known: dict[str, Any] = {}
    if plan.options.all_optima:
        known["n_optima"] = 0 if makespan is None else outcome.n_optima
        known["optima"] = () if optima is None else tuple(wholes_of(problem, optima))
    operations, n_machines = None, n_machines_of(problem)
    if permutation is not None and isinstance(problem, Scheduled):
        operations = problem.schedule(permutation)
        n_machines = operations.start.shape[1]
    took = asdict(plan.earlier.plus(totals))
    took["tree_seconds"], took["seconds"] = took["seconds"], seconds
    return Result(
        status=status,
        termination=outcome.termination,
        proof=proof,
        makespan=makespan,
        lower_bound=bound,
        permutation=None if permutation is None else whole_of(problem, permutation),
        engine=engine,
        seats=tuple(outcome.seats),
        instance=plan.name,
        digest=problem.digest,
        n_jobs=len(whole_of(problem, range(problem.n_jobs))),
        n_machines=n_machines,
        trajectory=tuple(trajectory),
        bounds=bounds,
        options=plan.options,
        versions=versions(),
        names=names_of(problem),
        operations=operations,
        objective=objective_of(problem),
        **took,
        **known,
    )


def result_without_tree(
    plan: Plan, termination: Termination, before: Result | None = None
) -> Result:
    """Return what is known while no tree is explored, with a certificate of the root.

    ``before``: the result of the last tree from below, if there was one.
    """
    nothing = Outcome(
        termination=termination,
        exhausted=False,
        value=plan.makespan,
        permutation=plan.permutation,
        trajectory=(),
        totals=Totals(),
        ub=plan.problem.trivial_ub,
        lower_bound=plan.lower_bound,
        counters=Counters.zero(plan.problem.n_jobs),
    )
    result = result_of(plan, nothing, time.monotonic() - plan.began)
    if before is not None:
        names = ("seats", "engine", "certificate")
        return replace(result, **{name: getattr(before, name) for name in names})
    if plan.options.certificate is None or not plan.proved:
        return result
    return with_certificate(plan.problem, result, plan.permutation)


def certified(spec: RunSpec, outcome: Outcome, result: Result) -> Result:
    """Return the result with its certificate, if the run has what one takes.

    That is a journal of a tree that is exhausted, or an optimum that the root's bound
    proves, and a problem that can encode itself: a checker has to have it.
    """
    problem, jobs = spec.problem, outcome.permutation
    at_root = result.proof is Proof.ROOT_BOUND and result.status is Status.OPTIMAL
    if at_root and spec.certificate:
        return with_certificate(problem, result, jobs)
    if outcome.journal is None or not outcome.exhausted:
        return result
    counters = outcome.counters
    return with_certificate(
        problem,
        result,
        jobs,
        {
            "ub": result.lower_bound,
            # whether LB = makespan was explored, too: at bounds that are higher by 1
            "all_optima": result.makespan is not None and outcome.ub > result.makespan,
        },
        tree={
            **spec.tree.to_json(),
            "n_jobs": problem.n_jobs,
            "trivial_ub": problem.trivial_ub,
        },
        totals={
            "decomposed": counters.decomposed,
            "leaves": counters.leaves,
            "closed": [[d, int(c)] for d, c in enumerate(counters.closed) if c],
        },
        **outcome.journal.books(),
    )


def with_certificate(
    problem: Problem[Any],
    result: Result,
    jobs: tuple[int, ...] | None,
    of_tree: dict[str, Any] | None = None,
    **content: Any,
) -> Result:
    """Return the result with a certificate, where ``jobs`` have the tree's numbers.

    That is one of the root if there is no tree in ``content``; of a problem that cannot
    encode itself there is none.
    """
    if not isinstance(problem, Encodable):
        return result
    whole: dict[str, Any] = {
        "format": checker.FORMAT,
        "schema": checker.SCHEMA,
        "instance": {"name": instance_name_of(problem), **encoded(problem)},
        "result": {
            "status": str(result.status),
            "objective": result.objective,
            "makespan": result.makespan,
            "permutation": None if result.permutation is None else jobs,
            "lower_bound": result.lower_bound,
            "seconds": result.seconds,
            "engine": result.engine,
            "versions": [list(pair) for pair in result.versions],
            **(of_tree or {}),
        },
        **content,
    }
    ub = result.makespan
    kinds = checker.KIND, checker.SHOP_KIND
    if "tree" not in content and problem.name in kinds and ub is not None:
        books = books_of_root(whole["instance"], ub)
        if books is not None:
            whole |= books | {"bounds": [(ub, jobs)]}
            whole["tree"] |= {"trivial_ub": problem.trivial_ub}
            whole["result"] |= {"ub": ub, "all_optima": False}
        elif problem.name == checker.KIND:
            return result
    # as it will be read: tuples are lists
    return replace(result, certificate=Certificate(json.loads(json.dumps(whole))))


BOUND = "{bound}"
"""Stands for the proved lower bound in the path of a certificate: one of each tree."""


def written(call: Call, result: Result) -> Result:
    """Write a result's certificate where the options say, if they do; return it.

    UnwrittenError: that fails; it has the result.
    """
    path, certificate = result.options.certificate, result.certificate
    if path is None:
        return result
    if certificate is None:
        if not result.bounds:
            said = "certificate: not written, as there is no proof"
            call.progress.note(f"{said} ({result.termination})")
        return result
    path = path.replace(BOUND, str(result.lower_bound))
    try:
        certificate.write(path)
    except DpbbError as error:
        raise UnwrittenError(str(error), result) from error
    call.progress.note(f"certificate: written to {path}")
    return result


def done(call: Call, result: Result, last: Snapshot | None = None) -> Result:
    """Show the result of a call and return it.

    ``last``: the last state of its last run.

    Interrupted: somebody pressed Ctrl-C; it has the result.
    """
    if last is not None:
        call.progress.finish(last)
        saved, stopped = last.checkpoint, result.termination is Termination.STOPPED
        if stopped and saved is not None and not saved.at_risk_s:
            call.progress.note(f"saved in {saved.url}: run the same again to go on")
    call.progress.done(result)
    if call.interrupted():
        raise Interrupted(result)
    return result


PACKAGES = ("dpbb", "numpy", "numba", "distributed")


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python and of the packages that a result depends on."""
    found = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            found.append((package, "not installed"))
    return tuple(found)
