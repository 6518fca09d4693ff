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

__all__ = ["swap_makespans"]


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
    shop = read_instance(instance)
    starts = make_starts(shop, permutation, 1, 0)
    searches = make_searches(make_rules(shop), starts, 1, choose_device(device))
    return searches.neighbours().astype(np.int32)
