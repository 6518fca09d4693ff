"""Permutation flow shops as PyJobShop describes them, and back.

A ``pyjobshop.ProblemData`` can be much more than a permutation flow shop. It is taken
where it is one: a task of every job on every machine, one mode each, the machines in
the same order for every job, one sequence on all machines, and the makespan to
minimize. Nothing here imports PyJobShop but what makes its solution.
"""

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.result import Result
from dpbb.text.labels import NO_NAMES, Names

MOST_UNSAID = 3
"""Machines up to which one sequence on all of them need not be asked for: some optimal
schedule has it (Conway, Maxwell, Miller, Theory of Scheduling, 1967)."""

ALLOWED = {"end_before_start", "same_sequence"}
"""Kinds of constraints that a permutation flow shop has."""

FREE = {"name", "tasks", "job", "weight", "due_date"}
"""Fields that the makespan does not depend on, or that are read here."""


def from_pyjobshop(data: Any, name: str = "pyjobshop") -> FlowShopInstance:
    """Return the permutation flow shop that a PyJobShop problem is.

    Parameters
    ----------
    data
        ``pyjobshop.ProblemData`` (``model.data()``).

    Returns
    -------
    FlowShopInstance
        Job j is ``data.jobs[j]``; the machines stand in the order of the route.

    Raises
    ------
    InstanceError
        It is another problem; says what is not as in a permutation flow shop.

    Examples
    --------
    >>> shop = from_pyjobshop(model.data())  # doctest: +SKIP
    >>> solution = to_pyjobshop(model.data(), dpbb.solve(shop))  # doctest: +SKIP
    """
    table, route = _table(data, name)
    times = np.array([[data.modes[mode].duration for mode in row] for row in table])
    jobs = tuple(job.name for job in data.jobs)
    machines = tuple(data.resources[machine].name for machine in route)
    names = Names(jobs if _all_named(jobs) else (), ())
    if _all_named(machines):
        names = Names(names.jobs, machines)
    return FlowShopInstance(name, times, names or NO_NAMES)


def to_pyjobshop(data: Any, result: Result) -> Any:
    """Return a result's schedule as a ``pyjobshop.Solution`` of the data it came from.

    Raises
    ------
    InstanceError
        ``data`` is no permutation flow shop, or another one.
    DpbbError
        The result has no schedule.
    """
    from pyjobshop import Solution
    from pyjobshop.Solution import ScheduledTask

    schedule, shop = result.schedule(), from_pyjobshop(data)
    if shop.digest != result.digest:
        refuse("data", f"the shop of the result ({result.digest[:12]})", repr(shop))
    table, _ = _table(data, shop.name)
    tasks: list[Any] = [None] * len(data.tasks)
    for (job, machine), mode in np.ndenumerate(table):
        start, end = schedule.start[job, machine], schedule.end[job, machine]
        chosen = data.modes[mode]
        tasks[chosen.task] = ScheduledTask(
            int(mode), list(chosen.resources), int(start), int(end)
        )
    return Solution(data, tasks)


def _table(data: Any, name: str) -> tuple[NDArray[np.intp], list[int]]:
    """Return the modes, shape (n_jobs, n_machines), and the route of all jobs."""
    _refuse_others(data, name)
    mode_of = {mode.task: index for index, mode in enumerate(data.modes)}
    after: dict[int, int] = {}
    for first, second, _ in data.constraints.end_before_start:
        if after.setdefault(first, second) != second:
            refuse(name, "tasks of a job one after another", f"two after task {first}")
    later = set(after.values())
    rows, routes = [], []
    for index, job in enumerate(data.jobs):
        begins = [task for task in job.tasks if task not in later]
        chain = begins[:1]
        while chain and chain[-1] in after and len(chain) <= len(job.tasks):
            chain.append(after[chain[-1]])
        if sorted(chain) != sorted(job.tasks):
            refuse(
                f"{name}, job {index}",
                "its tasks one after another (end_before_start)",
                f"{len(chain)} of {len(job.tasks)} tasks in such a chain",
            )
        rows.append([mode_of[task] for task in chain])
        routes.append([data.modes[mode].resources[0] for mode in rows[-1]])
        if routes[-1] != routes[0] or len(set(routes[0])) != len(data.resources):
            refuse(
                f"{name}, job {index}",
                "every machine once, in the order of the first job",
                f"the machines {routes[-1]}",
            )
    table = np.array(rows)
    _check_sequence(data, name, table, routes[0])
    return table, routes[0]


