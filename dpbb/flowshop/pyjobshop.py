"""Permutation flow shops as PyJobShop describes them, and back.

A ``pyjobshop.ProblemData`` can be much more than a permutation flow shop. It is taken
where it is one: a task of every job on every machine, one mode each, the machines in
the same order for every job, one sequence on all machines, and one objective that
``dpbb.FlowShop`` has. Nothing here imports PyJobShop but what makes its objects.
"""

from collections.abc import Iterable
from dataclasses import fields
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse, shown
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.shop import OBJECTIVES, FlowShop, ObjectiveName
from dpbb.problem import instance_name_of
from dpbb.result import Result
from dpbb.text.labels import Names

MOST_UNSAID = 3
"""Machines up to which one sequence on all of them need not be asked for where there
are only times: some schedule of the least makespan has it (Conway, Maxwell, Miller,
Theory of Scheduling, 1967). Of other objectives one less."""

CHAINS = "end_before_start", "end_at_start"
"""Kinds of constraints between the tasks of a job: with room between, and without."""

ALLOWED = {*CHAINS, "same_sequence", "setup_times"}
"""Kinds of constraints that a permutation flow shop has."""

READ = {"name", "tasks", "job", "weight", "release_date", "due_date", "allow_idle"}
"""Fields that are read here, or that nothing depends on."""

WEIGHED: dict[str, tuple[ObjectiveName, ObjectiveName | None]] = {
    "weight_makespan": ("makespan", "makespan"),
    "weight_total_flow_time": ("total-completion", "weighted-completion"),
    "weight_total_tardiness": ("total-tardiness", "weighted-tardiness"),
    "weight_tardy_jobs": ("late-jobs", "weighted-late-jobs"),
    "weight_max_tardiness": ("max-tardiness", None),
}
"""Objectives by PyJobShop's field: where all jobs weigh 1, and else."""


class Chains(NamedTuple):
    """The jobs of a problem.

    Parameters
    ----------
    modes : ndarray of intp, shape (n_jobs, n_machines)
    delays : ndarray of int64, shape (n_jobs, n_machines - 1)
        Least times between two tasks.
    blocked
        Of each machine but the last: whether a job stays until the next one is free.
    route
        Numbers of the machines.
    """

    modes: NDArray[np.intp]
    delays: NDArray[np.int64]
    blocked: tuple[bool, ...]
    route: list[int]


def from_pyjobshop(data: Any, name: str = "pyjobshop") -> FlowShopInstance | FlowShop:
    """Return the permutation flow shop that a PyJobShop problem is.

    Parameters
    ----------
    data
        ``pyjobshop.ProblemData`` (``model.data()``).

    Returns
    -------
    FlowShopInstance or FlowShop
        Job j is ``data.jobs[j]``; the machines stand in the order of the route. An
        instance if there is nothing but times, and the makespan to minimize. Of
        flow times the completion times are summed: release dates are not taken off.

    Raises
    ------
    InstanceError
        It is another problem; says what is not as in a permutation flow shop.

    Examples
    --------
    >>> shop = from_pyjobshop(model.data())  # doctest: +SKIP
    >>> solution = to_pyjobshop(model.data(), dpbb.solve(shop))  # doctest: +SKIP
    """
    chains = _chains(data, name)
    route = chains.route
    durations = [[data.modes[mode].duration for mode in row] for row in chains.modes]
    names = Names(
        _named(job.name for job in data.jobs),
        _named(data.resources[machine].name for machine in route),
    )
    objective, dates = _objective(data, name)
    features: dict[str, Any] = {}
    if any(chains.blocked):
        places = (0 if one else len(data.jobs) - 1 for one in chains.blocked)
        features["buffers"] = [*places]
    if chains.delays.any():
        features["lags"] = chains.delays
    if (setups := _setups(data, chains)).any():
        features["setups"] = setups
    only_times = not (features or "release" in dates)
    unsaid = MOST_UNSAID - (objective != "makespan") if only_times else 1
    if not (all(chains.blocked) and np.min(durations) > 0):  # else nobody overtakes
        _check_sequence(data, name, chains, unsaid)
    shop = FlowShopInstance(name, np.array(durations), names, dates)
    if only_times and objective == "makespan":
        return shop
    return FlowShop(shop, objective=objective, **features)


