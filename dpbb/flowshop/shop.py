"""The permutation flow shop with dates, weights, set-ups and more, as one text.

What a cost is, is a matter of switches: plain numbers, so that a compiled search has
nothing of what is not used. Bounds are those of one machine k at a time, the largest
counts: its jobs that are left come without gaps after the last one, a release date
before them and the lags and times of later machines behind them. Then

- completion times are at least those of Smith's order (their least weighted sum is one
  of ``min(w_i p_jk, w_j p_ik)`` over all pairs);
- no i-th completion is before that of the i shortest jobs; tardiness is at least that
  of these against due dates in ascending order, and as many jobs are late as no
  matching of completions to due dates has on time (Hall's theorem). Due dates are less
  the times behind the machine;
- with weights or release dates, every job ends no earlier than if it came next.

Of the latest job partial schedules grow at both ends: release dates are a first machine
that all jobs pass at once, what is left of the largest due date a last one. A path may
end (begin) inside a prefix (suffix), which a side keeps as ``done``.

Without buffers a finished job stays on its machine until the next one is free. ``ends``
are departures then: d_k = max(d_{k-1} + p_k, x_{k+1}) after a job whose departures are
x_k, as in Ronconi, Annals of Operations Research 138, 2005. The mirror image has the
same form, and all bounds hold.

Set-ups: on a machine pass the times left and the least set-up into each job left and
into the first one at the back, if there is a job at the front; or the least ones out of
them, if there is one at the back. They are constants over all jobs, so that a child's
bound from its parent is its own. Of the root nothing is said. Where a machine is set up
only once the job is there, the mirror image is another problem: the front alone grows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, refuse, shown
from dpbb.flowshop.features import FEATURES, Features, setups_of
from dpbb.flowshop.formats import read_shop, tables_of_setups
from dpbb.flowshop.instance import FlowShopInstance, check_columns
from dpbb.flowshop.makespan import longest_makespan, tails
from dpbb.modeling import Model
from dpbb.options.permutations import check_permutation
from dpbb.result.schedule import Schedule
from dpbb.text.labels import Names

MOST_COST = 2**29
"""Costs and sums of all engines are below."""


class Objective(NamedTuple):
    """What is minimized: its words, and the columns that it needs."""

    words: str
    dated: bool = False
    weighted: bool = False
    counted: bool = False
    latest: bool = False  # the largest counts, not the sum

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it cannot do without; release dates may be there, too."""
        return ("due",) * self.dated + ("weight",) * self.weighted


ObjectiveName = Literal[
    "makespan",
    "max-tardiness",
    "total-completion",
    "weighted-completion",
    "total-tardiness",
    "weighted-tardiness",
    "late-jobs",
    "weighted-late-jobs",
]

OBJECTIVES: dict[ObjectiveName, Objective] = {
    "makespan": Objective("makespan", latest=True),
    "max-tardiness": Objective("maximum tardiness", dated=True, latest=True),
    "total-completion": Objective("total completion time"),
    "weighted-completion": Objective("weighted completion time", weighted=True),
    "total-tardiness": Objective("total tardiness", dated=True),
    "weighted-tardiness": Objective("weighted tardiness", dated=True, weighted=True),
    "late-jobs": Objective("late jobs", dated=True, counted=True),
    "weighted-late-jobs": Objective(
        "weighted late jobs", dated=True, weighted=True, counted=True
    ),
}
"""By the name that people say."""


