"""A model text for CUDA: written as a header that keeps ``dpbb.kernels.cuda_model``.

A value is a ``Pair`` where there are two sides, so that one pass bounds a child at the
front and one at the back, and an integer where there is one (``values.cuh``). Loops
over ranges are unrolled, so a node's fields stay in registers. What ``child_bound``
computes of the node alone is computed once a node.

What the text reads of a job lies in its row; tables that are read at other jobs lie
once behind all rows, ``common``. Where ``node_bound`` reads tables, a state holds its
bound. ``tight_bound`` is computed in integers, as the front sees a node, with loops as
they stand; its tables lie behind the others.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import EngineUnavailable
from dpbb.kernels.cuda_model import (
    NARROW_LIMIT,
    WIDE_LIMIT,
    CudaModel,
    pack_pairs,
    quads,
)
from dpbb.modeling import cpu, generated
from dpbb.modeling.cpu import ordered_tables
from dpbb.modeling.lanes import of_node_alone, without
from dpbb.modeling.model import Model
from dpbb.modeling.shape import Field, Shape
from dpbb.modeling.text import FUNCTIONS, is_last, names_in, order_of, parts_of
from dpbb.modeling.writer import INDEX, VALUE, Writer, flat_index

MAX_JOBS = 800
"""What the kernels are made for, see ``dpbb.flowshop.models.lb1_cuda``."""


MOST_UNROLLED = 32
"""Jobs up to which a short loop over those left goes over all, each with a test. So the
compiler knows what it reads of a row, and lanes whose nodes have other jobs left do not
wait for one another's banks."""


class RowPlan:
    """What lies in a job's row and behind all rows, in the order that the text asks.

    In a row blocks of values come first, then a word for the job, if anything needs it.
    Behind the rows whole tables come first, then a word for each entry of an order.

    Parameters
    ----------
    whole
        Tables that are read at other jobs than the row's.
    """

    def __init__(self, shape: Shape, whole: Iterable[str] = ()) -> None:
        self._shape = shape
        self.blocks: dict[tuple[str, int], int] = {}
        self.values = 0
        self.whole = frozenset(whole)
        self.common: dict[str, int] = {}
        self.common_values = 0
        self.orders: dict[str, int] = {}
        self.order_words = 0
        self.holds_job = shape.uses_left or shape.text.uses_last

    def of(self, table: str, axis: int) -> int:
        """First value of the entries at the job on an axis."""
        if (table, axis) not in self.blocks:
            entries = without(self._shape.tables[table], axis)
            if len(entries) > 1:
                self.values = quads(self.values)
            self.blocks[table, axis] = self.values
            self.values += int(np.prod(entries))
        return self.blocks[table, axis]

    def in_common(self, table: str) -> int:
        """First value of a whole table behind the rows."""
        if table not in self.common:
            self.common[table] = self.common_values
            size = int(np.prod(self._shape.tables[table]))
            self.common_values += quads(size)
        return self.common[table]

    def order(self, name: str) -> int:
        """First word of an order, behind the common values."""
        if name not in self.orders:
            self.orders[name] = self.order_words
            self.order_words += int(np.prod(self._shape.tables[name]))
        return self.orders[name]


