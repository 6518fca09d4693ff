"""A model text for the CPU engine: written as a class of ``dpbb.kernels.models``.

``child_bound`` is written with vectors in the place of values: all children of a tile
at a time, those of both sides in the two lanes of a pair. What it computes of the node
alone is computed once a node, into the scratch. Where it cannot be written so, or is
not there, children are bounded one after the other.

A node is its fields in pairs of lanes, what the front sees and what the back sees, then
a bit for each job that is left, 16 of them in a lane. The written module is kept, see
``dpbb.modeling.generated``.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
from numba import extending
from numpy.typing import DTypeLike, NDArray

from dpbb.kernels.compiling import INLINED, inlined, int64
from dpbb.kernels.pairs import GROUP_JOBS, PAIR_LANES, TILE_4
from dpbb.kernels.pointers import Ints, Lanes, aligned_zeros
from dpbb.kernels.simd import Vector, load, store, zeros
from dpbb.modeling import generated
from dpbb.modeling.model import Model
from dpbb.modeling.text import (
    FUNCTIONS,
    INDEX,
    VALUE,
    Field,
    ModelError,
    Shape,
    Unsuited,
    Writer,
    is_last,
    order_of,
    parts_of,
)

BITS = 16
"""Jobs of a lane of a node's set."""

# -- what generated modules call -------------------------------------------------------


@inlined
def left_word(nodes: Lanes, start: int, word: int) -> np.uint64:
    """64 jobs of a set that begins at a lane, a bit for each that is left."""
    bits = np.uint64(0)
    for part in range(4):
        some = np.uint64(int64(nodes[start + 4 * word + part]) & 0xFFFF)
        bits |= some << np.uint64(BITS * part)
    return bits


@inlined
def is_left(nodes: Lanes, start: int, job: int) -> bool:
    """Whether a job is in the set that begins at a lane."""
    return (int64(nodes[start + (job >> 4)]) >> (job & 15)) & 1 != 0


@inlined
def drop(nodes: Lanes, start: int, job: int) -> None:
    """Take a job out of the set that begins at a lane."""
    at = start + (job >> 4)
    nodes[at] = int64(nodes[at]) & ~(int64(1) << (job & 15))


@inlined
def copy_node(nodes: Lanes, at: int, children: Lanes, to: int, lanes: int) -> None:
    """Copy so many lanes, a multiple of PAIR_LANES."""
    like = zeros(nodes, PAIR_LANES)
    for lane in range(0, lanes, PAIR_LANES):
        store(children, to + lane, load(nodes, at + lane, like))


@inlined
def gather_rows(
    rows: Lanes,
    height: int,
    jobs: Ints,
    first: int,
    groups: int,
    columns: Lanes,
    start: int,
) -> None:
    """Copy the rows of some jobs, a pair of lanes for each entry, as columns."""
    stride = PAIR_LANES * groups
    for slot in range(GROUP_JOBS * groups):
        row = 2 * height * jobs[first + slot]
        for k in range(height):
            to = start + k * stride + 2 * slot
            columns[to] = rows[row + 2 * k]
            columns[to + 1] = rows[row + 2 * k + 1]


def lanes_of(like: Vector) -> int:
    """Return the number of lanes of a vector."""
    return int(like.lanes)


def _lanes_of(like: Any) -> Any:
    count = like.lanes
    return lambda like: count


_overload: Any = extending.overload
_overload(lanes_of, jit_options=INLINED, strict=False)(_lanes_of)


