"""What compiled code depends on besides a text: fields, plain numbers and tables.

``Shape`` is what the text needs to know of an instance: how long fields are, which
plain numbers there are, and which axes of its tables are numbered by jobs.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from dpbb.modeling.text import (
    ModelError,
    Source,
    Text,
    attribute_of,
    body_of,
    is_last,
    is_left_set,
    is_name,
    order_of,
    parts_of,
    split,
    target_of,
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a node.

    Parameters
    ----------
    kind
        ``"own"``: each side has its own; ``"shared"``: both sides have one; ``"sum"``:
        of a table over the jobs that are left.
    length
        None: a number.
    table
        Of a sum.
    reversed
        Of a sum: what the back sees are the same numbers in reverse.
    """

    name: str
    kind: str
    length: int | None
    table: str = ""
    reversed: bool = False

    @property
    def size(self) -> int:
        """Numbers."""
        return 1 if self.length is None else self.length

    @property
    def pairs(self) -> int:
        """Numbers that tell all of them, each as both sides see it."""
        return (self.size + 1) // 2 if self.reversed else self.size


@dataclass(frozen=True, eq=False)
class Shape:
    """What compiled code depends on, besides the text; equal ones have one digest.

    Parameters
    ----------
    sides
        Number of sides: 2, of which each is the mirror image of the other, or 1.
    fields
        Of a node, in the order of memory.
    numbers
        Plain numbers that the text uses; they become part of the code.
    tables
        Lengths of the axes of each table that the text uses.
    job_axes
        Axes that are numbered by jobs.
    orders
        Tables of jobs that the text goes over.
    both_orders
        Those of them that both sides go over, not ``tight_bound`` alone.

    The field ``last`` of the job that a side took last is there if the text asks for
    it.
    """

    text: Text
    n_jobs: int
    sides: int
    never_negative: bool
    fields: tuple[Field, ...]
    numbers: Mapping[str, int]
    tables: Mapping[str, tuple[int, ...]]
    job_axes: frozenset[tuple[str, int]]
    orders: frozenset[str]
    both_orders: frozenset[str]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """Digest of everything that compiled code depends on."""
        parts = (
            self.text.digest,
            self.n_jobs,
            self.sides,
            self.never_negative,
            self.fields,
            sorted(self.numbers.items()),
            sorted(self.tables.items()),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]

    def field(self, name: str) -> Field:
        """Return a field by its name."""
        return next(field for field in self.fields if field.name == name)

    @cached_property
    def uses_left(self) -> bool:
        """Whether the text, but for ``tight_bound``, asks which jobs are left."""
        return any(
            isinstance(node, ast.expr) and is_left_set(node)
            for name, source in self.text.sources.items()
            if name != "tight_bound"
            for node in ast.walk(source.tree)
        )


def shape_of(
    text: Text,
    n_jobs: int,
    sides: int,
    fields: tuple[Field, ...],
    data: Any,
    **more: Any,
) -> Shape:
    """Find what a text uses of an instance.

    Parameters
    ----------
    data
        Object whose attributes are the numbers and tables.

    Raises
    ------
    ModelError
        An attribute or a field is not there, or is used in two ways.
    """
    finder = _Finder(text, {field.name: field for field in fields}, data)
    for name, source in text.sources.items():
        finder.read(name, source)
    for field in fields:
        if field.kind == "sum":
            finder.table(field.table, 1 if field.length is None else 2)
            finder.axes[field.table, 0] = True
    jobs = frozenset(axis for axis, is_job in finder.axes.items() if is_job)
    for table, axis in sorted(jobs):
        expected, what = n_jobs, f"{n_jobs} jobs"
        if (table, axis) in finder.lasts:
            expected, what = n_jobs + 1, f"{n_jobs + 1}: the jobs, then none of them"
        if finder.tables[table][axis] != expected:
            raise ModelError(
                f"{table}: expected an axis {axis} of {what}, got a length of "
                f"{finder.tables[table][axis]}"
            )
    for name in sorted(finder.orders | finder.both_orders):
        order = np.asarray(getattr(data, name))
        if wrong := set(order.ravel().tolist()) - set(range(n_jobs)):
            raise ModelError(
                f"{name}: expected jobs, 0 to {n_jobs - 1}, got {min(wrong)}"
            )
    return Shape(
        text=text,
        n_jobs=n_jobs,
        sides=sides,
        fields=fields,
        numbers=finder.numbers,
        tables=finder.tables,
        job_axes=jobs,
        orders=frozenset(finder.orders | finder.both_orders),
        both_orders=frozenset(finder.both_orders),
        **more,
    )


