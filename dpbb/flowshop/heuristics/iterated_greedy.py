"""IG_all: iterated greedy with local search on partial sequences, on all cores.

Source: Dubois-Lacoste, Pagnozzi and Stuetzle, Computers & Operations Research 81,
2017, after Ruiz and Stuetzle, EJOR 177(3), 2007: take two random jobs out, search
locally without them, put them back one by one, search locally again, accept as at a
constant temperature. Differences: the local search looks at many jobs at a time and
makes the best move; one chain per thread, see ``chains``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.flowshop.heuristics.chain import JOBS, Moves
from dpbb.flowshop.heuristics.chains import load, run_chains

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent

__all__ = ["iterated_greedy", "load"]


def iterated_greedy(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) until a limit or the lower bound."""
    return run_chains(search, start, Moves(JOBS, removed=2), "ig")
