"""Roots on their way to and from the device, in bulk, and leaves that it reports."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Candidate
from dpbb.engines.gpu.layout import LANES, NO_VALUE, PageLayout
from dpbb.errors import InvariantError
from dpbb.problem import Problem, objective_of
from dpbb.tree.packing import Packed, narrow
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpbb.engines.gpu.pool import PagePool

    Launch = Callable[[str, int, tuple[Any, ...]], None]

logger = logging.getLogger(__name__)

SORTED_BY_HOST = 200_000
"""Roots up to which the host sorts: CuPy compiles what the device sorts with, at first,
and a quarter of a second is long for a donor that others wait for."""

_prepared: set[int] = set()
"""Devices whose first long list need not wait for the compiler."""


def pages_of_unit(
    unit: WorkUnit,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.uint16]]:
    """Cut a unit into pages of at most 32 roots of one depth.

    Returns
    -------
    order : ndarray of intp, shape (r,)
        Roots by depth, then in leaf order.
    first, count, depths : ndarray, shape (n_pages,)
        First place in ``order``, number of roots and depth of every page.
    """
    order = np.argsort(unit.depths, kind="stable")
    ordered = unit.depths[order]
    new_depth = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = np.append(new_depth[1:], len(ordered))
    first = np.concatenate(
        [np.arange(a, b, LANES) for a, b in zip(new_depth, ends, strict=True)]
    )
    limit = np.concatenate(
        [np.full(-(-(b - a) // LANES), b) for a, b in zip(new_depth, ends, strict=True)]
    )
    return order, first, np.minimum(limit - first, LANES), ordered[first]


def unit_of_device_paths(
    n_jobs: int, depths: Any, digits: Any, launch: Launch
) -> WorkUnit:
    """Return roots that a device has written, sorted and packed where they are.

    A few bytes of each root then cross the bus. The host does it for short lists, and
    where the device has no memory left for it.

    Parameters
    ----------
    depths, digits : CuPy arrays of uint16, shape (r,) and (r, n_jobs)
        In any order; paths are padded with zeros.
    launch
        ``launch(kernel, threads, arguments)`` of ``transfer.cu``: a thread a row.
    """
    import cupy

    if len(depths) <= SORTED_BY_HOST:
        return WorkUnit.from_table(n_jobs, depths.get(), digits.get())[0]
    try:
        return _packed_there(n_jobs, depths, digits, launch)
    except cupy.cuda.memory.OutOfMemoryError:
        return WorkUnit.from_table(n_jobs, depths.get(), digits.get())[0]


def _packed_there(n_jobs: int, depths: Any, digits: Any, launch: Launch) -> WorkUnit:
    """Sort and pack on the device; see ``unit_of_device_paths``."""
    import cupy

    n_rows, kind = len(depths), narrow(n_jobs)
    order = cupy.lexsort(_sort_keys(n_jobs, digits[:, : int(depths.max())]))
    depths, digits = depths[order], digits[order]
    shared = cupy.empty(n_rows, kind)
    own = cupy.zeros(n_rows, np.int64)
    rows = np.uint32(n_rows)
    launch("share", n_rows, (digits, depths, rows, shared, own))
    ends = cupy.cumsum(own)
    tails = cupy.empty(int(ends[-1]), kind)
    launch("tail", n_rows, (digits, shared, ends, rows, tails))
    packed = Packed(depths.get().astype(kind), shared.get(), tails.get())
    return WorkUnit(n_jobs, packed)


def prepare_long_lists(n_jobs: int, device: int) -> None:
    """Have CuPy compile what they need, once in a process, while the device explores.

    That takes a second, in which a checkpoint would wait for the first list.
    """
    if device not in _prepared:
        _prepared.add(device)
        threading.Thread(
            target=_prepare, args=(n_jobs, device), name="dpbb-nvrtc", daemon=True
        ).start()


def _prepare(n_jobs: int, device: int) -> None:
    import cupy

    try:
        with cupy.cuda.Device(device):
            cupy.cuda.runtime.setDevice(device)  # as in ``Kernels``
            depths = cupy.asarray(np.ones(2, np.uint16))
            digits = cupy.asarray(np.zeros((2, n_jobs), np.uint16))
            _packed_there(n_jobs, depths, digits, lambda *_: None)
    except Exception as error:  # noqa: BLE001 - whoever lists meets it again
        logger.info("device %d: no long list could be prepared: %s", device, error)


def _sort_keys(n_jobs: int, digits: Any) -> Any:
    """Keys for CuPy's ``lexsort`` by path, the last one first.

    As many digits as fit are compared at once: big-endian, so in leaf order.
    """
    import cupy

    bits = 8 if n_jobs <= 256 else 16
    per_key = 64 // bits
    rows, width = digits.shape
    keys = cupy.zeros((-(-width // per_key), rows), np.uint64)
    for column in range(width):
        key = keys[len(keys) - 1 - column // per_key]
        shift = bits * (per_key - 1 - column % per_key)
        key |= digits[:, column].astype(np.uint64) << np.uint64(shift)
    return keys


def halve_pages(meta: NDArray[np.uint32], max_roots: int) -> NDArray[np.uint32]:
    """How many roots to give from each page: half, the shallowest pages first.

    Parameters
    ----------
    meta : ndarray of uint32, shape (n_pages,)
        depth << 8 | records.
    max_roots
        Most roots to give.

    Returns
    -------
    ndarray of uint32, shape (n_pages,)
        Half of every page, rounded down and up in turn over the pages with an odd
        number of records: so of many single roots every second one is given, and
        never all of them.
    """
    order = np.argsort(meta >> 8, kind="stable")
    records = (meta & 255)[order].astype(np.int64)
    odd = records % 2
    given = records // 2 + (odd & (np.cumsum(odd) % 2 == 0))
    ends = np.minimum(np.cumsum(given), max(0, max_roots))
    result = np.zeros(len(meta), np.uint32)
    result[order] = np.diff(ends, prepend=0)
    return result


def leaves_found(
    pool: PagePool, problem: Problem[Any], order: NDArray[np.intp], *, all_optima: bool
) -> list[Candidate]:
    """Leaves below the upper bound that the last launch has found.

    The best one alone, or with ``all_optima`` all that may be optimal.
    """
    control, layout = pool.control, pool.layout
    found = int(control["best"] != NO_VALUE)
    count = control["n_optima"] if all_optima else found
    if not count:
        return []
    words = pool.memory.leaves[: count * layout.leaf_words].get()
    leaves = words.reshape(count, layout.leaf_words)
    if all_optima:
        leaves = leaves[leaves[:, 0] < control["ub"]]
    return [candidate_of_leaf(leaf, layout, problem, order) for leaf in leaves]


def candidate_of_leaf(
    leaf: NDArray[np.uint32],
    layout: PageLayout,
    problem: Problem[Any],
    order: NDArray[np.intp],
) -> Candidate:
    """Rebuild the permutation from digits and directions, and check its cost.

    Parameters
    ----------
    leaf : ndarray of uint32, shape (leaf_words,)
        Value, unscheduled jobs, directions, path, as in ``pages.cuh``.
    order : ndarray of intp, shape (n_jobs,)
        Root order.

    Raises
    ------
    InvariantError
        The device gave another value than ``problem.evaluate``.
    """
    prefix, middle, suffix = _sides(leaf, layout, order, layout.n_jobs - 1)
    permutation = np.array(prefix + middle + suffix, np.intp)
    value = int(leaf[0])
    exact = problem.evaluate(permutation)
    if exact != value:
        raise InvariantError(
            f"the device gave {value} to a permutation of {objective_of(problem)} "
            f"{exact}"
        )
    return Candidate(value, permutation)


def nodes_promoted(
    rows: NDArray[np.uint32], layout: PageLayout, order: NDArray[np.intp], most: int
) -> list[tuple[list[int], list[int]]]:
    """Prefix and suffix of the best of the nodes in hand that a device has completed.

    Parameters
    ----------
    rows : ndarray of uint32, shape (n_warps, leaf_words)
        As leaves are reported; a value of ``NO_VALUE`` is none.
    order : ndarray of intp, shape (n_jobs,)
        Root order.
    most
        So many at most.
    """
    rows = rows[rows[:, 0] != NO_VALUE]
    best = rows[np.argsort(rows[:, 0], kind="stable")[:most]]
    nodes = []
    for row in best:
        left = int(np.bitwise_count(row[1 : 1 + layout.mask_words]).sum())
        prefix, _, suffix = _sides(row, layout, order, layout.n_jobs - left)
        nodes.append((prefix, suffix))
    return nodes


def _sides(
    leaf: NDArray[np.uint32], layout: PageLayout, order: NDArray[np.intp], depth: int
) -> tuple[list[int], list[int], list[int]]:
    """Prefix, unscheduled jobs in root order and suffix of a node of this depth."""
    directions = leaf[1 + layout.mask_words :]
    path = leaf[1 + layout.path_at - layout.mask_at :]
    digits = path.view(np.uint8 if layout.digit_bits == 8 else np.uint16)
    unscheduled = order.tolist()
    prefix: list[int] = []
    suffix: list[int] = []
    for level in range(depth):
        back = int(directions[level // 32]) >> level % 32 & 1
        (suffix if back else prefix).append(unscheduled.pop(int(digits[level])))
    return prefix, unscheduled, suffix[::-1]
