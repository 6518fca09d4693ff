"""What a job starts: certificates, addresses, and the client.

A node of a cluster has other users, and a scheduler of Dask executes what it is sent:
so every connection is TLS with a certificate made for this one try, whose key lies in
a folder that only its owner can read. And SLURM asks every process of a job to end at
the same moment: the client then stops its run, with the state saved, and only after it
does the cluster close.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dask.config
from distributed.security import Security
from distributed.utils import get_ip

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
PATIENCE = HERE / "patience.py"
CONFIG = HERE.parent / "dask.yaml"

NO_SCHEDULER = 5
"""Exit code of dpbb: the scheduler did not answer, or was lost."""

KEY = "key.pem"

ROLES = ("scheduler", "worker", "client")


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


def use_tls(folder: Path) -> Security:
    """Make certificate and key; this process and those it starts use them.

    Dask then refuses whoever does not have the key.
    """
    made = Security.temporary()
    certificate, key = folder / "certificate.pem", folder / KEY
    certificate.write_text(made.tls_ca_file)
    key.touch(mode=0o600)
    key.write_text(made.tls_scheduler_key)
    tls = {f"{role}.cert": str(certificate) for role in ROLES}
    tls |= {f"{role}.key": str(key) for role in ROLES}
    settings = {f"tls.{name}": value for name, value in tls.items()}
    settings |= {
        "tls.ca-file": str(certificate),
        "default-scheme": "tls",
        "require-encryption": "true",
    }
    for name, value in settings.items():
        variable = f"DASK_DISTRIBUTED__COMM__{name.replace('.', '__')}"
        os.environ[variable.replace("-", "_").upper()] = value
    # a page on a shared node's loopback interface is not for its owner alone
    os.environ["DASK_DPBB__DASHBOARD__CONTROLS"] = "false"
    dask.config.update(dask.config.config, dask.config.collect(paths=[]))
    return Security()


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
        done = subprocess.run(
            ["scontrol", "ping"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
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
