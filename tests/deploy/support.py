"""What tests of scripts that solve share."""

import psutil

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint

ENDLESS = ("ta056", "--heuristics", "none", "--checkpoint-interval", "3600")
"""No checkpoint but the last: what is in it was given back at the end."""


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
