"""Compilation in a process of its own, which fills Numba's cache on disk.

Numba compiles under one lock, and nothing interrupts it. Where a thread of this process
compiled an engine for ten seconds, every other thread that calls a kernel for the first
time would wait for it, whatever the time limit. Another process can be left alone, and
two of them compile at the same time.
"""

import atexit
import contextlib
import fcntl
import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

from llvmlite.binding import set_option

from dpbb.own_process import command_of

ALONE_S = 180
IDLE_S = 10.0
"""A process ends after so long without a request, and without the one that started it
as soon as it has compiled what it is at, or ``ALONE_S`` later: the next run finds it
in the cache."""

_idle: list[subprocess.Popen[bytes]] = []


@contextlib.contextmanager
def in_turn(lock: Path) -> Iterator[None]:
    """Wait until no other process holds a lock, and hold it in this block.

    On a disk without locks nobody waits.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            fcntl.flock(stack.enter_context(lock.open("ab")), fcntl.LOCK_EX)
        yield


def compile_elsewhere(
    module: str, name: str, model: type | None, signature: Any
) -> None:
    """Have a signature compiled into the cache; returns when it was tried.

    Never an error: what is not in the cache then is compiled here, and raises here.

    Parameters
    ----------
    module, name
        Where an ``entry`` is.
    model
        As ``entry.compiled_for`` takes it.
    signature
        As Numba's ``Dispatcher.compile`` takes it.
    """
    try:
        request = pickle.dumps((module, name, model, signature))
    except Exception:  # noqa: BLE001 (such as a class of a function)
        return
    try:
        process = _alive()
    except OSError:  # such as no memory for one
        return
    try:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(len(request).to_bytes(4, "big") + request)
        process.stdin.flush()
        answered = process.stdout.read(1)
    except OSError:
        answered = b""
    except BaseException:  # such as KeyboardInterrupt
        _end(process)
        raise
    if answered:
        _idle.append(process)
    else:
        _end(process)


def _start() -> subprocess.Popen[bytes]:
    """Start a process, which Ctrl-C does not reach: its end is that of its input."""
    return subprocess.Popen(  # noqa: S603 - our own module
        command_of(__name__, paths=sys.path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _alive() -> subprocess.Popen[bytes]:
    """Return a process that waits for requests."""
    while True:
        try:
            process = _idle.pop()
        except IndexError:
            return _start()
        if process.poll() is None:
            return process
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError), process:
        process.kill()


@atexit.register
def _end_all() -> None:
    while _idle:
        _end(_idle.pop())


def main() -> None:
    """Compile what is asked for, until the input ends."""
    gc.disable()  # a tenth of the time of a compilation
    # loops over sizes have few turns: LLVM would write each of them eight times over
    set_option(__name__, "-unroll-runtime=false")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing that is printed is an answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        try:
            request = requests.get(timeout=IDLE_S)
        except queue.Empty:
            request = b""
        if not request:
            os._exit(0)
        with contextlib.suppress(Exception):
            module, name, model, signature = pickle.loads(request)  # noqa: S301
            entry = getattr(import_module(module), name)
            kernel = entry.compiled_for(model)
            with in_turn(_code_of(kernel, signature)):
                kernel.compile_here(signature)
        with contextlib.suppress(OSError):  # nobody waits for it any more
            answers.write(b"1")
        gc.collect()


def _code_of(kernel: Any, signature: Any) -> Path:
    """Return the path of a lock that whoever compiles this code holds."""
    cache = kernel._cache
    key = cache._index_key(signature, kernel.targetctx.codegen())
    name = f"{crc32(repr((kernel.py_func.__qualname__, key)).encode()):08x}.lock"
    return Path(cache.cache_path, name)


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass on what is asked for; at the end of input nothing, and be nice to others."""
    while size := sys.stdin.buffer.read(4):
        requests.put(sys.stdin.buffer.read(int.from_bytes(size, "big")))
    signal.alarm(ALONE_S)  # whatever it waits for
    requests.put(b"")
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, os.getpid(), 19)


if __name__ == "__main__":
    main()