class CudaWriter(Writer):
    """A function as a CUDA function of a ``State``."""

    margin = "  "
    reads = "{}"
    last_is_index = False
    mask_is, mask_not = "const Both {} = {};", "!"
    compare, blend = Writer.compare_by_calls, Writer.blend_by_masks
    kept_in = "Value"
    unroll = "#pragma unroll"
    left_word = "left_word(node, {})"

    def __init__(
        self, shape: Shape, name: str, places: dict[str, int], rows: RowPlan
    ) -> None:
        super().__init__(shape, name)
        self.places = places
        self.rows = rows
        self.hoists: dict[str, tuple[str, ast.expr, str | None, int]] = {}
        self.hoisting = False
        self.unrolled: set[str] = set()  # jobs of loops that the compiler counts

    def value(self, code: str) -> str:
        return f"value_of({code})"

    def job(self) -> str:
        self.rows.holds_job = True
        return "job"

    def index(self, node: ast.expr) -> str:
        """Write an index; the job itself is a word of its row."""
        self.rows.holds_job |= self.is_job(node)
        return super().index(node)

    def extreme(self, name: str, parts: list[ast.expr]) -> str:
        if code := self.of_indices(name, parts):
            return code
        if name == "max" and not self._adds(parts[-1]) and self._adds(parts[0]):
            parts = [*parts[1:], parts[0]]
        code = self.as_value(parts[0])
        for part in parts[1:]:
            if name == "max" and self._adds(part):
                assert isinstance(part, ast.BinOp)  # noqa: S101
                left, right = self.as_value(part.left), self.as_value(part.right)
                code = f"add_larger({left}, {right}, {code})"
            else:
                one = "larger" if name == "max" else "smaller"
                code = f"{one}({code}, {self.as_value(part)})"
        return code

    def _adds(self, part: ast.expr) -> bool:
        is_sum = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add)
        return is_sum and self.kind(part) == VALUE and self._alone(part) is None

    def condition(self, code: str) -> str:
        return f"condition_of({code})"

    def choose(self, test: str, kind: str, yes: str, no: str) -> str:
        if kind == INDEX:
            return f"({test} ? {yes} : {no})"
        return f"select({test}, {yes}, {no})"

    def join(self, operator: str, kind: str, parts: list[str]) -> str:
        sign = "&" if operator == "and" else "|"
        return "(" + f" {sign if kind == VALUE else 2 * sign} ".join(parts) + ")"

    def negate(self, kind: str, code: str) -> str:
        return f"(!{code})"

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        place = self.places[field.name]
        if field.reversed:
            return f"half_at(node, {place}, {field.size}, {index})"
        at = f"{place}" if index is None else f"{place} + ({index})"
        return f"swapped(value_at(rest, {at}))" if other else f"value_at(node, {at})"

    def table(self, name: str, indices: list[ast.expr]) -> str:
        lengths: Sequence[int] = self.shape.tables[name]
        jobs = [self.is_job(one) for one in indices]
        axis = jobs.index(True) if any(jobs) else None
        others = indices if axis is None else without(indices, axis)
        if axis is None or (name in self.rows.whole and not self._is_known(others)):
            where, first = "common", self.rows.in_common(name)
        else:
            where, first = "row", self.rows.of(name, axis)
            indices, lengths = others, without(lengths, axis)
        known, along = self._is_known(indices), self._is_known(indices[-1:])
        values = []
        for half in ("front_of", "back_of")[: self.shape.sides]:
            at = [self._place(one, half) for one in indices]
            if known or not along:
                read = "row_value" if known else "any_value"
                place = f"{first} + {flat_index(lengths, at)}"
                values.append(f"{read}({where}, ({place}) * VALUE_WORDS)")
            else:
                most = gcd(4, first, lengths[-1])
                place = f"{first} + {flat_index(lengths, [*at[:-1], '0'])}"
                values.append(f"value_along<{most}>({where}, {place}, {at[-1]})")
        if len(set(values)) == 1:
            return values[0]
        return f"value_of_sides(front_of({values[0]}), back_of({values[1]}))"

    def _place(self, node: ast.expr, half: str) -> str:
        """Write an index; the last job is one of a side."""
        if not is_last(node):
            return self.index(node)
        half = half if self.shape.sides == 2 else "first_of"
        return f"{half}({self.reach(node)})"

    def _is_known(self, indices: list[ast.expr]) -> bool:
        """Whether the compiler knows a place, as loops over ranges are unrolled."""
        return names_in(*indices) - {"self"} <= self.ranges.keys() | self.unrolled

    def number(self, name: str) -> str:
        return str(self.shape.numbers[name])

    def is_left(self, code: str) -> str:
        return f"is_left(node, {code})"

    def count_left(self) -> str:
        return "count_left(node)"

    def expression(self, node: ast.expr) -> str:
        """Write an expression, or where it lies computed once a node."""
        alone = self._alone(node)
        if alone is None:
            return super().expression(node)
        name, length = alone
        key = f"{ast.unparse(node)} over {name} to {length}"
        if key not in self.hoists:
            self.hoists[key] = f"once_{len(self.hoists)}", node, name, length
        return f"all.{self.hoists[key][0]}[{'0' if name is None else f'v_{name}'}]"

    def _alone(self, node: ast.expr) -> tuple[str | None, int] | None:
        if (
            isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp)
            or not self.hoisting
        ):
            return None
        return of_node_alone(self, node) if self.kind(node) == VALUE else None

    def put(self, target: str, code: str) -> None:
        if self.masks:
            code = f"select({' & '.join(self.masks)}, {code}, {target})"
        if target.startswith("value_at("):
            self.line(f"put_value({target[9:-1]}, {code});")
        else:
            self.line(f"{target} = {code};")

    def branch(self, test: str, node: ast.If) -> None:
        self.line(f"if ({test}) {{")
        self.block(node.body)
        if node.orelse:
            self.line("} else {")
            self.block(node.orelse)
        self.line("}")

    def loop(self, node: ast.For) -> None:
        names, over = parts_of(node)
        name = f"v_{names[-1]}"
        if isinstance(over, ast.Call):
            *begins, last = over.args
            begin = self.constant(begins[0]) if begins else 0
            most = self.most(last)
            self.lines.append(self.unroll)
            self.line(f"for (int {name} = {begin}; {name} < {most}; ++{name}) {{")
            varies = bool(names_in(last) - {"self"})
            if varies:  # the compiler unrolls what has one end alone
                self.line(f"if ({name} < {self.index(last)}) {{")
            with self.turns_of(names[0], last):
                self.block(node.body)
            self.line("}}" if varies else "}")
            return
        self._count += 1
        n = self._count
        if order := order_of(over):
            table, indices = order
            lengths = self.shape.tables[table]
            place = f"v_{names[0]}" if len(names) == 2 else f"place_{n}"
            at = flat_index(lengths, [*map(self.index, indices), place])
            end = f"{place} < {lengths[-1]}"
            self.lines.append("#pragma unroll 1")
            self.line(f"for (int {place} = 0; {end}; ++{place}) {{")
            self.line(f"  const int {name} = {self.job_in(table, at)};")
            self.block(node.body)
            self.line("}")
            return
        self.lines.append("#pragma unroll")
        short = all(isinstance(one, ast.Assign | ast.AugAssign) for one in node.body)
        if self.unroll and short and self.shape.n_jobs <= MOST_UNROLLED:
            self.line(f"for (int {name} = 0; {name} < N_JOBS; ++{name}) {{")
            bits = self.left_word.format(f"{name} / 32")
            self.line(f"  if ({bits} >> {name} % 32 & 1) {{")
            self.unrolled.add(names[0])
            self.block(node.body)
            self.unrolled.remove(names[0])
            self.line("  }")
            self.line("}")
            return
        self.line(f"for (int word_{n} = 0; word_{n} < LEFT_WORDS; ++word_{n}) {{")
        bits = f"bits_{n}"
        first = f"u32 {bits} = {self.left_word.format(f'word_{n}')}"
        self.line(f"  for ({first}; {bits}; {bits} &= {bits} - 1) {{")
        self.line(f"    const int {name} = 32 * word_{n} + __ffs({bits}) - 1;")
        self.block(node.body)
        self.line("  }")
        self.line("}")

    def job_in(self, table: str, at: str) -> str:
        """Read an entry of an order."""
        return f"(int)common[ORDERS + {self.rows.order(table)} + {at}]"

    def declared(self) -> list[str]:
        """Lines that declare the variables."""
        loops = {
            name
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.For)
            for name in parts_of(node)[0]
        }
        return [
            f"  {self.kept_in} v_{name} = {self.value('0')};"
            if kind == VALUE
            else f"  int v_{name} = 0;"
            for name, kind in self.names.items()
            if name not in loops
        ]


