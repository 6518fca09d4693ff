"""What tests of scripts that solve share."""

import time
from contextlib import suppress

import psutil

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.errors import DpbbError

ENDLESS = ("ta056", "--heuristics", "none", "--checkpoint-interval", "3600")
"""No checkpoint but the last: what is in it was given back at the end."""


def wait_until(condition, timeout=60.0):
    """Wait until something is true; returns what it was."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
    return found


def ends(processes):
    """Return where these processes listen: (address, port); srun is SLURM's own."""
    return {
        (end.laddr.ip, end.laddr.port)
        for process in processes
        if process.name() != "srun"
        for end in process.net_connections("tcp")
        if end.status == psutil.CONN_LISTEN
    }


def explored(checkpoint):
    """Return how many nodes the newest checkpoint has behind it."""
    with suppress(DpbbError):  # none yet
        return load_checkpoint(str(checkpoint)).counters.decomposed
    return 0


def assert_saved(checkpoint):
    """Whatever the workers had explored was saved, and nobody owns it any more."""
    saved = load_checkpoint(str(checkpoint))
    assert saved.counters.decomposed > 0
    assert saved.units
