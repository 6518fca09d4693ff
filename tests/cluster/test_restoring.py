"""A scheduler that is killed and started again goes on with its runs by itself."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time

import pytest
from distributed import Client

import dpbb
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.errors import CheckpointError
from tests.cluster.support import LARGE, books_hold

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL"),
]


def start(folder, *command):
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DASK_DPBB__RESUME": str(folder)},
    )


def stop(processes, how="kill"):
    for process in processes:
        getattr(process, how)()
    for process in processes:
        process.wait(60)


def explored(folder):
    """Nodes in the newest checkpoint; 0 if there is none, or it is just replaced."""
    with contextlib.suppress(CheckpointError):
        return load_checkpoint(str(folder)).counters.decomposed
    return 0


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_detached_run_outlives_its_scheduler(tmp_path, how):
    """SIGKILL or SIGTERM, a restart, and ``dpbb attach`` has the exact result."""
    instance, ub, *golden = LARGE
    port = 21_000 + hash(str(tmp_path)) % 9_000
    address = f"tcp://127.0.0.1:{port}"
    common = ("--no-dashboard", "--preload", "dpbb.cluster.preload")
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port), *common)
    worker = ("worker", address, "--nthreads", "1", "--no-nanny", *common)
    runs = tmp_path / "runs"
    folder = runs / "one"
    processes = [start(runs, *scheduler), start(runs, *worker)]
    try:
        with Client(address, timeout=30) as client:
            client.wait_for_workers(1, timeout=60)
            run = dpbb.submit(
                instance,
                client=client,
                cutoff=ub,
                heuristics="none",
                checkpoint=str(folder),
                certificate=str(tmp_path / "proof.json.gz"),
                checkpoint_interval_s=0.2,
                report_interval_s=0.1,
            )
            name = run.run_id
            deadline = time.monotonic() + 60
            while not explored(folder):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            stop(processes[:1], how)
        stop(processes)
        assert (folder / "owner.json").exists()
        processes = [start(runs, *scheduler)]
        with Client(address, timeout=30) as client:
            while not (found := dpbb.runs(client)):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            (snapshot,) = found
            assert snapshot.run_id.startswith(f"{name}~")
            assert 0 < snapshot.decomposed < golden[0]
        processes.append(start(runs, *worker))
        attach = ("-m", "dpbb", "attach", name, "--json", "-q", "--scheduler", address)
        answer = subprocess.run(  # noqa: S603
            [sys.executable, *attach],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        result = json.loads(answer.stdout)
        assert [result["decomposed"], result["leaves"]] == golden
        assert result["termination"] == "exhausted"
        assert books_hold(tmp_path / "proof.json.gz")
        assert not (folder / "owner.json").exists()
    finally:
        stop(processes)