def pyjobshop_model(source: Any) -> Any:
    """Return the ``pyjobshop.Model`` of a flow shop.

    Parameters
    ----------
    source
        Whatever ``dpbb.solve`` takes: an instance, a ``dpbb.FlowShop``.

    Raises
    ------
    InstanceError
        It is no flow shop, or has what PyJobShop cannot say; names it.
    """
    from pyjobshop import Model

    problem = read_problem(source)
    if type(problem) is FlowShopProblem and not problem.given:
        problem = FlowShop(problem.instance)
    if not isinstance(problem, FlowShop) or not problem.both_ends:
        refuse("pyjobshop", "a flow shop without given ends", instance_name_of(problem))
    shop, features = problem.instance, problem.features
    times, names = shop.times.tolist(), shop.names
    n_jobs, n_machines = shop.times.shape
    buffers = features.buffers or (n_jobs - 1,) * (n_machines - 1)
    for there, what in (
        (features.unlimited, "unlimited"),
        (not features.anticipatory, "anticipatory=False"),
        (features.setups is not None and features.setups[-1].any(), "a first set-up"),
        (any(0 < one < n_jobs - 1 for one in buffers), "buffers of some places"),
    ):
        if there:
            refuse(shop.name, "what PyJobShop can say", what)
    model = Model()
    machines = [model.add_machine(name=names.machine(k)) for k in range(n_machines)]
    dates = {name: one.tolist() for name, one in shop.dates.items()}
    said = {"release": "release_date", "due": "due_date", "weight": "weight"}
    tasks = []
    for number, row in enumerate(times):
        own = {said[name]: one[number] for name, one in dates.items()}
        job = model.add_job(name=names.job(number), **own)
        tasks.append([model.add_task(job, allow_idle=features.blocking) for _ in row])
        for task, machine, time in zip(tasks[-1], machines, row, strict=True):
            model.add_mode(task, machine, time)
        for k, pair in enumerate(pairwise(tasks[-1])):
            if features.blocking and buffers[k] == 0:
                model.add_end_at_start(*pair)
            else:
                lag = 0 if features.lags is None else int(features.lags[number, k])
                model.add_end_before_start(*pair, lag)
    for machine, following in pairwise(machines):
        model.add_same_sequence(machine, following)
    if features.setups is not None:
        for k, machine in enumerate(machines):
            for one, other in permutations(range(n_jobs), 2):
                gap = int(features.setups[one, other, k])
                model.add_setup_time(machine, tasks[one][k], tasks[other][k], gap)
    (field,) = (one for one, words in WEIGHED.items() if problem.said in words)
    model.set_objective(**{field: 1})
    return model


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
    leave = schedule.end if schedule.leave is None else schedule.leave
    tasks: list[Any] = [None] * len(data.tasks)
    for place, mode in np.ndenumerate(_chains(data, "pyjobshop").modes):
        chosen = data.modes[mode]
        tasks[chosen.task] = ScheduledTask(
            int(mode),
            list(chosen.resources),
            int(schedule.start[place]),
            int(leave[place]),
            int(leave[place] - schedule.end[place]),
        )
    return Solution(data, tasks)


def _chains(data: Any, name: str) -> Chains:
    """Return the tasks of all jobs as they follow."""
    _refuse_others(data, name)
    mode_of = {mode.task: index for index, mode in enumerate(data.modes)}
    after: dict[int, int] = {}
    delays: dict[int, int] = {}
    for first, second, delay in (
        one for kind in CHAINS for one in getattr(data.constraints, kind)
    ):
        if after.setdefault(first, second) != second:
            refuse(name, "tasks of a job one after another", f"two after task {first}")
        delays[first] = max(delay, delays.get(first, delay))
    blocked = {first for first, *_ in data.constraints.end_at_start}
    later = set(after.values())
    rows, routes, kinds = [], [], []
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
        kinds.append(tuple(task in blocked for task in chain[:-1]))
        if kinds[-1] != kinds[0]:
            expected = "end_at_start between the machines of the first job"
            refuse(f"{name}, job {index}", expected, "it between others")
    waits = [[delays[data.modes[mode].task] for mode in row[:-1]] for row in rows]
    return Chains(np.array(rows), np.array(waits), kinds[0], routes[0])


def _objective(data: Any, name: str) -> tuple[ObjectiveName, dict[str, Any]]:
    """Return what is minimized, and the columns of dates and weights for it."""
    weighed = {
        one.name: weight
        for one in fields(data.objective)
        if (weight := getattr(data.objective, one.name))
    }
    if len(weighed) != 1 or not weighed.keys() <= WEIGHED.keys():
        expected = f"one of {', '.join(WEIGHED)} alone to minimize"
        refuse(name, expected, ", ".join(weighed) or "none")
    (field,) = weighed
    weights = [job.weight for job in data.jobs]
    objective = WEIGHED[field][set(weights) != {1}]
    if objective is None:
        refuse(name, f"jobs of weight 1 for {field}", shown(weights))
    dates: dict[str, Any] = {}
    if any(job.release_date for job in data.jobs):
        dates["release"] = [job.release_date for job in data.jobs]
    if OBJECTIVES[objective].weighted:
        dates["weight"] = weights
    if OBJECTIVES[objective].dated:
        dates["due"] = [job.due_date for job in data.jobs]
    return objective, dates


def _setups(data: Any, chains: Chains) -> NDArray[np.int64]:
    """Return set-ups, shape (n_jobs, n_jobs, n_machines); the last of a pair counts."""
    n_jobs, n_machines = chains.modes.shape
    place = {
        data.modes[mode].task: (job, k)
        for (job, k), mode in np.ndenumerate(chains.modes)
    }
    found = np.zeros((n_jobs, n_jobs, n_machines), np.int64)
    for machine, first, second, duration in data.constraints.setup_times:
        (job, k), (other, at) = place[first], place[second]
        if k == at and chains.route[k] == machine:  # else no mode needs the machine
            found[job, other, k] = duration
    return found


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
                if one.name not in READ and value != getattr(plain, one.name):
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
        if delay < 0:
            refuse(name, "no delay below 0", f"{delay} from {first} to {second}")
    for first, second, delay in data.constraints.end_at_start:
        if delay or not data.tasks[first].allow_idle:
            expected = f"allow_idle of task {first} and no delay with end_at_start"
            refuse(name, expected, f"a job that may not wait for task {second}")


def _check_sequence(data: Any, name: str, chains: Chains, unsaid: int) -> None:
    """Raise InstanceError unless all machines are to have the same sequence.

    ``unsaid``: up to so many machines that need not be said.
    """
    table, route = chains.modes, chains.route
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
    if apart and len(route) > unsaid:
        refuse(
            name,
            "one sequence on all machines (same_sequence)",
            f"{len(apart) + 1} groups of machines with sequences of their own",
        )


def _named(names: Iterable[str]) -> tuple[str, ...]:
    """Return names that tell all apart; else none."""
    found = (*names,)
    return found if all(found) and len({*found}) == len(found) else ()
