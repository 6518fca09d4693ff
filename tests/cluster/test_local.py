"""Clusters of processes: the golden table, kills, the embedded cluster, notebooks."""

import asyncio
import logging
import os
import pickle
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import dpbb
from dpbb.cluster.client.connect import connect
from dpbb.cluster.local import embedded_cluster, nanny
from dpbb.cluster.local.process import launch
from dpbb.errors import ClusterError
from tests.cluster.support import (
    MIDDLE,
    SMALL,
    counts,
    exploring_seats,
    local_cluster,
    spec_of,
    submit,
    wait_until,
)
from tests.parity.tables import rows
from tests.processes import run

pytestmark = pytest.mark.cluster


@pytest.mark.slow(ci=True)
def test_golden_table_through_a_local_cluster():
    """Each fourth tree of 1,000 to 1 M nodes: the counts of one process, exactly."""
    table = [row for row in rows() if 1000 <= row[3] <= 1_000_000][::4]
    assert len(table) > 10
    with local_cluster(4, processes=True) as (_, client):
        for instance, ub, rule, *golden in table:
            with submit(client, spec_of(instance, ub, rule=rule)) as run:
                outcome = run.result()
            assert counts(outcome) == tuple(golden), (instance, ub, rule)
            assert (outcome.exhausted, outcome.value) == (True, None)


def test_killed_worker_is_replaced_and_the_counts_stay():
    """SIGKILL in the middle: units wait again as of their last full report."""
    instance, ub, *golden = ("ta022", 2099, 55_138_829, 34)
    with embedded_cluster(workers=2, threads=2) as (cluster, client):
        spec = spec_of(instance, ub, checkpoint_interval_s=0.2)
        with submit(client, spec) as run:
            wait_until(lambda: exploring_seats(run) == 2)
            victim = cluster.workers[0].pid
            os.kill(victim, signal.SIGKILL)
            outcome = run.result()
        assert counts(outcome) == tuple(golden)
        assert outcome.totals.requeues >= 1
        assert cluster.workers[0].pid != victim


def test_embedded_cluster_leaves_no_process():
    """Neither in order nor when the block raises."""
    with pytest.raises(KeyError), embedded_cluster(workers=2) as (cluster, client):  # noqa: PT012
        client.wait_for_workers(2)
        pids = [worker.pid for worker in cluster.workers.values()]
        raise KeyError
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR])
def test_warnings_of_a_worker_are_heard_unless_silence_is_wanted(capfd, caplog, level):
    with caplog.at_level(level, "dpbb"), embedded_cluster(workers=1) as (_, client):
        client.submit(logging.getLogger("dpbb.x").warning, "no page").result()
    assert ("no page" in capfd.readouterr().err) == (level == logging.WARNING)


def test_embedded_clusters_leave_no_thread_and_no_open_file():
    """Not even Dask's: its loops count a client that they never count off."""

    def solve(name):
        return dpbb.solve(name, heuristics="neh", verbosity="quiet").makespan

    def held():
        names = sorted(thread.name for thread in threading.enumerate())
        levels = [one.level for one in logging.getLogger("distributed").handlers]
        return names, len(os.listdir("/proc/self/fd")), levels

    solve("ta001")
    before = held()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(solve, ["ta001", "ta003"])) == [1278, 1081]
    assert solve("ta001") == 1278
    wait_until(lambda: held() == before, 10)


def test_a_worker_whose_scheduler_died_while_it_started_ends():
    """It tried to join for ever, and kept the parent's terminal open."""
    process = launch()
    try:
        order = {"scheduler": "tcp://127.0.0.1:1", "log_level": logging.CRITICAL}
        pickle.dump(order, process.stdin)
        process.stdin.close()  # as the parent does when it dies
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_workers_that_cannot_run_fail_the_run(monkeypatch):
    """Rather than let it wait for ever."""
    broken = (sys.executable, "-c", "raise SystemExit(3)")
    monkeypatch.setattr(
        "dpbb.cluster.local.process.command_of", lambda *_, **__: broken
    )
    monkeypatch.setattr(nanny, "HOPELESS_PAUSE_S", 0.1)
    with (
        embedded_cluster() as (_, client),
        submit(client, spec_of(*SMALL[:2])) as run,
        pytest.raises(ClusterError, match="ended with code 3"),
    ):
        run.result(30)


def test_connect_to_somebody_who_never_answers():
    """The port is open, and nobody speaks Dask: no waiting for ever."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(ClusterError, match="expected a Dask scheduler at tcp://"),
        connect(f"tcp://127.0.0.1:{server.getsockname()[1]}", most_s=0.5),
    ):
        pass


def test_blocking_client_in_a_running_event_loop():
    """As in a notebook: results block, snapshots can be iterated over with await."""

    async def notebook():
        with embedded_cluster() as (_, client):
            run = submit(client, spec_of(*MIDDLE[:2], engine="reference"))
            values = []
            run.on_lower_bound(lambda snapshot: values.append(snapshot.lower_bound))
            states = [snapshot.state async for snapshot in run.stream(0.1)]
            outcome = await run
            assert counts(outcome) == MIDDLE[2:]
            assert run.result() is outcome
            assert states[-1] == "finished"
            assert states[0] == "running"
            assert values[-1] == MIDDLE[1]
            assert [snapshot.state for snapshot in run] == ["finished"]
            async with run:
                pass

    asyncio.run(notebook())


def test_a_script_needs_no_main_guard(tmp_path):
    """The workers are processes of their own, not forks of the script."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from dpbb.cluster.local import embedded_cluster\n"
        "at = '127.0.0.1:0'  # another program may take the usual port just now\n"
        "with embedded_cluster(workers=2, dashboard_address=at) as (_, client):\n"
        "    client.wait_for_workers(2)\n"
        "    print('workers', len(client.scheduler_info()['workers']))\n"
        "print('bokeh' in sys.modules)  # until somebody looks at the dashboard\n"
    )
    done = run(sys.executable, "-W", "error", script)
    assert (done.stdout, done.stderr) == ("workers 2\nFalse\n", "")
