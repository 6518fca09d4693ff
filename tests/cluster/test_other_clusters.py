"""Clusters that others start, by MPI or over SSH: they are Dask clusters."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client, SSHCluster

import dpbb

ROOT = Path(__file__).parents[2]
COUNT = 7  # nodes of ta001 at 1278, either rule

pytestmark = pytest.mark.cluster


def assert_solves(client):
    client.wait_for_workers(1, timeout=60)
    result = dpbb.solve("ta001", client=client, cutoff=1278, verbosity="quiet")
    assert (result.status.value, result.decomposed) == ("infeasible_cutoff", COUNT)


def test_dask_mpi(tmp_path):
    """Rank 0 is the scheduler, all others are workers."""
    pytest.importorskip("dask_mpi")
    near = str(Path(sys.executable).parent)
    mpirun = shutil.which("mpirun", path=f"{near}:{os.environ['PATH']}")
    if mpirun is None:
        pytest.skip("no mpirun here: pip install mpich")
    file = tmp_path / "scheduler.json"
    dask_mpi = [sys.executable, "-m", "dask_mpi.cli", "--scheduler-file", str(file)]
    options = ["--interface", "lo", "--nthreads", "1", "--dashboard-address", ":0"]
    with (tmp_path / "log").open("w") as log:
        ranks = subprocess.Popen(  # noqa: S603
            [mpirun, "-n", "2", *dask_mpi, *options],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
        )
    try:
        # it waits for the file
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            assert_solves(client)
            client.shutdown()
    finally:
        ranks.terminate()
        ranks.wait(30)


SSH_SERVER = """
import asyncio, asyncssh

class Anybody(asyncssh.SSHServer):
    def begin_auth(self, username):
        return False

async def hand_on(source, to):
    while line := await source.readline():
        to.write(line)

async def serve(process):
    pipes = dict.fromkeys(("stdout", "stderr"), asyncio.subprocess.PIPE)
    command = await asyncio.create_subprocess_shell(process.command, **pipes)
    # all of it before the exit: what comes later costs the connection
    await asyncio.gather(
        hand_on(command.stdout, process.stdout), hand_on(command.stderr, process.stderr)
    )
    process.exit(await command.wait())

async def main():
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=Anybody, process_factory=serve,
        server_host_keys=[key], encoding=None,
    )
    print(server.get_port(), flush=True)
    await server.wait_closed()

asyncio.run(main())
"""


@contextmanager
def ssh_server():
    """Run an SSH server for anybody on the loopback interface; yields its port."""
    pytest.importorskip("asyncssh")
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SSH_SERVER],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            yield int(server.stdout.readline())
        finally:
            server.terminate()


@pytest.mark.slow
def test_ssh_cluster():
    """The first host is the scheduler's."""
    with (
        ssh_server() as port,
        SSHCluster(
            ["127.0.0.1", "127.0.0.1"],
            connect_options={"port": port, "known_hosts": None, "username": "x"},
            scheduler_options={"host": "127.0.0.1", "dashboard_address": ":0"},
            worker_options={"nthreads": 1},
            remote_python=sys.executable,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        assert_solves(client)
