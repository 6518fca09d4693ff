"""The allocator of pages when others take some between a look and its claim."""

import ctypes

import numpy as np
import pytest

from dpbb.engines.gpu.explode import Exploding
from dpbb.engines.gpu.kernels import KernelShape
from dpbb.engines.gpu.layout import CONTROL
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.kernels.nvrtc import translation_unit
from dpbb.options import BranchingRule

pytestmark = pytest.mark.timeout(600)

# the first addition of 32 bits comes after the others' one
BEFORE = """
inline unsigned others = 0;
template <class T, class U>
T late_add(T *address, U value) {
  if (sizeof(T) == 4 && others) {
    __atomic_fetch_add((unsigned *)address, others, __ATOMIC_SEQ_CST);
    others = 0;
  }
  return atomicAdd(address, value);
}
#define atomicAdd late_add
"""
BEHIND = """
inline void claim(Control *control, unsigned *claimed) {
  Arena arena{};
  arena.control = control;
  PageCache cache;
  const bool enough = cache.reserve(arena, 1, threadIdx.x);
  if (threadIdx.x == 0) *claimed = enough ? cache.claim_end - cache.claim : 0;
}
extern "C" void run_claim(unsigned n_others, void **arguments) {
  others = n_others;
  emulated::launch(claim, 1, LANES, 0, 1, arguments);
}
"""


@pytest.mark.parametrize(
    ("n_others", "claimed"), [(0, 16), (184, 16), (185, 0), (200, 0)]
)
def test_no_page_is_claimed_that_is_not_there(emulated, n_others, claimed):
    import cupy

    shape = KernelShape(Lb1(5, 3, wide=False), BranchingRule.MINMIN)
    exploration = Exploding.exploration
    text, options = translation_unit(
        exploration.sources(shape), exploration.defines(shape)
    )
    module = cupy.RawModule(BEFORE + text + BEHIND, options, "nvrtc")
    control, found = np.zeros(1, CONTROL), np.zeros(1, np.uint32)
    control["n_warps"], control["free_next"], control["free_end"] = 4, 100, 300
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in (control, found)]
    places = (ctypes.c_void_p * 2)(*(ctypes.addressof(one) for one in arguments))
    module.get_function("claim")._run(ctypes.c_uint(n_others), places)
    assert found[0] == claimed
    assert control["free_next"][0] == 100 + n_others + claimed
