"""Certificates that were forged: what work each saved, and the verdict that it gets.

Trees are small, with finer books of some hundred units, as ``docs/proof.md`` tells.
"""

from __future__ import annotations

import copy
import random
from contextlib import closing

import numpy as np
import pytest

from dpbb.options import TreeOptions
from dpbb.problems import decoded
from dpbb.proof import checker, finer
from dpbb.proof.certificate import Certificate
from dpbb.proof.exploring import Tree
from dpbb.proof.verify import verify
from dpbb.proof.walking import Growing, trailing_zeros
from tests.unit.proof.conftest import explored, pairs, run_certificate, totals, tree_of

TIMES = np.random.default_rng(10).integers(1, 100, (13, 8))
BUDGET = 0.999
"""Of the tree's nodes: a whole tree is not explored again."""


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Audits estimate with compiled code, however small trees are."""
    monkeypatch.setattr(checker, "FAST", 0)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Finer books of a tree, at one bound."""
    folder = tmp_path_factory.mktemp("honest")
    content = run_certificate(folder, TIMES, engine="cpu", workers=0)
    path = folder / "fine.json.gz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finer, "least_part", lambda _: 1200)
        found = verify(Certificate(content), engine="cpu", finer=path, draws=0)
    assert found.verdict == checker.PROVED
    return Certificate.read(path).content


def nodes_of(row):
    return row[1] + row[2]


def audited(content, seed=1, **options):
    """Verdict of an audit whose budget is all but the whole tree."""
    nodes = int(BUDGET * sum(map(nodes_of, content["units"])))
    known = {"engine": "cpu", "nodes": nodes, "seed": seed}
    return verify(Certificate(content), **known | options).verdict


def summed(content):
    """The totals that the leases have."""
    closed = checker.Counter()
    for row in content["units"]:
        closed.update(dict(map(tuple, row[3])))
    sums = (sum(row[at] for row in content["units"]) for at in (1, 2))
    content["totals"] = totals(*sums, closed)
    return content


