"""The text of a model: scalar Python, read from its source and checked.

A model's functions are written in a small part of Python, so that they can be run as
they are, compiled by Numba with vectors in the place of numbers, and written as CUDA.
What is outside of that part is refused with its file, its line and what to write
instead. ``Shape`` is what the text needs to know of an instance: how long fields are,
which plain numbers there are, and which axes of its tables are numbered by jobs.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from typing import Any, NoReturn

import numpy as np

from dpbb.errors import InstanceError

FUNCTIONS = {
    "take": ("node", "job"),
    "node_bound": ("node",),
    "child_bound": ("node", "job"),
    "absent": ("node", "job"),
    "tight_bound": ("node", "ub"),
}
"""Functions of a text and their parameters behind ``self``; the first two it has to
have."""

NEEDED = ("take", "node_bound")

OPERATORS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
COMPARISONS: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class ModelError(InstanceError):
    """A model's text says what engines cannot compile: file, line, what to write."""


@dataclass(frozen=True, slots=True)
class Source:
    """One function as it was written.

    Parameters
    ----------
    text
        Its lines, without their common indentation.
    file, line
        Where it begins.
    helpers
        Methods ``self.NAME(...)`` that it calls; they stand in its tree.
    switches
        Plain numbers that its conditions ask for, where they are known.
    """

    text: str
    file: str
    line: int
    helpers: tuple[tuple[str, Source], ...] = ()
    switches: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, kind: type, name: str) -> Source:
        """Read a method's source; OSError if there is none."""
        function = getattr(kind, name)
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "?"
        text = textwrap.dedent("".join(lines))
        called = {
            of_self
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call)
            and (of_self := _attribute_of(node.func, "self"))
        }
        helpers = (
            (one, cls.of(kind, one)) for one in sorted(called) if hasattr(kind, one)
        )
        return cls(text, file, first, tuple(helpers))

    @property
    def tree(self) -> ast.FunctionDef:
        """The function as a tree, with the lines of its file."""
        return _parsed(self)


@lru_cache(maxsize=256)
def _parsed(source: Source) -> ast.FunctionDef:
    module = ast.parse(source.text)
    ast.increment_lineno(module, source.line - 1)
    (function,) = module.body
    assert isinstance(function, ast.FunctionDef)  # noqa: S101
    function = _Inliner(dict(source.helpers)).visit(function)
    return _Folder(dict(source.switches)).visit(function)


class _Inliner(ast.NodeTransformer):
    """Puts what a helper returns in the place of its call."""

    def __init__(self, helpers: Mapping[str, Source]) -> None:
        self._helpers = helpers

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Put the helper's expression, with its arguments, there."""
        self.generic_visit(node)
        name = _attribute_of(node.func, "self")
        if name is None or name not in self._helpers:
            return node
        source = self._helpers[name]
        function = source.tree
        names = [argument.arg for argument in function.args.args[1:]]
        body = body_of(function)
        if len(body) != 1 or not isinstance(body[0], ast.Return) or not body[0].value:
            where = f"{source.file}:{source.line}: in {name}"
            raise ModelError(f"{where}: expected one return alone, got more, or none")
        if len(names) != len(node.args) or node.keywords:
            where = f"{source.file}:{node.lineno}"
            got = ast.unparse(node)
            raise ModelError(f"{where}: expected {name}({', '.join(names)}), got {got}")
        return _Names(dict(zip(names, node.args, strict=True))).visit(
            deepcopy(body[0].value)
        )


