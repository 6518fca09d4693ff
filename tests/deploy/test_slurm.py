"""Jobs of SLURM, on a real one that these tests start and end themselves.

Counts are those of a run that nothing happened to, to the last node. Jobs that wait for
SLURM's own clock (it looks at time limits every 30 s) run beside the others.
"""

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.support import explored, wait_until
from tests.deploy.slurm import own_slurm
from tests.deploy.support import ENDLESS, SLOWLY, assert_saved, ends, tutorial
from tests.processes import run

ROOT = Path(__file__).parents[2]
TREE = ("ta052", "--cutoff", "3645", "--checkpoint-interval", "2", "--progress=plain")
COUNTS = "2,087,613 decomposed, 0 leaves"
ROW = re.compile(r"[1-9][\d.]*( [kM])?/s +\d")  # the tree is being explored
SLOW = 300.0  # s: a machine that others share

pytestmark = [
    pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(1200),
    pytest.mark.skipif(sys.platform != "linux", reason="SLURM is for Linux"),
]  # fmt: skip


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    pytest.importorskip("dask_jobqueue")
    with own_slurm(tmp_path_factory.mktemp("slurm")) as slurm:
        bin_of_this_python = str(Path(sys.executable).parent)
        slurm.environ["PATH"] = f"{bin_of_this_python}:{slurm.environ['PATH']}"
        slurm.environ["PYTHONPATH"] = str(ROOT)
        compile_kernels(slurm.environ)
        yield slurm


def compile_kernels(environ):
    """Have what the jobs' workers need in Numba's cache: no job's time is for that."""
    for tree in (ENDLESS[:3], TREE[:3]):
        command = ["dpbb", "solve", *tree, "--node-limit", "1", "--workers", "0"]
        command += ["--engine", "cpu", "--quiet"]
        ended = subprocess.run(command, env=environ, timeout=2 * SLOW, check=False)  # noqa: S603
        assert ended.returncode in (3, 4)


class Job:
    """A job of ours; not to take the cores, it is slow until there is a file ``quick``.

    Attributes
    ----------
    log
        Its file; tries write it one after the other.
    checkpoint
        The folder that it saves to.
    """

    def __init__(self, slurm, folder, *arguments, **options):
        self.slurm = slurm
        self.folder = folder
        asked = {"ntasks": 1, "cpus-per-task": 1, "time": 10, "mem": 100} | options
        asked["export"] = (
            f"ALL,DPBB_ENGINES={SLOWLY['DPBB_ENGINES']},DPBB_QUICK={folder / 'quick'}"
        )
        flags = [f"--{name}={value}" for name, value in asked.items()]
        script = folder / f"{arguments[0]}.sbatch"
        slurm.call("dpbb", "slurm", "--write", script, *arguments)
        self.number = slurm.call(
            "sbatch", "--parsable", f"--chdir={folder}", *flags, script
        )
        self.log = folder / f"dpbb-{self.number}.log"
        self.checkpoint = folder / arguments[0]

    def text(self):
        """Return what the job has said in this try."""
        text = self.log.read_text() if self.log.exists() else ""
        return text.rpartition("resumed after")[2]

    def until_busy(self, tries=0):
        """Wait until a try explores the tree, and some of what it did is saved.

        One that has saved nothing is not queued again.
        """

        def busy():
            text = self.log.read_text() if self.log.exists() else ""
            resumed = text.count("resumed after") == tries
            return resumed and len(ROW.findall(self.text())) > 1

        wait_until(busy, SLOW)
        before = explored(self.checkpoint)
        wait_until(lambda: explored(self.checkpoint) > before, SLOW)

    def until_again(self, tries):
        """Wait until the job was queued again, and explores."""
        wait_until(lambda: self.slurm.restarts(self.number) == tries, SLOW)
        self.until_busy(tries)

    def end(self):
        """Wait for its end; returns its state and exit code."""
        return self.slurm.end(self.number, SLOW)

    def kill(self, *words, by=signal.SIGKILL):
        """Kill the first of its processes with these words in the command."""
        self.slurm.processes(self.number, *words)[0].send_signal(by)


@pytest.fixture(scope="module")
def limited(slurm, tmp_path_factory):
    """A job that is to be queued again, one that meets its time limit unprepared."""
    folder = tmp_path_factory.mktemp("limited")
    return (
        Job(slurm, folder, "again", *ENDLESS, time=5, signal="B:USR1@30"),
        Job(slurm, folder, "over", *ENDLESS, time=2, signal="B:URG@10"),
    )


def assert_private(processes, folder):
    """On the loopback interface alone, and nothing for who has no certificate."""
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {ip for ip, _ in ends(processes)} == {"127.0.0.1"}
    address = json.loads((folder / "scheduler.json").read_text())["address"]
    scheme, host, port = re.fullmatch(r"(\w+)://(.*):(\d+)", address).groups()
    assert scheme == "tls"
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((host, int(port)), timeout=60) as plain,
        pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
        anybody.wrap_socket(plain) as stranger,
    ):
        stranger.recv(1)