class TightWriter(CudaWriter):
    """``tight_bound`` of one child, as the front sees it, in integers."""

    kept_in = "int"
    unroll = ""
    left_word = "left({})"

    def __init__(self, shape: Shape, places: dict[str, int], rows: RowPlan) -> None:
        super().__init__(shape, "tight_bound", places, rows)
        self.tables: dict[str, int] = {}
        self.words = 2  # behind the least and greatest depth

    def value(self, code: str) -> str:
        return code

    extreme, compare, condition = Writer.extreme, Writer.compare, Writer.condition
    index, blend = Writer.index, Writer.blend

    def choose(self, test: str, kind: str, yes: str, no: str) -> str:
        return f"({test} ? {yes} : {no})"

    def join(self, operator: str, kind: str, parts: list[str]) -> str:
        return super().join(operator, INDEX, parts)

    def field(self, field: Field, index: str | None, *, other: bool) -> str:
        place = self.places[field.name]
        if field.reversed:
            return f"half_in(word, {place}, {field.size}, {index})"
        side = "back_of" if other else "first_of"
        return f"{side}(value_from(word, {place} + ({index or 0})))"

    def table(self, name: str, indices: list[ast.expr]) -> str:
        at = flat_index(self.shape.tables[name], [self.index(one) for one in indices])
        return self.job_in(name, at)

    def job_in(self, table: str, at: str) -> str:
        """Read an entry of any table."""
        if table not in self.tables:
            self.tables[table] = self.words
            self.words += int(np.prod(self.shape.tables[table]))
        return f"(int)tables[{self.tables[table]} + {at}]"

    def is_left(self, code: str) -> str:
        return f"(left({code} >> 5) >> ({code} & 31) & 1)"

    def count_left(self) -> str:
        return "count_in(left)"

    def put(self, target: str, code: str) -> None:
        self.line(f"{target} = {code};")

    def function(self) -> str:
        """Write the function."""
        result = self.body()
        return _TIGHT.format(body="\n".join([*self.declared(), *self.lines]), of=result)


