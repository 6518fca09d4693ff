"""A subclass of the flow shop is a problem of its own, wherever it goes.

Its optimum is compared with brute force by the oracle, which knows nothing of it.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest

import dpbb
from dpbb import problems
from dpbb.engines.registry import choose_engine, get_engine
from dpbb.errors import EngineUnavailable, InstanceError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import TreeOptions
from dpbb.problem import (
    NO_CHILD,
    Scheduled,
    best_known_of,
    bound_of,
    cost_of,
    kinds_of,
    proving_bound,
)
from dpbb.problems import model_of
from dpbb.proof.checker import FALSE
from dpbb.proof.verify import verify
from tests import oracle

HERE = {"workers": 0, "verbosity": "quiet"}
SEEDS = range(6)


@dataclass(frozen=True)
class Waiting(FlowShopProblem):
    """A job waits for another one: job ``pair[1]`` for ``pair[0]``."""

    pair: tuple[int, int] = (0, 1)

    def child_bounds(self, state, jobs, *, back):
        bounds = super().child_bounds(state, jobs, back=back).copy()
        first, then = self.pair
        other, here = (first, then) if back else (then, first)
        if here in jobs:
            bounds[jobs == other] = NO_CHILD
        return bounds

    def best(self):
        """Least makespan of all orders that there are, by brute force."""
        times, (first, then) = self.instance.times.tolist(), self.pair
        orders = permutations(range(len(times)))
        return min(
            oracle.makespan(times, order)
            for order in orders
            if order.index(first) < order.index(then)
        )


def waiting(seed, n_jobs=6, kind=Waiting):
    """Return a random shop; jobs 0 and 2 are equal."""
    times = np.random.default_rng(seed).integers(1, 30, (n_jobs, 3))
    times[2] = times[0]
    return kind(FlowShopInstance("shop", times))


def holds(problem, result):
    """Whether a result is the true optimum, of an order that there is."""
    first, then = problem.pair
    order = list(result.permutation)
    proved = result.status is dpbb.Status.OPTIMAL
    waits = order.index(first) < order.index(then)
    return proved and waits and result.makespan == problem.best()


@pytest.mark.parametrize("heuristics", ["auto", "none"])
def test_its_optimum_is_that_of_brute_force(heuristics):
    shops = [waiting(seed) for seed in SEEDS]
    found = [dpbb.solve(one, heuristics=heuristics, **HERE) for one in shops]
    assert all(map(holds, shops, found))
    plain = [oracle.best_orders(one.instance.times.tolist())[0] for one in shops]
    assert any(one.best() > value for one, value in zip(shops, plain, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "from-below"}, {"branching": "front"}, {"branching": "back"},
        {"branching": "alternate"}, {"all_optima": True},
    ],
    ids=lambda options: "-".join(map(str, *options.items())),
)  # fmt: skip
def test_so_it_is_in_any_tree(options):
    for shop in map(waiting, SEEDS[:4]):
        assert holds(shop, dpbb.solve(shop, **options, **HERE))


def test_two_machine_bounds_of_the_class_tighten_its_own():
    shops = [Waiting(waiting(seed).instance, "lb2") for seed in SEEDS[:4]]
    assert all(holds(shop, dpbb.solve(shop, **HERE)) for shop in shops)


@pytest.mark.parametrize("name", ["cpu", "gpu", "pool"])
def test_no_compiled_engine_takes_it(name, monkeypatch):
    shop = waiting(0)
    engine = get_engine(name)
    assert engine.supports(FlowShopProblem(shop.instance), TreeOptions()) is None
    assert "Waiting" in engine.supports(shop, TreeOptions())
    monkeypatch.setattr(type(engine), "availability", lambda _self: None)
    with pytest.raises(EngineUnavailable, match="Waiting"):
        choose_engine(name, shop, TreeOptions())
    if name != "gpu":  # that needs a cluster
        with pytest.raises(EngineUnavailable, match="Waiting"):
            dpbb.solve(shop, engine=name, **HERE)


def test_the_name_of_a_kind_does_not_stand_for_its_class():
    """Be it a subclass that is called so, or any other class."""

    class Renamed(Waiting):
        name = "flowshop-makespan"

    class Other(oracle.TinyFlowShop):
        pass

    other = Other(((1, 2), (3, 4)))
    object.__setattr__(other, "name", "flowshop-makespan")
    for problem in waiting(0, kind=Renamed), other:
        for engine in "cpu", "cuda":
            assert model_of(problem, engine, "lb1") is None


def test_what_holds_of_flow_shops_alone_is_not_inherited():
    shop = Waiting(dpbb.read_instance("ta001"))
    plain = FlowShopProblem(shop.instance)
    own = "Encodable EvaluatesAll HasBounds HasHeuristics ImprovesSchedules InsertsJobs"
    for capability in (getattr(dpbb.problem, name) for name in own.split()):
        assert isinstance(plain, capability)
        assert not isinstance(shop, capability)
    assert best_known_of(plain) is not None
    assert best_known_of(shop) is None
    assert proving_bound(shop) < proving_bound(plain)
    assert kinds_of(waiting(0)) is None
    assert kinds_of(FlowShopProblem(waiting(0).instance)) is not None
    assert isinstance(shop, Scheduled)
    assert bound_of(shop) == "lb1"


def test_an_order_that_does_not_exist_has_no_cost():
    shop = waiting(0)
    assert cost_of(shop, np.arange(6)) == oracle.makespan(
        shop.instance.times.tolist(), range(6)
    )
    with pytest.raises(OptionError, match="job 1"):
        cost_of(shop, np.arange(6)[::-1])
    with pytest.raises(OptionError, match="job 1"):
        dpbb.solve(shop, initial=range(6)[::-1], **HERE)


def test_it_travels_with_all_that_it_is_made_of():
    shop = Waiting(waiting(0).instance, "lb2", pair=(3, 4))
    again = pickle.loads(pickle.dumps(shop))  # noqa: S301
    assert type(again) is Waiting
    assert (again.pair, again.bound, again.digest) == ((3, 4), "lb2", shop.digest)
    assert again.best() == shop.best()


def test_a_certificate_needs_a_decoder_of_its_own(tmp_path, monkeypatch):
    path = str(tmp_path / "proof.json")
    with pytest.raises(OptionError, match="encode"):
        dpbb.solve(waiting(2), certificate=path, **HERE)

    class Encoded(Waiting):
        def encode(self):
            return {"times": self.instance.times.tolist(), "pair": list(self.pair)}

    def decode(data):
        return Encoded(FlowShopInstance("shop", data["times"]), pair=(*data["pair"],))

    monkeypatch.setitem(problems.DECODERS, "Encoded", decode)
    shop = waiting(2, kind=Encoded)
    assert holds(shop, dpbb.solve(shop, certificate=path, **HERE))
    assert verify(path, instance=shop).verdict != FALSE
    for other in FlowShopProblem(shop.instance), waiting(2):
        assert verify(path, instance=other).verdict == FALSE


def test_a_method_of_one_object_alone_is_refused():
    shop = FlowShopProblem(waiting(0).instance)
    object.__setattr__(shop, "child_bounds", lambda *_args, **_how: None)
    for use in (
        lambda: dpbb.solve(shop, **HERE),
        lambda: dpbb.heuristic(shop, time_limit_s=0.1),
        lambda: dpbb.estimate(shop, upper_bound=100),
        lambda: dpbb.evaluate(shop, range(6)),
    ):
        with pytest.raises(InstanceError, match="child_bounds"):
            use()
