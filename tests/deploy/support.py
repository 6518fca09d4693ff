"""What tests of scripts that solve share."""

import getpass
import os
import re

import psutil

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from tests.fake_gpu import ROOT
from tests.processes import run

ENDLESS = ("ta056", "--heuristics", "none", "--checkpoint-interval", "3600")
"""No checkpoint but the last: what is in it was given back at the end."""

SLOWLY = {"DPBB_ENGINES": "cpu=tests.fake_gpu:SlowCpu", "PYTHONPATH": str(ROOT)}


def ends(processes):
    """Return where these processes listen: (address, port); srun is SLURM's own."""
    return {
        (end.laddr.ip, end.laddr.port)
        for process in processes
        if process.name() != "srun"
        for end in process.net_connections("tcp")
        if end.status == psutil.CONN_LISTEN
    }


def assert_saved(checkpoint):
    """Whatever the workers had explored was saved, and nobody owns it any more."""
    saved = load_checkpoint(str(checkpoint))
    assert saved.counters.decomposed > 0
    assert saved.units


def tutorial(folder, environ):
    """Run the commands of docs/slurm.md, one after the other, to the first failure.

    On a smaller instance: its first job is a slow one, which is not over when it is to
    be stopped.
    """
    page = ROOT / "docs" / "slurm.md"
    blocks = re.findall(r"^```{.bash .run}\n(.*?)^```$", page.read_text(), re.M | re.S)
    text = "".join(blocks).replace("ta021", "ta022")
    text = text.replace("--certificate", "--checkpoint-interval 2 --certificate")
    text = text.replace("scancel", "unset DPBB_ENGINES; scancel")
    environ = {"USER": getpass.getuser(), **os.environ, **environ, **SLOWLY}
    done = run("bash", "-euxc", text, cwd=folder, env=environ, timeout=600)
    assert "proved again" in done.stdout, done.stdout + done.stderr
