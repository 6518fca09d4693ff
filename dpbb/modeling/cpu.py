"""A model text for the CPU engine: written as a class of ``dpbb.kernels.models``.

``child_bound`` is written with vectors in the place of values: all children of a tile
at a time, those of both sides in the two lanes of a pair. What it computes of the node
alone is computed once a node, into the scratch. Where it cannot be written so, or is
not there, children are bounded one after the other.

A node is its fields in pairs of lanes, what the front sees and what the back sees, and
a bit for each job that is left, words of 64. Sizes of the instance are values
of the model: one compiled code serves all. The written module is kept, see
``dpbb.modeling.generated``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbb.kernels.compiling import inlined, int64
from dpbb.kernels.pairs import GROUP_JOBS, PAIR_LANES, TILE_4
from dpbb.kernels.pointers import Ints, Lanes, aligned_zeros
from dpbb.kernels.scalar import load_word, pointer_to, popcount, store_word
from dpbb.kernels.simd import copy_transposed, load, store, zeros
from dpbb.modeling import generated
from dpbb.modeling.lanes import LaneWriter, PairWriter, Rows, TakeWriter, rounded
from dpbb.modeling.model import Model, text_of
from dpbb.modeling.node_lanes import NodeLanes
from dpbb.modeling.node_lanes import in_lanes as in_lanes_of
from dpbb.modeling.shape import Field, Shape
from dpbb.modeling.text import FUNCTIONS, ModelError
from dpbb.modeling.writer import Unsuited, Writer

WORD = 4
"""Lanes of a word of a node's set: 64 jobs, a bit for each."""

# -- what generated modules call -------------------------------------------------------


