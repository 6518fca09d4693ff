"""One unit's exploration on one CUDA device.

The host does little: it writes the upper bound, launches the kernel that explores for a
part of the slice, reads the counters. Open nodes stay in device memory.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Candidate, Session, Slice
from dpbb.engines.gpu.control import DeviceError, Orders, on_device
from dpbb.engines.gpu.layout import CONTROL, COUNTERS, NO_VALUE, PageLayout
from dpbb.engines.gpu.memory import LEAST_WARPS, MemoryPlan, Packed, allocate
from dpbb.engines.gpu.pool import SORTED_BY_HOST, WALK_CLAIM, Arm, PagePool
from dpbb.errors import InvariantError
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem, kinds_in_order, objective_of, sides_of
from dpbb.tree.branching import order_of
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from dpbb.engines.gpu.kernels import Kernels

logger = logging.getLogger(__name__)

SLICE_S = 0.4
"""Length of a slice.

Every end of a launch cuts the explorers' depth-first searches short: slices of 50 ms
cost 8 to 9 % against 200 ms (H100; 30 to 200 jobs). What is wanted of a seat meanwhile
interrupts a slice; only its own better permutations wait for the end.
"""
LAUNCH_S = 1.0
"""Longest launch."""
RAMP_S = 0.05
"""Longest launch while there is not work for all explorers; nothing interrupts it."""
LEAST_LAUNCH_S = 0.0005
"""Shortest launch: some work is done even in a slice of no time."""
SHRINKING_S = 0.1
"""Longest launch that leaves few open roots; after each of them they are counted."""
SHRINKING_GAIN = 0.97
"""A launch that leaves a larger share of them open is the last one of these."""
PLENTY_PAGES = 2
"""With so many pages of open nodes for each explorer there is work for all."""
MANY_JOBS = 100
"""From so many jobs on a tree is not explored from the first schedule outwards.

