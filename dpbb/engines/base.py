"""The engine protocol, and what engines share.

An engine explores subtrees; it knows no clock but the length of its slice, no Dask,
and no n! arithmetic. See ``dpbb.tree.work_unit`` for the roots that it is given and
gives back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem, costs_of
from dpbb.problems import model_of, models_known
from dpbb.tree.branching import refusal
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


@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """A node that an explorer has in hand, completed to a permutation.

    ``kept``: how many jobs at its front and at its back are those of the node.
    """

    value: int
    permutation: NDArray[np.intp]
    kept: tuple[int, int] = (0, 0)


class Session(Protocol):
    """One unit's exploration on one device; not thread-safe but for ``interrupt``."""

    @property
    def slice_s(self) -> float:
        """Seconds of a slice that suit the engine."""

    def interrupt(self) -> None:
        """Have a long slice end soon: somebody wants something of the session.

        From any thread, and at any time: without a slice under way nothing happens, or
        the next one is short. A session of short slices may do nothing.
        """

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

    def current(self, most: int) -> list[Beginning]:
        """Complete the node that every explorer has in hand; changes nothing.

        Returns
        -------
        list of Beginning
            The best of the permutations, at most so many, the best first; see
            ``best_completions``. Empty where no explorer has a node in hand.
        """

    def use_threads(self, threads: int | None) -> None:
        """Explore with so many CPU threads from the next slice on; None: all.

        For CPU engines with several; others do nothing.
        """

    def close(self) -> None:
        """Free threads and memory; idempotent."""


@runtime_checkable
class Clears(Protocol):
    """A session that is slow to open, and can begin with other roots instead."""

    def clear(self) -> None:
        """Forget all open roots; between slices."""


class Engine(Protocol):
    """A way to explore trees; a stateless factory of sessions."""

    name: str

    def availability(self) -> str | None:
        """None if the engine can run in this process, else the reason and the fix."""

    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None if the engine takes this problem and tree, else the reason.

        An engine takes no rule and no bound that it does not know; see
        ``dpbb.tree.branching.refusal``.
        """

    def devices(self, threads: int | None = None) -> list[Device]:
        """Devices of this process; raises EngineUnavailable when there are none."""

    def warm_up(self, problem: Problem[Any], tree: TreeOptions, device: Device) -> None:
        """Load, and compile, what a session of the problem is going to need."""

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
        """Start a session.

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
        """


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
        ``"cpu"``, ``"cuda"`` or ``"pool"``: which models it has.
    """
    model = model_of(problem, device, tree.bound)
    if model is None:
        bounds = models_known(problem, device)
        if not bounds:
            return (
                f"engine {engine} has no model of {problem.name}: a model serves the "
                "class that it is written for, and no subclass, which may override it"
            )
        return (
            f"engine {engine} takes the bound {' or '.join(bounds)}, not {tree.bound}"
        )
    reason: str | None = refusal(problem, tree) or model.obstacle(problem)
    return reason


def best_completions(
    problem: Problem[Any],
    order: NDArray[np.intp],
    nodes: Iterable[tuple[Sequence[int], Sequence[int]]],
    most: int,
) -> list[Beginning]:
    """Complete nodes, and return the best of the permutations, the best first.

    They are starts for heuristics. A node is completed by its unscheduled jobs in root
    order, which is how its first leaf on one side alone would have them. Source: Gmys,
    INFORMS J. Comput. 34(5), 2022.

    Parameters
    ----------
    order : ndarray of intp, shape (n_jobs,)
        Root order.
    nodes
        Prefix and suffix of each, as jobs in the order of the permutation.
    most
        So many at most; those that have no cost are none, and each is there once.
    """
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for front, back in nodes:
        taken = {*front, *back}
        middle = [job for job in order.tolist() if job not in taken]
        found.setdefault((*front, *middle, *back), (len(front), len(back)))
    if not found:
        return []
    rows = np.array(list(found), np.intp)
    sides = list(found.values())
    beginnings = [
        Beginning(value, rows[index], sides[index])
        for index, value in _costs(problem, rows)
    ]
    return sorted(beginnings, key=lambda beginning: beginning.value)[:most]


def _costs(problem: Problem[Any], rows: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Index and cost of every row that has one."""
    try:
        return list(enumerate(costs_of(problem, rows).tolist()))
    except ValueError:  # some have none: which?
        found = []
        for index, row in enumerate(rows):
            try:
                found.append((index, problem.evaluate(row)))
            except ValueError:
                continue
        return found
