"""The client beside a cluster: what asks this process to end is for the client.

A reboot, ``scancel`` or Ctrl-C: the client stops its run, with the state saved, and
only then does the cluster close.
"""

import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

SCRIPT = Path(__file__).resolve().parents[1] / "solve-or-resume.sh"
ASKED = (signal.SIGINT, signal.SIGTERM)


def end_in_order() -> None:
    """From now on SIGTERM leaves all ``with`` blocks, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))


def run_client(*arguments: str) -> int:
    """Call ``solve-or-resume.sh`` and wait for its end; returns its exit code.

    In a session of its own: a terminal's Ctrl-C would reach it twice, and the second
    one ends it at once.
    """
    before = {number: signal.getsignal(number) for number in ASKED}
    client = subprocess.Popen([SCRIPT, *arguments], start_new_session=True)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if client.poll() is None:
            client.send_signal(number)

    for number in ASKED:
        signal.signal(number, pass_on)
    code = client.wait()
    for number in ASKED:
        signal.signal(number, before[number])
    return code if code >= 0 else 128 - code
