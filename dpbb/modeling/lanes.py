"""Functions of a text for Numba in vectors, of children or of turns of a loop.

``LaneWriter`` writes what bounds children, all of a tile at a time, and gives
expressions of the node alone places in the scratch (``Rows``). ``PairWriter`` writes
those, and ``TakeWriter`` how a node takes a job, in vectors of the turns of a loop,
both sides at a time. Each raises ``Unsuited`` where it cannot.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbb.kernels.pairs import GROUP_JOBS, PAIR_LANES
from dpbb.modeling.shape import Field, Shape
from dpbb.modeling.text import (
    body_of,
    is_last,
    is_left_set,
    names_in,
    parts_of,
    replaced,
    split,
    target_of,
)
from dpbb.modeling.writer import INDEX, VALUE, Unsuited, Writer, flat_index, nested


def rounded(lanes: int) -> int:
    """Return the lanes, or the next multiple of PAIR_LANES above them."""
    return -(-lanes // PAIR_LANES) * PAIR_LANES


def without(values: Sequence[Any], place: int) -> list[Any]:
    """Return all values but the one in a place."""
    return [*values[:place], *values[place + 1 :]]


def changed_in(node: ast.AST, *forms: type[ast.Subscript | ast.Attribute]) -> set[str]:
    """Return the fields that statements change, written in one of these forms."""
    return {
        base.attr
        for one in ast.walk(node)
        if isinstance(one, forms)
        and isinstance(one.ctx, ast.Store)
        and isinstance(base := split(one)[0], ast.Attribute)
    }


class LaneWriter(Writer):
    """``child_bound`` or ``absent`` of all children of a tile at a time.

    Those of one side lie side by side: ``whole`` is a vector of pairs, ``like`` of one
    side.
    """

    def __init__(self, shape: Shape, name: str, rows: Rows) -> None:
        super().__init__(shape, name)
        self.rows = rows
        self._known: set[str] = set()

    def value(self, code: str) -> str:
        return f"splat(int64({code}), like)"

    def extreme(self, name: str, parts: list[ast.expr]) -> str:
        if code := self.of_indices(name, parts):
            return code
        return nested(f"{name}imum", map(self.as_value, parts))

    compare, blend = Writer.compare_by_calls, Writer.blend_by_masks
    reads = "{}"

    def condition(self, code: str) -> str:
        return f"(~np.uint64(0) if {code} else np.uint64(0))"

    def choose(self, test: str, kind: str, yes: str, no: str) -> str:
        if kind == INDEX:
            return f"({yes} if {test} else {no})"
        return f"blend({test}, {yes}, {no})"

    def join(self, operator: str, kind: str, parts: list[str]) -> str:
        if kind == VALUE:
            operator = "&" if operator == "and" else "|"
        return super().join(operator, kind, parts)

    def negate(self, kind: str, code: str) -> str:
        return f"(~{code})" if kind == VALUE else f"(not {code})"

    job_kind = VALUE

    def job(self) -> str:
        return self._column(self.rows.of("job"))

    def _column(self, row: str) -> str:
        at = f"columns, start + {row} * stride"
        if self.shape.sides == 1:
            return f"evens(load({at}, whole))"
        return f"load({at}, like)"

    def _of_both(self, lanes: str, at: str) -> str:
        """Read what is the same for all children, of both sides."""
        if self.shape.sides == 1:
            return f"splat({lanes}[{at}], like)"
        return f"load_pair({lanes}, {at}, like)"

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        if other:
            raise Unsuited("a field of the other side that is not the node's alone")
        step = "" if index is None else f" + 2 * ({index})"
        return self._of_both("nodes", f"at + model.at_{field.name}{step}")

    def table(self, name: str, indices: list[ast.expr]) -> str:
        jobs = [self.is_job(one) for one in indices]
        lengths = self.lengths(name)
        if not any(jobs):
            at = self.row_index(name, "l", indices)
            return self._of_both(f"model.l_{name}", at)
        axis = jobs.index(True)
        others = without(indices, axis)
        loads = []
        for side in range(self.shape.sides):
            codes = [
                self._last_of(one, side) if is_last(one) else self.index(one)
                for one in others
            ]
            at = flat_index(without(lengths, axis), codes)
            row = f"({self.rows.of(name, axis)} + {at})"
            loads.append(self._column(row))
        if len(set(loads)) == 1:
            return loads[0]
        return f"blend(FRONT_BITS, {loads[0]}, {loads[1]})"

    def row_index(self, name: str, kind: str, indices: list[ast.expr]) -> str:
        """Place of entries in a table in lanes, or in that of sums along its rows."""
        lengths = self.lengths(name)
        lengths[-1] = f"whole_row({lengths[-1]}{' + 1' if kind == 'c' else ''})"
        at = flat_index(lengths, [self.index(one) for one in indices])
        return f"2 * ({at})"

    def _last_of(self, node: ast.expr, side: int) -> str:
        """Write the job that a side took last, as a row."""
        assert isinstance(node, ast.Attribute)  # noqa: S101
        is_own = isinstance(node.value, ast.Name)
        lane = side if is_own else 1 - side
        return f"int64(nodes[at + model.at_last + {lane}])"

    def is_left(self, code: str) -> str:
        if code == "job":
            raise Unsuited("whether the child's job is left")
        return super().is_left(code)

    def index(self, node: ast.expr) -> str:
        if is_last(node):
            raise Unsuited("a table of the last job alone")
        if any(self.is_job(one) for one in ast.walk(node)):
            raise Unsuited("an index that is the child's job")
        return Writer.index(self, node)

    def expression(self, node: ast.expr) -> str:
        """Write an expression, or where it lies computed once a node."""
        plain = isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp)
        if not plain and self.kind(node) == VALUE and (found := self.hoisted(node)):
            number, step = found
            return self._of_both("scratch", f"model.h_{number} + 2 * ({step})")
        return super().expression(node)

    def hoisted(self, node: ast.expr) -> tuple[int, str] | None:
        """Which expression of the node alone it is, and at which index."""
        found = of_node_alone(self, node)
        if found is None:
            return None
        name, length = found
        end = "1" if name is None else self.ends[name]
        number = self.rows.hoist(node, name, length, end)
        return number, "0" if name is None else f"v_{name}"

    def heads(
        self, name: str, ends: list[str], body: list[ast.stmt]
    ) -> list[list[str]]:
        """Four turns at a time, which LLVM writes out, and the rest; see ``Writer``."""
        plain = all(isinstance(one, ast.Assign | ast.AugAssign) for one in body)
        if len(ends) > 1 or not plain:
            return super().heads(name, ends, body)
        whole = f"({ends[0]}) // 4 * 4"
        four = [f"for first in range(0, {whole}, 4):"]
        four.append(f"for {name} in range(first, first + 4):")
        # an end may be below 0, which rounds down to more turns than none
        return [four, [f"for {name} in range(max({whole}, 0), {ends[0]}):"]]

    def put(self, target: str, code: str) -> None:
        if self.masks:
            if target not in self._known:
                raise Unsuited(f"{target[2:]} has no value before an if")
            code = f"blend({' & '.join(self.masks)}, {code}, {target})"
        self._known.add(target)
        super().put(target, code)


def of_node_alone(writer: Writer, node: ast.expr) -> tuple[str | None, int] | None:
    """Say if an expression depends on the node alone, so that it is worth a place.

    Returns
    -------
    name, length
        The one loop variable over a range that it depends on, and that range's end;
        without one None and 1.
    """
    inner = list(ast.walk(node))
    attributes = {n.attr for n in inner if isinstance(n, ast.Attribute)}
    is_other = "other" in attributes or ("last" in attributes and not is_last(node))
    of_node = any(isinstance(n, ast.Name) and n.id == "node" for n in inner)
    has_work = isinstance(node, ast.BinOp | ast.Call | ast.IfExp)
    if not of_node or not (is_other or has_work):
        return None
    names = names_in(node) - {"self", "node", "min", "max", "len"}
    if not names <= writer.ranges.keys() or len(names) > 1:
        return None
    name = next(iter(names), None)
    return name, 1 if name is None else writer.ranges[name]


@dataclass(frozen=True, slots=True)
class Hoist:
    """An expression of the node alone, over a range or not.

    Parameters
    ----------
    place
        Of the first value in the scratch, in lanes.
    name, length, end
        The loop's variable, or None; its range's end as a number and as code.
    """

    place: int
    node: ast.expr
    name: str | None
    length: int
    end: str


class Rows:
    """Rows of a job table, and places of the scratch, as a writer asks for them."""

    def __init__(self, shape: Shape, mark: str = "b") -> None:
        self._shape, self._mark = shape, mark
        self.blocks: dict[tuple[str, int], int] = {}
        self.height = 0
        self.hoists: dict[str, Hoist] = {}
        self.scratch = 0

    def of(self, table: str, axis: int = 0) -> str:
        """First row of the entries of a table whose index on an axis is the job."""
        if (table, axis) not in self.blocks:
            self.blocks[table, axis] = self.height
            lengths = without(self._shape.tables.get(table, (0,)), axis)
            self.height += int(np.prod(lengths))
        first = not self.blocks[table, axis]
        return "0" if first else f"model.{self._mark}_{table}_{axis}"

    def hoist(self, node: ast.expr, name: str | None, length: int, end: str) -> int:
        """Give an expression a place, whole vectors that end with it; its number.

        Where fewer turns are made, their first vector begins before that place.
        """
        key = f"{ast.unparse(node)} over {name} to {end}"
        if key not in self.hoists:
            self.scratch += rounded(2 * length + PAIR_LANES - 2)
            place = self.scratch - 2 * length
            self.hoists[key] = Hoist(place, node, name, length, end)
        return list(self.hoists).index(key)


class PairWriter(LaneWriter):
    """Expressions of a node, both sides at a time, in vectors of pairs.

    In a loop over a range, for turns that follow each other: ``over`` is its variable.
    Elsewhere every pair has the same values.
    """

    job_kind = INDEX
    over: str | None = None

    def __init__(self, shape: Shape, name: str, rows: Rows) -> None:
        super().__init__(shape, name, rows)
        self.seen: set[tuple[str, bool]] = set()  # fields, and of which side
        self.held: dict[tuple[str, bool], str] = {}  # of them, what a turn holds

    def job(self) -> str:
        return "job"

    def index(self, node: ast.expr) -> str:
        if is_last(node):
            raise Unsuited("a job that each side has for itself")
        over, self.over = self.over, None
        code = Writer.index(self, node)
        self.over = over
        return code

    def expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and node.id == self.over:
            raise Unsuited("a turn's number outside of an index")
        return super().expression(node)

    def hoisted(self, node: ast.expr) -> tuple[int, str] | None:
        return None

    def is_left(self, code: str) -> str:
        raise Unsuited("which jobs are left")

    def count_left(self) -> str:
        raise Unsuited("how many jobs are left")

    def turn(self, hoist: Hoist) -> str:
        """Write a hoist for turns of its loop."""
        if hoist.name is not None:
            self.over, self.ranges[hoist.name] = hoist.name, hoist.length
        return self.as_value(hoist.node)

    def slope(self, node: ast.expr) -> int:
        """By what an index grows from turn to turn."""
        if self.over not in names_in(node):
            return 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            left, right = self.slope(node.left), self.slope(node.right)
            return left + right if isinstance(node.op, ast.Add) else left - right
        if not isinstance(node, ast.Name):
            raise Unsuited("an index that does not go up or down by one")
        return 1

    def reach(self, node: ast.expr) -> str:
        base, indices = split(node)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        name = base.attr
        is_sum = self.shape.field(name).kind == "sum"
        where = self.sums if is_sum else self.fields
        other = isinstance(base.value, ast.Attribute)
        self.seen.add((name, other))
        slope = self.slope(indices[0]) if indices else 0
        at = f"{where} + model.at_{name}"
        at += f" + 2 * ({self.index(indices[0])})" if indices else ""
        if slope == 0:
            code = f"load_pair({at}, like)"
        elif slope == (-1 if other else 1):
            first = self.constant(
                replaced(indices[0], {str(self.over): ast.Constant(0)})
            )
            ahead = first - (self.ranges[str(self.over)] - 1) * other
            if ahead not in (0, 1) or (ahead and self.held):
                raise Unsuited("a field far from the loop's turn")
            code = f"load({at}{' - PAIR_LANES + 2' if other else ''}, like)"
            code = self.held.get((name, other), code)
        else:
            raise Unsuited("a field in the order that the side has not")
        return f"reverse({code})" if other else code

    fields = sums = "nodes, at"
    """Where the node's fields are read."""

    def table(self, name: str, indices: list[ast.expr]) -> str:
        return self.entries(name, "l", indices)

    def entries(self, name: str, kind: str, indices: list[ast.expr]) -> str:
        """Write entries of a table, or of its sums along the last axis."""
        slopes = [self.slope(one) for one in indices]
        if any(slopes[:-1]) or slopes[-1] not in (0, 1):
            raise Unsuited("entries of a table that do not follow each other")
        at = self.row_index(name, kind, indices)
        load = "load" if slopes[-1] else "load_pair"
        return f"{load}(model.{kind}_{name}, {at}, like)"

    def blend(self, test: str, node: ast.If) -> None:
        raise Unsuited("an if")

    def branch(self, test: str, node: ast.If) -> None:
        raise Unsuited("an if")

    def loop(self, node: ast.For) -> None:
        raise Unsuited("a loop")


