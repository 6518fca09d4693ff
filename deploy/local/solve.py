"""Solve on this machine from a script of one's own: all GPUs, or all cores.

    python solve.py [INSTANCE]

``dpbb.solve(instance)`` without a client does the same in one line. This form is for
scripts that have a cluster already, or want to solve several instances on one.
"""

import sys

from distributed import Client

import dpbb
from dpbb.cluster.local import embedded_cluster


def main(*instances: str) -> None:
    """Solve the instances one after the other."""
    # a worker process for each GPU, or one with all cores where there is none;
    # with dask-cuda installed and several GPUs: its LocalCUDACluster
    with embedded_cluster(dashboard_address=":0") as (cluster, _):
        print(cluster.dashboard_link)
        with Client(cluster) as client:
            for instance in instances or ("ta022",):
                result = dpbb.solve(instance, client=client)
                print(result.summary())


if __name__ == "__main__":
    main(*sys.argv[1:])