class WeightWriter(TightWriter):
    """``child_weight``, in integers of 64 bits."""

    kept_in = "long long"
    job_kind = VALUE

    def __init__(self, shape: Shape) -> None:
        CudaWriter.__init__(self, shape, "child_weight", {}, RowPlan(shape))

    def value(self, code: str) -> str:
        return f"((long long){code})"

    def function(self) -> str:
        """Write the function."""
        result = self.body()
        body = "\n".join([*self.declared(), *self.lines])
        return _WEIGHT.format(body=body, of=result)


@dataclass(frozen=True, slots=True)
class Header:
    """A written header, and what the host packs for it.

    Parameters
    ----------
    places
        First value of each field in a state.
    values
        Values of a state.
    rows
        What a job's row holds, and what lies behind all rows.
    holds_bound
        Whether a state has a word for its bound.
    once
        Values that are computed once a node.
    tight
        First word of each table of ``tight_bound`` behind the rows; None: there is
        no such function.
    """

    text: str
    places: dict[str, int]
    values: int
    rows: RowPlan
    holds_bound: bool
    once: int
    tight: dict[str, int] | None


@cache
def header_of(shape: Shape) -> Header:
    """Write the header of a shape, once."""
    places, values = {}, 0
    for field in shape.fields:
        places[field.name] = values
        values += field.pairs
    read = RowPlan(shape)
    _functions(shape, places, read)
    rows = RowPlan(shape, read.common)
    written, functions = _functions(shape, places, rows)
    hoists = (
        list(written["child_bound"].hoists.values()) if "child_bound" in written else []
    )
    reads = ("(row,", "(common,", "common[")
    holds_bound = any(
        one in line for line in written["node_bound"].lines for one in reads
    )
    tight = None
    if "tight_bound" in shape.text.sources:
        tight = TightWriter(shape, places, rows)
    has_weight = "child_weight" in shape.text.sources
    weight = WeightWriter(shape).function() if has_weight else ""
    text = _HEADER.format(
        what=_digest(),
        two_sides=int(shape.sides == 2),
        values=values,
        holds_bound=int(holds_bound),
        holds_left=int(shape.uses_left),
        row_values=rows.values,
        holds_job=int(rows.holds_job),
        order_words=rows.order_words,
        common=rows.common_values,
        tight="" if tight is None else tight.function(),
        weight=weight,
        functions="\n".join(functions),
        once="\n".join(f"  Value {name}[{length}];" for name, _, _, length in hoists),
        once_made="\n".join(_once(written["child_bound"], hoists)) if hoists else "",
        kept="\n".join(_kept(hoists)),
        out="\n".join(_out(shape, places, rows)),
        merged="\n".join(_merged(shape, places)),
        child=_CHILD_BY_TEXT if "child_bound" in written else _CHILD_BY_NODE,
        absent=_ABSENT if "absent" in written else "",
    )
    return Header(
        text=text,
        places=places,
        values=values,
        rows=rows,
        holds_bound=holds_bound,
        once=sum(length for *_, length in hoists),
        tight=None if tight is None else tight.tables,
    )


