"""Compile CUDA text with NVRTC through CuPy, or with nvcc; needs no device."""

import shutil
import subprocess

import pytest


def compile_unit(text, options):
    """Compile; skips without a compiler, fails the test with the compiler's log."""
    nvrtc = loaded_nvrtc()
    if nvrtc is not None:
        program = nvrtc.createProgram(text, "unit.cu", [], [])
        try:
            nvrtc.compileProgram(program, list(options))
        except nvrtc.NVRTCError:
            pytest.fail(nvrtc.getProgramLog(program))
        nvrtc.destroyProgram(program)
    elif shutil.which("nvcc"):
        command = ["nvcc", *options, "-x", "cu", "-ptx", "-o", "/dev/null", "-"]
        done = subprocess.run(  # noqa: S603
            command, input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    else:
        pytest.skip("neither CuPy with NVRTC nor nvcc is installed")


def loaded_nvrtc():
    """CuPy's NVRTC, None where one of them is missing."""
    try:
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    except (RuntimeError, ImportError, OSError):
        return None
    return nvrtc
