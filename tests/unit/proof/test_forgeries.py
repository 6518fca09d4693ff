"""Certificates that were forged cheaply are refused, or too little is checked."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import random
import time
import zlib
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from dpbb.coordination.journal import packed
from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, read_instance
from dpbb.flowshop.best_known import best_known
from dpbb.flowshop.family import read_problem
from dpbb.options import TreeOptions
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.pieces import Explorer, Task
from dpbb.proof.verify import verify
from dpbb.tree.work_unit import WorkUnit
from tests.unit.proof.conftest import SHOP, deal, pairs
from tests.unit.proof.test_checker import all_places, mutate

OLD = Path(__file__).parents[2] / "data" / "a9da344" / "optimal.cert.json.gz"


def books(times, bound, units, leases, bounds=None, **changes):
    """A certificate that nothing is below a bound, with the totals of its leases."""
    times = np.asarray(times).tolist()
    closed, nodes, leaves = checker.Counter(), 0, 0
    for row in leases:
        nodes, leaves = nodes + row[4], leaves + row[5]
        closed.update(dict(map(tuple, row[6])))
    content = {
        "format": checker.FORMAT,
        "schema": checker.SCHEMA,
        "instance": {
            "name": "mine",
            "digest": checker.digest_of(times),
            "times": times,
        },
        "tree": {"rule_version": 1, "branching": "minmin", "branching_ub": None}
        | {"bound": "lb1", "root_order": None},
        "result": {"status": "infeasible_cutoff", "makespan": None}
        | {"permutation": None, "lower_bound": bound, "ub": bound, "all_optima": False},
        "totals": {"decomposed": nodes, "leaves": leaves, "closed": pairs(closed)},
        "bounds": [[bound, None]] if bounds is None else bounds,
        "units": units,
        "leases": leases,
        "rest": {"decomposed": 0, "leaves": 0, "closed": []},
    }
    return content | changes


def shape(n_jobs, depth, nodes):
    """Closed subtrees below a node at a depth: a tree of so many inner nodes or less.

    As many nodes at each depth as there are left to spend, the others are closed.
    """
    closed, inner, spent = {}, 1, 1
    for below in range(depth + 1, n_jobs):
        children = inner * (n_jobs - below + 1)
        # the last depth has none: what is open there would be leaves
        inner = min(children, max(0, nodes - spent)) if below < n_jobs - 1 else 0
        spent += inner
        if children - inner:
            closed[below] = children - inner
        if not inner:
            break
    return spent, pairs(closed)


def inflated(times, bound, nodes, bounds, ubs):
    """Every child of the root is a unit that claims many nodes."""
    n_jobs = len(times)
    units = [[1, 0, str(factorial(n_jobs)), 1, [[]]]]
    leases = []
    for digit in range(n_jobs):
        spent, closed = shape(n_jobs, 1, nodes)
        number = digit + 2 if digit < n_jobs - 1 else 1
        if number > 1:
            units.append([number, 1, str(factorial(n_jobs - 1)), 1, [[digit]]])
        extra = digit == 0  # the root, with its first leaf
        row = [number, 1, "s", "cpu", spent + extra, 0, closed, ubs, number > 1, "1"]
        leases.append(row)
    return books(times, bound, units, leases, bounds)


def ta051():
    return read_instance("ta051").times


@pytest.mark.parametrize("ubs", [[3847, 3846], [3846, 3846], [99_999, 3846]])
def test_inflated_counts_of_an_open_instance(ubs, both):
    """Nothing below 3846, which nobody knows: subtrees that are never explored."""
    bounds = [[ub, None] for ub in dict.fromkeys(ubs)]
    content = inflated(ta051(), 3846, 9_900_000, bounds, ubs)
    assert content["totals"]["decomposed"] > 4e8
    holds, text = both(content, nodes=2_000)
    assert not holds
    for verdict in (checker.PROVED, checker.AUDITED, f"{checker.SAMPLED}:"):
        assert verdict not in text


@pytest.mark.parametrize("ubs", [[3847, 3846], [3846, 3846]])
def test_subtrees_that_are_pruned_at_once_have_no_nodes(ubs):
    """20 of them, with 9.9 million nodes each: whichever is drawn, none is there."""
    content = inflated(ta051(), 3846, 1, None, ubs)
    tree, rng, n_jobs = checker.Tree(content), random.Random(0), 50
    pruned = []
    while len(pruned) < 20:
        path, _ = tree.descend(rng, 3847)
        at = rng.randrange(1, len(path) + 1)
        node = tree.root
        for digit in path[:at]:
            node = tree.child(node, digit, tree.children(node)[0])
        lower = tree.children(node)[1] if len(node[0]) > 1 else []
        pruned = [digit for digit, bound in enumerate(lower) if bound > 3847]
    path, pruned, below = path[:at], pruned[:20], str(factorial(n_jobs - at - 1))
    kept = [[depth, n_jobs - depth] for depth in range(1, at + 1)]
    kept.append([at + 1, n_jobs - at - 20])
    nodes, closed = shape(n_jobs, at + 1, 9_900_000)
    units = [[1, 0, str(factorial(n_jobs)), 1, [[]]]]
    leases = [[1, 1, "s", "cpu", at + 1, 0, [row for row in kept if row[1]], ubs]]
    leases[0] += [False, "1"]
    for number, digit in enumerate(pruned, 2):
        units.append([number, 1, below, 1, [[*path, digit]]])
        row = [number, 1, "s", "cpu", nodes, 0, closed, ubs, True, "1"]
        leases.append(row)
    bounds = [[ub, None] for ub in dict.fromkeys(ubs)]
    content = books(ta051(), 3846, units, leases, bounds)
    for name, check in checker.STRUCTURE:
        parts = check(content)
        assert name
    audit = checker.Audit(content, parts, tree, 1, 10**8, 10**7, 40)
    part = audit.weighted()
    assert part.nodes == nodes
    with pytest.raises(checker.Failed, match=r"are less|was explored with"):
        audit.explore([part])


def pruned_units(times, bound, ubs, count, nodes, descents):
    """Books of units that are pruned at once, each with so many nodes.

    Below the root, or along random descents, where a tree prunes late.
    """
    content = books(times, bound, [], [], [[ub, None] for ub in dict.fromkeys(ubs)])
    tree, rng, n_jobs = checker.Tree(content), random.Random(0), len(times)
    known, queue, pruned, open_paths = {}, [()], [], set()

    def node_of(path):
        node = tree.root
        for depth, digit in enumerate(path):
            node = tree.child(node, digit, known[path[:depth]][0])
        return node

    while len(pruned) < count:
        path = queue.pop(0)
        if path in known:
            continue
        _, lower = known[path] = tree.children(node_of(path))
        open_paths.discard(path)
        for digit, low in enumerate(lower):
            child = (*path, digit)
            (pruned.append if low > max(ubs) else open_paths.add)(child)
            if low <= max(ubs) and not descents:
                queue.append(child)
        if descents and not queue:
            below, _ = tree.descend(rng, max(ubs))
            queue = [tuple(below[:end]) for end in range(len(below))]
    listed, kept = pruned[:count], pruned[count:]
    closed = checker.Counter(map(len, [*kept, *open_paths]))
    units = [[1, 0, str(factorial(n_jobs)), 1, [[]]]]
    leases = [[1, 1, "s", "cpu", len(known), 0, pairs(closed), ubs, False, "1"]]
    for number, path in enumerate(listed, 2):
        below = str(factorial(n_jobs - len(path)))
        units.append([number, 1, below, 1, [list(path)]])
        spent, shut = shape(n_jobs, len(path), nodes)
        leases.append([number, 1, "s", "cpu", spent, 0, shut, ubs, True, "1"])
    return books(times, bound, units, leases, content["bounds"])


WITNESSES = {"most_nodes": 10**9, "witnesses": 1000}


@pytest.mark.parametrize("ubs", [[3847, 3846], [3846, 3846]])
def test_200_units_that_are_pruned_at_once(ubs, both):
    """As with --witnesses 1000 --most-nodes 1000000000: an open instance, proved."""
    content = pruned_units(ta051(), 3846, ubs, 200, 9_900_000, descents=True)
    assert len(content["units"]) == 201
    assert content["totals"]["decomposed"] > 1e9
    found = verify(Certificate(content), engine="cpu", nodes=2 * 10**7, **WITNESSES)
    assert found.verdict == "does not hold", found.summary()
    # the program of one file is too slow for units that claim so much
    holds, text = both(content, nodes=1_000, most=10**9)
    assert not holds
    assert checker.AUDITED not in text


SHOP_OF_1303 = np.random.default_rng(10).integers(1, 100, (14, 10))


def test_nothing_below_1304_where_the_optimum_is_1303(both):
    """A false claim: 200 units that are pruned at once, 2 billion nodes."""
    problem = read_problem(SHOP_OF_1303)
    device = Device("cpu", "test")
    explorer = Explorer(problem, TreeOptions(), False, get_engine("cpu"), device)
    below = [explorer.explore(Task([[]], ub, 10**6)) for ub in (1304, 1303)]
    explorer.close()
    assert [(one.whole, one.best) for one in below] == [(True, 1303), (True, None)]
    for ubs in ([1305, 1304], [1304, 1304]):
        content = pruned_units(SHOP_OF_1303, 1304, ubs, 200, 9_900_000, descents=False)
        assert content["totals"]["decomposed"] > 1e9
        found = verify(Certificate(content), engine="cpu", **WITNESSES)
        assert found.verdict == "does not hold"
        assert "a schedule of makespan 1303 below 1304 was missed" in found.summary()
        # and where the tree does not fit the budget
        holds, text = both(content, nodes=1_000, most=10**9)
        assert not holds, text
        assert checker.AUDITED not in text


def test_489_nodes_and_20_000_units(both):
    """A proof of ta051: all children of the first 489 nodes are pruned, they say."""
    n_jobs, inner, children, queue = 50, 489, [], [()]
    while inner:
        path = queue.pop(0)
        inner -= 1
        queue += [(*path, digit) for digit in range(n_jobs - len(path))]
    children = queue
    assert len(children) > checker.MAX_ENTRIES
    listed, rest = children[: checker.MAX_ENTRIES - 1], children[-1:]
    kept = checker.Counter(map(len, children[checker.MAX_ENTRIES - 1 : -1]))
    ubs = [3846, 3846]
    units = [[1, 0, str(factorial(n_jobs)), 1, [[]]]]
    leases = []
    for number, path in enumerate(listed, 2):
        below = str(factorial(n_jobs - len(path)))
        units.append([number, 1, below, 1, [list(path)]])
        shut = [[len(path), 1]]
        leases.append([number, 1, "s", "cpu", 0, 0, shut, ubs, True, "1"])
    content = books(ta051(), 3846, units, leases)
    content["rest"] = {"decomposed": 489, "leaves": 0, "closed": pairs(kept)}
    content["rest"]["closed"] = pairs(kept + checker.Counter(map(len, rest)))
    everything = pairs(checker.Counter(map(len, children)))
    content["totals"] = {"decomposed": 489, "leaves": 0, "closed": everything}
    assert len(content["units"]) == 20_000
    holds, text = both(content, nodes=1_000)
    assert not holds
    assert text.count("every leaf is closed once") == 2
    assert text.count("FAILED") == 2, text


def test_counts_that_are_moved_between_units(dealt, both):
    """The sums are right, the tree is small and the claim true: the books are not."""
    content = copy.deepcopy(dealt)
    rows = content["leases"]
    one, two = [row for row in rows[2:] if row[4] > 1][:2]
    for at in (4, 5, 6):
        one[at], two[at] = two[at], one[at]
    assert one[4] != two[4]
    for options in ({}, {"everything": True}):
        holds, text = both(content, **options)
        assert not holds
        assert text.count("was explored with") == 2, text


def test_counts_that_no_bound_explains(optimal, both):
    """The claim is true, but there are not as many nodes where the bound fell from."""
    best = optimal["result"]["ub"]
    content = deal(optimal, best + 40)
    content["bounds"] = [[best + 1, None], [best, optimal["result"]["permutation"]]]
    for row in content["leases"]:
        row[7] = [best + 1, best]
    for options in ({}, {"everything": True}):
        holds, text = both(content, nodes=100_000, **options)
        assert not holds
        assert text.count(f"nodes, at {best + 1} there are less") == 2, text


def test_bounds_are_those_that_are_recorded(both):
    content = inflated(ta051(), 3846, 1000, [[3846, None]], [3847, 3846])
    holds, text = both(content)
    assert not holds
    assert text.count("expected bounds of schedules, [3846]") == 2, text


def test_the_schedule_of_a_bound_is_evaluated_again(both):
    order = list(range(50))
    bounds = [[3847, order], [3846, None]]
    content = inflated(ta051(), 3846, 1000, bounds, [3847, 3846])
    holds, text = both(content)
    assert not holds
    assert text.count("the schedule of bound 3847 has") == 2, text


def test_a_false_claim_with_inflated_counts(both):
    """The tree itself is small: it is explored whatever the certificate claims."""
    import dpbb

    rows = SHOP[:7]
    best = dpbb.solve(rows, engine="reference", verbosity="quiet").makespan
    content = inflated(rows, best + 1, 500_000, None, [best + 1] * 2)
    holds, text = both(content, nodes=20_000)
    assert not holds
    assert text.count("FAILED") == 2, text


def test_a_proof_of_few_nodes_with_all_else_in_the_rest(both, monkeypatch):
    """489 nodes for ta051: units that are pruned at once, the others summed up."""
    monkeypatch.setattr(checker, "MAX_ENTRIES", 20)
    n_jobs = 50
    content = inflated(ta051(), 3846, 1, None, [3846, 3846])
    content["units"] = content["units"][:20]
    numbers = {row[0] for row in content["units"]}
    rest = [row for row in content["leases"] if row[0] not in numbers]
    content["leases"] = [row for row in content["leases"] if row[0] in numbers]
    closed = checker.Counter()
    for row in rest:
        closed.update(dict(map(tuple, row[6])))
    content["rest"] = {
        "decomposed": sum(row[4] for row in rest),
        "leaves": 0,
        "closed": pairs(closed),
    }
    assert content["totals"]["decomposed"] < 489
    assert sum(closed.values()) == 30 * (n_jobs - 1)
    holds, text = both(content, nodes=2_000)
    assert not holds
    assert text.count("random descents say") == 2, text


def permuted(name, seed=0):
    times = read_instance(name).times
    return times[np.random.default_rng(seed).permutation(len(times))]


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_hidden_leaf_of_a_benchmark_in_another_order(mirrored, both):
    """ta025, whose optimum is 2291, its jobs renumbered: nothing below 2292."""
    times = permuted("ta025")[:, :: -1 if mirrored else 1]
    content = inflated(times, 2292, 100, None, [2292, 2292])
    holds, text = both(content)
    assert not holds
    assert text.count("ta025 has a schedule of makespan 2291, below 2292") == 2, text


def test_a_hidden_leaf_is_found_where_everything_is_explored(optimal, both):
    """One leaf that the books hide: audits may miss it, the whole tree does not."""
    best = optimal["result"]["ub"]
    content = deal(optimal, best)
    content["result"].update(status="infeasible_cutoff", makespan=None)
    content["result"].update(permutation=None, lower_bound=best + 1, ub=best + 1)
    content["bounds"] = [[best + 1, None]]
    for lease in content["leases"]:
        lease[7] = [best + 1] * 2
    found = verify(Certificate(content), engine="reference", everything=True)
    assert found.verdict == "does not hold"
    assert not both(content)[0]


def test_the_name_of_another_instance_is_refused(optimal, both):
    content = copy.deepcopy(optimal)
    spelled = ("ta022", "TA22", "VFR30_15_2", " vfr800_60_10 ", "vfr030_15_02_Gap")
    for name in spelled:
        content["instance"]["name"] = name
        holds, text = both(content)
        assert not holds
        assert text.count("but has another digest") == 2, text


@pytest.mark.parametrize("name", ["ta025", "VFR10_5_1"])
def test_a_benchmark_with_its_jobs_renumbered_needs_another_name(name, both, shared):
    """Its digest is another one; what is known of it counts all the same."""
    times = read_instance(name, data_dir=shared / "data").times[::-1]
    content = inflated(times, 1, 100, None, [1, 1])
    content["instance"]["name"] = name
    assert both(content)[1].count("has another digest") == 2
    content["instance"]["name"] = "mine"
    assert f", that of {name}" in verify(Certificate(content)).summary()
    above = best_known(name).upper_bound + 1
    content["result"].update(lower_bound=above, ub=above)
    content["bounds"] = [[above, None]]
    assert both(content)[1].count("has a schedule of makespan") == 2


def test_the_program_of_one_file_knows_all_benchmarks():
    from dpbb.flowshop.best_known import _tables

    for digest, known in _tables()[0].items():
        start, _, value = checker.BEST_KNOWN[known.name]
        assert (digest[:16], known.upper_bound) == (start.hex(), value)
    for digest, known in _tables()[1].items():
        assert digest[:8] == checker.BEST_KNOWN[known.name][1].hex()
    assert len(checker.BEST_KNOWN) == len(_tables()[0]) == 600


def test_it_is_about_your_own_instance(optimal):
    found = verify(Certificate(optimal), engine="reference", instance=SHOP)
    assert found.verdict == "proved again"
    found = verify(Certificate(optimal), instance="ta001")
    assert "expected the digest of yours" in found.summary()


@pytest.mark.parametrize(
    "at", [(), ("instance",), ("tree",), ("result",), ("totals",), ("rest",)]
)
def test_unknown_fields_are_refused(at, optimal, both):
    content = copy.deepcopy(optimal)
    above = content
    for key in at:
        above = above[key]
    above["grinding"] = 7
    holds, text = both(content)
    assert not holds
    assert text.count("is missing, unknown, or of another type") == 2


def test_millions_of_jobs_are_refused_at_once(both):
    times = [[1]] * 3_000_000
    content = books([[1]], 1, [[1, 0, "1", 1, [[]]]], [])
    content["instance"]["times"] = times
    content["units"][0][2] = "1"
    began = time.monotonic()
    found = verify(Certificate(content))
    assert time.monotonic() - began < 20
    assert "expected at most 1024 jobs, got 3000000" in found.summary()


@pytest.mark.parametrize("name", ["units", "leases"])
def test_too_many_entries_are_refused(name, optimal, both):
    content = copy.deepcopy(optimal)
    content[name] = [0] * 400_000
    holds, text = both(content)
    assert not holds
    assert text.count("expected at most") == 2


def test_the_rest_is_for_what_found_no_room(dealt, both):
    content = copy.deepcopy(dealt)
    *_, row = content["leases"]
    content["leases"].remove(row)
    content["rest"] = {"decomposed": row[4], "leaves": row[5], "closed": row[6]}
    holds, text = both(content)
    assert not holds
    assert text.count("though there is room to list them") == 2


def test_a_certificate_of_the_old_schema_is_read(both):
    """What was known of its bounds is less; the tree is explored again all the same."""
    content = json.loads(gzip.decompress(OLD.read_bytes()))
    assert content["schema"] == checker.OLD_SCHEMA
    holds, text = both(content)
    assert holds, text
    assert text.count("proved again: the whole tree") == 2


def test_units_of_many_roots_are_packed():
    paths = [[a, b] for a in range(12) for b in range(11)] + [[12]]
    text = packed(WorkUnit.from_paths(13, paths))
    row = [2, 1, "0", len(paths), text]
    assert checker.paths_of(row, 13) == paths
    for damaged in (text[:-4], "x" + text, text + "AAAA", text.replace("A", "*")):
        if damaged != text:
            with pytest.raises(checker.Failed, match="damaged roots"):
                checker.paths_of([2, 1, "0", len(paths), damaged], 13)


def test_packed_roots_are_no_more_than_the_unit_says():
    """Eleven kilobytes became four million lists before they were counted."""
    many = base64.b64encode(zlib.compress(bytes(2 * 4096 * 14))).decode()
    with pytest.raises(checker.Failed, match="damaged roots"):
        checker.paths_of([2, 1, "0", 4096, many], 13)


def packed_units(n_jobs, depth, n_units):
    """Books of units of 100 packed roots each, down to a depth."""
    whole = [1, 0, str(factorial(n_jobs)), 1, [[]]]
    leaves = str(100 * factorial(n_jobs - depth))
    units = []
    for number in range(n_units):
        tail = [0] * (depth - 2)
        paths = [[number, digit, *tail] for digit in range(100)]
        text = packed(WorkUnit.from_paths(n_jobs, paths))
        units.append([number + 2, 1, leaves, 100, text])
    times = [[1]] * n_jobs
    return {"schema": checker.SCHEMA, "instance": {"times": times}} | {
        "units": [whole, *units]
    }


def test_packed_roots_have_so_many_digits_at_most(monkeypatch):
    """A file of a few MB took gigabytes: 400,000 roots of a thousand digits each."""
    content = packed_units(n_jobs=120, depth=110, n_units=9)
    assert checker.check_units(content) == 10
    monkeypatch.setattr(checker, "PACKED_DIGITS", 100_000)
    assert checker.check_units(content) == 10
    monkeypatch.setattr(checker, "PACKED_DIGITS", 98_000)
    with pytest.raises(checker.Failed, match=r"unit 10: .* more than 98000 digits"):
        checker.check_units(content)


def test_units_are_packed_where_there_is_room_for_their_digits(monkeypatch):
    content = packed_units(n_jobs=120, depth=110, n_units=9)
    content["units"][-1][4] = None
    with pytest.raises(checker.Failed, match=r"unit 10 has 100 roots: listed\?"):
        checker.check_units(content)
    # a root may have as many digits as there are jobs
    monkeypatch.setattr(checker, "PACKED_DIGITS", 9 * 100 * 120 - 1)
    assert checker.check_units(content) == 9


def test_a_scheduler_is_for_the_whole_tree(optimal):
    with pytest.raises(OptionError, match="scheduler: expected it with"):
        verify(Certificate(optimal), elsewhere=lambda *_: None)


@pytest.mark.parametrize(
    "count", [100, pytest.param(5000, marks=[pytest.mark.slow, pytest.mark.timeout(0)])]
)
def test_no_mutation_of_a_false_certificate_is_proved(count, optimal, both):
    """A claim that is false is never called proved, whatever else is changed."""
    best = optimal["result"]["ub"]
    false = inflated(optimal["instance"]["times"], best + 1, 40, None, [best + 1] * 2)
    rng = random.Random(count)
    places = {}
    for at in all_places(false):
        places.setdefault(at[0], []).append(at)
    for _ in range(count):
        content = copy.deepcopy(false)
        for _ in range(rng.randrange(1, 4)):
            at = rng.choice(places[rng.choice(list(places))])
            try:
                mutate(content, at, rng)
            except (KeyError, IndexError, TypeError):
                continue  # what was there is gone
        claim = content.get("result")
        bound = claim.get("lower_bound") if isinstance(claim, dict) else None
        if content.get("instance") != false["instance"]:
            continue
        holds, text = both(content, nodes=20_000)
        true = isinstance(bound, int) and bound <= best
        assert not holds or true, (at, text)


def test_a_digest_that_begins_like_that_of_a_benchmark_is_another():
    """Four bytes of a digest are found in seconds; this shop has those of a name."""
    shop = FlowShopInstance(
        "VFR300_60_1", [[5, 9, 4], [7, 3, 8], [2, 6, 6], [9, 1, 2128483]]
    )
    start = checker.BEST_KNOWN["VFR300_60_1"][0].hex()
    assert shop.digest[:8] == start[:8]
    instance = {"name": shop.name, "digest": shop.digest, "times": shop.times.tolist()}
    content = {"instance": instance, "result": {"lower_bound": 0}}
    with pytest.raises(checker.Failed, match="VFR300_60_1, but has another digest"):
        checker.check_name(content)