def _functions(
    shape: Shape, places: dict[str, int], rows: RowPlan
) -> tuple[dict[str, CudaWriter], list[str]]:
    """Write the text's functions; return their writers and all lines."""
    for field in shape.fields:
        if field.kind == "sum":
            rows.of(field.table, 0)
    written: dict[str, CudaWriter] = {}
    functions: list[str] = []
    for name in shape.text.sources:
        if name in ("tight_bound", "child_weight"):
            continue
        writer = CudaWriter(shape, name, places, rows)
        writer.hoisting = name == "child_bound"
        result = writer.body()
        written[name] = writer
        if name == "take" and "last" in places:
            writer.put(f"value_at(node, {places['last']})", "value_of(job)")
        if result:
            writer.line(f"return {result};")
        kind = {"take": "void", "absent": "Both"}.get(name, "Value")
        node = "State &node" if name == "take" else "const State &node"
        more = ", const u32 *common"
        more += ", int job" * ("job" in FUNCTIONS[name])
        more += ", const Node &all" * (name == "child_bound")
        functions += [
            f"__device__ __forceinline__ {kind} text_{name}(",
            f"    {node}, const State &rest, const u32 *row{more}) {{",
            *writer.declared(),
            *writer.lines,
            "}",
            "",
        ]
    return written, functions


def _once(writer: CudaWriter, hoists: list[Any]) -> list[str]:
    """Lines that compute what ``child_bound`` needs of the node alone."""
    writer.hoisting = False
    lines = ["  const State &node = state, &rest = state;"]
    for place, node, name, length in hoists:
        if name is None:
            lines.append(f"  all.{place}[0] = {writer.expression(node)};")
        else:
            lines.append("#pragma unroll")
            lines.append(f"  for (int v_{name} = 0; v_{name} < {length}; ++v_{name})")
            lines.append(f"    all.{place}[v_{name}] = {writer.expression(node)};")
    return lines


def _kept(hoists: list[Any]) -> list[str]:
    lines = []
    for place, _, _, length in hoists:
        lines.append("#pragma unroll")
        lines.append(
            f"  for (int k = 0; k < {length}; ++k) keep_value(all.{place}[k]);"
        )
    return lines


def _out(shape: Shape, places: dict[str, int], rows: RowPlan) -> list[str]:
    """Lines that take a job out of the sums."""
    lines = []
    for field in shape.fields:
        if field.kind == "sum":
            place, block = places[field.name], rows.of(field.table, 0)
            lines.append("#pragma unroll")
            lines.append(f"  for (int k = 0; k < {field.pairs}; ++k)")
            lines.append(
                f"    put_value(node, {place} + k, value_at(node, {place} + k) - "
                f"row_value(row, ({block} + k) * VALUE_WORDS));"
            )
    return lines


def _merged(shape: Shape, places: dict[str, int]) -> list[str]:
    """Lines that leave of a child what its side has changed."""
    lines = []
    for field in shape.fields:
        place = places[field.name]
        new = f"value_at(child, {place} + k)"
        if field.kind == "own":
            new = f"replaced(value_at(state, {place} + k), {new}, back)"
        elif field.kind == "shared":
            new = f"of_side({new}, back)"
        else:
            continue
        lines.append("#pragma unroll")
        lines.append(f"  for (int k = 0; k < {field.size}; ++k)")
        lines.append(f"    put_value(child, {place} + k, {new});")
    return lines


@cache
def _digest() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


_CHILD_BY_TEXT = """\
  const Value found = text_child_bound(
      all.state, all.state, row, common, job, all);\
"""
_CHILD_BY_NODE = """\
  State child = all.state;
  take_out(child, row, job);
  text_take(child, all.state, row, common, job);
  const Value found = text_node_bound(child, all.state, row, common);\
"""
_ABSENT = """\
  if (text_absent(all.state, all.state, row, common, job)) return PAIR_TOP;\
"""

