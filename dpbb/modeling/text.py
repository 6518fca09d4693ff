"""The text of a model: scalar Python, read from its source and checked.

A model's functions are written in a small part of Python, so that they can be run as
they are, compiled by Numba with vectors in the place of numbers, and written as CUDA.
What is outside of that part is refused with its file, its line and what to write
instead.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from dpbb.errors import InstanceError

FUNCTIONS = {
    "take": ("node", "job"),
    "node_bound": ("node",),
    "child_bound": ("node", "job"),
    "absent": ("node", "job"),
    "tight_bound": ("node", "ub"),
    "child_weight": ("bound", "parent"),
}
"""Functions of a text and their parameters behind ``self``; the first two it has to
have."""

OPERATORS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
COMPARISONS: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


ASKING = ast.Compare, ast.BinOp, ast.Subscript, ast.Call, ast.IfExp
"""A condition with one of these is no switch."""

INSTEAD: dict[type[ast.AST], str] = {
    ast.While: "; write for K in range(END), with an if inside",
    ast.Break: "; go on to the end, with an if around what is done",
    ast.Continue: "; write an if around the rest of the loop",
    ast.Try: "; write an if: nothing here raises",
    ast.AnnAssign: "; write NAME = VALUE, without a type",
}
"""What to write in the place of a statement."""


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
    def of(cls, kind: type, name: str, callers: tuple[str, ...] = ()) -> Source:
        """Read a method's source; OSError if there is none."""
        function = inspect.getattr_static(kind, name)
        plain = isinstance(function, FunctionType) and function.__name__ != "<lambda>"
        if not plain or hasattr(function, "__wrapped__"):
            raise ModelError(
                f"{kind.__name__}.{name}: expected a method written with def, without "
                "a decorator that puts another one in its place"
            )
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "?"
        source = cls(textwrap.dedent("".join(lines)), file, first)
        return source.bound(kind, (*callers, name))

    def bound(self, kind: type, callers: tuple[str, ...]) -> Source:
        """Return it with the helpers of a class, which may have others than its base.

        Parameters
        ----------
        callers
            This function last, and before it those that call it as a helper.
        """
        helpers = {}
        for node in ast.walk(ast.parse(self.text)):
            name = attribute_of(node.func, "self") if isinstance(node, ast.Call) else ""
            if not name or not hasattr(kind, name):
                continue
            if name in callers:
                raise ModelError(
                    f"{self.file}:{self.line + node.lineno - 1}: in {callers[-1]}: "  # type: ignore[attr-defined]
                    f"expected no function that calls itself, got {name}: write a loop"
                )
            helpers[name] = Source.of(kind, name, callers)
        return replace(self, helpers=tuple(sorted(helpers.items())))

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
        name = attribute_of(node.func, "self")
        if name is None or name not in self._helpers:
            return node
        source = self._helpers[name]
        function = source.tree
        names = [argument.arg for argument in function.args.args[1:]]
        body = body_of(function)
        if len(body) != 1 or not isinstance(body[0], ast.Return) or not body[0].value:
            where = f"{source.file}:{source.line}: in {name}"
            raise ModelError(f"{where}: expected one return alone, got more, or none")
        if others := names_in(body[0].value) - {"self", "min", "max", "len", *names}:
            where, got = f"{source.file}:{source.line}: in {name}", ", ".join(others)
            raise ModelError(f"{where}: expected its parameters and self, got {got}")
        if len(names) != len(node.args) or node.keywords:
            where = f"{source.file}:{node.lineno}"
            got = ast.unparse(node)
            raise ModelError(f"{where}: expected {name}({', '.join(names)}), got {got}")
        return replaced(body[0].value, dict(zip(names, node.args, strict=True)))


