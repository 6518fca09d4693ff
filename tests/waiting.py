"""Jobs that wait for others, as a problem whose tree is not whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dpbb.problem import NO_CHILD
from tests.oracle import Partial


@dataclass(frozen=True)
class WaitingJobs:
    """Weighted completion times of jobs on one machine; some wait, some are urgent.

    Parameters
    ----------
    durations, weights, deadlines
        Of every job; an order in which a job ends later than its deadline is none.
    after
        Of every job those that have to be done before it.
    sides
        See ``dpbb.problem``.
    """

    durations: tuple[int, ...]
    weights: tuple[int, ...]
    deadlines: tuple[int, ...]
    after: tuple[frozenset[int], ...]
    sides: tuple[str, ...] = ("front", "back")
    name = "waiting-jobs"
    digest = ""

    @property
    def n_jobs(self):
        return len(self.durations)

    @property
    def trivial_ub(self):
        return sum(self.weights) * sum(self.durations) + 1

    def root_state(self):
        return Partial()

    def extend(self, state, job, *, back):
        assert ("front", "back")[back] in self.sides
        if back:
            return Partial(state.prefix, (job, *state.suffix))
        return Partial((*state.prefix, job), state.suffix)

    def child_bounds(self, state, jobs, *, back):
        return np.array([self.child_bound(state, int(job), back=back) for job in jobs])

    def child_bound(self, state, job, *, back):
        """Unscheduled jobs all end as if they were next."""
        child = self.extend(state, job, back=back)
        if not self.exists(child):
            return NO_CHILD
        now = sum(self.durations[j] for j in child.prefix)
        soon = sum(
            self.weights[j] * (now + self.durations[j]) for j in self.rest(child)
        )
        return self.cost(child) + soon

    def smith_bound(self, state, job, *, back):
        """Unscheduled jobs in the best order, as if none had to wait (Smith)."""
        child = self.extend(state, job, back=back)
        rest = self.rest(child)
        rest.sort(key=lambda j: (self.durations[j] / max(self.weights[j], 1e-9), j))
        return self.cost(Partial((*child.prefix, *rest, *child.suffix)))

    def evaluate(self, permutation):
        complete = Partial(tuple(int(job) for job in permutation))
        if not self.exists(complete):
            raise ValueError(f"expected an order of a leaf, got {complete.prefix}")
        return self.cost(complete)

    def rest(self, state):
        """Unscheduled jobs."""
        return sorted({*range(self.n_jobs)} - {*state.prefix, *state.suffix})

    def ends(self, state):
        """Scheduled jobs and their ends."""
        end = 0
        for job in state.prefix:
            end += self.durations[job]
            yield job, end
        end = sum(self.durations) - sum(self.durations[job] for job in state.suffix)
        for job in state.suffix:
            end += self.durations[job]
            yield job, end

    def exists(self, state):
        """Whether nobody is before whom he waits for, or late; a last job is placed."""
        rest = self.rest(state)
        if len(rest) == 1:
            return self.exists(Partial((*state.prefix, *rest, *state.suffix)))
        if any(end > self.deadlines[job] for job, end in self.ends(state)):
            return False
        order = (*state.prefix, *rest, *state.suffix)
        done = set()
        for job in order:
            if not self.after[job] <= done | (set(rest) if job in rest else set()):
                return False
            done.add(job)
        return True

    def cost(self, state):
        """Weighted completion times of the scheduled jobs."""
        return sum(self.weights[job] * end for job, end in self.ends(state))


@dataclass(frozen=True)
class TighterWaitingJobs(WaitingJobs):
    """The same with a stronger bound, of survivors only."""

    bound = "lb1"

    def tight_bound(self, state, job, *, back):
        return self.smith_bound(state, job, back=back)

    def tighten(self, state, jobs, bounds, ub, *, back):
        """Nothing is said of those that are pruned."""
        assert len(jobs) == len(bounds) == len(self.rest(state))
        return np.array(
            [
                self.tight_bound(state, int(job), back=back) if bound < ub else 0
                for job, bound in zip(jobs, bounds, strict=True)
            ]
        )


@st.composite
def waiting_jobs(draw, kind=WaitingJobs, max_jobs=6):
    """Draw a problem; in some there is no order at all."""
    n_jobs = draw(st.integers(2, max_jobs))
    rank = draw(st.permutations(range(n_jobs)))
    pairs = st.sets(st.tuples(*[st.integers(0, n_jobs - 1)] * 2), max_size=n_jobs)
    waits = {(i, j) for i, j in draw(pairs) if rank[i] < rank[j]}
    after = tuple(frozenset(i for i, k in waits if k == j) for j in range(n_jobs))
    numbers = st.tuples(*[st.integers(0, 9)] * n_jobs)
    durations, weights = draw(numbers), draw(numbers)
    tight = st.integers(max(durations), max(sum(durations), 1))
    late = tuple(draw(st.just(100) | tight) for _ in range(n_jobs))
    sides = draw(st.sampled_from((("front",), ("back",), ("front", "back"))))
    return kind(durations, weights, late, after, sides)
