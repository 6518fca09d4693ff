"""Ctrl-C and SIGTERM: stop cleanly, print the best schedule; Ctrl-C twice: 130."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.estimation import background

pytestmark = pytest.mark.cluster

ARGUMENTS = ("solve", "ta056", "--json", "--heuristics")
BUSY = " M/s "  # a row of the tree, once it is being explored: it takes hours
TIMEOUT_S = 100


class Solve:
    """A ``dpbb solve`` in a process of its own."""

    def __init__(self, *arguments, heuristics="neh"):
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "dpbb", *ARGUMENTS, heuristics, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.err = ""
        # Whatever hangs must not hang the test.
        self.watchdog = threading.Timer(TIMEOUT_S, self.kill)
        self.watchdog.start()

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def until(self, text):
        for line in self.process.stderr:
            self.err += line
            if text in line:
                return
        raise AssertionError(f"{text!r} never came: {self.err}")

    def end(self):
        out, err = self.process.communicate()
        self.err += err
        return self.process.returncode, out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.kill()
        self.process.communicate()


def test_first_signal_stops_and_prints_the_best_schedule():
    with Solve() as solve:
        solve.until(BUSY)
        solve.process.send_signal(signal.SIGINT)
        code, out = solve.end()
    assert code == 3, solve.err
    values = json.loads(out)
    assert (values["status"], values["termination"]) == ("feasible", "stopped")
    assert sorted(values["permutation"]) == list(range(50))
    assert values["decomposed"] > 0
    assert "dpbb: stopping" in solve.err
    assert "Traceback" not in solve.err


def test_sigterm_saves_what_was_explored(tmp_path):
    """All of it: the last checkpoint is that of the stop, and a run goes on from it."""
    folder = tmp_path / "run"
    with Solve("--checkpoint", str(folder), "--checkpoint-interval", "600") as solve:
        solve.until(BUSY)
        solve.process.send_signal(signal.SIGTERM)
        solve.until("dpbb: stopping")
        solve.process.send_signal(signal.SIGTERM)  # a launcher passed on its own
        code, out = solve.end()
    values = json.loads(out)
    assert (code, values["termination"]) == (3, "stopped"), solve.err
    assert f"saved in {folder}" in solve.err
    saved = load_checkpoint(str(folder))
    assert values["decomposed"] > 0
    assert saved.counters.decomposed == values["decomposed"]
    assert (saved.value, list(saved.permutation)) == (
        values["makespan"],
        values["permutation"],
    )
    assert saved.units


def test_signal_during_the_heuristics_prints_their_schedule():
    with Solve("--heuristic-time", "50", heuristics="ig") as solve:
        solve.until("H")
        solve.process.send_signal(signal.SIGTERM)
        code, out = solve.end()
    values = json.loads(out)
    assert (code, values["termination"], values["decomposed"]) == (3, "stopped", 0)
    assert "Traceback" not in solve.err


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGINT, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)],
)
def test_second_signal_quits_at_once_and_leaves_nothing(first, second, tmp_path):
    """No worker, no file for the schedule; 130 whichever the signals are."""
    with Solve("--output", tmp_path / "s.csv", heuristics="none") as solve:
        solve.until(BUSY)
        (worker,) = (
            child
            for child in psutil.Process(solve.process.pid).children()
            if background.__name__ not in child.cmdline()  # it estimates
        )
        worker.suspend()  # it can send no last report: the clean stop takes long
        solve.process.send_signal(first)
        solve.until("dpbb: stopping")
        solve.process.send_signal(second)
        try:
            solve.process.wait(TIMEOUT_S)
        finally:
            worker.resume()
        worker.wait(TIMEOUT_S)
        ended, out = solve.end()
    assert (ended, out) == (130, ""), solve.err
    assert solve.err.endswith("dpbb: interrupted\n")
    assert not list(tmp_path.iterdir())
    assert "Traceback" not in solve.err


def test_closed_pipe_ends_without_a_traceback():
    with Solve() as solve:
        solve.until(BUSY)
        solve.process.stdout.close()
        solve.process.send_signal(signal.SIGTERM)
        err = solve.process.stderr.read()
        solve.process.wait()
    assert solve.process.returncode == 1
    assert "Traceback" not in err
