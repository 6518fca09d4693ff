"""A problem as one text: what a class says, and the problem that every engine explores.

A model says in scalar Python how a node takes a job, and a bound of a node. The
functions are run as they are, here, by the reference engine; the fast engines compile
the same text (``dpbb.modeling.cpu``, ``dpbb.modeling.cuda``). The path, the jobs that
are left and sums over them are kept for the model, not by it.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpbb.heuristics import METHODS
from dpbb.modeling.shape import Field, Shape, shape_of
from dpbb.modeling.text import ModelError, Text
from dpbb.problem import NO_CHILD, Incumbent, StartSearch

Values = dict[str, Any]
"""Fields by name: a number or a list of numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A node; never changed in place.

    Parameters
    ----------
    own
        Fields of each side: the front's, and of two sides the back's.
    shared
        Fields that both sides have in common.
    sums
        Sums over the jobs that are left, as each side sees them.
    left
        Jobs that are in no place yet.
    """

    own: tuple[Values, ...]
    shared: Values
    sums: tuple[Values, ...]
    left: frozenset[int]

    def value(self, field: Field, side: int) -> Any:
        """Return a field as a side sees it; where there is one side, as that does."""
        of = {"own": self.own, "sum": self.sums}.get(field.kind, (self.shared,))
        return of[side % len(of)][field.name]


class Model:
    """Minimize a cost that a text says how to count; see docs/own-problem.md.

    A subclass has ``n_jobs``, ``trivial_ub``, the tables that its functions read, as
    arrays of whole numbers or plain numbers, and ``take`` and ``node_bound``.

    Attributes
    ----------
    sides
        ``("front",)``, or ``("front", "back")``: then ``mirrored`` gives the mirror
        image of the instance, and the text says what the front does; what the back
        does is what the front of the mirror image does.
    state
        Fields that each side has for itself, by name: their length, as a number or as
        the name of an attribute, or None for a number.
    shared
        Fields, in the same way, that both sides go on with.
    sums
        Fields that are sums over the jobs that are left, by name: the name of a table,
        ``self.TABLE[job]`` or ``self.TABLE[job][k]``.
    never_negative
        True: no value is ever below 0 on the way, nor is any difference. A GPU then
        packs two values in a word where they are small.
    tight_depths
        Least and greatest depth of the children whose bounds ``tight_bound`` tightens,
        from 1 on; None: all.
    """

    name: str
    objective = "cost"
    bound = "model"
    sides: tuple[str, ...] = ("front",)
    state: ClassVar[Mapping[str, str | int | None]] = {}
    shared: ClassVar[Mapping[str, str | int | None]] = {}
    sums: ClassVar[Mapping[str, str]] = {}
    never_negative = False
    tight_depths: tuple[int, int] | None = None

    n_jobs: int
    trivial_ub: int
    text: ClassVar[Text]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in vars(cls) and not hasattr(cls, "name"):
            cls.name = cls.__name__
        cls.text = Text.of(cls, Model)
        if "absent" in cls.text.sources and cls.improve is Model.improve:
            cls.improve = None  # type: ignore[assignment, method-assign]

    # -- what a subclass says ----------------------------------------------------------

    def take(self, node: Any, job: int) -> None:
        """Change the fields of a node, which takes a job next on this side.

        The job is out of ``node.left`` and of the sums already.
        """
        raise NotImplementedError(f"{type(self).__name__}.take")

    def node_bound(self, node: Any) -> int:
        """Lower bound of all completions of a node; its cost when no job is left."""
        raise NotImplementedError(f"{type(self).__name__}.node_bound")

    def child_bound(self, node: Any, job: int) -> int:
        """``node_bound`` of the child that takes a job, from its parent.

        Without it that is computed as it stands; with it engines are faster.
        """
        raise NotImplementedError(f"{type(self).__name__}.child_bound")

    def absent(self, node: Any, job: int) -> bool:
        """Whether there is no such child; of a problem with one side."""
        raise NotImplementedError(f"{type(self).__name__}.absent")

    def tight_bound(self, node: Any, ub: int) -> int:
        """Return another lower bound, dearer than ``node_bound``; optional.

        It only prunes, of the nodes that ``node_bound`` leaves. It is asked at the
        front alone. One that reaches ``ub`` need not be the largest; whether it does
        has to depend on the node alone.
        """
        raise NotImplementedError(f"{type(self).__name__}.tight_bound")

    def child_weight(self, bound: int, parent: int) -> int:
        """Weigh a child by its ``node_bound`` and that of its parent; optional.

        A branching rule: a node takes the side whose children weigh less together; if
        both weigh the same, that of the larger sum of bounds, then the front. Sums of
        weights have to stay below 2**63.
        """
        raise NotImplementedError(f"{type(self).__name__}.child_weight")

    def root(self) -> Mapping[str, Any]:
        """First values of fields, by name; those that are not given are 0."""
        return {}

    def mirrored(self) -> Model:
        """Return the mirror image, whose front is this one's back."""
        self._refuse("sides", "a method mirrored beside two sides", "none")

    def largest(self, ub: int) -> int:
        """Return a value that none passes in size on the way, where costs are below ub.

        By default it is safe, not small: narrow integers need a smaller one.
        """
        return self.trivial_ub + sum(
            int(np.abs(np.asarray(getattr(view, name), np.int64)).sum(dtype=object))
            for view in self.instances
            for name in self.shape.tables
        )

    # -- what follows ------------------------------------------------------------------

    @cached_property
    def instances(self) -> tuple[Model, ...]:
        """The model and, of two sides, its mirror image."""
        if len(self.sides) == 1:
            return (self,)
        mirror = self.mirrored()
        if not isinstance(mirror, Model):
            self._refuse("mirrored", "a model, the mirror image", repr(mirror)[:60])
        return self, mirror

    @cached_property
    def shape(self) -> Shape:
        """What compiled code depends on besides the text.

        Raises
        ------
        ModelError
            The text uses what is not there.
        """
        if not self.text.is_whole:
            raise ModelError(
                f"{type(self).__name__}: expected take and node_bound in a file, "
                f"got {self.text.missing or ', '.join(self.text.sources) or 'neither'}"
            )
        for name in ("n_jobs", "trivial_ub"):
            value = getattr(self, name, None)
            least = int(name == "n_jobs")
            if not isinstance(value, int | np.integer) or value < least:
                expected = f"a whole number from {least} on, made in __init__"
                self._refuse(name, expected, repr(value)[:60])
        if self.sides not in (("front",), ("front", "back")):
            raise ModelError(
                f"sides of {self.name}: expected ('front',) or ('front', 'back'), got "
                f"{self.sides!r}"
            )
        for name in ("state", "shared", "sums"):
            if not isinstance(value := getattr(self, name), Mapping):
                expected = 'fields by name, as in {"time": None}'
                self._refuse(name, expected, repr(value)[:60])
        fields = [
            Field(name, kind, self._length(of, name, length))
            for of, kind in (("state", "own"), ("shared", "shared"))
            for name, length in getattr(self, of).items()
        ]
        for name, table in self.sums.items():
            if not hasattr(self, table):
                self._refuse("sums", f"self.{table} to be made in __init__", "none")
            axes = np.asarray(getattr(self, table)).shape
            length = axes[1] if len(axes) > 1 else None
            reverse = length is not None and len(self.sides) > 1
            if reverse:
                there = np.asarray(getattr(self.instances[1], table))
                reverse = np.array_equal(there[:, ::-1], getattr(self, table))
            fields.append(Field(name, "sum", length, table, reverse))
        names = ["left", "other", "last", *(field.name for field in fields)]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ModelError(
                f"fields of {self.name}: expected each name once, and others than "
                f"left, other and last, which every node has, got {', '.join(twice)}"
            )
        text = self.text.folded(self)
        if text.uses_last:
            fields.append(Field("last", "own", None))
        if "absent" in self.text.sources and len(self.sides) > 1:
            raise ModelError(f"{self.name}: expected one side beside absent, got two")
        front, *back = (
            shape_of(
                text,
                self.n_jobs,
                len(self.sides),
                tuple(fields),
                one,
                never_negative=self.never_negative,
            )
            for one in self.instances
        )
        for mirror in back:
            self._check_mirror(front, mirror)
        return front

    def _check_mirror(self, front: Shape, back: Shape) -> None:
        """Refuse what is compiled once for both sides, and differs."""
        for name, size in front.tables.items():
            if (there := back.tables[name]) != size:
                self._refuse("mirrored", f"self.{name} of shape {size}", f"{there}")
        for name, number in front.text.switches.items():
            if (got := getattr(self.instances[1], name, None)) != number:
                expected = (
                    f"self.{name} = {number} as here (what differs is a table: write "
                    f"self.{name}[0] of an array of one number)"
                )
                self._refuse("mirrored", expected, repr(got)[:60])

    def _refuse(self, name: str, expected: str, got: str) -> NoReturn:
        """Refuse what the class says by an attribute, with its line if it has one."""
        where = f"{name} of {self.name}"
        try:
            kind = next(one for one in type(self).__mro__ if name in vars(one))
            lines, first = inspect.getsourcelines(kind)
            starts = name, f"def {name}"
            at = next(i for i, li in enumerate(lines) if li.lstrip().startswith(starts))
            where = f"{inspect.getsourcefile(kind)}:{first + at}: {where}"
        except (OSError, TypeError, StopIteration):
            pass  # of a class that was typed at a prompt, or made otherwise
        raise ModelError(f"{where}: expected {expected}, got {got}")

    def _length(self, kind: str, name: str, of: str | int | None) -> int | None:
        if not isinstance(of, str):
            return of
        if not hasattr(self, of):
            self._refuse(
                kind, f"the length of {name} as self.{of}", "no such attribute"
            )
        return int(getattr(self, of))

    @cached_property
    def views(self) -> tuple[SimpleNamespace, ...]:
        """What the text sees as ``self`` on each side: lists and Python's integers."""
        shape = self.shape
        helpers = {name: getattr(type(self), name) for name in self.text.helpers}
        view = type("View", (SimpleNamespace,), helpers)
        return tuple(
            view(
                **{
                    name: np.asarray(getattr(one, name)).astype(np.int64).tolist()
                    for name in shape.tables
                },
                **shape.text.switches,
            )
            for one in self.instances
        )

    @cached_property
    def digest(self) -> str:
        """Digest of all that the text reads.

        Raises
        ------
        ModelError
            Asked once more it is something else.
        """
        if (read := self._read()) != copy(self)._read():
            raise ModelError(
                f"{self.name}: expected mirrored, root and all that the text reads to "
                "say the same when asked again: draw random numbers in __init__ alone"
            )
        return hashlib.sha256(read.encode()).hexdigest()

    def _read(self) -> str:
        root, kinds = self.root_state(), getattr(self, "job_kinds", None)
        return repr(
            (
                self.name,
                self.shape.digest,
                self.tightened,
                int(self.trivial_ub),
                kinds if kinds is None else np.asarray(kinds).tolist(),
                (root.own, root.shared, root.sums),
                [sorted(vars(view).items()) for view in self.views],
            )
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name not in _CACHED}

    def root_state(self) -> State:
        """State of the empty partial schedule."""
        own, shared, sums = [], [], []
        for view, instance in zip(self.views, self.instances, strict=True):
            values = self._first_values(instance.root())
            own.append({name: values[name] for name in self.state})
            if self.shape.text.uses_last:
                own[-1]["last"] = self.n_jobs
            shared.append({name: values[name] for name in self.shared})
            sums.append(
                {
                    name: np.sum(getattr(view, table), axis=0).tolist()
                    for name, table in self.sums.items()
                }
            )
        if shared[-1] != shared[0]:
            self._refuse("mirrored", f"a root of {shared[0]}", f"{shared[-1]}")
        left = frozenset(range(self.n_jobs))
        return State(tuple(own), shared[0], tuple(sums), left)

    def _first_values(self, given: Any) -> Values:
        """Return the first values of all fields but sums; ``given`` is said by root."""
        fields = {one.name: one.length for one in self.shape.fields if one.table == ""}
        known = [name for name in fields if name != "last"]
        if not isinstance(given, Mapping) or not given.keys() <= set(known):
            got = ", ".join(map(str, given)) if isinstance(given, Mapping) else given
            self._refuse("root", f"some of the fields {', '.join(known)}", f"{got}")
        values = {}
        for name, length in fields.items():
            shape = () if length is None else (length,)
            value = np.asarray(given.get(name, np.zeros(shape, int)))
            if value.shape != shape or (value.size and value.dtype.kind not in "iub"):
                what = "a whole number" if length is None else f"{length} whole numbers"
                expected = f"{what} as {name}"
                self._refuse("root", expected, repr(given[name])[:60])
            values[name] = value.astype(int).tolist()
        return values

    def node(self, state: State, back: bool = False) -> SimpleNamespace:
        """Return a node as the text sees it from a side."""
        fields = {**state.own[back], **state.shared, **state.sums[back]}
        if len(state.own) > 1:
            fields["other"] = SimpleNamespace(**state.own[not back])
        return SimpleNamespace(**fields, left=state.left)

    def extend(self, state: State, job: int, *, back: bool) -> State:
        """State of the child that takes a job on a side."""
        sums = tuple(
            {
                name: _less(values[name], getattr(view, table)[job])
                for name, table in self.sums.items()
            }
            for values, view in zip(state.sums, self.views, strict=True)
        )
        copied = {name: _copied(value) for name, value in state.own[back].items()}
        shared = {name: _copied(value) for name, value in state.shared.items()}
        child = State(
            tuple(
                copied if side == back else own for side, own in enumerate(state.own)
            ),
            shared,
            sums,
            state.left - {job},
        )
        node = self.node(child, back)
        type(self).take(self.views[back], node, int(job))  # type: ignore[arg-type]
        for values in (copied, shared):
            for name in values:
                values[name] = getattr(node, name)
        if "last" in copied:
            copied["last"] = int(job)
        return child

    def child_bounds(
        self, state: State, jobs: NDArray[np.intp], *, back: bool
    ) -> NDArray[np.int64]:
        """Bounds of the children; see ``dpbb.problem.Problem.child_bounds``."""
        kind: Any = type(self)
        view, node = self.views[back], self.node(state, back)
        sources = self.text.sources
        bounds = np.empty(len(jobs), np.int64)
        for place, job in enumerate(jobs.tolist()):
            if "absent" in sources and kind.absent(view, node, job):
                bounds[place] = NO_CHILD
            elif "child_bound" in sources:
                bounds[place] = kind.child_bound(view, node, job)
            else:
                bounds[place] = self.bound_of(self.extend(state, job, back=back), back)
        return bounds

    @property
    def choose_back(self) -> Callable[..., bool] | None:
        """The rule of ``child_weight``, see ``dpbb.problem.ChoosesSides``, or None."""
        return self._choose_back if "child_weight" in self.text.sources else None

    @property
    def is_beside_text(self) -> bool:
        """Whether a class overrides what follows from the text, as ``tighten``."""
        kind = type(self)
        return any(getattr(kind, name) != getattr(Model, name) for name in _FOLLOWS)

    def _choose_back(
        self, state: State, front: NDArray[np.int64], back: NDArray[np.int64]
    ) -> bool:
        kind: Any = type(self)
        parent, view = self.bound_of(state), self.views[0]
        weights = [
            sum(kind.child_weight(view, bound, parent) for bound in side.tolist())
            for side in (front, back)
        ]
        if weights[0] != weights[1]:
            return bool(weights[1] < weights[0])
        return bool(back.sum() > front.sum())

    @property
    def tighten(self) -> Callable[..., NDArray[np.int64]] | None:
        """What tightens bounds, see ``dpbb.problem.Tightens``; None: nothing does."""
        return self._tighten if "tight_bound" in self.text.sources else None

    @property
    def tightened(self) -> tuple[int, int]:
        """Least and greatest depth of the children that are tightened."""
        return self.tight_depths or (1, self.n_jobs)

    def _tighten(
        self,
        state: State,
        jobs: NDArray[np.intp],
        bounds: NDArray[np.int64],
        ub: int,
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        tight = bounds.copy()
        first, last = self.tightened
        if not first <= self.n_jobs - len(state.left) + 1 <= last:
            return tight
        for child in np.flatnonzero(bounds < ub):
            node = self.extend(state, int(jobs[child]), back=back)
            tight[child] = max(tight[child], self.tight_bound_of(node, ub))
        return tight

    def tight_bound_of(self, state: State, ub: int = NO_CHILD) -> int:
        """Bound of a node by ``tight_bound``, the largest where none reaches ``ub``."""
        kind: Any = type(self)
        return int(kind.tight_bound(self.views[0], self.node(state), ub))

    def bound_of(self, state: State, back: bool = False) -> int:
        """Bound of a node, as a side sees it."""
        kind: Any = type(self)
        return int(kind.node_bound(self.views[back], self.node(state, back)))

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Exact cost of a permutation; ValueError if the text says that it is none."""
        kind: Any = type(self)
        state = self.root_state()
        for job in np.asarray(permutation).tolist():
            if "absent" in self.text.sources and kind.absent(
                self.views[0], self.node(state), job
            ):
                raise ValueError(f"job {job} is absent after those before it")
            state = self.extend(state, job, back=False)
        return self.bound_of(state)

    # -- good permutations -------------------------------------------------------------

    heuristics = METHODS
    improving_methods = METHODS[1:]

    def for_costs(self) -> Model:
        """Return a model of the same costs; its bounds count of no job left alone."""
        return self

    def first_incumbent(self, search: StartSearch) -> Incumbent | None:
        """Search before the tree; see ``dpbb.problem.HasHeuristics``."""
        from dpbb.modeling.greedy import first_incumbent

        return first_incumbent(self, search)

    def improve(self, start: Incumbent, search: StartSearch) -> Incumbent:
        """Search beside the tree; see ``dpbb.problem.ImprovesSchedules``."""
        from dpbb.modeling.greedy import improve_beside

        return improve_beside(self, start, search)

    def engine_model(self, engine: str) -> Any:
        """Return the model that an engine compiles, see ``dpbb.problems.Modeled``.

        None where a class overrides what follows from the text, by other Python.
        """
        if self.is_beside_text:
            return None
        if engine == "cpu":
            from dpbb.modeling.cpu import model_of

            return model_of(self)
        if engine == "cuda":
            from dpbb.modeling.cuda import TextModel

            return TextModel
        return None


def text_of(problem: Any) -> Model:
    """Return the text that a problem is, or has as its attribute ``as_text``."""
    found: Model = problem if isinstance(problem, Model) else problem.as_text
    return found


_CACHED = ("instances", "shape", "views", "digest")
"""Attributes that follow from the others."""


_FOLLOWS = (
    "tighten",
    "choose_back",
    "child_bounds",
    "extend",
    "root_state",
    "bound_of",
    "node",
)
"""Methods that engines which compile the text do not call."""


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, list) else value


def _less(values: Any, row: Any) -> Any:
    if isinstance(values, list):
        return [value - one for value, one in zip(values, row, strict=True)]
    return values - row
