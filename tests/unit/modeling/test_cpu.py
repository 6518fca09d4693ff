"""What is compiled of a text bounds every child as the text does, and counts alike."""

from dataclasses import replace

import numpy as np
import pytest

from dpbb.engines import explore_to_end, get_engine
from dpbb.modeling import cpu
from dpbb.options import SolveOptions
from dpbb.tree import WorkUnit
from dpbb.tree.branching import tree_of
from tests.models import KINDS, random_models
from tests.unit.modeling.test_model import best_cost

IN_LANES = {
    "ordering": True,
    "tardiness": False,
    "completion": True,
    "setups": True,
    "blocking": True,
    "matching": True,
    "tight": True,
}


def counted(problem, name, ub, order=None, cuts=()):
    """Decomposed nodes, leaves, closed subtrees and optima of a tree, in parts."""
    engine = get_engine(name)
    tree = tree_of(problem, SolveOptions(), ub)
    tree = replace(tree, root_order=order) if order else tree
    assert engine.supports(problem, tree) is None
    device = engine.devices(1)[0]
    session = engine.open(problem, tree, device, ub=ub, all_optima=True)
    session.load(WorkUnit.whole(problem.n_jobs))
    for most in cuts:
        session.donate(most)
    found = explore_to_end(session, ub, 0.2)
    session.close()
    counters = found.counters
    optima = {(leaf.value, *leaf.permutation.tolist()) for leaf in found.optima}
    return counters.decomposed, counters.leaves, counters.closed.tolist(), optima


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_reference(kind):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = random_models(rng)[kind]
        ub = best_cost(problem) + 1
        order = None if seed % 2 else tuple(rng.permutation(6).tolist())
        alone, together = (
            counted(problem, name, ub, order) for name in ("reference", "cpu")
        )
        assert alone == together


def test_a_tight_bound_prunes():
    models = random_models(np.random.default_rng(5), 7)
    ub = best_cost(models["tight"]) + 1
    plain = models["completion"]
    vars(plain).update(models["tight"].__getstate__())
    assert counted(models["tight"], "cpu", ub)[0] < counted(plain, "cpu", ub)[0]


def test_models_of_two_sizes_do_not_run_each_others_code():
    """Numba took functions of types of one name for one (every bound was wrong)."""
    for n_jobs in (3, 6):
        problem = random_models(np.random.default_rng(1), n_jobs + 1)["blocking"]
        ub = best_cost(problem) + 1
        assert counted(problem, "reference", ub) == counted(problem, "cpu", ub)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_taken_where_they_can_be(kind):
    problem = random_models(np.random.default_rng(0))[kind]
    assert cpu.form_of(problem.shape).in_lanes == IN_LANES[kind]


def test_values_of_more_than_16_bits_take_32():
    problem = random_models(np.random.default_rng(0))["blocking"]
    assert cpu.narrowest_dtype(problem, 1000) is np.int16
    wide = type(problem)(type(problem.instance)("large", problem.times * 3000))
    assert cpu.narrowest_dtype(wide, wide.trivial_ub) is np.int32
    ub = best_cost(wide) + 1
    assert counted(wide, "reference", ub) == counted(wide, "cpu", ub)
