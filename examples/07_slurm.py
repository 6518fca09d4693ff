"""Solve on a SLURM cluster: a job a worker, more of them as long as there is work.

    python examples/07_slurm.py [INSTANCE]

Needs ``pip install 'dpbb[slurm]'`` and ``sbatch`` on the PATH; elsewhere a cluster on
this machine stands in. Jobs may end at any time, at their wall time too: what a worker
has not finished is given back before it closes, or taken from its last report. However
this script ends, call it again: it goes on from the checkpoint. ``dpbb slurm`` needs no
script that stays (docs/slurm.md).
"""

import shutil
import subprocess
import sys

from distributed import Client, LocalCluster

import dpbb

WAIT_S = 1800  # for the first worker
# of this host alone: they have no login
PAGES = {"dashboard_address": "127.0.0.1:0"}


def make_cluster():
    if shutil.which("sbatch") is None:
        print("no sbatch here: a cluster on this machine stands in")
        return LocalCluster(n_workers=0, threads_per_worker=1, **PAGES)
    scontrol = shutil.which("scontrol")
    if scontrol is None or subprocess.run([scontrol, "ping"], check=False).returncode:  # noqa: S603
        sys.exit("expected SLURM's controller to answer `scontrol ping`, got no answer")
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        cores=4,
        processes=1,  # one seat with 4 threads
        memory="4GB",
        walltime="04:00:00",
        # closes a worker before its job is killed, at another time each
        worker_extra_args=[
            *("--lifetime", "230m", "--lifetime-stagger", "5m"),
            *("--dashboard-address", "127.0.0.1:0"),
        ],
        scheduler_options=PAGES,
        security=True,  # certificates for this cluster alone
        shared_temp_directory=".",  # of their key: workers have to see it
    )


def main(instance: str = "ta028") -> None:
    with make_cluster() as cluster, Client(cluster) as client:
        cluster.adapt(minimum=1, maximum=4)  # follows what the open runs can feed
        try:
            client.wait_for_workers(1, timeout=WAIT_S)
        except TimeoutError:
            sys.exit(f"expected a worker within {WAIT_S} s, got none: see squeue")
        result = dpbb.solve(instance, client=client, checkpoint=f"runs/{instance}")
        print(result.summary())


if __name__ == "__main__":
    main(*sys.argv[1:])
