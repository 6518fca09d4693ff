"""The task of one work unit: what the scheduler plugin pins to a seat.

It carries ids, not intervals, and leases the unit when it starts: a task that is run
again by Dask, or comes late, leases nothing. It returns next to nothing, as a result
that is held lives on a worker and would be computed again when that worker dies.
"""

from distributed import get_worker

from dpbb.coordination.messages import RunId, SeatId, UnitId
from dpbb.errors import ClusterError


def explore(run_id: RunId, unit: UnitId, attempt: int, seat: SeatId) -> None:
    """Lease the unit and explore it on a seat of this worker."""
    worker = get_worker()
    plugin = worker.extensions.get("dpbb")
    if plugin is None or seat not in plugin.seats:
        raise ClusterError(
            f"expected seat {seat} on worker {worker.address}, which has announced "
            f"{sorted(plugin.seats) if plugin else 'none'}; restart the worker"
        )
    plugin.explore(run_id, unit, attempt, seat)
