"""The host's idea of device memory equals the kernels'; packing keeps values."""

import itertools
import re

import numpy as np
import pytest

from dpbb.engines.gpu.intervals import (
    INTERVALS,
    diver_bytes,
    head_words,
    level_words,
)
from dpbb.engines.gpu.kernels import SOURCES
from dpbb.engines.gpu.layout import ARENA, CONTROL, STOP_AT, Stop
from dpbb.engines.gpu.shape import (
    NARROW_LIMIT,
    KernelShape,
    largest_value,
    needs_wide,
    pack_instance,
)
from dpbb.engines.gpu.steal_kernels import SOURCES as STEAL_SOURCES
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.nvrtc import CUDA_DIRECTORY, source_digest, translation_unit
from dpbb.options import BranchingRule
from tests.unit.engines.gpu_compile import compile_unit, nvrtc_or_skip

SHAPES = [
    KernelShape(1, 1, wide=False, rule=BranchingRule.MINMIN),
    KernelShape(20, 20, wide=False, rule=BranchingRule.MINMIN),
    KernelShape(33, 7, wide=True, rule=BranchingRule.MINBRANCH),
    KernelShape(300, 5, wide=False, rule=BranchingRule.MAXSUM, warps=8),
    KernelShape(800, 60, wide=True, rule=BranchingRule.ALTERNATE, warps=2),
]


def shape_id(shape):
    return f"{shape.n_jobs}x{shape.n_machines}-{shape.rule}-{'wide' * shape.wide}"


@pytest.mark.parametrize("shape", SHAPES, ids=shape_id)
def test_layout_of_the_host_is_that_of_the_kernels(shape):
    nvrtc_or_skip()
    text, options = translation_unit(SOURCES, shape.defines)
    checks = {
        "ROW": shape.row_words,
        "HALF": shape.half,
        "MASK_AT": shape.mask_at,
        "DIRECTIONS_AT": shape.directions_at,
        "PATH_AT": shape.path_at,
        "RECORD_WORDS": shape.record_words,
        "LEAF_WORDS": shape.leaf_words,
        "PAGE_WORDS * 4": shape.page_bytes,
        "sizeof(Control)": CONTROL.itemsize,
        "sizeof(Arena)": ARENA.itemsize,
        "WARPS * sizeof(Explorer) + (SHARED_ROWS ? N * ROW * 4 : 0)": (
            shape.shared_bytes
        ),
        **{stop.name: int(stop) for stop in Stop},
    }
    for expression, value in checks.items():
        text += f'static_assert({expression} == {value}, "{expression}");\n'
    compile_unit(text, options)


@pytest.mark.parametrize("shape", SHAPES, ids=shape_id)
def test_layout_of_explorers_that_steal(shape):
    nvrtc_or_skip()
    text, options = translation_unit(STEAL_SOURCES, shape.defines)
    checks = {
        "HEAD_WORDS": head_words(shape),
        "LEVEL_WORDS": level_words(shape),
        "sizeof(Diver)": diver_bytes(shape),
        "sizeof(Intervals)": INTERVALS.itemsize,
    }
    for expression, value in checks.items():
        text += f'static_assert({expression} == {value}, "{expression}");\n'
    compile_unit(text, options)


@pytest.mark.parametrize(
    ("file", "struct", "dtype"),
    [
        ("pages.cuh", "Control", CONTROL),
        ("pages.cuh", "Arena", ARENA),
        ("steal.cu", "Intervals", INTERVALS),
    ],
)
def test_fields_of_the_host_are_those_of_the_kernels(file, struct, dtype):
    """Names, order and widths; both sides align every field to its width."""
    text = (SOURCES[0].parent / file).read_text()
    body = re.search(rf"struct {struct} {{(.*?)\n}};", text, re.DOTALL)[1]
    widths = {"u32": 4, "int": 4, "u64": 8}
    fields = []
    for kind, names in re.findall(r"^  (?:const )?(\w+) ([^;]+);", body, re.MULTILINE):
        for name in names.split(","):
            width = 8 if "*" in name else widths.get(kind, 8)
            fields.append((name.strip(" *"), width))
    assert fields == [(name, dtype[name].itemsize) for name in dtype.names]
    assert all(dtype.fields[name][1] % width == 0 for name, width in fields)


