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
from tests.processes import free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
SHELL = sorted([*DEPLOY.rglob("*.sh"), *DEPLOY.rglob("*.sbatch")])
RESUME = DEPLOY / "solve-or-resume.sh"


@pytest.mark.parametrize("script", SHELL, ids=lambda script: script.name)
def test_script_is_sound(script):
    """It parses, can be run, and shellcheck has nothing to say."""
    subprocess.run(["bash", "-n", script], check=True)  # noqa: S603, S607
    assert script.suffix == ".sbatch" or os.access(script, os.X_OK)
    checker = shutil.which("shellcheck")
    if checker is None:
        pytest.skip("no shellcheck here: the package of this name of the distribution")
    done = subprocess.run(  # noqa: S603
        [checker, "-x", script], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""


def run(*command, check=0, **options):
    """Run a command; returns what it did."""
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        **options,
    )
    assert done.returncode == check, done.stderr + done.stdout
    return done


# -- solve-or-resume.sh -------------------------------------------------------------


@pytest.fixture
def echo(tools):
    """A dpbb that says how it was called."""
    tools("dpbb", 'printf "%s " dpbb "$@"; exit 3')


def said(*arguments):
    return run(RESUME, *arguments, check=3).stdout.strip()


def test_first_try_solves_with_all_options(echo, tmp_path):
    """Also when the folder is there but no checkpoint in it is complete yet."""
    started = tmp_path / "folder with a part"
    started.mkdir()
    (started / "units-000001.bin").write_text("state")
    for checkpoint in (tmp_path / "new", started):
        assert said(checkpoint, "tcp://h:1", "ta056", "--upper-bound", 3680) == (
            f"dpbb solve ta056 --scheduler tcp://h:1 --checkpoint {checkpoint} "
            "--upper-bound 3680"
        )


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ([], ""),
        (["--upper-bound", "3680"], ""),
        (["--time-limit", "60", "--quiet"], " --time-limit 60"),
        (["--upper-bound", "9", "--time-limit=60"], " --time-limit 60"),
    ],
)
def test_next_try_resumes_with_its_own_time_limit(echo, tmp_path, options, limit):
    """Everything else belongs to the run, which has it in its checkpoint."""
    file = tmp_path / "saved"
    file.write_text("state")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "checkpoint-000001.dpbb").write_text("state")
    for checkpoint in (file, folder):
        assert said(checkpoint, "tcp://h:1", "ta056", *options) == (
            f"dpbb resume {checkpoint} --scheduler tcp://h:1{limit}"
        )


@pytest.mark.parametrize(
    ("living", "then"),
    [("r~1", "dpbb attach r~1 --scheduler tcp://h:1"), ("r~12", "dpbb solve")],
)
def test_run_of_a_client_that_was_killed_is_attached_to(tools, tmp_path, living, then):
    """Its scheduler still writes there, or is about to: to resume would be refused."""
    tools(
        "dpbb",
        f"""[ $1 = list ] && echo '{{"run_id":"{living}"}}' && exit
printf "%s " dpbb "$@"; exit 3""",
    )
    (tmp_path / "owner.json").write_text('{"nonce": "1", "run_id": "r~1", "pid": 1}')
    assert said(tmp_path, "tcp://h:1", "ta056").startswith(then)


def test_too_few_arguments_are_told():
    assert "usage:" in run(RESUME, "ckpt", "tcp://h:1", check=2).stderr


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
        with started(RESUME, tmp_path / "ckpt", address, *ENDLESS) as again:
            assert "attaching to" in until_busy(again)
            cluster.send_signal(signal.SIGTERM)
            assert cluster.wait(60) == 0
            assert not processes_of(cluster.pid)
        assert_saved(tmp_path / "ckpt")


@pytest.mark.cluster
@pytest.mark.slow
def test_scheduler_that_is_killed_and_restarted_goes_on(tools, tmp_path):
    """As a job of Kubernetes or a container that is started again would find it."""
    port, checkpoint = free_port(), tmp_path / "ckpt"
    command = (RESUME, checkpoint, f"tcp://127.0.0.1:{port}", "ta022", "--cutoff", 2099)
    options = ("--checkpoint-interval", 0.5, "--quiet")
    options += ("--certificate", tmp_path / "a proof.json.gz")
    with local_cluster(port, tmp_path / "log") as cluster:
        first = subprocess.Popen(  # noqa: S603
            [str(part) for part in (*command, *options)], stderr=subprocess.PIPE
        )
        wait_until(lambda: list(checkpoint.glob("checkpoint-*.dpbb")))
        (scheduler,) = (
            p for p in processes_of(cluster.pid) if "scheduler" in p.cmdline()
        )
        scheduler.kill()
        _, errors = first.communicate(timeout=60)
        assert first.returncode == 5
        assert b"lost the scheduler" in errors
    with local_cluster(port, tmp_path / "log"):
        second = run(*command, *options)
    assert "resuming" in second.stderr
    assert "55,138,829 decomposed, 34 leaves" in second.stdout
    assert (tmp_path / "a proof.json.gz").is_file()


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
