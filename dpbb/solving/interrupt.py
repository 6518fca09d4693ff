"""Ctrl-C while a call of Python's goes on: the first one stops the search in order."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible(alert: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C in this block, where it would raise ``KeyboardInterrupt``.

    Elsewhere, in another thread or where somebody else handles it, nothing is changed.
    The second Ctrl-C is Python's own.

    ``alert``: tells people at once that it was heard.

    Yields what says whether somebody has pressed it.
    """
    pressed = False

    def on_signal(number: int, frame: Any) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True
        alert("dpbb: stopping; Ctrl-C again quits without a result")

    in_main = threading.current_thread() is threading.main_thread()
    is_ours = in_main and (
        signal.getsignal(signal.SIGINT) == signal.default_int_handler
    )
    if is_ours:
        signal.signal(signal.SIGINT, on_signal)
    try:
        yield lambda: pressed
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
