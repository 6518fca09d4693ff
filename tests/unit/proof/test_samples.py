"""Units that are too large to be explored again are looked into by samples."""

from __future__ import annotations

import copy
import random
import statistics

import numpy as np
import pytest

from dpbb.problems import decoded
from dpbb.proof import checker
from dpbb.proof.again import Again
from tests.unit.proof.conftest import deal, run_certificate
from tests.unit.proof.test_forgeries import books, inflated, shape

pytestmark = pytest.mark.cluster


ROWS = np.random.default_rng(2).integers(1, 60, (10, 10))
PAIRS = np.repeat(np.random.default_rng(1).integers(1, 60, (5, 8)), 2, axis=0)
KINDS = {
    "plain": (ROWS, {}),
    "equal": (PAIRS, {}),
    "cascade": (ROWS, {"bound": "cascade:2-6:0-3,1-4"}),
    "given": (np.vstack([ROWS[:2], ROWS]), {"front": [0], "back": [1]}),
    "all": (ROWS, {"all_optima": True}),
}


@pytest.fixture(scope="module", params=KINDS)
def true(request, tmp_path_factory):
    """Books of ten units or fewer, of every kind of tree."""
    times, options = KINDS[request.param]
    folder = tmp_path_factory.mktemp("true")
    content = run_certificate(folder, times, heuristics="none", **options)
    result = content["result"]
    return deal(content, result["ub"] + result["all_optima"])


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run whose bound fell."""
    return run_certificate(tmp_path_factory.mktemp("plain"), ROWS, heuristics="neh")


@pytest.fixture(scope="module")
def dealt(plain):
    return deal(plain, plain["result"]["ub"])


def total(content):
    return content["totals"]["decomposed"] + content["totals"]["leaves"]


def sampled(content, both):
    """Verdicts of both with units of a few nodes only explored again."""
    return both(content, nodes=total(content) - 1, most=3)


def test_true_counts_agree_with_samples(true, both):
    assert total(true) > 400
    holds, text = sampled(true, both)
    assert not holds  # that the work was done is not shown
    assert text.count("sampled: ") == 2, text
    assert "FAILED" not in text


def test_counts_where_the_bound_fell_are_between_those_of_its_ends(plain, both):
    best = plain["result"]["ub"]
    content = deal(plain, best + 5)
    content["bounds"] = [[best + 5, None], [best, plain["result"]["permutation"]]]
    for row in content["leases"]:
        row[7] = [best + 5, best]
    assert not checker.check_sums(content)[1].exact
    text = both(content, nodes=600, most=3)[1]
    assert text.count("sampled: ") == 2, text


def test_a_walk_that_leaves_nothing_out_counts_all(true):
    tree = checker.Tree(true)
    again = Again(
        decoded({"kind": checker.KIND, **true["instance"]}), true, "reference", None
    )
    result = true["result"]
    ub = result["ub"] + result["all_optima"]
    children = [[digit] for digit in range(tree.n_jobs)]
    for roots, above in ([[]], 0), (children, 1):
        whole = tree.estimate(roots, ub, random.Random(1), 10**9)
        assert whole == total(true) - above
        found = again.estimate(roots, ub, random.Random(1), 0)
        assert found == pytest.approx(whole, rel=0.25)


def test_walks_have_no_bias(dealt):
    tree, rng = checker.Tree(dealt), random.Random(3)
    ub = dealt["result"]["ub"]
    roots = [[a, b] for a in range(10) for b in range(9)]
    exact = sum(tree.estimate([root], ub, rng, 10**9) for root in roots)
    assert len(roots) > checker.ROOTS
    found = [tree.estimate(roots, ub, rng, 1) for _ in range(60)]
    error = statistics.stdev(found) / len(found) ** 0.5
    assert len(set(found)) > 30
    assert abs(statistics.fmean(found) - exact) < 4 * error < exact


def test_a_better_schedule_in_a_large_unit_refutes(plain, both):
    best = plain["result"]["ub"]
    content = deal(plain, best + 25)
    content["result"].update(status="infeasible_cutoff", makespan=None)
    content["result"].update(permutation=None, lower_bound=best + 25, ub=best + 25)
    holds, text = sampled(content, both)
    assert not holds
    assert text.count("FAILED") == 2, text
    assert text.count("was missed") == 2, text


@pytest.mark.parametrize("nodes", [50_000, 2_000_000])
def test_made_up_counts_are_not_called_sampled(nodes, plain, both):
    """Sums that hold, of trees much larger than the true one."""
    best = plain["result"]["ub"]
    content = inflated(plain["instance"]["times"], best, nodes, None, [best] * 2)
    assert total(content) > 20 * plain["totals"]["decomposed"]
    holds, text = both(content, nodes=1_000, most=3)
    assert not holds
    assert "sampled" not in text.replace("by samples", ""), text


def test_a_missing_piece_is_seen_when_most_is_in_it(dealt, both):
    """All units but two claim to be pruned at their roots, without any node."""
    content = copy.deepcopy(dealt)
    ub = dealt["result"]["ub"]
    n_jobs = len(ROWS)
    leases, units = [], content["units"]
    for row in content["leases"]:
        number = row[0]
        if number in (1, 2):
            leases.append(row)
            continue
        leases.append([*row[:4], 0, 0, [[1, 1]], [ub, ub], *row[8:]])
    content = books(ROWS, ub, units, leases, [[ub, None]])
    content["result"] = dealt["result"]
    assert shape(n_jobs, 1, 1)[0] == 1
    assert total(content) < total(dealt) / 2
    holds, text = sampled(content, both)
    assert not holds
    assert "sampled" not in text.replace("by samples", ""), text
