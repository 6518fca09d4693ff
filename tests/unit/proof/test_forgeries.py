"""Certificates that were forged: what work each saved, and the verdict that it gets.

Trees are small: of the shop of ``SHOP``-like sizes that CI can afford, with finer books
of some hundred units. ``python -m tests.unit.proof.test_forgeries`` prints a table.
"""

from __future__ import annotations

import copy
import random
from math import factorial

import numpy as np
import pytest

from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
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
    found = verify(
        Certificate(content), engine="cpu", finer=path, most_nodes=600, draws=0
    )
    assert found.verdict == checker.PROVED
    return Certificate.read(path).content


def nodes_of(row):
    return row[4] + row[5]


def audited(content, seed=1, **options):
    """Verdict of an audit whose budget is all but the whole tree."""
    nodes = int(BUDGET * sum(map(nodes_of, content["leases"])))
    known = {"engine": "cpu", "nodes": nodes, "seed": seed}
    return verify(Certificate(content), **known | options).verdict


def summed(content):
    """The totals that the leases have."""
    closed = checker.Counter()
    for row in content["leases"]:
        closed.update(dict(map(tuple, row[6])))
    sums = (sum(row[at] for row in content["leases"]) for at in (4, 5))
    content["totals"] = totals(*sums, closed)
    return content


