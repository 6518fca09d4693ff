"""The program of one file counts the same, in plain Python and compiled."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import combinations
from math import inf
from operator import add
from unittest.mock import Mock

import numpy as np
import pytest

from dpbb.proof import checker


def random_shop(seed):
    """A small shop with any rule, bound, given ends and equal jobs, and an ub near it.

    Returns the tree's certificate, an upper bound, and disjoint roots with holes.
    """
    rng = random.Random(seed)
    n_given, largest = (
        rng.choice([0, 0, 1, 2]),
        rng.choice([1, 9, 99, 99, 2**20, 2**24]),
    )
    n_jobs, machines = rng.randint(1, 8), 6 if largest > 99 else rng.choice([1, 6])
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
        "result": {"ub": 0, "all_optima": rng.random() < 0.2},
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
        ((_, found),) = tree.explore_all([job])
    except checker.Failed:
        return "a better schedule"
    return found


def trees(content, threads=1):
    """Return a tree that is explored in plain Python, and one that is compiled."""
    plain, compiled = checker.Tree(content), checker.Tree(content, threads)
    plain.patience, compiled.patience = inf, 0.0
    return plain, compiled


def test_what_is_compiled_counts_what_plain_python_does(monkeypatch):
    begun = limited = better = nodes = 0
    for seed in range(240):
        content, ub, roots = random_shop(seed)
        rng = random.Random(seed)
        monkeypatch.setattr(checker, "SLICE", rng.choice([1, 5000, 2**32]))
        plain, compiled = trees(content, rng.choice([1, 1, 2]))
        most = rng.choice([20_000, 20_000, rng.randint(0, 30)])
        for at_claim in (False, True):
            wanted = explored(plain, roots, ub, most, at_claim)
            found = explored(compiled, roots, ub, most, at_claim)
            if found != wanted:  # what comes first, too many nodes or a schedule
                assert compiled.threads > 1, seed
                assert {found, wanted} == {None, "a better schedule"}, seed
            begun += isinstance(found, tuple) and sum(found[:2]) > 10
            limited += found is None
            better += found == "a better schedule"
        nodes += compiled.compiled is not None
    assert min(begun, limited, better) > 0
    assert nodes > 100


def test_what_is_compiled_counts_what_the_engine_does(dealt, both, monkeypatch):
    monkeypatch.setattr(checker, "PATIENCE_S", 0.0)
    explorer = Mock(wraps=checker.explorer)
    monkeypatch.setattr(checker, "explorer", explorer)
    assert both(dealt, everything=True)[0]
    explorer.assert_called_once()


def test_parts_that_threads_explore_count_what_one_does(dealt, monkeypatch):
    monkeypatch.setattr(checker, "SLICE", 5000)
    ub = dealt["result"]["ub"]
    tree, threads = trees(dealt, 3)
    roots = [[[]], [[0], [2, 0], [2, 3]], [[1, 0, 0]], [[digit] for digit in range(4)]]
    counts = [tree.explore(one, ub, 10**6) for one in roots]
    nodes = [sum(one[:2]) for one in counts]
    jobs = [(one, ub, most) for one, most in zip(roots, nodes, strict=True)]
    assert dict(threads.explore_all(jobs)) == dict(enumerate(counts))
    assert threads.compiled
    jobs = [(one, ub, most - 1) for one, most in zip(roots, nodes, strict=True)]
    assert dict(threads.explore_all(jobs)) == dict.fromkeys(range(4))
    for more, enough in ((0, True), (1, False)):
        jobs = [(one, ub, most + more) for one, most in zip(roots, nodes, strict=True)]
        assert dict(threads.reach_all(jobs)) == dict.fromkeys(range(4), enough)
    with pytest.raises(checker.Failed, match="was missed"):
        dict(threads.explore_all([([[]], 2 * ub, 10**6)]))


@pytest.mark.parametrize("roots", [[[]], [(3,)], [(0, 1), (2,), (5, 0)]])
def test_what_is_shared_again_and_again_counts_the_same(roots, dealt, monkeypatch):
    monkeypatch.setattr(checker, "SLICE", 500)
    tree, ub = checker.Tree(dealt), dealt["result"]["ub"]
    compiled = checker.Compiled(tree)
    searches = [checker.Search(compiled, roots)]
    found, shares = (0, 0, checker.Counter()), 0
    while searches:
        search = searches.pop()
        found = [*map(add, found, search.explore(ub, 10**6))]
        if not search.ended:
            given = search.shared()
            shares += given is not None
            searches += [search, given] if given else [search]
    assert (*found[:2], dict(found[2])) == tree.explore(roots, ub, 10**6)
    assert shares > 3


@pytest.mark.parametrize("bound", ["lb1", "cascade:2-4:0-1,2-5", "lb2"])
def test_a_slice_is_shorter_with_more_pairs(bound, dealt, monkeypatch):
    content = {**dealt, "tree": dealt["tree"] | {"bound": bound}}
    compiled = checker.Compiled(checker.Tree(content))
    n_jobs, machines = compiled.n_jobs, compiled.n_machines
    node = n_jobs * (machines + len(compiled.tree.pairs) * n_jobs)
    for slice_, nodes in ((10 * node, 10), (node - 1, 1)):
        monkeypatch.setattr(checker, "SLICE", slice_)
        search = checker.Search(compiled, [[]])
        found = search.explore(dealt["result"]["ub"], 10**6)
        assert sum(found[:2]) == nodes + 1
        assert not search.ended


def test_values_choose_the_integers():
    content, *_ = random_shop(1)
    content["tree"] |= {"bound": "lb1", "root_order": None, "rule_version": 1}
    content["instance"] = {"times": [[1, 1], [1, 1], [1, 1]]}
    kinds = []
    # (3 jobs + 2 * 2 machines + 4) times the longest operation has to be below
    for longest in (2978, 2979, (2**31 - 2) // 11, 2**28):
        content["instance"]["times"][0][1] = longest
        kinds.append(checker.Compiled(checker.Tree(content)).kind)
    assert kinds == [np.int16, np.int32, np.int32, np.int64]


def said_by_the_program(path, code="", **environment):
    """Last line of the program, run on its own with --all; and the other ones."""
    run = f"import sys; {code}\nimport runpy; sys.argv[1:] = {[str(path), '--all']}; "
    run += f"runpy.run_path({checker.__file__!r}, run_name='__main__')"
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", run],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    *lines, verdict = ended.stdout.splitlines()
    return verdict, lines


def test_without_numba_it_says_the_same(tmp_path, dealt):
    """As a program of its own, in a Python that cannot import Numba."""
    path = tmp_path / "certificate.json"
    path.write_text(checker.json.dumps(dealt))
    said = said_by_the_program(path)[0]
    assert said_by_the_program(path, "sys.modules['numba'] = None")[0] == said
    assert said.startswith("proved again: the whole tree, unit by unit")


NO_PATIENCE = """import time
from itertools import count
time.monotonic = lambda ticks=count(step=10): next(ticks)
"""


@pytest.mark.parametrize(
    "unusable", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_NUM_THREADS": "0"}]
)
def test_where_numba_cannot_be_used_plain_python_explores(unusable, tmp_path, dealt):
    path = tmp_path / "certificate.json"
    path.write_text(checker.json.dumps(dealt))
    said, lines = said_by_the_program(path, NO_PATIENCE, **unusable)
    assert said.startswith("proved again: the whole tree, unit by unit")
    (line,) = (line for line in lines if "Numba" in line)
    assert line.startswith("...      Numba is not installed, or cannot be used")


def test_that_numba_is_missing_is_said_once(dealt, monkeypatch):
    said, jobs = [], [([[digit]], dealt["result"]["ub"], 10**6) for digit in range(3)]
    for usable in (True, False):
        tree = checker.Tree(dealt, say=said.append)
        tree.patience = 0.0
        if not usable:
            monkeypatch.setattr(checker, "compiler", lambda: None)
        for _ in range(2):
            assert len([*tree.explore_all(jobs)]) == 3
        assert len(said) == (not usable)


def test_where_compiling_fails_plain_python_goes_on(dealt, monkeypatch):
    ub = dealt["result"]["ub"]
    plain, compiled = trees(dealt)
    failing = Mock(side_effect=RuntimeError("no code for this processor"))
    monkeypatch.setattr(checker, "explorer", lambda *_: failing)
    jobs = [([[digit]], ub, 10**6) for digit in range(3)]
    assert [*compiled.explore_all(jobs)] == [*plain.explore_all(jobs)]
    assert [*compiled.explore_all(jobs)] == [*plain.explore_all(jobs)]
    failing.assert_called_once()
    assert compiled.compiled is None
