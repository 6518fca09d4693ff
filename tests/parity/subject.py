"""The engines under test, and what the tests do with each of them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st

from dpbb.engines import explore_to_end, get_engine
from dpbb.engines.gpu import memory, steal
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import Tuning
from dpbb.tree import Counters, WorkUnit, n_leaves
from tests.intervals import less_exported
from tests.oracle import TinyFlowShop, problems, with_cascade, with_given_ends


@contextmanager
def shared_memory():
    """Leave device memory to the other processes that run tests, as long as entered."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        for module, name in (
            (memory, "MEMORY_SHARE"),
            (steal, "MEMORY_SHARE"),
            (steal, "PAGES_SHARE"),
        ):
            monkeypatch.setattr(module, name, getattr(module, name) / processes)
        yield


@dataclass(frozen=True)
class Spec:
    """An engine with its number of threads and the golden trees that it can take.

    Parameters
    ----------
    golden_limit, quick_limit
        Most decomposed nodes of a golden tree; those above the quick limit are slow.
    churned
        Golden trees that outlast several slices of ``slice_s`` seconds.
    shapes
        (n_jobs, n_machines) of random instances; None: any.
    tuning
        What the engine is opened with.
    """

    engine: str
    threads: int
    golden_limit: int
    quick_limit: int
    churned: tuple[tuple[str, int], ...]
    slice_s: float
    shapes: tuple[tuple[int, int], ...] | None = None
    tuning: Tuning | None = None


# What happens between slices is drawn from a seed, not from hypothesis: with threads
# the number of slices differs from run to run, and the number of draws must not.
SEEDS = st.integers(0, 2**32 - 1)

# every shape is compiled
SHAPES = ((1, 3), (2, 2), (3, 1), (4, 4), (5, 3), (6, 2), (7, 4))
CPU_TREES = (("ta030", 2178), ("ta042", 2867), ("ta050", 3065), ("ta081", 6090))

SPECS = {
    "reference": Spec(
        engine="reference", threads=1, golden_limit=100_000, quick_limit=2_000,
        churned=(("ta016", 1397), ("ta049", 2897), ("ta073", 5676)), slice_s=0.005,
    ),
    "cpu-1": Spec("cpu", 1, 20_000_000, 5_000_000, CPU_TREES, 0.003),
    "cpu-4": Spec("cpu", 4, 20_000_000, 500_000, CPU_TREES[::-3], 0.003),
    "pool": Spec(
        engine="pool", threads=2, golden_limit=20_000, quick_limit=2_000,
        churned=(("ta016", 1397),), slice_s=0.003, tuning=Tuning(pool_size=256),
    ),
    "gpu": Spec(
        engine="gpu", threads=1, golden_limit=10**12, quick_limit=10**12,
        churned=(("ta021", 2297), ("ta056", 3655), ("ta081", 6100), ("ta101", 11152)),
        slice_s=0.003, shapes=SHAPES,
    ),
    "gpu-steal": Spec(
        engine="gpu", threads=1, golden_limit=10**9, quick_limit=10**9,
        churned=(("ta030", 2178), ("ta056", 3655), ("ta081", 6100), ("ta101", 11152)),
        slice_s=0.003, shapes=SHAPES, tuning=Tuning(balance="steal", explorers=2048),
    ),
}  # fmt: skip


def obstacle(name):
    """Why an engine cannot run here; None: it can."""
    try:
        reason = get_engine(SPECS[name].engine).availability()
    except EngineUnavailable as error:
        return str(error)
    return reason and f"engine {SPECS[name].engine}: {reason}"


def params(names=tuple(SPECS)):
    """Parameters of a fixture: names of specs, marked."""
    marks = {"gpu": pytest.mark.gpu}
    return [
        pytest.param(name, id=name, marks=marks.get(SPECS[name].engine, ()))
        for name in names
    ]


