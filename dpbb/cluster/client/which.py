"""Which cluster a call uses: one answer for every command and function.

What the call names, a client or a scheduler; within a Dask task none, as a cluster must
not be started in a cluster; Dask's current client; ``$DPBB_SCHEDULER``;
Dask's setting ``scheduler-address``, which is ``$DASK_SCHEDULER_ADDRESS`` or in Dask's
files; none. Dask is loaded only where it has such files, as that takes 0.1 s.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dpbb.errors import OptionError
from dpbb.options import SolveOptions, kinds

VARIABLES = ("DPBB_SCHEDULER", "DASK_SCHEDULER_ADDRESS")


class Which(NamedTuple):
    """The cluster of a call that names none.

    Attributes
    ----------
    client, scheduler
        Of it: a client, or else an address; both None: there is none.
    why
        Who named it, or why none is used. Empty: nobody did.
    in_task
        Whether this is a task on a Dask worker.
    """

    client: Any = None
    scheduler: str | None = None
    why: str = ""
    in_task: bool = False

    @property
    def address(self) -> str | None:
        """Address of the scheduler; None without a cluster."""
        there = getattr(self.client, "scheduler", None)
        return self.scheduler if there is None else str(there.address)

    def __str__(self) -> str:
        return f"{self.address or 'none'}: {self.why}"


def which_cluster() -> Which:
    """Decide which cluster a call uses that names none; see the module.

    OptionError: a variable or a setting holds no address of a scheduler.
    """
    if _in_task():
        why = "this process, as a Dask task; client=... of distributed.worker_client "
        return Which(why=f"{why}uses the task's cluster", in_task=True)
    current = _current_client()
    if current is not None and not current.asynchronous:
        return Which(current, why="Dask's current client")
    for name in VARIABLES:
        if address := os.environ.get(name):
            checked = kinds.address().check(address, f"${name}")
            return Which(scheduler=checked, why=f"${name}")
    if address := _setting_of_dask():
        why = "Dask's setting scheduler-address"
        return Which(scheduler=kinds.address().check(address, why), why=why)
    if current is not None:
        return Which(why="Dask's current client is asynchronous, so it is to be given")
    return Which()


def leave_worker() -> None:
    """Have a Dask task leave its worker's threads, which it would keep from its run.

    Elsewhere nothing happens. Call it before waiting for what runs on the cluster.
    """
    if _in_task():
        from distributed import secede

        with suppress(AttributeError, KeyError):  # no thread of the worker's any more
            secede()


def placed(client: Any, options: SolveOptions) -> tuple[Any, SolveOptions, str]:
    """Return client and options of a search where it is placed, and a line for people.

    The line is empty where the call says where, or there is no choice.

    OptionError: within a Dask task an option needs a cluster.
    """
    if client is not None or options.scheduler is not None:
        return client, options, ""
    which = which_cluster()
    if not which.why:
        return None, options, ""
    if options.workers is not None:
        own = "none" if options.workers == 0 else "one of its own"
        return None, options, f"cluster {own}, as workers is given; else {which}"
    if which.in_task:
        try:
            options = options.replace(workers=0)
        except OptionError as error:
            raise OptionError(f"within a Dask task: {error}; {which.why}") from error
    elif which.scheduler is not None:
        options = options.replace(scheduler=which.scheduler)
    return which.client, options, f"cluster {which}"


def _in_task() -> bool:
    """Whether this is a task on a Dask worker."""
    worker = sys.modules.get("distributed.worker")
    try:
        return worker is not None and worker.get_worker() is not None
    except ValueError:
        return False


def _setting_of_dask() -> Any:
    """Return Dask's setting ``scheduler-address``; None without one."""
    folders = ["/etc/dask", f"{sys.prefix}/etc/dask", "~/.config/dask"]
    for name in ("DASK_ROOT_CONFIG", "DASK_CONFIG"):
        folders.append(os.environ.get(name) or folders[0])
    if "dask" not in sys.modules and not any(
        Path(folder).expanduser().exists() for folder in folders
    ):
        return None
    import dask

    return dask.config.get("scheduler-address", None)


def _current_client() -> Any:
    """Return the client that Dask's own functions would use; None without one."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.Client.current()
    except ValueError:
        return None