class _Names(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Put the expression of a name there."""
        return deepcopy(self._values.get(node.id, node))


class _Folder(ast.NodeTransformer):
    """Leaves of every ``if`` on known numbers only what is done."""

    def __init__(self, switches: Mapping[str, int]) -> None:
        self._switches = switches

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Leave the statements of one branch."""
        value = self._known(node.test)
        if value is None:
            return self.generic_visit(node)
        found = []
        for one in node.body if value else node.orelse:
            new = self.visit(one)
            found += new if isinstance(new, list) else [new]
        return found or [ast.copy_location(ast.Pass(), node)]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Leave one value."""
        value = self._known(node.test)
        if value is None:
            return self.generic_visit(node)
        return self.visit(node.body if value else node.orelse)

    def _known(self, node: ast.expr) -> bool | None:
        """Whether a condition of switches alone holds; None: it is another one."""
        if (name := _attribute_of(node, "self")) is not None:
            value = self._switches.get(name)
            return None if value is None else value != 0
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            value = self._known(node.operand)
            return None if value is None else not value
        if isinstance(node, ast.BoolOp):
            values = [self._known(one) for one in node.values]
            ends = isinstance(node.op, ast.Or)
            if ends in values:
                return ends
            return None if None in values else not ends
        return None


def _numbers_asked(function: ast.AST, data: Any) -> dict[str, int]:
    """Return the plain numbers that are attributes of some data."""
    names = {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.expr) and (name := _attribute_of(node, "self"))
    }
    found = {name: getattr(data, name, None) for name in names}
    return {n: int(v) for n, v in found.items() if isinstance(v, int | np.integer)}


@dataclass(frozen=True)
class Text:
    """The functions of a model class.

    Parameters
    ----------
    sources
        By name, in the order of ``FUNCTIONS``.
    missing
        Why there is no source, as of a class that was typed at a prompt.
    """

    sources: Mapping[str, Source]
    missing: str | None = None

    @classmethod
    def of(cls, kind: type, base: type) -> Text:
        """Read and check the text of a class.

        Parameters
        ----------
        base
            The class whose functions say only that there is none.

        Raises
        ------
        ModelError
            It says something that engines cannot compile.
        """
        sources = {}
        for name in FUNCTIONS:
            owner = next(one for one in kind.__mro__ if name in vars(one))
            if owner is base:
                continue
            inherited = owner is not kind and getattr(owner, "text", None)
            if inherited and name in inherited.sources:
                sources[name] = inherited.sources[name]
                continue
            try:
                sources[name] = Source.of(kind, name)
            except (OSError, TypeError) as error:
                return cls(
                    {}, f"the source of {kind.__name__} cannot be read ({error})"
                )
            _Checker(name, sources[name]).check()
        return cls(sources)

    @property
    def is_whole(self) -> bool:
        """Whether the functions that a text has to have are there."""
        return all(name in self.sources for name in NEEDED)

    def folded(self, data: Any) -> Text:
        """Return the text without what the plain numbers of an instance rule out."""
        sources = {
            name: replace(
                one, switches=tuple(sorted(_numbers_asked(one.tree, data).items()))
            )
            for name, one in self.sources.items()
        }
        return Text(sources)

    @cached_property
    def helpers(self) -> frozenset[str]:
        """Names of the methods that its functions call, and those call."""
        found, new = set(), list(self.sources.values())
        while new:
            for name, source in new.pop().helpers:
                found.add(name)
                new.append(source)
        return frozenset(found)

    @cached_property
    def switches(self) -> dict[str, int]:
        """Plain numbers that it asks for, also in what is left out."""
        return {k: v for one in self.sources.values() for k, v in one.switches}

    @cached_property
    def uses_last(self) -> bool:
        """Whether a function asks for the job that a side took last."""
        return any(
            isinstance(node, ast.expr) and is_last(node)
            for source in self.sources.values()
            for node in ast.walk(source.tree)
        )

    @cached_property
    def digest(self) -> str:
        """Digest of what the functions do, whatever the comments and files."""
        parts = [ast.dump(_bare(source.tree)) for source in self.sources.values()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    body = function.body
    return body[1:] if ast.get_docstring(function) is not None else body


def _bare(function: ast.FunctionDef) -> ast.Module:
    return ast.Module(
        [ast.Pass() if not (b := body_of(function)) else b[0], *b[1:]], []
    )


class _Checker(ast.NodeVisitor):
    """Refuses what is not in the part of Python that engines compile."""

    def __init__(self, name: str, source: Source) -> None:
        self._name = name
        self._source = source
        self._parameters = FUNCTIONS[name]
        self._names = set(self._parameters) | {
            node.id
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def check(self) -> None:
        """Raise ModelError if something is outside."""
        function = self._source.tree
        names = tuple(argument.arg for argument in function.args.args)
        if names != ("self", *self._parameters):
            expected = ", ".join(("self", *self._parameters))
            self._refuse(
                function, f"the parameters ({expected})", f"({', '.join(names)})"
            )
        body = body_of(function)
        gives = self._name != "take"
        if gives and not (body and isinstance(body[-1], ast.Return)):
            self._refuse(function, "a return as the last statement", "none")
        for statement in body[:-1] if gives else body:
            self.statement(statement)
        if gives:
            last = body[-1]
            assert isinstance(last, ast.Return)  # noqa: S101
            if last.value is None:
                self._refuse(last, "return with a value", "none")
            self.expression(last.value)

    def _refuse(self, node: ast.AST, expected: str, got: str) -> NoReturn:
        line = getattr(node, "lineno", self._source.line)
        where = f"{self._source.file}:{line}: in {self._name}"
        raise ModelError(f"{where}: expected {expected}, got {got}")

    def _other(self, node: ast.AST, expected: str) -> NoReturn:
        self._refuse(node, expected, ast.unparse(node).partition("\n")[0])

    # -- statements ------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> None:
        """Check a statement and what is in it."""
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                self._other(node, "one target of an assignment; write two lines")
            self._target(node.targets[0])
            self.expression(node.value)
        elif isinstance(node, ast.AugAssign):
            if type(node.op) not in OPERATORS:
                self._other(node, "+=, -= or *=")
            self._target(node.target)
            self.expression(node.value)
        elif isinstance(node, ast.For):
            names, over = parts_of(node)
            if node.orelse or not names:
                self._other(
                    node,
                    "for NAME in ... or for PLACE, JOB in enumerate(self.ORDER), "
                    "without else",
                )
            if len(names) == 2:
                self._order(over)
            else:
                self._iterable(over)
            for one in node.body:
                self.statement(one)
        elif isinstance(node, ast.If):
            self.expression(node.test)
            for one in [*node.body, *node.orelse]:
                self.statement(one)
        elif isinstance(node, ast.Return):
            self._other(
                node, "one return, at the end; keep the value in a variable until then"
            )
        elif not isinstance(node, ast.Pass):
            self._other(node, "an assignment, for, if or a return at the end")

    def _target(self, node: ast.expr) -> None:
        base = node.value if isinstance(node, ast.Subscript) else node
        is_field = isinstance(base, ast.Attribute) and _is_name(base.value, "node")
        if is_field and self._name != "take":
            self._other(node, "a variable: only take changes a node")
        if isinstance(node, ast.Subscript):
            self.expression(node.slice)
        if not (is_field or isinstance(node, ast.Name)):
            self._other(node, "a variable or a field of the node to assign to")
        if isinstance(node, ast.Name) and node.id in ("self", *self._parameters):
            self._other(node, "a variable of another name")

    def _iterable(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call) and _is_name(node.func, "range"):
            if node.keywords or not 1 <= len(node.args) <= 2:
                self._other(node, "range(end) or range(begin, end)")
            for argument in node.args:
                self.expression(argument)
        elif not _is_left(node):
            self._order(node)

    def _order(self, node: ast.expr) -> None:
        base, indices = split(node)
        if not _attribute_of(base, "self"):
            self._other(
                node,
                "range(...), node.left or self.ORDER, an array of jobs, to go over",
            )
        for index in indices:
            self.expression(index)

    # -- expressions -----------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        """Check an expression and what is in it."""
        if isinstance(node, ast.Constant):
            if type(node.value) not in (int, bool):
                self._other(node, "a whole number")
        elif isinstance(node, ast.Name):
            if node.id in ("self", "node"):
                self._other(node, f"a field, as in {node.id}.NAME")
            if node.id not in self._names:
                known = f"a variable of {self._name} or self.{node.id}"
                self._other(node, f"{known}, made in __init__")
        elif isinstance(node, ast.BinOp):
            if type(node.op) not in OPERATORS:
                self._other(node, "+, - or * (divide before, in a table)")
            self.expression(node.left)
            self.expression(node.right)
        elif isinstance(node, ast.UnaryOp):
            if not isinstance(node.op, ast.USub | ast.Not):
                self._other(node, "- or not")
            self.expression(node.operand)
        elif isinstance(node, ast.Compare):
            self._comparison(node)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self.expression(value)
        elif isinstance(node, ast.IfExp):
            for part in (node.test, node.body, node.orelse):
                self.expression(part)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Subscript | ast.Attribute):
            self._field(node)
        else:
            self._other(
                node, "whole numbers, tables, fields, + - *, min, max, A if B else C"
            )

    def _comparison(self, node: ast.Compare) -> None:
        if len(node.ops) != 1:
            self._other(node, "one comparison; join two by and")
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            if not _is_left(node.comparators[0]):
                self._other(node, "in node.left")
        elif type(node.ops[0]) in COMPARISONS:
            self.expression(node.comparators[0])
        else:
            self._other(node, "one of < <= > >= == != in")
        self.expression(node.left)

    def _call(self, node: ast.Call) -> None:
        if (
            _is_name(node.func, "len")
            and len(node.args) == 1
            and _is_left(node.args[0])
        ):
            return
        known = _is_name(node.func, "min") or _is_name(node.func, "max")
        if not known or len(node.args) < 2 or node.keywords:
            self._other(node, "min or max of two values or more, or len(node.left)")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self._other(node, "each value by itself; write a loop")
            self.expression(argument)

    def _field(self, node: ast.expr) -> None:
        while isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Slice | ast.Tuple):
                self._other(node, "one index in each pair of brackets, as in a[i][j]")
            self.expression(node.slice)
            node = node.value
        is_other = (
            isinstance(node, ast.Attribute)
            and _attribute_of(node.value, "node") == "other"
        )
        if _is_left(node):
            self._other(node, "x in node.left, len(node.left) or for x in node.left")
        if not (is_other or _attribute_of(node, "self") or _attribute_of(node, "node")):
            self._other(node, "self.TABLE, node.FIELD or node.other.FIELD")


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _attribute_of(node: ast.expr, owner: str) -> str | None:
    """Return ``x`` of ``owner.x``, else None."""
    if isinstance(node, ast.Attribute) and _is_name(node.value, owner):
        return node.attr
    return None


def parts_of(node: ast.For) -> tuple[list[str], ast.expr]:
    """Return the variables of a loop and what it goes over.

    A place and a job if that is ``enumerate(...)``; none if they are no names.
    """
    over, targets = node.iter, [node.target]
    if isinstance(over, ast.Call) and _is_name(over.func, "enumerate"):
        over = over.args[0] if len(over.args) == 1 else over
        two = isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2
        targets = node.target.elts if two else []  # type: ignore[attr-defined]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else [], over


def order_of(over: ast.expr) -> tuple[str, list[ast.expr]] | None:
    """Return the table of jobs that a loop goes over, and the indices of its row."""
    base, indices = split(over)
    name = _attribute_of(base, "self")
    return None if name is None else (name, indices)


def _is_left(node: ast.expr) -> bool:
    return _attribute_of(node, "node") == "left"


def is_last(node: ast.expr) -> bool:
    """Whether an expression is the job that a side took last."""
    if not isinstance(node, ast.Attribute) or node.attr != "last":
        return False
    owner = node.value
    return _is_name(owner, "node") or _attribute_of(owner, "node") == "other"


# -- what an instance adds -------------------------------------------------------------


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


@dataclass(frozen=True)
class Shape:
    """What compiled code depends on, besides the text.

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
    any_size: bool
    fields: tuple[Field, ...]
    numbers: Mapping[str, int]
    tables: Mapping[str, tuple[int, ...]]
    job_axes: frozenset[tuple[str, int]]
    orders: frozenset[str]
    both_orders: frozenset[str]

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
            isinstance(node, ast.expr) and _is_left(node)
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
                if isinstance(node, ast.Assign | ast.AugAssign):
                    self._at(source, node)
                    self._change(node)
                if id(node) in inner or not isinstance(
                    node, ast.Subscript | ast.Attribute
                ):
                    continue
                self._at(source, node)
                self._use(node)

    def _at(self, source: Source, node: ast.AST) -> None:
        self._where = f"{source.file}:{getattr(node, 'lineno', source.line)}"

    def _change(self, node: ast.Assign | ast.AugAssign) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        base, _ = split(target)
        field = self._fields.get(_attribute_of(base, "node") or "")
        if field is not None and field.kind == "sum":
            self._refuse("a field of state or shared to change", ast.unparse(target))

    def _use(self, node: ast.Subscript | ast.Attribute) -> None:
        base, indices = split(node)
        if name := _attribute_of(base, "self"):
            if not indices:
                self.numbers[name] = self._number(name)
                return
            self.table(name, len(indices))
            self._axes(name, indices)
            return
        owner = base.value if isinstance(base, ast.Attribute) else base
        if not (_is_name(owner, "node") or _attribute_of(owner, "node") == "other"):
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
        if not _is_name(owner, "node") and field.kind != "own":
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
                    f"an axis {axis} of {name} that is numbered by jobs, or not",
                    f"both uses of self.{name}",
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
        value = np.asarray(self._attribute(name))
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


def split(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """Return what is indexed, and the indices, of ``a[i][j]``."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    return node, indices


# -- writing it in another language ----------------------------------------------------

INDEX, VALUE = "index", "value"
"""An index is the same for all children and on both sides; a value need not be."""


class Unsuited(Exception):
    """A form of the code that a text cannot have; says why."""


def nested(function: str, codes: Iterable[str]) -> str:
    """Write calls of a function of two as one of many."""
    return reduce(lambda code, one: f"{function}({code}, {one})", codes)


class Writer:
    """Writes a function in another language; what differs is in its subclasses.

    Expressions are pairs of code and kind; conditions have kinds, too: those of values
    may differ from child to child.
    """

    def __init__(self, shape: Shape, name: str, indent: str = "    ") -> None:
        self.shape = shape
        self.source = shape.text.sources[name]
        self.lines: list[str] = []
        self.margin = indent
        self.names: dict[str, str] = {}
        self.ranges: dict[str, int] = {}  # end of each loop over a range
        self.assigned: dict[str, list[ast.expr]] = {}
        self._find_kinds()

    # -- of a subclass ---------------------------------------------------------------

    def value(self, code: str) -> str:
        """Make a value of an index."""
        raise NotImplementedError

    def arithmetic(self, operator: str, left: str, right: str) -> str:
        """Write ``+``, ``-`` or ``*`` of two values."""
        return f"({left} {operator} {right})"

    def extreme(self, name: str, parts: list[ast.expr]) -> str:
        """Write ``min`` or ``max``: a value, or of indices alone an index."""
        raise NotImplementedError

    def of_indices(self, name: str, parts: list[ast.expr]) -> str | None:
        """Write ``min`` or ``max`` of indices alone, which is one; else None."""
        if VALUE in map(self.kind, parts):
            return None
        return nested(name, map(self._as_index, parts))

    def _as_index(self, node: ast.expr) -> str:
        code = self.expression(node)
        return self.choose(code, INDEX, "1", "0") if _is_condition(node) else code

    def compare(self, operator: str, left: str, right: str) -> str:
        """Compare two values, by the functions ``equal`` and ``less`` of a target."""
        if operator in ("==", "!="):
            code = f"equal({left}, {right})"
        elif operator in ("<", ">="):
            code = f"less({left}, {right})"
        else:
            code = f"less({right}, {left})"
        return self.negate(VALUE, code) if operator in ("!=", ">=", "<=") else code

    def condition(self, code: str) -> str:
        """Make a condition of values of one of indices."""
        raise NotImplementedError

    def choose(self, test: str, kind: str, yes: str, no: str) -> str:
        """Write a conditional expression."""
        raise NotImplementedError

    def join(self, operator: str, kind: str, parts: list[str]) -> str:
        """Write ``and`` or ``or``."""
        raise NotImplementedError

    def negate(self, kind: str, code: str) -> str:
        """Write ``not``."""
        raise NotImplementedError

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        """Read a field, or name it to be written."""
        raise NotImplementedError

    def table(self, name: str, indices: list[ast.expr]) -> str:
        """Read a table as a value."""
        raise NotImplementedError

    def number(self, name: str) -> str:
        """Write a plain number of the model."""
        return str(self.shape.numbers[name])

    def is_left(self, code: str) -> str:
        """Whether a job is left."""
        raise NotImplementedError

    def count_left(self) -> str:
        """Write the number of jobs that are left."""
        raise NotImplementedError

    job_kind = INDEX

    def job(self) -> str:
        """Write the child's job outside of an index."""
        return "job"

    def put(self, target: str, code: str) -> None:
        """Write an assignment."""
        raise NotImplementedError

    def loop(self, node: ast.For) -> None:
        """Write a loop."""
        raise NotImplementedError

    def branch(self, test: str, node: ast.If) -> None:
        """Write an ``if`` on a condition of indices."""
        raise NotImplementedError

    # -- kinds -----------------------------------------------------------------------

    def _find_kinds(self) -> None:
        function = self.source.tree
        assigned: list[tuple[str, ast.expr]] = []
        for node in ast.walk(function):
            if isinstance(node, ast.For):
                self.names |= dict.fromkeys(parts_of(node)[0], INDEX)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.append((node.targets[0].id, node.value))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                assigned.append((node.target.id, node.value))
        for name, expression in assigned:
            self.names[name] = INDEX
            self.assigned.setdefault(name, []).append(expression)
        fixed = self._in_conditions(function)
        changed = True
        while changed:
            changed = False
            for name, expression in assigned:
                kind = VALUE if name in fixed else self.kind(expression)
                if kind == VALUE and self.names[name] == INDEX:
                    self.names[name] = VALUE
                    changed = True

    def _in_conditions(self, function: ast.FunctionDef) -> set[str]:
        """Names that are assigned to below an ``if`` on values."""
        found: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.If):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Assign) and isinstance(
                        inner.targets[0], ast.Name
                    ):
                        found.add(inner.targets[0].id)
                    if isinstance(inner, ast.AugAssign) and isinstance(
                        inner.target, ast.Name
                    ):
                        found.add(inner.target.id)
        return found

    def kind(self, node: ast.expr) -> str:
        """Kind of an expression or a condition."""
        if isinstance(node, ast.Constant):
            return INDEX
        if isinstance(node, ast.Name):
            return self.names.get(node.id, self.job_kind)
        if isinstance(node, ast.Subscript | ast.Attribute):
            base, indices = split(node)
            is_number = _attribute_of(base, "self") and not indices
            return INDEX if is_number else VALUE
        if isinstance(node, ast.Call) and _is_name(node.func, "len"):
            return INDEX
        if isinstance(node, ast.Compare) and isinstance(
            node.ops[0], ast.In | ast.NotIn
        ):
            return self.kind(node.left)
        parts = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
        kinds = {self.kind(part) for part in parts if isinstance(part, ast.expr)}
        return VALUE if VALUE in kinds else INDEX

    # -- expressions -----------------------------------------------------------------

    def is_job(self, node: ast.AST) -> bool:
        """Whether an expression is the child's job."""
        return _is_name(node, "job") and "job" not in self.names

    def index(self, node: ast.expr) -> str:
        """Write an index: any number in ``tight_bound``, which no vectors compute."""
        if self.is_job(node):
            return "job"
        if self.kind(node) != INDEX and self.source.tree.name != "tight_bound":
            raise ModelError(
                f"{self.source.file}:{node.lineno}: expected an index of loop "
                "variables, jobs and numbers of the model, got "
                f"{ast.unparse(node)}: go over the places with a loop and if"
            )
        return self.expression(node)

    def constant(self, node: ast.expr) -> int:
        """Value of an index that is known now, such as the end of a range."""
        if isinstance(node, ast.Constant):
            return int(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.BinOp):
            left, right = self.constant(node.left), self.constant(node.right)
            sign = OPERATORS[type(node.op)]
            return (
                left + right
                if sign == "+"
                else left - right
                if sign == "-"
                else left * right
            )
        if name := _attribute_of(node, "self"):
            return self.shape.numbers[name]
        if isinstance(node, ast.Name) and len(self.assigned.get(node.id, ())) == 1:
            return self.constant(self.assigned[node.id][0])
        raise ModelError(
            f"{self.source.file}:{node.lineno}: expected a range of plain numbers and "
            f"numbers of the model, got {ast.unparse(node)}: go over all, with an if"
        )

    def in_loop(self, node: ast.expr) -> tuple[ast.expr, str, ast.expr, int] | None:
        """Find a loop over a range whose first or last turn computes an expression.

        Returns
        -------
        inner, name, end, turn
            The expression as it stands in the loop, the loop's variable and end, and
            which turn.
        """
        written = _with_numbers(self, node, {})
        for loop in ast.walk(self.source.tree):
            if not isinstance(loop, ast.For):
                continue
            (name, *_), over = parts_of(loop)
            if isinstance(over, ast.Call):
                last = self.constant(over.args[-1]) - 1
                for inner in ast.walk(loop):
                    for turn in (0, last):
                        if (
                            isinstance(inner, type(node))
                            and isinstance(inner, ast.expr)
                            and _with_numbers(self, inner, {name: turn}) == written
                        ):
                            return inner, name, over.args[-1], turn
        return None

    def as_value(self, node: ast.expr) -> str:
        """Write an expression as a value, whatever its kind."""
        code, kind = self.expression(node), self.kind(node)
        if _is_condition(node):
            return self.choose(code, kind, self.value("1"), self.value("0"))
        return code if kind == VALUE else self.value(code)

    def as_condition(self, node: ast.expr, kind: str) -> str:
        """Write a condition of this kind; a number is one that is not 0."""
        own = self.kind(node)
        code = self.expression(node)
        if not _is_condition(node):
            zero = self.value("0")
            code = self.compare("!=", code, zero) if own == VALUE else f"({code} != 0)"
        return self.condition(code) if kind == VALUE and own == INDEX else code

    def expression(self, node: ast.expr) -> str:
        """Write an expression; its kind is ``kind(node)``."""
        kind = self.kind(node)
        if isinstance(node, ast.Constant):
            return str(int(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return self.job() if self.is_job(node) else f"v_{node.id}"
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self._read(node)
        if isinstance(node, ast.BinOp):
            operator = OPERATORS[type(node.op)]
            if kind == INDEX:
                left, right = self.expression(node.left), self.expression(node.right)
                return f"({left} {operator} {right})"
            return self.arithmetic(
                operator, self.as_value(node.left), self.as_value(node.right)
            )
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return self.negate(kind, self.as_condition(node.operand, kind))
            if kind == INDEX:
                return f"(-{self.expression(node.operand)})"
            return self.arithmetic("-", self.value("0"), self.as_value(node.operand))
        if isinstance(node, ast.Compare):
            return self._comparison(node, kind)
        if isinstance(node, ast.BoolOp):
            operator = "and" if isinstance(node.op, ast.And) else "or"
            parts = [self.as_condition(part, kind) for part in node.values]
            return self.join(operator, kind, parts)
        if isinstance(node, ast.IfExp):
            tests = self.kind(node.test)
            if kind == INDEX:
                yes, no = self.expression(node.body), self.expression(node.orelse)
            else:
                yes, no = self.as_value(node.body), self.as_value(node.orelse)
            return self.choose(self.as_condition(node.test, tests), tests, yes, no)
        assert isinstance(node, ast.Call)  # noqa: S101
        assert isinstance(node.func, ast.Name)  # noqa: S101
        if node.func.id == "len":
            return self.count_left()
        return self.extreme(node.func.id, node.args)

    def _comparison(self, node: ast.Compare, kind: str) -> str:
        operator = node.ops[0]
        if isinstance(operator, ast.In | ast.NotIn):
            inside = self.is_left(self.index(node.left))
            return (
                inside if isinstance(operator, ast.In) else self.negate(INDEX, inside)
            )
        sign = COMPARISONS[type(operator)]
        right = node.comparators[0]
        if kind == INDEX:
            return f"({self.expression(node.left)} {sign} {self.expression(right)})"
        return self.compare(sign, self.as_value(node.left), self.as_value(right))

    def _read(self, node: ast.expr) -> str:
        base, indices = split(node)
        if name := _attribute_of(base, "self"):
            return self.table(name, indices) if indices else self.number(name)
        return self.reach(node)

    def reach(self, node: ast.expr) -> str:
        """Write a field of the node or of its other side."""
        base, indices = split(node)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        index = self.index(indices[0]) if indices else None
        other = _attribute_of(base.value, "node") == "other"
        return self.field(self.shape.field(base.attr), index, other=other)

    # -- statements ------------------------------------------------------------------

    def body(self) -> str | None:
        """Write all statements; return the code of the returned value, if any."""
        result = None
        for statement in body_of(self.source.tree):
            if isinstance(statement, ast.Return):
                assert statement.value is not None  # noqa: S101
                result = self.result(statement.value)
            else:
                self.statement(statement)
        return result

    def result(self, node: ast.expr) -> str:
        """Write what is returned: a condition of ``absent``, else a value."""
        if self.source.tree.name == "absent":
            return self.as_condition(node, VALUE)
        return self.as_value(node)

    def line(self, code: str) -> None:
        """Add a line."""
        self.lines.append(self.margin + code)

    def block(self, statements: list[ast.stmt]) -> None:
        """Write the statements below a loop or a branch."""
        margin = self.margin
        self.margin += "    "
        for statement in statements:
            self.statement(statement)
        self.margin = margin

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        if isinstance(node, ast.Assign):
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            self._assign(node.target, ast.BinOp(node.target, node.op, node.value))
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.If):
            test = self.as_condition(node.test, self.kind(node.test))
            if self.kind(node.test) == INDEX:
                self.branch(test, node)
            else:
                self.blend(test, node)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            is_value = self.names[target.id] == VALUE
            code = self.as_value(value) if is_value else self.expression(value)
            self.put(f"v_{target.id}", code)
        else:
            self.put(self.reach(target), self.as_value(value))

    def blend(self, test: str, node: ast.If) -> None:
        """Write an ``if`` on values: every assignment chooses between new and old."""
        self.branch(test, node)


def _is_condition(node: ast.expr) -> bool:
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.Compare | ast.BoolOp)


def _with_numbers(writer: Writer, node: ast.expr, values: Mapping[str, int]) -> str:
    """Return an expression as text, indices as numbers where they are known."""

    class Known(ast.NodeTransformer):
        def visit_Name(self, one: ast.Name) -> ast.expr:
            return ast.Constant(values[one.id]) if one.id in values else one

        def visit_Subscript(self, one: ast.Subscript) -> ast.expr:
            index: ast.expr = self.visit(one.slice)
            if not any(
                isinstance(part, ast.Name) and part.id != "self"
                for part in ast.walk(index)
            ) and not is_last(index):
                index = ast.Constant(writer.constant(index))
            return ast.Subscript(self.visit(one.value), index, one.ctx)

    return ast.unparse(Known().visit(copy.deepcopy(node)))
