"""Where in [0, n!) the open work lies: a coarse map, kept up to date unit by unit.

The map has ``N_CELLS`` cells of equal shares of n!. A unit occupies the cells that its
roots touch, so late in a run the map still shows where the last specks are. Cells are
counted in integers: floats added and taken away would leave ghosts behind.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.tree.work_unit import WorkUnit

N_CELLS = 240

STATES = ("finished", "waiting", "leased")
"""What a cell may be; its code is the place in here."""

_LEVELS = 16  # n^-16 of the width is far below a cell, unless n is tiny
_FEW = 4
_SLACK = 1e-9  # of a cell: rounding must not push a root into its neighbor


def cells_of(unit: WorkUnit) -> NDArray[np.bool_]:
    """Cells that the unit's roots touch.

    Returns
    -------
    ndarray of bool, shape (N_CELLS,)
    """
    from dpbb.tree.packed_paths import touch_cells

    levels = min(unit.n_jobs, _LEVELS)
    sizes = np.arange(unit.n_jobs, unit.n_jobs - levels, -1.0)
    widths = N_CELLS / np.cumprod(np.concatenate([[1.0], sizes]))
    edges = np.zeros(N_CELLS + 1, np.int64)
    touch: Any = touch_cells
    if len(unit) <= _FEW:  # a run must not wait for a compiler at its start
        touch = touch.in_python
    touch(unit.paths, widths, _SLACK, edges)
    return edges.cumsum()[:-1] > 0


def states_of(spans: Sequence[tuple[float, float, str]]) -> NDArray[np.uint8]:
    """Map of [0, n!) as an array; the inverse of ``SpanMap.spans``.

    Returns
    -------
    ndarray of uint8, shape (N_CELLS,)
        Codes of ``STATES``.
    """
    cells = np.zeros(N_CELLS, np.uint8)
    for begin, end, state in spans:
        cells[round(begin * N_CELLS) : round(end * N_CELLS)] = STATES.index(state)
    return cells


class SpanMap:
    """How many waiting and how many leased units touch each cell."""

    def __init__(self) -> None:
        self._units = {
            "waiting": np.zeros(N_CELLS, np.int64),
            "leased": np.zeros(N_CELLS, np.int64),
        }

    def add(self, state: str, cells: NDArray[np.bool_], times: int = 1) -> None:
        """Count a unit in; with ``times`` of -1 out again."""
        self._units[state] += cells * times

    def spans(self) -> tuple[tuple[float, float, str], ...]:
        """(begin, end, state) as shares of n!; leased wins over waiting."""
        state = np.where(
            self._units["leased"] > 0, 2, np.where(self._units["waiting"] > 0, 1, 0)
        )
        borders = [0, *(np.flatnonzero(np.diff(state)) + 1).tolist(), N_CELLS]
        return tuple(
            (begin / N_CELLS, end / N_CELLS, STATES[state[begin]])
            for begin, end in pairwise(borders)
            if state[begin]
        )