# -- writing ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the fields of a node lie, in lanes."""

    places: dict[str, int]
    left: int
    lanes: int

    @classmethod
    def of(cls, shape: Shape) -> Layout:
        """Place the fields of a shape one after the other, then the set of jobs."""
        places, at = {}, 0
        for field in shape.fields:
            places[field.name] = at
            at += 2 * field.size
        words = -(-shape.n_jobs // 64)
        return cls(places, at, -(-(at + 4 * words) // PAIR_LANES) * PAIR_LANES)


class ScalarWriter(Writer):
    """A function of one node, one child and one side, in integers."""

    def __init__(self, shape: Shape, name: str, layout: Layout) -> None:
        super().__init__(shape, name)
        self.layout = layout
        self.keeps_left = name == "tight_bound" and shape.n_jobs <= 64
        self._count = 0
        if self.keeps_left:
            self.line(f"left = left_word(nodes, at + {layout.left}, 0)")

    def value(self, code: str) -> str:
        return f"int64({code})"

    def extreme(self, name: str, parts: list[ast.expr]) -> str:
        code = self.as_value(parts[0])
        for part in parts[1:]:
            code = f"{name}({code}, {self.as_value(part)})"
        return code

    def compare(self, operator: str, left: str, right: str) -> str:
        return f"({left} {operator} {right})"

    def condition(self, code: str) -> str:
        return code

    def choose(self, test: str, kind: str, yes: str, no: str) -> str:
        return f"({yes} if {test} else {no})"

    def join(self, operator: str, kind: str, parts: list[str]) -> str:
        return "(" + f" {operator} ".join(parts) + ")"

    def negate(self, kind: str, code: str) -> str:
        return f"(not {code})"

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        place = self.layout.places[field.name]
        where, side = ("rest[beside", "1 - side") if other else ("nodes[at", "side")
        step = "" if index is None else f" + 2 * ({index})"
        return f"{where} + {place}{step} + {side}]"

    def index(self, node: ast.expr) -> str:
        """Write an index; the last job is one here, where there is one side."""
        return self._read(node) if is_last(node) else super().index(node)

    def table(self, name: str, indices: list[ast.expr]) -> str:
        lengths = self.shape.tables[name]
        at = flat_index(lengths, [self.index(one) for one in indices])
        return f"model.t_{name}[2 * ({at}) + side]"

    def is_left(self, code: str) -> str:
        if self.keeps_left:
            return f"((left >> np.uint64({code})) & np.uint64(1)) != np.uint64(0)"
        return f"is_left(nodes, at + {self.layout.left}, {code})"

    def count_left(self) -> str:
        words = range(-(-self.shape.n_jobs // 64))
        parts = [
            f"popcount(left_word(nodes, at + {self.layout.left}, {w}))" for w in words
        ]
        return "(" + " + ".join(parts) + ")"

    def _read(self, node: ast.expr) -> str:
        code = super()._read(node)
        return f"int64({code})" if code.endswith("]") else code

    def put(self, target: str, code: str) -> None:
        self.line(f"{target} = {code}")

    def loop(self, node: ast.For) -> None:
        names, over = parts_of(node)
        name = f"v_{names[-1]}"
        if isinstance(over, ast.Call):
            ends = ", ".join(self.index(one) for one in over.args)
            self.line(f"for {name} in range({ends}):")
            self.ranges[names[0]] = self.constant(over.args[-1])
            self.block(node.body)
            del self.ranges[names[0]]
            return
        self._count += 1
        margin = self.margin
        if order := order_of(over):
            table, indices = order
            lengths = self.shape.tables[table]
            place = f"v_{names[0]}" if len(names) == 2 else f"place_{self._count}"
            at = flat_index(lengths, [*map(self.index, indices), place])
            self.line(f"for {place} in range({lengths[-1]}):")
            self.margin += "    "
            self.line(f"{name} = int64(model.t_{table}[2 * ({at})])")
            self.margin = margin
            self.block(node.body)
            return
        bits = f"bits_{self._count}"
        self.line(f"for word_{self._count} in range({-(-self.shape.n_jobs // 64)}):")
        self.margin += "    "
        word = f"left_word(nodes, at + {self.layout.left}, word_{self._count})"
        self.line(f"{bits} = {word}")
        self.line(f"while {bits} != np.uint64(0):")
        self.margin += "    "
        self.line(f"{name} = 64 * word_{self._count} + ctz({bits})")
        self.line(f"{bits} &= {bits} - np.uint64(1)")
        self.margin = self.margin[:-4]
        self.block(node.body)
        self.margin = margin

    def branch(self, test: str, node: ast.If) -> None:
        self.line(f"if {test}:")
        self.block(node.body)
        if node.orelse:
            self.line("else:")
            self.block(node.orelse)


def flat_index(lengths: Sequence[int], indices: list[str]) -> str:
    """Place of an entry in a flat table with axes of these lengths."""
    code = indices[0] if indices else "0"
    for length, index in zip(lengths[1:], indices[1:], strict=True):
        code = f"({code}) * {length} + {index}"
    return code


def without(values: Sequence[Any], place: int) -> list[Any]:
    """Return all values but the one in a place."""
    return [*values[:place], *values[place + 1 :]]


class LaneWriter(ScalarWriter):
    """``child_bound`` or ``absent`` of all children of a tile at a time."""

    def __init__(self, shape: Shape, name: str, layout: Layout, rows: Rows) -> None:
        super().__init__(shape, name, layout)
        self.rows = rows
        self._masks: list[str] = []
        self._known: set[str] = set()

    def value(self, code: str) -> str:
        return f"splat(int64({code}), like)"

    def extreme(self, name: str, parts: list[ast.expr]) -> str:
        code = self.as_value(parts[0])
        for part in parts[1:]:
            code = f"{name}imum({code}, {self.as_value(part)})"
        return code

    compare = Writer.compare

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
        return f"load(columns, start + {self.rows.of('job')} * stride, like)"

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        if other:
            raise Unsuited("a field of the other side that is not the node's alone")
        step = "" if index is None else f" + 2 * ({index})"
        return f"load_pair(nodes, at + {self.layout.places[field.name]}{step}, like)"

    def _read(self, node: ast.expr) -> str:
        return Writer._read(self, node)

    def table(self, name: str, indices: list[ast.expr]) -> str:
        jobs = [self.is_job(one) for one in indices]
        lengths = self.shape.tables[name]
        if not any(jobs):
            at = flat_index(lengths, [self.index(one) for one in indices])
            self.rows.lanes.add(name)
            return f"load_pair(model.l_{name}, 2 * ({at}), like)"
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
            loads.append(f"load(columns, start + {row} * stride, like)")
        if len(set(loads)) == 1:
            return loads[0]
        return f"blend(FRONT_BITS, {loads[0]}, {loads[1]})"

    def _last_of(self, node: ast.expr, side: int) -> str:
        """Write the job that a side took last, as a row."""
        assert isinstance(node, ast.Attribute)  # noqa: S101
        is_own = isinstance(node.value, ast.Name)
        place = self.layout.places["last"] + (side if is_own else 1 - side)
        return f"int64(nodes[at + {place}])"

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
            place, name = found
            step = "" if name is None else f" + 2 * v_{name}"
            return f"load_pair(scratch, {place}{step}, like)"
        return super().expression(node)

    def hoisted(self, node: ast.expr) -> tuple[int, str | None] | None:
        """Where an expression of the node alone lies in the scratch, if it is one."""
        found = of_node_alone(self, node)
        if found is None:
            return None
        name, length = found
        return self.rows.hoist(node, name, length), name

    def put(self, target: str, code: str) -> None:
        if self._masks:
            if target not in self._known:
                raise Unsuited(f"{target[2:]} has no value before an if")
            code = f"blend({' & '.join(self._masks)}, {code}, {target})"
        self._known.add(target)
        super().put(target, code)

    def blend(self, test: str, node: ast.If) -> None:
        self._count += 1
        mask = f"mask_{self._count}"
        self.line(f"{mask} = {test}")
        for sign, statements in (("", node.body), ("~", node.orelse)):
            self._masks.append(sign + mask)
            for statement in statements:
                self.statement(statement)
            self._masks.pop()


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
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names -= {"self", "node", "min", "max", "len"}
    if not names <= writer.ranges.keys() or len(names) > 1:
        return None
    name = next(iter(names), None)
    return name, 1 if name is None else writer.ranges[name]


class Rows:
    """Rows of a job table, and places of the scratch, as a writer asks for them."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.blocks: dict[tuple[str, int], int] = {}
        self.height = 0
        self.lanes: set[str] = set()
        self.hoists: dict[str, tuple[int, ast.expr, str | None, int]] = {}
        self.scratch = 0

    def of(self, table: str, axis: int = 0) -> int:
        """First row of the entries of a table whose index on an axis is the job."""
        if (table, axis) not in self.blocks:
            self.blocks[table, axis] = self.height
            self.height += self.length(table, axis)
        return self.blocks[table, axis]

    def length(self, table: str, axis: int) -> int:
        """Entries of a job."""
        return int(np.prod(without(self._shape.tables.get(table, (0,)), axis)))

    def hoist(self, node: ast.expr, name: str | None, length: int) -> int:
        """Place of an expression in the scratch."""
        key = f"{ast.unparse(node)} over {name}"
        if key not in self.hoists:
            self.hoists[key] = self.scratch, node, name, length
            self.scratch += 2 * length
        return self.hoists[key][0]


@lru_cache(maxsize=1)
def _digest() -> str:
    """Digest of what writes, and of what generated code calls here."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Form:
    """What a generated module is, for who makes its tables.

    Parameters
    ----------
    blocks
        First row of each table and axis in a job table.
    lanes
        Tables that vectors are made of.
    tighten
        Lanes that tightening bounds takes; 0: nothing tightens them.
    name
        Of the class. Numba names compiled functions by the names of types, and takes
        functions of one name for one: no two models may have the same.
    """

    layout: Layout
    blocks: dict[tuple[str, int], int]
    height: int
    lanes: tuple[str, ...]
    scratch: int
    tighten: int
    source: str
    name: str
    in_lanes: bool


def form_of(shape: Shape) -> Form:
    """Write the module of a shape."""
    layout = Layout.of(shape)
    try:
        return _written(shape, layout, in_lanes=True)
    except Unsuited:
        return _written(shape, layout, in_lanes=False)


def _written(shape: Shape, layout: Layout, *, in_lanes: bool) -> Form:
    rows = Rows(shape)
    functions = shape.text.sources
    scalar: list[str] = []
    for name in functions:
        writer = ScalarWriter(shape, name, layout)
        result = writer.body()
        if name == "take" and "last" in layout.places:
            writer.line(f"nodes[at + {layout.places['last']} + side] = job")
        more = {"job": ", job", "ub": ", v_ub"}.get(FUNCTIONS[name][-1], "")
        scalar += [
            "@inlined",
            f"def {name}(model, nodes, at, rest, beside, side{more}):",
            *writer.lines,
            f"    return {result}" if result else "    return",
            "",
            "",
        ]
    if in_lanes:
        if "child_bound" not in functions:
            raise Unsuited("there is no child_bound")
        bounds = _lane_bounds(shape, layout, rows)
    else:
        rows.of("job")
        bounds = _lane_by_lane(shape, layout, rows)
    hoists: list[str] = []
    for place, node, over, length in rows.hoists.values():
        writer = ScalarWriter(shape, "child_bound", layout)
        at = "" if over is None else f" + 2 * v_{over}"
        hoists.append(f"    for side in range({shape.sides}):")
        margin = " " * 8
        if over is not None:
            hoists.append(f"{margin}for v_{over} in range({length}):")
            margin += "    "
        code = writer.expression(node)
        hoists.append(f"{margin}scratch[{place}{at} + side] = {code}")
    used = tuple(sorted(shape.tables))
    child = -(-shape.n_jobs // PAIR_LANES) * PAIR_LANES
    tight = "tight_bound" in functions
    tables = [f"    {name}: int" for name in _OF_TIGHT] if tight else []
    tables += [f"    t_{name}: Ints" for name in used]
    tables += [f"    l_{name}: Lanes" for name in sorted(rows.lanes)]
    source = _MODULE.format(
        what=_digest(),
        scalar="\n".join(scalar),
        taking=_taking(shape, layout),
        joining="\n".join(_joining(shape, layout)),
        tables="\n".join(tables),
        hoists="\n".join(hoists) or "    pass",
        bounds="\n".join(bounds),
        tight=_TIGHT.format(child=child, lanes=layout.lanes) if tight else "",
        lanes=layout.lanes,
        height=rows.height,
    )
    name = "Model" + hashlib.sha256(source.encode()).hexdigest()[:24]
    return Form(
        layout=layout,
        blocks=rows.blocks,
        height=rows.height,
        lanes=tuple(sorted(rows.lanes)),
        scratch=rows.scratch + TILE_4 + layout.lanes,
        tighten=child + layout.lanes if tight else 0,
        source=source.replace("class Model(", f"class {name}("),
        name=name,
        in_lanes=in_lanes,
    )


def _taking(shape: Shape, layout: Layout) -> str:
    """Lines that take a job out of the set and of the sums, or that share fields."""
    out = [f"    drop(nodes, at + {layout.left}, job)"]
    both = ["    pass"]
    for field in shape.fields:
        place = layout.places[field.name]
        if field.kind == "sum":
            out.append(f"    for lane in range({2 * field.size}):")
            row = f"model.t_{field.table}[{2 * field.size} * job + lane]"
            out.append(
                f"        nodes[at + {place} + lane] = "
                f"int64(nodes[at + {place} + lane]) - {row}"
            )
        elif field.kind == "shared":
            both.append(f"    for lane in range({field.size}):")
            to = f"nodes[at + {place} + 2 * lane"
            both.append(f"        {to} + 1 - side] = {to} + side]")
    lines = ["@inlined", "def take_out(model, nodes, at, job):", *out, "", ""]
    lines += ["@inlined", "def share(nodes, at, side):", *both]
    return "\n".join(lines)


def _joining(shape: Shape, layout: Layout) -> list[str]:
    """Lines that take the back from another node, and leave no job to either."""
    words = -(-shape.n_jobs // 64)
    none = [(layout.left, 4 * words)]
    lines = []
    for field in shape.fields:
        place = layout.places[field.name]
        if field.kind == "sum":
            none.append((place, 2 * field.size))
        elif field.kind == "own":
            lines += [
                f"        for lane in range({place + 1}, {place + 2 * field.size}, 2):",
                "            nodes[at + lane] = nodes[behind + lane]",
            ]
    for place, lanes in none:
        lines += [
            f"        for lane in range({place}, {place + lanes}):",
            "            nodes[at + lane] = 0",
        ]
    return lines


def _lane_bounds(shape: Shape, layout: Layout, rows: Rows) -> list[str]:
    """Body of ``bounds`` in vectors."""
    writer = LaneWriter(shape, "child_bound", layout, rows)
    writer.margin = " " * 8
    result = writer.body()
    lines = [*writer.lines, f"        found = {result}"]
    lines.append("        nothing = splat(self.largest, like)")
    if "absent" in shape.text.sources:
        test = LaneWriter(shape, "absent", layout, rows)
        test.margin = " " * 8
        none = test.body()
        if any(f"v_{name}" in " ".join(writer.lines) for name in test.names):
            raise Unsuited("two functions with variables of one name")
        lines += [*test.lines, f"        found = blend({none}, nothing, found)"]
    if shape.sides == 1:
        lines.append("        found = blend(FRONT_BITS, found, nothing)")
    return [*lines, "        return found"]


def _lane_by_lane(shape: Shape, layout: Layout, rows: Rows) -> list[str]:
    """Body of ``bounds`` of one child after the other."""
    buffer = rows.scratch
    work = buffer + TILE_4
    if "child_bound" in shape.text.sources:
        child = ["value = child_bound(self, nodes, at, nodes, at, side, job)"]
    else:
        child = [
            f"copy_node(nodes, at, scratch, int64({work}), {layout.lanes})",
            f"take_out(self, scratch, int64({work}), job)",
            f"take(self, scratch, int64({work}), nodes, at, side, job)",
            f"value = node_bound(self, scratch, int64({work}), nodes, at, side)",
        ]
    if "absent" in shape.text.sources:
        child.append("if absent(self, nodes, at, nodes, at, side, job):")
        child.append("    value = int64(self.largest)")
    lines = [
        f"for lane in range(0, lanes_of(like), {3 - shape.sides}):",
        "    job = int64(columns[start + lane])",
        "    side = lane & 1",
        "    value = int64(self.largest)",
        f"    if is_left(nodes, at + {layout.left}, job):",
        *(f"        {line}" for line in child),
        f"    scratch[{buffer} + lane] = value",
    ]
    if shape.sides == 1:
        lines.append(f"    scratch[{buffer} + lane + 1] = self.largest")
    lines.append(f"return load(scratch, {buffer}, like)")
    return [f"        {line}" for line in lines]


_MODULE = '''\
"""Written by dpbb.modeling.cpu of a model's text; not to be edited.

{what}
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpbb.kernels.compiling import inlined, int64
from dpbb.kernels.pairs import FRONT_BITS
from dpbb.kernels.pointers import Ints, Lanes
from dpbb.kernels.scalar import ctz, popcount
from dpbb.kernels.simd import (
    blend, equal, less, load, load_pair, maximum, minimum, splat
)
from dpbb.modeling import cpu
from dpbb.modeling.cpu import (
    copy_node, drop, gather_rows, is_left, lanes_of, left_word
)


{scalar}
{taking}


@inlined
def make_ready(model, nodes, at, scratch):
    rest = nodes
    beside = at
{hoists}


class Model(NamedTuple):
    n_jobs: int
    node_lanes: int
    scratch_lanes: int
    height: int
    cost_ints: int
    root_bound: int
    largest: int
    root: Lanes
    rows: Lanes
{tables}

    @staticmethod
    def obstacle(problem):
        return cpu.obstacle(problem)

    @staticmethod
    def narrowest_dtype(problem, ub):
        return cpu.narrowest_dtype(problem, ub)

    @classmethod
    def of(cls, problem, root_order, dtype):
        return cpu.tables_of(cls, problem, root_order, dtype)

    def job_table(self, slots):
        return cpu.job_table(self, slots)

    def step(self, nodes, at, children, to, scratch, job, side):
        copy_node(nodes, at, children, to, {lanes})
        take_out(self, children, to, job)
        take(self, children, to, children, to, side, job)
        share(children, to, side)
        make_ready(self, children, to, scratch)

    def prepare(self, nodes, at, scratch):
        make_ready(self, nodes, at, scratch)

    def bounds(self, nodes, at, scratch, columns, start, stride, like):
        model = self
{bounds}

    def gather(self, jobs, first, groups, columns, start):
        gather_rows(self.rows, {height}, jobs, first, groups, columns, start)

    def grow(self, nodes, at, job, side):
        take_out(self, nodes, at, job)
        take(self, nodes, at, nodes, at, side, job)
        share(nodes, at, side)

    def joined(self, nodes, at, behind):
{joining}
        return int64(node_bound(self, nodes, at, nodes, at, int64(0)))

    def cost(self, jobs, first, scratch):
        for lane in range({lanes}):
            scratch[lane] = self.root[lane]
        for position in range(first, first + self.n_jobs):
            job = int64(jobs[position])
            take_out(self, scratch, int64(0), job)
            take(self, scratch, int64(0), scratch, int64(0), int64(0), job)
        return int64(node_bound(self, scratch, int64(0), scratch, int64(0), int64(0)))
{tight}'''

_OF_TIGHT = ("tighten_lanes", "first_tight", "last_tight")
"""Fields of what tightens bounds."""

_TIGHT = """
    def tightens(self, depth):
        return self.first_tight <= depth and depth <= self.last_tight

    def tighten(
        self, nodes, at, depth, side, jobs, first, kept, count, work, ub, floor
    ):
        to = int64({child})
        for child in range(count):
            job = int64(jobs[first + kept[child]])
            copy_node(nodes, at, work, to, {lanes})
            take_out(self, work, to, job)
            take(self, work, to, work, to, side, job)
            share(work, to, side)
            found = tight_bound(self, work, to, work, to, int64(0), ub)
            work[child] = min(found, int64(self.largest))
"""


# -- what Python calls -----------------------------------------------------------------


def model_of(problem: Model) -> type[Any]:
    """Return the class of a problem's text, see ``dpbb.kernels.models``."""
    return _loaded(_form(problem))


def _form(problem: Model) -> Form:
    shape = problem.shape
    found = _forms.get(shape.digest)
    if found is None:
        found = _forms[shape.digest] = form_of(shape)
    return found


_forms: dict[str, Form] = {}


def _loaded(form: Form) -> type[Any]:
    name = "m" + hashlib.sha256(form.source.encode()).hexdigest()[:24]
    generated.kept(name, "model.py", form.source)
    invalidate_caches()
    module = import_module(f"{generated.__name__}.{name}.model")
    found: type[Any] = getattr(module, form.name)
    return found


def obstacle(problem: Any) -> str | None:
    """Why a problem's text cannot be compiled; None: it can."""
    try:
        instances = (
            [problem] if len(problem.sides) == 1 else [problem, problem.mirrored()]
        )
        shape = problem.shape
    except ModelError as error:
        return str(error)
    for name in shape.both_orders:
        first, last = (
            np.asarray(getattr(i, name)) for i in (instances[0], instances[-1])
        )
        if not np.array_equal(first, last):
            return f"the order {name} of its mirror image is another one"
    return None


def narrowest_dtype(problem: Model, ub: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest integers that no value passes, nor any entry of a table."""
    limit = max(problem.largest(min(ub, problem.trivial_ub)), problem.n_jobs)
    for name in problem.shape.tables:
        limit = max(
            limit, int(np.abs(np.asarray(getattr(problem, name))).max(initial=0))
        )
    for dtype in (np.int16, np.int32):
        if limit < np.iinfo(dtype).max:
            return dtype
    raise ValueError(f"values may reach {limit}, 32-bit integers hold less: scale them")


def ordered_tables(
    problem: Model, order: NDArray[np.intp]
) -> list[dict[str, NDArray[np.int64]]]:
    """Tables as each side sees them, jobs numbered in root order."""
    shape = problem.shape
    instances = [problem] if shape.sides == 1 else [problem, problem.mirrored()]
    place = np.argsort(order)
    found = []
    for instance in instances:
        tables = {}
        for name in shape.tables:
            table = np.asarray(getattr(instance, name)).astype(np.int64)
            if name in shape.orders:
                table = place[table].astype(np.int64)
            for axis in range(table.ndim):
                if (name, axis) in shape.job_axes:
                    # behind the jobs may be the place of none
                    rest = range(len(order), table.shape[axis])
                    table = np.take(table, [*order, *rest], axis)
            tables[name] = table
        found.append(tables)
    return found


def tables_of(
    cls: type[Any], problem: Model, root_order: Sequence[int] | None, dtype: DTypeLike
) -> Any:
    """Make the tables of an instance."""
    form, shape = _form(problem), problem.shape
    n_jobs = shape.n_jobs
    order = np.arange(n_jobs) if root_order is None else np.array(root_order)
    sides = ordered_tables(problem, order.astype(np.intp))
    pairs = {
        name: np.stack(
            [sides[0][name].ravel(), sides[-1][name].ravel()], axis=1
        ).ravel()
        for name in shape.tables
    }
    root = aligned_zeros(form.layout.lanes, dtype)
    state = problem.root_state()
    for field in shape.fields:
        place = form.layout.places[field.name]
        for side in range(2):
            of = state.own if field.kind == "own" else state.sums
            values = state.shared if field.kind == "shared" else of[side % len(of)]
            root[place + side : place + 2 * field.size : 2] = values[field.name]
    bits = np.zeros(-(-n_jobs // 64) * 64, np.int64)
    bits[:n_jobs] = 1
    words = (bits.reshape(-1, BITS) << np.arange(BITS)).sum(axis=1)
    root[form.layout.left : form.layout.left + len(words)] = words.astype(
        np.uint16
    ).view(np.int16)
    rows = np.zeros((n_jobs, form.height, 2), np.int64)
    for (name, axis), row in form.blocks.items():
        for side in range(2):
            if name == "job":
                block = np.arange(n_jobs)[:, None]
            else:
                table = sides[side % len(sides)][name]
                block = np.moveaxis(table, axis, 0)[:n_jobs].reshape(n_jobs, -1)
            rows[:, row : row + block.shape[1], side] = block
    flat = aligned_zeros(rows.size + PAIR_LANES, dtype)
    flat[: rows.size] = rows.ravel()
    tight = (form.tighten, *problem.tightened) if form.tighten else ()
    return cls(
        n_jobs=n_jobs,
        node_lanes=form.layout.lanes,
        scratch_lanes=form.scratch,
        height=form.height,
        cost_ints=form.layout.lanes,
        root_bound=problem.bound_of(state),
        largest=int(np.iinfo(dtype).max),
        root=root,
        rows=flat,
        **dict(zip(_OF_TIGHT, tight, strict=False)),
        **{f"t_{name}": pairs[name] for name in shape.tables},
        **{f"l_{name}": pairs[name].astype(dtype) for name in form.lanes},
    )


def job_table(model: Any, slots: int) -> NDArray[Any]:
    """Table of all jobs, shape (height, slots, 2); zeros past the last job."""
    table = np.zeros((model.height, slots, 2), model.root.dtype)
    size = model.n_jobs * model.height * 2
    rows = model.rows[:size].reshape(model.n_jobs, model.height, 2)
    table[:, : model.n_jobs] = rows.transpose(1, 0, 2)
    return table
