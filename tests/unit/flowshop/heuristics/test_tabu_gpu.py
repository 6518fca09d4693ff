"""What the kernels of tabu search are given and compiled for; needs no device."""

import numpy as np
import pytest

from dpbb.flowshop.heuristics.tabu_gpu import SOURCE, Rows
from dpbb.flowshop.taillard import generate
from dpbb.kernels.nvrtc import translation_unit
from tests.unit.engines.gpu.compiling import compile_unit


def test_the_paper_s_largest_shop_fits_into_16_bits():
    times = generate(101, 900, 40).T
    assert not Rows(times).wide
    assert Rows(times * 20).wide


@pytest.mark.parametrize("scale", [1, 5000])
def test_cells_are_sums_behind_and_before_a_machine(scale):
    times = np.array([[3, 2, 4], [1, 4, 2]]) * scale
    rows = Rows(times)
    assert rows.wide == (scale > 1)
    cells = rows.cells.view(np.int32 if rows.wide else np.int16).reshape(3, 4, 2)
    for job, (first, second, third) in enumerate(times):
        assert cells[job, :2, 0].tolist() == [second, second + third]
        assert cells[job, :2, 1].tolist() == [-first, -first - second]
    assert not cells[2].any()


@pytest.mark.parametrize("wide", [0, 1])
def test_kernels_compile(wide):
    for shared in range(2):
        defines = {"N_MACHINES": 41, "WIDE": wide, "SHARED": shared}
        defines |= {"BLOCK": 512, "STEPS_SHARED": 1}
        text, options = translation_unit([SOURCE], defines)
        compile_unit(text, [*options, "--gpu-architecture=compute_90"])
