"""Ctrl-C while a call of Python's goes on: the first one stops the search in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Interrupt:
    """Called, it says whether somebody has pressed Ctrl-C in the block."""

    def __init__(self, alert: Callable[[str], None]) -> None:
        self._alert = alert
        self._pressed = False

    def __call__(self) -> bool:
        """Whether somebody has."""
        return self._pressed

    def on_signal(self, number: int, frame: Any) -> None:
        """Note the first one; the second one is Python's own."""
        if self._pressed:
            signal.default_int_handler(number, frame)
        self._pressed = True
        self._alert("dpbb: stopping; Ctrl-C again quits without a result")


@contextmanager
def interruptible(alert: Callable[[str], None]) -> Iterator[Interrupt]:
    """Note Ctrl-C in what is yielded, where it would raise ``KeyboardInterrupt``.

    Elsewhere, in another thread or where somebody else handles it, nothing is changed.

    ``alert``: tells people at once that it was heard.
    """
    interrupt = Interrupt(alert)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield interrupt
        return
    signal.signal(signal.SIGINT, interrupt.on_signal)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
