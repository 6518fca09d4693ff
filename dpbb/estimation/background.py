"""An estimate in a process of its own.

What is left of a run is estimated while it goes on, in a process that does not hold the
scheduler's interpreter up, and may be of lower priority than the run's own.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from dpbb.errors import DpbbError
from dpbb.estimation.roots import RootSample
from dpbb.options import TreeOptions
from dpbb.own_process import command_of
from dpbb.problem import Problem
from dpbb.problems import decoded, encoded

PROBES = 4
LOOK_S = 0.05
"""Seconds between looks at whether the estimate is still wanted."""

AUTOGROUP = Path("/proc/self/autogroup")
"""On Linux, niceness counts among the processes of one session; this file has that
of the session, which a process of its own session may raise."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """Estimated nodes below some roots.

    ``by_ub``: also for the UB, the UB less 1, and so on.
    """

    nodes: float
    low: float
    high: float
    reasons: tuple[str, ...]
    by_ub: tuple[float, ...] = ()


def encode(
    problem: Problem[Any],
    tree: TreeOptions,
    ub: int,
    roots: RootSample,
    seconds: float,
    seed: int,
) -> bytes:
    """Return what the process is to estimate, as the bytes that it reads.

    ``seconds``: processor time for the sampling.
    """
    return pickle.dumps((encoded(problem), tree, ub, roots, seconds, seed))


def estimate_apart(
    request: bytes, is_wanted: Callable[[], bool], niceness: int = 0
) -> Remainder | None:
    """Run the process; blocks. None if the estimate was not wanted any more.

    DpbbError: the process failed; says how.
    """
    me = "dpbb.estimation.background"
    command = command_of(me, str(niceness), str(os.getpid()))
    # A file, no pipe: of what is longer than a pipe's buffer, communicate() of Python
    # 3.11 sends nothing any more once it has timed out.
    with tempfile.TemporaryFile() as file:
        file.write(request)
        file.seek(0)
        process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # the terminal's Ctrl-C is not for it
        )
    try:
        while True:
            if not is_wanted():
                return None
            with contextlib.suppress(subprocess.TimeoutExpired):
                out, err = process.communicate(timeout=LOOK_S)
                break
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode:
        last = "".join(err.decode(errors="replace").strip().splitlines()[-1:])
        raise DpbbError(f"the estimate ended with {process.returncode}: {last}")
    return Remainder(*pickle.loads(out))  # noqa: S301 - of our own process


def answer(request: bytes) -> Remainder:
    """Estimate what a request asks for, in this process, with one thread."""
    from dpbb.estimation.confidence import doubts, interval
    from dpbb.estimation.sampling import Sampler

    data, tree, ub, roots, seconds, seed = pickle.loads(request)  # noqa: S301 - ours
    rounds = Sampler(decoded(data), tree, ub, roots).rounds(
        seconds=seconds,
        samples=None,
        probes=PROBES,
        threads=1,
        seed=seed,
        clock=time.process_time,
    )
    last = rounds[-1]
    return Remainder(last.mean, *interval(rounds), doubts(rounds), last.by_ub)


def _end_with(asker: int) -> None:
    while os.getppid() == asker:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    """Read a request from stdin, write the answer to stdout.

    The arguments are the niceness, which counts from the first import on, and the
    process that waits for the answer: this one ends with it, however it ends.
    """
    niceness, asker = map(int, sys.argv[1:])
    threading.Thread(target=_end_with, args=(asker,), daemon=True).start()
    os.nice(max(0, niceness - os.nice(0)))  # of a nice run, not nicer still
    with contextlib.suppress(OSError):
        AUTOGROUP.write_text(str(niceness))
    found = answer(sys.stdin.buffer.read())
    sys.stdout.buffer.write(pickle.dumps(astuple(found)))


if __name__ == "__main__":
    main()
