"""Books that were made up are refused, and nothing that is read ends in a traceback."""

from __future__ import annotations

import copy
import gzip
import json
import math
import os
import random
import re
import resource
import sys
from itertools import combinations

import pytest

from dpbb.errors import OptionError
from dpbb.flowshop import read_instance
from dpbb.proof import checker
from dpbb.proof.verify import verify
from tests.processes import run
from tests.unit.proof.conftest import SHOP, deal, part_of, run_certificate, totals

pytestmark = pytest.mark.cluster

N_JOBS = 20


def claim(makespan_is_bound=True, **changes):
    """A proof that the identity is the best schedule of ta001, which it is not."""
    times = read_instance("ta001").times.tolist()
    order = list(range(N_JOBS))
    value = checker.ends_of(times, order)[-1]
    assert value == 1448  # the optimum is 1278
    ub = [value, value] if makespan_is_bound else [1, 1]
    closed = [[1, N_JOBS]]
    content = {
        "format": checker.FORMAT,
        "schema": checker.SCHEMA,
        "instance": {
            "name": "mine", "digest": checker.digest_of(times), "times": times,
        },
        "tree": {"rule_version": 1, "branching": "minmin", "branching_ub": None}
        | {"bound": "lb1", "root_order": None, "n_jobs": N_JOBS, "trivial_ub": 9999},
        "result": {"status": "optimal", "makespan": value, "permutation": order}
        | {"lower_bound": value, "ub": value, "all_optima": False},
        "totals": {"decomposed": 1, "leaves": 0, "closed": closed},
        "units": [[[[]], 1, 0, closed, ub]],
        "bounds": [[ub[0], []]],
    }  # fmt: skip
    return content | changes


def with_counts(*counts):
    content = claim()
    content["units"][0][1:4] = counts
    content["totals"] = totals(*counts[:2], dict(map(tuple, counts[2])))
    return content


def no_schedule(bound):
    content = claim()
    content["result"] |= {"status": "infeasible_cutoff", "makespan": None}
    content["result"] |= {"permutation": None, "lower_bound": bound, "ub": bound}
    content["units"][0][4] = [bound, bound]
    return content | {"bounds": [[bound, []]]}


def changed(**result):
    content = claim()
    content["result"] |= result
    return content


def canceled():
    rows = [copy.deepcopy(claim()["units"][0]) for _ in range(2)]
    rows[0][1:4], rows[1][1:4] = [1, 0, [[0, 2]]], [0, 0, [[0, -1]]]
    return claim(units=rows, totals={"decomposed": 1, "leaves": 0, "closed": [[0, 1]]})


def a_line_of_nodes():
    """Sums that hold of any claim: something has to be explored again."""
    closed = [[depth, N_JOBS - depth] for depth in range(1, N_JOBS)]
    closed[-1][1] = 2
    return with_counts(N_JOBS - 1, 0, closed)


def two_units_of_nothing():
    """The first, whose nodes all are closed, has none; bounds fell, so fewer may be."""
    content, closed = no_schedule(1200), [[1, N_JOBS - 1]]
    content["bounds"] = [[1201, []], [1200, []]]
    rows = [[[[]], 0, 0, closed, [1201, 1200]], [[[0]], 0, 0, [[1, 1]], [1201, 1200]]]
    return content | {"units": rows, "totals": totals(0, 0, {1: N_JOBS})}


MISSED = "again there are more nodes|was missed"

FALSE = {
    "pruned at 1": (lambda: claim(False), "expected bounds not below 1448"),
    "a cutoff above all": (lambda: no_schedule(10**9), "not below the one before it"),
    "one node": (claim, MISSED),
    "no bound": (lambda: with_counts(1, 0, [[0, 1]]), "0 nodes above what is closed"),
    "no node": (lambda: with_counts(0, 0, [[0, 1]]), MISSED),
    "no node of two units": (two_units_of_nothing, MISSED),
    "no schedule": (
        lambda: changed(makespan=None, permutation=None, lower_bound=0, ub=0),
        "no schedule of all jobs",
    ),
    "canceled": (canceled, "below 0"),
    "feasible": (lambda: changed(status="feasible"), "expected an optimum"),
    "a line of nodes": (a_line_of_nodes, MISSED),
    "leaves of nobody": (lambda: with_counts(1, 0, [[1, 19]]), "not accounted for"),
}