On one H200 (``dpbb solve NAME --engine gpu --workers 1``) ta056 took 42.7 to 48.4 s so,
and 56.5 to 65.7 in the order in which launches leave their nodes, four runs each: 3679
was found after 12 to 15 s of the tree, not after 36 to 47. Hard trees of many jobs end
only by a schedule that is as good as their bound, and what is far from the first had
better have its turn: ta101 ended after 10 s of its tree, and did not in 24 s from the
schedule outwards.
"""


def _ordered_sides(problem: Problem[Any], tree: TreeOptions) -> int:
    """How many sides a tree branches on that is explored from a schedule outwards.

    None with equal jobs side by side: that order is no schedule's. One that an option
    gives is taken for a schedule's; it is a matter of time alone.
    """
    if problem.n_jobs >= MANY_JOBS or tree.root_order is None or tree.skips_copies:
        return 0
    return len(sides_of(problem))


class GpuSession(Session):
    """See ``dpbb.engines.base.Session``.

    Attributes
    ----------
    kernels
        What explores.
    slice_s
        Seconds of a slice.
    statistics
        What the bench shows.

    Parameters
    ----------
    problem, tree
        What is explored.
    kernels
        Compiled for it.
    arm
        The way of balancing that they are compiled for.
    ub
        Initial upper bound.
    all_optima
        Whether all optimal permutations are reported.
    tuning
        Choices that change no count.
    """

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        kernels: Kernels,
        arm: type[Arm],
        *,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> None:
        import cupy

        self.kernels = kernels
        self.statistics: dict[str, float] = {}
        self._problem = problem
        self._order = order_of(tree, problem.n_jobs)
        self._all_optima = all_optima
        self._pending: list[WorkUnit] = []
        self._owned = 0
        self._orders = Orders(kernels.device)
        self.slice_s = tuning.slice_s or SLICE_S
        self._arm: Arm | None = None
        with cupy.cuda.Device(kernels.device):
            self._stream = cupy.cuda.Stream(non_blocking=True)
        shape = kernels.shape
        with self._device():
            kinds = kinds_in_order(problem, tree)
            words = critical = np.zeros(0, np.uint32)
            if kinds is not None:
                words = shape.pages.equal_words(kinds)
            if shape.one_side and kernels.exploration.one_side:
                critical = shape.model.critical(problem, ub)
            packed = Packed(*shape.model.pack(problem, self._order), critical, words)

            def make(plan: MemoryPlan) -> Arm:
                pool = PagePool(
                    kernels,
                    packed,
                    plan,
                    self._stream,
                    ub=ub,
                    branching_ub=tree.branching_ub,
                    all_optima=all_optima,
                    sides=_ordered_sides(problem, tree),
                )
                return arm(kernels, pool, plan)

            room = arm.wanted_warps(kernels, tuning.explorers)
            plan = partial(arm.plan, shape, all_optima=all_optima)
            self._arm = allocate(plan, make, room, min(shape.warps, LEAST_WARPS))
            logger.info(
                "device %d: %s; %d warps, %d pages",
                kernels.device,
                shape.described,
                self._arm.n_warps,
                self._arm.pool.n_pages,
            )
        self._tell_if_fewer(self._arm, room, tuning.explorers)

    def _tell_if_fewer(self, arm: Arm, room: int, asked: int | None) -> None:
        """Log if there are fewer explorers than were asked for, or than could be."""
        there, most = (
            arm.explorers_per_warp * n_warps for n_warps in (arm.n_warps, room)
        )
        wanted = most if asked is None else asked
        if there < wanted:
            logger.warning(
                "device %d has %d explorers instead of %d: %s",
                self.kernels.device,
                there,
                wanted,
                "no more fit its free memory"
                if there < most
                else "it holds no more at a time",
            )

    def interrupt(self) -> None:
        """End the slice under way soon; from any thread."""
        self._orders.interrupt()

    def _require_open(self) -> Arm:
        if self._arm is None:
            raise ValueError("expected an open session, got a closed one")
        return self._arm

    def _device(self) -> AbstractContextManager[None]:
        return on_device(self.kernels.device, self._stream, self._lose_memory)

    def _lose_memory(self) -> None:
        self._arm = None

    # -- the protocol -----------------------------------------------------------------

    def load(self, unit: WorkUnit) -> None:
        """Add roots; they are walked to at the next slice."""
        self._require_open()
        if unit.n_jobs != self._problem.n_jobs:
            raise ValueError(
                f"expected a unit of {self._problem.n_jobs} jobs, got {unit.n_jobs}"
            )
        if len(unit):
            self._pending.append(unit)
            # counted at once: a root may be given away before it is walked to, and
            # whoever exports it subtracts them
            self._owned += unit.owned_ancestors

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Explore for about ``max_seconds``; see ``Session.advance``."""
        arm = self._require_open()
        began = time.monotonic()
        control = arm.pool.control
        control["ub"] = call_ub = min(control["ub"], ub)
        totals = np.zeros(1, CONTROL)
        found: list[Candidate] = []
        shrinks = most_roots is not None
        before = math.inf
        open_roots, least = 0, None
        with self._device():
            counted = arm.pool.memory.closed
            counted.data.memset_async(0, counted.nbytes, self._stream)
            while True:
                self._load_pending(arm, totals)
                if arm.explores:
                    deadline = began + max_seconds
                    self._explore_until(arm, deadline, totals, shrinks=shrinks)
                    found += self._leaves_found(arm)
                if most_roots is not None and arm.explores and not self._pending:
                    left, _ = arm.survey()
                    if left <= max(most_roots, 0) or left > SHRINKING_GAIN * before:
                        break
                    before = left
                if not arm.explores and not self._pending:
                    break
                if time.monotonic() - began >= max_seconds:
                    break
                if self._orders.interrupted and not shrinks:
                    break
            if arm.explores:
                open_roots, least = arm.survey()
                if open_roots > SORTED_BY_HOST // 2:
                    arm.pool.prepare_long_lists()
            closed = counted.get().astype(np.int64)
        self._orders.clear()
        self._note(arm, totals)
        nodes = int(totals["decomposed"][0].astype(np.int64))
        owned, self._owned = self._owned, 0
        best = min(found, key=lambda leaf: leaf.value, default=None)
        best = best if best is not None and best.value < call_ub else None
        optima = tuple(
            leaf
            for leaf in found
            if self._all_optima and best and leaf.value == best.value
        )
        return Slice(
            decomposed=owned + nodes,
            leaves=int(totals["leaves"][0]),
            closed=closed,
            best=best,
            open_roots=open_roots + sum(map(len, self._pending)),
            least_lb=None if self._pending else least,
            exhausted=not arm.explores and not self._pending,
            optima=optima,
        )

    def donate(self, max_roots: int) -> WorkUnit:
        """Remove about half of the open roots of every depth, shallowest first.

        Roots that are with explorers are taken from them, and those that stay are
        loaded anew: a stack with gaps would not be an interval.
        """
        arm = self._require_open()
        with self._device():
            held = arm.held()
            if len(held):
                self._pending.append(held)
                arm.drop_held()
        given = [WorkUnit.empty(self._problem.n_jobs)]
        if self._pending:
            kept, part = WorkUnit.concatenate(self._pending).donate(max_roots)
            self._pending = [kept] if len(kept) else []
            given.append(part)
            max_roots -= len(part)
        if arm.pool.size and max_roots > 0:
            with self._device():
                given.append(arm.pool.give(max_roots))
        return WorkUnit.concatenate(given)

    def remaining(self) -> WorkUnit:
        """All open roots; changes nothing."""
        arm = self._require_open()
        units = list(self._pending)
        with self._device():
            if arm.pool.size:
                units.append(arm.pool.roots())
            held = arm.held()
        if len(held) or not units:
            units.append(held)
        return units[0] if len(units) == 1 else WorkUnit.concatenate(units)

    def clear(self) -> None:
        """Forget all open roots; see ``Clears``."""
        arm = self._require_open()
        self._pending, self._owned = [], 0
        with self._device():
            arm.drop_held()
            arm.pool.clear()

    def close(self) -> None:
        """Free device memory; idempotent."""
        if self._arm is None:
            return
        import cupy

        self._arm = None
        with cupy.cuda.Device(self.kernels.device):
            cupy.get_default_memory_pool().free_all_blocks()

    # -- a slice ----------------------------------------------------------------------

    def _load_pending(self, arm: Arm, totals: NDArray[Any]) -> None:
        """Put pending roots into the pool, as many as there are pages for."""
        if not self._pending:
            return
        free = arm.budget.loadable(arm.pool.free_pages, explores=arm.explores)
        if free <= WALK_CLAIM and arm.explores:
            return
        unit = WorkUnit.concatenate(self._pending)
        rest = arm.pool.load(unit, free, totals)
        self._pending = [rest] if len(rest) else []
        if rest is unit and not arm.explores:
            raise DeviceError("no page of device memory is left to load roots into")

    def _explore_until(
        self, arm: Arm, deadline: float, totals: NDArray[Any], *, shrinks: bool
    ) -> None:
        """Launch once; an interrupt shortens the launch while there is work for all.

        None shortens one that shrinks: what is wanted comes after it.
        """
        plenty = self._is_saturated(arm) and not shrinks
        most = LAUNCH_S if plenty else SHRINKING_S if shrinks else RAMP_S
        left = max(min(most, deadline - time.monotonic()), LEAST_LAUNCH_S)
        if plenty and self._orders.interrupted:
            left = LEAST_LAUNCH_S
        orders = self._orders if plenty else None
        arm.launch(left, totals, orders, shrinks=shrinks)

    def _leaves_found(self, arm: Arm) -> list[Candidate]:
        """Leaves below the upper bound that the last launch has found.

        The best one alone, or with all optima every one that may be optimal.
        """
        control, layout = arm.pool.control, arm.pool.layout
        found = int(control["best"] != NO_VALUE)
        count = control["n_optima"] if self._all_optima else found
        if not count:
            return []
        words = arm.pool.memory.leaves[: count * layout.leaf_words].get()
        leaves = words.reshape(count, layout.leaf_words)
        if self._all_optima:
            leaves = leaves[leaves[:, 0] < control["ub"]]
        return [
            candidate_of_leaf(leaf, layout, self._problem, self._order)
            for leaf in leaves
        ]

    @staticmethod
    def _is_saturated(arm: Arm) -> bool:
        return arm.pool.size >= PLENTY_PAGES * arm.n_warps

    def _note(self, arm: Arm, totals: NDArray[Any]) -> None:
        """Add up what the bench shows."""
        for name in COUNTERS:
            value = float(totals[name][0].astype(np.int64))
            self.statistics[name] = self.statistics.get(name, 0.0) + value
        self.statistics["n_warps"] = arm.n_warps
        self.statistics["block_size"] = self.kernels.shape.threads
        self.statistics["registers"] = self.kernels.registers
        self.statistics["spilled_bytes"] = self.kernels.spilled_bytes
        self.statistics |= arm.statistics


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
    directions = leaf[1 + layout.mask_words :]
    path = leaf[1 + layout.path_at - layout.mask_at :]
    digits = path.view(np.uint8 if layout.digit_bits == 8 else np.uint16)
    unscheduled = order.tolist()
    prefix: list[int] = []
    suffix: list[int] = []
    for level in range(layout.n_jobs - 1):
        back = int(directions[level // 32]) >> level % 32 & 1
        (suffix if back else prefix).append(unscheduled.pop(int(digits[level])))
    permutation = np.array(prefix + unscheduled + suffix[::-1], np.intp)
    value = int(leaf[0])
    exact = problem.evaluate(permutation)
    if exact != value:
        raise InvariantError(
            f"the device gave {value} to a permutation of {objective_of(problem)} "
            f"{exact}"
        )
    return Candidate(value, permutation)
