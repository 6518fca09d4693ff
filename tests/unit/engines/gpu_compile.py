"""Compile CUDA text with NVRTC; needs CuPy but no device."""

import pytest


def nvrtc_or_skip():
    """Skip, with the reason, where CuPy or NVRTC is missing."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from cupy_backends.cuda.libs import nvrtc

    try:
        nvrtc.getVersion()
    except (RuntimeError, ImportError, OSError) as error:
        pytest.skip(f"NVRTC cannot be loaded: {error}")
    return nvrtc


def compile_unit(text, options):
    """Binary or intermediate code; fails the test with the compiler's log."""
    nvrtc = nvrtc_or_skip()
    program = nvrtc.createProgram(text, "unit.cu", [], [])
    try:
        nvrtc.compileProgram(program, list(options))
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    size = nvrtc.getPTX(program)
    nvrtc.destroyProgram(program)
    return size
