"""CuPy on a machine without a GPU: arrays of NumPy, kernels compiled for the host.

As much of it as the GPU engine uses. The kernels are those of the package, compiled by
the C++ compiler against ``cuda.h`` of this folder; so what is tested is their logic and
the host's side, not what a device makes of it, and nothing about speed.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

from dpbb.kernels.compile_process import in_turn

HERE = Path(__file__).parent
N_MULTIPROCESSORS = 2
FREE_BYTES = 1 << 28
SHARED_BYTES = 99 * 1024
UUID = "GPU-00000000-0000-0000-0000-000000000000"
COMPILER = "g++"
FLAGS = ("-std=c++17", "-Og", "-U_FORTIFY_SOURCE", "-fPIC", "-pthread", "-w")
KERNEL = re.compile(
    r'extern "C" __global__ void(?:\s*__launch_bounds__\([^)]*\))?\s+(\w+)\('
)
SHARED = "extern __shared__ __align__(16) u32 shared[];"
HOST_SHARED = "u32 *const shared = emulated::shared_memory();"


class CudaError(RuntimeError):
    """In place of those of CuPy."""


class OutOfMemoryError(MemoryError):
    """In place of that of CuPy."""


class Queue:
    """What the device has to do, one after the other, while the host goes on."""

    def __init__(self):
        self._last = None
        self._worker = ThreadPoolExecutor(1, "emulated-device")

    def put(self, work, *arguments):
        self._last = self._worker.submit(work, *arguments)

    def wait(self):
        if self._last is not None:
            self._last.result()


queue = Queue()


class Memory:
    """The memory under an array."""

    def __init__(self, array):
        self.ptr = array.ctypes.data
        self._array = array  # kept as long as the device has to do with it

    def memset_async(self, value, n_bytes, stream):
        self._put(ctypes.memset, self.ptr, value, n_bytes)

    def copy_from_host_async(self, address, n_bytes, stream):
        self._put(ctypes.memmove, self.ptr, address, n_bytes)

    def copy_to_host_async(self, address, n_bytes, stream):
        self._put(ctypes.memmove, address, self.ptr, n_bytes)

    def _put(self, *work):
        queue.put(lambda _memory: work[0](*work[1:]), self)


class DeviceArray(np.ndarray):
    """An array of NumPy with the methods of CuPy's."""

    @property
    def device(self):
        return SimpleNamespace(id=0)

    @property
    def data(self):
        return Memory(self)

    def get(self):
        queue.wait()
        return np.array(self)

    def max(self, *arguments, **options):
        queue.wait()
        return super().max(*arguments, **options)

    def set(self, values):
        queue.wait()
        assert values.shape == self.shape
        assert values.dtype == self.dtype
        self[...] = values


def empty(shape, dtype):
    """Full of garbage, as on a device."""
    array = np.empty(shape, dtype).view(DeviceArray)
    array.view(np.ndarray).reshape(-1).view(np.uint8)[...] = 0xA5
    return array


def zeros(shape, dtype):
    return np.zeros(shape, dtype).view(DeviceArray)


def asarray(values):
    return np.array(values).view(DeviceArray)


def on_host(function):
    """A function of NumPy, after what the device has to do."""

    def run(values):
        queue.wait()
        return np.ascontiguousarray(function(values)).view(DeviceArray)

    return run


def alloc_pinned_memory(n_bytes):
    kind = type("Pinned", (ctypes.c_char * n_bytes,), {"ptr": property(address_of)})
    return kind()


def address_of(buffer):
    return ctypes.addressof(buffer)