_HEADER = """\
// Written by dpbb.modeling.cuda of a model's text; not to be edited.
// {what}
#pragma once

#define TWO_SIDES {two_sides}
#include "values.cuh"
#include "ptx.cuh"

constexpr int LEFT = {values} * VALUE_WORDS;
constexpr int BOUND = LEFT + {holds_left} * LEFT_WORDS;
constexpr int STATE_WORDS = BOUND + {holds_bound};
constexpr int ALIGNED_WORDS = STATE_WORDS / 4 * 4;
constexpr int JOB = {row_values} * VALUE_WORDS;
constexpr int ROW_WORDS = JOB + {holds_job};
constexpr int ROW = ROW_WORDS > 4 ? (ROW_WORDS + 3) / 4 * 4 : 4;
constexpr int ORDERS = {common} * VALUE_WORDS;
constexpr int COMMON = ORDERS + ({order_words} + 3) / 4 * 4;

struct State {{
  u32 word[STATE_WORDS];
}};

struct Node {{
  State state;
{once}
}};

__device__ __forceinline__ Value value_at(const State &node, int place) {{
  return value_in(node.word + place * VALUE_WORDS);
}}
__device__ __forceinline__ void put_value(State &node, int place, Value value) {{
#pragma unroll
  for (int i = 0; i < VALUE_WORDS; ++i)
    node.word[place * VALUE_WORDS + i] = value_word(value, i);
}}
// Place k of so many, of which the back sees the reverse: the first half is there.
__device__ __forceinline__ Value half_at(
    const State &node, int place, int size, int k) {{
#if TWO_SIDES
  if (k >= (size + 1) / 2) return swapped(value_at(node, place + size - 1 - k));
#endif
  return value_at(node, place + k);
}}
#if {holds_left}
__device__ __forceinline__ u32 left_word(const State &node, int word) {{
  return node.word[LEFT + word];
}}
__device__ __forceinline__ bool is_left(const State &node, int job) {{
  u32 found = 0;
#pragma unroll
  for (int w = 0; w < LEFT_WORDS; ++w)
    if (w == job >> 5) found = node.word[LEFT + w] >> (job & 31) & 1;
  return found;
}}
__device__ __forceinline__ int count_left(const State &node) {{
  int count = 0;
#pragma unroll
  for (int w = 0; w < LEFT_WORDS; ++w) count += __popc(node.word[LEFT + w]);
  return count;
}}
#endif

__device__ __forceinline__ void take_out(State &node, const u32 *row, int job) {{
#if {holds_left}
#pragma unroll
  for (int w = 0; w < LEFT_WORDS; ++w)
    if (w == job >> 5) node.word[LEFT + w] &= ~(1u << (job & 31));
#endif
{out}
}}

{functions}
template <class QuadAt>
__device__ __forceinline__ State load_state(QuadAt quad_at) {{
  State state;
  Quad quad;
#pragma unroll
  for (int w = 0; w < STATE_WORDS; ++w) {{
    if (w % 4 == 0) quad = quad_at(w / 4);
    state.word[w] = quad.word[w % 4];
  }}
  return state;
}}

__device__ __forceinline__ u32 state_word(const State &state, int word) {{
  return state.word[word];
}}

__device__ __forceinline__ Node node_of(const State &state, const u32 *common) {{
  Node all;
  all.state = state;
{once_made}
  return all;
}}

__device__ __forceinline__ void hold(Node &all) {{
{kept}
}}

__device__ __forceinline__ int node_bound(const Node &all) {{
#if {holds_bound}
  return (int)all.state.word[BOUND];
#else
  return first_of(text_node_bound(all.state, all.state, nullptr, nullptr));
#endif
}}

template <int WORDS = 4, int TWOS = 0>
__device__ __forceinline__ Pair child_bounds(
    const Node &all, const u32 *row, const u32 *common) {{
  const int job = {holds_job} ? (int)row[JOB] : 0;
{absent}
{child}
  return pair_of(found);
}}

template <int WORDS = 4, int TWOS = 0>
__device__ __forceinline__ int leaf_value(
    const Node &all, const u32 *row, const u32 *common) {{
  return front_of(child_bounds<WORDS, TWOS>(all, row, common));
}}

// Where the bound of the child is known, `BOUNDED` says that it is put there.
template <int WORDS = 4, bool BOUNDED = false>
__device__ __forceinline__ void extend(
    State &state, const u32 *row, bool back, const u32 *common) {{
  const int job = {holds_job} ? (int)row[JOB] : 0;
  State child = state;
  take_out(child, row, job);
  text_take(child, state, row, common, job);
{merged}
#if {holds_bound}
  if (!BOUNDED)
    child.word[BOUND] = (u32)first_of(text_node_bound(child, child, row, common));
#endif
  state = child;
}}
{weight}{tight}"""

