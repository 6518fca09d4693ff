"""Heuristics are loaded in a thread: Numba compiles for seconds after an installation.

Nothing interrupts a compilation, so nobody should have to wait for one. Code is
compiled for integers of 16 or of 32 bits, as the instance needs.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from threading import Event, Thread
from typing import Any

import numpy as np

from dpbb.flowshop.heuristics.search import Heuristic, Search, improve
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.problem import Incumbent


class Loading:
    """Heuristics on their way, in the order in which they are wanted.

    ``paths``: each as ``"module:function"``. A function ``load`` of the module, if
    there is one, loads what it compiles for such a search.
    """

    def __init__(self, paths: Sequence[str], search: Search, start: Incumbent) -> None:
        self._search, self._start = search, start
        self._ended = False
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

    def end(self) -> None:
        """Load nothing more: nobody waits for it."""
        self._ended = True

    def _load(self) -> None:
        for path in self._paths:
            if self._ended:
                return
            try:
                self._found[path] = loaded(path, self._search, self._start)
            except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
                self._found[path] = error
            self._done[path].set()


def loaded(path: str, search: Search, start: Incumbent) -> Heuristic:
    """Return the heuristic ``"module:function"``; waits until it is compiled."""
    name, _, function = path.partition(":")
    module = import_module(name)
    if hasattr(module, "load"):
        module.load(search, start)
    return getattr(module, function)


def tiny_searches(
    lanes: Iterable[type[np.signedinteger[Any]]],
) -> Iterator[tuple[Search, Incumbent]]:
    """Yield a search of milliseconds, two iterations, for each of these integers.

    ``lanes``: ``int16``, or ``int32``, which the times of the shop are made too large
    for.
    """
    times = np.random.default_rng(0).integers(1, 9, (5, 3))
    for lane in set(lanes):
        scale = 1 if lane is np.int16 else np.iinfo(np.int16).max
        search = Search(FlowShopInstance("load", times * scale), 0, iterations=2)
        yield search, improve(search, None, range(5), "load")
