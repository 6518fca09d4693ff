"""Trees at a fixed upper bound through a cluster: what several suites run."""

from typing import Any
from uuid import uuid4

from distributed import Client

from dpbb.cluster.client.open import submit_run
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import RunOptions, TreeOptions


def submit_tree(client: Client, instance: str, ub: int) -> Any:
    """Submit the minmin tree {LB < ub} to the CPU engine; a Run of an ``Outcome``."""
    spec = RunSpec(
        run_id=RunId(uuid4().hex[:12]),
        problem=FlowShopProblem(taillard_instance(instance)),
        tree=TreeOptions(),
        instance=instance,
        engine="cpu",
        upper_bound=ub,
        options=RunOptions(heuristic_threads=0),
    )
    return submit_run(client, spec, make_result=outcome_itself)


def outcome_itself(outcome: Outcome) -> Any:  # not the user's result
    """Return the outcome in place of a user's result."""
    return outcome
