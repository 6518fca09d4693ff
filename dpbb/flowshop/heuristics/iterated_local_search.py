"""Iterated local search with recursive k-insert, on all cores.

Source: Deroussi, Gourgand and Norre, *New effective neighborhoods for the permutation
flow shop problem*, 2006: k jobs in turn are taken out and each reinserted at its best
place, from the sequence that the ones before have changed. Differences: the place must
be another one, so that this is what leaves a local optimum; k is random; local search
and chains as in ``iterated_greedy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.flowshop.heuristics.chain import RECURSIVE, Moves
from dpbb.flowshop.heuristics.chains import load, run_chains

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent

__all__ = ["iterated_local_search", "load"]


def iterated_local_search(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) until a limit or the lower bound."""
    return run_chains(
        search, start, Moves(RECURSIVE, removed=3, temperature=0.5), "ils"
    )