class Context:
    """A device or a stream: what work is put to."""

    def __init__(self, index=0, **_):
        self.id = index
        self.ptr = 0
        self.attributes = {
            "MultiProcessorCount": N_MULTIPROCESSORS,
            "MaxSharedMemoryPerBlockOptin": SHARED_BYTES,
            "MaxSharedMemoryPerMultiprocessor": 2 * SHARED_BYTES,
            "MaxThreadsPerMultiProcessor": 256,
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        queue.wait()


class Event:
    """Over when everything is."""

    def __init__(self, **_):
        pass

    def record(self, stream=None):
        pass

    def synchronize(self):
        queue.wait()


class Function:
    """A kernel of a module."""

    every = []  # noqa: RUF012 (handles are places in it)
    attributes = {"num_regs": 32, "local_size_bytes": 0}  # noqa: RUF012

    def __init__(self, run):
        self._run = run
        self.kernel = SimpleNamespace(ptr=len(self.every))
        self.every.append(self)
        self.max_dynamic_shared_size_bytes = 0

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert block[0] % 32 == 0
        assert shared_mem <= max(self.max_dynamic_shared_size_bytes, 48 * 1024)
        assert shared_mem <= SHARED_BYTES
        values = [
            np.array([a.ctypes.data], np.uint64)
            if isinstance(a, np.ndarray)
            else np.array([a])
            for a in arguments
        ]
        together = max(N_MULTIPROCESSORS, 8 // (block[0] // 32))
        sizes = (
            ctypes.c_uint(grid[0]), ctypes.c_uint(block[0]),
            ctypes.c_size_t(shared_mem), ctypes.c_uint(together),
        )  # fmt: skip

        def run(_kept):
            pointers = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
            self._run(*sizes, pointers)

        queue.put(run, arguments)


def launch_cooperative(handle, *given):
    """Run a grid whose blocks may wait for one another: all at a time."""
    grid, _, _, block, _, _, shared, _stream, addresses = given
    assert block % 32 == 0
    assert shared <= SHARED_BYTES
    queue.wait()
    Function.every[handle]._run(
        ctypes.c_uint(grid), ctypes.c_uint(block), ctypes.c_size_t(shared),
        ctypes.c_uint(grid), ctypes.c_void_p(addresses),
    )  # fmt: skip


class Modules:
    """Compiles for the host; every unit once for a folder, whichever process asks."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._guard = threading.Lock()

    def raw_module(self, code, options, backend):
        return SimpleNamespace(
            compile=lambda: self._library(code, options),
            get_function=lambda name: Function(
                getattr(self._library(code, options), f"run_{name}")
            ),
        )

    def _library(self, code, options):
        name = hashlib.sha256(code.encode()).hexdigest()[:16]
        library = self._folder / f"{name}.so"
        with self._guard, in_turn(library.with_suffix(".lock")):
            if not library.exists():
                self._compile(code, options, library)
            return ctypes.CDLL(str(library))

    def _header(self):
        """What every unit begins with, compiled once for all of them."""
        header = self._folder / "cuda.h"
        with in_turn(self._folder / "header.lock"):
            if not header.exists():
                shutil.copy(HERE / "cuda.h", header)
                compile_for_host("-x", "c++-header", header, "-o", f"{header}.gch")
        return header

    def _compile(self, code, options, library):
        sources = library.with_suffix("")
        sources.mkdir()
        kernels = []
        for option in options:
            if option.startswith("-I"):
                for path in Path(option[2:]).glob("*.cu*"):
                    text = path.read_text().replace(SHARED, HOST_SHARED)
                    (sources / path.name).write_text(text)
                    if f'"{path.name}"' in code:
                        kernels += KERNEL.findall(text)
        shutil.copy(HERE / "ptx.cuh", sources)
        runs = [
            f'extern "C" void run_{name}(unsigned grid, unsigned size, size_t shared, '
            f"unsigned together, void **arguments) {{ emulated::launch({name}, grid, "
            "size, shared, together, arguments); }\n"
            for name in kernels
        ]
        unit = sources / "unit.cpp"
        unit.write_text(f'#include "{self._header()}"\n{code}\n{"".join(runs)}')
        compile_for_host("-shared", f"-I{sources}", unit, "-o", f"{library}.part")
        Path(f"{library}.part").rename(library)


def compile_for_host(*arguments):
    command = [COMPILER, *FLAGS, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[:5000]


def modules(folder):
    """Modules by name, to stand in ``sys.modules``."""
    runtime = SimpleNamespace(
        CUDARuntimeError=CudaError,
        driverGetVersion=lambda: 13000,
        runtimeGetVersion=lambda: 13000,
        getDevice=lambda: 0,
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda _: {"name": b"emulated", "major": 9, "minor": 0},
        memGetInfo=lambda: (FREE_BYTES, FREE_BYTES),
        memcpyAsync=lambda to, at, n_bytes, kind, stream: ctypes.memmove(
            to, at, n_bytes
        ),
        setDevice=lambda index: None,
    )
    driver = SimpleNamespace(
        CUDADriverError=CudaError,
        launchCooperativeKernel=launch_cooperative,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda kernel, threads, shared: max(
            1, 128 // threads
        ),
    )
    pool = SimpleNamespace(
        free_bytes=lambda: 0, used_bytes=lambda: 0, free_all_blocks=lambda: None
    )
    found = {
        name: ModuleType(name)
        for name in (
            *("cupy", "cupy.cuda", "cupy.cuda.memory", "cupy_backends"),
            *("cupy_backends.cuda", "cupy_backends.cuda.libs"),
        )
    }
    memory = found["cupy.cuda.memory"]
    memory.OutOfMemoryError = OutOfMemoryError
    vars(found["cupy.cuda"]).update(
        Device=Context, Stream=Context, Event=Event,
        alloc_pinned_memory=alloc_pinned_memory,
        compiler=SimpleNamespace(CompileException=CudaError), driver=driver,
        get_elapsed_time=lambda began, ended: 1.0, get_current_stream=Context,
        memory=memory, runtime=runtime,
    )  # fmt: skip
    vars(found["cupy"]).update(
        RawModule=Modules(folder).raw_module, asarray=asarray, cuda=found["cupy.cuda"],
        cumsum=on_host(np.cumsum), empty=empty, get_default_memory_pool=lambda: pool,
        lexsort=on_host(np.lexsort), ndarray=DeviceArray, uint64=np.uint64, zeros=zeros,
    )  # fmt: skip
    nvrtc = SimpleNamespace(getVersion=lambda: (13, 0))
    found["cupy_backends.cuda.libs"].nvrtc = nvrtc
    return found


@contextlib.contextmanager
def installed(monkeypatch, folder):
    """Put the emulation in the place of CuPy."""
    from dpbb.engines.gpu import engine
    from dpbb.kernels import nvrtc

    for name, module in modules(folder).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(engine, "_uuid", lambda index: UUID)
    monkeypatch.setattr(nvrtc, "_modules", {})
    yield