class FlowShop(Model):
    """Minimize what depends on when the jobs of a flow shop are completed.

    A subclass is a problem of its own, whose kind is the name of the class: no file can
    name it, so that checkpoints do not hold it, and there are no certificates.

    Parameters
    ----------
    source
        Whatever ``dpbb.read_instance`` takes: a name, a file, a table of processing
        times (rows are jobs), an instance.
    objective
        ``"makespan"``, ``"max-tardiness"``, ``"total-completion"``,
        ``"weighted-completion"``, ``"total-tardiness"``, ``"weighted-tardiness"``,
        ``"late-jobs"`` or ``"weighted-late-jobs"``.
    release, due, weights : sequence of int, shape (n_jobs,)
        Whole numbers >= 0 in the unit of the times, in the place of columns of the
        source. Without release dates all jobs may begin at 0.
    blocking
        No buffers: a job stays on its machine until the next one is free.
    buffers : sequence of int, shape (n_machines - 1,)
        Places between each two machines; where none is free a job stays on its machine.
    setups
        Set-up times from a job to the next: shape (n_jobs, n_jobs) of all machines,
        or (n_jobs, n_jobs, n_machines). One more row is of the first job; without it
        there is no set-up before that one. Or a file: a table of all machines, or one
        for each.
    anticipatory
        Machines are set up before the job is there; False: only once it is.
    lags
        Least times between the end on a machine and the start on the next, shape
        (n_jobs, n_machines - 1), or a file of them.
    unlimited
        Machines that take any number of jobs at a time: names or numbers from 0.

    Raises
    ------
    InstanceError
        There is no such objective, a column that it needs is missing, there is one that
        it does not use, or costs may be too large; or a table is none, or features do
        not go together (``dpbb.flowshop.features``).
    """

    name = "flow-shop"

    def __init_subclass__(cls, *, own: bool = True, **keywords: Any) -> None:
        """``own``: dpbb has no name for its bound or its branching rule."""
        super().__init_subclass__(**keywords)
        cls.is_own = own
        if own:
            bases = cls.__mro__[: cls.__mro__.index(FlowShop)]
            mine = {name for base in bases for name in vars(base)}
            cls.name = vars(cls).get("name", cls.__name__)
            names = {"encode", "with_bound", "with_ends", "with_names"}
            costs = {"take", "node_bound", "absent", "evaluate", "evaluate_all"}
            cls.own_costs = not mine.isdisjoint(costs | {*cls.text.helpers})
            if cls.own_costs:
                names.add("job_kinds")
            for name in names - mine:
                setattr(cls, name, None)

    is_own = own_costs = False

    both_ends = True
    """Whether the tree grows at both ends where it can."""

    def __init__(
        self,
        source: Any,  # see read_instance
        *,
        objective: ObjectiveName = "makespan",
        release: Sequence[int] | None = None,
        due: Sequence[int] | None = None,
        weights: Sequence[int] | None = None,
        blocking: bool = False,
        buffers: Sequence[int] | str | None = None,
        setups: Any = None,  # nested lists, arrays, files
        anticipatory: bool = True,
        lags: Any = None,
        unlimited: Sequence[int | str] | str = (),
    ) -> None:
        kind = OBJECTIVES.get(objective)
        if kind is None:
            refuse("objective", f"one of {', '.join(OBJECTIVES)}", shown(objective))
        instance, sheets = read_shop(source)
        if setups is None and sheets:
            setups = setups_of(tables_of_setups(sheets, instance.name), instance)
        given = {"release": release, "due": due, "weight": weights}
        dates: dict[str, Any] = {n: one for n, one in given.items() if one is not None}
        if dates:
            instance = replace(instance, dates={**instance.dates, **dates})
        check_columns(instance, objective, needed=kind.columns, also=("release",))
        self.features = Features(
            instance, blocking, buffers, setups, anticipatory, lags, unlimited
        )
        self.instance, self.said, self.objective = instance, objective, kind.words
        self.n_jobs, self.n_machines = n_jobs, _ = instance.times.shape
        self.times, self.lags, before, behind = self.features.stages()
        if not kind.latest:  # a last lag is part of the cost
            self.lags[:, -1], behind = behind, np.zeros_like(behind)
        self.n_stages = n_stages = self.times.shape[1]
        none = np.zeros(n_jobs, np.int64)
        self._release = instance.dates.get("release", none)
        self.release = self._release + before
        self.due = instance.dates.get("due", none)
        self.weights = instance.dates.get("weight", none + 1)
        # switches
        self.blocking = int(self.features.blocking)
        self.lagged = int(self.lags.any())
        self.set_up = int(self.features.setups is not None)
        self.ahead = int(self.set_up and self.features.anticipatory)
        self.latest, self.never_negative = int(kind.latest), kind.latest
        mirrors = self.latest and self.ahead == self.set_up
        self.both = int(mirrors and self.both_ends)
        due_is_release = kind.dated and kind.latest  # of the mirror image
        given_release = "release" in instance.dates or before.any() or behind.any()
        self.released = int(given_release or due_is_release)
        self.weighted, self.counted = int(kind.weighted), int(kind.counted)
        self.matched = int(kind.dated and not kind.latest)
        self.summed = int(not kind.dated and not kind.latest)
        self.ordered = self.summed
        self.tardy = int(self.matched and not kind.counted)
        later = self.released or (kind.dated and kind.weighted)
        self.alone = int(later and not kind.latest)
        # tables
        self.first = most = np.zeros_like(self.times)
        self.filled = self.filled_out = self.times
        if self.features.setups is not None:
            most = self._set_up(self.features.setups)
        path = self.times if self.ahead else self.filled
        after = tails(path) + tails(self.lags) + self.lags
        self.rest = self.filled + after
        self.later = after * self.weights[:, None]
        self.early = self.due[:, None] - after
        self.ready = self.release + (path + self.lags).sum(axis=1)
        self.base = self.due.max(keepdims=True)
        self.delivery = self.base - self.due + behind
        self.lightest = self.weights.min(keepdims=True)
        self.tail = after.min(axis=0)
        plain = not (self.blocking or self.set_up or self.lagged)
        self.longest = self.times + self.lags + most
        reach = longest_makespan(self.times) if plain else int(self.longest.sum())
        reach += int(self.release.max() + behind.max())
        self.trivial_ub = int(self._sums(np.full((1, n_jobs), reach))[0]) + 1
        unweighted = int(np.maximum(reach - self.due, 0).sum()) if self.tardy else 0
        beyond = reach + int(self.due.max()) + 1
        self._most = 2 * (max(self.trivial_ub, unweighted) + beyond)
        if self._most >= MOST_COST:
            refuse(
                instance.name,
                f"dates and weights with sums below {MOST_COST:,} (a coarser unit)",
                f"{objective} that may reach {self._most:,}",
            )
        size = n_jobs * n_stages
        fields: dict[str, int | None] = {"ends": n_stages, "cost": None}
        if self.latest:
            self.sides = ("front", "back") if self.both else ("front",)
            fields = {"ends": n_stages}
            self.sums = {"remain": "filled" if self.set_up else "times"}  # type: ignore[misc]
        if self.both and self.set_up:
            self.sums = {**self.sums, "remain_out": "filled_out"}  # type: ignore[misc]
        if self.latest and self.released:
            fields["done"] = None
        if self.ordered:
            fields["smith"] = n_stages
            self.sums = {"heavy": "weights", "after": "later"}  # type: ignore[misc]
        if self.matched:
            fields |= {"short": size, "early": size}
        if self.counted and self.weighted:
            fields["light"] = n_jobs
        self.state = fields  # type: ignore[misc]

    def __repr__(self) -> str:
        size = f"{self.n_jobs} jobs x {self.n_machines} machines"
        facts = filter(None, (size, self.said, self.features.words))
        return f"{type(self).__name__}({self.instance_name!r}, {', '.join(facts)})"

    def _set_up(self, setups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Make the tables of set-ups; return the longest before each job.

        ``first``: before a first job. ``into``, ``out``: the least ones before and
        behind each job, which are part of its ``filled`` and ``filled_out`` times.
        """
        n_jobs = self.n_jobs
        self.first = setups[n_jobs]
        self.setups = np.pad(setups, ((0, 0), (0, self.both), (0, 0)))  # to none
        if self.ahead:  # what of it goes beyond the least heads of the root
            least = self.begins().min(axis=0)
            self.setups[n_jobs, :n_jobs] = np.maximum(self.first - least, 0)
        others = np.where(np.eye(n_jobs, dtype=bool)[..., None], MOST_COST, setups[:-1])
        into, out = (others.min(axis=axis) * (n_jobs > 1) for axis in (0, 1))
        self.filled, self.filled_out = self.times + into, self.times + out
        self.into, self.out = (np.pad(one, ((0, 1), (0, 0))) for one in (into, out))
        self.some = np.append(np.ones(n_jobs, np.int64), 0)  # whether a job is one
        most: NDArray[np.int64] = setups.max(axis=0)
        return most

    def mirrored(self) -> FlowShop:
        """Return the shop backwards: what follows a job comes before it."""
        other = object.__new__(type(self))  # which may have more numbers
        vars(other).update(self.__getstate__())
        other.times = self.times[:, ::-1]
        other.lags = np.roll(self.lags[:, ::-1], -1, axis=1)
        if self.set_up:
            other.filled, other.filled_out, other.into, other.out = (
                one[:, ::-1]
                for one in (self.filled_out, self.filled, self.out, self.into)
            )
            other.setups = self.setups.swapaxes(0, 1)[:, :, ::-1]
            other.first = np.zeros_like(self.first)
        other.release, other.delivery = self.delivery, self.release
        return other

    def for_costs(self) -> FlowShop:
        """Return the same costs without what bounds of sums are made of."""
        if self.latest or self.own_costs:
            return self
        other = object.__new__(FlowShop if self.is_own else type(self))
        vars(other).update(self.__getstate__())
        other.ordered = other.alone = other.matched = other.counted = 0
        other.state = {"ends": self.n_stages, "cost": None}  # type: ignore[misc]
        other.sums = {}  # type: ignore[misc]
        return other

    def engine_model(self, engine: str) -> Any:
        """Return the model that an engine compiles, see ``dpbb.problems.Modeled``."""
        if engine == "cuda" and not self.is_own:
            from dpbb.flowshop.models.sums_cuda import SumsModel, serves

            if serves(self):
                return SumsModel
        return super().engine_model(engine)

    def begins(self) -> NDArray[np.int64]:
        """When each job begins on each stage if it is first; (n_jobs, n_stages)."""
        at, found = self.release, []
        for k in range(self.n_stages):
            at = np.maximum(at, self.first[:, k]) if self.ahead else at
            found.append(at)
            at = at + self.times[:, k] + self.lags[:, k]
            at = at if self.ahead else at + self.first[:, k]
        return np.stack(found, axis=1)

    def root(self) -> Mapping[str, Any]:
        """Nothing is done; no job comes to a machine before the least heads."""
        on_the_way = self.times + self.lags
        weights, times = self.weights, self.filled
        pairs = np.minimum(
            weights[:, None, None] * times, weights[None, :, None] * times[:, None]
        )
        own = (weights[:, None] * times).sum(axis=0)
        first = {
            "ends": self.begins().min(axis=0),
            "done": (self.release + on_the_way.sum(axis=1) + self.delivery).max(),
            "smith": (pairs.sum(axis=(0, 1)) + own) // 2,
            "short": np.sort(times, axis=0).T.ravel(),
            "early": np.sort(self.early, axis=0).T.ravel(),
            "light": np.sort(weights),
        }
        return {name: value for name, value in first.items() if name in self.state}

    # -- the text ----------------------------------------------------------------------

    def cost(self, job: int, end: int) -> int:
        """Cost of a job that is completed then."""
        return (self.weights[job] if self.weighted else 1) * (
            end
            if self.summed
            else max(0, end - self.due[job])
            if self.tardy
            else (1 if end > self.due[job] else 0)
        )

    def early_cost(self, job: int, end: int, k: int) -> int:
        """Least cost of a job that machine k begins then, or later."""
        return self.cost(
            job,
            max(end + self.rest[job][k], self.ready[job])
            if self.released
            else end + self.rest[job][k],
        )

    def pair(self, job: int, other: int, k: int) -> int:
        """Time that one of two jobs has to wait for the other."""
        return (
            min(
                self.weights[other] * self.time(job, k),
                self.weights[job] * self.time(other, k),
            )
            if self.weighted
            else min(self.time(job, k), self.time(other, k))
        )

    def time(self, job: int, k: int) -> int:
        """Least time that a job takes of a machine, but for a first job's set-up."""
        return self.filled[job][k] if self.set_up else self.times[job][k]

    def free(self, node: Any, job: int, k: int) -> int:
        """When a machine is free for a job."""
        return (
            node.ends[k] + self.setups[node.last][job][k]
            if self.ahead
            else node.ends[k]
        )

    def work(self, node: Any, job: int, k: int) -> int:
        """Time on a machine from when both it and the job are there."""
        return (
            self.times[job][k] + self.setups[node.last][job][k]
            if self.set_up and not self.ahead
            else self.times[job][k]
        )

    def after(self, node: Any, k: int) -> int:
        """Add the times left and what follows them."""
        return (
            node.remain[k]
            + node.other.ends[self.n_stages - 1 - k]
            + (self.into[node.other.last][k] if self.set_up else 0)
            if self.both
            else node.remain[k] + self.tail[k]
        )

    def without(self, gone: int, this: int, following: int) -> int:
        """Return an entry of a sorted list that one is taken out of."""
        return this if this < gone else following

    def take(self, node: Any, job: int) -> None:
        """Pass the machines, and leave the sorted lists of what is left."""
        last = self.n_stages - 1
        end = self.release[job] if self.released else 0
        if self.blocking:
            end = max(end, node.ends[0])
            for k in range(self.n_stages - 1):
                end = max(end + self.times[job][k], node.ends[k + 1])
                node.ends[k] = end
            end += self.times[job][last]
            node.ends[last] = end
        else:
            for k in range(self.n_stages):
                end = max(end, self.free(node, job, k)) + self.work(node, job, k)
                node.ends[k] = end
                if self.lagged:
                    end += self.lags[job][k]
        if self.ordered or self.matched:
            for k in range(self.n_stages):
                if self.ordered:
                    gone = self.pair(job, job, k)
                    for other in node.left:
                        gone += self.pair(job, other, k)
                    node.smith[k] -= gone
                if self.matched:
                    for i in range(len(node.left)):
                        node.short[k * self.n_jobs + i] = self.without(
                            self.time(job, k),
                            node.short[k * self.n_jobs + i],
                            node.short[k * self.n_jobs + i + 1],
                        )
                        node.early[k * self.n_jobs + i] = self.without(
                            self.early[job][k],
                            node.early[k * self.n_jobs + i],
                            node.early[k * self.n_jobs + i + 1],
                        )
        if self.counted and self.weighted:
            for i in range(len(node.left)):
                node.light[i] = self.without(
                    self.weights[job], node.light[i], node.light[i + 1]
                )
        if not self.latest:
            node.cost += self.cost(job, end)
        if self.latest and self.released:
            node.done = max(node.done, end + self.delivery[job])

    def node_bound(self, node: Any) -> int:
        """Cost so far, and the largest that one machine says of the jobs left."""
        most = 0
        if self.latest and self.released:
            most = max(node.done, self.base[0])
            if self.both:
                most = max(most, node.other.done)
        for k in range(self.n_stages):
            rest = 0
            if self.latest:
                after = self.after(node, k)
                rest = node.ends[k] + after
                if self.both and self.set_up:
                    behind = node.other.ends[self.n_stages - 1 - k]
                    out = node.ends[k] + node.remain_out[k] + behind
                    out += self.out[node.last][k]
                    rest = max(
                        self.some[node.last] * rest, self.some[node.other.last] * out
                    )
                    if len(node.left) == 0:
                        both = self.setups[node.last][node.other.last][k]
                        rest = max(rest, node.ends[k] + both + behind)
            if self.ordered:
                rest = node.ends[k] * node.heavy + node.smith[k] + node.after[k]
            if self.alone:
                alone = 0
                for other in node.left:
                    alone += self.early_cost(other, node.ends[k], k)
                most = max(most, alone)
            if self.matched:
                end = node.ends[k]
                for i in range(len(node.left)):
                    if self.tardy:
                        end += node.short[k * self.n_jobs + i]
                        rest += max(0, end - node.early[k * self.n_jobs + i])
                    if self.counted:
                        end = node.ends[k]
                        late = i + 1
                        for j in range(i + 1):
                            end += node.short[k * self.n_jobs + j]
                            late -= end <= node.early[k * self.n_jobs + i]
                        rest = max(rest, late)
                if self.tardy and self.weighted:
                    rest *= self.lightest[0]
                if self.counted and self.weighted:
                    late = rest
                    rest = 0
                    for i in range(len(node.left)):
                        rest += node.light[i] if i < late else 0
            most = max(most, rest)
        if self.latest and self.released:
            most -= self.base[0]
        if self.set_up and not self.both:
            most *= self.some[node.last]
        if not self.latest:
            most += node.cost
        return most

    def child_bound(self, node: Any, job: int) -> int:
        """``node_bound`` of a child: the lists are read without its job."""
        most = 0
        if self.latest and self.released:
            most = max(node.done, node.other.done) if self.both else node.done
        end = self.release[job] if self.released else 0
        if self.blocking:
            end = max(end, node.ends[0])
        for k in range(self.n_stages):
            if self.blocking:
                end += self.times[job][k]
                if k < self.n_stages - 1:
                    end = max(end, node.ends[k + 1])
                begin = end - self.times[job][k]
            else:
                begin = max(end, self.free(node, job, k))
                end = begin + self.work(node, job, k)
            if self.latest:
                after = self.after(node, k)
                if self.both and self.set_up:
                    behind = node.other.ends[self.n_stages - 1 - k]
                    out = self.some[node.other.last] * (node.remain_out[k] + behind)
                    most = max(most, end + out - self.times[job][k])
                    if len(node.left) == 1:
                        both = self.setups[job][node.other.last][k]
                        most = max(most, end + both + behind)
                if self.set_up:
                    most = max(most, end + after - self.filled[job][k])
                else:
                    most = max(most, begin + after)
            rest = 0
            if self.ordered:
                rest = (node.smith[k] + node.after[k]) - self.later[job][k]
                rest += end * (node.heavy - (self.weights[job] if self.weighted else 1))
                for other in node.left:
                    rest -= self.pair(job, other, k)
            if self.alone:
                alone = -self.early_cost(job, end, k)
                for other in node.left:
                    alone += self.early_cost(other, end, k)
                most = max(most, alone)
            if self.matched:
                at = end
                for i in range(len(node.left) - 1):
                    early = self.without(
                        self.early[job][k],
                        node.early[k * self.n_jobs + i],
                        node.early[k * self.n_jobs + i + 1],
                    )
                    if self.tardy:
                        at += self.without(
                            self.time(job, k),
                            node.short[k * self.n_jobs + i],
                            node.short[k * self.n_jobs + i + 1],
                        )
                        rest += max(0, at - early)
                    if self.counted:
                        at = end
                        late = i + 1
                        for j in range(i + 1):
                            at += self.without(
                                self.time(job, k),
                                node.short[k * self.n_jobs + j],
                                node.short[k * self.n_jobs + j + 1],
                            )
                            late -= at <= early
                        rest = max(rest, late)
                if self.tardy and self.weighted:
                    rest *= self.lightest[0]
                if self.counted and self.weighted:
                    late = rest
                    rest = 0
                    for i in range(len(node.left) - 1):
                        light = self.without(
                            self.weights[job], node.light[i], node.light[i + 1]
                        )
                        rest += light if i < late else 0
            if not self.latest:
                most = max(most, rest)
            if self.lagged:
                end += self.lags[job][k]
        if self.latest and self.released:
            most = max(most, end + self.delivery[job], self.base[0]) - self.base[0]
        if not self.latest:
            most += node.cost + self.cost(job, end)
        return most

    def largest(self, ub: int) -> int:
        """Return what no value passes, see Notes.

        Notes
        -----
        The latest job: on every machine its end, the times left and the other side are
        together below ``ub`` at a decomposed node. So a job of the child leaves no
        later than ``ub`` and its own time, and less than ``ub`` follows. Of sums any
        bound is the cost of some schedule, in which a child's job may be twice;
        tardiness is summed before it is weighed.
        """
        if self.own_costs:
            return super().largest(ub)
        if not self.latest:
            return self._most
        parent = max(ub, self.root_bound + 1) + int(self.base[0])
        own = self.longest.sum(axis=1) + self.delivery
        if self.set_up:  # the root's bound is 0, and one of both sums may be above ub
            parent += int(self.longest.sum(axis=0).max() + own.max())
        return 2 * parent + int(own.max())

    # -- what is told of it ------------------------------------------------------------

    def _sums(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Costs, shape (r,), of completion times of shape (r, n_jobs)."""
        late = np.maximum(ends - self.due, 0)
        if self.latest:
            return late.max(axis=1)
        return ((late > 0 if self.counted else late) * self.weights).sum(axis=1)

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Cost of a permutation."""
        return int(self.evaluate_all(np.asarray(permutation, np.intp)[None])[0])

    def evaluate_all(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Costs, shape (r,), of permutations of shape (r, n_jobs)."""
        ends = self.features.passed(self._release, permutations)[1]
        return self._sums(ends[..., -1])

    def schedule(self, permutation: Sequence[int] | NDArray[np.intp]) -> Schedule:
        """When every operation starts and ends."""
        order = tuple(int(job) for job in permutation)
        passed = self.features.passed(self._release, np.array([order], np.intp))
        start, end, leave = passed[:, 0]
        gaps = None
        if (given := self.features.setups) is not None:
            gaps = np.empty_like(start)
            gaps[[*order]] = given[[self.n_jobs, *order[:-1]], [*order]]
        dates = {name: self.instance.dates.get(name) for name in ("release", "due")}
        leaves = leave if self.blocking else None
        return Schedule(order, start, end, self.names, leaves, gaps, **dates)

    @property
    def instance_name(self) -> str:
        """Name of the instance."""
        return self.instance.name

    @property
    def names(self) -> Names:
        """What people call the jobs and machines."""
        return self.instance.names

    def with_names(self, names: Names) -> FlowShop:
        """Return the same problem with other names."""
        return self._with(replace(self.instance, names=names), type(self))

    def with_bound(self, bound: str) -> FlowShop:
        """Return the same problem with another bound, ``"model"`` or ``"matching"``.

        OptionError: there is no such bound, or not of this problem.
        """
        from dpbb.flowshop.matching import MatchingFlowShop

        kinds = {kind.bound: kind for kind in (FlowShop, MatchingFlowShop)}
        if bound not in kinds:
            raise OptionError(f"bound: expected model or matching, got {shown(bound)}")
        return self._with(self.instance, kinds[bound])

    def _with(self, instance: FlowShopInstance, kind: type[FlowShop]) -> FlowShop:
        return kind(instance, objective=self.said, **self.said_of_it)

    @property
    def said_of_it(self) -> dict[str, Any]:
        """Return what makes it again besides instance and objective, as JSON."""
        return self.features.said()

    def with_ends(self, front: tuple[int, ...], back: tuple[int, ...]) -> FlowShop:
        """Return the problem with given jobs; see ``dpbb.problem.PartOfSequence``."""
        from dpbb.flowshop.fixed import GivenFlowShop

        if not (front or back):
            return self
        if self.bound != Model.bound:
            raise OptionError(
                f"bound: expected {Model.bound} with given ends, got {self.bound}"
            )
        how = self.said_of_it | {"front": front, "back": back}
        return GivenFlowShop(self.instance, objective=self.said, **how)

    def whole(self, permutation: Iterable[int]) -> tuple[int, ...]:
        """Return a permutation: given jobs are in the tree."""
        return tuple(permutation)

    def between(self, sequence: Sequence[int], what: str) -> tuple[int, ...]:
        """Return a sequence, which is the tree's; OptionError: it is none."""
        return check_permutation(sequence, what, self.n_jobs)

    @cached_property
    def root_bound(self) -> int:
        """Bound of the empty partial schedule."""
        return self.bound_of(self.root_state())

    @cached_property
    def digest(self) -> str:
        """Digest of kind, objective and instance; a subclass has that of a text."""
        if self.is_own:
            return super().digest
        parts = [self.name, self.said]
        for name, one in self.said_of_it.items():
            parts.append(name if one is True else f"{name} {one}")
        text = " ".join([*parts, self.instance.digest])
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def job_kinds(self) -> NDArray[np.intp]:
        """Jobs of the same times, dates, weights and set-ups have the same number."""
        columns = [self.instance.times, *self.features.of_jobs]
        columns += [one[:, None] for one in self.instance.dates.values()]
        rows = np.concatenate(columns, axis=1)
        kinds = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        return self.features.same_set_ups(kinds)

    def facts(self) -> dict[str, int | float | str]:
        """Objective, features, ranges of numbers; of the latest job root_bound."""
        values = {"time": self.instance.times, **self.instance.dates}
        ranges = {
            f"{which}_{name}": int(getattr(value, how)())
            for name, value in values.items()
            for which, how in (("least", "min"), ("largest", "max"))
        }
        ranges |= {"root_bound": self.root_bound} if self.latest else {}
        features = {"features": words} if (words := self.features.words) else {}
        return {"objective": self.said, **features, **ranges}

    def encode(self) -> dict[str, Any]:
        """Name, times, dates, weights, objective, given jobs and a dearer bound."""
        dates = {name: value.tolist() for name, value in self.instance.dates.items()}
        named: dict[str, Any] = {"name": self.instance.name, "objective": self.said}
        named |= self.said_of_it
        named |= {"bound": self.bound} if self.bound != Model.bound else {}
        return {**named, "times": self.instance.times.tolist(), "dates": dates}


def decode(data: Mapping[str, Any]) -> FlowShop:
    """Return an encoded problem of kind ``"flow-shop"``; InstanceError: it is none."""
    instance = FlowShopInstance(data["name"], data["times"], dates=data["dates"])
    features = {
        name: data[name] for name in (*FEATURES, "anticipatory") if name in data
    }
    problem = FlowShop(instance, objective=data["objective"], **features)
    ends = (tuple(data.get(side) or ()) for side in ("front", "back"))
    problem = problem.with_ends(*ends)
    return problem.with_bound(data.get("bound", Model.bound))
