"""The seats that workers have announced, and which run each one serves.

A device is one seat, however many processes see it: without care, eight workers of one
host all find the same GPUs. Workers that see the same ones share them, each as many as
the others; a worker for which none is left keeps surplus seats, which stay idle until
the holder goes. Plain bookkeeping, nothing of Dask.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpbb.coordination.messages import RunId, Seat, SeatId
from dpbb.engines.base import Device

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class SeatState:
    """A seat and whom it serves."""

    id: SeatId
    worker: str
    device: Device
    run: RunId | None = None
    name: str = ""  # for people

    def for_run(self, engines: Mapping[str, str]) -> Seat:
        """Return the seat as a run's coordinator knows it."""
        engine = engines[self.device.kind]
        return Seat(self.id, self.worker, self.device, engine, self.name)


@dataclass(slots=True, eq=False)
class WorkerSeats:
    """What one worker announced."""

    nthreads: int
    seats: list[SeatState]
    surplus: list[SeatState] = field(default_factory=list)
    leaving: bool = False  # no new work: it is about to close
    host: str = ""
    cores: int = 0  # that the worker may use on its host; 0: it does not say so

    @property
    def n_gpus(self) -> int:
        """How many of its seats are GPUs."""
        return sum(seat.device.kind == "cuda" for seat in self.seats)

    def serving(
        self, engines: Mapping[str, str], excluded: Collection[SeatId] = ()
    ) -> list[SeatState]:
        """Seats that a run with these engines by kind of device can use.

        One that can use both takes the GPUs of a worker and leaves its cores to feed
        them, but for those that are ``excluded``: without a GPU the cores serve.
        """
        fitting = [
            seat
            for seat in self.seats
            if seat.device.kind in engines and seat.id not in excluded
        ]
        gpus = [seat for seat in fitting if seat.device.kind == "cuda"]
        return gpus or fitting


class SeatTable:
    """All announced seats."""

    def __init__(self) -> None:
        self.workers: dict[str, WorkerSeats] = {}
        self.seats: dict[SeatId, SeatState] = {}
        self.gpus: dict[str, SeatState] = {}  # seats of GPUs by UUID
        self.moved_up = False  # surplus seats became usable; reset by who looks

    def announce(
        self,
        worker: str,
        nthreads: int,
        seats: Iterable[Mapping[str, Any]],
        *,
        host: str = "",
        cores: int = 0,
        name: str = "",
    ) -> list[SeatId]:
        """Take in a worker's seats; returns those that are surplus.

        Parameters
        ----------
        seats
            Messages with ``id`` and the fields of ``Device``.
        host, cores
            See ``WorkerSeats``.
        name
            The worker's name, as Dask shows it; default: its address.
        """
        entry = WorkerSeats(nthreads, [], host=host, cores=cores)
        self.workers[worker] = entry
        for message in seats:
            device = Device(**{k: v for k, v in message.items() if k != "id"})
            label = f"{name or worker}/{device.kind}{device.index}"
            seat = SeatState(SeatId(message["id"]), worker, device, name=label)
            if self._can_hold(entry, device):
                self._hold(entry, seat)
            else:
                entry.surplus.append(seat)
        if entry.surplus and not entry.n_gpus:
            logger.warning(
                "the GPU seats of worker %s stay idle: other workers already explore "
                "on %s; give each worker a GPU of its own (CUDA_VISIBLE_DEVICES, or "
                "dask-cuda)",
                worker,
                ", ".join(f"device {seat.device.uuid}" for seat in entry.surplus),
            )
        return [seat.id for seat in entry.surplus]

    def why_none(
        self, engines: Mapping[str, str], excluded: Collection[SeatId] = ()
    ) -> str:
        """Why a run with these engines by kind of device has no seat.

        Up to the colon it says so in a few words.
        """
        wanted = " or ".join(
            f"engine {engine} (a {kind} device)" for kind, engine in engines.items()
        )
        kinds = Counter(seat.device.kind for seat in self.seats.values())
        there = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        if not self.workers:
            return (
                "no workers connected: the run waits for one that can explore with "
                f"{wanted}"
            )
        fitting = [
            entry for entry in self.workers.values() if entry.serving(engines, excluded)
        ]
        if not fitting:
            return (
                f"no seat can explore with {wanted}: seats of {len(self.workers)} "
                f"worker(s) are {there or 'none'}; start fitting workers, or stop the "
                "run and choose another engine"
            )
        if all(entry.leaving for entry in fitting):
            return (
                f"every worker that can explore with {wanted} is about to close: the "
                f"run waits for another ({there})"
            )
        return f"all workers that can explore with {wanted} serve other runs: {there}"

    def _can_hold(self, entry: WorkerSeats, device: Device) -> bool:
        """Whether the worker gets the device, perhaps from one that has too many."""
        if device.kind != "cuda":
            return True
        seat = self.gpus.get(device.uuid)
        if seat is None:
            return True
        holder = self.workers[seat.worker]
        if seat.run is not None or holder.n_gpus <= entry.n_gpus + 1:
            return False
        holder.seats.remove(seat)
        holder.surplus.append(seat)
        del self.seats[seat.id]
        return True

    def _hold(self, entry: WorkerSeats, seat: SeatState) -> None:
        entry.seats.append(seat)
        self.seats[seat.id] = seat
        if seat.device.kind == "cuda":
            self.gpus[seat.device.uuid] = seat

    def remove(self, worker: str) -> list[SeatState]:
        """Forget a worker; returns its seats. Surplus seats of others move up."""
        entry = self.workers.pop(worker, None)
        if entry is None:
            return []
        for seat in entry.seats:
            del self.seats[seat.id]
            self.gpus.pop(seat.device.uuid, None)
        free = {seat.device.uuid for seat in entry.seats if seat.device.kind == "cuda"}
        for other in self.workers.values():
            for seat in list(other.surplus):
                if seat.device.uuid in free:
                    free.discard(seat.device.uuid)
                    other.surplus.remove(seat)
                    self._hold(other, seat)
                    self.moved_up = True
        return entry.seats

    def leaving(self) -> list[str]:
        """Workers that were retired and are still there."""
        return [name for name, entry in self.workers.items() if entry.leaving]

    def usable_by(
        self, engines: Mapping[str, str], excluded: Collection[SeatId] = ()
    ) -> list[SeatState]:
        """Seats that a run with these engines by kind of device can use now."""
        return [
            seat
            for entry in self.workers.values()
            if not entry.leaving
            for seat in entry.serving(engines, excluded)
        ]
