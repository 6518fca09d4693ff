"""Taillard's job-shop benchmark, made by its generator: ta01 to ta80.

Source: E. Taillard, "Benchmarks for basic scheduling problems", European Journal of
Operational Research 64(2), 1993, 278-285: the generator, and a seed of the times and
one of the machines for every instance (``data/taillard.csv``).
"""

import numpy as np

from dpbb.errors import refuse, shown
from dpbb.flowshop.taillard import generate as drawn_times
from dpbb.jobshop.instance import MAX_JOBS, MAX_MACHINES, JobShopInstance
from dpbb.problem import BestKnown
from dpbb.text.files import data_lines

_MODULUS = 2**31 - 1


def generate(
    time_seed: int, machine_seed: int, n_jobs: int, n_machines: int, *, name: str
) -> JobShopInstance:
    """Return the instance of two seeds.

    Parameters
    ----------
    time_seed, machine_seed
        Starts of the generator, 1 to 2**31 - 2.
    n_jobs, n_machines
        Every job visits every machine once.

    Notes
    -----
    ``x <- 16807 x mod (2**31 - 1)``, ``low + floor((high - low + 1) x / (2**31 - 1))``.
    Times are drawn from 1 to 99, job by job; then in every route, at first in the
    order of the machines, each place is exchanged with a drawn one behind it.
    """
    for what, value, most in (
        *(("time seed", time_seed, _MODULUS - 1), ("jobs", n_jobs, MAX_JOBS)),
        ("machine seed", machine_seed, _MODULUS - 1),
        ("machines", n_machines, MAX_MACHINES),
    ):
        if not isinstance(value, int | np.integer) or not 1 <= value <= most:
            refuse(f"{name}: {what}", f"a whole number from 1 to {most}", shown(value))
    times = drawn_times(time_seed, n_machines, n_jobs)
    machines = np.empty((n_jobs, n_machines), np.int64)
    machines[:] = np.arange(n_machines)
    for route in machines:
        for place in range(n_machines):
            machine_seed = 16807 * machine_seed % _MODULUS
            other = place + (n_machines - place) * machine_seed // _MODULUS
            route[[place, other]] = route[[other, place]]
    first = np.arange(n_jobs + 1) * n_machines
    return JobShopInstance(
        name, first, machines.reshape(-1), times.reshape(-1), n_machines
    )


def taillard_instance(number: int) -> JobShopInstance:
    """Return ta01 to ta80 by its number; InstanceError if there is none."""
    rows = [*data_lines(__package__, "taillard.csv")]
    if not 1 <= number <= len(rows):
        refuse("Taillard job shop", f"ta01 to ta{len(rows)}", f"number {number}")
    name, n_jobs, n_machines, time_seed, machine_seed = rows[number - 1].split(",")
    return generate(
        int(time_seed), int(machine_seed), int(n_jobs), int(n_machines), name=name
    )


def best_known(name: str) -> BestKnown | None:
    """Bounds of the instance of this name; None when it is not in the table."""
    for line in data_lines(__package__, "best_known.csv"):
        known, lower, upper = line.split(",")
        if known == name:
            return BestKnown(name, int(lower), int(upper))
    return None
