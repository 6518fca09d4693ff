"""The flow shop with LB1, tightened or not, for CUDA: ``lb1.cuh``, ``cascade.cuh``.

*Critical machines* are those along which alone LB1 cuts most of what it cuts.
LB1 of the child that takes job j is the greatest ``x_i + p_j,i + ... + p_j,k-1 + y_k``
of the machines i <= k, with x what the job's side has, and y what follows: the
remaining work and the other side. Over some machines alone that is a lower bound of
LB1, for as much less work as there are fewer. Which ones matter depends on the
instance: they are learned from children of nodes of its tree. No choice changes what is
explored.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import EngineUnavailable
from dpbb.flowshop.bounds import Cascade, JohnsonTables, cascade_of, machine_pairs
from dpbb.flowshop.problem import FlowShopProblem, FlowShopState
from dpbb.kernels.cuda_model import (
    NARROW_LIMIT,
    WIDE_LIMIT,
    CudaModel,
    pack_pairs,
    quads,
    words_per_pair,
)
from dpbb.options import BranchingRule
from dpbb.tree.branching import choose_back

MAX_JOBS = 800
MAX_MACHINES = 60
"""What the kernels are made for and tested with.

Device memory is no limit: 1000 jobs on 60 machines would need 3.1 GiB in the 32-bit
form.
"""


HEADER = Path(__file__).with_name("lb1.cuh")
SLOTS = 2
"""Children of a lane."""
LANES = 32

CUTS = 512
"""Children of each side that are learned from, if ``NODES`` have as many."""
NODES = 400
"""After so many nodes no further path is begun."""
CHILDREN = 8
"""Cut children that are learned from, of a node."""


class Lb1(CudaModel):
    """The flow shop with LB1.

    Parameters
    ----------
    n_jobs, n_machines
        Shape of the instance.
    wide
        True: 32-bit values; False: two 16-bit values a word.
    tightens
        Whether two-machine bounds follow: those of the problem's bound.

    Attributes
    ----------
    half
        Machines whose remaining work is stored; the others mirror them.

    Notes
    -----
    A state has fronts and backs as long as a row, then remaining work. Along few
    machines one side is bounded first: more of them take longer, fewer leave more jobs
    to be bounded on both sides. On an H200 9 of 20 machines were best with 100 jobs and
    13 with 200; other numbers of machines were not measured. A lane holds two pairs a
    machine in registers; more warps hide more latency until the compiler has to spill.
    """

    n_machines: int
    tightens: bool
    half: int

    def __init__(
        self, n_jobs: int, n_machines: int, wide: bool, tightens: bool = False
    ) -> None:
        pair = words_per_pair(wide=wide)
        half, row_words = (n_machines + 1) // 2, quads(n_machines * pair)
        words = n_machines * pair
        share = 2 if n_jobs <= 128 else 3  # of 5
        n_critical = min(n_machines, max(2, n_machines * share // 5 + 1))
        super().__init__(
            header=HEADER,
            n_jobs=n_jobs,
            wide=wide,
            row_words=row_words,
            state_words=row_words + half * pair,
            warps_wanted=16 if words <= 20 else 12 if words <= 40 else 8,
            described=f"{n_jobs} jobs on {n_machines} machines",
            defines={
                "N_MACHINES": n_machines,
                "N_CRITICAL": n_critical,
                "TIGHTENS": int(tightens),
            },
            tightening_bytes=tightens * warp_bytes(n_jobs, n_machines, wide=wide),
            slots=SLOTS,
            one_side=not wide,  # narrow values only
            n_critical=n_critical,
            side_words=quads(max(1, n_critical - 1)),
            place_bytes=8,
        )
        own = {"n_machines": n_machines, "tightens": tightens, "half": half}
        vars(self).update(own)

    @staticmethod
    def obstacle(problem: FlowShopProblem) -> str | None:
        """Why no kernels are made for the instance, at whatever upper bound."""
        n_jobs, n_machines = problem.times.shape
        if n_jobs > MAX_JOBS or n_machines > MAX_MACHINES:
            return (
                f"engine gpu takes up to {MAX_JOBS} jobs and {MAX_MACHINES} machines, "
                f"not {n_jobs} and {n_machines}"
            )
        return too_large(problem)

    @classmethod
    def of(cls, problem: FlowShopProblem, ub: int) -> Lb1:
        """Return the model for costs below ``ub``."""
        n_jobs, n_machines = problem.times.shape
        tightens = bool(cascade_of(problem.bound, n_jobs, n_machines).pairs)
        return cls(n_jobs, n_machines, needs_wide(problem, ub), tightens)

    def critical(self, problem: FlowShopProblem, ub: int) -> NDArray[np.uint32]:
        """Choose machines; see ``critical_machines``."""
        machines = critical_machines(problem, ub, self.n_critical)
        return machines.astype(np.uint32).ravel()

    def pack(
        self, problem: FlowShopProblem, order: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """See ``CudaModel``; row j: (p[j, k], p[j, m-1-k]) for all machines k."""
        times = problem.times[order].astype(np.int64)
        packed = pack_pairs(times, times[:, ::-1], wide=self.wide)
        rows = np.zeros((self.n_jobs, self.row_words), np.uint32)
        rows[:, : packed.shape[1]] = packed
        root = np.zeros(self.state_words, np.uint32)
        heads, tails = (
            least.astype(np.int64)
            for least in (problem.least_heads, problem.least_tails)
        )
        state = pack_pairs(heads, tails[::-1], wide=self.wide)
        root[: len(state)] = state
        remain = times.sum(axis=0)
        root[self.row_words :] = pack_pairs(
            remain[: self.half], remain[::-1][: self.half], wide=self.wide
        )
        cascade = cascade_of(problem.bound, self.n_jobs, self.n_machines)
        if not self.tightens:
            return rows.reshape(-1), root
        tables = tightening_tables(times, cascade)
        return np.concatenate([rows.reshape(-1), tables]), root


def largest_value(problem: FlowShopProblem, ub: int) -> int:
    """Return a value that no bound of a visited node's child passes, nor ``ub``."""
    return problem.as_text.largest(ub) + 1


