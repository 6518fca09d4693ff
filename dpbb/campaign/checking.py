"""Records that somebody has changed: what can be seen to be wrong in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.errors import InstanceError
from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.flowshop.family import read_problem
from dpbb.result import Status

if TYPE_CHECKING:
    from pathlib import Path

    from dpbb.campaign.folder import Record


def doubt_of(record: Record, folder: Path, data_dir: str | None = None) -> str:
    """Return why a record is not to be believed; empty where nothing speaks against it.

    Parameters
    ----------
    folder
        Of its campaign, where its certificate is.
    data_dir
        As of ``read_instance``. Schedules of benchmark instances that can be read are
        evaluated again.
    """
    value, order, lower = record.makespan, record.permutation, record.lower_bound
    if record.certificate and not (folder / record.certificate).is_file():
        return f"its certificate {record.certificate} is not there"
    if record.status in (Status.OPTIMAL, Status.FEASIBLE) and None in (value, order):
        return f"it is {record.status} without a makespan and its permutation"
    if order is not None and sorted(order) != list(range(record.n_jobs)):
        return f"its permutation is none of {record.n_jobs} jobs"
    if value is not None and lower is not None and lower > value:
        return f"its lower bound {lower} is above its makespan {value}"
    if record.status == Status.OPTIMAL and lower != value:
        return f"it is optimal with makespan {value} and lower bound {lower}"
    return _doubt_of_benchmark(record, data_dir)


def _doubt_of_benchmark(record: Record, data_dir: str | None) -> str:
    known = best_known_of_digest(record.digest)
    if known is None:
        return ""
    try:
        problem = read_problem(known.name, data_dir=data_dir)
    except InstanceError:  # its file is not at hand
        return ""
    if (problem.digest, problem.n_jobs) != (record.digest, record.n_jobs):
        return f"its digest or size is not that of {known.name}"
    if record.permutation is None:
        return ""
    value = problem.evaluate(np.array(record.permutation, np.intp))
    if value == record.makespan:
        return ""
    return f"its permutation has makespan {value}, not {record.makespan}"
