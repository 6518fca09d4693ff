"""Heuristics are loaded in a thread: Numba compiles for seconds after an installation.

Nothing interrupts a compilation, so nobody should have to wait for one.
"""

from __future__ import annotations

from importlib import import_module
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpbb.flowshop.heuristics.search import Heuristic


class Loading:
    """Heuristics on their way, in the order in which they are wanted.

    Parameters
    ----------
    paths
        Each as ``"module:function"``. A function ``load`` of the module, if there is
        one, loads what it compiles.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(dict.fromkeys(paths))
        self._found: dict[str, Heuristic | BaseException] = {}
        self._done = {path: Event() for path in self._paths}
        Thread(target=self._load, name="dpbb-loading", daemon=True).start()

    def ready(self, path: str) -> bool:
        """Whether ``heuristic`` would return, or raise, at once."""
        return self._done[path].is_set()

    def heuristic(self, path: str) -> Heuristic:
        """Wait for a heuristic; what went wrong while it was loaded is raised here."""
        self._done[path].wait()
        found = self._found[path]
        if isinstance(found, BaseException):
            raise found
        return found

    def _load(self) -> None:
        for path in self._paths:
            try:
                self._found[path] = loaded(path)
            except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
                self._found[path] = error
            self._done[path].set()


def loaded(path: str) -> Heuristic:
    """Return the heuristic ``"module:function"``; waits until it is compiled."""
    name, _, function = path.partition(":")
    module = import_module(name)
    if hasattr(module, "load"):
        module.load()
    heuristic: Heuristic = getattr(module, function)
    return heuristic
