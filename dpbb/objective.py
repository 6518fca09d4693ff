"""What people call the cost of a problem."""

from __future__ import annotations


def objective_of(problem: object) -> str:
    """Return the problem's ``objective`` if it has that attribute.

    Of others: "makespan" where the problem's name ends so, else "cost".
    """
    known = getattr(problem, "objective", None)
    if known:
        return str(known)
    name = str(getattr(problem, "name", ""))
    return "makespan" if name.endswith("makespan") else "cost"
