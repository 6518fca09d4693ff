"""A search compiled for a model: the CPU engine explores what is no flow shop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
import pytest

from dpbb import problems
from dpbb.engines.base import explore_to_end
from dpbb.engines.registry import get_engine
from dpbb.errors import EngineUnavailable
from dpbb.kernels import models
from dpbb.kernels.pairs import FRONT_BITS, GROUP_JOBS, PAIR_LANES
from dpbb.kernels.simd import blend, load, splat
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree import WorkUnit

if TYPE_CHECKING:
    from dpbb.kernels.pointers import Ints, Lanes


@dataclass(frozen=True)
class Places:
    """Cost of a permutation: the sum of ``costs[job][position]``."""

    costs: tuple[tuple[int, ...], ...]
    name = "places"

    @property
    def n_jobs(self):
        return len(self.costs)

    @property
    def digest(self):
        return str(self.costs)

    @property
    def trivial_ub(self):
        return sum(map(max, self.costs)) + 1

    def root_state(self):
        return 0, 0, 0  # cost so far, jobs of the prefix, jobs of the suffix

    def child_bounds(self, state, jobs, *, back):
        cost, prefix, suffix = state
        place = -1 - suffix if back else prefix
        return np.array([cost + self.costs[job][place] for job in jobs])

    def extend(self, state, job, *, back):
        bound = int(self.child_bounds(state, [job], back=back)[0])
        return bound, state[1] + (not back), state[2] + back

    def evaluate(self, permutation):
        return sum(int(self.costs[job][i]) for i, job in enumerate(permutation))


class PlacesModel(NamedTuple):
    """A node is a state; row k of a job table has places k from the front and back."""

    n_jobs: int
    node_lanes: int
    scratch_lanes: int
    height: int
    cost_ints: int
    root_bound: int
    costs: Ints  # (n, n)
    root: Lanes

    @staticmethod
    def obstacle(problem):
        return None

    @staticmethod
    def narrowest_dtype(problem, ub):
        return np.int16

    @classmethod
    def of(cls, problem, root_order, dtype):
        n = problem.n_jobs
        root = np.zeros(PAIR_LANES, dtype)
        costs = np.array(problem.costs)[list(root_order or range(n))]
        return cls(n, PAIR_LANES, 1, n, 1, 0, np.ascontiguousarray(costs), root)

    def job_table(self, slots):
        table = np.zeros((self.height, slots, 2), np.int16)
        table[:, : self.n_jobs] = np.stack([self.costs.T, self.costs.T[::-1]], axis=2)
        return table

    def step(self, nodes, at, children, to, scratch, job, side):
        place = nodes[at + 1] if side == 0 else self.n_jobs - 1 - nodes[at + 2]
        children[to] = nodes[at] + self.costs[job * self.n_jobs + place]
        children[to + 1] = nodes[at + 1] + 1 - side
        children[to + 2] = nodes[at + 2] + side

    def prepare(self, nodes, at, scratch):
        scratch[0] = 0

    def bounds(self, nodes, at, scratch, columns, start, stride, like):
        front = load(columns, start + nodes[at + 1] * stride, like)
        back = load(columns, start + nodes[at + 2] * stride, like)
        return splat(nodes[at], like) + blend(FRONT_BITS, front, back)

    def gather(self, jobs, first, groups, columns, start):
        for slot in range(GROUP_JOBS * groups):
            job = jobs[first + slot]
            for k in range(self.n_jobs):
                lane = start + k * PAIR_LANES * groups + 2 * slot
                columns[lane] = self.costs[job * self.n_jobs + k]
                columns[lane + 1] = self.costs[(job + 1) * self.n_jobs - 1 - k]

    def cost(self, jobs, first, scratch):
        total = 0
        for place in range(self.n_jobs):
            total += self.costs[jobs[first + place] * self.n_jobs + place]
        return total


@pytest.fixture
def family(monkeypatch):
    path = f"{__name__}:PlacesModel"
    models = {("cpu", "lb1"): path}
    family = problems.Family(lambda data: None, models, Places)
    monkeypatch.setitem(problems.FAMILIES, "places", family)


def explored(engine, problem, tree, ub):
    session = get_engine(engine).open(
        problem, tree, get_engine(engine).devices(1)[0], ub=ub
    )
    try:
        session.load(WorkUnit.whole(problem.n_jobs))
        total = explore_to_end(session, ub)
    finally:
        session.close()
    best = total.best and (total.best.value, tuple(total.best.permutation))
    counters = total.counters
    return best, counters.decomposed, counters.leaves, tuple(counters.closed)


@pytest.mark.usefixtures("family")
@pytest.mark.parametrize("n_jobs", [5, 19])
def test_a_model_is_all_that_the_engine_needs(n_jobs):
    """Trees of one tile and of more, and of tables that are built on the way."""
    rng = np.random.default_rng(n_jobs)
    costs = rng.integers(0, 100, (n_jobs, n_jobs))
    costs[np.diag_indices(n_jobs)] //= 20
    problem = Places(tuple(map(tuple, costs.tolist())))
    ub = int(np.trace(costs)) + 2
    for rule in (BranchingRule.MINMIN, BranchingRule.MAXSUM):
        order = tuple(rng.permutation(n_jobs).tolist())
        tree = TreeOptions(rule, root_order=order)
        (best, _), *_ = explored("reference", problem, tree, ub)
        (found, _), *_ = explored("cpu", problem, tree, ub)
        assert found == best
        expected = explored("reference", problem, tree, best)
        assert explored("cpu", problem, tree, best) == expected
        assert expected[1] > n_jobs


class Misspelt(NamedTuple):
    """A model with a dearer bound, one of whose functions has another name."""

    tighten_lanes: int

    def tightns(self, depth):
        return True

    def tighten(self, *others):
        return None


class WithoutField(NamedTuple):
    """Its field has another name."""

    tighten_lane: int

    def tightens(self, depth):
        return True


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Misspelt(1), "has no attribute 'tightens'"),
        (WithoutField(1), "expected a field tighten_lanes of WithoutField"),
    ],
)
def test_a_misspelt_part_of_a_dearer_bound_is_an_error(model, words):
    """It would be explored without that bound: another tree."""
    with pytest.raises(Exception, match=words):
        numba.njit(lambda model: models.tightens(model, 1))(model)


@pytest.mark.usefixtures("family")
def test_costs_below_0_are_refused(monkeypatch):
    """Lanes of the engine hold 0 and more; a bound below it would count as 0."""
    problem = Places(((1, 2), (3, 4)))
    of = PlacesModel.of
    monkeypatch.setattr(
        PlacesModel, "of", lambda *given: of(*given)._replace(root_bound=-1)
    )
    with pytest.raises(EngineUnavailable, match=r"costs from 0 on, places has .* -1"):
        explored("cpu", problem, TreeOptions(), 9)


def test_without_a_model_it_is_refused():
    problem = Places(((1, 2), (3, 4)))
    assert "no model of places" in get_engine("cpu").supports(problem, TreeOptions())