_WEIGHT = """
__device__ __forceinline__ long long child_weight(
    long long v_bound, long long v_parent) {{
{body}
  return {of};
}}
"""

_TIGHT = """
constexpr int SLOTS = 1;

// Shared memory of a warp.
struct Tightening {{
  u32 state[LEFT][32];
  u32 left[LEFT_WORDS][32];
}};

// `word(i)`, `left(w)`: words of the child's values and of its unscheduled jobs.
template <class WordAt, class LeftAt>
__device__ __forceinline__ int text_tight_bound(
    const u32 *tables, int v_ub, WordAt word, LeftAt left) {{
{body}
  return {of};
}}

__device__ __forceinline__ bool tightens_at(const u32 *tables, int depth) {{
  return depth >= (int)tables[0] && depth <= (int)tables[1];
}}

template <int COUNT>
struct TightChildren {{
  Tightening &own;
  const int lane;

  template <class MaskWord>
  __device__ __forceinline__ void put(int, const State &child, MaskWord mask_word) {{
#pragma unroll
    for (int w = 0; w < LEFT; ++w) own.state[w][lane] = child.word[w];
#pragma unroll
    for (int w = 0; w < LEFT_WORDS; ++w) own.left[w][lane] = mask_word(w);
  }}
  __device__ __forceinline__ u32 reaching(const u32 *tables, int ub, u32 idle) {{
    if (idle) return 0;
    return text_tight_bound(
               tables, ub, [&](int w) {{ return own.state[w][lane]; }},
               [&](int w) {{ return own.left[w][lane]; }}) >= ub;
  }}
}};

template <class MaskWord>
__device__ __noinline__ int tight_bound(
    const u32 *tables, const State &child, int ub, MaskWord mask_word) {{
  return text_tight_bound(
      tables, ub, [&](int w) {{ return child.word[w]; }}, mask_word);
}}
"""


