"""Solve on a SLURM cluster: a job a worker, more of them as long as there is work.

    python examples/07_slurm.py [INSTANCE]

Needs ``pip install dask-jobqueue`` and ``sbatch`` on the PATH; elsewhere a cluster on
this machine stands in. Jobs may end at any time, at their wall time too: what a worker
has not finished is given back before it closes, or taken from its last report.
"""

import shutil
import sys

from distributed import Client, LocalCluster

import dpbb


def make_cluster():
    if shutil.which("sbatch") is None:
        print("no sbatch here: a cluster on this machine stands in")
        return LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0")
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        cores=16,
        processes=1,  # one seat with 16 threads
        memory="8GB",
        walltime="04:00:00",
        # closes a worker before its job is killed, at another time each
        worker_extra_args=["--lifetime", "230m", "--lifetime-stagger", "5m"],
    )


def main(instance: str = "ta022") -> None:
    with make_cluster() as cluster, Client(cluster) as client:
        cluster.adapt(minimum=0, maximum=4)  # follows what the open runs can feed
        result = dpbb.solve(instance, client=client)
        print(result.summary())


if __name__ == "__main__":
    main(*sys.argv[1:])
