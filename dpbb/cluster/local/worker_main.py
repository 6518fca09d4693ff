"""What a worker process of the embedded cluster runs, from its start to its end.

Started before the scheduler, so that both import at the same time; what to join comes
as a pickled dict on standard input when the scheduler's address is known. The end of
standard input means that the parent is done with it, or dead. A process of its own and
no ``multiprocessing``, so that a script needs no ``if __name__ == "__main__"``.
"""

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import sys
import threading
import time
from importlib import import_module
from typing import Any

from dpbb.cluster.local.process import ignore_dasks_warnings, show_messages
from dpbb.cluster.worker.gpus import seat_kinds


def main() -> None:
    """Serve until standard input ends."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    ignore_dasks_warnings()
    threading.Thread(target=_import_engine, daemon=True).start()
    import dask
    from distributed import Worker

    try:
        order: dict[str, Any] = pickle.load(sys.stdin.buffer)  # noqa: S301
    except EOFError:
        return
    show_messages(order.pop("log_level"))
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    warm_up = order.pop("warm_up", None)
    if warm_up is not None:
        threading.Thread(target=_warm_up, args=(warm_up,), daemon=True).start()
    # a worker that explores holds no data: there is nothing to spill or to pause for
    memory = {f"distributed.worker.memory.{key}": False for key in ("target", "spill")}
    with dask.config.set({**memory, "distributed.worker.memory.pause": False}):
        asyncio.run(_serve(Worker, order, parent))


async def _serve(worker_class: Any, order: dict[str, Any], parent: int) -> None:
    loop = asyncio.get_running_loop()
    over, joined = asyncio.Event(), threading.Event()

    def watch_parent() -> None:
        sys.stdin.read()
        if not joined.is_set():
            # A worker tries for ever to join a scheduler that died with the parent.
            os._exit(0)
        loop.call_soon_threadsafe(over.set)
        while os.getppid() == parent:
            time.sleep(0.1)
        os._exit(0)  # it died: nobody hears what the worker would still report

    threading.Thread(target=watch_parent, daemon=True).start()
    async with worker_class(order.pop("scheduler"), **order) as worker:
        joined.set()
        ends = [
            asyncio.ensure_future(over.wait()),
            asyncio.ensure_future(worker.finished()),
        ]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()


def _import_engine() -> None:
    """Import the engine while Dask is imported and the scheduler starts."""
    first = seat_kinds(os.environ)[0]
    modules = {"cpu": "dpbb.engines.cpu.session", "gpu": "dpbb.engines.gpu.session"}
    with contextlib.suppress(ImportError):  # whoever uses it will say so
        if first == "gpu":
            import_module("cupy")
        import_module(modules[first])


def _warm_up(message: bytes) -> None:
    """Load the engine's code for the problem that comes soon; never an error."""
    from dpbb.engines.registry import AUTO, ENGINES_OF_KIND, choose_engine

    try:
        engine, problem, tree = pickle.loads(message)  # noqa: S301
        kind = "cuda" if seat_kinds(os.environ)[0] == "gpu" else "cpu"
        for name in ENGINES_OF_KIND[kind] if engine == AUTO else (engine,):
            chosen, _ = choose_engine(name, problem, tree)
            chosen.warm_up(problem, tree, chosen.devices()[0])
    except Exception:
        logging.getLogger(__name__).debug("no warm-up", exc_info=True)


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and tearing down compiled code takes time
