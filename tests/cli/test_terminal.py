"""The command line on a terminal: a live view, and a terminal as it was before."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte
import pytest

import dpbb as package
from tests.cluster.support import local_cluster

pytestmark = pytest.mark.cluster

SOLVE = ("solve", "ta056", "--heuristics", "neh", "--threads", "1")  # takes hours
LEADER = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))  # the first one opened becomes its own
os.execv(sys.executable, [sys.executable, "-m", "dpbb", *sys.argv[1:]])
"""
TIMEOUT_S = 100


class Terminal:
    """``dpbb`` as the leader of a terminal of its own, seen through an emulator."""

    def __init__(self, *arguments, width=80, height=30, env=()):
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.fd, inner = pty.openpty()
        size = struct.pack("HHHH", height, width, 0, 0)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)
        self._modes = termios.tcgetattr(self.fd)
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", LEADER, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            env={**_inherited(), "TERM": "xterm-256color", **dict(env)},
        )
        os.close(inner)
        self.pid = self.process.pid
        self.code = None

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def until(self, *texts):
        """Read until the screen shows them all."""
        deadline = time.monotonic() + TIMEOUT_S
        while not all(text in self.text() for text in texts):
            if not self._read() or time.monotonic() > deadline:
                raise AssertionError(f"{texts} never came:\n{self.text()}")

    def end(self):
        """Read to the end; the exit code, negative after a signal."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._read():
            assert time.monotonic() < deadline, self.text()
        self.code = self.process.wait(TIMEOUT_S)
        return self.code

    def _read(self):
        """Feed the emulator; False at the end."""
        if not select.select([self.fd], [], [], 1.0)[0]:
            return True
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        self.written += chunk
        self._stream.feed(chunk)
        return bool(chunk)

    def is_as_before(self):
        """Whether the cursor is visible and at a line's begin, and modes are kept."""
        return (
            not self.screen.cursor.hidden
            and self.screen.cursor.x == 0
            and termios.tcgetattr(self.fd) == self._modes
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


def _inherited():
    """The environment but for a size that is not this terminal's."""
    return {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}}


@pytest.mark.parametrize("width", [60, 100])
def test_a_live_view_below_rows_then_the_result(width):
    with Terminal(*SOLVE, width=width) as terminal:
        terminal.until("ta056, running", " left ", "/dpbb", "speed", "\nH")
        lines = terminal.lines()
        head = next(i for i, line in enumerate(lines) if "ta056, running" in line)
        assert any(line.startswith("H") for line in lines[:head])
        assert not any(line.startswith("H") for line in lines[head:])
        os.write(terminal.fd, b"\x03")  # Ctrl-C, as a user types it
        assert terminal.end() == 3
        assert terminal.is_as_before()
        text = terminal.text()
    assert "running" not in text
    assert "dpbb: stopping; Ctrl-C again" in text
    assert "stopped" in text
    assert "Traceback" not in text


def test_an_error_under_the_view_leaves_a_message(tmp_path):
    folder = tmp_path / "proofs"
    folder.mkdir()
    file = folder / "certificate.json.gz"
    lasts = ("solve", "ta029", "--cutoff", "2237", "--threads", "1")
    with Terminal(*lasts, "--certificate", str(file)) as terminal:
        terminal.until("dashboard")
        folder.rmdir()
        assert terminal.end() == 1
        assert terminal.is_as_before()
        text = terminal.text()
    assert "\ndpbb: error:" in text
    assert "running" not in text


def test_two_signals_leave_the_terminal_usable():
    with Terminal(*SOLVE) as terminal:
        terminal.until("ta056, running")
        os.kill(terminal.pid, signal.SIGSTOP)  # both are there when it goes on
        os.kill(terminal.pid, signal.SIGINT)
        os.kill(terminal.pid, signal.SIGTERM)
        os.kill(terminal.pid, signal.SIGCONT)
        assert terminal.end() in (130, 143)
        assert terminal.is_as_before()


def test_a_run_that_is_attached_to_looks_the_same(tmp_path):
    """Its past incumbents first; Ctrl-C leaves it, and resume shows it again."""
    folder = tmp_path / "run"
    with (
        local_cluster(protocol="tcp://") as (cluster, client),
        package.submit(
            "ta056", client=client, heuristics="neh", checkpoint=str(folder)
        ) as run,
    ):
        env = {"DPBB_SCHEDULER": cluster.scheduler_address}
        with Terminal("attach", run.run_id[:8], env=env) as terminal:
            terminal.until("ta056, running", " left ", "/dpbb", "\nH")
            os.write(terminal.fd, b"\x03")
            assert terminal.end() == 3
            assert terminal.is_as_before()
            assert f"run {run.run_id} goes on" in terminal.text()
        assert run.snapshot().state == "running"
        run.save_now()
    with Terminal("resume", str(folder), "--threads", "1") as terminal:
        terminal.until("resumed after", "ta056, running", "\nH")
        os.kill(terminal.pid, signal.SIGINT)
        assert terminal.end() == 3
        assert terminal.is_as_before()
