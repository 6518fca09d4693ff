"""Compile CUDA sources for one set of macros, once per process and device.

The sources are files of the package. A translation unit is nothing but ``#define``
lines and ``#include`` lines, so a digest of every file that may be included goes into
it: CuPy keys its binary cache by the text of the unit alone and would run a stale
binary after an edit of an included file (cupy/cuda/compiler.py).
"""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbb.errors import EngineUnavailable

CUDA_DIRECTORY = Path(__file__).parent / "cuda"

_COMPUTE_MODE = 20  # cudaDevAttrComputeMode; 0: default

_modules: dict[tuple[int, str], Any] = {}
_locks: defaultdict[tuple[int, str], threading.Lock] = defaultdict(threading.Lock)
"""Two threads that want the same module compile it once."""


def require_gpu(device: int = 0) -> Any:  # the module
    """Return CuPy; EngineUnavailable, and why, where there is no such device."""
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except ImportError as error:
        raise EngineUnavailable(
            f"GPU: expected CuPy to be installed; pip install 'dpbb[cuda12]' ({error})"
        ) from error
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise EngineUnavailable(f"GPU: no CUDA device: {error}") from error
    if not 0 <= device < count:
        raise EngineUnavailable(f"GPU: expected a device below {count}, got {device}")
    return cupy


def has_gpu() -> bool:
    """Whether there is a GPU, and CuPy."""
    try:
        require_gpu()
    except EngineUnavailable:
        return False
    return True


def is_shared() -> bool:
    """Whether several processes may use the GPU at a time, as far as is known."""
    try:
        mode = require_gpu().cuda.runtime.deviceGetAttribute(_COMPUTE_MODE, 0)
    except (EngineUnavailable, RuntimeError):
        return False
    return bool(mode == 0)


def source_digest(directories: Sequence[Path]) -> str:
    """Hexadecimal digest of every CUDA source and header of the directories."""
    digest = hashlib.sha256()
    for directory in directories:
        for path in sorted(directory.glob("*.cu*")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def translation_unit(
    sources: Sequence[Path], defines: Mapping[str, int | str]
) -> tuple[str, tuple[str, ...]]:
    """Text of the unit and the compiler's options."""
    directories = [CUDA_DIRECTORY]
    for source in sources:
        if source.parent not in directories:
            directories.append(source.parent)
    lines = [f"// sources {source_digest(directories)}"]
    lines += [f"#define {name} {value}" for name, value in defines.items()]
    lines += [f'#include "{source.name}"' for source in sources]
    options = ("-std=c++17", *(f"-I{directory}" for directory in directories))
    return "\n".join(lines) + "\n", options


def load_module(
    sources: Sequence[Path], defines: Mapping[str, int | str], device: int
) -> Any:  # a cupy.RawModule
    """Compile the unit for a device, or return the module compiled before.

    EngineUnavailable: the compiler refused the source; the message carries its log.
    """
    import cupy

    text, options = translation_unit(sources, defines)
    key = (device, text)
    with _locks[key]:
        if key not in _modules:
            with cupy.cuda.Device(device):
                module = cupy.RawModule(code=text, options=options, backend="nvrtc")
                try:
                    module.compile()
                except cupy.cuda.compiler.CompileException as error:
                    raise EngineUnavailable(
                        f"NVRTC could not compile the kernels for {dict(defines)}: "
                        f"{error}"
                    ) from error
            _modules[key] = module
    return _modules[key]