def test_one_job_survives_whatever_is_killed(slurm, limited, tmp_path):
    """Or cut off, or does not answer: the chain ends with the proof."""
    job = Job(slurm, tmp_path, "ckpt", *TREE, ntasks=2)
    job.until_busy()
    (folder,) = tmp_path.glob(f"dpbb-{job.number}-*")
    assert_private(slurm.processes(job.number), folder)
    job.kill("spawn_main")  # a worker: its nanny starts another
    wait_until(lambda: job.text().count("Starting worker compute stream") == 3, SLOW)
    slurm.call("scontrol", "requeue", job.number)
    job.until_again(1)
    job.kill("dask_scheduler")
    job.until_again(2)
    with slurm.without_controller():
        # what SLURM sends before the time is over
        job.kill("slurm.runner", by=signal.SIGUSR1)
        wait_until(lambda: "controller does not answer" in job.text(), SLOW)
        (tmp_path / "quick").touch()
    assert job.end() == ("COMPLETED", "0:0")
    assert slurm.restarts(job.number) == 3
    assert COUNTS in job.text()
    assert not list(tmp_path.glob(f"dpbb-{job.number}-*"))  # nor a key is left


def test_one_job_of_two_nodes_is_cancelled_and_another_resumes(slurm, tmp_path):
    """Nothing else is needed than the folder."""
    first = Job(slurm, tmp_path, "ckpt", *TREE, nodes=2, ntasks=2)
    first.until_busy()
    listening = {ip for ip, _ in ends(slurm.processes(first.number))}
    assert not listening & {"0.0.0.0", "::"}  # noqa: S104
    slurm.call("scancel", first.number)
    state, _ = first.end()
    assert state == "CANCELLED"
    wait_until(lambda: "runner: stopped" in first.text())
    assert_saved(tmp_path / "ckpt")
    (tmp_path / "quick").touch()
    second = Job(slurm, tmp_path, "ckpt", *TREE, ntasks=2)
    assert second.end() == ("COMPLETED", "0:0")
    assert "resumed after" in second.log.read_text()
    assert COUNTS in second.text()


def test_one_job_is_queued_again_before_its_time_is_over(slurm, limited):
    job, _ = limited
    number = job.number
    wait_until(lambda: slurm.restarts(number) or slurm.is_over(number), 2 * SLOW)
    assert slurm.restarts(number), job.text()
    wait_until(lambda: "resumed after" in job.log.read_text(), SLOW)
    slurm.call("scancel", job.number)
    job.end()
    assert_saved(job.folder / "again")


def test_time_limit_without_a_warning_saves_within_kill_wait(slurm, limited):
    _, job = limited
    assert job.end()[0] == "TIMEOUT"
    assert slurm.restarts(job.number) == 0
    wait_until(lambda: "runner: stopped" in job.text())
    assert_saved(job.folder / "over")


def test_try_that_explores_nothing_is_not_queued_again(slurm, tmp_path):
    """Neither when its time is over: it would be so for ever."""
    job = Job(slurm, tmp_path, "ckpt", *ENDLESS)
    wait_until(lambda: slurm.processes(job.number, "dask_scheduler"), SLOW)
    slurm.call("scancel", "--batch", "--signal=USR1", job.number)
    assert job.end() == ("FAILED", "1:0")
    assert slurm.restarts(job.number) == 0
    assert "runner: the time is nearly over" in job.text()
    assert "runner: this try has explored nothing" in job.text()


def test_bad_input_fails_and_is_not_tried_again(slurm, tmp_path):
    job = Job(slurm, tmp_path, "ckpt", "ta001", "--initial", "1 0")
    assert job.end() == ("FAILED", "2:0")
    assert slurm.restarts(job.number) == 0


EXAMPLE = ROOT / "examples" / "07_slurm.py"


def test_workers_that_are_jobs_of_their_own(slurm, tmp_path):
    how = {"cwd": tmp_path, "env": slurm.environ, "timeout": None}
    for _ in range(2):
        assert "optimal" in run(sys.executable, EXAMPLE, "ta030", **how).stdout
    wait_until(lambda: not slurm.call("squeue", "-hn", "dask-worker"))


def test_dead_controller_is_told(slurm, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=dead\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\n"
        "MessageTimeout=2\nAuthType=auth/none\nNodeName=n1\nPartitionName=p Nodes=n1\n"
    )
    environ = {**slurm.environ, "SLURM_CONF": str(conf)}
    ran = run(sys.executable, EXAMPLE, code=1, cwd=tmp_path, env=environ)
    assert "expected SLURM's controller to answer" in ran.stderr


def test_tutorial_runs_as_pasted(slurm, tmp_path):
    tutorial(tmp_path, slurm.environ)
