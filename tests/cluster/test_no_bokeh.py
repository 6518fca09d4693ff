"""A scheduler without Bokeh, and one without a dashboard."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import Client

import dpbb

pytestmark = pytest.mark.cluster

BIN = Path(sys.executable).parent
ROOT = Path(dpbb.__file__).parents[1]


@pytest.fixture
def without_bokeh(tmp_path):
    """Environment in which Bokeh cannot be imported."""
    package = tmp_path / "blocked" / "bokeh"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('no Bokeh here')\n")
    path = os.pathsep.join([str(package.parent), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path}


@pytest.mark.parametrize("options", [("--no-dashboard",), ()])
def test_cluster_without_bokeh_solves(without_bokeh, tmp_path, options):
    """With the dashboard asked for, too: Dask goes on without it, and so do we."""
    file = tmp_path / "scheduler.json"
    common = ("--scheduler-file", str(file), "--preload", "dpbb.cluster.preload")
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", "0", *options, *common)
    if not options:
        scheduler += ("--dashboard-address", "127.0.0.1:0")
    worker = ("worker", "--nworkers", "1", "--nthreads", "1", "--no-nanny", *common)
    log = tmp_path / "log"
    with log.open("w") as out:
        processes = [
            subprocess.Popen(  # noqa: S603
                [BIN / "dask", *command], env=without_bokeh, stdout=out, stderr=out
            )
            for command in (scheduler, worker)
        ]
    try:
        deadline = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            assert not client.run_on_scheduler(imports_bokeh)
            result = dpbb.solve("ta001", client=client, verbosity="quiet")
        assert result.makespan == 1278
        assert "Traceback" not in log.read_text()
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)


def imports_bokeh():
    """Whether this process can import it."""
    try:
        import bokeh  # noqa: F401
    except ImportError:
        return False
    return True
