"""Check that a model keeps the laws that an exact search rests on.

    dpbb.testing.check_model(problem)
    dpbb.testing.check_heuristic(function, problem)

A wrong bound costs the optimum and tells nobody. Here random nodes are compared with
all their completions, and the engines that can run with one another. What fails is told
with the law, the node and the values, of a node with few jobs left if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from math import perm
from time import monotonic
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from dpbb.engines.base import explore_to_end
from dpbb.engines.registry import TRIED, get_engine
from dpbb.errors import DpbbError, EngineUnavailable, OptionError
from dpbb.heuristics import OwnHeuristic
from dpbb.modeling.model import Model
from dpbb.options import SolveOptions
from dpbb.problem import NO_CHILD, Incumbent, Problem, StartSearch, sides_of
from dpbb.tree.branching import tree_of
from dpbb.tree.work_unit import WorkUnit

MOST_LEFT = 5
"""Jobs left of a node whose completions are all looked at: 120."""

LAWS = {
    1: "no bound is above the cost of a completion, none is negative",
    2: "child_bound of a child is its node_bound",
    3: "no bound is below that of the parent",
    4: "both sides say the same",
    5: "an absent child has no completion, a last job is not absent",
    6: "no value passes largest, none is negative if never_negative says so",
    7: "all engines explore the same tree, in whatever order they go over node.left",
    8: "whether tight_bound reaches ub depends on the node alone",
    9: "no cost reaches trivial_ub",
    10: "choose_back says True or False, of a node always the same",
    11: "a heuristic gives permutations that have a cost",
}
"""What is checked, by number."""


_SAME = "the same"
"""What is said of an engine that explored the same tree."""


class LawError(DpbbError, AssertionError):
    """A model breaks a law; says which, at which node, with which values."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked.

    Parameters
    ----------
    laws
        By number.
    nodes
        Nodes that were looked at.
    engines
        Engines that explored the same tree, and why others did not.
    tree_nodes
        Nodes of that tree.
    seconds
        It took so long.
    """

    laws: tuple[int, ...]
    nodes: int
    engines: dict[str, str]
    tree_nodes: int
    seconds: float

    def summary(self) -> str:
        """Return lines for people."""
        lines = [f"{number}  {LAWS[number]}" for number in self.laws]
        tree = f", {self.tree_nodes} of a tree" if self.engines else ""
        lines.append(f"{self.nodes} nodes{tree}")
        same = [name for name, what in self.engines.items() if what == _SAME]
        on = f" on engine {', '.join(same)}" if same else ""
        last = [f"all hold{on} ({self.seconds:.1f} s)"]
        for name, what in self.engines.items():
            if what != _SAME:
                last.append(f"{name}: not compared, because {what}")
        return "\n".join([*lines, "; ".join(last)])


def check_model(
    problem: Problem[Any],
    *,
    nodes: int = 200,
    seed: int = 0,
    engines: Iterable[str] = ("reference", *TRIED),
) -> Checked:
    """Check the laws of a model on one of its instances, best a small one.

    Of a problem that is no ``dpbb.Model`` laws 1, 8 and 10, of ``child_bounds``,
    ``tighten`` and ``choose_back``.

    Parameters
    ----------
    nodes
        Number of random nodes. If there are not more in all than these have below them,
        all partial schedules that grow at the front are looked at, too.
    seed
        Of what is drawn.
    engines
        Those to compare; what cannot run is left out, and told.

    Raises
    ------
    LawError
        A law does not hold.
    ModelError
        The text says something that engines cannot compile.
    """
    if isinstance(problem, Model):
        _ = problem.digest  # asks for all that a text needs, twice
    elif not isinstance(problem, Problem):
        raise OptionError(
            "problem: expected a dpbb.Model, or what has the methods of a Problem, got "
            f"{type(problem).__name__}"
        )
    began = monotonic()
    if not isinstance(problem, Model):
        _check_any(problem, nodes, seed)
        return Checked((1, 8, 10), nodes, {}, 0, monotonic() - began)
    if problem.is_beside_text:
        _check_any(problem, nodes, seed)
    size = _size(problem.n_jobs)
    is_small = size <= nodes * sum(map(_size, range(1, MOST_LEFT + 1))) / MOST_LEFT
    checks = _Checks(problem, all_fronts=is_small)
    if is_small:
        checks.least(_root(problem))
    rng = np.random.default_rng(seed)
    most = min(problem.n_jobs, MOST_LEFT)
    for number in range(nodes):
        left = 1 + number * most // nodes  # those with few jobs left first
        if number % 8 == 7:  # and some near the root
            left = int(rng.integers(1, problem.n_jobs + 1))
        if (node := _drawn(problem, left, rng)) is not None:
            checks.check(node)
    nodes += size if is_small else 0
    if not checks.completed:
        raise LawError(
            f"{problem.name}: law 5 ({LAWS[5]}) does not hold: no node that was drawn "
            "has a completion, as jobs are absent"
        )
    names = list(engines)
    found, size = _same_tree(problem, names)
    return Checked(tuple(range(1, 11)), nodes, found, size, monotonic() - began)


def check_heuristic(
    function: Callable[..., Any],
    problem: Problem[Any],
    *,
    seconds: float = 1.0,
    seed: int = 0,
) -> Incumbent:
    """Let a heuristic search for a second; return the best permutation.

    ``function``: see ``dpbb.heuristics.OwnHeuristic``.

    Raises
    ------
    LawError
        Law 11 does not hold.
    """
    heuristic = OwnHeuristic(problem, function)
    try:
        found = heuristic.first_incumbent(StartSearch(time_limit_s=seconds, seed=seed))
    except OptionError as error:
        raise LawError(f"law 11 ({LAWS[11]}) does not hold: {error}") from error
    if found is None:
        raise LawError(
            f"law 11 ({LAWS[11]}) does not hold: heuristic {heuristic.name}: expected "
            "a permutation, got none"
        )
    return found


def _size(n_jobs: int) -> int:
    """Count the nodes of a tree that grows at the front."""
    return sum(perm(n_jobs, depth) for depth in range(n_jobs + 1))


# -- random nodes ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A partial schedule; ``left``: the jobs that are not in it, ascending."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    left: tuple[int, ...]
    state: Any

    def __str__(self) -> str:
        front, back, left = (
            ", ".join(map(str, jobs)) for jobs in (self.prefix, self.suffix, self.left)
        )
        return f"front ({front}), back ({back}), left ({left})"

    def child(self, problem: Problem[Any], job: int, *, back: bool = False) -> _Node:
        """Return the node that has one more job."""
        return _Node(
            self.prefix if back else (*self.prefix, job),
            (job, *self.suffix) if back else self.suffix,
            tuple(one for one in self.left if one != job),
            problem.extend(self.state, job, back=back),
        )


def _root(problem: Problem[Any]) -> _Node:
    return _Node((), (), tuple(range(problem.n_jobs)), problem.root_state())


def _drawn(problem: Problem[Any], left: int, rng: np.random.Generator) -> _Node | None:
    """Go down from the root by random children; None: it ends before."""
    node = _root(problem)
    while len(node.left) > left:
        back = bool(rng.choice(sides_of(problem)))
        if not (jobs := _existing(problem, node, back)):
            return None
        node = node.child(problem, int(rng.choice(jobs)), back=back)
    return node


def _existing(
    problem: Problem[Any], node: _Node, back: bool = False
) -> tuple[int, ...]:
    """Return the jobs of the children that exist; of a text they are not absent."""
    if not isinstance(problem, Model):
        jobs = np.array(node.left, np.intp)
        exist = problem.child_bounds(node.state, jobs, back=back) != NO_CHILD
        return tuple(jobs[exist].tolist())
    if "absent" not in problem.text.sources:
        return node.left
    kind: Any = type(problem)
    view, seen = problem.views[0], problem.node(node.state)
    return tuple(job for job in node.left if not kind.absent(view, seen, job))


def _fail(problem: Problem[Any], law: int, node: _Node, what: str) -> NoReturn:
    raise LawError(
        f"{problem.name}: law {law} ({LAWS[law]}) does not hold at {node}: {what}"
    )


# -- the laws --------------------------------------------------------------------------


class _Checks:
    """The laws of one node."""

    def __init__(self, problem: Model, *, all_fronts: bool) -> None:
        self._problem = problem
        self._all_fronts = all_fronts  # nodes without a back are looked at anyway
        self._kind: Any = type(problem)
        self._sides = tuple(range(len(problem.sides)))
        self.completed = False  # whether any node has a completion

    def check(self, node: _Node) -> None:
        """Raise LawError if one does not hold at a node."""
        problem, state = self._problem, node.state
        bounds = [problem.bound_of(state, bool(side)) for side in self._sides]
        own = bounds[0]
        if len(set(bounds)) > 1:
            self._fail(4, node, f"node_bound is {bounds[0]}, of the mirror {bounds[1]}")
        if not 0 <= own < NO_CHILD:
            self._fail(1, node, f"node_bound is {own}")
        if len(state.left) <= MOST_LEFT and (node.suffix or not self._all_fronts):
            self.least(node)
        self._leaf(node)
        for side in self._sides:
            for job in _existing(problem, node):
                self._child(node, own, job, bool(side))
        self._recorded(node, own)

    def _child(self, node: _Node, own: int, job: int, back: bool) -> None:
        """Laws 2 and 3."""
        problem, state = self._problem, node.state
        where = f"job {job} at the {'back' if back else 'front'}"
        child = problem.bound_of(problem.extend(state, job, back=back), back)
        if "child_bound" in problem.text.sources:
            view, seen = problem.views[back], problem.node(state, back)
            said = int(self._kind.child_bound(view, seen, job))
            if said != child:
                self._fail(
                    2, node, f"{where}: child_bound is {said}, node_bound of it {child}"
                )
        if child < own:
            self._fail(3, node, f"{where}: the bound falls from {own} to {child}")

    def least(self, node: _Node) -> tuple[int, tuple[int, ...]] | None:
        """Laws 1, 5, 8 and 9 of a node and all below; a completion of least cost."""
        problem, state, found = self._problem, node.state, []
        own = problem.bound_of(state)
        if not state.left:
            order, most = (*node.prefix, *node.suffix), problem.trivial_ub
            if own >= most:
                self._fail(9, node, f"{order} costs {own}, trivial_ub is {most}")
            self.completed = True
            return own, order
        jobs = _existing(problem, node)
        for job in jobs:
            below = self.least(node.child(problem, job))
            found += [] if below is None else [below]
        if found:
            cost, order = min(found)
            for name, bound in ("node", own), ("tight", self._tight(node)):
                if bound > cost:
                    what = f"{name}_bound is {bound}, {order} costs {cost}"
                    self._fail(1, node, what)
        elif jobs and len(state.left) <= MOST_LEFT:
            self._fail(5, node, "a job is not absent, and no completion has a cost")
        return min(found, default=None)

    def _tight(self, node: _Node) -> int:
        """Law 8; return what ``tight_bound`` says, 0 without one."""
        if "tight_bound" not in self._problem.text.sources:
            return 0
        tight = self._problem.tight_bound_of(node.state)
        for ub in tight, tight + 1:
            found = self._problem.tight_bound_of(node.state, ub)
            if min(found, ub) != tight:
                self._fail(8, node, f"it is {tight}, but {found} when ub is {ub}")
        return tight

    def _leaf(self, node: _Node) -> None:
        problem = self._problem
        if len(node.left) != 1 or not _existing(problem, node):
            return
        (job,) = node.left
        order = (*node.prefix, job, *node.suffix)
        cost = problem.evaluate(np.array(order, np.intp))
        for side in self._sides:
            last = problem.extend(node.state, job, back=bool(side))
            for view in self._sides:
                value = problem.bound_of(last, bool(view))
                if value != cost:
                    self._fail(
                        4 if len(self._sides) > 1 else 1,
                        node,
                        f"{order} costs {cost}, its node_bound is {value} when "
                        f"the last job {job} comes at the {problem.sides[side]}",
                    )

    def _recorded(self, node: _Node, own: int) -> None:
        """Laws 6 and 7: jobs left the other way round, numbers note their sizes."""
        problem, state = self._problem, node.state
        limit = problem.largest(own + 1)
        for side in self._sides:
            extremes = _Extremes()
            view = type(problem.views[side])(
                **{
                    name: extremes.of(v)
                    for name, v in vars(problem.views[side]).items()
                }
            )
            for job in _existing(problem, node):
                after = problem.extend(state, job, back=bool(side))
                child, bound = problem.node(after, bool(side)), problem.bound_of(after)
                seen = problem.node(state, bool(side))
                seen.left = [*reversed(node.left)]
                for name, value in vars(seen).items():
                    if name == "other":
                        value = SimpleNamespace(
                            **{n: extremes.of(v) for n, v in vars(value).items()}
                        )
                    setattr(seen, name, value if name == "left" else extremes.of(value))
                said = [bound]
                if "child_bound" in problem.text.sources:
                    said.append(self._kind.child_bound(view, seen, job))
                seen.left.remove(job)
                for name in problem.sums:
                    setattr(seen, name, extremes.of(getattr(child, name)))
                self._kind.take(view, seen, job)
                if hasattr(seen, "last"):
                    seen.last = job
                said.append(self._kind.node_bound(view, seen))
                for name in {*problem.state, *problem.shared}:
                    if (got := getattr(seen, name)) != getattr(child, name):
                        self._fail(
                            7, node, f"{name} after {job} in falling order: {got}"
                        )
                if len(set(said)) > 1:
                    self._fail(7, node, f"bounds of {job} in falling order: {said}")
                least = extremes.least
                if "tight_bound" in problem.text.sources and not side and bound <= own:
                    self._kind.tight_bound(view, seen, own + 1)
                if extremes.most > limit or extremes.least < -limit:
                    worst = max(extremes.most, -extremes.least)
                    self._fail(
                        6,
                        node,
                        f"job {job}: a value of {worst}, largest({own + 1}) is {limit}",
                    )
                if problem.never_negative and least < 0:
                    self._fail(6, node, f"job {job}: a value of {least}")
                extremes.least = least  # packed values are none of tight_bound's

    def _fail(self, law: int, node: _Node, what: str) -> NoReturn:
        _fail(self._problem, law, node, what)


# -- what is not part of a text --------------------------------------------------------

FEW_LEFT = 4
"""Jobs left of a node whose completions are all evaluated, whatever the problem: 24."""


def _check_any(problem: Problem[Any], nodes: int, seed: int) -> None:
    """Laws 1, 8 and 10 at random nodes, by what any problem has."""
    rng = np.random.default_rng(seed)
    reached = problem.n_jobs == 1
    for number in range(nodes):
        node = _drawn(problem, 2 + number % (FEW_LEFT - 1), rng)
        if node is not None:
            reached = True
            if len(node.left) > 1:
                _check_node(problem, node)
    if not reached:
        raise LawError(
            f"{problem.name}: law 5 ({LAWS[5]}) does not hold: no node that was drawn "
            f"has {FEW_LEFT} jobs left, or fewer"
        )


def _check_node(problem: Problem[Any], node: _Node) -> None:
    state, jobs = node.state, np.array(node.left, np.intp)
    costs = {}
    for between in permutations(node.left):
        whole = np.array([*node.prefix, *between, *node.suffix], np.intp)
        with suppress(ValueError):  # of a job that has to wait
            costs[between] = problem.evaluate(whole)
    found = {}
    tighten = getattr(problem, "tighten", None)
    for back in sides_of(problem):
        found[back] = bounds = problem.child_bounds(state, jobs, back=back)
        kinds = [("child_bounds", bounds)]
        if tighten is not None:
            about = state, jobs, bounds
            tight = np.maximum(bounds, tighten(*about, NO_CHILD, back=back))
            kinds.append(("tighten", tight))
            for ub in *tight.tolist(), *(tight[tight < NO_CHILD] + 1).tolist():
                other = np.maximum(bounds, tighten(*about, ub, back=back))
                if np.any(np.minimum(other, ub) != np.minimum(tight, ub)):
                    what = f"bounds are {tight}, but {other} when ub is {ub}"
                    _fail(problem, 8, node, what)
        for name, values in kinds:
            for order, cost in costs.items():
                job = order[-1 if back else 0]
                bound = int(values[jobs == job][0])
                if bound > cost:
                    side = "back" if back else "front"
                    what = f"job {job} at the {side}: {name} says {bound}"
                    way = (*node.prefix, *order, *node.suffix)
                    _fail(problem, 1, node, f"{what}, {way} costs {cost}")
    choose_back = getattr(problem, "choose_back", None)
    if choose_back is not None and len(found) > 1:
        said = [choose_back(state, *map(np.copy, found.values())) for _ in range(3)]
        if (
            not all(isinstance(one, bool | np.bool_) for one in said)
            or len({*said}) > 1
        ):
            _fail(problem, 10, node, f"it says {said}")


@dataclass(slots=True)
class _Extremes:
    """The least and the largest of all numbers that came up."""

    least: int = 0
    most: int = 0

    def of(self, value: Any) -> Any:
        """Return numbers that tell it, in lists where they are in lists."""
        if isinstance(value, list):
            return [self.of(one) for one in value]
        if isinstance(value, SimpleNamespace):
            return value
        number = _Recorded(value)
        number.extremes = self
        return number.noted()


class _Recorded(int):
    """An integer that notes what is made of it."""

    extremes: _Extremes

    def noted(self) -> _Recorded:
        """Note it."""
        self.extremes.least = min(self.extremes.least, int(self))
        self.extremes.most = max(self.extremes.most, int(self))
        return self


def _recording(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def operation(self: _Recorded, *others: Any) -> Any:
        number = _Recorded(plain(self, *others))
        number.extremes = self.extremes
        return number.noted()

    return operation


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "neg"):
    setattr(_Recorded, f"__{_name}__", _recording(f"__{_name}__"))


# -- engines ---------------------------------------------------------------------------

TREE_NODES = 2000
"""Nodes of a tree that engines are compared on, about: more are not begun."""


def _same_tree(problem: Model, names: list[str]) -> tuple[dict[str, str], int]:
    """Law 7: explore a tree on every engine; return what each said, and its size."""
    ub = _fixed_ub(problem)
    tree = tree_of(problem, SolveOptions(), ub)
    expected: tuple[int, int, list[int]] | None = None
    found: dict[str, str] = {}
    for name in dict.fromkeys(["reference", *names]):
        try:
            engine = get_engine(name)
            reason = engine.availability() or engine.supports(problem, tree)
            if reason is None:
                device = engine.devices(1)[0]
                session = engine.open(problem, tree, device, ub=ub, all_optima=True)
        except EngineUnavailable as error:
            reason = str(error)
        if reason is not None:
            found[name] = reason
            continue
        session.load(WorkUnit.whole(problem.n_jobs))
        counters = explore_to_end(session, ub, 0.2).counters
        session.close()
        counted = counters.decomposed, counters.leaves, counters.closed.tolist()
        expected = expected or counted
        if counted != expected:
            raise LawError(
                f"{problem.name}: law 7 ({LAWS[7]}) does not hold below {ub}: "
                "decomposed, leaves, closed by depth are "
                f"{expected} on reference, {counted} on {name}"
            )
        found[name] = _SAME
    return found, 0 if expected is None else expected[0]


def _fixed_ub(problem: Model) -> int:
    """Return a UB with a tree that is neither empty nor large, and never changes.

    No permutation costs less than the UB but one of ``UB - 1``.
    """
    engine = get_engine("reference")
    tree = tree_of(problem, SolveOptions(), None)
    best = problem.bound_of(problem.root_state())
    ub, step = best + 1, 1
    while True:
        session = engine.open(problem, tree, engine.devices()[0], ub=ub)
        session.load(WorkUnit.whole(problem.n_jobs))
        size, leaf, over = 0, None, False
        while size <= TREE_NODES and not over:
            part = session.advance(ub, 0.02)
            size, over = size + part.decomposed, part.exhausted
            leaf = part.best or leaf
        if not over:
            return best
        if leaf is not None:
            return leaf.value + 1
        if ub >= problem.trivial_ub:
            return ub
        best, ub, step = ub, min(ub + step, problem.trivial_ub), 2 * step
