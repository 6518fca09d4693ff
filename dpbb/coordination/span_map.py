"""Where in [0, n!) the open work lies: a coarse map.

The map has ``N_CELLS`` cells of equal shares of n!. A unit occupies the cells that its
roots touch, so late in a run the map still shows where the last specks are.
"""

from collections.abc import Iterable, Sequence
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
    """Map of [0, n!) as an array; the inverse of ``spans_of``.

    Returns
    -------
    ndarray of uint8, shape (N_CELLS,)
        Codes of ``STATES``.
    """
    cells = np.zeros(N_CELLS, np.uint8)
    for begin, end, state in spans:
        cells[round(begin * N_CELLS) : round(end * N_CELLS)] = STATES.index(state)
    return cells


def spans_of(
    waiting: Iterable[NDArray[np.bool_]], leased: Iterable[NDArray[np.bool_]]
) -> tuple[tuple[float, float, str], ...]:
    """(begin, end, state) as shares of n!, of the cells that units touch.

    Leased wins over waiting.
    """
    codes = np.zeros(N_CELLS, np.uint8)
    for code, units in enumerate((waiting, leased), 1):
        touched = np.zeros(N_CELLS, np.bool_)
        for cells in units:
            touched |= cells
        codes[touched] = code
    borders = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), N_CELLS]
    return tuple(
        (begin / N_CELLS, end / N_CELLS, STATES[codes[begin]])
        for begin, end in pairwise(borders)
        if codes[begin]
    )