@pytest.mark.parametrize(
    ("architecture", "rule", "wide"),
    [
        *(("sm_90", rule, False) for rule in BranchingRule),
        ("sm_90", BranchingRule.MINBRANCH, True),
        ("sm_80", BranchingRule.MINMIN, False),  # DPX emulated
        ("sm_75", BranchingRule.MINMIN, False),  # and warp reductions by shuffles
    ],
)
@pytest.mark.parametrize("sources", [SOURCES, STEAL_SOURCES], ids=["pages", "steal"])
def test_kernels_compile_for(sources, architecture, rule, wide):
    nvrtc_or_skip()
    shape = KernelShape(40, 5, wide=wide, rule=rule)
    text, options = translation_unit(sources, shape.defines)
    assert compile_unit(text, (*options, f"-arch={architecture}"))


def test_digest_in_the_unit_changes_with_every_included_file(tmp_path):
    """CuPy's cache key is the unit's text, without what it includes."""
    shape = SHAPES[1]
    text, options = translation_unit(SOURCES, shape.defines)
    directories = [CUDA_DIRECTORY, SOURCES[0].parent]
    assert source_digest(directories) in text
    assert [option[2:] for option in options if option.startswith("-I")] == [
        str(directory) for directory in directories
    ]
    included = set()
    for directory in directories:
        for path in directory.glob("*.cu*"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
            included |= set(re.findall(r'#include "(.+)"', path.read_text()))
    assert included <= {path.name for path in tmp_path.iterdir()}
    seen = {source_digest([tmp_path])}
    for path in sorted(tmp_path.iterdir()):
        path.write_bytes(path.read_bytes() + b"\n")
        seen.add(source_digest([tmp_path]))
    assert len(seen) == 1 + len(list(tmp_path.iterdir()))


def problem_of(times):
    return FlowShopProblem(FlowShopInstance("random", np.array(times)))


@pytest.mark.parametrize("n_machines", [1, 2, 5, 20])
@pytest.mark.parametrize("wide", [False, True])
def test_packed_rows_hold_the_times_and_the_mirrored_times(n_machines, wide):
    rng = np.random.default_rng(n_machines)
    times = rng.integers(0, 100, (7, n_machines))
    problem = problem_of(times)
    shape = KernelShape(7, n_machines, wide=wide, rule=BranchingRule.MINMIN)
    packed = pack_instance(times, problem.least_heads, problem.least_tails, shape)
    record = packed.root.reshape(-1, 32, 4)[:, 0].reshape(-1)

    def front_and_back(words, k):
        if wide:
            return int(words[2 * k]), int(words[2 * k + 1])
        return int(words[k] & 0xFFFF), int(words[k] >> 16)

    for job, k in itertools.product(range(7), range(n_machines)):
        mirrored = times[job, n_machines - 1 - k]
        assert front_and_back(packed.rows[job], k) == (times[job, k], mirrored)
    work = times.sum(axis=0)
    for k in range(n_machines):
        mirrored = problem.least_tails[n_machines - 1 - k]
        assert front_and_back(record, k) == (problem.least_heads[k], mirrored)
    for k in range(shape.half):
        pair = front_and_back(record[shape.row_words :], k)
        assert pair == (work[k], work[n_machines - 1 - k])


def test_values_that_pass_16_bits_take_the_wide_form():
    """No value may reach 2**15: the ub or a root bound, and one job's work."""
    times = np.full((4, 3), 100)
    problem = problem_of(times)
    bound = problem.root_bound
    ub = NARROW_LIMIT - int(times.sum(axis=1).max()) - 1
    assert largest_value(times, bound, ub) == NARROW_LIMIT - 1
    assert not needs_wide(times, bound, ub)
    assert needs_wide(times, bound, ub + 1)
    large = problem_of(times * 100)
    assert needs_wide(large.instance.times, large.root_bound, 1)
    with pytest.raises(EngineUnavailable, match="below"):
        needs_wide(times * 10**7, problem.root_bound, 1 << 30)


def test_place_of_the_order_to_stop():
    assert CONTROL.fields["stop"][1] == STOP_AT
