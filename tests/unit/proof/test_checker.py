"""Books that were made up are refused, and nothing that is read ends in a traceback."""

from __future__ import annotations

import copy
import gzip
import json
import math
import random
import re
import sys

import pytest

from dpbb.coordination import journal
from dpbb.errors import OptionError
from dpbb.flowshop import read_instance
from dpbb.proof import checker
from dpbb.proof.verify import verify
from tests.unit.proof.conftest import SHOP, deal, run_certificate

pytestmark = pytest.mark.cluster

N_JOBS = 20
NOTHING = {"decomposed": 0, "leaves": 0, "closed": []}


def claim(makespan_is_bound=True, **changes):
    """A proof that the identity is the best schedule of ta001, which it is not."""
    times = read_instance("ta001").times.tolist()
    order = list(range(N_JOBS))
    value = checker.ends_of(times, order)[-1]
    assert value == 1448  # the optimum is 1278
    digest = checker.digest_of(times)
    ub = [value, value] if makespan_is_bound else [1, 1]
    content = {
        "format": checker.FORMAT,
        "schema": checker.SCHEMA,
        "instance": {"name": "mine", "digest": digest, "times": times},
        "tree": {"rule_version": 1, "branching": "minmin", "branching_ub": None}
        | {"bound": "lb1", "root_order": None},
        "result": {"status": "optimal", "makespan": value, "permutation": order}
        | {"lower_bound": value, "ub": value, "all_optima": False},
        "totals": {"decomposed": 1, "leaves": 0, "closed": [[1, N_JOBS]]},
        "units": [[1, 0, str(math.factorial(N_JOBS)), 1, [[]]]],
        "leases": [[1, 1, "s", "cpu", 1, 0, [[1, N_JOBS]], ub, True, "1"]],
        "rest": NOTHING,
        "bounds": [[ub[0], None]],
    }
    return content | changes


def no_schedule(bound, ub):
    content = claim()
    content["result"].update(
        status="infeasible_cutoff", makespan=None, permutation=None
    )
    content["result"].update(lower_bound=bound, ub=bound)
    content["leases"][0][7] = [ub, ub]
    content["bounds"] = [[bound, None]]
    return content


def nothing_claimed():
    content = claim()
    content["result"].update(makespan=None, permutation=None, lower_bound=0, ub=0)
    return content


def summed_up():
    return claim(leases=[], rest=claim()["totals"])


def canceled():
    rows = [claim()["leases"][0], claim()["leases"][0]]
    rows[0][4:7], rows[1][4:7] = [1, 0, [[0, 2]]], [0, 0, [[0, -1]]]
    totals = {"decomposed": 1, "leaves": 0, "closed": [[0, 1]]}
    return claim(leases=rows, totals=totals)


def at_the_root(nodes):
    content = claim()
    content["leases"][0][4:7] = [nodes, 0, [[0, 1]]]
    content["totals"] = {"decomposed": nodes, "leaves": 0, "closed": [[0, 1]]}
    return content


def hidden_roots():
    content = claim()
    content["units"].append([2, 1, str(math.factorial(19)), 1, None])
    return content


def other_status(status):
    content = claim()
    content["result"]["status"] = status
    return content


def a_line_of_nodes():
    """Sums that hold of any claim: something has to be explored again."""
    closed = [[depth, N_JOBS - depth] for depth in range(1, N_JOBS)]
    closed[-1][1] = 2
    content = claim()
    content["leases"][0][4:7] = [N_JOBS - 1, 0, closed]
    content["totals"] = {"decomposed": N_JOBS - 1, "leaves": 0, "closed": closed}
    return content


MISSED = "random descents say [0-9]+ nodes: there are more than"