def invented(content, row, nodes):
    """Give a unit counts that it might have: its leaves, and about so many nodes.

    Subtrees that were closed are opened: each becomes a node and its children.
    """
    n_jobs = content["tree"]["n_jobs"]
    closed = checker.Counter(map(len, row[0]))
    inner = 0
    while inner < nodes:
        depth = min(depth for depth, count in closed.items() if count)
        if depth >= n_jobs - 1:
            break
        some = min(closed[depth], max(1, (nodes - inner) // 2))
        closed[depth] -= some
        closed[depth + 1] += some * (n_jobs - depth)
        inner += some
    row[1:4] = [inner + sum(map(trailing_zeros, row[0])), 0, pairs(closed)]


def skipping(honest, numbers, guess):
    """Books of somebody who explored all but some units, and guessed their sizes."""
    content = copy.deepcopy(honest)
    for number, row in enumerate(content["units"]):
        if number in numbers:
            invented(content, row, guess(number))
    checker.check_books(summed(content))  # they add up
    return content


def some_units(honest, share, key):
    """Units, the least ones by a key first, that have a share of all nodes."""
    rows = honest["units"]
    left = share * sum(map(nodes_of, rows[1:]))
    found = set()
    for number in sorted(range(1, len(rows)), key=key):
        if left <= 0:
            break
        found.add(number)
        left -= nodes_of(rows[number])
    return found


def estimates(content, seed, kept=(1, 64)):
    """What a forger with the audit's own sampler thinks of each unit."""
    tree, rng = tree_of(content, fast=True), random.Random(seed)
    tree.kept = kept
    floor = content["result"]["ub"]
    parts = checker.check_books(content)
    return [tree.weigh(part, floor, rng) for part in parts]


def test_an_honest_certificate_is_audited(honest, both):
    assert len(honest["units"]) > 50
    assert audited(honest) == checker.AUDITED


@pytest.mark.slow
def test_one_large_unit_is_invented_and_little_explored(honest):
    """(a) 0.1 % is explored; one unit claims a lot, where random descents hardly go."""
    content = copy.deepcopy(honest)
    n_jobs, ub = content["tree"]["n_jobs"], content["result"]["ub"]
    tree = tree_of(content, fast=True)
    found = [explored(tree, [(digit,)], ub) for digit in range(n_jobs)]
    small = (digit for digit in range(n_jobs) if sum(found[digit][:2]) <= 10)
    kept = {next(small, 0)}
    for claimed in (100, 5000):
        units = [[[[]], 0, 0, [], [ub, ub]]]
        for digit in range(n_jobs):
            nodes, leaves, closed = found[digit]
            units.append([[[digit]], nodes, leaves, pairs(closed), [ub, ub]])
            if digit not in kept:
                invented(content, units[-1], claimed)
        forged = summed({**content, "units": units})
        checker.check_books(forged)
        assert audited(forged) == checker.FALSE


@pytest.mark.parametrize("given", [True, False])
def test_bounds_that_fell_from_nowhere_show_nothing(honest, given):
    """(b) Estimates times 1.6, and a first bound above all: nothing was explored."""
    content = copy.deepcopy(honest)
    ub, top = content["result"]["ub"], content["tree"]["trivial_ub"]
    guess = estimates(content, 1)
    for number, row in enumerate(content["units"]):
        if number:
            invented(content, row, int(1.6 * guess[number]))
        row[4] = [top, ub]
    order = [] if given else content["result"]["permutation"]
    content["bounds"] = [[top, []], [ub, order]]
    checker.check_books(summed(content))
    assert audited(content) == checker.TOO_LITTLE


def verdicts(content, seeds=3):
    """Of some audits."""
    return {audited(content, seed) for seed in range(seeds)}


@pytest.mark.slow
def test_the_audits_own_estimates_are_claimed_for_what_was_skipped(honest):
    """Half of the nodes are not explored; their sizes are as they should be."""
    guess = estimates(honest, 7, kept=(1, 256))
    numbers = some_units(honest, 0.5, lambda number: random.Random(number).random())
    content = skipping(honest, numbers, lambda number: int(guess[number]))
    assert verdicts(content) == {checker.FALSE}


@pytest.mark.slow
def test_units_that_estimates_make_too_small_are_skipped(honest):
    """A forger draws by the same sampler, and knows all true sizes besides.

    He leaves out a third of the nodes, where estimates say least of the truth.
    """
    guess = [estimates(honest, seed) for seed in range(5)]
    ratio = [
        sum(one[number] for one in guess) / max(1, nodes_of(row))
        for number, row in enumerate(honest["units"])
    ]
    numbers = some_units(honest, 0.33, ratio.__getitem__)
    sizes = [*map(nodes_of, honest["units"])]
    content = skipping(honest, numbers, lambda number: sizes[number] // 50)
    assert verdicts(content) == {checker.FALSE}


def hidden(honest, depth=5, few=20, group=8):
    """Books of somebody who put the largest subtrees of a depth among the smallest.

    They are said to be closed, in a unit with all that has a node or two. Returns the
    books, and the number of that unit and of its true nodes.
    """
    content, tree = copy.deepcopy(honest), tree_of(honest, fast=True)
    ub = content["result"]["ub"]
    problem = decoded({"kind": checker.KIND, **content["instance"]})
    growing = Growing(problem, TreeOptions.from_json(content["tree"]), ub)
    nodes = growing.walked([()])
    for _ in range(depth):
        nodes = [child for node in nodes for child in growing.children(node)]
    found = {node.path: explored(tree, [node.path], ub) for node in nodes}
    by_size = sorted(found, key=lambda path: sum(found[path][:2]))
    large, small = by_size[-few:], [p for p in by_size if sum(found[p][:2]) <= 5]
    small += [path for path in growing.pruned if len(path) == depth]
    above = [path for path in growing.pruned if len(path) < depth]
    closed = checker.Counter(map(len, above))
    units = [([()], sum(map(trailing_zeros, above)), 0, closed)]
    others = sorted(set(found) - {*large, *small})
    for first in range(0, len(others), group):
        some = others[first : first + group]
        units.append((some, *explored(tree, some, ub)))
    nodes, leaves, closed = explored(tree, small, ub)
    closed[depth] += few
    nodes += sum(map(trailing_zeros, large))
    units.append((sorted([*large, *small]), nodes, leaves, closed))
    content["units"] = [
        [[*map(list, roots)], *counts, pairs(closed), [ub, ub]]
        for roots, *counts, closed in units
    ]
    checker.check_books(summed(content))
    return content, nodes + leaves + sum(sum(found[path][:2]) for path in large)


def test_large_subtrees_are_not_hidden_among_small_ones(honest):
    """Estimates look below every root: of 1,700 that are alike 64 showed too little."""
    content, true = hidden(honest)
    *_, part = checker.check_books(content)
    assert true > 0.2 * sum(map(nodes_of, honest["units"]))
    assert true > 10 * part.nodes
    floor = content["result"]["ub"]
    problem = decoded({"kind": checker.KIND, **content["instance"]})
    with closing(Tree(problem, content, "cpu", None)) as own:
        for tree in own, tree_of(content, fast=True):
            found = [tree.weigh(part, floor, random.Random(n)) for n in range(12)]
            assert true / 2 < min(found) <= max(found) < 2 * true
    assert verdicts(content) == {checker.FALSE}


def test_many_certificates_are_tried_against_the_seed_of_the_digest(honest):
    """Names and versions are free: of 200, none passes with a tenth left out."""
    numbers = some_units(honest, 0.1, lambda number: random.Random(number).random())
    sizes = [*map(nodes_of, honest["units"])]
    content = skipping(honest, numbers, sizes.__getitem__)
    parts = checker.check_books(content)
    tree, floor = tree_of(content, fast=True), content["result"]["ub"]
    sizes = [tree.weigh(part, floor, random.Random(1)) for part in parts]
    good = 0
    for trial in range(200):
        drawn = random.Random(trial).choices(parts, sizes, k=checker.DIGEST_DRAWS)
        good += not any(part.number - 1 in numbers for part in drawn)
    assert good == 0
    content["instance"]["name"] = "another try"
    assert audited(content, "digest") == checker.FALSE


def test_work_that_hides_below_bounds_that_fell(honest):
    """Units were pruned at two bounds, with schedules of both: nothing is shown."""
    numbers = some_units(honest, 0.3, lambda number: random.Random(number).random())
    sizes = [*map(nodes_of, honest["units"])]
    content = skipping(honest, numbers, sizes.__getitem__)
    ub, order = content["result"]["ub"], content["result"]["permutation"]
    rng, shop = random.Random(1), checker.Shop(content["instance"])
    worse = next(
        one
        for one in (rng.sample(order, len(order)) for _ in range(100))
        if shop.makespan(one) > ub
    )
    cost = shop.makespan(worse)
    content["bounds"] = [[cost, worse], [ub, order]]
    for number in numbers:
        content["units"][number][4] = [cost, ub]
    assert audited(content) == checker.TOO_LITTLE


def test_one_hidden_leaf_is_not_found(honest):
    """What no audit of a sample excludes: a false claim, in one unit of many."""
    sizes = [*map(nodes_of, honest["units"])]
    least = min(range(1, len(sizes)), key=sizes.__getitem__)
    content = skipping(honest, {least}, lambda number: sizes[number] // 2)
    assert audited(content) == checker.AUDITED
    assert audited(content, everything=True) == checker.FALSE


def test_a_unit_that_is_there_twice_hides_nothing(honest):
    """One is explored and claimed twice, another of as many leaves not at all."""
    content = copy.deepcopy(honest)
    shapes = {}
    for unit in content["units"][1:]:
        shapes.setdefault(tuple(sorted(map(len, unit[0]))), []).append(unit)
    one, two = next(units for units in shapes.values() if len(units) > 1)[:2]
    two[:4] = one[:4]
    summed(content)
    with pytest.raises(checker.Failed, match="not accounted for"):
        checker.check_books(content)
