"""One SLURM job for everything, started on its first node; see ``dpbb slurm``.

Scheduler and client are processes of the batch script, beside the workers, which
``srun`` starts: one for each task. The client alone says how the job ends: a worker
that is killed does not make it a failure.

SIGUSR1, which SLURM sends some minutes before the job's time is over, stops the run
with its state saved, and the job queues itself again. So it does when the scheduler,
the client or all workers are lost. Either way this try has to have explored something,
or the job fails: it would be queued for ever. SIGTERM (``scancel``, preemption, the end
of the time) stops and saves as well, and leaves the rest to SLURM. It reaches every
process of the job at the same moment: only after the client does the cluster close.

A node of a cluster has other users, and a scheduler of Dask executes what it is sent:
so every connection is TLS with a certificate made for this one try, whose key lies in
a folder that only its owner can read.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import dask.config
from distributed.security import Security
from distributed.utils import get_ip

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.errors import DpbbError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PATIENCE = Path(__file__).resolve().with_name("patience.py")
CONFIG = PATIENCE.parents[1] / "dask.yaml"

NO_SCHEDULER = 5
"""Exit code of dpbb: the scheduler did not answer, or was lost."""

KEY = "key.pem"

POLL_S = 0.2
CLOSE_S = 10.0
"""After the client the scheduler has so long to end, which saves open runs."""

LEAVE_S = 3.0
"""Workers that it knew end by themselves within this; others are asked to."""

RETRY_S = 5.0
"""SLURM's controller is asked again so often, where it does not answer."""

JOIN_S = 120
"""A worker that does not reach the scheduler for so long ends."""

SAID = {"time": "the time is nearly over", "cancelled": "stopped"}

CUT_OFF = (3, 4)
"""Exit codes of dpbb: stopped before there was a proof."""

RUNNER = "dpbb.cluster.slurm.runner"
SCHEDULER = "distributed.cli.dask_scheduler"
WORKER = "distributed.cli.dask_worker"
PAGE = ("--dashboard-address", "127.0.0.1:0")  # it has no login
PRELOADS = ("--preload", "dpbb.cluster.preload", "--preload", str(PATIENCE))


class Asked:
    """What a signal has asked for: an end before the time is over, or at once.

    The first one counts.

    Attributes
    ----------
    what
        ``"time"`` or ``"cancelled"``; None: nothing.
    """

    def __init__(self) -> None:
        self.what: str | None = None
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.what = self.what or ("time" if number == signal.SIGUSR1 else "cancelled")


def say(text: str) -> None:
    """Write a line to the job's log."""
    print(f"runner: {text}", file=sys.stderr, flush=True)


@contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """Make a folder here that nobody else can read; what is left of older ones goes.

    Parameters
    ----------
    prefix
        No other job's, and the same for all tries of one: a try that was killed has
        left a scheduler's address that must not be used again.
    """
    for key in Path.cwd().glob(f"{prefix}-*/{KEY}"):
        shutil.rmtree(key.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=Path.cwd()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def use_tls(folder: Path) -> None:
    """Make certificate and key; this process and those it starts use them.

    Dask then refuses whoever does not have the key.
    """
    made = Security.temporary()
    certificate, key = folder / "certificate.pem", folder / KEY
    certificate.write_text(made.tls_ca_file)
    key.touch(mode=0o600)
    key.write_text(made.tls_scheduler_key)
    settings = {"default-scheme": "tls", "require-encryption": "true"}
    settings["tls.ca-file"] = str(certificate)
    for role in ("scheduler", "worker", "client"):
        settings[f"tls.{role}.cert"] = str(certificate)
        settings[f"tls.{role}.key"] = str(key)
    for name, value in settings.items():
        variable = f"DASK_DISTRIBUTED__COMM__{name.replace('.', '__')}"
        os.environ[variable.replace("-", "_").upper()] = value
    # a page on a shared node's loopback interface is not for its owner alone
    os.environ["DASK_DPBB__DASHBOARD__CONTROLS"] = "false"
    dask.config.update(dask.config.config, dask.config.collect(paths=[]))


def listening() -> list[str]:
    """Where to listen, as arguments of Dask's commands: never on all interfaces.

    On ``DPBB_INTERFACE``, such as ib0; in a job of one node on the loopback interface;
    else on the one that leads out of this node.
    """
    interface = os.environ.get("DPBB_INTERFACE")
    if interface:
        return ["--interface", interface]
    alone = os.environ.get("SLURM_JOB_NUM_NODES") == "1"
    return ["--host", "127.0.0.1" if alone else get_ip()]


def refused() -> str | None:
    """Say why SLURM's controller does nothing for us; None: it answers."""
    try:
        ping = ["scontrol", "ping"]
        done = subprocess.run(
            ping, capture_output=True, text=True, timeout=60, check=False
        )
    except FileNotFoundError:
        return "no scontrol on the PATH: this is no host of a SLURM cluster"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()


def start_client(
    checkpoint: str, scheduler: str, *arguments: str
) -> subprocess.Popen[bytes]:
    """Call ``dpbb solve``, which goes on where an earlier try was cut off.

    In a session of its own: a terminal's Ctrl-C would reach it twice, and the second
    one ends it at once.
    """
    command = [sys.executable, "-m", "dpbb", "solve", *arguments]
    command += ["--scheduler", scheduler, "--checkpoint", checkpoint]
    return subprocess.Popen(command, start_new_session=True)


def explored(checkpoint: str) -> int:
    """How many nodes the newest checkpoint has behind it; 0 if there is none."""
    try:
        return load_checkpoint(checkpoint).counters.decomposed
    except DpbbError:
        return 0


def start_scheduler(file: Path, asked: Asked) -> subprocess.Popen[bytes]:
    """Start it, and wait until its address is in the file, or it ends."""
    command = [sys.executable, "-m", SCHEDULER, "--scheduler-file", str(file)]
    command += ["--port", "0", *listening(), *PAGE, *PRELOADS]
    process = subprocess.Popen(command)
    while not file.exists() and process.poll() is None and asked.what is None:
        time.sleep(POLL_S)
    return process


def start_workers(file: Path) -> subprocess.Popen[bytes]:
    """Start one for each task; one that is killed ends no other."""
    # srun does not take this from the job since SLURM 22.05
    threads = os.environ.get("SLURM_CPUS_PER_TASK", "1")
    command = ["srun", "--kill-on-bad-exit=0", "--wait=0", "--export=ALL"]
    command += [f"--cpus-per-task={threads}", sys.executable, "-m", RUNNER]
    return subprocess.Popen([*command, "--worker", str(file), threads])


def be_worker(file: str, threads: str) -> None:
    """Become a worker: each node listens on an address of its own."""
    command = [sys.executable, "-m", WORKER, "--scheduler-file", file]
    command += ["--nworkers", "1", "--nthreads", threads, *listening(), *PAGE]
    command += ["--death-timeout", str(JOIN_S), *PRELOADS]
    command += ["--preload-nanny", str(PATIENCE)]
    os.execv(sys.executable, command)


def end(scheduler: subprocess.Popen[bytes], *workers: subprocess.Popen[bytes]) -> None:
    """Close the scheduler, which closes the workers; kill what does not end."""
    if scheduler.poll() is None:
        scheduler.send_signal(signal.SIGINT)
        wait_all(CLOSE_S, scheduler)
        wait_all(LEAVE_S, *workers)
    for srun in workers:
        srun.terminate()  # it cancels its step
    wait_all(CLOSE_S, *workers)
    for process in (scheduler, *workers):
        process.kill()
        process.wait()


def wait_all(seconds: float, *processes: subprocess.Popen[bytes]) -> None:
    """Wait until all of them have ended, or for so long."""
    deadline = time.monotonic() + seconds
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))


