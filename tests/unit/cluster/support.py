"""A cluster without Dask: a hub, a shell that takes notes, seats that explore."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np

from dpbb.cluster.rpc import FORGET, HINT, IMPROVE
from dpbb.cluster.scheduler.heuristics import Part
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.worker.exploration import Exploration, SeatControl, SeatStatus
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import Order
from dpbb.coordination.wire import decode, decode_report, encode
from dpbb.engines.reference import ReferenceEngine
from dpbb.errors import StaleLeaseError
from dpbb.options import TreeOptions, Tuning
from tests.oracle import TinyFlowShop
from tests.specs import run_spec


def tiny_spec(seed=0, n_jobs=6, n_machines=3, **options):
    """A run on a small random flow shop."""
    times = np.random.default_rng(seed).integers(1, 20, (n_jobs, n_machines))
    options.setdefault("tuning", Tuning(slice_s=1e-9))  # one node a slice
    return run_spec(
        run_id=uuid4().hex[:8], problem=TinyFlowShop(tuple(map(tuple, times.tolist()))),
        tree=TreeOptions(), **options,
    )  # fmt: skip


def seat_message(worker, kind="cpu", index=0, uuid=None, threads=1):
    """A seat as a worker announces it."""
    return {
        "id": f"{worker}/{kind}{index}", "kind": kind,
        "uuid": uuid or f"{worker}-{kind}{index}", "index": index, "threads": threads,
        "name": "test",
    }  # fmt: skip


class Clock:
    """A clock that the test turns."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@dataclass
class FakeShell:
    """Notes what the hub wants; keeps the futures that are out."""

    futures: dict = field(default_factory=dict)  # (run, unit, attempt): assignment
    released: list = field(default_factory=list)
    hints: list = field(default_factory=list)
    forgotten: list = field(default_factory=list)
    changes: list = field(default_factory=list)
    full: list = field(default_factory=list)  # wanted, hint by hint
    parts: list = field(default_factory=list)  # in the heuristics

    def submit(self, run_id, assignment, worker):
        key = (run_id, assignment.unit, assignment.attempt)
        assert key not in self.futures, "a key was used twice"
        self.futures[key] = assignment

    def release(self, run_id, assignment):
        self.futures.pop((run_id, assignment.unit, assignment.attempt), None)
        self.released.append(assignment)

    def send(self, worker, op, run_id, **message):
        if op == HINT:
            self.hints.append((worker, message.get("seat"), message.get("ub")))
            self.full.append(message.get("full", False))
        elif op == IMPROVE:
            part = Part(message["threads"], message["explorers"])
            jobs = message.get("permutation")
            known = None if jobs is None else tuple(np.frombuffer(jobs, "<u2").tolist())
            self.parts.append((worker, part, message["value"], known))
        else:
            assert op == FORGET
            self.forgotten.append((worker, run_id))

    def changed(self, run_id):
        self.changes.append(run_id)


class FakeLink:
    """A link that calls the hub, through the wire form; a test may break it."""

    def __init__(self, hub, run_id, clock, stop_after=None):
        self.control = SeatControl()
        self.reports = []
        self.orders = []
        self.seat_status = SeatStatus.OPEN
        self._hub, self._run_id, self._clock = hub, run_id, clock
        self._looks_left = stop_after

    def status(self):
        self._clock.now += 0.3
        if self._looks_left is not None:
            self._looks_left -= 1
            if self._looks_left < 0:
                return SeatStatus.CLOSED
        return self.seat_status

    def report(self, report):
        self.reports.append(report)
        report = decode_report(encode(report))
        run = self._hub.runs.get(self._run_id)
        checked = None
        if run is not None and report.has_roots:
            basis = run.coordinator.basis(report.lease, report.seq)
            checked = None if basis is None else check_report(basis, report)
        order = self._hub.on_report(self._run_id, report, checked)
        order = decode(Order, encode(order))
        self.orders.append(order)
        return order


class World:
    """A hub, its clock and its shell."""

    def __init__(self):
        self.clock = Clock()
        self.shell = FakeShell()
        self.hub = Hub(self.shell, self.clock)
        self.energy = lambda: None

    def join(self, worker, nthreads=1, host="", cores=0, **seat):
        seats = [seat_message(worker, **seat)]
        self.hub.hello(worker, nthreads, seats, host=host, cores=cores)

    def open(self, spec):
        self.hub.open(spec, b"")
        return self.hub.runs[spec.run_id]

    def work(self, spec, key, stop_after=None):
        """Run one future to its end, or to its death after some slices."""
        assignment = self.shell.futures.pop(key)
        link = FakeLink(self.hub, spec.run_id, self.clock, stop_after)
        try:
            lease = self.hub.lease(spec.run_id, assignment)
        except StaleLeaseError:
            lease = None
        all_optima = spec.options.all_optima
        if lease is not None:
            session = ReferenceEngine().open(
                spec.problem, spec.tree, None, ub=lease.ub, all_optima=all_optima
            )
            Exploration(spec, lease, session, link, self.clock, self.energy).run()
        self.hub.ended(spec.run_id, assignment, None)
        return link

    def finish(self, *specs):
        """Work, one future after the other, until the runs are over."""
        by_id = {spec.run_id: spec for spec in specs}
        while any(run_id in self.hub.runs for run_id in by_id):
            self.clock.now += 0.1
            self.hub.tick()
            keys = [key for key in self.shell.futures if key[0] in by_id]
            assert keys, "the runs go on, but nobody works"
            self.work(by_id[keys[0][0]], keys[0])


def whole_tree(spec):
    """Decomposed nodes and leaves of the tree at a fixed UB, in one session."""
    from dpbb.engines.base import explore_to_end
    from dpbb.tree.work_unit import WorkUnit

    session = ReferenceEngine().open(spec.problem, spec.tree, None, ub=spec.upper_bound)
    session.load(WorkUnit.whole(spec.problem.n_jobs))
    counters = explore_to_end(session, spec.upper_bound).counters
    return counters.decomposed, counters.leaves