def needs_wide(problem: FlowShopProblem, ub: int) -> bool:
    """Whether the 32-bit form is needed; raises if even that is too narrow."""
    reason = too_large(problem, ub)
    if reason is not None:
        raise EngineUnavailable(reason)
    return largest_value(problem, ub) >= NARROW_LIMIT


def too_large(problem: FlowShopProblem, ub: int = 0) -> str | None:
    """Return why no form is wide enough, if so; by default at whatever upper bound."""
    largest = largest_value(problem, ub)
    if largest < WIDE_LIMIT:
        return None
    return (
        f"engine gpu takes values below {WIDE_LIMIT}, they may reach {largest}; scale "
        "the processing times"
    )


def tightening_tables(times: NDArray[np.int64], cascade: Cascade) -> NDArray[np.uint32]:
    """Words that ``cascade.cuh`` reads: depths, pairs, the jobs in each pair's order.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
        Jobs in root order.
    """
    n_jobs, n_machines = times.shape
    johnson = JohnsonTables.of(times, machine_pairs(n_machines, cascade.pairs))
    n_pairs = len(johnson.pairs)
    head = np.array([cascade.first, cascade.last, n_pairs, 0], np.uint32)
    bit = np.uint32(1) << (johnson.order % 32).astype(np.uint32)
    word = johnson.order // 32
    # a negative difference keeps its 32 bits
    shift = (johnson.first - johnson.second).astype(np.int32).view(np.uint32)
    columns = [bit, word, johnson.first + johnson.lag, shift]
    if n_jobs <= 32:
        del columns[1]
    elif n_jobs <= 64:
        columns[:2] = np.where(word == 0, bit, 0), np.where(word == 1, bit, 0)
    steps = np.zeros((n_pairs, -(-n_jobs // 4) * 4, len(columns)), np.uint32)
    steps[:, :n_jobs] = np.stack(columns, axis=2)
    machines = np.zeros((n_pairs, 4), np.uint32)
    machines[:, :2] = johnson.pairs
    pairs = np.concatenate([machines, steps.reshape(n_pairs, -1)], axis=1)
    return np.concatenate([head, pairs.reshape(-1)])


def warp_bytes(n_jobs: int, n_machines: int, *, wide: bool) -> int:
    """Bytes of ``Tightening``, the shared memory of a warp."""
    ends = SLOTS * n_machines * (2 if wide else 1)
    jobs = 1 if n_jobs <= 64 else SLOTS * -(-n_jobs // 32)
    return 4 * LANES * (ends + jobs)


def critical_machines(
    problem: FlowShopProblem, ub: int, count: int
) -> NDArray[np.intp]:
    """Choose machines for each side: 0.03 to 0.2 s up to 20 machines, 0.6 s with 60.

    Parameters
    ----------
    problem, ub
        The tree: nodes with lower bounds below ``ub``.
    count
        How many machines; all where there are not more.

    Returns
    -------
    ndarray of intp, shape (2, count)
        For the front, ascending; for the back, whose machines are counted from the last
        one.
    """
    n_machines = problem.n_machines
    if count >= n_machines:
        return np.tile(np.arange(n_machines), (2, 1))
    rng = np.random.default_rng(0)
    found: tuple[list[NDArray[np.bool_]], ...] = ([], [])
    n_nodes = 0
    while n_nodes < NODES and min(map(len, found)) < CUTS:
        for back, cut in _dive(problem, ub, rng):
            found[back].extend(cut)
            n_nodes += 1
        n_nodes += 1
    return np.stack([_most_useful(cuts, n_machines, count) for cuts in found])


def _dive(
    problem: FlowShopProblem, ub: int, rng: np.random.Generator
) -> list[tuple[bool, NDArray[np.bool_]]]:
    """Follow a random path to a node without children, or with half of the jobs.

    Near the leaves there are few children to cut.

    Returns
    -------
    list of tuple
        Of each node but the root the side of its last job, and what cuts some of its
        children there: of each the machines i and k whose term does.
    """
    state, jobs, back = problem.root_state(), np.arange(problem.n_jobs), False
    cuts = []
    for depth in range(problem.n_jobs // 2):
        front = problem.child_bounds(state, jobs, back=False)
        sides = front, problem.child_bounds(state, jobs, back=True)
        if depth:
            limit = _limit(sides[back], ub)
            cut = rng.permutation(jobs[sides[back] >= limit])[:CHILDREN]
            cuts.append((back, _terms(problem, state, cut, back) >= limit))
        back = choose_back(BranchingRule.MINMIN, *sides, depth)
        is_open = np.flatnonzero(sides[back] < _limit(sides[back], ub))
        if not len(is_open):
            break
        place = int(rng.choice(is_open))
        state = problem.extend(state, int(jobs[place]), back=back)
        jobs = np.delete(jobs, place)
    return cuts


def _limit(bounds: NDArray[np.int64], ub: int) -> int:
    """Return the upper bound; where it cuts less than half, what cuts that half."""
    return min(ub, int(np.median(bounds)) + 1)


def _terms(
    problem: FlowShopProblem, state: FlowShopState, jobs: NDArray[np.intp], back: bool
) -> NDArray[np.int64]:
    """Terms of LB1 of the children with these jobs, by machine i and k."""
    ahead, after, remain = state.front, state.back, state.remain
    times = problem.times[jobs]
    if back:
        ahead, after, remain = after[::-1], ahead[::-1], remain[::-1]
        times = times[:, ::-1]
    begins = np.cumsum(times, axis=1) - times
    terms = (ahead - begins)[:, :, None] + (begins + remain + after)[:, None, :]
    return np.where(np.tri(len(ahead), dtype=np.bool_).T, terms, -1)


def _most_useful(
    cuts: list[NDArray[np.bool_]], n_machines: int, count: int
) -> NDArray[np.intp]:
    """Take out one machine after the other, always that without which most stay cut."""
    kept = np.arange(n_machines)
    if not cuts:
        return kept[np.linspace(0, n_machines - 1, count).round().astype(np.intp)]
    pairs = np.stack(cuts).astype(np.int32)
    n_pairs = int(pairs.sum())
    while len(kept) > count:
        # pairs of machines that still cut each child when one machine is gone
        own = pairs.diagonal(axis1=1, axis2=2)
        left = pairs.sum((1, 2))[:, None] - pairs.sum(1) - pairs.sum(2) + own
        worst = int(((left > 0).sum(0) + left.sum(0) / (1 + n_pairs)).argmax())
        kept = np.delete(kept, worst)
        pairs = np.delete(np.delete(pairs, worst, axis=1), worst, axis=2)
    return kept
