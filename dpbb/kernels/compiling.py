"""Compilation by Numba, cached on disk where that is possible.

Numba keeps one cache file per function and looks at that function's own source file
alone, so an edited helper would silently go on running in its old form. Therefore only
the few functions that Python calls are cached (a helper is compiled into them), and
``entry`` puts a checksum of all sources that they may be compiled from into the key of
the cache.
"""

from __future__ import annotations

import inspect
import logging
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from dpbb.kernels.compile_process import compile_elsewhere, in_turn

logger = logging.getLogger(__name__)

Kernel = TypeVar("Kernel", bound="Callable[..., Any]")

int64: Any = np.int64
"""The integer of all helpers: Numba's ``int`` keeps an unsigned number unsigned, and
every other type of an argument compiles a helper once more. So does a literal.
"""


class _Part(JITCodeLibrary):
    """The code of a helper, which is linked into its callers and runs nowhere else.

    Numba would optimize it, make machine code of it, and look up its address: a quarter
    of all the time.
    """

    @property
    def codegen(self) -> Any:
        """Who is told of its Python objects, of which it has none."""
        return self

    def set_env(self, *_: Any) -> None:
        """See ``codegen``."""

    def get_pointer_to_function(self, _: str) -> int:
        """Return 0, as it has no address."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _optimize_final_module(self) -> None:
        """Its callers are optimized."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


class _PartCompiler(Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        made: Any = _Part
        library = library or made(target.codegen(), "part")
        super().__init__(typing, target, library, *others)  # type: ignore[no-untyped-call]


_njit: Any = numba.njit
_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
_INTERNAL = {
    **_OPTIONS,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _PartCompiler,
}
INLINED: Any = {**_INTERNAL, "forceinline": True}
"""Numba's options for a part of every caller: for hot loops and vector arguments.
(``Any``, as Numba's types say which of them there are since its version 0.68 alone.)
"""


def helper(function: Kernel) -> Kernel:
    """Compile for calls from compiled code."""
    return cast("Kernel", _njit(**_INTERNAL)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile as part of every caller: for the hot loop, and for vector arguments."""
    return cast("Kernel", _njit(**INLINED)(function))


def entry(function: Kernel) -> Kernel:
    """Compile for calls from Python, once per machine and model; releases the GIL.

    The key of the cache holds a checksum of the sources in ``dpbb.kernels``, beside the
    function and, if its first argument is a model or has one as its attribute
    ``model``, beside the class of that model. Another process compiles, see
    ``dpbb.kernels.compile_process``.
    """
    return _entry(function, compiles_here=False)


def quick_entry(function: Kernel) -> Kernel:
    """As ``entry``, for what compiles in less time than another process starts.

    The attribute ``in_python`` does the same without compiling, slowly.
    """
    return _entry(function, compiles_here=True)


def _entry(function: Kernel, *, compiles_here: bool) -> Kernel:
    @cache
    def compiled_for(model: type | None) -> Callable[..., Any]:
        beside = [Path(function.__code__.co_filename).parent]
        if model is not None:
            beside.append(Path(inspect.getfile(model)).parent)
        kernel = compiled(function, version=source_digest(*beside))
        if not compiles_here:
            _compile_elsewhere_first(kernel, function, model)
        return kernel

    def call(first: Any, *others: Any) -> Any:
        model = getattr(first, "model", first)
        kernel = compiled_for(type(model) if isinstance(model, tuple) else None)
        return kernel(first, *others)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.compiled_for = compiled_for  # type: ignore[attr-defined]
    call.in_python = function  # type: ignore[attr-defined]
    return cast("Kernel", call)


def _compile_elsewhere_first(
    kernel: Any, function: Callable[..., Any], model: type | None
) -> None:
    """Have what is not in the cache compiled by another process, then load it."""
    cache, compile_here = kernel._cache, kernel.compile
    kernel.compile_here = compile_here
    lock = Lock()  # Numba's index of a function is not made for two writers

    def is_known(signature: Any) -> bool:
        if signature in kernel.overloads:
            return True
        key = cache._index_key(signature, kernel.targetctx.codegen())
        try:
            return key in cache._cache_file._load_index()
        except Exception:  # noqa: BLE001 (damaged: who compiles makes it anew)
            return False

    def compile_signature(signature: Any) -> Any:
        with lock:
            if hasattr(cache, "_cache_file") and not is_known(signature):
                name = function.__name__
                compile_elsewhere(function.__module__, name, model, signature)
        return compile_here(signature)

    kernel.compile = compile_signature


def source_digest(*folders: Path) -> int:
    """Checksum of the Python sources in this folder and in others."""
    every = {Path(__file__).parent, *folders}
    sources = [
        source for folder in sorted(every) for source in sorted(folder.glob("*.py"))
    ]
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))


def compiled(function: Kernel, *, version: int = 0) -> Kernel:
    """Compile on the first call, once per machine if a folder can be written to.

    What was compiled for another ``version`` is compiled anew. (It could be the default
    value of a parameter, too, but calls that leave one out take Numba half a
    millisecond.)

    Numba alone fails on a read-only disk (set ``NUMBA_CACHE_DIR`` there, or every
    process compiles anew), and for ever when a file of the cache is damaged.
    """
    try:
        dispatcher = _njit(cache=True, **_OPTIONS)(function)
    except RuntimeError as error:  # "cannot cache function"
        logger.info("compiled code is not kept: %s", error)
        return cast("Kernel", _njit(**_OPTIONS)(function))
    cache = dispatcher._cache
    load, key_of = cache.load_overload, cache._index_key

    def load_if_whole(*key: Any) -> Any:
        try:
            return load(*key)
        except Exception:  # noqa: BLE001 (unpickling may raise anything)
            logger.warning("damaged cache of %s: compiled again", function.__name__)
            cache.flush()
            return None

    if hasattr(cache, "_cache_file"):
        _save_in_turn(cache._cache_file)
    cache.load_overload = load_if_whole
    cache._index_key = lambda *signature: (*key_of(*signature), version)
    return cast("Kernel", dispatcher)


def _save_in_turn(file: Any) -> None:
    """Have processes write an index one at a time: two kernels might get one name."""
    save = file.save

    def saved(*entry: Any) -> None:
        with in_turn(Path(f"{file._index_path}.lock")):
            save(*entry)

    file.save = saved
