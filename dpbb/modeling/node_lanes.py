"""``take`` and ``node_bound`` in vectors whose every lane is a node of its own.

For searches that try many jobs at many places: the lanes grow by one job, the same for
all (``common``), or each by its own (``each``). No job is left in such a node. A field
is so many vectors, one for each of its values.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dpbb.modeling.lanes import LaneWriter, Rows, changed_in, without
from dpbb.modeling.shape import Field, Shape
from dpbb.modeling.text import (
    ModelError,
    is_last,
    is_left_set,
    parts_of,
    replaced,
    split,
)
from dpbb.modeling.writer import Unsuited, Writer, flat_index

LANES = 32
"""Nodes of a vector."""


class NodeLaneWriter(LaneWriter):
    """``take`` or ``node_bound`` of as many nodes as a vector has lanes.

    ``take`` reads a node and writes its child, which may lie in the same place: so it
    has to write all of a field, and to read no value that it has changed.

    ``common``: all take one job, whose values are in pairs of two that are equal.
    """

    def __init__(
        self, shape: Shape, name: str, rows: Rows, *, common: bool = False
    ) -> None:
        super().__init__(shape, name, rows)
        self.margin = " " * 8
        self._takes = name == "take"
        self._common = common
        self._changed: dict[str, set[int]] = {}  # places of fields
        self._over: str | None = None  # variable of the loop that changes fields
        self._turn: set[str] = set()  # fields that its turn has changed
        self._changing: set[str] = set()  # fields that it changes

    def body(self) -> str | None:
        """Write all statements; Unsuited: a part of a field stays."""
        result = super().body()
        for field in self.shape.fields if self._takes else ():
            places = self._changed.get(field.name, set())
            if field.kind != "sum" and places != set(range(field.size)):
                raise Unsuited("a part of a field that stays")
        return result

    heads = Writer.heads

    def job(self) -> str:
        return self._row(self.rows.of("job"))

    def _row(self, row: str) -> str:
        if self._common:
            return f"load_pair(columns, start + 2 * ({row}), like)"
        return f"load(columns, start + {LANES} * ({row}), like)"

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        if self._takes and (other or field.kind == "sum"):
            raise Unsuited("a job taken by what is on the other side, or left")
        if field.kind == "sum":
            return self.value("0")
        where = "rest, beside" if other else "nodes, at"
        step = "" if index is None else f" + {index}"
        return f"load({where} + {LANES} * (model.r_{field.name}{step}), like)"

    def table(self, name: str, indices: list[ast.expr]) -> str:
        if any(is_last(one) for one in indices):
            raise Unsuited("a job that each lane has for itself")
        jobs = [self.is_job(one) for one in indices]
        lengths = self.lengths(name)
        if not any(jobs):
            at = flat_index(lengths, [self.index(one) for one in indices])
            return self.value(f"model.t_{name}[2 * ({at}) + side]")
        axis = jobs.index(True)
        codes = [self.index(one) for one in without(indices, axis)]
        at = flat_index(without(lengths, axis), codes)
        return self._row(f"{self.rows.of(name, axis)} + {at}")

    def hoisted(self, node: ast.expr) -> None:
        return None

    def is_left(self, code: str) -> str:
        if self._takes:
            raise Unsuited("which jobs are left")
        return "False"

    def count_left(self) -> str:
        if self._takes:
            raise Unsuited("how many jobs are left")
        return "int64(0)"

    def reach(self, node: ast.expr) -> str:
        base, indices = split(node)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        name = base.attr
        if name in self._changing:
            if self._ahead(indices) < (name in self._turn):
                raise Unsuited("a field that a turn before has changed")
        elif name in self._changed and self._place(indices) in self._changed[name]:
            raise Unsuited("a field that has changed")
        return super().reach(node)

    def _place(self, indices: list[ast.expr]) -> int:
        """Place of a value in its field, outside of loops."""
        return self.constant(indices[0]) if indices else 0

    def _ahead(self, indices: list[ast.expr]) -> int:
        """By how much an index is ahead of the loop's turn."""
        turns = [
            self._place([replaced(one, {str(self._over): ast.Constant(turn)})])
            for one in indices
            for turn in (0, 1)
        ]
        if not turns or turns[1] - turns[0] != 1:
            raise Unsuited("a field whose places a loop does not go along")
        return turns[0]

    def statement(self, node: ast.stmt) -> None:
        target: ast.expr | None = None
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AugAssign):
            target, value = node.target, ast.BinOp(node.target, node.op, node.value)
        if not isinstance(target, ast.Subscript | ast.Attribute):
            super().statement(node)
            return
        code, old = self.as_value(value), self.reach(target)
        for mask in self.masks:
            code = f"blend({mask}, {code}, {old})"
        if self._common:
            code = f"blend(less(moved, like), {code}, {old})"
        at = old.removeprefix("load(nodes, at").removesuffix(", like)")
        self.line(f"store(children, to{at}, {code})")
        base, indices = split(target)
        assert isinstance(base, ast.Attribute)  # noqa: S101
        if self._over is None:
            self._changed.setdefault(base.attr, set()).add(self._place(indices))
        elif self._ahead(indices) or self.margin != self._margin:
            raise Unsuited("a field that not every turn changes")
        self._turn.add(base.attr)

    def loop(self, node: ast.For) -> None:
        names, over = parts_of(node)
        if is_left_set(over):
            if self._takes:
                raise Unsuited("which jobs are left")
            return  # none is
        changing = changed_in(node, ast.Subscript, ast.Attribute)
        if not changing:
            super().loop(node)
            return
        is_range = isinstance(over, ast.Call) and len(over.args) == 1
        if self._over or not is_range or changing & self._changed.keys():
            raise Unsuited("a loop that changes fields elsewhere")
        assert isinstance(over, ast.Call)  # noqa: S101
        end = self.constant(over.args[0])
        self._over, self._changing, self._turn = names[0], changing, set()
        self._margin = self.margin + "    "
        super().loop(node)
        self._over, self._changing = None, set()
        for name in changing:
            self._changed[name] = set(range(end))