class TakeWriter(PairWriter):
    """``take`` in vectors: what a side does to a node, the other side left as it is.

    A loop over machines whose turns depend on each other by ``v = max(v + a, b)`` or
    ``v = max(v, b) + a``, with entries a of a row of a table, is a running maximum:
    what v is above the sum of the entries a so far.
    """

    sums = sets = "children, to"

    def __init__(self, shape: Shape, rows: Rows) -> None:
        super().__init__(shape, "take", rows)
        self.written: dict[str, set[int]] = {}
        self.whole: dict[str, int] = {}  # how many the loop wrote
        self.loops: list[tuple[int, str, str, int]] = []
        self.changing: set[str] = set()  # by the loop that is written
        self.adds_up = False  # a turn goes over the jobs left
        self.ends_late = False  # something reads what a chain comes to
        if any(field.kind == "shared" for field in shape.fields):
            raise Unsuited("fields that both sides go on with")

    def check(self) -> None:
        """Unsuited: a loop writes over what it should not."""
        for name, count in self.whole.items():
            rest = set(range(count, self.shape.field(name).size))
            if not rest <= self.written.get(name, set()):
                raise Unsuited("a part of a field that stays")

    def reach(self, node: ast.expr) -> str:
        base, indices = split(node)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        name, is_own = base.attr, isinstance(base.value, ast.Name)
        if is_own and name in self.changing:  # turns read what later ones change
            first = replaced(indices[0], {str(self.over): ast.Constant(0)})
            if not self.slope(indices[0]) or self.constant(first) < (
                name in self.whole
            ):
                raise Unsuited("a field that a turn before has changed")
        elif is_own and (name in self.written or name in self.whole):
            raise Unsuited("a field that has changed")
        return super().reach(node)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            super().assign(target, value)
        else:
            self._change(target, self.as_value(value))

    def _change(self, target: ast.expr, code: str) -> None:
        """Write a field of the side."""
        base, indices = split(target)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        at = f"model.at_{base.attr}"
        if indices:
            at += f" + 2 * ({self.index(indices[0])})"
        if self.over is None:
            place = self.constant(indices[0]) if indices else 0
            self.written.setdefault(base.attr, set()).add(place)
            old = f"load_pair(nodes, at + {at}, like)"
        else:
            once = base.attr not in self.whole and base.attr not in self.written
            if not (indices and once and ast.unparse(indices[0]) == self.over):
                raise Unsuited("a field that a loop writes elsewhere")
            self.whole[base.attr] = self.ranges[self.over]
            old = f"load(nodes, at + {at}, like)"
        self.line(f"old = {old}")
        new = f"new_{base.attr}"
        self.line(f"{new} = old ^ ((old ^ {code}) & moved)")
        new = new if self.over else f"first_pair({new})"
        self.line(f"store(children, to + {at}, {new})")

    def loop(self, node: ast.For) -> None:
        names, over = parts_of(node)
        if self.over and is_left_set(over):
            self.adds_up = True
            Writer.loop(self, node)
            return
        if not isinstance(over, ast.Call) or len(over.args) != 1 or self.over:
            raise Unsuited("a loop that is not over range(end), or in another")
        name, end = names[0], self.index(over.args[0])
        self.changing = changed_in(node, ast.Subscript)
        chains = dict(self._chains(node))
        for variable in chains:
            self.line(f"carry_{variable} = v_{variable}")
        self.line(f"for v_{name} in range(0, {end}, {PAIR_LANES // 2}):")
        self.ranges[name], self.over = self.constant(over.args[0]), name
        self.margin += "    "
        for one in node.body:
            chain = None
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                chain = chains.get(one.targets[0].id)
            if chain is None:
                self.statement(one)
            else:
                self._scan(*chain)
        self.changing = set()
        self.loops.append((len(self.lines), name, end, self.ranges[name]))
        self.margin = self.margin[:-4]
        self.over = None
        top = body_of(self.source.tree)
        rest = ast.Module(top[top.index(node) + 1 :], [])
        for variable in self._of_turns(node):
            if variable in names_in(rest):  # its pair of the last turn
                self.ends_late = True
                self.line(f"store(scratch, int64(0), v_{variable})")
                at = f"2 * (({end} - 1) & {GROUP_JOBS - 1})"
                self.line(f"v_{variable} = load_pair(scratch, {at}, like)")
        del self.ranges[name]

    @staticmethod
    def _of_turns(node: ast.For) -> list[str]:
        """Variables that a loop gives values."""
        targets = map(target_of, node.body)
        return [target.id for target in targets if isinstance(target, ast.Name)]

    def _chains(self, node: ast.For) -> Iterator[tuple[str, Any]]:
        """Variables that one turn of a loop hands on to the next, and how."""
        seen: set[str] = set()
        for one in node.body:
            is_sum = isinstance(one, ast.For) and seen >= _sums_of(one)
            if is_sum or isinstance(one, ast.Pass):
                continue
            if not isinstance(one, ast.Assign | ast.AugAssign):
                raise Unsuited("a loop of more than assignments and sums")
            target = target_of(one)
            if not isinstance(target, ast.Name):
                continue
            name = target.id
            if name in seen:
                raise Unsuited("a variable with two values in a turn")
            seen.add(name)
            before = [*node.body[: node.body.index(one)]]
            uses = [name in names_in(part) for part in [*before, one.value]]
            if not any(uses):
                continue
            found = _chain(name, one.value)
            if found is None or any(uses[:-1]):
                raise Unsuited("a turn that depends on the one before")
            table, other, is_late = found
            yield name, (name, table, other, is_late)

    def _sums(self, table: ast.expr) -> str:
        base, indices = split(table)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        return self.entries(base.attr, "c", indices)

    def _scan(self, name: str, table: ast.expr, other: ast.expr, late: bool) -> None:
        sums = self._sums(table)
        self.line(f"after = {sums.replace(', like)', ' + 2, like)')}")
        above = f"{self.as_value(other)} - {sums if late else 'after'}"
        self.line(f"latest = scan_max_pairs({above})")
        self.line(f"v_{name} = maximum(latest, carry_{name}) + after")
        self.line(f"carry_{name} = maximum(last_pair(latest), carry_{name})")


def _sums_of(loop: ast.For) -> set[str]:
    """Variables that a loop adds to, which does nothing else."""
    targets = [one.target for one in loop.body if isinstance(one, ast.AugAssign)]
    if len(targets) < len(loop.body):
        raise Unsuited("a loop of more than sums")
    return names_in(*targets)


def _chain(name: str, value: ast.expr) -> tuple[ast.expr, ast.expr, bool] | None:
    """Return a, b of ``max(name + a, b)``, False, or of ``max(name, b) + a``, True."""
    late = isinstance(value, ast.BinOp)
    for inner, outer in _two(value):
        for one, part in [] if isinstance(inner, ast.BinOp) == late else _two(inner):
            if isinstance(one, ast.Name) and one.id == name:
                table, other = (outer, part) if late else (part, outer)
                base, indices = split(table)
                is_table = isinstance(base, ast.Attribute) and indices
                if is_table and ast.unparse(base).startswith("self."):
                    return None if name in names_in(other) else (table, other, late)
    return None


def _two(node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Both orders of what a sum is of, or a maximum of two."""
    parts = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "max":
        parts = node.args
    return [(parts[0], parts[1]), (parts[1], parts[0])] if len(parts) == 2 else []