def replaced(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with others in the place of names."""

    class Names(ast.NodeTransformer):
        def visit_Name(self, one: ast.Name) -> ast.expr:
            return deepcopy(values.get(one.id, one))

    found: ast.expr = Names().visit(deepcopy(node))
    return found


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
        if (name := attribute_of(node, "self")) is not None:
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
        if isinstance(node, ast.expr) and (name := attribute_of(node, "self"))
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
            if owner is base or vars(owner)[name] is None:
                continue
            inherited = owner is not kind and getattr(owner, "text", None)
            helpers = inherited.helpers if inherited else ()
            try:
                if not inherited or name not in inherited.sources:
                    sources[name] = Source.of(kind, name)
                elif all(getattr(kind, x) is getattr(owner, x) for x in helpers):
                    sources[name] = inherited.sources[name]
                    continue
                else:
                    sources[name] = inherited.sources[name].bound(kind, (name,))
            except (OSError, TypeError) as error:
                return cls(
                    {}, f"the source of {kind.__name__} cannot be read ({error})"
                )
            _Checker(name, sources[name]).check()
        return cls(sources)

    @property
    def is_whole(self) -> bool:
        """Whether the functions that a text has to have are there."""
        return {"take", "node_bound"} <= self.sources.keys()

    def folded(self, data: Any) -> Text:
        """Return the text without what the plain numbers of an instance rule out."""
        sources = {}
        for name, one in self.sources.items():
            asked = sorted(_numbers_asked(one.tree, data).items())
            sources[name] = replace(one, switches=tuple(asked))
            _Checker(name, sources[name]).check()
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
        parts = [
            f"{name}: {ast.unparse(_bare(source.tree))}"
            for name, source in self.sources.items()
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    body = function.body
    return body[1:] if ast.get_docstring(function) is not None else body


def _bare(function: ast.FunctionDef) -> ast.Module:
    return ast.Module(body_of(function) or [ast.Pass()], [])


class _Checker(ast.NodeVisitor):
    """Refuses what is not in the part of Python that engines compile."""

    def __init__(self, name: str, source: Source) -> None:
        self._name = name
        self._source = source
        self._parameters = FUNCTIONS[name]
        self._known = set(self._parameters)
        self._loops: list[str] = []  # variables of the loops around a statement
        self._jobs, self._places = {"job"}, set[str]()  # variables of all loops
        for node in ast.walk(source.tree):
            if isinstance(node, ast.For):
                names, over = parts_of(node)
                jobs = [] if isinstance(over, ast.Call) else names[-1:]
                self._jobs |= set(jobs)
                self._places |= set(names) - set(jobs)
        self._stored = {
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
        if "node" not in names:
            for part in ast.walk(function):
                if is_name(part, "node") or isinstance(part, ast.Subscript | ast.For):
                    self._other(part, "bound, parent and plain numbers of the model")
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
            if len(node.targets) != 1 or isinstance(node.targets[0], ast.Tuple):
                self._other(node, "one target of an assignment; write two lines")
            self.expression(node.value)
            self._target(node.targets[0])
        elif isinstance(node, ast.AugAssign):
            if type(node.op) not in OPERATORS:
                self._other(node, "+=, -= or *=")
            self.expression(ast.BinOp(node.target, node.op, node.value))
            self._target(node.target)
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
            if not set(names).isdisjoint([*self._loops, *self._jobs & self._places]):
                self._other(
                    node,
                    "a variable that no loop around this one has, and that is a job in "
                    "all loops or in none; take another name",
                )
            before = set(self._known)
            self._known |= set(names)
            self._loops += names
            for one in node.body:
                self.statement(one)
            del self._loops[-len(names) :]
            # nobody may be left; on a GPU a loop's own variables end with it
            is_range = isinstance(over, ast.Call)
            varies = is_range and names_in(over) & {"node", *self._loops}
            self._known = before if varies or is_left_set(over) else self._known
            self._known -= set(names)
        elif isinstance(node, ast.If):
            self.expression(node.test)
            before, known = self._known, []
            for branch in (node.body, node.orelse):
                self._known = set(before)
                for one in branch:
                    self.statement(one)
                known.append(self._known)
            # a switch may be asked once more where the variable is used
            asks = any(isinstance(one, ASKING) for one in ast.walk(node.test))
            is_switch = names_in(node.test) == {"self"} and not asks
            self._known = known[0] | known[1] if is_switch else known[0] & known[1]
        elif isinstance(node, ast.Return):
            self._other(
                node, "one return, at the end; keep the value in a variable until then"
            )
        elif not isinstance(node, ast.Pass):
            instead = INSTEAD.get(type(node), "")
            self._other(node, f"an assignment, for, if or a return at the end{instead}")

    def _target(self, node: ast.expr) -> None:
        base = node.value if isinstance(node, ast.Subscript) else node
        is_field = isinstance(base, ast.Attribute) and is_name(base.value, "node")
        if is_field and self._name != "take":
            self._other(node, "a variable: only take changes a node")
        if isinstance(node, ast.Subscript):
            self.expression(node.slice)
        if not (is_field or isinstance(node, ast.Name)):
            self._other(node, "a variable or a field of the node to assign to")
        if isinstance(node, ast.Name) and node.id in (
            "self",
            *self._parameters,
            *self._jobs,
            *self._places,
        ):
            self._other(node, "a variable of another name")
        if isinstance(node, ast.Name):
            self._known.add(node.id)

    def _iterable(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call) and is_name(node.func, "range"):
            if node.keywords or not 1 <= len(node.args) <= 2:
                self._other(node, "range(end) or range(begin, end)")
            for argument in node.args:
                self.expression(argument)
        elif not is_left_set(node):
            self._order(node)

    def _order(self, node: ast.expr) -> None:
        base, indices = split(node)
        if not attribute_of(base, "self"):
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
            if node.id in self._stored - self._known:
                self._other(
                    node,
                    f"{node.id} to have a value whatever an if says or a loop does "
                    "(its own variable ends with it: copy that to another one)",
                )
            if node.id not in self._known:
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
            if not is_left_set(node.comparators[0]):
                self._other(node, "in node.left")
        elif type(node.ops[0]) in COMPARISONS:
            self.expression(node.comparators[0])
        else:
            self._other(node, "one of < <= > >= == != in")
        self.expression(node.left)

    def _call(self, node: ast.Call) -> None:
        if (
            is_name(node.func, "len")
            and len(node.args) == 1
            and is_left_set(node.args[0])
        ):
            return
        known = is_name(node.func, "min") or is_name(node.func, "max")
        if not known or len(node.args) < 2 or node.keywords:
            self._other(
                node,
                "min or max of two values or more, or len(node.left); compute others "
                "in __init__, or write a loop",
            )
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
            and attribute_of(node.value, "node") == "other"
        )
        if is_left_set(node):
            self._other(node, "x in node.left, len(node.left) or for x in node.left")
        if not (is_other or attribute_of(node, "self") or attribute_of(node, "node")):
            self._other(node, "self.TABLE, node.FIELD or node.other.FIELD")


def is_name(node: ast.AST, name: str) -> bool:
    """Whether a node is this name."""
    return isinstance(node, ast.Name) and node.id == name


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names that some nodes have in them."""
    inner = (one for node in nodes for one in ast.walk(node))
    return {one.id for one in inner if isinstance(one, ast.Name)}


def attribute_of(node: ast.expr, owner: str) -> str | None:
    """Return ``x`` of ``owner.x``, else None."""
    if isinstance(node, ast.Attribute) and is_name(node.value, owner):
        return node.attr
    return None


def target_of(node: ast.AST) -> ast.expr | None:
    """Return what a statement assigns to; None if it assigns nothing."""
    if isinstance(node, ast.Assign):
        return node.targets[0]
    return node.target if isinstance(node, ast.AugAssign) else None


def parts_of(node: ast.For) -> tuple[list[str], ast.expr]:
    """Return the variables of a loop and what it goes over.

    A place and a job if that is ``enumerate(...)``; none if they are no names.
    """
    over, targets = node.iter, [node.target]
    if isinstance(over, ast.Call) and is_name(over.func, "enumerate"):
        over = over.args[0] if len(over.args) == 1 else over
        two = isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2
        targets = node.target.elts if two else []  # type: ignore[attr-defined]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else [], over


def order_of(over: ast.expr) -> tuple[str, list[ast.expr]] | None:
    """Return the table of jobs that a loop goes over, and the indices of its row."""
    base, indices = split(over)
    name = attribute_of(base, "self")
    return None if name is None else (name, indices)


def is_left_set(node: ast.expr) -> bool:
    """Whether an expression is ``node.left``."""
    return attribute_of(node, "node") == "left"


def is_last(node: ast.expr) -> bool:
    """Whether an expression is the job that a side took last."""
    if not isinstance(node, ast.Attribute) or node.attr != "last":
        return False
    owner = node.value
    return is_name(owner, "node") or attribute_of(owner, "node") == "other"


def split(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """Return what is indexed, and the indices, of ``a[i][j]``."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    return node, indices
