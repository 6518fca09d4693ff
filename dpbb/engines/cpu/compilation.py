"""How the kernels of this engine are compiled and cached.

Numba keeps one cache file per function and looks at that function's own source file
alone, so an edited helper would silently go on running in its old form. Therefore only
the few functions that Python calls are cached (a helper is compiled into them), and
each of these takes ``version=VERSION``: a default value is part of the signature, and
so of the key of the cache.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np

from dpbb.kernels.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

Kernel = TypeVar("Kernel", bound="Callable[..., Any]")


def _source_digest() -> int:
    """Checksum of all sources that kernels are compiled from."""
    here = Path(__file__).parent
    kernels = here.parents[1] / "kernels"
    shared = [kernels / name for name in ("scalar.py", "vectors.py", "simd.py")]
    sources = [*shared, *sorted(here.glob("*.py"))]
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))


VERSION = _source_digest()

int64: Any = np.int64
"""The integer of all helpers: Numba's ``int`` keeps an unsigned number unsigned, and
every other type of an argument compiles a helper once more. So does a literal.
"""


_njit: Any = numba.njit
_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
_INTERNAL = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def helper(function: Kernel) -> Kernel:
    """Compile for calls from compiled code."""
    return cast("Kernel", _njit(**_INTERNAL)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile as part of every caller: for the hot loop, and for vector arguments."""
    return cast("Kernel", _njit(forceinline=True, **_INTERNAL)(function))


def entry(function: Kernel) -> Kernel:
    """Compile for calls from Python, once per machine; releases the GIL."""
    return cast("Kernel", compiled(function, **_OPTIONS))
