"""Makespans of all neighbours of a permutation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.heuristics.tabu.search import (
    choose_device,
    make_rules,
    make_searches,
    make_starts,
)
from dpbb.flowshop.heuristics.tabu.state import Neighbourhood, State

__all__ = ["insertion_makespans", "swap_makespans"]


def swap_makespans(
    instance: Any,  # whatever names an instance
    permutation: Any,
    *,
    device: str = "cpu",
) -> NDArray[np.int32]:
    """Return the makespans after every exchange of two jobs.

    Parameters
    ----------
    instance
        A ``FlowShopInstance``, or what ``dpbb.read_instance`` reads.
    permutation
        All jobs, in the order of processing.
    device
        ``"cpu"``, ``"gpu"`` or ``"auto"``.

    Returns
    -------
    ndarray of int32, shape (n_jobs * (n_jobs - 1) // 2,)
        Of the positions i < j row by row: (0, 1), (0, 2), ..., (n - 2, n - 1).

    Raises
    ------
    InstanceError, OptionError, EngineUnavailable
        As ``dpbb.tabu_search``.
    """
    return _values(instance, permutation, Neighbourhood.SWAP, device)


def insertion_makespans(
    instance: Any, permutation: Any, *, device: str = "cpu"
) -> NDArray[np.int32]:
    """Return the makespans after every move of one job to another place.

    Parameters as of ``swap_makespans``.

    Returns
    -------
    ndarray of int32, shape (n_jobs * (n_jobs - 1),)
        Row by row: of the job at place i all other places 0, 1, ..., n - 1 where it
        stands afterwards.
    """
    return _values(instance, permutation, Neighbourhood.INSERT, device)


def _values(
    instance: Any, permutation: Any, neighbourhood: Neighbourhood, device: str
) -> NDArray[np.int32]:
    shop = read_instance(instance)
    rules = make_rules(shop, neighbourhood=neighbourhood)
    state = State.of(rules, make_starts(shop, permutation, 1, 0), 1)
    searches = make_searches(rules, state, choose_device(device))
    return searches.neighbours()[: rules.n_neighbours].astype(np.int32)