class TextModel(CudaModel):
    """See ``CudaModel``: the header is what was written of the text."""

    @staticmethod
    def obstacle(problem: Model) -> str | None:
        """Why no kernels are made for the problem, at whatever upper bound."""
        if problem.n_jobs > MAX_JOBS:
            return f"engine gpu takes up to {MAX_JOBS} jobs, not {problem.n_jobs}"
        reason = cpu.obstacle(problem)
        return reason or _too_large(problem, 0)

    @classmethod
    def of(cls, problem: Model, ub: int) -> TextModel:
        """Return the model for costs below ``ub``."""
        reason = _too_large(problem, ub)
        if reason is not None:
            raise EngineUnavailable(reason)
        shape = problem.shape
        packs = shape.never_negative and shape.sides == 2
        wide = not packs or _limit(problem, ub) >= NARROW_LIMIT
        header = header_of(shape)
        rows, words = header.rows, _value_words(shape, wide=wide)
        set_words = -(-shape.n_jobs // 32)
        left = shape.uses_left * set_words
        in_hand = (header.values + header.once) * words // 2
        tightened = header.tight is not None
        return cls(
            header=kept(header.text),
            n_jobs=shape.n_jobs,
            wide=wide,
            row_words=max(4, quads(rows.values * words + rows.holds_job)),
            common_words=rows.common_values * words + quads(rows.order_words),
            state_words=header.values * words + left + header.holds_bound,
            tightening_bytes=tightened * 128 * (header.values * words + set_words),
            warps_wanted=16 if in_hand <= 30 else 12 if in_hand <= 60 else 8,
            described=f"{problem.name} of {shape.n_jobs} jobs",
            defines={"TIGHTENS": int(tightened), "N_CRITICAL": 0},
        )

    def pack(
        self, problem: Model, order: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Rows of the jobs in root order, then what tightens, and the root's state."""
        shape, wide = problem.shape, self.wide
        header = header_of(shape)
        plan, words = header.rows, _value_words(shape, wide=wide)
        sides = ordered_tables(problem, order)
        rows = np.zeros((self.n_jobs, self.row_words), np.uint32)
        for (name, axis), value in plan.blocks.items():
            packed = _packed(sides[0][name], sides[-1][name], shape, wide=wide)
            block = np.moveaxis(packed, axis, 0)[: self.n_jobs]
            block = block.reshape(self.n_jobs, -1)
            rows[:, value * words : value * words + block.shape[1]] = block
        if plan.holds_job:
            rows[:, plan.values * words] = np.arange(self.n_jobs)
        common = np.zeros(self.common_words, np.uint32)
        for name, value in plan.common.items():
            packed = _packed(sides[0][name], sides[-1][name], shape, wide=wide)
            common[value * words :][: packed.size] = packed.reshape(-1)
        for name, place in plan.orders.items():
            table = sides[0][name].reshape(-1)
            common[plan.common_values * words + place :][: table.size] = table
        behind = np.zeros(0, np.int32)
        if header.tight is not None:
            tight = [sides[0][name].reshape(-1) for name in header.tight]
            behind = np.concatenate([problem.tightened, *tight]).astype(np.int32)
        packed = np.concatenate([rows.reshape(-1), common, behind.view(np.uint32)])
        return packed, self._root(problem, header, words)

    def _root(self, problem: Model, header: Header, words: int) -> NDArray[np.uint32]:
        state, shape = problem.root_state(), problem.shape
        root = np.zeros(self.state_words, np.uint32)
        for field in shape.fields:
            first, last = (np.atleast_1d(state.value(field, side)) for side in (0, 1))
            packed = _packed(first, last, shape, wide=self.wide)[: field.pairs]
            packed = packed.reshape(-1)
            at = header.places[field.name] * words
            root[at : at + packed.size] = packed
        if shape.uses_left:
            left = np.zeros(-(-self.n_jobs // 32) * 32, np.uint8)
            left[: self.n_jobs] = 1
            at = header.values * words
            bits = np.packbits(left, bitorder="little").view("<u4")
            root[at : at + len(bits)] = bits
        if header.holds_bound:
            root[-1] = np.array(problem.bound_of(state), np.int32).view(np.uint32)
        return root


def kept(header: str) -> Path:
    """Return the path of a header, named by its content."""
    name = "m" + hashlib.sha256(header.encode()).hexdigest()[:24]
    return generated.kept(name, "model.cuh", header)


def _packed(
    front: NDArray[np.int64], back: NDArray[np.int64], shape: Shape, *, wide: bool
) -> NDArray[np.uint32]:
    """Values as words on a last axis of their own."""
    front, back = np.asarray(front, np.int64), np.asarray(back, np.int64)
    if shape.sides == 1:
        return front.astype(np.int32).view(np.uint32)[..., None]
    packed = pack_pairs(front[..., None], back[..., None], wide=wide)
    return packed.reshape(*front.shape, -1)


def _value_words(shape: Shape, *, wide: bool) -> int:
    return 1 if shape.sides == 1 or not wide else 2


def _limit(problem: Model, ub: int) -> int:
    limit = problem.largest(min(ub, problem.trivial_ub))
    for name in problem.shape.tables:
        limit = max(
            limit, int(np.abs(np.asarray(getattr(problem, name))).max(initial=0))
        )
    return limit


def _too_large(problem: Model, ub: int) -> str | None:
    limit = _limit(problem, ub)
    if limit < WIDE_LIMIT:
        return None
    return (
        f"engine gpu takes values below {WIDE_LIMIT}, they may reach {limit}: scale "
        "the tables"
    )