@pytest.mark.parametrize("name", FALSE)
def test_false_claims_do_not_hold(name, both, monkeypatch):
    # that the optimum of ta001 is in a table is not what is to find them
    monkeypatch.setattr("dpbb.proof.verify.best_known_of", lambda _: None)
    make, message = FALSE[name]
    verdict, text = both(make(), nodes=1000)
    assert verdict == checker.FALSE
    assert len(re.findall(message, text)) >= 2, text


def test_books_of_several_units_hold(dealt, both):
    assert len(dealt["units"]) == 9
    assert both(dealt)[0] == checker.PROVED
    assert both(dealt, parts=True)[0] == checker.AUDITED


def lower(content, index, at):
    content["units"][index][4][at] -= 1


def swapped(content):
    """A node more here, one less there: the totals stay."""
    content["units"][2][1] += 1
    max(content["units"], key=lambda unit: unit[1])[1] -= 1


def two_units_swapped(content):
    one, two = [row for row in content["units"][2:] if row[1] > 1][:2]
    one[1:4], two[1:4] = two[1:4], one[1:4]


def other_bound(content):
    """At a higher bound than is recorded: then there is more to explore."""
    for unit in content["units"]:
        unit[4] = [content["result"]["ub"] + 3] * 2


def other_times(content):
    """Another instance altogether, with its own digest."""
    times = content["instance"]["times"]
    times[0], times[1] = [time + 7 for time in times[1]], times[0]
    content["instance"]["digest"] = checker.digest_of(times)


def place(*keys, value=None, by=0):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = content[keys[-1]] + by if by else value

    return change


