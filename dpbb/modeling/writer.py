"""Writes a function of a text in another language: what all targets share."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import add, mul, sub

from dpbb.modeling.shape import Field, Shape
from dpbb.modeling.text import (
    COMPARISONS,
    OPERATORS,
    ModelError,
    attribute_of,
    body_of,
    is_name,
    names_in,
    parts_of,
    split,
    target_of,
)

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
        self.limits: dict[str, int] = {}  # largest end of each loop over a range
        self.ranges: dict[str, int] = {}  # the same, where the node tells the end
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
        fixed: set[str] = set()  # below an ``if``, which may be on values
        for node in ast.walk(function):
            target = target_of(node)
            if isinstance(node, ast.For):
                self.names |= dict.fromkeys(parts_of(node)[0], INDEX)
            elif isinstance(node, ast.If):
                targets = map(target_of, ast.walk(node))
                fixed |= {one.id for one in targets if isinstance(one, ast.Name)}
            elif isinstance(target, ast.Name):
                assigned.append((target.id, node.value))  # type: ignore[attr-defined]
        for name, expression in assigned:
            self.names[name] = INDEX
            self.assigned.setdefault(name, []).append(expression)
        changed = True
        while changed:
            changed = False
            for name, expression in assigned:
                kind = VALUE if name in fixed else self.kind(expression)
                if kind == VALUE and self.names[name] == INDEX:
                    self.names[name] = VALUE
                    changed = True

    def kind(self, node: ast.expr) -> str:
        """Kind of an expression or a condition."""
        if isinstance(node, ast.Constant):
            return INDEX
        if isinstance(node, ast.Name):
            return self.names.get(node.id, self.job_kind)
        if isinstance(node, ast.Subscript | ast.Attribute):
            base, indices = split(node)
            is_number = attribute_of(base, "self") and not indices
            return INDEX if is_number else VALUE
        if isinstance(node, ast.Call) and is_name(node.func, "len"):
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
        return is_name(node, "job") and "job" not in self.names

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
            exact = {"+": add, "-": sub, "*": mul}[OPERATORS[type(node.op)]]
            return int(exact(left, right))
        if name := attribute_of(node, "self"):
            return self.shape.numbers[name]
        if isinstance(node, ast.Name) and len(self.assigned.get(node.id, ())) == 1:
            return self.constant(self.assigned[node.id][0])
        raise ModelError(
            f"{self.source.file}:{node.lineno}: expected a range that ends with a "
            "number, len(node.left) or the variable of a loop around it, plus or "
            f"minus numbers, got {ast.unparse(node)}: go over all, with an if"
        )

    @contextmanager
    def turns_of(self, name: str, end: ast.expr) -> Iterator[None]:
        """Know inside of a loop how far its range goes."""
        self.limits[name] = most = self.most(end)
        if most > 0 and names_in(end) <= {"self", "node", "len"}:
            self.ranges[name] = most
        yield
        del self.limits[name]
        self.ranges.pop(name, None)

    def most(self, end: ast.expr) -> int:
        """Return what a range's end is at most, whichever jobs are left."""
        if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add | ast.Sub):
            more = self.constant(end.right)
            more = more if isinstance(end.op, ast.Add) else -more
            return self.most(end.left) + more
        if isinstance(end, ast.Call) and is_name(end.func, "len"):
            return self.shape.n_jobs
        if isinstance(end, ast.Name) and end.id in self.limits:
            return self.limits[end.id] - 1
        return self.constant(end)

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
        if name := attribute_of(base, "self"):
            return self.table(name, indices) if indices else self.number(name)
        return self.reach(node)

    def reach(self, node: ast.expr) -> str:
        """Write a field of the node or of its other side."""
        base, indices = split(node)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        index = self.index(indices[0]) if indices else None
        other = attribute_of(base.value, "node") == "other"
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
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            self.assign(node.target, ast.BinOp(node.target, node.op, node.value))
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.If):
            test = self.as_condition(node.test, self.kind(node.test))
            if self.kind(node.test) == INDEX:
                self.branch(test, node)
            else:
                self.blend(test, node)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Write an assignment to a variable or a field."""
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
