"""VBIH: variable block insertion, on all cores.

Source: Kizilay, Tasgetiren, Pan and Gao, Algorithms 12(5):100, 2019: take some
consecutive jobs out, search locally without them, insert them together at the best
place, search locally again, accept as at a constant temperature. Differences: the
size of the block is random; local search and chains as in ``iterated_greedy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.flowshop.heuristics.chain import BLOCK, Moves
from dpbb.flowshop.heuristics.chains import load, run_chains

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent

__all__ = ["block_insertion", "load"]


def block_insertion(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) until a limit or the lower bound."""
    return run_chains(search, start, Moves(BLOCK, removed=6), "vbih")
