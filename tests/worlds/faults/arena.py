"""A cluster on which everything goes wrong, as a seed says.

Two workers are processes with a nanny, which can be killed and frozen; guests are
workers in this process, which come, leave and are cut off within milliseconds. What the
scheduler hears of them is lost, repeated, late and out of order. The schedule of faults
is a function of the seed; how they meet the work is up to the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distributed import Client, LocalCluster, Nanny, Worker
from distributed.core import Status

from dpbb.cluster.rpc import HINT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from dpbb.coordination.messages import RunId

HOST = "127.0.0.1"
N_NANNIES = 2
MOST_GUESTS = 3
MOST_FAULTS = 6
"""So many faults a run: then it is left alone, or it might never end."""

MEAN_PAUSE_S = 0.15
"""Between two faults."""

OPERATIONS = ("dpbb_report", "dpbb_lease", "dpbb_spec")

KINDS = {
    "kill": 4, "kill all": 1, "freeze": 3, "restart": 1, "drain": 3, "join": 4,
    "leave": 3, "cut": 3,
}  # fmt: skip
"""Faults and how often they come, as weights."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How the network is during one run: probabilities for each message."""

    lost: float
    answer_lost: float
    late: float
    twice: float
    again: float
    hint_lost: float
    latest_s: float

    @classmethod
    def drawn(cls, rng: random.Random) -> Weather:
        """Draw fine or bad weather."""
        bad = rng.choice((0.0, 0.05, 0.2))
        return cls(
            lost=bad * rng.random(), answer_lost=bad * rng.random(),
            late=bad * rng.random(), twice=bad * rng.random(), again=bad * rng.random(),
            hint_lost=rng.choice((0.0, 0.3, 1.0)),
            latest_s=rng.choice((0.02, 0.1, 0.5)),
        )  # fmt: skip


