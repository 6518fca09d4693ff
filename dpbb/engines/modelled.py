"""What engines share that compile a model of a problem."""

from typing import Any

from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.problems import model_of, models_known
from dpbb.tree.branching import refusal


def obstacle_of(
    engine: str, device: str, problem: Problem[Any], tree: TreeOptions
) -> str | None:
    """Return why an engine's compiled search does not take a tree, None if it does.

    Parameters
    ----------
    engine
        Its name, for people.
    device
        ``"cpu"``, ``"cuda"`` or ``"pool"``: which models it has.
    """
    model = model_of(problem, device, tree.bound)
    if model is None:
        bounds = models_known(problem, device)
        if not bounds:
            return (
                f"engine {engine} has no model of {problem.name}: a model serves the "
                "class that it is written for, and no subclass, which may override it"
            )
        return (
            f"engine {engine} takes the bound {' or '.join(bounds)}, not {tree.bound}"
        )
    reason: str | None = refusal(problem, tree) or model.obstacle(problem)
    return reason