@inlined
def is_left(nodes: Lanes, start: int, job: int) -> bool:
    """Whether a job is in the set that begins at a lane."""
    word = load_word(nodes, start + (job >> 6) * WORD)
    return (word >> np.uint64(job & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def count_left(nodes: Lanes, start: int, n_jobs: int) -> int:
    """Size of the set that begins at a lane."""
    count = int64(0)
    for job in range(0, n_jobs, 64):
        count += popcount(load_word(nodes, start + (job >> 6) * WORD))
    return count


@inlined
def drop(nodes: Lanes, start: int, job: int) -> None:
    """Take a job out of the set that begins at a lane.

    A word is written as it is read soon: a processor waits for parts of one.
    """
    at = start + (job >> 6) * WORD
    store_word(nodes, at, load_word(nodes, at) & ~(np.uint64(1) << np.uint64(job & 63)))


@inlined
def whole_row(pairs: int) -> int:
    """Return so many pairs, rounded up to whole vectors."""
    return (pairs + GROUP_JOBS - 1) // GROUP_JOBS * GROUP_JOBS


@inlined
def copy_lanes(nodes: Lanes, at: int, children: Lanes, to: int, lanes: int) -> None:
    """Copy so many lanes, rounded up to a multiple of PAIR_LANES."""
    like = zeros(nodes, PAIR_LANES)
    for lane in range(0, lanes, PAIR_LANES):
        store(children, to + lane, load(nodes, at + lane, like))


@inlined
def copy_less(
    nodes: Lanes, at: int, children: Lanes, to: int, table: Lanes, row: int, size: int
) -> None:
    """Copy so many pairs less those of a row; what lies before them, too."""
    like = zeros(nodes, PAIR_LANES)
    for lane in range(2 * size - PAIR_LANES, -PAIR_LANES, -PAIR_LANES):
        less_row = load(nodes, at + lane, like) - load(table, row + lane, like)
        store(children, to + lane, less_row)


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
    like = zeros(columns, PAIR_LANES)
    stride = PAIR_LANES * groups
    row = 2 * whole_row(height)
    for group in range(groups):
        some = pointer_to(jobs, first + GROUP_JOBS * group)
        to = start + PAIR_LANES * group
        for k in range(0, height, GROUP_JOBS):
            copy_transposed(
                rows, some, row, 2 * k, columns, to + k * stride, stride, like
            )


# -- writing ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the fields of a node lie, in lanes.

    Numbers come first, and the set of jobs behind them, at the same places whatever the
    size. Each of the others has whole vectors to itself: sums end with theirs, the
    others begin there, so that what the other side has there is a vector in reverse.
    """

    places: dict[str, int]
    left: int
    has_left: bool
    lanes: int

    @classmethod
    def of(cls, shape: Shape, *, has_left: bool) -> Layout:
        """Place numbers, the set of jobs if there is one, sums, then other fields."""
        numbers = [field.name for field in shape.fields if field.length is None]
        places = {name: 2 * place for place, name in enumerate(numbers)}
        left = 2 * len(numbers)
        at = rounded(left + has_left * WORD * -(-shape.n_jobs // 64))
        for field in shape.fields:
            if field.length is not None and field.kind == "sum":
                at += rounded(2 * field.length)
                places[field.name] = at - 2 * field.length
        at = at or PAIR_LANES
        for field in shape.fields:
            if field.length is not None and field.kind != "sum":
                places[field.name] = at
                at += rounded(2 * field.length + 2)  # a loop may look one ahead
        return cls(places, left, has_left, at)


@cache
def _digest() -> str:
    """Digest of what writes, and of what generated code calls here."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Form:
    """What a generated module is, for who makes its tables.

    Parameters
    ----------
    rows
        Of a job table.
    fields
        Of the tuple, besides those that every model has: see ``tables_of``.
    sizes
        Lengths, places and plain numbers, which are values of fields.
    name
        Of the class. Numba names compiled functions by the names of types, and takes
        functions of one name for one: no two models may have the same.
    """

    layout: Layout
    rows: Rows
    fields: tuple[str, ...]
    sizes: dict[str, int]
    source: str
    name: str
    in_lanes: bool
    nodes: NodeLanes


@cache
def form_of(shape: Shape) -> Form:
    """Write the module of a shape, once."""
    try:
        return _written(shape, in_lanes=True)
    except Unsuited:
        return _written(shape, in_lanes=False)


def _written(shape: Shape, *, in_lanes: bool) -> Form:
    rows = Rows(shape)
    has_left = shape.uses_left or "tight_bound" in shape.text.sources or not in_lanes
    layout = Layout.of(shape, has_left=has_left)
    functions = shape.text.sources
    scalar: list[str] = []
    weight = ""  # of a child, for a branching rule
    for name in functions:
        writer = Writer(shape, name)
        if writer.keeps_left:
            writer.line("left = load_word(nodes, at + model.left)")
        result = writer.body()
        if name == "child_weight":
            weight = _WEIGHT.format(body="\n".join(writer.lines), of=result)
            continue
        if name == "take" and "last" in layout.places:
            writer.line("nodes[at + model.at_last + side] = job")
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
        bounds = _lane_bounds(shape, rows)
    else:
        rows.of("job")
        bounds = _lane_by_lane(shape)
    nodes = in_lanes_of(shape)
    hoists = [line for n in range(len(rows.hoists)) for line in _hoist(shape, rows, n)]
    parts = {
        "scalar": "\n".join(scalar),
        "taking": _taking(shape, layout),
        "hoists": "\n".join(hoists) or "    pass",
        "growing": "\n".join(_growing(shape, layout, rows)),
        "bounds": "\n".join(bounds),
        "joining": "\n".join(_joining(shape, layout)),
        "nodes": nodes.source,
        "words": _WORDS if has_left else "",
        "tight": _TIGHT if "tight_bound" in functions else "",
        "weight": weight and _OWN_SIDE,
        "weighing": weight,
    }
    fixed = {"left": layout.left}
    for field in shape.fields:
        if field.length is None:
            fixed |= {f"at_{field.name}": layout.places[field.name]}
            fixed |= {f"count_{field.name}": 1}
    for name, size in fixed.items():
        for part, text in parts.items():
            parts[part] = re.sub(rf"\b(model|self)\.{name}\b", f"{size}", text)
    # calls hand on all fields: there are those that are read
    used = set(re.findall(r"(?:model|self)\.(\w+)", "".join(parts.values())))
    used -= {"n_jobs", "node_lanes", "scratch_lanes", "largest", "root"}
    fields = sorted(used)
    source = _MODULE.format(
        what=_digest(),
        fields="\n".join(f"    {name}: {_type(name)}" for name in fields),
        **parts,
    )
    name = "Model" + hashlib.sha256(source.encode()).hexdigest()[:24]
    return Form(
        layout=layout,
        rows=rows,
        fields=tuple(fields),
        sizes=_sizes(shape, layout, rows, nodes),
        source=source.replace("class Model(", f"class {name}("),
        name=name,
        in_lanes=in_lanes,
        nodes=nodes,
    )


def _sizes(
    shape: Shape, layout: Layout, rows: Rows, nodes: NodeLanes
) -> dict[str, int]:
    """Numbers that functions read as fields of the tuple."""
    found: dict[str, int] = {}
    for name, lengths in shape.tables.items():
        found |= {f"n_{name}_{axis}": length for axis, length in enumerate(lengths)}
    found |= {f"i_{name}": number for name, number in shape.numbers.items()}
    found |= {f"at_{name}": place for name, place in layout.places.items()}
    found |= {f"count_{field.name}": field.size for field in shape.fields}
    for mark, some in {"b": rows, "e": nodes.rows}.items():
        found |= {f"{mark}_{name}_{axis}": k for (name, axis), k in some.blocks.items()}
    found |= {f"r_{name}": place for name, place in nodes.places.items()}
    places = enumerate(hoist.place for hoist in rows.hoists.values())
    return found | {f"h_{number}": place for number, place in places}


def _type(name: str) -> str:
    """Type of a field of the tuple, by its name."""
    kinds = {"t_": "Ints", "l_": "Lanes", "c_": "Lanes"}
    return "Lanes" if name == "sides" else kinds.get(name[:2], "int")


def _hoist(shape: Shape, rows: Rows, number: int) -> list[str]:
    """Lines that compute an expression of the node alone."""
    hoist = list(rows.hoists.values())[number]
    pairs = PairWriter(shape, "child_bound", rows)
    to = f"model.h_{number}"
    try:
        if hoist.name is None:
            lines = ["like = zeros(nodes, PAIR)"]
            lines.append(f"store(scratch, {to}, {pairs.as_value(hoist.node)})")
        else:
            turns = f"range({hoist.end} - {GROUP_JOBS}, -{GROUP_JOBS}, -{GROUP_JOBS})"
            lines = [
                "like = zeros(nodes, PAIR_LANES)",
                f"for v_{hoist.name} in {turns}:",
            ]
            code = pairs.turn(hoist)
            lines.append(f"    store(scratch, {to} + 2 * v_{hoist.name}, {code})")
    except (Unsuited, ModelError):
        writer = Writer(shape, "child_bound")
        lines, margin = [f"for side in range({shape.sides}):"], "    "
        if hoist.name is not None:
            lines.append(f"    for v_{hoist.name} in range({hoist.end}):")
            to, margin = f"{to} + 2 * v_{hoist.name}", " " * 8
        lines.append(f"{margin}scratch[{to} + side] = {writer.as_value(hoist.node)}")
    return [f"    {line}" for line in lines]


def _growing(shape: Shape, layout: Layout, rows: Rows) -> list[str]:
    """Body of ``step``: the child's fields from those of its parent."""
    writer: TakeWriter | None = None
    try:
        writer = TakeWriter(shape, rows)
        writer.body()
        writer.check()
    except (Unsuited, ModelError):
        writer = None
    turn = None if writer is None else _whole_turn(shape, rows, writer)
    is_short = writer and max((n for *_, n in writer.loops), default=0) < GROUP_JOBS
    if turn is None and writer and is_short and not writer.adds_up:
        writer = None  # one by one is faster
    lines = []
    if layout.left or layout.has_left:
        words = " + ((self.n_jobs + 63) >> 6 << 2)" if layout.has_left else ""
        lines.append(f"copy_lanes(nodes, at, children, to, {layout.left}{words})")
    others = []
    for field in shape.fields:
        at = f"at + self.at_{field.name}, children, to + self.at_{field.name}"
        if field.kind == "sum" and field.length is None:
            lines += _number_less(field, "children[to")
        elif field.kind == "sum" and turn is None:
            row = f"self.l_{field.table}, {_row_of(field)}, self.n_{field.table}_1"
            lines.append(f"copy_less(nodes, {at}, {row})")
        elif field.kind != "sum" and field.length is not None:
            others += [(field, at)] * (not writer or field.name not in writer.whole)
    if writer is None and others:  # they follow each other
        field, at = others[0]
        lines.append(f"copy_lanes(nodes, {at}, self.node_lanes - self.at_{field.name})")
    else:
        for field, at in others:
            lines.append(f"copy_lanes(nodes, {at}, 2 * self.count_{field.name})")
    if layout.has_left:
        lines.append("drop(children, to + self.left, job)")
    if writer is None:
        lines.append("take(self, children, to, children, to, side, job)")
        lines.append("share(self, children, to, side)")
    else:
        if turn is not None:
            end = writer.loops[0][0]
            writer.lines[end:end] = [f"        {line}" for line in turn]
        lines.append("like = zeros(nodes, PAIR_LANES)")
        lines.append("moved = load_pair(self.sides, 2 * side, like)")
        lines += [line[4:] for line in writer.lines]
        if "last" in layout.places:
            lines.append("children[to + model.at_last + side] = job")
    if turn is None:
        lines.append("make_ready(self, children, to, scratch)")
    return [f"        {line}" for line in lines]


def _row_of(field: Field) -> str:
    """Write where the entries of the job begin that a sum loses."""
    return f"2 * whole_row(self.n_{field.table}_1) * job"


def _number_less(field: Field, node: str) -> list[str]:
    """Lines by which a sum that is a number loses the job's entry."""
    return [
        f"{node} + model.at_{field.name} + {side}] -= "
        f"model.t_{field.table}[2 * job + {side}]"
        for side in range(2)
    ]


def _whole_turn(shape: Shape, rows: Rows, take: TakeWriter) -> list[str] | None:
    """Lines by which the one loop of ``take`` computes sums and hoists on the way.

    It goes up where the other side, which they are for, goes down. None: they need what
    another turn computes.
    """
    if len(take.loops) != 1 or take.written or take.ends_late or not take.whole:
        return None
    _, name, end, length = take.loops[0]
    lines = [f"turn = {end} - {GROUP_JOBS} - v_{name}"]
    held = {(field, True): f"new_{field}" for field in take.whole}
    for field in shape.fields:
        if field.kind == "sum":
            if field.size != length or (field.name, False) in take.seen:
                return None
            at = f"self.at_{field.name} + 2 * turn"
            row = f"load(self.l_{field.table}, {_row_of(field)} + 2 * turn, like)"
            less = held[field.name, False] = f"less_{field.name}"
            lines.append(f"{less} = load(nodes, at + {at}, like) - {row}")
            lines.append(f"store(children, to + {at}, {less})")
    for number, hoist in enumerate(rows.hoists.values()):
        pairs = PairWriter(shape, "child_bound", rows)
        pairs.held = held
        try:
            code = "" if hoist.length != length else pairs.turn(hoist)
        except (Unsuited, ModelError):
            code = ""
        if not code or hoist.name is None or not pairs.seen <= held.keys():
            return None
        code = re.sub(rf"\bv_{hoist.name}\b", "turn", code)
        lines.append(f"store(scratch, model.h_{number} + 2 * turn, {code})")
    return lines


def _taking(shape: Shape, layout: Layout) -> str:
    """Lines that take a job out of the set and of the sums, or that share fields."""
    out = ["    pass"]
    if layout.has_left:
        out.append("    drop(nodes, at + model.left, job)")
    both = ["    pass"]
    for field in shape.fields:
        size, place = f"model.count_{field.name}", f"model.at_{field.name}"
        if field.kind == "sum" and field.length is None:
            out += [f"    {line}" for line in _number_less(field, "nodes[at")]
        elif field.kind == "sum":
            size = f"model.n_{field.table}_1"
            out.append(f"    for lane in range(2 * {size}):")
            row = f"model.t_{field.table}[2 * {size} * job + lane]"
            out.append(
                f"        nodes[at + {place} + lane] = "
                f"int64(nodes[at + {place} + lane]) - {row}"
            )
        elif field.kind == "shared":
            both.append(f"    for lane in range(0, 2 * {size}, 2):")
            lane = f"at + {place} + lane"
            both.append(
                f"        one = splat(nodes[{lane} + side], zeros(nodes, PAIR))"
            )
            both.append(f"        store(nodes, {lane}, one)")
    lines = ["@inlined", "def take_out(model, nodes, at, job):", *out, "", ""]
    lines += ["@inlined", "def share(model, nodes, at, side):", *both, ""]
    return "\n".join([*lines, _GROW])


def _joining(shape: Shape, layout: Layout) -> list[str]:
    """Lines that take the back from another node, and leave no job to either."""
    none = [("left", "((self.n_jobs + 63) >> 6 << 2)")] * layout.has_left
    lines = ["pass"]
    for field in shape.fields:
        place = f"self.at_{field.name}"
        if field.kind == "sum":
            none.append((f"at_{field.name}", f"2 * self.count_{field.name}"))
        elif field.kind == "own":
            lines += [
                f"for lane in range(1, 2 * self.count_{field.name}, 2):",
                f"    nodes[at + {place} + lane] = nodes[behind + {place} + lane]",
            ]
    for place, lanes in none:
        lines += [
            f"for lane in range({lanes}):",
            f"    nodes[at + self.{place} + lane] = 0",
        ]
    return [f"        {line}" for line in lines]


def _lane_bounds(shape: Shape, rows: Rows) -> list[str]:
    """Body of ``bounds`` in vectors."""
    writer = LaneWriter(shape, "child_bound", rows)
    writer.margin = " " * 8
    result = writer.body()
    lines = [*writer.lines, f"        found = {result}"]
    if shape.sides == 1:
        lines[:0] = ["        whole, like = like, evens(like)"]
    lines.append("        nothing = splat(self.largest, like)")
    if "absent" in shape.text.sources:
        test = LaneWriter(shape, "absent", rows)
        test.margin = " " * 8
        none = test.body()
        if any(f"v_{name}" in " ".join(writer.lines) for name in test.names):
            raise Unsuited("two functions with variables of one name")
        lines += [*test.lines, f"        found = blend({none}, nothing, found)"]
    if shape.sides == 1:
        lines.append("        found = paired(found, nothing)")
    return [*lines, "        return found"]


def _lane_by_lane(shape: Shape) -> list[str]:
    """Body of ``bounds`` of one child after the other."""
    if "child_bound" in shape.text.sources:
        child = ["value = child_bound(self, nodes, at, nodes, at, side, job)"]
    else:
        child = [
            "copy_lanes(nodes, at, scratch, work, self.node_lanes)",
            "take_out(self, scratch, work, job)",
            "take(self, scratch, work, nodes, at, side, job)",
            "value = node_bound(self, scratch, work, nodes, at, side)",
        ]
    if "absent" in shape.text.sources:
        child.append("if absent(self, nodes, at, nodes, at, side, job):")
        child.append("    value = int64(self.largest)")
    lines = [
        "buffer = int64(self.scratch_lanes) - self.node_lanes - TILE_4",
        "work = buffer + TILE_4",
        f"for lane in range(0, lanes_of(like), {3 - shape.sides}):",
        "    job = int64(columns[start + lane])",
        "    side = lane & 1",
        "    value = int64(self.largest)",
        "    if is_left(nodes, at + self.left, job):",
        *(f"        {line}" for line in child),
        "    scratch[buffer + lane] = value",
    ]
    if shape.sides == 1:
        lines.append("    scratch[buffer + lane + 1] = self.largest")
    lines.append("return load(scratch, buffer, like)")
    return [f"        {line}" for line in lines]


_MODULE = '''\
"""Written by dpbb.modeling.cpu of a model's text; not to be edited.

{what}
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpbb.kernels.compiling import inlined, int64
from dpbb.kernels.pairs import FRONT_BITS, PAIR, PAIR_LANES, TILE_4
from dpbb.kernels.pointers import Ints, Lanes
from dpbb.kernels.scalar import ctz, load_word, store_word
from dpbb.kernels.simd import (
    blend, equal, evens, first_pair, lanes_of, last_pair, less, load, load_pair,
    maximum, minimum, paired, reverse, scan_max_pairs, splat, store, zeros
)
from dpbb.modeling import cpu
from dpbb.modeling.cpu import (
    WORD, copy_lanes, copy_less, count_left, drop, gather_rows, is_left, whole_row
)


{scalar}
{weighing}
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
{fields}

    obstacle = staticmethod(cpu.obstacle)
    narrowest_dtype = staticmethod(cpu.narrowest_dtype)
    of = classmethod(cpu.tables_of)
    job_table = cpu.job_table

    def step(self, nodes, at, children, to, scratch, job, side):
        model = self
{growing}

    def prepare(self, nodes, at, scratch):
        make_ready(self, nodes, at, scratch)

    def bounds(self, nodes, at, scratch, columns, start, stride, like):
        model = self
{bounds}

    def gather(self, jobs, first, groups, columns, start):
        gather_rows(self.rows, self.height, jobs, first, groups, columns, start)

    def grow(self, nodes, at, job, side):
        grow(self, nodes, at, job, side)

    def joined(self, nodes, at, behind):
{joining}
        return int64(node_bound(self, nodes, at, nodes, at, int64(0)))

    def cost(self, jobs, first, scratch):
        for lane in range(self.node_lanes):
            scratch[lane] = self.root[lane]
{words}
        for position in range(first, first + self.n_jobs):
            grow(self, scratch, int64(0), int64(jobs[position]), int64(0))
        return int64(node_bound(self, scratch, int64(0), scratch, int64(0), int64(0)))
{nodes}{tight}{weight}'''

_WORDS = """\
        for word in range(self.left, self.left + ((self.n_jobs + 63) >> 6 << 2), WORD):
            store_word(scratch, word, load_word(self.root, word))"""

_GROW = """
@inlined
def grow(model, nodes, at, job, side):
    take_out(model, nodes, at, job)
    take(model, nodes, at, nodes, at, side, job)
    share(model, nodes, at, side)"""

_TIGHT = """
    def tightens(self, depth):
        return self.first_tight <= depth and depth <= self.last_tight

    def tighten(
        self, nodes, at, depth, side, jobs, first, kept, count, work, ub, floor
    ):
        to = int64(self.tighten_lanes) - self.node_lanes
        for child in range(count):
            job = int64(jobs[first + kept[child]])
            copy_lanes(nodes, at, work, to, self.node_lanes)
            grow(self, work, to, job, side)
            found = tight_bound(self, work, to, work, to, int64(0), ub)
            work[child] = min(found, int64(self.largest))
"""


_WEIGHT = """
@inlined
def child_weight(model, v_bound, v_parent):
{body}
    return {of}

"""

_OWN_SIDE = """
    def own_side(self, is_own, nodes, at, bounds, lanes, side):
        if is_own == 0:
            return side
        parent = int64(node_bound(self, nodes, at, nodes, at, int64(0)))
        more = int64(0)
        for lane in range(0, lanes, 2):
            more += child_weight(self, int64(bounds[lane + 1]), parent)
            more -= child_weight(self, int64(bounds[lane]), parent)
        return side if more == 0 else np.uint64(more < 0)
"""


# -- what Python calls -----------------------------------------------------------------


def model_of(problem: Any) -> type[Any]:
    """Return the class of a problem's text, see ``dpbb.kernels.models``."""
    form = form_of(text_of(problem).shape)
    name = "m" + hashlib.sha256(form.source.encode()).hexdigest()[:24]
    generated.kept(name, "model.py", form.source)
    invalidate_caches()
    module = import_module(f"{generated.__name__}.{name}.model")
    found: type[Any] = getattr(module, form.name)
    return found


def obstacle(problem: Any) -> str | None:
    """Why a problem's text cannot be compiled; None: it can."""
    problem = text_of(problem)
    try:
        shape = problem.shape
    except ModelError as error:
        return str(error)
    for name in shape.both_orders:
        first, last = (
            np.asarray(getattr(problem.instances[side], name)) for side in (0, -1)
        )
        if not np.array_equal(first, last):
            return f"the order {name} of its mirror image is another one"
    try:
        narrowest_dtype(problem, 0)
    except ValueError as error:
        return str(error)
    return None


def narrowest_dtype(problem: Any, ub: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest integers that no value passes, nor any entry of a table."""
    problem = text_of(problem)
    limit = max(problem.largest(min(ub, problem.trivial_ub)), problem.n_jobs)
    fields = form_of(problem.shape).fields
    for name in problem.shape.tables:
        table = np.abs(np.asarray(getattr(problem, name)))
        limit = max(limit, int(table.max(initial=0)))
        if f"c_{name}" in fields:  # from values that may be negative it is taken, too
            sums = int(table.sum(axis=-1).max(initial=0))
            limit = max(limit, sums + limit * (not problem.never_negative))
    for dtype in (np.int16, np.int32):
        if limit < np.iinfo(dtype).max:
            return dtype
    raise ValueError(f"values may reach {limit}, 32-bit integers hold less: scale them")


def ordered_tables(
    problem: Model, order: NDArray[np.intp]
) -> list[dict[str, NDArray[np.int64]]]:
    """Tables as each side sees them, jobs numbered in root order."""
    shape = problem.shape
    place = np.argsort(order)
    found = []
    for instance in problem.instances:
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
    cls: type[Any], problem: Any, root_order: Sequence[int] | None, dtype: DTypeLike
) -> Any:
    """Make the tables of an instance."""
    problem = text_of(problem)
    shape = problem.shape
    form = form_of(shape)
    n_jobs = shape.n_jobs
    order = np.arange(n_jobs) if root_order is None else np.array(root_order)
    sides = ordered_tables(problem, order.astype(np.intp))
    root = aligned_zeros(form.layout.lanes, dtype)
    state = problem.root_state()
    for field in shape.fields:
        place = form.layout.places[field.name]
        for side in range(2):
            root[place + side : place + 2 * field.size : 2] = state.value(field, side)
    if form.layout.has_left:
        for word, first in enumerate(range(0, n_jobs, 64)):
            bits = np.array([2 ** min(64, n_jobs - first) - 1], np.uint64).view(dtype)
            place = form.layout.left + WORD * word
            root[place : place + len(bits)] = bits
    known: dict[str, Any] = {**form.sizes, "sides": np.array([-1, 0, 0, -1], dtype)}
    known["tighten_lanes"] = rounded(n_jobs) + form.layout.lanes
    known["first_tight"], known["last_tight"] = problem.tightened
    for name in set(form.fields) - known.keys():
        known[name] = _table(name[0], [side[name[2:]] for side in sides], dtype)
    whole = f"l_{next(iter(form.rows.blocks))[0]}" if len(form.rows.blocks) == 1 else ""
    # one memory for both where that will do: it has to stay in the cache
    is_whole = whole in known and form.rows.height == shape.tables[whole[2:]][-1]
    rows = known[whole] if is_whole else _job_rows(form, sides, n_jobs, dtype)
    return cls(
        n_jobs=n_jobs,
        node_lanes=form.layout.lanes,
        scratch_lanes=form.rows.scratch + TILE_4 + form.layout.lanes,
        height=form.rows.height,
        cost_ints=form.layout.lanes,
        root_bound=problem.bound_of(state),
        largest=int(np.iinfo(dtype).max),
        root=root,
        rows=rows,
        **{name: known[name] for name in form.fields},
    )


def _job_rows(
    form: Form, sides: list[dict[str, NDArray[np.int64]]], n_jobs: int, dtype: DTypeLike
) -> NDArray[Any]:
    """Return the rows of all jobs, each in whole vectors."""
    rows = np.zeros((n_jobs, rounded(2 * form.rows.height) // 2, 2), np.int64)
    for (name, axis), row in form.rows.blocks.items():
        for side in range(2):
            block = _block(sides[side % len(sides)], name, axis, n_jobs)
            rows[:, row : row + block.shape[1], side] = block
    flat = aligned_zeros(rows.size + PAIR_LANES, dtype)
    flat[: rows.size] = rows.ravel()
    return flat


def _table(kind: str, sides: list[NDArray[np.int64]], dtype: DTypeLike) -> NDArray[Any]:
    """Return a table in pairs: ``t`` in integers; in lanes ``l``, or ``c``, its sums.

    Vectors may reach over both ends of those in lanes.
    """
    tables = [sides[0], sides[-1]]
    if kind == "t":
        return np.stack([table.ravel() for table in tables], axis=1).ravel()
    if kind == "c":
        ahead = [(0, 0)] * (tables[0].ndim - 1) + [(1, 0)]
        tables = [np.pad(table.cumsum(axis=-1), ahead) for table in tables]
    pairs = np.stack(tables, axis=-1)
    pairs = pairs.reshape(*pairs.shape[:-2], -1)
    size = rounded(pairs.shape[-1])
    rest = size - pairs.shape[-1]
    whole = np.pad(pairs, [(0, 0)] * (pairs.ndim - 1) + [(0, rest)]).ravel()
    # rows of sums begin with a vector, others end with one
    first = 2 * PAIR_LANES + (0 if kind == "c" else rest)
    room = aligned_zeros(first + len(whole) + PAIR_LANES, dtype)
    room[first : first + len(whole)] = whole
    return room[first:]


def lane_tables(problem: Model) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what nodes in lanes of vectors take, see ``dpbb.modeling.node_lanes``.

    Returns
    -------
    roots : ndarray of int64, shape (2, size)
        The empty node as each side sees it; the size is 0 where there are none.
    columns : ndarray of int64, shape (2, n_jobs, height)
        Of the jobs, as each side sees them.
    """
    shape, state = problem.shape, problem.root_state()
    nodes, n_jobs = form_of(shape).nodes, shape.n_jobs
    roots = np.zeros((2, nodes.size), np.int64)
    columns = np.zeros((2, n_jobs, nodes.rows.height), np.int64)
    tables = ordered_tables(problem, np.arange(n_jobs))
    for side in range(2 * (nodes.size > 0)):
        for field in shape.fields:
            if field.kind != "sum":
                place = nodes.places[field.name]
                roots[side, place : place + field.size] = state.value(field, side)
        for (name, axis), row in nodes.rows.blocks.items():
            block = _block(tables[side % len(tables)], name, axis, n_jobs)
            columns[side, :, row : row + block.shape[1]] = block
    return roots, columns


def _block(
    tables: dict[str, NDArray[np.int64]], name: str, axis: int, n_jobs: int
) -> NDArray[np.int64]:
    """Rows of a job table, shape (n_jobs, rows), of a table whose axis is the job."""
    if name == "job":
        return np.arange(n_jobs)[:, None]
    return np.moveaxis(tables[name], axis, 0)[:n_jobs].reshape(n_jobs, -1)


def job_table(model: Any, slots: int) -> NDArray[Any]:
    """Table of all jobs, shape (height, slots, 2); zeros past the last job."""
    table = np.zeros((model.height, slots, 2), model.root.dtype)
    size = model.n_jobs * rounded(2 * model.height)
    rows = model.rows[:size].reshape(model.n_jobs, -1, 2)
    table[:, : model.n_jobs] = rows[:, : model.height].transpose(1, 0, 2)
    return table
