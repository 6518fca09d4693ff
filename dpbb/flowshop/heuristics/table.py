"""Table of the heuristics: where each is, and what it is good for."""

from __future__ import annotations

from typing import NamedTuple

from dpbb.errors import OptionError


class Method(NamedTuple):
    """Where a heuristic is and what it is good for.

    Parameters
    ----------
    cpu, gpu
        Its function for this kind of device as ``"module:function"``; None: there is
        none. The function is a ``Heuristic``; a function ``load`` of the same module,
        if there is one, loads what it compiles.
    beside
        Whether it runs beside the tree, too: in one thread, from a given schedule, of
        which it can keep the prefix and the suffix, see ``Search.kept``.
    """

    cpu: str | None
    gpu: str | None = None
    beside: bool = False


_HERE = "dpbb.flowshop.heuristics"

HEURISTICS: dict[str, Method] = {
    "neh": Method(f"{_HERE}.plain:neh"),
    "ig": Method(f"{_HERE}.chains:iterated_greedy", beside=True),
    "vbih": Method(f"{_HERE}.chains:block_insertion", beside=True),
    "ils": Method(f"{_HERE}.chains:iterated_local_search", beside=True),
    "bub": Method(f"{_HERE}.upper_bound_first:upper_bound_first", beside=True),
    "beam": Method(f"{_HERE}.beam:beam", f"{_HERE}.beam_gpu:beam", beside=True),
    "tabu": Method(
        f"{_HERE}.tabu.search:tabu", f"{_HERE}.tabu.search:tabu_gpu", beside=True
    ),
}
"""All heuristics; the option ``heuristics`` takes these names."""

DEVICES = ("cpu", "gpu")
"""Kinds of devices that a ``Method`` may have a function for."""


def path_of(name: str, device: str, *, strict: bool = False) -> str:
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
