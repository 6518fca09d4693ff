"""The scripts of deploy/ on this machine; those for SLURM: test_slurm.py."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.cluster.support import wait_until
from tests.deploy.support import ENDLESS, assert_saved, ends
from tests.processes import free_port, run

DEPLOY = Path(__file__).parents[2] / "deploy"
SHELL = sorted(DEPLOY.rglob("*.sh"))


@pytest.mark.parametrize("script", SHELL, ids=lambda script: script.name)
def test_script_is_sound(script):
    """It parses, can be run, and shellcheck has nothing to say."""
    run("bash", "-n", script)
    assert os.access(script, os.X_OK)
    checker = shutil.which("shellcheck")
    if checker is None:
        pytest.skip("no shellcheck here: the package of this name of the distribution")
    run(checker, "-x", script)


# -- local ----------------------------------------------------------------------------


@contextmanager
def local_cluster(port, log):
    """``cluster.sh`` on a port; leaves no process behind."""
    with log.open("a") as out:
        cluster = subprocess.Popen(  # noqa: S603
            [DEPLOY / "local" / "cluster.sh", str(port)],
            env={**os.environ, "GPUS": "", "THREADS": "1"},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        wait_for(port)
        yield cluster
    finally:
        for process in processes_of(cluster.pid):
            process.kill()
        cluster.wait(5)


BUSY = " M/s "  # a row of the tree, once it is being explored: it takes hours


@contextmanager
def started(*command, **options):
    """Start what solves; leaves none of its processes behind."""
    process = subprocess.Popen(  # noqa: S603
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **options,
    )
    watchdog = threading.Timer(120, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        for one in below(process.pid):
            one.kill()
        process.kill()
        process.wait()
        process.stdout.close()


def below(pid):
    """Return all processes that a process started, and theirs."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def until_busy(process):
    """Read on until the tree is explored; returns what was read."""
    text = ""
    for line in process.stdout:
        text += line
        if BUSY in line:
            return text
    raise AssertionError(text)


@pytest.mark.cluster
def test_local_cluster_serves_until_it_is_stopped(tools, tmp_path):
    """It gives back and saves what is explored, and ends its processes."""
    port = free_port()
    with local_cluster(port, tmp_path / "log") as cluster:
        address = f"tcp://127.0.0.1:{port}"
        done = run("dpbb", "solve", "ta001", "--scheduler", address, "--quiet")
        assert "makespan     1278" in done.stdout
        assert {ip for ip, _ in ends(below(cluster.pid))} == {"127.0.0.1"}
        checkpoint = ("--checkpoint", tmp_path / "ckpt")
        command = ("dpbb", "solve", *ENDLESS, *checkpoint, "--scheduler", address)
        with started(*command) as solve:
            until_busy(solve)
        # was killed: its run goes on, and whoever calls again looks on
        with started(*command) as again:
            assert "attached to run" in until_busy(again)
            cluster.send_signal(signal.SIGTERM)
            assert cluster.wait(60) == 0
            assert not processes_of(cluster.pid)
        assert_saved(tmp_path / "ckpt")


def wait_for(port):
    def answers():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers)


def processes_of(session):
    """Processes of a session that are alive."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            zombie = process.status() == psutil.STATUS_ZOMBIE
            if os.getsid(process.pid) == session and not zombie:
                found.append(process)
    return found