class _Finder:
    """Reads which attributes a text uses, and which indices are jobs."""

    def __init__(self, text: Text, fields: Mapping[str, Field], data: Any) -> None:
        self._fields = fields
        self._data = data
        self.numbers: dict[str, int] = {}
        self.tables: dict[str, tuple[int, ...]] = {}
        self.axes: dict[tuple[str, int], bool] = {}
        self.orders: set[str] = set()
        self.both_orders: set[str] = set()
        self.lasts: set[tuple[str, int]] = set()
        self._where = ""
        self._jobs: set[str] = set()

    def read(self, name: str, source: Source) -> None:
        """Read a function."""
        self._jobs = {"job"}
        inner = {
            id(node.value)
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Subscript)
        }
        for node in ast.walk(source.tree):
            if isinstance(node, ast.For):
                names, over = parts_of(node)
                inner.add(id(over))
                if not isinstance(over, ast.Call):
                    self._jobs.add(names[-1])
                if order := order_of(over):
                    self._at(source, node)
                    self.table(order[0], len(order[1]) + 1)
                    self._axes(*order)
                    is_tight = name == "tight_bound"
                    (self.orders if is_tight else self.both_orders).add(order[0])
        for statement in body_of(source.tree):
            for node in ast.walk(statement):
                if target := target_of(node):
                    self._at(source, node)
                    self._change(target)
                if id(node) in inner or not isinstance(
                    node, ast.Subscript | ast.Attribute
                ):
                    continue
                self._at(source, node)
                self._use(node)

    def _at(self, source: Source, node: ast.AST) -> None:
        self._where = f"{source.file}:{getattr(node, 'lineno', source.line)}"

    def _change(self, target: ast.expr) -> None:
        base, _ = split(target)
        field = self._fields.get(attribute_of(base, "node") or "")
        if field is not None and field.kind == "sum":
            self._refuse("a field of state or shared to change", ast.unparse(target))

    def _use(self, node: ast.Subscript | ast.Attribute) -> None:
        base, indices = split(node)
        if name := attribute_of(base, "self"):
            if not indices:
                self.numbers[name] = self._number(name)
                return
            self.table(name, len(indices))
            self._axes(name, indices)
            return
        owner = base.value if isinstance(base, ast.Attribute) else base
        if not (is_name(owner, "node") or attribute_of(owner, "node") == "other"):
            return
        assert isinstance(base, ast.Attribute)  # noqa: S101
        if base.attr in ("left", "other"):
            return
        field = self._fields.get(base.attr)
        if field is None:
            known = ", ".join(self._fields) or "none"
            self._refuse(f"one of the node's fields ({known})", f"{base.attr!r}")
        if len(indices) != (field.length is not None):
            self._refuse(
                f"{field.name}{'' if field.length is None else '[i]'}",
                ast.unparse(node),
            )
        if not is_name(owner, "node") and field.kind != "own":
            self._refuse("a field of state behind node.other", f"{field.name!r}")

    def _axes(self, name: str, indices: list[ast.expr]) -> None:
        """Note which axes of a table are numbered by jobs."""
        for axis, index in enumerate(indices):
            is_job = isinstance(index, ast.Name) and index.id in self._jobs
            if is_last(index):
                is_job = True
                self.lasts.add((name, axis))
            if self.axes.setdefault((name, axis), is_job) != is_job:
                self._refuse(
                    f"jobs as all indices of axis {axis} of {name}, or as none (write "
                    "the others to a table or number of their own in __init__)",
                    ast.unparse(index),
                )

    def _refuse(self, expected: str, got: str) -> NoReturn:
        raise ModelError(f"{self._where}: expected {expected}, got {got}")

    def _number(self, name: str) -> int:
        value = self._attribute(name)
        if isinstance(value, np.ndarray | list | tuple):
            self._refuse(f"an index behind the table self.{name}", f"self.{name}")
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            self._refuse(f"a whole number as self.{name}", repr(value)[:60])
        return int(value)

    def table(self, name: str, axes: int) -> None:
        """Note that a table is used with so many indices."""
        given = self._attribute(name)
        try:
            value = np.asarray(given)
        except ValueError:
            self._refuse(f"rows of the same length in self.{name}", "others")
        if value.size and value.dtype.kind in "iu" and abs(value).max() >> 62:
            self._refuse(f"numbers below 2**62 in self.{name} (scale them)", "others")
        if value.dtype.kind not in "iub" or value.ndim != axes or axes > 3:
            self._refuse(
                f"a table of whole numbers with {axes} axes as self.{name}",
                f"{value.dtype}, shape {value.shape}",
            )
        self.tables[name] = value.shape

    def _attribute(self, name: str) -> Any:
        try:
            return getattr(self._data, name)
        except AttributeError:
            self._refuse(f"self.{name} to be made in __init__", "no such attribute")
