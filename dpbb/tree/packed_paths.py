"""Compiled work on packed paths, one after the other.

A seat may hold millions of roots. Packed (``dpbb.tree.work_unit``) they are a few bytes
each, and a path differs from the one before in few digits. So each of these goes over
the paths once and keeps the digits of one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbb.kernels.compiling import int64, quick_entry
from dpbb.tree.work_unit import Narrow, Packed

FINE, OUT_OF_ORDER, OUT_OF_RANGE = range(3)
"""What ``survey`` finds of a row."""

LONGEST = 1 << 16
"""No path is longer."""


@quick_entry
def survey(paths: Packed, n_jobs: int) -> tuple[int, int, int]:
    """Check order and digits of paths; sum up their trailing zero digits.

    A root of depth d ends before the next begins iff the first digit in which the next
    one's path differs is larger and lies above depth d.

    Returns
    -------
    verdict, row, zeros : int
        FINE, or what is wrong with which row: its order, or a digit of it. Of ordered,
        disjoint paths also their trailing zeros (law 4).
    """
    depths, shared, tails = paths
    path = np.zeros(n_jobs + 1, np.int64)
    run = np.zeros(n_jobs + 1, np.int64)  # trailing zeros of the first digits
    before, at, total = int64(0), int64(0), int64(0)
    for row in range(len(depths)):
        depth, keeps = int64(depths[row]), int64(shared[row])
        if row and (keeps in (depth, before) or int64(tails[at]) <= path[keeps]):
            return OUT_OF_ORDER, row, 0
        for level in range(keeps, depth):
            digit = int64(tails[at])
            if digit >= n_jobs - level:
                return OUT_OF_RANGE, row, 0
            path[level] = digit
            run[level + 1] = 0 if digit else run[level] + 1
            at += 1
        total += run[depth]
        before = depth
    return FINE, 0, total


@quick_entry
def find_homes(paths: Packed, others: Packed, homes: NDArray[np.int64]) -> None:
    """Say for every path which of some others it is, or lies below.

    Both are ordered and disjoint, so this is one walk along both, as in a merge.

    Parameters
    ----------
    homes : ndarray of int64, shape (r,)
        To be filled: index of the other one, or -1.
    """
    depths, shared, tails = paths
    other_depths, other_shared, other_tails = others
    width = int64(0)
    for row in range(len(depths)):
        width = max(width, int64(depths[row]))
    for row in range(len(other_depths)):
        width = max(width, int64(other_depths[row]))
    path, other = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    row, at = int64(-1), int64(0)
    index, other_at = int64(-1), int64(0)
    alike = int64(0)  # so many first digits of both paths are known to be equal
    take, take_other = True, True
    while True:
        if take:
            row += 1
            if row >= len(depths):
                return
            for level in range(int64(shared[row]), int64(depths[row])):
                path[level] = int64(tails[at])
                at += 1
            alike = min(alike, int64(shared[row]))
            homes[row] = -1
        if take_other:
            index += 1
            if index >= len(other_depths):
                for left in range(row, len(depths)):
                    homes[left] = -1
                return
            first = int64(other_shared[index])
            for level in range(first, int64(other_depths[index])):
                other[level] = int64(other_tails[other_at])
                other_at += 1
            alike = min(alike, first)
        depth, other_depth = int64(depths[row]), int64(other_depths[index])
        least = min(depth, other_depth)
        while alike < least and path[alike] == other[alike]:
            alike += 1
        if alike < least:  # they part: the one that comes first goes on
            take_other = other[alike] < path[alike]
            take = not take_other
        else:  # one is above the other, or they are the same
            if other_depth <= depth:
                homes[row] = index
            take, take_other = True, False


@quick_entry
def touch_cells(
    paths: Packed, widths: NDArray[np.float64], slack: float, edges: NDArray[np.int64]
) -> None:
    """Count where the intervals of leaves of paths begin and end on a map of cells.

    Parameters
    ----------
    widths : ndarray of float64, shape (levels + 1,)
        Cells that a subtree at each depth is wide; deeper digits are left out.
    slack
        Part of a cell by which begins and ends are moved inside.
    edges : ndarray of int64, shape (n_cells + 1,)
        One more where an interval begins, one less after the cell in which it ends.
    """
    depths, shared, tails = paths
    levels, most = len(widths) - 1, np.float64(len(edges) - 2)
    begins = np.zeros(levels + 1, np.float64)
    at = int64(0)
    for row in range(len(depths)):
        keeps, depth = int64(shared[row]), int64(depths[row])
        for level in range(keeps, min(depth, levels)):
            digit = np.float64(tails[at + level - keeps])
            begins[level + 1] = begins[level] + digit * widths[level + 1]
        at += depth - keeps
        last_level = min(depth, levels)
        begin = begins[last_level]
        first = int64(min(max(begin + slack, 0.0), most))
        end = begin + widths[last_level] - slack
        last = int64(min(max(end, np.float64(first)), most))
        edges[first] += 1
        edges[last + 1] -= 1


@quick_entry
def spread(paths: Packed, digits: NDArray[np.uint16]) -> None:
    """Write paths as a table of digits, padded with zeros.

    Parameters
    ----------
    digits : ndarray of uint16, shape (r, w)
        The table, to be filled.
    """
    depths, shared, tails = paths
    at = int64(0)
    for row in range(len(depths)):
        keeps, depth = int64(shared[row]), int64(depths[row])
        for level in range(keeps):
            digits[row, level] = digits[row - 1, level]
        for level in range(keeps, depth):
            digits[row, level] = tails[at]
            at += 1
        for level in range(depth, digits.shape[1]):
            digits[row, level] = 0


@quick_entry
def gather(
    depths: Narrow, digits: NDArray[np.uint16], shared: Narrow, tails: Narrow
) -> int:
    """Pack a table of digits; return the length of the tails.

    Parameters
    ----------
    digits : ndarray of uint16, shape (r, w)
        Ordered, disjoint paths: each differs from the one before.
    shared, tails
        To be filled; there is room for all digits.
    """
    at = int64(0)
    for row in range(len(depths)):
        keeps, depth = int64(0), int64(depths[row])
        if row:
            last = digits.shape[1] - 1
            while keeps < last and digits[row, keeps] == digits[row - 1, keeps]:
                keeps += 1
        shared[row] = keeps
        for level in range(keeps, depth):
            tails[at] = digits[row, level]
            at += 1
    return int(at)


@quick_entry
def select(
    paths: Packed, rows: NDArray[np.int64], taken_shared: Narrow, taken_tails: Narrow
) -> int:
    """Take some paths, packed again; return the length of their tails.

    Parameters
    ----------
    rows : ndarray of int64, shape (k,)
        Which of them, ascending.
    taken_shared, taken_tails
        To be filled; for the tails there is room for as many as there were.
    """
    depths, shared, tails = paths
    at, done, filled = int64(0), int64(0), int64(0)
    path = np.empty(LONGEST, np.uint16)
    alike = int64(0)  # so many first digits are those of the path taken last
    for row in range(len(depths)):
        if done == len(rows):
            break
        keeps, depth = int64(shared[row]), int64(depths[row])
        for level in range(keeps, depth):
            path[level] = tails[at]
            at += 1
        alike = min(alike, keeps)
        if row == rows[done]:
            taken_shared[done] = alike
            for level in range(alike, depth):
                taken_tails[filled] = path[level]
                filled += 1
            alike = depth
            done += 1
    return int(filled)


@quick_entry
def merge(paths: Packed, others: Packed, both: Packed) -> int:
    """Put two sets of paths in order; return the length of their tails.

    Parameters
    ----------
    paths, others
        Where they are not disjoint, ``survey`` finds the result out of order.
    both
        To be filled; for the tails there is room for those of both.

    Notes
    -----
    Both next paths come after the one that was written last. The one that shares more
    of its first digits with that one comes first, and of those that share as many the
    first digit beyond decides (the merge of sorted strings by lengths of common
    prefixes: Ng and Kakehi 2008). So hardly a digit is looked at twice.
    """
    depths, shared, tails = paths
    other_depths, other_shared, other_tails = others
    all_depths, all_shared, all_tails = both
    path = np.empty((2, LONGEST), np.uint16)
    alike = np.zeros(2, np.int64)  # digits shared with the path that was written last
    rows, ats = np.full(2, -1, np.int64), np.zeros(2, np.int64)
    n_rows = np.array([len(depths), len(other_depths)])
    reads = np.ones(2, np.int64)
    filled = int64(0)
    for written in range(len(depths) + len(other_depths)):
        for side in range(2):
            if not reads[side]:
                continue
            reads[side] = 0
            rows[side] += 1
            row, at = rows[side], ats[side]
            if row >= n_rows[side]:
                continue
            depth = int64(depths[row] if side == 0 else other_depths[row])
            keeps = int64(shared[row] if side == 0 else other_shared[row])
            for level in range(keeps, depth):
                path[side, level] = tails[at] if side == 0 else other_tails[at]
                at += 1
            ats[side] = at
            # it was the path before on its side that was written last
            alike[side] = keeps
        if rows[0] >= n_rows[0]:
            side = int64(1)
        elif rows[1] >= n_rows[1] or alike[0] > alike[1]:
            side = int64(0)
        elif alike[0] < alike[1]:
            side = int64(1)
        else:
            level = alike[0]
            least = min(int64(depths[rows[0]]), int64(other_depths[rows[1]]))
            while level < least and path[0, level] == path[1, level]:
                level += 1
            side = int64(path[0, level] > path[1, level])
            # the other one shares these with the path that is written now
            alike[1 - side] = level
        depth = int64(depths[rows[0]] if side == 0 else other_depths[rows[1]])
        all_depths[written] = depth
        all_shared[written] = alike[side]
        for level in range(alike[side], depth):
            all_tails[filled] = path[side, level]
            filled += 1
        reads[side] = 1
    return int(filled)


def prepare() -> None:
    """Compile what reports and lost leases need, so that the first need not wait."""
    none, cells = np.zeros(0, np.uint8), np.zeros(2, np.int64)
    paths, table = Packed(none, none, none), np.zeros((0, 1), np.uint16)
    survey(paths, 1)
    find_homes(paths, paths, cells[:0])
    touch_cells(paths, np.ones(1), 0.0, cells)
    spread(paths, table)
    gather(none, table, none, none)
    select(paths, cells[:0], none, none)
    merge(paths, paths, paths)