@dataclass(frozen=True)
class Subject:
    """An engine that can run here."""

    spec: Spec
    engine: Any
    device: Any

    @classmethod
    def of(cls, name):
        """Return the subject, or skip the test and say why it cannot run here."""
        reason = obstacle(name)
        if reason is not None:
            pytest.skip(reason)
        spec = SPECS[name]
        engine = get_engine(spec.engine)
        return cls(spec, engine, engine.devices(spec.threads)[0])

    def problems(self, max_jobs=7):
        """Strategy of small problems, of shapes that the engine is tested on.

        Half of them have a cascade of bounds, some have given jobs at their ends.
        """
        shops = problems(max_jobs=max_jobs)
        if self.spec.shapes is not None:
            few = [shape for shape in self.spec.shapes if shape[0] <= max_jobs]
            shops = st.sampled_from(few).flatmap(lambda shape: problems(shape=shape))
        shops |= shops.flatmap(with_given_ends)
        return shops | shops.flatmap(with_cascade)

    @contextmanager
    def session(self, problem, tree, unit=None, **options):
        """Open a session and load the unit, by default the whole tree."""
        if isinstance(problem, TinyFlowShop):
            problem = shop_of(problem, tree.bound)
        assert self.engine.supports(problem, tree) is None
        session = self.engine.open(
            problem, tree, self.device, tuning=self.spec.tuning, **options
        )
        try:
            if unit is None:
                unit = WorkUnit.whole(problem.n_jobs)
            session.load(unit)
            yield session
        finally:
            session.close()

    def explore(
        self, problem, tree, ub=None, unit=None, *, slice_s=0.2, all_optima=False
    ):
        """Explore a unit to its end; without a ub from the trivial one."""
        options = {"ub": ub, "all_optima": all_optima}
        with self.session(problem, tree, unit, **options) as session:
            ub = problem.trivial_ub if ub is None else ub
            return explore_to_end(session, ub, slice_s)


def shop_of(tiny, bound):
    """Return a shop of the oracle as dpbb has it: given jobs are outside, in order."""
    shop = FlowShopInstance("tiny", (*tiny.front, *tiny.times, *tiny.back))
    first, last = len(tiny.front), shop.n_jobs - len(tiny.back)
    ends = tuple(range(first)), tuple(range(last, shop.n_jobs))
    return FlowShopProblem(shop, bound, *ends)


def churn(subject, problem, tree, ub, rng, *, slice_s, all_optima=False):
    """Explore a tree with random stops, donations and reloads.

    Every slice border is checked: the open roots are ordered, disjoint and inside what
    was loaded, and the closed leaves are those that are neither open nor given away.

    Returns
    -------
    counters : Counters
        Sum over the sessions, less what they exported (the z rule).
    best : Candidate or None
    n_sessions : int
    """
    n_jobs = problem.n_jobs
    total, best, n_sessions = Counters.zero(n_jobs), None, 0
    waiting = [WorkUnit.whole(n_jobs)]

    def take_waiting():
        return waiting.pop(rng.randrange(len(waiting)))

    while waiting:
        lease = take_waiting()  # what was loaded and not given away
        exported, counters = [], Counters.zero(n_jobs)
        n_sessions += 1
        with subject.session(
            problem, tree, lease, ub=ub, all_optima=all_optima
        ) as session:
            while True:
                if rng.random() < 0.3:
                    given = session.donate(rng.choice((0, 1, 2, 4096)))
                    given.check()
                    assert given.covered_by(lease).all()
                    lease = lease.subtract(given)
                    exported.append(given)
                    waiting += [given] if len(given) else []
                session.use_threads(rng.choice((None, 1, 2, 3)))
                part = session.advance(ub, slice_s)
                best = better(best, part.best)
                counters = counters.plus(part.decomposed, part.leaves, part.closed)
                rest = session.remaining()
                rest.check()
                assert rest.covered_by(lease).all()
                assert len(rest) == part.open_roots
                assert part.exhausted == (len(rest) == 0)
                assert counters.closed_leaves == lease.leaves - rest.leaves
                # the first session stops after one slice, so that there are others
                chance = 0.5 if part.exhausted else 0.1
                if n_sessions == 1 or rng.random() < chance:
                    exported.append(rest)
                    waiting += [rest] if len(rest) else []
                    break
                if waiting and rng.random() < 0.2:
                    more = take_waiting()
                    session.load(more)
                    lease = WorkUnit.concatenate([lease, more])
        total = total + less_exported(counters, *exported)
    assert total.closed_leaves == n_leaves(n_jobs)
    return total, best, n_sessions


def better(one, other):
    """Return the better of two candidates, either of which may be None."""
    found = [candidate for candidate in (one, other) if candidate is not None]
    return min(found, key=lambda candidate: candidate.value, default=None)
