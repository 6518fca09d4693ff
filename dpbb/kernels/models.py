"""What a compiled search asks of a problem with its bound: the contract of a CPU model.

A *model* is a class of named tuples that hold what depends on the instance alone: its
tables. The functions below are methods of that class; calls of them in compiled code
become part of the caller, which model is known from the type of the tuple. A search
(the engine, the estimator, a beam) passes models on and knows nothing of what is in
them. ``dpbb.problems.model_of(problem, "cpu", bound)`` is the class.

A *node* is ``node_lanes`` integers of the type *lane* (``Lanes``), int16 or int32 as
the model says, at a place in memory that the search chooses. Children are bounded in
*pairs*, see ``dpbb.kernels.pairs``, side by side in a *job table*: for each of
``height`` rows a pair of lanes per job.

Fields that every model has, all integers but the last::

    n_jobs         jobs of the tree
    node_lanes     lanes of a node, a multiple of PAIR_LANES
    scratch_lanes  lanes of scratch: ``prepare`` and ``step`` write, ``bounds`` reads
    height         rows of a job table; bounds take time in proportion to it
    cost_ints      integers of scratch that ``cost`` uses
    root_bound     no bound of the tree is below this; at least 0
    root           node of the empty partial schedule

What Python calls::

    obstacle(problem)              None, or why it is no model of this problem
    narrowest_dtype(problem, ub)   lane type that no bound can pass: its largest value
                                   means "no child"; ValueError if there is none
    of(problem, root_order, dtype) the tuple; jobs are numbered in root order
    job_table(slots)               ndarray (height, slots, 2): the table of all jobs

*Another bound* that is chosen sides by as well is a model of its own beside the first:
a class that the problem's ``engine_model`` chooses. It may hold the first model's tuple
as its field ``first``, whose functions are called where it has none of its own. A
*dearer* bound that only prunes (``dpbb.problem.Tightens``) is a model with one more
field, ``tighten_lanes``, and two more functions, ``tightens`` and ``tighten``, called
after the side is chosen. Of models without them no call is compiled. Its compiled code
lies beside the class of the model: the cache looks there for changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numba import extending
from numba.core.errors import TypingError

from dpbb.kernels.compiling import INLINED
from dpbb.kernels.pointers import Ints, Lanes
from dpbb.kernels.simd import Vector

Stub = TypeVar("Stub", bound="Callable[..., Any]")


def _by_model(stub: Stub, otherwise: Callable[..., Any] | None = None) -> Stub:
    """Make a function whose calls are calls of the model's method of the same name.

    Without one they are calls of its field ``first``, which is a model. ``otherwise``
    is what is called of a model without the field ``tighten_lanes``.
    """

    def method_of(model: Any, *_others: Any) -> Any:
        kind: Any = getattr(model, "instance_class", None)
        fields = getattr(kind, "_fields", ())
        if otherwise is None and not hasattr(kind, stub.__name__) and "first" in fields:
            return lambda model, *others: stub(model.first, *others)
        if otherwise is None or "tighten_lanes" in fields:
            return getattr(kind, stub.__name__)
        if hasattr(kind, stub.__name__):
            raise TypingError(f"expected a field tighten_lanes of {kind.__name__}")
        return otherwise

    overload = cast("Any", extending.overload)
    overload(stub, jit_options=INLINED, strict=False)(method_of)
    return stub


@_by_model
def step(
    model: Any,
    nodes: Lanes,
    at: int,
    children: Lanes,
    to: int,
    scratch: Lanes,
    job: int,
    side: int,
) -> None:
    """Write the child that takes ``job`` on a side, and make it ready to be bounded.

    Parameters
    ----------
    nodes, at
        The node: ``nodes[at]`` and on.
    children, to
        Where the child goes; may be the same memory, but not the same place.
    side
        0 the front, 1 the back.
    """
    raise NotImplementedError


@_by_model
def prepare(model: Any, nodes: Lanes, at: int, scratch: Lanes) -> None:
    """Make a node ready to be bounded, as ``step`` does with its child."""
    raise NotImplementedError


@_by_model
def bounds(
    model: Any,
    nodes: Lanes,
    at: int,
    scratch: Lanes,
    columns: Lanes,
    start: int,
    stride: int,
    like: Vector,
) -> Vector:
    """Bounds of as many children as a vector holds, in pairs; any value if no child.

    Parameters
    ----------
    columns, start, stride
        Row k of their columns in a job table begins at ``start + k * stride``.
    like
        Zeros of the type of the result.
    """
    raise NotImplementedError


@_by_model
def gather(
    model: Any, jobs: Ints, first: int, groups: int, columns: Lanes, start: int
) -> None:
    """Make the job table of some jobs.

    Parameters
    ----------
    jobs, first
        ``GROUP_JOBS`` jobs for each group, from ``jobs[first]`` on.
    columns, start
        Rows of ``PAIR_LANES * groups`` lanes from ``columns[start]`` on; their number
        is ``height``, rounded up to a multiple of ``GROUP_JOBS``.
    """
    raise NotImplementedError


@_by_model
def cost(model: Any, jobs: Ints, first: int, scratch: Ints) -> int:
    """Cost of the complete permutation that begins at ``jobs[first]``, exact."""
    raise NotImplementedError


@_by_model
def grow(model: Any, nodes: Lanes, at: int, job: int, side: int) -> None:
    """Let a node take a job on a side, in place, without making it ready.

    A model that is a text has this, and ``joined``.
    """
    raise NotImplementedError


@_by_model
def joined(model: Any, nodes: Lanes, at: int, behind: int) -> int:
    """Cost of what a node has taken in front, and of what another has at its back.

    As if there were no other job. The node at ``nodes[at]`` is changed, that at
    ``nodes[behind]`` is not.
    """
    raise NotImplementedError


@_by_model
def take_common(
    model: Any,
    nodes: Lanes,
    at: int,
    children: Lanes,
    to: int,
    columns: Lanes,
    start: int,
    side: int,
    moved: Vector,
    like: Vector,
) -> None:
    """Let the nodes of some lanes take one job, in place.

    A model that is a text has this and the next two, which do nothing if its node has
    no vectors (``dpbb.modeling.node_lanes``).

    Parameters
    ----------
    nodes, at
        As many vectors as a node has values, lane by lane another node.
    columns, start
        The job's column: each value twice.
    side
        Whose values these are: 0 the front's, 1 the back's.
    moved
        All bits set in lanes that take the job, 0 in others.
    """
    raise NotImplementedError


@_by_model
def take_each(
    model: Any,
    nodes: Lanes,
    at: int,
    children: Lanes,
    to: int,
    columns: Lanes,
    start: int,
    side: int,
    like: Vector,
) -> None:
    """Let the node of every lane take a job of its own, see ``take_common``.

    ``columns``, ``start``: the columns of the jobs, vector by vector.
    """
    raise NotImplementedError


@_by_model
def joined_lanes(
    model: Any, nodes: Lanes, at: int, rest: Lanes, beside: int, side: int, like: Vector
) -> Vector:
    """Costs of what nodes have taken in front, and others at their backs.

    ``rest``, ``beside``: the others, as ``nodes``, ``at``.
    """
    raise NotImplementedError


@partial(_by_model, otherwise=lambda _model, _depth: False)
def tightens(model: Any, depth: int) -> bool:
    """Whether children of this depth have a dearer bound."""
    raise NotImplementedError


@partial(_by_model, otherwise=lambda _model, *_others: None)
def tighten(
    model: Any,
    nodes: Lanes,
    at: int,
    depth: int,
    side: int,
    jobs: Ints,
    first: int,
    kept: Ints,
    count: int,
    work: Lanes,
    ub: int,
    floor: int,
) -> None:
    """Write dearer bounds of children to ``work``, in the order of ``kept``.

    Called where ``tightens`` says so.

    Parameters
    ----------
    nodes, at
        Their parent. What the model keeps there of the dearer bound alone may change.
    depth, side
        Depth of the children, and side of their job.
    jobs, first, kept, count
        The children's jobs are ``jobs[first + kept[i]]``, i from 0 to ``count - 1``.
    work
        ``tighten_lanes`` lanes. A bound of at least ``ub`` need not be the tightest,
        nor one that is below ``floor``.
    """
    raise NotImplementedError


def own_side(
    model: Any,
    is_own: int,
    nodes: Lanes,
    at: int,
    bounds: Lanes,
    lanes: int,
    side: np.uint64,
) -> np.uint64:
    """Return the side of a node by the branching rule that the problem brings.

    Parameters
    ----------
    is_own
        0: the tree has another rule.
    bounds, lanes
        Of all children, in pairs; where there is none, the same on both sides.
    side
        Where the rule has no preference.
    """
    raise NotImplementedError


@extending.overload(own_side, jit_options=INLINED, strict=False)
def _own_side(model: Any, *_others: Any) -> Any:
    kind = getattr(model, "instance_class", None)
    return getattr(kind, "own_side", lambda _model, *others: others[-1])
