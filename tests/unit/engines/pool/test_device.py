"""The kernels compile for a device; tests/emulation runs them on the host."""

import numpy as np
import pytest

from dpbb.engines.gpu.kernels import BRANCHING, KernelShape
from dpbb.engines.pool.device import SOURCE
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.kernels.nvrtc import translation_unit
from dpbb.modeling.cuda import TextModel
from dpbb.options import BranchingRule
from tests.models import TightCompletion
from tests.unit.engines.gpu.compiling import compile_unit

TEXT = TightCompletion(np.arange(1, 31).reshape(10, 3))


@pytest.mark.parametrize(
    "model",
    [
        Lb1(40, 5, wide=False, tightens=True),
        Lb1(9, 3, wide=True),
        TextModel.of(TEXT, TEXT.trivial_ub),
    ],
    ids=lambda model: model.described,
)
def test_kernels_compile(model):
    shape = KernelShape(model, BranchingRule.FRONT)
    sources = BRANCHING, model.header, SOURCE
    text, options = translation_unit(sources, shape.defines)
    compile_unit(text, (*options, "-arch=sm_90"))
