"""The program of one file counts the same, one node at a time or by blocks of them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from dpbb.proof import checker


def random_shop(seed):
    """A small shop with any rule, bound, given ends and equal jobs, and an ub near it.

    Returns the tree's certificate, an upper bound, and disjoint roots with holes.
    """
    rng = random.Random(seed)
    n_jobs, machines = rng.randint(1, 8), rng.randint(1, 5)
    n_given, largest = rng.choice([0, 0, 1, 2]), rng.choice([1, 9, 99, 5000, 2**24])
    times = [
        [rng.randint(0, largest) for _ in range(machines)]
        for _ in range(n_jobs + n_given)
    ]
    for job in range(1, len(times)):
        if rng.random() < 0.2:
            times[job] = times[job - 1]
    given = rng.sample(range(len(times)), n_given)
    front = given[: rng.randint(0, n_given)]
    between = [job for job in range(len(times)) if job not in given]
    kinds = {}
    for place, job in enumerate(between):
        kinds.setdefault(tuple(times[job]), []).append(place)
    kinds = rng.sample([*kinds.values()], len(kinds))
    pairs = [f"{u}-{v}" for u, v in combinations(range(machines), 2)]
    bound = rng.choice(["lb1", "lb1", "lb2"])
    if seed % 3 == 0 and n_jobs > 1 and pairs:
        first = rng.randint(1, n_jobs - 1)
        some = ",".join(rng.sample(pairs, rng.randint(1, min(3, len(pairs)))))
        bound = f"cascade:{first}-{rng.randint(first, n_jobs - 1)}:{some}"
    version = 2 if len(kinds) < n_jobs else 1
    content = {
        "instance": {"times": times, "front": front, "back": given[len(front) :]},
        "tree": {"branching": rng.choice(checker.RULES), "rule_version": version}
        | {"bound": bound, "root_order": [job for kind in kinds for job in kind]},
        "result": {"ub": 0, "all_optima": False},
    }
    shop = checker.Shop(content)
    least = min(shop.makespan(rng.sample(range(n_jobs), n_jobs)) for _ in range(30))
    content["tree"]["branching_ub"] = least + rng.randint(-2, 2)
    ub = max(1, int(least * rng.uniform(0.92, 1.02)) + rng.randint(-1, 1))
    ub = 2**63 - 1 if seed % 20 == 0 else ub
    roots = [[]]
    for _ in range(rng.randint(0, 3)):
        path = roots.pop(rng.randrange(len(roots)))
        digits = range(n_jobs - len(path)) if len(path) < n_jobs - 1 else ()
        roots += [[*path, digit] for digit in digits if rng.random() < 0.8] or [path]
    return content, ub, sorted(roots)


def explored(tree, *job):
    try:
        return tree.explore(*job)
    except checker.Failed:
        return "a better schedule"


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_blocks_count_what_single_nodes_do(first, monkeypatch):
    trees = limited = better = 0
    for seed in range(first, first + 40):
        content, ub, roots = random_shop(seed)
        rng = random.Random(seed)
        monkeypatch.setattr(checker, "BLOCK", rng.choice([1, 1000, 2**16]))
        blocks, single = checker.Tree(content), checker.Tree(content)
        assert blocks.blocks.width >= 64
        if seed % 2:  # blocks that are smaller than what is born in them
            blocks.blocks.width = rng.randint(1, 5)
        single.blocks = None
        most = rng.choice([20_000, 20_000, rng.randint(0, 30)])
        for at_claim in (False, True):
            found = explored(blocks, roots, ub, most, at_claim)
            wanted = explored(single, roots, ub, most, at_claim)
            if found != wanted:  # what comes first, too many nodes or a schedule
                assert {found, wanted} == {None, "a better schedule"}, seed
            trees += isinstance(found, tuple) and sum(found[:2]) > 10
            limited += found is None
            better += found == "a better schedule"
    assert min(trees, limited, better) > 0


def test_pieces_that_processes_explore_count_what_one_does(dealt, monkeypatch):
    monkeypatch.setattr(checker, "FEW_BY_BLOCKS", 10)
    ub = dealt["result"]["ub"]
    tree, crew = checker.Tree(dealt), checker.Tree(dealt, processes=2)
    roots = [[[]], [[0], [2, 0], [2, 3]], [[1, 0, 0]], [[digit] for digit in range(4)]]
    counts = [tree.explore(one, ub, 10**6) for one in roots]
    nodes = [sum(one[:2]) for one in counts]
    jobs = [(one, ub, most) for one, most in zip(roots, nodes, strict=True)]
    assert dict(crew.explore_all(jobs)) == dict(enumerate(counts))
    jobs = [(one, ub, most - 1) for one, most in zip(roots, nodes, strict=True)]
    assert dict(crew.explore_all(jobs)) == dict.fromkeys(range(4))
    for more, enough in ((0, True), (1, False)):
        jobs = [(one, ub, most + more) for one, most in zip(roots, nodes, strict=True)]
        assert dict(crew.reach_all(jobs)) == dict.fromkeys(range(4), enough)
    walks = [(one, ub, random.Random(3), 10**6) for one in roots]
    estimates = dict(crew.estimate_all(walks))
    assert estimates == {
        index: tree.estimate(*job[:2], random.Random(3), 10**6)
        for index, job in enumerate(walks)
    }
    with pytest.raises(checker.Failed, match="was missed"):
        dict(crew.explore_all([([[]], 2 * ub, 10**6)]))
    crew.crew.executor.shutdown()


def die(*_):
    os._exit(9)


def test_a_process_that_dies_is_no_forgery(dealt, tmp_path, monkeypatch, capsys):
    """As if memory were short."""
    monkeypatch.setattr(checker, "FEW_BY_BLOCKS", 10)
    monkeypatch.setattr(checker, "serve", die)
    path = tmp_path / "certificate.json"
    path.write_text(checker.json.dumps(dealt))
    monkeypatch.setattr(sys, "argv", ["", str(path), "--all", "--processes", "2"])
    assert checker.main() == checker.EXIT[checker.TOO_LITTLE]
    assert "fewer --processes may need less memory" in capsys.readouterr().out


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("wanted", [1, 2, 7])
@pytest.mark.parametrize("roots", [[[]], [(3,)], [(0, 1), (2,), (5, 0)]])
def test_what_is_split_again_and_again_counts_the_same(
    roots, wanted, single, dealt, monkeypatch
):
    monkeypatch.setattr(checker, "ROOTS_AT_A_TIME", 2)
    tree, ub = checker.Tree(dealt), dealt["result"]["ub"]
    tree.blocks = None if single else tree.blocks
    if tree.blocks:
        tree.blocks.width = 3
    whole = tree.explore(roots, ub, 10**6)
    parts, found, splits = [(roots, [])], (0, 0, checker.Counter()), 0
    while parts:
        counts, *left = tree.explore_for(0.0, *parts.pop(), ub, 10**6)
        found = checker.plus(found, counts)
        more = tree.split(*left, wanted)
        assert len(more) <= wanted
        parts += more
        splits += len(more) > 1
    assert (*found[:2], dict(+found[2])) == whole
    assert (splits > 3) == (wanted > 1)


def test_values_choose_the_integers():
    content, *_ = random_shop(1)
    content["tree"] |= {"bound": "lb1", "root_order": None, "rule_version": 1}
    content["instance"] = {"times": [[1, 1], [1, 1], [1, 1]]}
    kinds = []
    # (3 jobs + 2 * 2 machines + 4) times the longest operation has to be below
    for longest in (2978, 2979, (2**31 - 2) // 11, 2**28):
        content["instance"]["times"][0][1] = longest
        kinds.append(checker.Tree(content).blocks.kind)
    assert kinds == [np.int16, np.int32, np.int32, np.int64]


def test_without_numpy_it_says_the_same(tmp_path, dealt):
    """As a program of its own, in a Python that cannot import NumPy."""
    path = tmp_path / "certificate.json"
    path.write_text(checker.json.dumps(dealt))
    said = []
    for code in ("", "import sys; sys.modules['numpy'] = None; "):
        run = f"{code}import runpy, sys; sys.argv[1:] = {[str(path), '--all']}; "
        run += f"runpy.run_path({checker.__file__!r}, run_name='__main__')"
        ended = subprocess.run(  # noqa: S603
            [sys.executable, "-c", run], capture_output=True, text=True, timeout=100
        )
        assert ended.returncode == 0, ended.stderr
        said.append(ended.stdout.splitlines()[-1])
    assert said[0] == said[1]
    assert said[0].startswith("proved again: the whole tree, unit by unit")
