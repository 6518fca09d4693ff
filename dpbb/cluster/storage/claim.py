"""Which run owns a folder of checkpoints: two that go on from one must not both write.

A file ``owner.json`` names the run and the process that writes here, and when it last
gave a sign of life. It is a lease rather than a lock: object stores have no file locks,
those of network file systems are unreliable, and an owner that was killed has to be
replaced. One whose process is seen to be gone is replaced at once; any other, such as
one in another container, when it has been silent for as long as ``dpbb.timeouts.stale``
says: who wants the folder watches it for so long, as a job that was killed with its
node is tried again on another one. An owner that was replaced finds out before it
writes; if it was asleep while it wrote, its successor, of a later generation, takes the
file back.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

import psutil

from dpbb.cluster.storage.checkpoint_folder import header_names
from dpbb.cluster.storage.store import Folder
from dpbb.cluster.timeouts import timeout
from dpbb.coordination.messages import RunId
from dpbb.errors import CheckpointError

NAME = "owner.json"

POLL_S = 1.0
"""An owner that is watched is looked at so often."""

SETTLE_S = 0.1
"""Who takes a folder looks so much later whether somebody else took it as well."""

_held: set[str] = set()
"""Nonces of this process: a container's next one may have its host name and pid."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What the file says.

    Parameters
    ----------
    nonce
        Unique to this claim.
    run_id, host, pid
        Who writes here.
    started
        When the process was, in seconds of the epoch: pids are used again.
    beat
        Its last sign of life, in seconds of the epoch.
    generation
        How many owners, one after the other, the folder had before.
    machine
        Where ``pid`` is a number of: see ``machine_here``.
    """

    nonce: str
    run_id: str
    host: str
    pid: int
    started: float
    beat: float
    generation: int = 0
    machine: str = ""

    def is_elsewhere(self, host: str) -> bool:
        """Whether its process cannot be seen from this one, which is on this host."""
        return (self.host, self.machine) != (host, machine_here())

    def is_ahead(self, now: float) -> bool:
        """Whether its sign of life is so far in the future that it tells no time."""
        return self.beat - now > timeout("stale")

    def is_alive(self, host: str, now: float) -> bool:
        """Whether it may still write, as far as can be seen from this host."""
        if now - self.beat > timeout("stale"):
            return False
        if self.is_elsewhere(host):
            return True
        if self.pid == os.getpid():
            return self.nonce in _held
        try:
            process = psutil.Process(self.pid)
            same: bool = abs(process.create_time() - self.started) < 1.0
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


def delete_all(folder: Folder) -> None:
    """Delete the checkpoints in a folder; CheckpointError: a run may write there."""
    names = header_names(folder)
    if not names:
        return
    claim = Claim(folder, RunId(f"of process {os.getpid()}, which begins anew"))
    for name in names:
        folder.delete(name)
    claim.release()


class Claim:
    """The claim of a run to a folder.

    Signs of life and checks may come from several threads.

    ``tag``: part of the names of the files that are written under this claim: no former
    owner, who may sleep and wake, has the same. "" if there was none.

    CheckpointError: another run writes there, or it cannot be written to.
    """

    def __init__(self, folder: Folder, run_id: RunId) -> None:
        self._folder = Folder(folder.source)  # a connection is for one thread
        self._lock = threading.Lock()
        self._left = False
        before = read_owner(folder)
        if before is not None and is_owned(folder, patient=True):
            raise CheckpointError(self._refusal(before))
        if before is None and NAME in folder.names():
            raise CheckpointError(
                f"expected {folder.label(NAME)} to be missing, or of dpbb, got another "
                "file, which is not written over: delete it, or choose another folder"
            )
        self._mine = Owner(
            uuid4().hex,
            run_id,
            folder.host,
            os.getpid(),
            started=psutil.Process().create_time(),
            beat=time.time(),
            generation=0 if before is None else before.generation + 1,
            machine=machine_here(),
        )
        self.tag = "" if before is None else self._mine.nonce[:8]
        self._beat(time.time())
        time.sleep(SETTLE_S)
        self._require_mine()
        _held.add(self._mine.nonce)

    def renew(self) -> None:
        """Give a sign of life; CheckpointError if somebody else took the folder."""
        with self._lock:
            if not self._left:
                self._require_mine()
                self._beat(time.time(), before=self._require_mine)

    def check(self) -> None:
        """Raise CheckpointError if somebody else took the folder."""
        with self._lock:
            self._require_mine()

    def release(self) -> None:
        """Note that the run is over; does nothing if the folder is another's by now."""
        with self._lock:
            if self._leave():
                self._folder.delete(NAME)

    def abandon(self) -> None:
        """Leave the folder to whoever goes on with its run, which was not ended."""
        with self._lock:
            if self._leave():
                self._beat(0.0)

    def _leave(self) -> bool:
        """Give no sign of life any more; returns whether the folder is still ours."""
        self._left = True
        _held.discard(self._mine.nonce)
        owner = read_owner(self._folder)
        return owner is not None and owner.nonce == self._mine.nonce

    def _beat(self, now: float, before: Callable[[], None] | None = None) -> None:
        owner = asdict(self._mine) | {"beat": now}
        self._folder.write(NAME, [json.dumps(owner).encode()], before)

    def _require_mine(self) -> None:
        owner = read_owner(self._folder)
        if (
            owner is not None
            and owner.nonce != self._mine.nonce
            and owner.generation >= self._mine.generation
        ):
            raise CheckpointError(self._refusal(owner))

    def _refusal(self, owner: Owner) -> str:
        url = self._folder.url
        return (
            f"expected a folder that no other run writes to, got {url}: run "
            f"{owner.run_id} on host {owner.host} (process {owner.pid}) gave a sign of "
            f"life {max(0.0, time.time() - owner.beat):.0f} s ago; stop that run, or "
            f"wait until it has been silent for {timeout('stale'):.0f} s, or, if you "
            f"know that it is dead, delete {self._folder.label(NAME)}"
        )


@cache
def machine_here() -> str:
    """Return the running kernel and the name space of its pids that this process is in.

    Two containers may have one host name; "" where the system does not say.
    """
    try:
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{kernel} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def read_owner(folder: Folder) -> Owner | None:
    """Who has the folder; None if nobody has, or the file cannot be understood."""
    if NAME not in folder.names():
        return None
    try:
        return Owner(**json.loads(folder.read(NAME)))
    except (CheckpointError, ValueError, TypeError):
        return None  # just deleted, or not ours: it protects nothing


def is_owned(folder: Folder, *, patient: bool = False) -> bool:
    """Whether somebody may still write there; watches one whose clock is ahead.

    ``patient``: watch one on another host or in another container, too, until it gives
    a sign of life or is stale: whether its process is gone cannot be seen from here.
    """
    owner = first = read_owner(folder)
    deadline = time.monotonic() + timeout("stale")
    while owner is not None and owner.is_alive(folder.host, time.time()):
        watched = owner.is_ahead(time.time()) or (
            patient and owner.is_elsewhere(folder.host)
        )
        if not watched or owner != first:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
        owner = read_owner(folder)
    return False