def _refuse_others(data: Any, name: str) -> None:
    """Raise InstanceError for what no permutation flow shop has."""
    parts = [("job", data.jobs), ("resource", data.resources), ("task", data.tasks)]
    if not data.jobs or not data.resources:
        refuse(name, "at least one job and one machine", "none")
    for index, resource in enumerate(data.resources):
        if type(resource).__name__ != "Machine":
            refuse(f"{name}, resource {index}", "a Machine", type(resource).__name__)
    for what, items in parts:
        for index, item in enumerate(items):
            plain = type(item)()
            for one in fields(item):
                value = getattr(item, one.name)
                if one.name not in FREE and value != getattr(plain, one.name):
                    refuse(f"{name}, {what} {index}", f"no {one.name}", repr(value))
    for index, mode in enumerate(data.modes):
        if len(mode.resources) != 1 or any(mode.demands):
            got = f"{len(mode.resources)} with demands {mode.demands}"
            refuse(f"{name}, mode {index}", "one machine", got)
    if sorted(mode.task for mode in data.modes) != list(range(len(data.tasks))):
        refuse(name, "one mode of every task", f"{len(data.modes)} modes")
    owned = sorted(task for job in data.jobs for task in job.tasks)
    if owned != list(range(len(data.tasks))):
        refuse(name, "every task in one job", "another number of tasks in jobs")
    for one in fields(data.constraints):
        found = getattr(data.constraints, one.name)
        if found and one.name not in ALLOWED:
            refuse(name, f"no constraints {one.name}", f"{len(found)}")
    for first, second, delay in data.constraints.end_before_start:
        if delay:
            refuse(name, "no delay between tasks", f"{delay} from {first} to {second}")
    for one in fields(data.objective):
        weight = getattr(data.objective, one.name)
        if bool(weight) != (one.name == "weight_makespan"):
            refuse(name, "the makespan alone to minimize", f"{one.name} {weight}")


def _check_sequence(
    data: Any, name: str, table: NDArray[np.intp], route: list[int]
) -> None:
    """Raise InstanceError unless all machines are to have the same sequence."""
    stage = {machine: position for position, machine in enumerate(route)}
    group = list(range(len(route)))
    for one in data.constraints.same_sequence:
        places = stage[one.machine1], stage[one.machine2]
        orders = []
        for place, given in zip(places, (one.tasks1, one.tasks2), strict=True):
            tasks = [data.modes[mode].task for mode in table[:, place]]
            order = sorted(tasks) if given is None else list(given)
            if sorted(order) != sorted(tasks):
                refuse(name, "all tasks of a machine in same_sequence", repr(given))
            orders.append([tasks.index(task) for task in order])
        if orders[0] != orders[1]:
            refuse(name, "jobs in one sequence on all machines", "jobs that pair up")
        joined = {group[place] for place in places}
        group = [min(joined) if of in joined else of for of in group]
    apart = [pair for pair in pairwise(group) if pair[0] != pair[1]]
    if apart and len(route) > MOST_UNSAID:
        refuse(
            name,
            "one sequence on all machines (same_sequence)",
            f"{len(apart) + 1} groups of machines with sequences of their own",
        )


def _all_named(names: tuple[str, ...]) -> bool:
    return all(names) and len(set(names)) == len(names)
