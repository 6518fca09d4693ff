"""Heuristics for a first incumbent, behind one signature.

Importing this package is cheap; the heuristics themselves (Numba) are imported when
the first one runs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from dpbb.errors import OptionError
from dpbb.flowshop.bounds.lb1 import root_bound
from dpbb.flowshop.heuristics.search import (
    Heuristic,
    Search,
    available_cores,
    improve,
)
from dpbb.options import Heuristics
from dpbb.problem import Incumbent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpbb.flowshop.instance import FlowShopInstance

__all__ = [
    "HEURISTICS",
    "Incumbent",
    "Method",
    "Search",
    "default_time_s",
    "first_incumbent",
]


class Method(NamedTuple):
    """Where a heuristic is and what it is good for.

    Parameters
    ----------
    cpu, gpu
        Its function for this kind of device as ``"module:function"``; None: there is
        none. The function is a ``Heuristic``; a function ``load`` of the same module,
        if there is one, loads what it compiles.
    beside
        Whether it runs beside the tree, too, in one thread, from a given schedule.
    keeps
        Whether it can keep the start's prefix and suffix, see ``Search.kept``.
    """

    cpu: str | None
    gpu: str | None = None
    beside: bool = False
    keeps: bool = False


_HERE = "dpbb.flowshop.heuristics"

HEURISTICS: dict[str, Method] = {
    "neh": Method(f"{_HERE}.neh:neh"),
    "ig": Method(f"{_HERE}.iterated_greedy:iterated_greedy", beside=True),
    "beam": Method(f"{_HERE}.beam:beam"),
}
"""All heuristics; the option ``heuristics`` takes these names."""

DEVICES = ("cpu", "gpu")
"""Kinds of devices that a ``Method`` may have a function for."""


def default_time_s(n_jobs: int, n_machines: int) -> float:
    """Seconds that ``first_incumbent`` takes unless told otherwise.

    Grows with the instance: 0.3 s at 20x5, 1.2 s at 20x20, 5 s at 50x20 and 10 s, the
    most, from 100x20 on.
    """
    size = n_jobs**1.5 * n_machines
    return float(min(10.0, max(0.3, size / 1500)))


def first_incumbent(
    instance: FlowShopInstance,
    *,
    method: str = Heuristics.AUTO,
    time_limit_s: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    iterations: int | None = None,
    device: str = "cpu",
    initial: ArrayLike | None = None,
    lower_bound: int | None = None,
    on_improvement: Callable[[Incumbent], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Incumbent | None:
    """Find a good schedule quickly.

    Parameters
    ----------
    instance
        The instance.
    method
        ``"none"``: only ``initial``, if it is given; ``"neh"``; ``"ig"``: iterated
        greedy; ``"beam"``: iterative beam search; ``"auto"``: the last two by turns, as
        it does best on instances of this size.
    time_limit_s
        Seconds to search; default: ``default_time_s``. Loading the compiled code, and
        compiling it on the first use after installation, come on top.
    threads
        Default: all physical cores.
    seed
        Start of all pseudo-random choices; the same seed and threads give the same
        incumbents, but how many of them depends on the time.
    iterations
        See ``Search``; counts for each heuristic that runs.
    device
        ``"gpu"``: the first visible GPU for the heuristics that have a function for
        one; the others use the CPU's cores all the same.
    initial
        A permutation to start from.
    lower_bound
        A schedule of this makespan is optimal: stop there. Default: the root's LB1.
    on_improvement
        Called with every better incumbent, in this thread.
    should_stop
        Polled every few milliseconds, in this thread; True ends the search.

    Returns
    -------
    Incumbent or None
        None only for ``"none"`` without ``initial``.

    Raises
    ------
    OptionError
        Unknown method, or ``initial`` is no permutation of the jobs; a method that has
        no function for this device.
    """
    if method not in (*Heuristics, *HEURISTICS):
        allowed = ", ".join(repr(str(name)) for name in (*Heuristics, *HEURISTICS))
        raise OptionError(f"heuristics: expected one of {allowed}, got {method!r}")
    root = root_bound(instance.times)
    search = Search(
        instance,
        lower_bound=root if lower_bound is None else max(root, lower_bound),
        threads=threads or available_cores(),
        seed=seed,
        iterations=iterations,
        on_improvement=on_improvement,
        should_stop=should_stop,
    )
    incumbent = None
    if initial is not None:
        incumbent = improve(search, None, initial, "initial")
    if method == Heuristics.NONE or (incumbent is not None and incumbent.proved):
        return incumbent

    if method != Heuristics.AUTO:
        _path(method, device, strict=True)  # refused before anything runs
    incumbent = _loaded("neh", device)(search, incumbent)
    if method == "neh" or incumbent.proved:
        return incumbent
    if time_limit_s is None:
        time_limit_s = default_time_s(instance.n_jobs, instance.n_machines)
    spent = 0.0
    for stage, share in _stages(method, instance.n_machines):
        if incumbent.proved or (should_stop is not None and should_stop()):
            break
        heuristic = _loaded(stage, device)
        started = time.monotonic()
        left = share * time_limit_s - spent
        incumbent = heuristic(replace(search, deadline=started + left), incumbent)
        spent += time.monotonic() - started
    return incumbent


def _stages(method: str, n_machines: int) -> tuple[tuple[str, float], ...]:
    """Which heuristic runs until which share of the time.

    Beams do best, and prove most, on few machines; with many, iterated greedy does,
    and a beam may still give it a better start.
    """
    if method != Heuristics.AUTO:
        return ((method, 1.0),)
    if n_machines <= 10:
        return ("beam", 0.5), ("ig", 0.8), ("beam", 1.0)
    return (
        ("beam", 0.1),
        ("ig", 0.6),
        ("beam", 0.8),
        ("ig", 1.0),
    )


def _path(name: str, device: str, *, strict: bool = False) -> str:
    """Return where a heuristic is; one without a function for a GPU uses the cores.

    Raises
    ------
    OptionError
        There is no such device, or, of those that are strict, no function for it.
    """
    if device not in DEVICES:
        raise OptionError(f"device: expected one of {', '.join(DEVICES)}, got {device}")
    row = HEURISTICS[name]
    path = row.gpu if device == "gpu" else row.cpu
    if path is None and strict:
        has = [kind for kind in DEVICES if getattr(row, kind) is not None]
        raise OptionError(
            f"device: expected {' or '.join(has)}, as the heuristic {name!r} has no "
            f"function for another, got {device!r}"
        )
    path = path or row.cpu
    if path is None:
        raise OptionError(f"device: expected gpu for the heuristic {name!r}, got cpu")
    return path


def _loaded(name: str, device: str) -> Heuristic:
    """Import a heuristic and load its compiled code."""
    path, _, function = _path(name, device).partition(":")
    module = import_module(path)
    if hasattr(module, "load"):
        module.load()
    heuristic: Heuristic = getattr(module, function)
    return heuristic
