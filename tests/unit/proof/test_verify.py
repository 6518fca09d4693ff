"""Claims that the bound of the root proves: no tree, and nothing to explore again."""

import copy

import numpy as np
import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.bounds import MOST_STEPS
from dpbb.problem import proving_bound
from dpbb.proof import checker, exploring
from dpbb.proof.certificate import Certificate, books_of_root
from dpbb.proof.verify import verify

QUIET = {"verbosity": "quiet", "engine": "reference"}
TWO = np.random.default_rng(4).integers(1, 9, (30, 2))


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """Content of the certificate of a shop of two machines."""
    path = tmp_path_factory.mktemp("root") / "root.json.gz"
    result = dpbb.solve(TWO, certificate=str(path), **QUIET)
    assert (result.status, result.proof) == ("optimal", "root_bound")
    assert result.decomposed == 0
    return Certificate.read(path).content


def test_it_is_proved_again_by_both(proved, both):
    verdict, text = both(proved)
    assert verdict == checker.PROVED
    assert text.count("the whole tree, 1 unit, has 1 nodes") == 2


def test_it_tells_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(exploring, "TOLD_S", 0.0)
    monkeypatch.setattr(exploring, "SLICE_S", 0.0)
    path = tmp_path / "one.json.gz"
    dpbb.solve(TWO.reshape(12, 5)[:9], certificate=str(path), workers=0, **QUIET)
    told = []
    assert verify(path, engine="reference", say=told.append).ok
    assert any(text.endswith(" s left") for text in told)


def test_a_run_ends_with_the_schedule_that_the_root_bound_proves(tmp_path, both):
    """Equal times on both machines: its tree would take for ever."""
    times = np.repeat(np.random.default_rng(1).integers(1, 20, (30, 1)), 2, axis=1)
    path = tmp_path / "root.json.gz"
    result = dpbb.solve(times, heuristics="none", certificate=str(path), **QUIET)
    assert (result.termination, result.proof) == ("root_bound", "root_bound")
    assert result.decomposed > 0
    assert "no more tree was needed" in result.summary()
    assert both(Certificate.read(path).content)[0] == checker.PROVED


def shifted(name, by):
    def change(content):
        content["result"][name] += by

    return change


def reorder(content):
    order = content["result"]["permutation"]
    order[0], order[-1] = order[-1], order[0]


def times_of(content, job, machine, by):
    content["instance"]["times"][job][machine] += by


@pytest.mark.parametrize(
    "change",
    [
        shifted("makespan", 1), shifted("lower_bound", -1), reorder,
        lambda c: times_of(c, 0, 0, 1), lambda c: c["result"]["permutation"].pop(),
        lambda c: c["result"].update(objective="length"),
        lambda c: c["result"].pop("permutation"), lambda c: c.update(units=[]),
        lambda c: c["instance"]["times"][3].pop(),
    ],
)  # fmt: skip
def test_what_is_changed_does_not_hold(change, proved, both):
    content = copy.deepcopy(proved)
    change(content)
    assert both(content)[0] == checker.FALSE


def test_what_is_called_like_a_benchmark_is_that(proved):
    """The program of one file prints the digest, and knows no names."""
    content = copy.deepcopy(proved)
    content["instance"]["name"] = "TA1"
    found = verify(Certificate(content))
    assert found.verdict == checker.FALSE
    assert "ta001, but has another digest" in found.checks[-1].found


def test_a_schedule_above_the_root_bound_does_not_hold(proved, both):
    """True in all but the optimum: a worse schedule, and its makespan as the bound."""
    content = copy.deepcopy(proved)
    shop = FlowShopProblem(FlowShopInstance("two", TWO))
    rng = np.random.default_rng(1)
    orders = [rng.permutation(30) for _ in range(20)]
    worst = max(orders, key=shop.evaluate)
    value = shop.evaluate(worst)
    assert value > proved["result"]["makespan"]
    content["result"] |= {
        "permutation": worst.tolist(), "makespan": value, "lower_bound": value,
    }  # fmt: skip
    assert both(content)[0] == checker.FALSE


@pytest.mark.parametrize(
    "change",
    [
        *({name: "x"} for name in ("engine", "draws", "nodes")),
        *({name: "x"} for name in ("seed", "everything", "elsewhere", "say")),
        {"nodes": -1},
        {"finer": 3},
    ],
)
def test_arguments_of_another_kind_are_refused(proved, change):
    with pytest.raises(OptionError, match=f"^{next(iter(change))}: expected"):
        verify(Certificate(proved), **change)


def test_yours_is_asked_for(proved):
    assert verify(Certificate(proved), instance=TWO).ok
    assert not verify(Certificate(proved), instance=TWO + 1).ok


def test_the_bounds_of_the_root_are_those_of_the_solver():
    assert checker.MOST_STEPS == MOST_STEPS
    rng = np.random.default_rng(6)
    for n_jobs, n_machines in ((1, 1), (1, 4), (5, 1), (6, 2), (7, 5), (12, 20)):
        times = rng.integers(0, 99, (n_jobs, n_machines))
        problem = FlowShopProblem(FlowShopInstance("any", times))
        for front, back in ((), ()), ((n_jobs - 1,), ()), ((0, 3), (2,)):
            if len({*front, *back}) < n_jobs > max(front, default=0):
                window = problem.with_ends(front, back)
                shop, bound = window.encode(), proving_bound(window)
                assert books_of_root(shop, bound)["totals"]["leaves"] == (n_jobs == 1)
