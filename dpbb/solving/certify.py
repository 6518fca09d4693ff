"""The certificate of a run that is over."""

import json
from dataclasses import replace
from typing import Any

from dpbb.coordination.messages import RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.problem import Encodable, Problem, instance_name_of, part_of
from dpbb.problems import encoded
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.result import Proof, Result, Status


def certified_at_root(problem: Problem[Any], result: Result) -> Result:
    """Return a result that the root's bound proves, with its certificate.

    Without one if the problem cannot encode itself.
    """
    if not isinstance(problem, Encodable):
        return result
    content = {
        "format": checker.FORMAT,
        "schema": checker.ROOT_SCHEMA,
        "instance": {"name": instance_name_of(problem), **encoded(problem)},
        "result": _of_result(problem, result),
    }
    return _with(result, content)


def _of_result(problem: Problem[Any], result: Result) -> dict[str, Any]:
    """Return what every certificate says of the result: jobs by the tree's numbers."""
    jobs = result.permutation
    return {
        "status": str(result.status),
        "objective": result.objective,
        "makespan": result.makespan,
        "permutation": None if jobs is None else part_of(problem, jobs),
        "lower_bound": result.lower_bound,
        "seconds": result.seconds,
        "engine": result.engine,
        "versions": [list(pair) for pair in result.versions],
    }


def _with(result: Result, content: dict[str, Any]) -> Result:
    """Return the result with a certificate, as it will be read: tuples are lists."""
    return replace(result, certificate=Certificate(json.loads(json.dumps(content))))


def certified(spec: RunSpec, outcome: Outcome, result: Result) -> Result:
    """Return the result with its certificate, if the run has what one takes.

    That is a journal of a tree that is exhausted, or an optimum that the root's bound
    proves, and a problem that can encode itself: a checker has to have it.
    """
    problem = spec.problem
    at_root = result.proof is Proof.ROOT_BOUND and result.status is Status.OPTIMAL
    if at_root and spec.certificate:
        return certified_at_root(problem, result)
    if not isinstance(problem, Encodable):
        return result
    if outcome.journal is None or not outcome.exhausted:
        return result
    closed = [[d, int(c)] for d, c in enumerate(outcome.counters.closed) if c]
    content = {
        "format": checker.FORMAT,
        "schema": checker.SCHEMA,
        "instance": {"name": instance_name_of(problem), **encoded(problem)},
        "tree": {
            **spec.tree.to_json(),
            "n_jobs": problem.n_jobs,
            "trivial_ub": problem.trivial_ub,
        },
        "result": {
            **_of_result(problem, result),
            "ub": result.lower_bound,
            # whether LB = makespan was explored, too: at bounds that are higher by 1
            "all_optima": result.makespan is not None and outcome.ub > result.makespan,
        },
        "totals": {
            "decomposed": outcome.counters.decomposed,
            "leaves": outcome.counters.leaves,
            "closed": closed,
        },
        **outcome.journal.to_json(),
    }
    return _with(result, content)
