"""Writes a function of a text: in integers for Numba, and what all targets share."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add, mul, sub
from typing import Any

from dpbb.modeling.shape import Field, Shape
from dpbb.modeling.text import (
    COMPARISONS,
    OPERATORS,
    ModelError,
    attribute_of,
    body_of,
    is_last,
    is_name,
    names_in,
    order_of,
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


def flat_index(lengths: Sequence[Any], indices: list[str]) -> str:
    """Place of an entry in a flat table with axes of these lengths."""
    code = indices[0] if indices else "0"
    for length, index in zip(lengths[1:], indices[1:], strict=True):
        code = f"({code}) * {length} + {index}"
    return code


class Writer:
    """Writes a function of one node, one child and one side for Numba, in integers.

    What differs in other targets is in subclasses. Expressions are pairs of code and
    kind; conditions have kinds, too: those of values may differ from child to child.
    """

    margin = "    "
    reads = "int64({})"
    """A field that is read."""
    last_is_index = True
    """Whether the job that a side took last may be an index."""
    sets = "nodes, at"
    """Where the node's set of jobs is read."""
    mask_is, mask_not = "{} = {}", "~"
    """A condition of values that is kept, and one that does not hold."""

    def __init__(self, shape: Shape, name: str) -> None:
        self.shape = shape
        self.source = shape.text.sources[name]
        self.keeps_left = name == "tight_bound" and shape.n_jobs <= 64
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self.limits: dict[str, int] = {}  # largest end of each loop over a range
        self.ranges: dict[str, int] = {}  # the same, where the node tells the end
        self.ends: dict[str, str] = {}  # of each loop over a range, as code
        self.assigned: dict[str, list[ast.expr]] = {}
        self.masks: list[str] = []  # conditions of the branches around a statement
        self._count = 0
        self._find_kinds()

    # -- of a target -----------------------------------------------------------------

    def value(self, code: str) -> str:
        """Make a value of an index."""
        return f"int64({code})"

    def extreme(self, name: str, parts: list[ast.expr]) -> str:
        """Write ``min`` or ``max``."""
        return nested(name, map(self.as_value, parts))

    def of_indices(self, name: str, parts: list[ast.expr]) -> str | None:
        """Write ``min`` or ``max`` of indices alone, which is one; else None."""
        if VALUE in map(self.kind, parts):
            return None
        return nested(name, map(self._as_index, parts))

    def _as_index(self, node: ast.expr) -> str:
        code = self.expression(node)
        return self.choose(code, INDEX, "1", "0") if _is_condition(node) else code

    def compare(self, operator: str, left: str, right: str) -> str:
        """Compare two values."""
        return f"({left} {operator} {right})"

    def compare_by_calls(self, operator: str, left: str, right: str) -> str:
        """``compare`` by the functions ``equal`` and ``less`` of a target."""
        if operator in ("==", "!="):
            code = f"equal({left}, {right})"
        elif operator in ("<", ">="):
            code = f"less({left}, {right})"
        else:
            code = f"less({right}, {left})"
        return self.negate(VALUE, code) if operator in ("!=", ">=", "<=") else code

    def condition(self, code: str) -> str:
        """Make a condition of values of one of indices."""
        return code

    def choose(self, test: str, kind: str, yes: str, no: str) -> str:
        """Write a conditional expression."""
        return f"({yes} if {test} else {no})"

    def join(self, operator: str, kind: str, parts: list[str]) -> str:
        """Write ``and`` or ``or``."""
        return "(" + f" {operator} ".join(parts) + ")"

    def negate(self, kind: str, code: str) -> str:
        """Write ``not``."""
        return f"(not {code})"

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        """Read a field, or name it to be written."""
        where, side = ("rest[beside", "1 - side") if other else ("nodes[at", "side")
        step = "" if index is None else f" + 2 * ({index})"
        return f"{where} + model.at_{field.name}{step} + {side}]"

    def table(self, name: str, indices: list[ast.expr]) -> str:
        """Read a table as a value."""
        at = flat_index(self.lengths(name), [self.index(one) for one in indices])
        return f"int64(model.t_{name}[2 * ({at}) + side])"

    def lengths(self, name: str) -> list[str]:
        """Lengths of a table's axes, as code."""
        axes = range(len(self.shape.tables[name]))
        return [f"model.n_{name}_{axis}" for axis in axes]

    def number(self, name: str) -> str:
        """Write a plain number of the model."""
        return f"model.i_{name}"

    def is_left(self, code: str) -> str:
        """Whether a job is left."""
        if self.keeps_left:
            return f"((left >> np.uint64({code})) & np.uint64(1)) != np.uint64(0)"
        return f"is_left(nodes, at + model.left, {code})"

    def count_left(self) -> str:
        """Write the number of jobs that are left."""
        return "count_left(nodes, at + model.left, model.n_jobs)"

    job_kind = INDEX

    def job(self) -> str:
        """Write the child's job outside of an index."""
        return "job"

    def put(self, target: str, code: str) -> None:
        """Write an assignment."""
        self.line(f"{target} = {code}")

    def loop(self, node: ast.For) -> None:
        """Write a loop."""
        margin = self.margin
        names, over = parts_of(node)
        name = f"v_{names[-1]}"
        if isinstance(over, ast.Call):
            ends = [self.index(one) for one in over.args]
            self.ends[names[0]] = ends[-1]
            with self.turns_of(names[0], over.args[-1]):
                for heads in self.heads(name, ends, node.body):
                    for head in heads:
                        self.line(head)
                        self.margin += "    "
                    self.margin = self.margin[:-4]
                    self.block(node.body)
                    self.margin = margin
            return
        self._count += 1
        if order := order_of(over):
            table, indices = order
            lengths = self.lengths(table)
            place = f"v_{names[0]}" if len(names) == 2 else f"place_{self._count}"
            at = flat_index(lengths, [*map(self.index, indices), place])
            self.line(f"for {place} in range({lengths[-1]}):")
            self.margin += "    "
            self.line(f"{name} = int64(model.t_{table}[2 * ({at})])")
            self.margin = margin
            self.block(node.body)
            return
        bits = f"bits_{self._count}"
        self.line(f"for first_{self._count} in range(0, model.n_jobs, 64):")
        self.margin += "    "
        word = f"{self.sets} + model.left + (first_{self._count} >> 6) * WORD"
        self.line(f"{bits} = load_word({word})")
        self.line(f"while {bits} != np.uint64(0):")
        self.margin += "    "
        self.line(f"{name} = first_{self._count} + ctz({bits})")
        self.line(f"{bits} &= {bits} - np.uint64(1)")
        self.margin = self.margin[:-4]
        self.block(node.body)
        self.margin = margin

    def heads(
        self, name: str, ends: list[str], body: list[ast.stmt]
    ) -> list[list[str]]:
        """Loops that together make all turns of one over a range: each one's lines."""
        return [[f"for {name} in range({', '.join(ends)}):"]]

    def branch(self, test: str, node: ast.If) -> None:
        """Write an ``if`` on a condition of indices."""
        self.line(f"if {test}:")
        self.block(node.body)
        if node.orelse:
            self.line("else:")
            self.block(node.orelse)

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
        is_free = self.source.tree.name == "tight_bound"
        is_free |= self.last_is_index and is_last(node)
        if self.kind(node) != INDEX and not is_free:
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
            write = self.expression if kind == INDEX else self.as_value
            return f"({write(node.left)} {operator} {write(node.right)})"
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return self.negate(kind, self.as_condition(node.operand, kind))
            if kind == INDEX:
                return f"(-{self.expression(node.operand)})"
            return f"({self.value('0')} - {self.as_value(node.operand)})"
        if isinstance(node, ast.Compare):
            return self._comparison(node, kind)
        if isinstance(node, ast.BoolOp):
            operator = "and" if isinstance(node.op, ast.And) else "or"
            parts = [self.as_condition(part, kind) for part in node.values]
            return self.join(operator, kind, parts)
        if isinstance(node, ast.IfExp):
            tests = self.kind(node.test)
            write = self.expression if kind == INDEX else self.as_value
            yes, no = write(node.body), write(node.orelse)
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
        return self.reads.format(self.reach(node))

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
        """Write an ``if`` on values."""
        self.branch(test, node)

    def blend_by_masks(self, test: str, node: ast.If) -> None:
        """``blend`` where every assignment chooses between new and old."""
        self._count += 1
        mask = f"mask_{self._count}"
        self.line(self.mask_is.format(mask, test))
        for sign, statements in (("", node.body), (self.mask_not, node.orelse)):
            self.masks.append(sign + mask)
            for statement in statements:
                self.statement(statement)
            self.masks.pop()


def _is_condition(node: ast.expr) -> bool:
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.Compare | ast.BoolOp)
