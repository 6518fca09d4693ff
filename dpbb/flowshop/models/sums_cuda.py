"""Flow shops with sums of costs on the GPU: all children of a node at once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.shop import FlowShop
from dpbb.modeling import Model
from dpbb.modeling.cuda import TextModel, header_of, kept

MOST_JOBS = 64
"""More have columns beyond shared memory, and sets in more than two words."""

SOURCE = Path(__file__).with_name("sums.cuh")


def serves(problem: FlowShop) -> bool:
    """Whether there is such a form of what is minimized."""
    sums = problem.ordered or problem.tardy or problem.counted
    plain = not (problem.set_up or problem.lagged or "absent" in problem.text.sources)
    return bool(sums and plain and problem.n_jobs <= MOST_JOBS)


class SumsOnGpu(FlowShop, own=False):
    """The same costs and bounds, of nodes that hold their ends and their cost alone.

    What is sorted comes in an order that is fixed: a step for each job on each machine,
    not a list in every node.
    """

    by_rule: int
    paired: int
    late: int
    in_order: NDArray[np.int64]
    by_early: NDArray[np.int64]
    by_weight: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Model) -> SumsOnGpu:
        """Return this form of a flow shop."""
        assert isinstance(problem, FlowShop)  # noqa: S101
        found = object.__new__(cls)
        vars(found).update(problem.__getstate__())
        found.by_rule, found.paired = problem.ordered, problem.tardy
        found.late = problem.counted
        found.ordered = found.matched = found.counted = 0
        found.state = {"ends": problem.n_stages, "cost": None}  # type: ignore[misc]
        found.sums = {}  # type: ignore[misc]
        weights = problem.weights.tolist() if problem.ordered else [1] * problem.n_jobs
        found.in_order = np.array(
            [_by_ratio(times, weights) for times in problem.times.T.tolist()]
        )
        found.by_early = np.argsort(problem.early, axis=0, kind="stable").T
        found.by_weight = np.argsort(problem.weights, kind="stable")[None]
        return found

    def node_bound(self, node: Any) -> int:
        """Cost so far, and the largest that one machine says of the jobs left."""
        most = 0
        for k in range(self.n_stages):
            rest = 0
            at = node.ends[k]
            if self.by_rule:
                for other in self.in_order[k]:
                    if other in node.left:
                        at += self.times[other][k]
                        rest += self.weights[other] * at + self.later[other][k]
            if self.paired:
                rank = 0
                for other in self.in_order[k]:
                    if other in node.left:
                        at += self.times[other][k]
                        seen = 0
                        for date in self.by_early[k]:
                            if date in node.left:
                                if seen == rank:
                                    rest += max(0, at - self.early[date][k])
                                seen += 1
                        rank += 1
                if self.weighted:
                    rest *= self.lightest[0]
            if self.late:
                rank = 0
                for date in self.by_early[k]:
                    if date in node.left:
                        rank += 1
                        late = rank
                        seen = 0
                        at = node.ends[k]
                        for other in self.in_order[k]:
                            if other in node.left:
                                at += self.times[other][k]
                                if seen < rank:
                                    late -= at <= self.early[date][k]
                                seen += 1
                        rest = max(rest, late)
                if self.weighted:
                    late = rest
                    rest = 0
                    for other in self.by_weight[0]:
                        if other in node.left:
                            rest += self.weights[other] if late > 0 else 0
                            late -= 1
            if self.alone:
                alone = 0
                for other in node.left:
                    alone += self.early_cost(other, node.ends[k], k)
                most = max(most, alone)
            most = max(most, rest)
        return most + node.cost

    child_bound = None  # type: ignore[assignment]
    """The child's ``node_bound``, where it is not ``sums.cuh`` that says."""


class SumsModel(TextModel):
    """See ``dpbb.kernels.cuda_model.CudaModel``; children: ``sums.cuh``."""

    @classmethod
    def of(cls, problem: Any, ub: int) -> SumsModel:
        """Return the model for costs below ``ub``."""
        text = SumsOnGpu.of(problem)
        plain = TextModel.of(text, ub)
        places = header_of(text.shape).places
        names = {
            "MACHINES": text.n_stages,
            "WEIGHTED": text.weighted,
            "RELEASED": text.released,
            "BLOCKING": text.blocking,
            "TARDY": text.tardy,
            "LATE": text.late,
            "ALONE": text.alone,
            "ENDS_AT": places["ends"],
            "COST_AT": places["cost"],
        }
        lines = [f"constexpr int {name} = {value};" for name, value in names.items()]
        whole = "\n".join([plain.header.read_text(), *lines, SOURCE.read_text()])
        n_jobs, listed = text.n_jobs, text.tardy or text.late
        light = text.late and text.weighted
        rows = 2 * (n_jobs + 1) + (n_jobs + 11) // 8 + text.tardy
        own = {
            "header": kept(whole),
            "columns": rows + (3 * n_jobs + 1) * listed + (n_jobs + 1) * light,
            "warps_wanted": 16 if listed else 20,
        }
        return cls(**vars(plain) | own)

    def pack(
        self, problem: Model, order: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Rows of the jobs in root order, then tables of ``sums.cuh``, and the root."""
        text = SumsOnGpu.of(problem)
        rows, root = TextModel.pack(self, text, order)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        none = np.zeros(text.n_jobs, np.int64)
        quads = [(np.full(1, text.lightest[0]), none[:1], none[:1], none[:1])]
        for k, jobs in enumerate(text.in_order):
            of = text.times[jobs, k], text.weights[jobs], text.later[jobs, k]
            quads.append((place[jobs], *of))
        if text.tardy or text.late:
            until = np.maximum(text.due, text.released * text.ready)
            for k, jobs in enumerate(text.by_early):
                slack = (until - text.rest[:, k])[jobs]
                of = text.early[jobs, k], slack, text.weights[jobs]
                quads.append((place[jobs], *of))
        if text.late and text.weighted:
            lightest = text.by_weight[0]
            quads.append((place[lightest], text.weights[lightest], none, none))
        for first in (text.release, *text.rest.T):
            of = text.ready[order], text.weights[order], text.due[order]
            quads.append((first[order], *of))
        behind = np.concatenate([np.stack(one, 1).ravel() for one in quads])
        return np.concatenate([rows, behind.astype(np.int32).view(np.uint32)]), root


def _by_ratio(times: list[int], weights: list[int]) -> list[int]:
    """Jobs in the order of Smith's rule: time for each unit of weight."""

    def key(job: int) -> tuple[bool, Fraction]:
        time, weight = times[job], weights[job]
        return time > 0 and not weight, Fraction(time, weight or 1)

    return sorted(range(len(times)), key=key)
