"""The engine protocol, what engines share, and a session explored to its end.

An engine explores subtrees; it knows no clock but the length of its slice, no Dask,
and no n! arithmetic. See ``dpbb.tree.work_unit`` for the roots that it is given and
gives back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import EngineUnavailable, InvariantError
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem
from dpbb.problems import model_of
from dpbb.tree.branching import order_of, refusal
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit


@dataclass(frozen=True, slots=True)
class Device:
    """What one seat explores on.

    Parameters
    ----------
    kind
        ``"cpu"`` or ``"cuda"``.
    uuid
        Identity of the device on the whole cluster: two seats with the same one
        are one device.
    index
        CUDA ordinal in this process; 0 for a CPU.
    threads
        CPU threads that the engine may use; ignored by a GPU.
    name
        For people, such as ``"AMD EPYC"`` or ``"NVIDIA H100"``.
    """

    kind: str
    uuid: str
    index: int = 0
    threads: int = 1
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A permutation found by an engine, with the cost that the engine gives it."""

    value: int
    permutation: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """What one call of ``Session.advance`` did.

    Parameters
    ----------
    decomposed
        Nodes decomposed since the last slice, by law 4: loading a root adds
        its owned ancestors (``WorkUnit.owned_ancestors``) at the next slice, less
        those not visited because the path was pruned on the way down. What the
        session exports (``donate``, ``remaining``) is *not* subtracted: whoever
        exports subtracts ``owned_ancestors`` of it. May be negative.
    leaves
        Leaves visited since the last slice.
    closed : ndarray of int64, shape (n_jobs + 1,)
        ``closed[d]``: depth-d subtrees pruned, which those are that do not exist
        (``NO_CHILD``), or visited as a leaf (d = n - 1), since the last slice. A
        root whose path is pruned on the way down is closed at its own depth.
    best
        The best permutation below the ub of this call, if one was found in it.
    open_roots
        Number of roots that ``remaining`` would return now.
    least_lb
        Least lower bound of those roots; None when there are none or when one of
        them has not been bounded yet, as no value would be valid then.
    exhausted
        Nothing is left: ``open_roots`` is 0.
    optima
        With ``all_optima`` only: the leaves found in this call whose cost is the
        least that the session has seen and below ub, each once.
    """

    decomposed: int
    leaves: int
    closed: NDArray[np.int64]
    best: Candidate | None
    open_roots: int
    least_lb: int | None
    exhausted: bool
    optima: tuple[Candidate, ...] = field(default=())


SLICE_S = 0.05
"""A slice where nothing speaks for another length."""


