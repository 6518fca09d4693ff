"""A scheduler that is killed and started again goes on with its runs by itself."""

from __future__ import annotations

import json
import sys

import pytest
from distributed import Client

import dpbb
from tests.cluster.support import LARGE, books_hold, explored, wait_until
from tests.processes import dask_processes, run
from tests.quick import some_slow

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL"),
]


def restored_processes(folder):
    """A scheduler, which goes on with what is in a folder of runs, and a worker."""
    return dask_processes(
        *(1, "--preload", "dpbb.cluster.preload"),
        environ={"DASK_DPBB__RESUME": str(folder)},
    )


@pytest.mark.parametrize("how", some_slow(["kill", "terminate"], ["terminate"]))
def test_detached_run_outlives_its_scheduler(tmp_path, how):
    """SIGKILL or SIGTERM, a restart, and ``dpbb attach`` has the exact result."""
    instance, ub, *golden = LARGE
    folder = tmp_path / "runs" / "one"
    with restored_processes(tmp_path / "runs") as processes:
        address = processes.address
        with Client(address, timeout=30) as client:
            client.wait_for_workers(1, timeout=60)
            known = dpbb.submit(
                instance, client=client, cutoff=ub, heuristics="none",
                checkpoint=str(folder), certificate=str(tmp_path / "proof.json.gz"),
                checkpoint_interval_s=0.2, report_interval_s=0.1,
            )  # fmt: skip
            name = known.run_id
            wait_until(lambda: explored(folder), 60)
            getattr(processes.scheduler, how)()
            processes.scheduler.wait(60)
        processes.end_all()
        assert (folder / "owner.json").exists()
        processes.start_scheduler()
        with Client(address, timeout=30) as client:
            wait_until(lambda: dpbb.runs(client))
            (snapshot,) = dpbb.runs(client)
            assert snapshot.run_id.startswith(f"{name}~")
            assert 0 < snapshot.decomposed < golden[0]
        processes.add_worker()
        attach = (sys.executable, "-m", "dpbb", "attach", name, "--scheduler", address)
        # what a checkpoint says is written nowhere unless it is said again
        attach += ("--json", "-q", "--certificate", tmp_path / "proof.json.gz")
        result = json.loads(run(*attach, timeout=90).stdout)
        assert [result["decomposed"], result["leaves"]] == golden
        assert result["termination"] == "exhausted"
        assert books_hold(tmp_path / "proof.json.gz")
        assert not (folder / "owner.json").exists()