CHANGES = {
    "start below the claim": lambda c: lower(c, 4, 0),
    "end below the claim": lambda c: lower(c, 4, 1),
    "rising": place("units", 5, 4, 1, by=1),
    "at another bound": other_bound,
    "a node moved": swapped,
    "units swapped": two_units_swapped,
    "inside another": place("units", 3, 0, value=[[0, 1]]),
    "no whole tree": place("units", 0, 0, value=[[8]]),
    "no roots": place("units", 3, 0, value=[]),
    "all optima": place("result", "all_optima", value=True),
    "another digest": place("instance", "digest", value="0" * 64),
    "other times": other_times,
    "a lower bound": place("result", "lower_bound", by=1),
    "another rule": place("tree", "branching", value="maxsum"),
    "a worse schedule": lambda c: c["result"]["permutation"].reverse(),
    "a field is unknown": place("result", "secret", value=1),
    "a bound without its schedule's cost": lambda c: c["bounds"].insert(
        0, [c["result"]["ub"] + 1, c["result"]["permutation"]]
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_statement_stands_alone(name, dealt, both):
    content = copy.deepcopy(dealt)
    CHANGES[name](content)
    assert content != dealt
    assert both(content, parts="units" in content)[0] == checker.FALSE


def test_bounds_may_be_above_the_claim(optimal, both):
    """At a larger bound more is explored than the claim needs; not so the reverse."""
    least = optimal["result"]["ub"]
    content = deal(optimal, least - 2)
    for bound, verdict in ((least - 5, checker.PROVED), (least - 1, checker.FALSE)):
        content["result"].update(status="infeasible_cutoff", lower_bound=bound)
        content["result"].update(ub=bound, makespan=None, permutation=None)
        assert both(content)[0] == verdict


def test_a_bound_that_was_given_on_the_way_is_not_audited(dealt, both):
    """As of a run that was resumed with a lower one: --all proves it all the same."""
    content = copy.deepcopy(dealt)
    content["bounds"].insert(0, [content["result"]["ub"] + 5, []])
    verdict, text = both(content, parts=True)
    assert verdict == checker.TOO_LITTLE
    assert text.count("given on the way") == 2
    assert both(content, parts=True, everything=True)[0] == checker.PROVED


def test_where_bounds_fell_counts_show_nothing(dealt, both):
    order, ub = dealt["result"]["permutation"], dealt["result"]["ub"]
    worse = random.Random(1).sample(order, len(order))
    cost = checker.Shop(dealt["instance"]).makespan(worse)
    assert cost > ub
    content = copy.deepcopy(dealt)
    content["bounds"] = [[cost, worse], [ub, order]]
    for row in content["units"]:
        row[4] = [cost, ub]
    verdict, text = both(content, parts=True)
    assert verdict == checker.TOO_LITTLE
    assert text.count("bounds fell in some") == 2
    assert both(content, parts=True, everything=True)[0] == checker.PROVED


def test_what_is_not_asked_for_is_not_said(dealt, both):
    assert both(dealt, parts=True, draws=0)[0] == checker.TOO_LITTLE
    assert both(dealt, nodes=1)[0] == checker.TOO_LITTLE


def test_a_seed_of_the_digest_has_more_draws(dealt, both):
    assert 0.9**checker.DIGEST_DRAWS < 2**-64 < 0.9 ** (checker.DIGEST_DRAWS - 1)
    verdict, text = both(dealt, parts=True, seed="digest")
    assert verdict == checker.AUDITED
    assert text.count("x^422") == 2
    assert text.count("he could try seeds") == 2


def test_a_cascade_is_written_in_one_way(tmp_path, both):
    content = run_certificate(tmp_path, SHOP, bound="cascade:1-8:0-3", workers=0)
    assert both(content)[0] == checker.PROVED
    three = "\N{ARABIC-INDIC DIGIT THREE}"
    for text in ("01-8:0-3", "1-8:00-3", f"1-8:0-{three}", "1-8:0-3\n", "1-9:0-3"):
        content["tree"]["bound"] = content["instance"]["bound"] = f"cascade:{text}"
        assert both(content)[0] == checker.FALSE


# -- given jobs ------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["lb1", "lb2"])
def window(request, tmp_path_factory):
    """Content of the certificate of the jobs between given ones, in books of units."""
    options = {"front": [4], "back": [2], "workers": 0, "heuristics": "neh"}
    folder = tmp_path_factory.mktemp("window")
    content = run_certificate(folder, SHOP, **options, bound=request.param)
    assert content["tree"]["n_jobs"] == len(SHOP) - 2
    return deal(content, content["result"]["ub"])


def test_given_jobs_are_a_part_of_the_claim(window, both):
    verdict, text = both(window)
    assert verdict == checker.PROVED
    assert text.count(", given front 4, given back 2") == 2
    for front, back in ([5], [2]), ([], []), ([4], [4]), ([9], [2]), ([*range(9)], []):
        content = copy.deepcopy(window)
        content["instance"] |= {"front": front, "back": back}
        assert both(content)[0] == checker.FALSE
    content["instance"] |= {"front": [5], "back": [2]}
    ends = content["instance"]["times"], [5], [2]
    content["instance"]["digest"] = checker.digest_of(*ends)
    assert both(content)[0] == checker.FALSE  # the books are of another tree


# -- what is read ----------------------------------------------------------------------


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("truncated", lambda good: gzip.compress(good)[:-20]),
        ("cut short", lambda good: gzip.compress(good)[: len(good) // 20]),
        ("flipped", lambda good: gzip.compress(good, mtime=0)[:-6] + b"xxxxxx"),
        ("nested", lambda _: b"[" * 100_000),
        ("a list", lambda _: b"[1]"),
        ("another schema", lambda good: good.replace(b'"schema": 4', b'"schema": 2')),
        ("dicts", lambda _: gzip.compress(b"[" + b"{}," * 10**5 + b"1]")),
        ("zeros", lambda _: gzip.compress(b"[" + b"0" * 10**8)),
        ("a long integer", lambda _: b"[" + b"9" * 4000 + b"]"),
    ],
)
def test_damaged_files_are_named(name, make, dealt, tmp_path, monkeypatch, capsys):
    path = write(tmp_path / name, make(json.dumps(dealt).encode()))
    with pytest.raises(OptionError, match="expected a certificate, got") as refused:
        verify(path)
    assert str(refused.value).count(str(path)) == 1
    monkeypatch.setattr(sys, "argv", ["", str(path)])
    assert checker.main() == 2
    assert capsys.readouterr().out.count(str(path)) == 1


def large_shop():
    """2.8 kB of zeros and ones: LB2 would have 209 million times."""
    content = claim()
    times = [[0] * 1024] * 400
    content["instance"] |= {"times": times, "digest": checker.digest_of(times)}
    content["instance"]["bound"] = content["tree"]["bound"] = "lb2"
    return content


def test_what_is_too_large_is_not_built_nor_refuted(tmp_path):
    """With a GB for all of it."""
    text = json.dumps(large_shop()).encode()
    path = write(tmp_path / "c.json.gz", gzip.compress(text))

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

    program, code = checker.__file__, checker.EXIT[checker.TOO_LITTLE]
    run(sys.executable, "-I", program, path, code=code, preexec_fn=limit)
    assert verify(path).verdict == checker.TOO_LITTLE


def test_roots_that_leave_too_much_between_them_are_not_looked_at(both, monkeypatch):
    """Of each level of a deep root all siblings are left."""
    monkeypatch.setattr("dpbb.proof.verify.best_known_of", lambda _: None)
    rng, content = random.Random(1), claim()
    paths = {tuple(rng.randrange(N_JOBS - d) for d in range(18)) for _ in range(60_000)}
    content["units"].append([[*map(list, paths)], 0, 0, [], [1448, 1448]])
    verdict, text = both(content)
    assert verdict == checker.TOO_LITTLE
    assert text.count("roots that leave at most") == 2


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_too_little_memory_refutes_nothing(error, dealt, monkeypatch, both):
    """Nor does a tree that is too deep for plain Python."""

    def full(*_):
        raise error

    monkeypatch.setattr(checker, "check_books", full)
    assert both(dealt)[0] == checker.TOO_LITTLE


@pytest.mark.parametrize("name", ["t\u0430056", "\x1b[2Jta056", "ta056\u202e", "a\nb"])
def test_names_are_shown_as_what_they_are(name, dealt, both):
    content = copy.deepcopy(dealt)
    content["instance"]["name"] = name
    content["result"]["engine"] = name
    verdict, text = both(content)
    assert verdict == checker.PROVED
    assert text.count(ascii(name)) == 2
    assert all(line.isascii() and line.isprintable() for line in text.splitlines())


VALUES = (None, True, False, 0, -1, 1, 2, 2**31, 2**63, 2**70, -(2**70), 1.5)
VALUES += (math.nan, math.inf, "", "x", "1", [], [[]], [0], {}, {"a": 1}, [[0, 1]])

SAID_ONLY = (
    ("instance", "kind"),  # may be missing, as the next two
    ("result", "objective"),
    ("instance", "bound"),
    ("tree", "trivial_ub"),
    ("instance", "name"),
    ("result", "seconds"),
    ("result", "engine"),
    ("result", "versions"),
    ("tree", "branching_ub"),  # of MinMin
)


def all_places(value, at=()):
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from all_places(item, (*at, key))
        else:
            yield (*at, key)


def mutate(content, at, rng):
    """Change what is at a place."""
    above = content
    for key in at[:-1]:
        above = above[key]
    old, kind = above[at[-1]], rng.randrange(4)
    if kind == 0:
        del above[at[-1]]
    elif kind == 1 and isinstance(old, int):
        above[at[-1]] = old + rng.choice([-1000, -2, -1, 1, 2, 1000])
    elif kind == 2 and isinstance(above, list):
        above.append(copy.deepcopy(old))
    else:
        above[at[-1]] = copy.deepcopy(rng.choice(VALUES))


def is_only_said(at):
    if at[0] == "units" and at[2:] == (4, 0):
        return True  # a larger bound at the start is weaker
    return at[:2] in SAID_ONLY


@pytest.mark.parametrize("name", ["dealt", "optimal"])
def test_random_changes_are_refused_or_do_not_matter(name, request, tmp_path, both):
    original = request.getfixturevalue(name)
    rng = random.Random(name)
    places = {}
    for at in all_places(original):
        places.setdefault(at[0], []).append(at)
    refused = 0
    for _ in range(250):
        content = copy.deepcopy(original)
        at = rng.choice(places[rng.choice(list(places))])
        mutate(content, at, rng)
        same = json.dumps(content) == json.dumps(original)
        try:
            checker.read(write(tmp_path / "c.json", json.dumps(content)))
        except ValueError:
            refused += 1
            continue
        verdict, text = both(content)
        # of a tree that is explored as a whole the books need not say which root
        proved = at[0] == "units" and text.count(checker.PROVED) == 2
        holds = verdict != checker.FALSE
        assert not holds or same or is_only_said(at) or proved, (at, text)
        refused += not holds
    assert refused > 150


@pytest.mark.parametrize("value", ["-5", "1.5", ""])
@pytest.mark.parametrize("option", ["--nodes", "--draws", "--threads"])
def test_the_program_refuses_what_is_no_number(option, value, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", "missing.json", option, value])
    with pytest.raises(SystemExit) as ended:
        checker.main()
    assert ended.value.code == 2
    assert option in capsys.readouterr().err


# -- exploring -------------------------------------------------------------------------


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
    for at, job in enumerate(between):
        kinds.setdefault(tuple(times[job]), []).append(at)
    kinds = rng.sample([*kinds.values()], len(kinds))
    all_pairs = [f"{u}-{v}" for u, v in combinations(range(machines), 2)]
    bound = rng.choice(["lb1", "lb1", "lb2"])
    if seed % 3 == 0 and n_jobs > 1 and all_pairs:
        first = rng.randint(1, n_jobs - 1)
        some = ",".join(rng.sample(all_pairs, rng.randint(1, min(3, len(all_pairs)))))
        bound = f"cascade:{first}-{rng.randint(first, n_jobs - 1)}:{some}"
    version = 2 if len(kinds) < n_jobs else 1
    instance = {"times": times, "front": front, "back": given[len(front) :]}
    tree = {"branching": rng.choice(checker.RULES), "rule_version": version}
    tree |= {"bound": bound, "root_order": [job for kind in kinds for job in kind]}
    shop = checker.Shop(instance)
    least = min(shop.makespan(rng.sample(range(n_jobs), n_jobs)) for _ in range(30))
    tree["branching_ub"] = max(0, least + rng.randint(-2, 2))
    ub = max(1, int(least * rng.uniform(0.92, 1.02)) + rng.randint(-1, 1))
    roots = [()]
    for _ in range(rng.randint(0, 3)):
        path = roots.pop(rng.randrange(len(roots)))
        digits = range(n_jobs - len(path)) if len(path) < n_jobs - 1 else ()
        roots += [(*path, digit) for digit in digits if rng.random() < 0.8] or [path]
    return shop, tree, ub, sorted(roots)


def again(tree, *job):
    try:
        (pieces, ub, most) = job
        ((_, found),) = tree.explore_all([(part_of(tree.n_jobs, *pieces), ub, most)])
    except checker.Failed:
        return "a better schedule"
    return found


def test_what_is_compiled_counts_what_plain_python_and_textbook_recursion_do(
    monkeypatch,
):
    monkeypatch.setattr(checker, "LARGE", 1000)  # threads take pieces of a part
    limited = better = nodes = 0
    for seed in range(150):
        shop, options, ub, roots = random_shop(seed)
        given = {path for path in roots if random.Random(seed).random() < 0.3}
        for at_claim in (True, False):
            all_optima = 0 if at_claim else ub + 1
            plain = checker.Tree(shop, options, all_optima)
            fast = checker.Tree(shop, options, all_optima, 1 + seed % 2, fast=True)
            most = random.Random(seed).choice([20_000, 20_000, 30])
            job = (roots, given), ub, most
            wanted = again(plain, *job)
            assert wanted == again(fast, *job), seed
            limited += wanted is None
            better += wanted == "a better schedule"
            if isinstance(wanted, tuple):
                nodes += wanted[0]
                left = [path for path in roots if path not in given]
                parts = [again(plain, ([path],), ub, most) for path in left]
                sums = [(0, 0, checker.Counter()), *parts]
                assert checker.reduce(checker.plus, sums) == wanted
    assert min(limited, better) > 0
    assert nodes > 2000


def test_whatever_is_given_away_the_whole_is_the_sum(dealt):
    """Units below units: parts without them, and their own, are the tree."""
    tree, ub = checker.Tree(checker.Shop(dealt["instance"]), dealt["tree"]), 10**6
    tree.all_optima, ub = ub, dealt["result"]["ub"]
    whole = again(tree, ([()],), ub, 10**6)
    below = {(2, 0), (2, 3, 1), (4,), (0, 0, 0)}
    units = [([()], {(2,), (4,)}), ([(2,)], {(2, 0), (2, 3, 1)}), ([(4,)],)]
    units += [([path],) for path in below - {(4,), (0, 0, 0)}]
    parts = [again(tree, unit, ub, 10**6) for unit in units]
    assert checker.reduce(checker.plus, parts) == whole


def test_estimates_have_the_right_mean(dealt):
    tree, ub = checker.Tree(checker.Shop(dealt["instance"]), dealt["tree"]), 0
    ub, rng = dealt["result"]["ub"], random.Random(1)
    for pieces in ([()], [(3,)]), ([(1,), (2,), (7, 0)],):
        tree.all_optima = ub + 1
        nodes = sum(again(tree, pieces, ub, 10**6)[:2])
        found = [tree.weigh(part_of(tree.n_jobs, *pieces), ub, rng) for _ in range(300)]
        spread = math.sqrt(sum((x - nodes) ** 2 for x in found) / 300)
        assert abs(sum(found) / 300 - nodes) <= 4 * spread / math.sqrt(300) + 1e-9


def test_the_estimate_of_a_tree_beyond_all_numbers_ends():
    options = {"branching": "front", "rule_version": 1, "branching_ub": None}
    options |= {"bound": "lb1", "root_order": None}
    tree = checker.Tree(checker.Shop({"times": [[1]] * 200}), options, fast=True)
    size = tree.weigh(part_of(tree.n_jobs, [()]), 10**6, random.Random(1))
    assert checker.MOST_SIZE <= size < math.inf


def said_by_the_program(path, code="", **environment):
    """Last line of the program, run on its own with --all."""
    call = f"import sys; {code}\nimport runpy; sys.argv[1:] = {[str(path), '--all']}; "
    call += f"runpy.run_path({checker.__file__!r}, run_name='__main__')"
    ended = run(sys.executable, "-c", call, env=os.environ | environment)
    return ended.stdout.splitlines()[-1]


def test_without_numba_it_says_the_same(tmp_path, dealt):
    """As a program of its own, in a Python that cannot import Numba, or use it."""
    path = write(tmp_path / "certificate.json", json.dumps(dealt))
    said = said_by_the_program(path, "sys.modules['numba'] = None")
    assert said.startswith("proved again: the whole tree")
    assert said_by_the_program(path, NUMBA_DISABLE_JIT="1") == said
    assert said_by_the_program(path, NUMBA_NUM_THREADS="0") == said
