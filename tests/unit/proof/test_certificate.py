"""Certificates of real runs hold; every change of one is found, by both checkers."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from tests.oracle import TinyFlowShop
from tests.unit.proof.conftest import SHOP, deal, run_certificate

FAST = {"engine": "reference", "verbosity": "quiet", "report_interval_s": 0.05}

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def original(folder):
    """Certificate of a run of two seats with donations, explored textbook-slowly."""
    path = folder / "run.json.gz"
    result = dpbb.solve(
        "ta014",
        cutoff=1377,
        engine="cpu",
        workers=2,
        report_interval_s=0.05,
        certificate=str(path),
        verbosity="quiet",
    )
    assert (result.decomposed, result.leaves) == (16_114, 13)
    return Certificate.read(path).content


def alone(content, tmp_path, *options):
    """Run the checker of one file, as somebody without dpbb does."""
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    return subprocess.run(  # noqa: S603
        [sys.executable, "-I", checker.__file__, path, "--seed", "1", *options],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("name", ["original", "optimal"])
def test_it_holds(name, request, tmp_path):
    content = request.getfixturevalue(name)
    found = verify(Certificate(content), engine="reference")
    assert found.ok, found.summary()
    assert [check.name for check in found.checks][:4] == [
        name for name, _ in checker.STRUCTURE
    ]
    ran = alone(content, tmp_path, "--nodes", "30000")
    assert ran.returncode == 0, ran.stdout
    assert "proved again: the whole tree, unit by unit" in ran.stdout


def test_leases_say_who_explored_and_with_what(original):
    for _, _, seat, engine, *_, version in original["leases"]:
        assert seat
        assert engine in ("cpu", "reference")
        assert version == dpbb.__version__


def witness(content):
    """A lease that is explored again, and its unit."""
    parts = list(checker.check_sums(content).values())[1:]
    number = max(parts, key=lambda part: part.nodes).number
    lease = next(lease for lease in content["leases"] if lease[0] == number)
    return lease, next(unit for unit in content["units"] if unit[0] == number)


def change(*keys, by=1):
    def apply(content):
        *above, last = keys
        for key in above:
            content = content[key]
        content[last] += by

    return apply


def fewer_nodes(content):
    """Counts that add up, but are not those of the subtree."""
    lease, _ = witness(content)
    lease[4] -= 1
    content["totals"]["decomposed"] -= 1


def other_depths(content):
    """A subtree more at depth n - 1, and one less as its child: the same leaves."""
    lease, _ = witness(content)
    closed = dict(map(tuple, lease[6]))
    n_jobs = len(content["instance"]["times"])
    for depth, below in pairwise(sorted(closed)):
        if below == depth + 1 and closed[below] >= n_jobs - depth:
            closed[depth] += 1
            closed[below] -= n_jobs - depth
            break
    lease[6] = [[d, c] for d, c in closed.items() if c]


def drop_lease(content):
    lease = max(content["leases"], key=lambda lease: lease[4])
    content["leases"].remove(lease)
    content["totals"]["decomposed"] -= lease[4]
    content["totals"]["leaves"] -= lease[5]


def drop_unit(content):
    content["units"].pop()


def double_unit(content):
    number, parent, *rest = content["units"][-1]
    content["units"].append([number + 1, parent, *rest])


def other_rule(content):
    content["tree"]["branching"] = "maxsum"


def other_bound(content):
    lease, _ = witness(content)
    lease[7] = [lease[7][0] - 3] * 2


def other_times(content):
    content["instance"]["times"][0][0] += 1


def times_with_digest(content):
    """Another instance altogether, with its own digest."""
    times = content["instance"]["times"]
    times[0], times[1] = [time + 7 for time in times[1]], times[0]
    content["instance"]["digest"] = checker.digest_of(times)


def moved_root(content):
    _, unit = witness(content)
    path = unit[4][0]
    if path:
        path[-1] += 1 if path[-1] == 0 else -1
    else:
        unit[4] = [[0]]


DAMAGES = {
    "total of nodes": change("totals", "decomposed"),
    "total of leaves": change("totals", "leaves"),
    "nodes of a lease": change("leases", 0, 4),
    "leaves of a lease": change("leases", 0, 5),
    "closed of a lease": change("leases", 3, 6, 0, 1),
    "digest": lambda content: content["instance"].update(digest="0" * 64),
    "rule version": change("tree", "rule_version"),
    "lower bound": change("result", "lower_bound"),
    "counts that add up": fewer_nodes,
    "closed at other depths": other_depths,
    "lease dropped": drop_lease,
    "unit dropped": drop_unit,
    "unit twice": double_unit,
    "other rule": other_rule,
    "other upper bound": other_bound,
    "other times": other_times,
    "other instance": times_with_digest,
    "root moved": moved_root,
    "unit's leaves": lambda content: content["units"][-1].__setitem__(
        2, str(int(content["units"][-1][2]) + 1)
    ),
    "field missing": lambda content: content.pop("leases"),
    "no number": lambda content: content["leases"][0].__setitem__(4, "many"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_every_change_is_found(name, dealt, both):
    content = copy.deepcopy(dealt)
    DAMAGES[name](content)
    assert content != dealt
    holds, text = both(content, parts=True)
    assert not holds
    assert "does not hold" in text
    assert text.count("FAILED") == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda result: result.update(makespan=result["makespan"] - 1),
        lambda result: result["permutation"].reverse(),
        lambda result: result["permutation"].__setitem__(0, result["permutation"][1]),
        lambda result: result.update(permutation=None),
        lambda result: result.update(ub=result["ub"] - 1),
    ],
)
def test_a_false_claim_is_found(damage, optimal, tmp_path):
    content = copy.deepcopy(optimal)
    damage(content["result"])
    assert not verify(Certificate(content), engine="reference").ok
    assert alone(content, tmp_path).returncode == 1


def test_over_a_resume(tmp_path):
    """The books of all parts of a run are one."""
    folder, path = tmp_path / "run", tmp_path / "c.json.gz"
    options = {"engine": "cpu", "report_interval_s": 0.05, "verbosity": "quiet"}
    dpbb.solve(
        "ta028",
        cutoff=2200,
        node_limit=1_000_000,
        threads=1,
        checkpoint=str(folder),
        certificate=str(path),
        **options,
    )
    assert not path.exists()  # nothing is proved yet
    result = dpbb.resume(folder, workers=2, **options)
    assert result.decomposed == 14_523_872
    found = verify(path)
    assert found.ok, found.summary()
    assert len(found.checks) == 5


def test_a_journal_that_is_full_is_summed_up(tmp_path, monkeypatch):
    """The totals hold all the same, and the summary says what is not listed."""
    monkeypatch.setattr("dpbb.coordination.journal.LISTED_BYTES", 1)
    monkeypatch.setattr("dpbb.proof.checker.LISTED_BYTES", 1)
    path = tmp_path / "c.json.gz"
    dpbb.solve(
        "ta028",
        cutoff=2200,
        engine="cpu",
        workers=2,
        report_interval_s=0.05,
        certificate=str(path),
        verbosity="quiet",
    )
    content = Certificate.read(path).content
    assert len(content["units"]) == 1
    assert content["rest"]["closed"]
    found = verify(path, nodes=1_000_000)
    assert found.verdict == checker.TOO_LITTLE, found.summary()
    found = verify(path)
    assert found.verdict == checker.PROVED, found.summary()
    assert any("in the totals only" in note for note in found.notes), found.notes
    content["rest"]["closed"][0][1] += 1
    assert not verify(Certificate(content)).ok


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "dpbb-certificate", "schema": 4}', "\x1f\x8b"]
)
def test_what_is_no_certificate_is_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(OptionError, match="expected a certificate, got"):
        verify(path)


def test_there_is_none_for_problems_that_cannot_encode_themselves():
    problem = TinyFlowShop(((1, 2), (2, 1)))
    with pytest.raises(OptionError, match=r"certificate: .* has encode\(\)"):
        dpbb.solve(problem, certificate="c.json.gz", verbosity="quiet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bound": "lb9"}, "expected bound lb1, got 'lb9'"),
        ({"branching": "sideways"}, "expected a branching rule of .*, got 'sideways'"),
        ({"rule_version": 9}, "expected branching rules of version 1 or 2, got 9"),
        ({"n_jobs": 8}, "expected 9 jobs, got 8"),
    ],
)
def test_what_nobody_knows_is_refused_by_name(change, message, optimal, both):
    content = copy.deepcopy(optimal)
    content["tree"].update(change)
    assert content["tree"] != optimal["tree"]
    holds, text = both(content)
    assert not holds
    assert len(re.findall(message, text)) == 2, text


def test_the_checker_refuses_other_kinds_by_name(own, tmp_path):
    ran = alone(own, tmp_path)
    assert ran.returncode == 1
    assert "expected a problem of kind flowshop-makespan, got 'own-shop'" in ran.stdout


def test_a_certificate_of_an_own_problem_holds(own, known_here):
    """Its subtrees are explored again by the reference engine, its cost is named."""
    found = verify(Certificate(own))
    assert found.ok, found.summary()
    assert "by reference" in found.checks[-1].found
    assert f"optimal, length {own['result']['makespan']}, lower" in found.summary()
    assert "makespan" not in found.summary()


def test_of_an_unknown_kind_the_books_alone_are_checked(own):
    found = verify(Certificate(own))
    assert not found.ok
    assert [check.ok for check in found.checks] == [True, True, True, False]
    assert "got 'own-shop'" in found.checks[-1].found
    own = copy.deepcopy(own)
    own["totals"]["decomposed"] += 1
    assert [check.ok for check in verify(Certificate(own)).checks] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own["tree"].update(n_jobs=6), "expected jobs and trivial UB"),
        (lambda own: own["tree"].update(trivial_ub=9999), "jobs and trivial UB"),
        (lambda own: own["tree"].update(bound="lb9"), "expected bound lb1, got 'lb9'"),
        (lambda own: own["tree"].update(branching="sideways"), "got 'sideways'"),
        (lambda own: own["result"]["permutation"].reverse(), "schedule has length"),
        (lambda own: own["instance"].update(digest="0"), "it is another one"),
        (lambda own: own["instance"].pop("rows"), "can decode, got KeyError"),
        (lambda own: own["instance"].update(kind=["own-shop"]), "or of another type"),
        (lambda own: own["totals"].update(leaves=0), "the leases have"),
    ],
)
def test_every_change_of_it_is_found(change, message, own, known_here):
    content = copy.deepcopy(own)
    change(content)
    found = verify(Certificate(content))
    assert not found.ok
    assert message in found.checks[-1].found


@pytest.mark.parametrize(
    "name", ["missing/proof.json.gz", ".", "file/proof", "x" * 300, "a\0b"]
)
def test_a_certificate_that_could_not_be_written_is_refused_before_the_run(
    tmp_path, name
):
    (tmp_path / "file").touch()
    path = str(tmp_path / name)
    with pytest.raises(OptionError, match=r"^certificate: expected a file that can"):
        dpbb.solve("ta001", certificate=path, verbosity="quiet")


def test_a_solve_without_a_proof_says_that_it_has_no_certificate(tmp_path, capsys):
    path = tmp_path / "proof.json.gz"
    dpbb.solve(SHOP, gap_limit=0.9, certificate=str(path), progress="plain")
    assert "no certificate: gap_limit" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a /dev/full")
def test_the_result_is_not_lost_with_its_certificate():
    with pytest.raises(dpbb.UnwrittenError, match="/dev/full: cannot be") as raised:
        dpbb.solve(SHOP, heuristics="none", certificate="/dev/full", **FAST)
    result = raised.value.result
    assert result.status == "optimal"
    assert result.certificate is not None


def test_a_certificate_of_trillions_of_nodes(shared, tmp_path):
    """Of schema 1: answered within a minute, with what can be said of it."""
    path = shared / "results" / "VFR30_20_10.cert.json.gz"
    found = verify(path, engine="cpu", nodes=2_000_000, seed=1)
    assert found.verdict == "sampled", found.summary()
    assert "16,567,791,313,329 nodes" in found.summary()
    ran = alone(Certificate.read(path).content, tmp_path, "--nodes", "1000")
    assert ran.returncode == 3, ran.stdout
    assert "not checked enough: 0 of 20 draws by claimed nodes" in ran.stdout


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """Certificate of a shop with three kinds of jobs, three of each, in any order."""
    rng = np.random.default_rng(8)
    times = np.repeat(rng.integers(1, 60, (3, 5)), 3, axis=0)
    rng.shuffle(times)
    folder = tmp_path_factory.mktemp("equal")
    content = run_certificate(folder, times, heuristics="none")
    assert content["schema"] == checker.SCHEMA
    return content


def test_a_tree_without_copies_of_equal_jobs_is_proved_again(equal, both):
    assert equal["tree"]["rule_version"] == 2
    assert both(equal)[0]
    assert both(deal(equal, equal["result"]["ub"]))[0]


def test_older_trees_of_equal_jobs_hold(equal, both):
    old = copy.deepcopy(equal)
    old["tree"]["rule_version"] = 1
    assert both(deal(old, equal["result"]["ub"]))[0]
    assert not both(old)[0]  # it has not so many nodes


def without_equal_jobs(content):
    content["instance"]["times"] = SHOP.tolist()
    content["instance"]["digest"] = checker.digest_of(SHOP.tolist())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["tree"].update(root_order=None), "equal jobs side by side"),
        (lambda c: c["tree"]["root_order"].sort(), "equal jobs side by side"),
        (without_equal_jobs, "equal jobs side by side"),
        (lambda c: c["result"].update(all_optima=True), "expected all optima"),
    ],
)
def test_rules_for_equal_jobs_are_refused_where_they_are_not_for(
    change, message, equal, both
):
    content = copy.deepcopy(equal)
    change(content)
    holds, text = both(content)
    assert not holds
    assert text.count(message) == 2, text
