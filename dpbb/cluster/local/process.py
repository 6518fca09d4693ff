"""Start and end a worker process of the embedded cluster; needs no Dask."""

import contextlib
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping

from dpbb.own_process import command_of

MODULE = "dpbb.cluster.local.worker_main"
CLOSE_S = 3.0
"""A process that has not ended so long after it was asked to is killed."""


def ignore_dasks_warnings() -> None:
    """Leave out warnings of Dask's about what does not matter here.

    Another program may take a port before Dask does, which then takes another; a worker
    that explores writes nothing into its scratch directory.
    """
    for text in "Port .* is already in use", "Creating scratch directories is taking":
        warnings.filterwarnings("ignore", text, UserWarning)


def show_messages(level: int = logging.WARNING) -> None:
    """Show dpbb's messages from a level on where Dask shows its own.

    A library is silent unless asked, but whoever looks after a cluster has to learn
    that a run does not go on. Does nothing where the log is set up otherwise.
    """
    ours, theirs = logging.getLogger("dpbb"), logging.getLogger("distributed")
    if all(isinstance(handler, logging.NullHandler) for handler in ours.handlers):
        for handler in theirs.handlers:
            ours.addHandler(handler)
        ours.propagate = theirs.propagate
        if ours.level == logging.NOTSET:
            ours.setLevel(level)


def launch(environ: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a process; it imports, and waits to be told what to join.

    ``environ`` is added to this process's environment.

    In a session of its own: the terminal's Ctrl-C must not kill it under a run that is
    to be stopped cleanly. It finds the modules that this process finds, for problems of
    the user's own.
    """
    return subprocess.Popen(  # noqa: S603 - our own module
        command_of(MODULE, paths=sys.path),
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, **(environ or {})},
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process by its standard input, or by force; blocks until it is gone."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(CLOSE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
