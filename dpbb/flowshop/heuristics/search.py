"""The heuristics of flow shops, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dpbb.errors import OptionError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.heuristics import Heuristic, Search, improve
from dpbb.options import PROCESSORS
from dpbb.options.kinds import one_of
from dpbb.problem import Incumbent


class Method(NamedTuple):
    """Where a heuristic is and what it is good for.

    Parameters
    ----------
    cpu, gpu
        Its function for this kind of device as ``"module:function"``; None: there is
        none. The function is a ``Heuristic``; a function ``load`` of the same module,
        if there is one, loads what it compiles.
    improves
        Whether it runs beside the tree, too: in one thread, from a given schedule.
    """

    cpu: str
    gpu: str | None = None
    improves: bool = False


_HERE = "dpbb.flowshop.heuristics"

HEURISTICS: dict[str, Method] = {
    "neh": Method(f"{_HERE}.plain:neh"),
    "ig": Method("dpbb.modeling.greedy:iterated_greedy", improves=True),
    "beam": Method(f"{_HERE}.beam_cpu:beam", f"{_HERE}.beam_gpu:beam", improves=True),
    "tabu": Method(f"{_HERE}.tabu:tabu", f"{_HERE}.tabu:tabu_gpu", improves=True),
}
"""All heuristics; the option ``heuristics`` takes these names."""


def path_of(name: str, device: str, *, strict: bool = False) -> str:
    """Return where a heuristic is; one without a function for a GPU uses the cores.

    OptionError: there is no such device, or, of those that are strict, no function for
    it.
    """
    one_of(*PROCESSORS).check(device, "device")
    row = HEURISTICS[name]
    if device == "gpu" and row.gpu is None and strict:
        raise OptionError(
            f"device: expected cpu, as the heuristic {name!r} has no function for "
            f"another, got {device!r}"
        )
    return (row.gpu if device == "gpu" else None) or row.cpu


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
        shop = FlowShopProblem(FlowShopInstance("load", times * scale))
        search = Search(shop, 0, iterations=2)
        yield search, improve(search, None, np.arange(5), "load")