class Session(Protocol):
    """One unit's exploration on one device; not thread-safe but for ``interrupt``.

    What is written out here is right for one thread and short slices.
    """

    slice_s: float = SLICE_S
    """Seconds of a slice that suit the engine."""

    def interrupt(self) -> None:
        """Have a long slice end soon: somebody wants something of the session.

        From any thread, and at any time: without a slice under way nothing happens, or
        the next one is short. A session of short slices may do nothing.
        """
        return

    def load(self, unit: WorkUnit) -> None:
        """Add roots to explore; may be called at any time between slices."""

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Explore for about ``max_seconds``, pruning every node with LB >= ub.

        ``ub`` may only fall from call to call (a larger one than before is treated
        as the least seen). Within the call the session lowers its own ub with each
        better permutation that it finds: to its cost, or to its cost + 1 when the
        session collects all optima. The call may overrun by one unit of the
        engine's own time slicing; it returns early when nothing is left.

        With ``most_roots`` the slice is to leave no more open roots than that: the
        deepest nodes come first, nothing wide is begun, and it returns as soon as there
        are few enough or no fewer can be had. An engine may do what it can, or, if it
        works so anyway, nothing besides.
        """

    def donate(self, max_roots: int) -> WorkUnit:
        """Remove about half of the open work and return it as roots.

        At most ``max_roots``, the largest subtrees first; empty when the session
        has fewer than two roots.
        """

    def remaining(self) -> WorkUnit:
        """All open roots, ordered and disjoint; changes nothing."""

    def use_threads(self, threads: int | None) -> None:
        """Explore with so many CPU threads from the next slice on; None: all.

        For CPU engines with several; others do nothing.
        """
        return

    def close(self) -> None:
        """Free threads and memory; idempotent."""
        return


class HostSession(Session):
    """What sessions share whose open nodes are in memory of the host.

    Parameters
    ----------
    problem, tree
        What the tree is a function of.
    ub
        Upper bound before the first call of ``advance``.
    all_optima
        Prune only LB > UB and collect the optimal leaves.
    """

    def __init__(
        self, problem: Problem[Any], tree: TreeOptions, ub: int, *, all_optima: bool
    ) -> None:
        self._problem = problem
        self._order = order_of(tree, problem.n_jobs)
        self._ub, self._all_optima = ub, all_optima
        self._pending = WorkUnit.empty(problem.n_jobs)  # loaded, not yet walked to
        self._found: list[Candidate] = []  # of this slice, all of one value
        self._decomposed = self._leaves = 0
        self._closed = np.zeros(problem.n_jobs + 1, np.int64)

    def load(self, unit: WorkUnit) -> None:
        """Add roots to explore; they are walked to at the next slice.

        Raises
        ------
        ValueError
            The unit is of another number of jobs.
        InvariantError
            It overlaps what is open: leaves would be explored twice.
        """
        if not WorkUnit.concatenate([self.remaining(), unit]).is_ordered_and_disjoint():
            raise InvariantError("expected roots disjoint from the session's open ones")
        self._pending = WorkUnit.concatenate([self._pending, unit])
        self._decomposed += unit.owned_ancestors

    def _take_pending(self) -> WorkUnit:
        pending, self._pending = self._pending, WorkUnit.empty(self._problem.n_jobs)
        return pending

    def _lower(self, ub: int) -> None:
        """Close what an UB that has fallen prunes."""
        self._ub = ub

    def _take_leaf(self, value: int, permutation: NDArray[np.intp]) -> None:
        """Take a leaf if it is better, or, for all optima, as good as the best."""
        if value >= self._ub:
            return
        ub = value + self._all_optima
        if ub < self._ub:
            self._found = []
            self._lower(ub)
        self._found.append(Candidate(value, permutation))

    def _slice(self, open_roots: int, least_lb: int | None) -> Slice:
        """Everything since the last slice; the counters start again."""
        part = Slice(
            decomposed=self._decomposed,
            leaves=self._leaves,
            closed=self._closed,
            best=self._found[0] if self._found else None,
            open_roots=open_roots,
            least_lb=least_lb,
            exhausted=open_roots == 0,
            optima=tuple(self._found) if self._all_optima else (),
        )
        self._found, self._decomposed, self._leaves = [], 0, 0
        self._closed = np.zeros_like(self._closed)
        return part


@runtime_checkable
class Clears(Protocol):
    """A session that is slow to open, and can begin with other roots instead."""

    def clear(self) -> None:
        """Forget all open roots; between slices."""


class Engine(ABC):
    """A way to explore trees; a stateless factory of sessions."""

    name: str

    def availability(self) -> str | None:
        """None if the engine can run in this process, else the reason and the fix."""
        return None

    @abstractmethod
    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None if the engine takes this problem and tree, else the reason.

        An engine takes no rule and no bound that it does not know; see
        ``dpbb.tree.branching.refusal``.
        """

    @abstractmethod
    def devices(self, threads: int | None = None) -> list[Device]:
        """Devices of this process; raises EngineUnavailable when there are none."""

    def warm_up(self, problem: Problem[Any], tree: TreeOptions, device: Device) -> None:
        """Load, and compile, what a session of the problem is going to need."""
        self.open(problem, tree, replace(device, threads=1)).close()

    def open(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        *,
        ub: int | None = None,
        all_optima: bool = False,
        tuning: Tuning | None = None,
    ) -> Session:
        """Start a session; compiles on the first call on a machine.

        Parameters
        ----------
        ub
            No ``advance`` will be called with a larger one; lets the engine choose
            narrow integers. None: ``problem.trivial_ub``.
        all_optima
            Prune only LB > UB and collect the optimal leaves (``Slice.optima``).

        Raises
        ------
        EngineUnavailable
            The engine cannot run here, or not this problem.
        OptionError
            A tuning value that is not allowed.
        """
        obstacle = self.supports(problem, tree)
        if obstacle is not None:
            raise EngineUnavailable(f"the {self.name} engine cannot run: {obstacle}")
        ub = problem.trivial_ub if ub is None else ub
        return self._session(problem, tree, device, ub, all_optima, tuning or Tuning())

    @abstractmethod
    def _session(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> Session:
        """``open``, of a problem that the engine supports."""


def obstacle_of(
    engine: str, device: str, problem: Problem[Any], tree: TreeOptions
) -> str | None:
    """Return why an engine that compiles a model of a problem does not take a tree.

    None: it does.

    Parameters
    ----------
    engine
        Its name, for people.
    device
        ``"cpu"`` or ``"cuda"``: which models it has.
    """
    if (reason := refusal(problem, tree)) is not None:
        return reason
    model = model_of(problem, device, tree.bound)
    if model is None:
        return (
            f"engine {engine} has no model of {problem.name} with the bound "
            f"{tree.bound} (a subclass inherits none, as it may override it); engine "
            "reference needs none"
        )
    obstacle: str | None = model.obstacle(problem)
    return obstacle


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """What a session did from its first slice on.

    Parameters
    ----------
    counters
        Sum over the slices. When not exhausted, those of what is finished are less:
        ``decomposed`` by ``session.remaining().owned_ancestors`` (law 4).
    best
        The best permutation below the ub that was found, None if there is none.
    optima
        With ``all_optima`` only: all leaves of the cost of ``best``.
    exhausted
        Nothing is left; False when ``on_slice`` stopped the exploration.
    """

    counters: Counters
    best: Candidate | None = None
    optima: tuple[Candidate, ...] = field(default=())
    exhausted: bool = False

    def then(self, part: Slice) -> Exploration:
        """Add a slice."""
        best = self.best
        if part.best is not None and (best is None or part.best.value < best.value):
            best = part.best
        optima = [
            leaf
            for leaf in (*self.optima, *part.optima)
            if best is not None and leaf.value == best.value
        ]
        counters = self.counters.plus(part.decomposed, part.leaves, part.closed)
        return Exploration(counters, best, tuple(optima), part.exhausted)


def explore_to_end(
    session: Session,
    ub: int,
    slice_s: float = 0.2,
    on_slice: Callable[[Slice, Exploration], bool | None] | None = None,
) -> Exploration:
    """Advance a loaded session until nothing is left.

    Parameters
    ----------
    session
        A session with its roots loaded; it stays open.
    ub
        The upper bound of every slice; the session itself lowers it.
    on_slice
        Called after every slice with it and the sum so far; True stops here.
    """
    total: Exploration | None = None
    while total is None or not total.exhausted:
        part = session.advance(ub, slice_s)
        if total is None:
            total = Exploration(Counters.zero(len(part.closed) - 1))
        total = total.then(part)
        if on_slice is not None and on_slice(part, total):
            break
    return total
