"""The host's idea of device memory equals the kernels', which compile everywhere."""

import re
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpbb.engines.gpu.explode import Exploding
from dpbb.engines.gpu.kernels import KernelShape
from dpbb.engines.gpu.layout import ARENA, CONTROL, STOP_AT, Stop
from dpbb.engines.gpu.steal import INTERVALS, Stealing, head_words, level_words
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.kernels.nvrtc import source_digest, translation_unit
from dpbb.options import BranchingRule
from tests.unit.engines.gpu.compiling import compile_unit

SHAPES = [
    KernelShape(Lb1(1, 1, wide=False), BranchingRule.MINMIN),
    KernelShape(Lb1(20, 20, wide=False), BranchingRule.MINMIN),
    KernelShape(Lb1(33, 7, wide=True), BranchingRule.MINBRANCH),
    KernelShape(Lb1(100, 20, wide=False), BranchingRule.MINMIN),
    KernelShape(Lb1(127, 3, wide=False, tightens=True), BranchingRule.MINMIN, warps=2),
    KernelShape(Lb1(300, 5, wide=False), BranchingRule.MAXSUM, warps=8),
    KernelShape(Lb1(800, 60, wide=True), BranchingRule.ALTERNATE, warps=2),
    KernelShape(Lb1(20, 20, wide=False, tightens=True), BranchingRule.MINMIN),
    KernelShape(Lb1(50, 10, wide=True, tightens=True), BranchingRule.FRONT),
    KernelShape(Lb1(800, 60, wide=False, tightens=True), BranchingRule.BACK, warps=2),
]


def shape_id(shape):
    model = shape.model
    kind = "wide" * model.wide + "tightens" * model.tightens
    return f"{model.described}-{shape.rule}-{kind}"


def holds(text, options, checks):
    """Compile with static assertions, which nothing has to be optimized for."""
    asserted = (
        f'static_assert({expression} == {value}, "{expression}");\n'
        for expression, value in checks.items()
    )
    compile_unit(text + "".join(asserted), (*options, "-G"))


def unit_of(arm, shape):
    exploration = arm.exploration
    return translation_unit(exploration.sources(shape), exploration.defines(shape))


@pytest.mark.parametrize("shape", SHAPES, ids=shape_id)
def test_layout_of_the_host_is_that_of_the_kernels(shape):
    pages = shape.pages
    text, options = unit_of(Exploding, shape)
    checks = {
        "ROW": shape.model.row_words, "STATE_WORDS": shape.model.state_words,
        "ALIGNED_WORDS % 4": 0, "MASK_AT": pages.mask_at,
        "DIRECTIONS_AT": pages.directions_at, "PATH_AT": pages.path_at,
        "RECORD_WORDS": pages.record_words, "LEAF_WORDS": pages.leaf_words,
        "sizeof(Control)": CONTROL.itemsize, "sizeof(Arena)": ARENA.itemsize,
        **{stop.name: int(stop) for stop in Stop},
    }  # fmt: skip
    holds(text, options, checks)


@pytest.mark.parametrize(
    ("attribute", "value", "shape"),
    [
        ("slots", 3, SHAPES[7]), ("place_bytes", 16, SHAPES[3]),
        ("tightening_bytes", 4, SHAPES[7]), ("state_words", 24, SHAPES[1]),
    ],
)  # fmt: skip
def test_sizes_that_a_model_says_wrongly_do_not_compile(attribute, value, shape):
    """What the kernels keep there would lie over something else."""
    model = copy(shape.model)
    vars(model)[attribute] = value
    text, options = unit_of(Exploding, replace(shape, model=model))
    failed = AssertionError, pytest.fail.Exception  # not that there is no compiler
    with pytest.raises(failed, match=r"and the model say|layout says"):
        compile_unit(text, (*options, "-G"))


@pytest.mark.parametrize("shape", SHAPES[::3], ids=shape_id)
def test_layout_of_explorers_that_steal(shape):
    text, options = unit_of(Stealing, shape)
    checks = {
        "HEAD_WORDS": head_words(shape),
        "LEVEL_WORDS": level_words(shape),
        "sizeof(Intervals)": INTERVALS.itemsize,
    }
    holds(text, options, checks)


def test_every_field_begins_at_a_multiple_of_its_width():
    """As the compiler has it: nothing lies between two of them."""
    for dtype in (CONTROL, ARENA, INTERVALS):
        places = [dtype.fields[name] for name in dtype.names]
        assert all(at % kind.itemsize == 0 for kind, at in places)
        assert dtype.itemsize % 8 == 0
    assert (CONTROL.names[2], STOP_AT) == ("stop", 8)
    assert ARENA.names[0] == "control"
    assert INTERVALS["total"] == np.float64


@pytest.mark.parametrize(
    ("arm", "architecture", "rule", "wide"),
    [
        # every rule is in SHAPES, and tests/emulation runs them on the host
        (Exploding, "sm_90", BranchingRule.MINBRANCH, True),
        (Stealing, "sm_90", BranchingRule.MINMIN, False),
        (Exploding, "sm_80", BranchingRule.MINMIN, False),  # DPX emulated
        (Stealing, "sm_75", BranchingRule.MINMIN, True),  # reductions by shuffles
    ],
)
def test_kernels_compile_for(arm, architecture, rule, wide):
    equal_jobs = architecture == "sm_80"
    shape = KernelShape(Lb1(40, 5, wide), rule, equal_jobs=equal_jobs)
    text, options = unit_of(arm, shape)
    compile_unit(text, (*options, f"-arch={architecture}"))


def test_words_of_equal_jobs_have_a_bit_for_each_job_like_the_one_before():
    pages = KernelShape(Lb1(40, 5, wide=False), BranchingRule.MINMIN).pages
    kinds = np.arange(40)
    kinds[[1, 2]], kinds[[31, 32, 33]], kinds[39] = 0, 7, 38
    low, high = pages.equal_words(kinds).tolist()
    assert (low, high) == (0b110, 1 << 39 - 32 | 0b11)


@pytest.mark.parametrize("arm", [Exploding, Stealing])
def test_digest_in_the_unit_changes_with_every_included_file(arm, tmp_path):
    """CuPy's cache key is the unit's text, without what it includes."""
    text, options = unit_of(arm, SHAPES[1])
    directories = [Path(option[2:]) for option in options if option.startswith("-I")]
    assert source_digest(directories) in text
    included = set()
    for directory in directories:
        for path in directory.glob("*.cu*"):
            copy = tmp_path / path.name
            assert not copy.exists(), "names say which file is meant"
            copy.write_bytes(path.read_bytes())
            included |= set(re.findall(r'#include "(.+)"', path.read_text()))
    included |= set(re.findall(r'#include "(.+)"', text))
    assert "lb1.cuh" in included
    assert included <= {path.name for path in tmp_path.iterdir()}
    seen = {source_digest([tmp_path])}
    for path in sorted(tmp_path.iterdir()):
        path.write_bytes(path.read_bytes() + b"\n")
        seen.add(source_digest([tmp_path]))
    assert len(seen) == 1 + len(list(tmp_path.iterdir()))