@dataclass(frozen=True, slots=True)
class NodeLanes:
    """What is written, for who makes its tables.

    Parameters
    ----------
    places
        First vector of each field of a node.
    size
        Vectors of a node; 0: it cannot be written so.
    rows
        Of a job's column.
    """

    places: dict[str, int]
    size: int
    rows: Rows
    source: str


def in_lanes(shape: Shape) -> NodeLanes:
    """Write methods of a model, see ``dpbb.kernels.models``."""
    rows = Rows(shape, "e")
    places, size = {}, 0
    for field in shape.fields:
        if field.kind != "sum":
            places[field.name] = size
            size += field.size
    try:
        if shape.text.uses_last or "absent" in shape.text.sources:
            raise Unsuited("what depends on the last job")
        bodies = {}
        for name, common in (("take_common", True), ("take_each", False)):
            writer = NodeLaneWriter(shape, "take", rows, common=common)
            writer.body()
            bodies[name] = writer.lines
        writer = NodeLaneWriter(shape, "node_bound", rows)
        result = writer.body()
        bodies["joined_lanes"] = [*writer.lines, f"        return {result}"]
    except (Unsuited, ModelError):
        size = 0
        bodies = {name: ["        pass"] for name in _PARAMETERS}
        bodies["joined_lanes"] = ["        return like"]
    lines = []
    for name, parameters in _PARAMETERS.items():
        lines += [
            "",
            f"    def {name}(self, {parameters}, like):",
            "        model = self",
        ]
        lines += bodies[name]
    return NodeLanes(places, size, rows, "\n".join(lines) + "\n")


_TAKES = "nodes, at, children, to, columns, start, side"
_PARAMETERS = {
    "take_common": f"{_TAKES}, moved",
    "take_each": _TAKES,
    "joined_lanes": "nodes, at, rest, beside, side",
}
