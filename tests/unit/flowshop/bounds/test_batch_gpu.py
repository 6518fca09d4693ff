"""What the host prepares for the kernel; needs NVRTC but no device."""

import pytest

from dpbb.errors import OptionError
from dpbb.flowshop.bounds.batch_gpu import (
    BLOCKS_WANTED,
    SOURCE,
    block_nodes,
    defines_of,
    shared_bytes_of,
)
from dpbb.kernels.nvrtc import translation_unit
from tests.unit.engines.gpu.compiling import compile_unit

H200 = 227 * 1024


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 20, 200, 800])
def test_blocks_fit_the_shared_memory(n_jobs, wide):
    for shared in (H200, 99 * 1024):
        defines = defines_of(n_jobs, 20, wide=wide, shared_bytes=shared)
        assert shared_bytes_of(defines) <= shared
        assert block_nodes(defines) % 4 == 0
        if n_jobs <= 200:
            assert shared_bytes_of(defines) * BLOCKS_WANTED <= shared


def test_words_that_are_asked_for_are_given():
    for words in (1, 2, 4):
        defines = defines_of(50, 20, wide=False, shared_bytes=H200, words=words)
        assert defines["WORDS"] == words


def test_too_many_jobs_are_refused():
    with pytest.raises(OptionError, match="expected cpu for 5000 jobs"):
        defines_of(5000, 5, wide=False, shared_bytes=H200)


@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("n_jobs", "n_machines"), [(20, 20), (7, 1), (100, 70)])
def test_the_kernel_compiles(n_jobs, n_machines, wide, words):
    defines = defines_of(n_jobs, n_machines, wide=wide, shared_bytes=H200, words=words)
    text, options = translation_unit([SOURCE], defines)
    compile_unit(text, [*options, "--gpu-architecture=compute_90"])