def invented(content, row, nodes):
    """Give a lease counts that it might have: its leaves, and about so many nodes.

    Subtrees that were closed are opened: each becomes a node and its children.
    """
    n_jobs = content["tree"]["n_jobs"]
    unit = next(unit for unit in content["units"] if unit[0] == row[0])
    closed = checker.Counter(map(len, unit[4]))
    inner = 0
    while inner < nodes:
        depth = min(depth for depth, count in closed.items() if count)
        if depth >= n_jobs - 1:
            break
        some = min(closed[depth], max(1, (nodes - inner) // 2))
        closed[depth] -= some
        closed[depth + 1] += some * (n_jobs - depth)
        inner += some
    row[4:7] = [inner + sum(map(checker.trailing_zeros, unit[4])), 0, pairs(closed)]


def skipping(honest, numbers, guess):
    """Books of somebody who explored all but some units, and guessed their sizes."""
    content = copy.deepcopy(honest)
    for row in content["leases"]:
        if row[0] in numbers:
            invented(content, row, guess(row))
    checker.check_books(summed(content))  # they add up
    return content


def some_units(honest, share, key):
    """Units, the least ones by a key first, that have a share of all nodes."""
    rows = sorted(honest["leases"][1:], key=key)
    left = share * sum(map(nodes_of, rows))
    found = set()
    for row in rows:
        if left <= 0:
            break
        found.add(row[0])
        left -= nodes_of(row)
    return found


def estimates(content, seed, kept=2048):
    """What a forger with the audit's own sampler thinks of each unit."""
    tree, rng = tree_of(content, fast=True), random.Random(seed)
    tree.kept = kept
    floor = content["result"]["ub"]
    parts = checker.check_books(content)
    return {part.number: tree.weigh(part.pieces, floor, rng) for part in parts}


def test_an_honest_certificate_is_audited(honest, both):
    assert len(honest["units"]) > 50
    for seed in range(3):
        assert audited(honest, seed) == checker.AUDITED


def test_one_large_unit_is_invented_and_little_explored(honest):
    """(a) 0.1 % is explored; one unit claims a lot, where random descents hardly go."""
    content = copy.deepcopy(honest)
    n_jobs, ub = content["tree"]["n_jobs"], content["result"]["ub"]
    tree = tree_of(content)
    lower = tree.bounds(tree.root, ub)
    kept = {max(range(n_jobs), key=lambda digit: (lower[digit] >= ub, -digit))}
    for claimed in (100, 5000):
        units = [[1, 0, str(factorial(n_jobs)), 1, [[]]]]
        units += [
            [digit + 2, 1, str(factorial(n_jobs - 1)), 1, [[digit]]]
            for digit in range(n_jobs)
        ]
        leases = [[1, 1, "s", "cpu", 0, 0, [], [ub, ub], False, "1"]]
        for number in range(2, n_jobs + 2):
            row = [number, 1, "s", "cpu", 0, 0, [], [ub, ub], True, "1"]
            nodes, leaves, closed = explored(tree, [(number - 2,)], ub)
            row[4:7] = nodes, leaves, pairs(closed)
            if number - 2 not in kept:
                invented({**content, "units": units}, row, claimed)
            leases.append(row)
        forged = summed({**content, "units": units, "leases": leases})
        checker.check_books(forged)
        for seed in range(5):
            assert audited(forged, seed) == checker.FALSE


@pytest.mark.parametrize("given", [True, False])
def test_bounds_that_fell_from_nowhere_show_nothing(honest, given):
    """(b) Estimates times 1.6, and a first bound above all: nothing was explored."""
    content = copy.deepcopy(honest)
    ub, top = content["result"]["ub"], content["tree"]["trivial_ub"]
    guess = estimates(content, 1)
    for row in content["leases"][1:]:
        invented(content, row, int(1.6 * guess[row[0]]))
    for row in content["leases"]:
        row[7] = [top, ub]
    order = None if given else content["result"]["permutation"]
    content["bounds"] = [[top, None], [ub, order]]
    checker.check_books(summed(content))
    for seed in range(10):
        assert audited(content, seed) == checker.TOO_LITTLE


def passes(content, seeds=6):
    """How many of some audits end with *audited*."""
    return sum(audited(content, seed) == checker.AUDITED for seed in range(seeds))


def test_the_audits_own_estimates_are_claimed_for_what_was_skipped(honest):
    """Half of the nodes are not explored; their sizes are as they should be."""
    guess = estimates(honest, 7, kept=8192)
    numbers = some_units(honest, 0.5, lambda row: random.Random(row[0]).random())
    content = skipping(honest, numbers, lambda row: int(guess[row[0]]))
    assert passes(content) == 0


def test_units_that_estimates_make_too_small_are_skipped(honest):
    """A forger draws by the same sampler, and knows all true sizes besides.

    He leaves out a third of the nodes, where estimates say least of the truth.
    """
    guess = [estimates(honest, seed) for seed in range(5)]
    ratio = {
        row[0]: sum(one[row[0]] for one in guess) / max(1, nodes_of(row))
        for row in honest["leases"]
    }
    numbers = some_units(honest, 0.33, lambda row: ratio[row[0]])
    content = skipping(honest, numbers, lambda row: nodes_of(row) // 50)
    assert passes(content) == 0


def test_many_certificates_are_tried_against_the_seed_of_the_digest(honest):
    """Names and versions are free: of 200, none passes with a tenth left out."""
    numbers = some_units(honest, 0.1, lambda row: random.Random(row[0]).random())
    content = skipping(honest, numbers, nodes_of)
    false = {row[0] for row in content["leases"] if row[0] in numbers}
    parts = checker.check_books(content)
    tree, floor = tree_of(content, fast=True), content["result"]["ub"]
    sizes = [tree.weigh(part.pieces, floor, random.Random(1)) for part in parts]
    good = 0
    for trial in range(200):
        drawn = random.Random(trial).choices(parts, sizes, k=checker.DIGEST_DRAWS)
        good += not any(part.number in false for part in drawn)
    assert good == 0
    for trial in range(3):
        content["instance"]["name"] = f"try {trial}"
        assert audited(content, "digest") == checker.FALSE


def test_work_that_hides_in_the_rest_or_below_fallen_bounds(honest):
    """Units are only summed up, or pruned at two bounds: nothing is shown."""
    numbers = some_units(honest, 0.3, lambda row: random.Random(row[0]).random())
    content = skipping(honest, numbers, nodes_of)
    gone = [row for row in content["leases"] if row[0] in numbers]
    hidden = copy.deepcopy(content)
    hidden["leases"] = [row for row in content["leases"] if row[0] not in numbers]
    closed = checker.Counter()
    for row in gone:
        closed.update(dict(map(tuple, row[6])))
    hidden["rest"] = totals(*(sum(row[at] for row in gone) for at in (4, 5)), closed)
    fallen = copy.deepcopy(content)
    ub, order = content["result"]["ub"], content["result"]["permutation"]
    rng = random.Random(1)
    worse = next(
        one
        for one in (rng.sample(order, len(order)) for _ in range(100))
        if checker.Shop(content["instance"]).makespan(one) > ub
    )
    cost = checker.Shop(content["instance"]).makespan(worse)
    fallen["bounds"] = [[cost, worse], [ub, order]]
    rows = [row for row in fallen["leases"] if row[0] in numbers]
    fallen["leases"] = rows + [row for row in fallen["leases"] if row not in rows]
    for row in rows:
        row[7] = [cost, ub]
    for forged in hidden, fallen:
        for seed in range(5):
            assert audited(forged, seed) == checker.TOO_LITTLE


def test_one_hidden_leaf_is_not_found(honest):
    """What no audit of a sample excludes: a false claim, in one unit of many."""
    row = min(honest["leases"][1:], key=nodes_of)
    content = skipping(honest, {row[0]}, lambda row: nodes_of(row) // 2)
    assert passes(content) > 0
    assert audited(content, everything=True) == checker.FALSE


def test_a_unit_that_is_there_twice_hides_nothing(honest):
    """One is explored and claimed twice, another of as many leaves not at all."""
    content = copy.deepcopy(honest)
    shapes = {}
    for unit in content["units"][1:]:
        shapes.setdefault(tuple(sorted(map(len, unit[4]))), []).append(unit)
    one, two = next(units for units in shapes.values() if len(units) > 1)[:2]
    rows = {row[0]: row for row in content["leases"]}
    two[4] = one[4]
    rows[two[0]][4:7] = rows[one[0]][4:7]
    summed(content)
    with pytest.raises(checker.Failed, match="twice"):
        checker.check_books(content)