def solve(folder: Path, asked: Asked, *arguments: str) -> tuple[int, str | None]:
    """Run the cluster and the client to the client's end.

    Returns
    -------
    int, str or None
        The client's exit code, and what cut it off: ``"time"``, ``"cancelled"``, the
        loss of ``"the scheduler"``, ``"the client"`` or ``"all workers"``; None:
        nothing.
    """
    checkpoint, instance, *options = arguments
    file = folder / "scheduler.json"
    scheduler = start_scheduler(file, asked)
    if not file.exists():
        end(scheduler)
        return NO_SCHEDULER, asked.what or "the scheduler"
    workers = start_workers(file)
    client = start_client(checkpoint, str(file), instance, *options)
    cut = None
    while client.poll() is None:
        if cut is None:
            cut = asked.what or (None if workers.poll() is None else "all workers")
            if cut is not None:
                client.terminate()
        if scheduler.poll() is not None:
            cut = cut or "the scheduler"
            client.kill()  # it would look for it for a while
        time.sleep(POLL_S)
    code = client.returncode
    if scheduler.poll() is not None and code not in (0, 2, *CUT_OFF):
        code = NO_SCHEDULER
    if code == NO_SCHEDULER:
        cut = cut or "the scheduler"
    elif code < 0:  # a signal
        cut, code = cut or "the client", CUT_OFF[1]
    end(scheduler, workers)
    return code, cut


def queue_again(job: str) -> None:
    """Ask SLURM to queue this job again, unless it has done so by itself.

    A node that it has lost may still run this try beside the next one.
    """
    while (why := refused()) is not None:  # at the end of the time it ends this, too
        say(f"not proved yet, but SLURM's controller does not answer: {why}")
        time.sleep(RETRY_S)
    command = ["scontrol", "--oneliner", "show", "job", job]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    this = os.environ.get("SLURM_RESTART_COUNT", "0")
    if " JobState=RUNNING " in told and f" Restarts={this} " in told:
        say("not proved yet: queueing again")
        subprocess.run(["scontrol", "requeue", job], check=False)
    else:
        say("not proved yet: SLURM has taken this job back")


def main(checkpoint: str, *arguments: str) -> int:
    """Solve or resume, and queue again if it was cut off; returns dpbb's exit code."""
    asked = Asked()
    os.environ.setdefault("DASK_CONFIG", str(CONFIG))
    job = os.environ["SLURM_JOB_ID"]
    before = explored(checkpoint)
    with private_folder(f"dpbb-{job}") as folder:
        use_tls(folder)
        code, cut = solve(folder, asked, checkpoint, *arguments)
    if cut is None or code not in (*CUT_OFF, NO_SCHEDULER):
        return code
    say(SAID.get(cut, f"lost {cut}"))
    if cut == "cancelled":
        return code
    if explored(checkpoint) == before:
        say("this try has explored nothing: not queueing again")
        return 1
    queue_again(job)
    return code


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        be_worker(*sys.argv[2:])
    sys.exit(main(*sys.argv[1:]))