class Network:
    """Stands before the scheduler's handlers and mistreats messages.

    Attributes
    ----------
    weather
        What happens to messages; None: nothing.
    n_mistreated
        Messages that something happened to.
    """

    def __init__(self, scheduler: Any) -> None:
        self.weather: Weather | None = None
        self.n_mistreated = 0
        self._rng = random.Random()  # noqa: S311 - no secret
        self._later: set[asyncio.Task[Any]] = set()
        for name in OPERATIONS:
            scheduler.handlers[name] = self._between(scheduler.handlers[name])
        plugin = scheduler.extensions["dpbb"]
        plugin.send = self._hints(plugin.send)

    def set(self, weather: Weather | None, seed: int = 0) -> None:
        """Change the weather."""
        self.weather = weather
        self._rng.seed(seed)

    async def close(self) -> None:
        """Deliver nothing any more."""
        for task in self._later:
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)

    def _happens(self, probability: float) -> bool:
        happens = self._rng.random() < probability
        self.n_mistreated += happens
        return happens

    def _between(
        self, handler: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        async def handle(**message: Any) -> Any:
            weather = self.weather
            if weather is None:
                return await handler(**message)
            if self._happens(weather.lost):
                raise ConnectionError("a message is lost: a fault of the campaign")
            if self._happens(weather.again):
                self._deliver_later(handler, message, weather)
            if self._happens(weather.late):
                await self._sleep(weather)
            if self._happens(weather.twice):  # both at once: the first one counts
                answers = await asyncio.gather(
                    handler(**message), handler(**message), return_exceptions=True
                )
                answer = self._rng.choice(answers)
                if isinstance(answer, BaseException):
                    raise answer
            else:
                answer = await handler(**message)
            if self._happens(weather.answer_lost):
                raise ConnectionError("an answer is lost: a fault of the campaign")
            return answer

        return handle

    def _deliver_later(
        self,
        handler: Callable[..., Awaitable[Any]],
        message: dict[str, Any],
        weather: Weather,
    ) -> None:
        """Deliver a copy when newer messages may have come: it may be the first."""

        async def deliver() -> None:
            await self._sleep(weather)
            with contextlib.suppress(OSError):
                await handler(**message)

        task = asyncio.create_task(deliver())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _sleep(self, weather: Weather) -> None:
        await asyncio.sleep(self._rng.uniform(0, weather.latest_s))

    def _hints(self, hint: Callable[..., None]) -> Callable[..., None]:
        def hand_on(worker: str, op: str, *args: Any, **kwargs: Any) -> None:
            weather = self.weather
            if weather is None or op != HINT or not self._happens(weather.hint_lost):
                hint(worker, op, *args, **kwargs)

        return hand_on


class Arena:
    """The cluster, its workers, and what can be done to them.

    Parameters
    ----------
    cluster, client
        A cluster without workers of its own, and its asynchronous client.
    """

    def __init__(self, cluster: Any, client: Any) -> None:
        self.client = client
        self.scheduler = cluster.scheduler
        self.network: Network | None = None
        self._address = cluster.scheduler_address
        self._nannies: list[Any] = []
        self._guests: list[Any] = []
        self._frozen: set[int] = set()
        self._deeds: dict[str, Callable[[random.Random], Awaitable[bool]]] = {
            "kill": self._kill, "kill all": self._kill_all, "freeze": self._freeze,
            "restart": self._restart, "drain": self._drain, "join": self._join,
            "leave": self._leave, "cut": self._cut,
        }  # fmt: skip

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls) -> AsyncIterator[Arena]:
        """Start the cluster; nothing of it is left at the end."""
        async with (
            LocalCluster(
                n_workers=0,
                host=HOST,
                dashboard_address=f"{HOST}:0",
                asynchronous=True,
                silence_logs=50,
            ) as cluster,
            Client(cluster, asynchronous=True, set_as_default=False) as client,
        ):
            arena = cls(cluster, client)
            try:
                await arena.repair()
                yield arena
            finally:
                await arena._close()

    def spoil_network(self) -> None:
        """Stand between workers and scheduler; there has been a run before."""
        self.network = Network(self.scheduler)

    async def repair(self) -> None:
        """Have all nannies up again, and no guest."""
        self._thaw_all()
        guests, self._guests = self._guests, []
        for guest in guests:
            with contextlib.suppress(OSError):
                await guest.close()
        alive = [n for n in self._nannies if n.status is Status.running]
        gone = [n for n in self._nannies if n not in alive]
        self._nannies = alive
        for nanny in gone:
            with contextlib.suppress(OSError, TimeoutError):
                await nanny.close(timeout=2)
        missing = N_NANNIES - len(alive)
        self._nannies += await asyncio.gather(
            *(Nanny(self._address, nthreads=1, silence_logs=50) for _ in range(missing))
        )

    async def storm(self, rng: random.Random, run_id: RunId, done: list[str]) -> None:
        """Do some faults, one after the other, as long as the run is open.

        What was done is added to ``done``.
        """
        hub = self.scheduler.extensions["dpbb"].hub
        for _ in range(rng.randint(2, MOST_FAULTS)):
            await asyncio.sleep(rng.expovariate(1 / MEAN_PAUSE_S))
            (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
            if run_id not in hub.runs:
                return
            if await self._deeds[kind](rng):
                done.append(kind)

    # -- deeds: each returns whether it could be done ------------------------------

    def _pids(self) -> list[int]:
        """Worker processes that run; all of them children of our own nannies."""
        pids = [n.pid for n in self._nannies if n.status is Status.running]
        return [pid for pid in pids if pid is not None and pid not in self._frozen]

    async def _kill(self, rng: random.Random) -> bool:
        pids = self._pids()
        if pids:
            _signal(rng.choice(pids), signal.SIGKILL)
        return bool(pids)

    async def _kill_all(self, rng: random.Random) -> bool:
        pids = self._pids()
        for pid in pids:
            _signal(pid, signal.SIGKILL)
        return bool(pids)

    async def _freeze(self, rng: random.Random) -> bool:
        """Stop a process for a moment: a hung engine, or a partition that heals."""
        pids = self._pids()
        if not pids:
            return False
        pid = rng.choice(pids)
        self._frozen.add(pid)
        _signal(pid, signal.SIGSTOP)
        seconds = rng.choice((0.2, 0.8, 1.6))
        asyncio.get_running_loop().call_later(seconds, self._thaw, pid)
        return True

    def _thaw(self, pid: int) -> None:
        if pid in self._frozen:
            self._frozen.discard(pid)
            _signal(pid, signal.SIGCONT)

    def _thaw_all(self) -> None:
        for pid in list(self._frozen):
            self._thaw(pid)

    async def _restart(self, rng: random.Random) -> bool:
        self._thaw_all()  # Dask would wait for the frozen ones
        with contextlib.suppress(TimeoutError, OSError, RuntimeError):
            await self.client.restart(timeout=20, wait_for_workers=False)
        return True

    async def _drain(self, rng: random.Random) -> bool:
        """Retire a worker, and its nanny with it."""
        addresses = sorted(self.scheduler.workers)
        if not addresses:
            return False
        await self.client.retire_workers([rng.choice(addresses)])
        return True

    async def _join(self, rng: random.Random) -> bool:
        self._guests = [g for g in self._guests if g.status is Status.running]
        if len(self._guests) >= MOST_GUESTS:
            return False
        self._guests.append(await Worker(self._address, nthreads=rng.randint(1, 2)))
        return True

    def _take_guest(self, rng: random.Random) -> Any:
        guests = [g for g in self._guests if g.status is Status.running]
        if not guests:
            return None
        guest = rng.choice(guests)
        self._guests.remove(guest)
        return guest

    async def _leave(self, rng: random.Random) -> bool:
        guest = self._take_guest(rng)
        if guest is not None:
            await guest.close()
        return guest is not None

    async def _cut(self, rng: random.Random) -> bool:
        """Break a worker's connection: the scheduler gives it up, it goes on a bit."""
        guests = [g for g in self._guests if g.status is Status.running]
        if not guests:
            return False
        comm = self.scheduler.stream_comms.get(rng.choice(guests).address)
        if comm is not None:
            comm.abort()
        return comm is not None

    async def _close(self) -> None:
        self._thaw_all()
        if self.network is not None:
            self.network.set(None)
            await self.network.close()
        closing = [guest.close() for guest in self._guests]
        closing += [nanny.close(timeout=5) for nanny in self._nannies]
        await asyncio.gather(*closing, return_exceptions=True)


def _signal(pid: int, number: int) -> None:
    """Signal a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
