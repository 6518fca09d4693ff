"""Given ends of flow shops with dates, set-ups and other objectives."""

import copy
from itertools import product

import numpy as np
import pytest

import dpbb
from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop.models.sums_cuda import serves
from dpbb.flowshop.pyjobshop import pyjobshop_model
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.problem import Incumbent, StartSearch, kinds_of, part_of, with_ends
from dpbb.problems import decoded, encoded
from dpbb.proof.verify import verify
from dpbb.testing import check_model
from tests.models import HERE
from tests.quick import some_slow
from tests.unit.flowshop.shops import KINDS, costs_of, on_cpu, random_shop
from tests.unit.modeling.test_cpu import counted

FRONT, BACK = (3,), (0, 4)


def drawn(kind, objective, seed):
    """A shop, the orders with these ends, and what they cost by the definition."""
    rng = np.random.default_rng(seed)
    shop, how = random_shop(rng, kind, objective, bool(seed % 2), (6, 3))
    orders, costs = costs_of(shop, objective, how)
    fits = (orders[:, :1] == FRONT).all(axis=1) & (orders[:, 4:] == BACK).all(axis=1)
    return shop, orders[fits], costs[fits]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_optima_are_those_of_brute_force(kind, objective):
    shop, orders, costs = drawn(kind, objective, len(kind))
    problem = shop.with_ends(FRONT, BACK)
    assert (problem.evaluate_all(orders) == costs).all()
    result = dpbb.solve(shop, front=FRONT, back=BACK, **HERE)
    assert result.makespan == costs.min()
    assert [*result.permutation] in orders[costs == costs.min()].tolist()


LAWFUL = ("setups", "makespan"), ("late setups", "late-jobs"), ("blocking", "makespan")


@pytest.mark.parametrize(("kind", "objective"), LAWFUL)
def test_laws_hold(kind, objective):
    shop = drawn(kind, objective, 1)[0]
    for ends in (FRONT, BACK), ((), BACK), (FRONT, ()):
        check_model(shop.with_ends(*ends), nodes=10, engines=())


EACH = [*product(KINDS, OBJECTIVES)]


@pytest.mark.parametrize(("kind", "objective"), some_slow(EACH, {*EACH} - {LAWFUL[0]}))
def test_the_compiled_search_counts_as_the_reference(kind, objective):
    for seed in (1, 3):
        shop, orders, costs = drawn(kind, objective, seed)
        problem = shop.with_ends(FRONT, BACK)
        ub = int(costs.min()) + 1
        found = on_cpu(problem, ub)
        assert found == counted(problem, "reference", ub)
        optima = {(ub - 1, *order) for order in orders[costs < ub].tolist()}
        assert found[3] == optima or kinds_of(problem) is not None


def test_a_certificate_is_of_the_problem_with_its_ends(tmp_path):
    shop, orders, costs = drawn("lags", "total-tardiness", 2)
    path = tmp_path / "ends.json"
    how = {"all_optima": True, "certificate": path, **HERE}
    result = dpbb.solve(shop, front=FRONT, back=BACK, **how)
    assert {*result.optima} == {*map(tuple, orders[costs == costs.min()].tolist())}
    again = verify(path, engine="reference")
    assert again.ok, again.summary()
    assert again.instance.endswith(", given front 3, given back 0 4")
    how = {"engine": "reference", "measure": False}
    guess = dpbb.estimate(shop, front=FRONT, back=BACK, **how)
    assert guess.upper_bound >= costs.min()


def test_heuristics_keep_what_is_given():
    shop, orders, costs = drawn("setups", "total-completion", 1)
    problem, told = shop.with_ends(FRONT, BACK), []
    order = tuple(orders[-1].tolist())
    search = StartSearch(
        "ig", time_limit_s=9, iterations=30, initial=order, on_improvement=told.append
    )
    found = problem.first_incumbent(search)
    assert found.value == costs.min()
    for one in found, *told:
        assert isinstance(one, Incumbent)
        assert one.permutation.tolist() in orders.tolist()
        assert problem.evaluate(one.permutation) == one.value
    alone = shop.with_ends((*FRONT, 1, 2), BACK)
    best = alone.first_incumbent(StartSearch())
    assert best.permutation.tolist() == [3, 1, 2, 5, 0, 4]


def test_it_travels_and_is_decoded():
    shop = dpbb.FlowShop([[3, 4]] * 6, objective="total-completion", blocking=True)
    problem = shop.with_ends(FRONT, BACK)
    assert problem.job_kinds.tolist() == [6, 0, 0, 9, 10, 0]
    assert shop.with_ends((), ()) is shop
    digests = {shop.digest, shop.with_ends((), (0, 4)).digest}
    others = [
        ((0, 4), ()),
        ((), (4, 0)),
        ((3, 0), (4,)),
        ((), (3, 0, 4)),
        (FRONT, BACK),
    ]
    assert len(digests | {shop.with_ends(*ends).digest for ends in others}) == 7
    for other in (
        copy.deepcopy(problem),
        decoded(encoded(problem)),
        problem.with_names(problem.names),
        problem.with_bound("model"),
    ):
        assert (other.digest, other.given.back) == (problem.digest, BACK)
        assert other.sides == ("front",)
    with pytest.raises(InstanceError, match="it is another one"):
        decoded({**encoded(problem), "front": [1]})
    assert serves(dpbb.FlowShop(shop.instance, objective="total-completion"))
    assert not serves(problem)
    assert "absent" in problem.for_costs().text.sources
    assert repr(problem).startswith("GivenFlowShop('")


def test_jobs_may_be_named_and_are_whole_sequences(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("job,cut,weld,due\nA,3,2,5\nB,4,1,6\nC,1,1,1\n")
    shop = dpbb.read_problem(path, objective="late-jobs")
    problem = with_ends(shop, ["B"], [])
    assert part_of(problem, [1, 2, 0]) == (1, 2, 0)
    with pytest.raises(OptionError, match="initial: expected a sequence that begins"):
        part_of(problem, [2, 1, 0], "initial")
    with pytest.raises(OptionError, match="initial: expected all 3 jobs, the given on"):
        part_of(problem, [2, 0], "initial")
    with pytest.raises(ValueError, match="begins and ends with the given jobs"):
        problem.evaluate(np.array([2, 1, 0]))
    assert part_of(shop, [2, 1, 0]) == (2, 1, 0)


def test_what_cannot_be_given_is_refused():
    pytest.importorskip("pyjobshop")
    shop = dpbb.FlowShop([[1, 2]] * 3, blocking=True)
    for ends, message in (
        (((3,), ()), r"front: expected jobs 0 to 2, got 3"),
        (((1,), (1,)), r"back: expected every given job once, got job 1 again"),
        (((1, 0), (2,)), r"expected at least one of 3 jobs between them"),
    ):
        with pytest.raises(InstanceError, match=message):
            shop.with_ends(*ends)
    problem = shop.with_ends((1,), ())
    with pytest.raises(InstanceError, match=r"without given ends, got .*, given front"):
        problem.with_ends((0,), ())
    with pytest.raises(OptionError, match="model with given ends, got 'matching'"):
        problem.with_bound("matching")
    with pytest.raises(OptionError, match="model with given ends, got matching"):
        shop.with_bound("matching").with_ends((1,), ())
    with pytest.raises(InstanceError, match="a flow shop without given ends, got "):
        pyjobshop_model(problem)

    class Own(dpbb.FlowShop):
        pass

    with pytest.raises(OptionError, match="given ends, such as a flow shop, got one"):
        with_ends(Own([[1, 2]] * 3), [1], [])
