"""Preload of what runs in SLURM jobs: who answers SIGTERM, and when.

SLURM sends it to every process of a job at once, to tasks of ``srun`` a second time,
and kills after KillWait (30 s). A scheduler has to outlive the client, which stops the
run; a worker has to give its work back, which its nanny asks it for. So the nanny acts
on the first one alone (Dask's own would quit at the second), and scheduler and worker
only if nobody has asked them to close for a while.
"""

import asyncio
import signal
from typing import Any

from distributed import Nanny

PATIENCE_S = 20.0


async def dask_setup(server: Any) -> None:
    """Set up a scheduler, nanny or worker that is starting, in its main thread."""
    loop = asyncio.get_running_loop()
    asked: list[asyncio.Task[None]] = []  # the loop alone would forget it

    async def close() -> None:
        if isinstance(server, Nanny):
            await server.close(timeout=PATIENCE_S, reason="SIGTERM")
        else:
            await asyncio.sleep(PATIENCE_S)
            await server.close(reason="SIGTERM")

    def on_signal() -> None:
        if not asked:
            asked.append(loop.create_task(close()))

    loop.add_signal_handler(signal.SIGTERM, on_signal)
