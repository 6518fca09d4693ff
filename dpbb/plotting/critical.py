"""The critical path of a schedule: what would have to be shorter to end earlier."""

from dpbb.errors import DpbbError
from dpbb.result.schedule import Schedule


def critical_path(schedule: Schedule) -> tuple[tuple[int, int], ...]:
    """Return a chain of operations without slack, from time 0 to the makespan.

    Parameters
    ----------
    schedule
        Of a permutation flow shop, every operation as early as it can be.

    Returns
    -------
    tuple of (job, machine)
        From the first job's first operation to the last job's last one:
        n_jobs + n_machines - 1 operations, of which each begins when the one before it
        ends. Their times add up to the makespan.

    Raises
    ------
    DpbbError
        An operation begins later or earlier than it should.

    Notes
    -----
    An operation begins when its machine has done the job before, or its job has left
    the machine before, whichever is later; followed backwards, that is a path. Where
    both end at once, the path stays on the machine: so of all critical paths this is
    the one that, seen from its end, changes machines as late as it can. O(n + m) after
    the check of all n * m operations.
    """
    _check(schedule)
    start, end, order = schedule.start, schedule.end, schedule.permutation
    position, machine = len(order) - 1, start.shape[1] - 1
    path = [(order[position], machine)]
    while position or machine:
        begins = start[order[position], machine]
        if position and end[order[position - 1], machine] == begins:
            position -= 1
        else:
            machine -= 1
        path.append((order[position], machine))
    return tuple(reversed(path))


def _check(schedule: Schedule) -> None:
    """Raise DpbbError unless every operation begins as soon as it can."""
    order = list(schedule.permutation)
    start, end = schedule.start[order], schedule.end[order]
    soonest = start * 0
    soonest[1:] = end[:-1]
    soonest[:, 1:] = soonest[:, 1:].clip(min=end[:, :-1])
    wrong = (start != soonest).nonzero()
    if wrong[0].size:
        position, machine = int(wrong[0][0]), int(wrong[1][0])
        raise DpbbError(
            f"critical path: expected job {order[position]} on machine {machine} to "
            f"begin as soon as it can, at {soonest[position, machine]}, got "
            f"{start[position, machine]}"
        )