FORGERIES = {
    "pruned at 1": (lambda: claim(False), "expected bounds not below 1448"),
    "cutoff, pruned at 1": (lambda: no_schedule(1278, 1), r"pruned at \[1, 1\]"),
    "cutoff above all": (
        lambda: no_schedule(10**9, 10**9),
        "not below the one before it",
    ),
    "one node": (claim, MISSED),
    "no bound": (lambda: at_the_root(1), "1 nodes, its tree has 0"),
    "no node": (lambda: at_the_root(0), MISSED),
    "not alone": (
        lambda: claim(leases=[[*claim()["leases"][0][:8], False, "1"]]),
        MISSED,
    ),
    "summed up": (summed_up, "though there is room"),
    "no schedule": (nothing_claimed, "the schedule is none"),
    "canceled": (canceled, r"\[leases\]\[1\]\[6\]\[0\]\[1\] is missing"),
    "hidden roots": (hidden_roots, "unit 2 has 1 roots: listed"),
    "feasible": (lambda: other_status("feasible"), "no claim of a proof"),
    "unknown": (lambda: other_status("unknown"), "no claim of a proof"),
    "a line of nodes": (a_line_of_nodes, MISSED),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_certificates_are_refused(name, both, monkeypatch):
    # that the optimum of ta001 is in a table is not what is to find them
    monkeypatch.setattr("dpbb.proof.verify.best_known_of", lambda _: None)
    monkeypatch.setattr(checker, "BEST_KNOWN", {})
    make, message = FORGERIES[name]
    holds, text = both(make(), nodes=1000)
    assert not holds
    assert len(re.findall(message, text)) == 2, text


def test_a_bound_above_a_known_schedule_is_refused(both):
    found = both(claim(), nodes=1000)[1]
    assert "ta001 has a schedule of makespan 1278, below 1448" in found


def test_books_of_several_units_hold(dealt, both):
    assert len(dealt["units"]) == 9
    holds, text = both(dealt)
    assert holds, text
    assert text.count("proved again: the whole tree") == 2
    # and when the tree is too large to be explored as a whole
    holds, text = both(dealt, parts=True)
    assert holds, text
    assert text.count("audited: ") == 2


def lower(content, index, at):
    content["leases"][index][7][at] -= 1


def rising(content):
    content["leases"][5][7] = [content["result"]["ub"] + 1] * 2


def all_at_another(content):
    """All at a higher bound than the claim's: then there is more to explore."""
    for lease in content["leases"]:
        lease[7] = [content["result"]["ub"] + 3] * 2


def swapped(content):
    """A node more here, one less there: the totals stay."""
    content["leases"][2][4] += 1
    max(content["leases"], key=lambda lease: lease[4])[4] -= 1


def unknown_unit(content):
    content["leases"][-1][0] = 99


def inside_another(content):
    content["units"][3][1] = 3


def same_roots(content):
    content["units"][3][4] = content["units"][4][4]


def not_finished(content):
    content["leases"][0][8] = True


def all_optima(content):
    """Pruned where LB = makespan, so that some optima may be missing."""
    content["result"]["all_optima"] = True


CHANGES = {
    "start below the claim": (lambda c: lower(c, 4, 0), "pruned at"),
    "end below the claim": (lambda c: lower(c, 4, 1), "pruned at"),
    "rising": (rising, "pruned at"),
    "at another bound": (all_at_another, "expected bounds of schedules"),
    "swapped": (swapped, "nodes, its tree has"),
    "unknown unit": (unknown_unit, "is of no unit"),
    "inside another": (inside_another, "is not inside unit 3"),
    "same roots": (same_roots, "overlap"),
    "not finished": (not_finished, "did not finish its unit alone"),
    "all optima": (all_optima, "expected bounds not below"),
}


@pytest.mark.parametrize(
    ("bound", "known"),
    [
        ("cascade:1-8:0-3", True),
        ("cascade:01-8:0-3", False),
        ("cascade:1-8:0-03", False),
        ("cascade:1-8:00-3", False),
        ("cascade:1-8:0-\N{ARABIC-INDIC DIGIT THREE}", False),
        ("cascade:1-8:0-3\n", False),
        ("cascade:1-8:0-3,", False),
    ],
)
def test_a_cascade_is_written_in_one_way(bound, known, tmp_path, both):
    content = run_certificate(tmp_path, SHOP, bound="cascade:1-8:0-3", workers=0)
    content["tree"]["bound"] = content["instance"]["bound"] = bound
    assert both(content)[0] == known


@pytest.mark.parametrize("name", CHANGES)
def test_no_statement_stands_alone(name, dealt, both):
    content = copy.deepcopy(dealt)
    change, message = CHANGES[name]
    change(content)
    holds, text = both(content, parts=True)
    assert not holds
    assert len(re.findall(message, text)) == 2, text


def test_bounds_may_be_above_the_claim(optimal, both):
    """At a larger bound more is explored than the claim needs; not so the reverse."""
    least = optimal["result"]["ub"]
    content = deal(optimal, least - 2)
    for bound, holds in ((least - 5, True), (least - 2, True), (least - 1, False)):
        content["result"].update(status="infeasible_cutoff", lower_bound=bound)
        content["result"].update(ub=bound, makespan=None, permutation=None)
        assert both(content)[0] == holds


def test_without_exploring_it_only_adds_up(dealt):
    from dpbb.proof.certificate import Certificate

    found = verify(Certificate(dealt), witnesses=0)
    assert found.verdict == checker.TOO_LITTLE
    assert not found.ok
    with pytest.raises(OptionError, match="witnesses: expected a whole number >= 0"):
        verify(Certificate(dealt), witnesses=-1)
    with pytest.raises(OptionError, match="most_nodes: expected a whole number >= 0"):
        verify(Certificate(dealt), most_nodes=-1)
    with pytest.raises(OptionError, match="engine: expected one of auto, cpu, gpu"):
        verify(Certificate(dealt), engine="abacus")


def test_where_nothing_is_small_enough_too_little_is_checked(dealt, both):
    holds, text = both(dealt, nodes=1)
    assert not holds
    assert text.count(checker.TOO_LITTLE) >= 2


def test_the_seed_is_random_and_said(dealt):
    from dpbb.proof.certificate import Certificate

    content, options = Certificate(dealt), {"engine": "reference", "nodes": 200}
    seeds = {verify(content, **options).seed for _ in range(3)}
    assert len(seeds) == 3
    found = verify(content, seed=5, **options)
    assert "seed 5" in found.summary()


def test_all_optima(tmp_path, both):
    content = run_certificate(
        tmp_path, read_instance("ta001").times[:8], heuristics="neh", all_optima=True
    )
    assert content["result"]["all_optima"]
    holds, text = both(content)
    assert holds, text


def test_limits_are_those_of_a_run():
    assert checker.FEW_ROOTS == journal.FEW_ROOTS
    assert checker.MAX_ROOTS == journal.MAX_ROOTS
    assert checker.PACKED_ROOTS == journal.PACKED_ROOTS
    assert checker.PACKED_DIGITS == journal.PACKED_DIGITS
    assert checker.MAX_ENTRIES == journal.MAX_ENTRIES
    assert checker.LISTED_BYTES == journal.LISTED_BYTES


def test_sizes_are_those_of_a_run(dealt):
    books = journal.Journal.from_json(len(dealt["instance"]["times"]), dealt)
    assert checker.n_bytes(dealt) == books._bytes


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
        ("text", lambda _: b"\xff\xfe\x00"),
        ("empty", lambda _: b""),
        ("a list", lambda _: b"[1]"),
        ("another schema", lambda good: good.replace(b'"schema": 2', b'"schema": 4')),
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


@pytest.mark.parametrize("value", ["-5", "1.5", "many", ""])
@pytest.mark.parametrize(
    ("option", "least"), [("--nodes", 0), ("--most-nodes", 0), ("--threads", 1)]
)
def test_the_program_refuses_what_is_no_number(
    option, least, value, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "argv", ["", "missing.json", option, value])
    with pytest.raises(SystemExit) as ended:
        checker.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    text = f"argument {option}: expected a whole number >= {least}, got {value}"
    assert text in said


def test_the_program_wants_a_thread(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", "missing.json", "--threads", "0"])
    with pytest.raises(SystemExit):
        checker.main()
    assert "expected a whole number >= 1, got 0" in capsys.readouterr().err


def test_the_program_says_that_numba_makes_it_fast(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", "--help"])
    with pytest.raises(SystemExit):
        checker.main()
    assert "Numba" in capsys.readouterr().out
    assert "Numba" in checker.__doc__.splitlines()[0]


VALUES = (None, True, False, 0, -1, 1, 2, 2**31, 2**63, 2**70, -(2**70), 1.5)
VALUES += (math.nan, math.inf, "", "x", "1", [], [[]], [0], {}, {"a": 1}, [[0, 1]])

SAID_ONLY = (
    ("instance", "kind"),  # may be missing, as in older certificates; so the next two
    ("result", "objective"),
    ("tree", "n_jobs"),
    ("tree", "trivial_ub"),  # of a flow shop the times say as much
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
    """Change what is at a place; returns the place that it is about."""
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
    if at[0] == "leases" and len(at) > 2:
        # attempt, seat, engine, alone, version; a larger bound at the start is weaker
        return at[2] in (1, 2, 3, 8, 9) or at[2:] == (7, 0)
    return at[:2] in SAID_ONLY


@pytest.mark.parametrize("name", ["dealt", "optimal"])
def test_random_changes_are_refused_or_do_not_matter(name, request, both):
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
        holds, text = both(content)
        # of a tree that is explored as a whole the books need not say which root
        proved = at[0] == "units" and text.count(checker.PROVED) == 2
        assert not holds or same or is_only_said(at) or proved, (at, text)
        assert "Traceback" not in text
        refused += not holds
    assert refused > 150


def nodes_at(depth, n_jobs, path=()):
    """Return the paths of all nodes at a depth."""
    if len(path) == depth:
        return [path]
    digits = range(n_jobs - len(path))
    return [
        node for digit in digits for node in nodes_at(depth, n_jobs, (*path, digit))
    ]


def is_below(path, roots):
    return any(path[: len(root)] == root for root in roots)


@pytest.mark.parametrize("seed", range(40))
def test_roots_without_those_given_away(seed):
    """Against all leaves of small trees."""
    rng = random.Random(seed)
    n_jobs = rng.randint(2, 5)
    all_roots = nodes_at(1, n_jobs)
    roots = rng.choice([[()], rng.sample(all_roots, rng.randint(1, n_jobs))])
    inside = [
        node
        for depth in range(n_jobs)
        for node in nodes_at(depth, n_jobs)
        if is_below(node, roots)
    ]
    given = set()
    for node in rng.sample(inside, min(len(inside), rng.randint(0, 4))):
        if not is_below(node, given) and not any(is_below(g, [node]) for g in given):
            given.add(node)
    found = checker.below(roots, given, n_jobs, 10**6)
    assert found == sorted(found)
    leaves = nodes_at(n_jobs - 1, n_jobs)
    owned = [leaf for leaf in leaves for root in found if is_below(leaf, [root])]
    assert owned == [
        leaf for leaf in leaves if is_below(leaf, roots) and not is_below(leaf, given)
    ]
    if len(found) > 1:
        assert checker.below(roots, given, n_jobs, 1) is None


def test_where_units_interlock_the_tree_is_one_part(dealt, both, monkeypatch):
    """The totals are compared then."""
    monkeypatch.setattr(checker, "MOST_PARTS", 3)
    holds, text = both(dealt)
    assert holds
    assert text.count("proved again: the whole tree has 468 nodes below") == 1, text
    assert "explored again: the whole tree has" in text
