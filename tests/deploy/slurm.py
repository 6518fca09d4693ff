"""A SLURM of one's own on the loopback interface: munge, controller, two nodes.

Everything is in one folder, with a key and ports of its own: it meets no other SLURM,
and needs no account but that of whoever starts it.
"""

import os
import pwd
import shutil
import socket
import subprocess
from contextlib import contextmanager, suppress

import psutil
import pytest

from tests.cluster.support import wait_until
from tests.processes import run

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
PACKAGES = ("slurm-wlm", "munge")

CONF = """\
ClusterName=dpbb
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MinJobAge=3600
SlurmdParameters=config_overrides
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[2]}] \
CPUs=8 RealMemory=16000
PartitionName=all Nodes=ALL Default=YES
"""
"""``cred_expire``: a job that is requeued may start again after so many seconds.

``MinJobAge``: one that has ended is known for so long.
"""


def install():
    """Install SLURM where root and apt-get can; skip the test where they cannot."""
    programs = ("munged", "slurmctld", "slurmd", "sbatch")
    if all(shutil.which(name, path=PATH) for name in programs):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip(f"no SLURM here: {' and '.join(PACKAGES)} of the distribution")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "-qq", "update"],
        ["apt-get", "-qq", "install", "--yes", "--no-install-recommends", *PACKAGES],
    ):
        done = subprocess.run(  # noqa: S603
            command, env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"{' '.join(command)}: {done.stderr[-200:]}")


def neighbouring_ports():
    """Return a free port, and two in a row for the nodes."""
    while True:
        with socket.socket() as one, socket.socket() as two, socket.socket() as three:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            port = two.getsockname()[1]
            with suppress(OSError, OverflowError):
                three.bind(("127.0.0.1", port + 1))
                return one.getsockname()[1], port, port + 1


@contextmanager
def own_slurm(folder):
    """Start it; yields a ``Slurm``. Its commands need ``Slurm.environ``."""
    install()
    user = pwd.getpwuid(os.geteuid()).pw_name
    host = socket.gethostname().partition(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(
        CONF.format(host=host, folder=folder, user=user, ports=neighbouring_ports())
    )
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    slurm = Slurm(conf)
    files = ("key-file", "socket", "pid-file", "log-file", "seed-file")
    munge = [f"--{file}={folder / 'munge'}.{file.partition('-')[0]}" for file in files]
    try:
        for command in (
            ["munged", "--foreground", "--force", *munge],
            ["slurmctld", "-D", "-c"],
            ["slurmd", "-D", "-N", "n1"],
            ["slurmd", "-D", "-N", "n2"],
        ):
            slurm.start(*command)
            if command[0] == "munged":
                wait_until(lambda: (folder / "munge.socket").exists())
        wait_until(lambda: set(slurm.call("sinfo", "-hNo", "%T").split()) == {"idle"})
        yield slurm
    finally:
        with suppress(subprocess.TimeoutExpired, AssertionError):
            slurm.call("scancel", "--user", user)
            wait_until(lambda: not slurm.call("squeue", "-h"), 60)
        for daemon in reversed(slurm.daemons):
            daemon.terminate()
        for daemon in slurm.daemons:
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            daemon.kill()
            daemon.wait()


class Slurm:
    """What a user sees of it.

    Attributes
    ----------
    environ
        Environment of every command: it names this SLURM's configuration, and nothing
        of a job that the tests may themselves be in.
    daemons
        Processes that serve it.
    """

    def __init__(self, conf):
        self.folder = conf.parent
        self.daemons = []
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLURM", "SBATCH"))
        }
        self.environ |= {"SLURM_CONF": str(conf), "PATH": PATH}

    def start(self, *command):
        """Start one of its daemons."""
        with (self.folder / f"{command[0]}.out").open("a") as out:
            daemon = subprocess.Popen(  # noqa: S603
                command, env=self.environ, stdout=out, stderr=out
            )
        self.daemons.append(daemon)

    @contextmanager
    def without_controller(self):
        """Have it end, and start again after the block, with all it knew."""
        (controller,) = (d for d in self.daemons if d.args[0] == "slurmctld")
        controller.terminate()
        controller.wait(30)
        self.daemons.remove(controller)
        try:
            yield
        finally:
            self.start("slurmctld", "-D")
            wait_until(self.answers)

    def answers(self):
        """Whether the controller does."""
        with suppress(AssertionError):
            return self.call("scontrol", "ping")
        return False

    def call(self, *command):
        """Call one of its commands; returns what it prints."""
        return run(*command, env=self.environ, timeout=60).stdout.strip()

    def job(self, number):
        """Return what ``scontrol show job`` says, by name."""
        told = self.call("scontrol", "--oneliner", "show", "job", number)
        return dict(word.split("=", 1) for word in told.split() if "=" in word)

    def state(self, number):
        """Return a job's state."""
        return self.job(number)["JobState"]

    def is_over(self, number):
        """Whether a job has ended, and is not queued again."""
        alive = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED")
        return self.state(number) not in alive

    def end(self, number, timeout=150):
        """Wait for a job's end; returns its state and exit code (``code:signal``)."""
        wait_until(lambda: self.is_over(number), timeout)
        job = self.job(number)
        return job["JobState"], job["ExitCode"]

    def restarts(self, number):
        """Return how often a job was queued again."""
        return int(self.job(number)["Restarts"])

    def processes(self, number, *words):
        """Return a job's processes whose command has all these words, oldest first."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                mine = process.environ().get("SLURM_JOB_ID") == str(number)
                line = " ".join(process.cmdline())
                if mine and all(word in line for word in words):
                    found.append(process)
        return sorted(found, key=lambda process: process.create_time())
