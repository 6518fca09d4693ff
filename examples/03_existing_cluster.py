"""Solve on an existing Dask cluster, and watch the run from here.

    python examples/03_existing_cluster.py [tcp://scheduler:8786]

Scheduler and workers need dpbb installed, nothing else. Without an address, a cluster
of two workers on this machine stands in.
"""

import sys

from distributed import Client, LocalCluster

import dpbb


def main(client: Client) -> None:
    print(f"dashboard: {client.dashboard_link}")
    with dpbb.submit("ta028", client=client, verbosity="quiet") as run:
        # The run lives on the cluster: it goes on if this process ends, and
        # dpbb.attach(run_id, client) finds it again.
        print(f"run {run.run_id}")
        for snapshot in run.stream(0.5):
            print(
                f"{snapshot.seconds:6.1f} s  incumbent {snapshot.value}  "
                f"{snapshot.explored:.1%} explored by {len(snapshot.seats)} seats"
            )
        print(run.result().summary())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with Client(sys.argv[1]) as client:
            main(client)
    else:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster) as client,
        ):
            main(client)
