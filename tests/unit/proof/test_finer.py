"""Finer books of a tree: parts small enough to be drawn and explored again."""

import copy
import gzip
import hashlib
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.errors import DpbbError, OptionError
from dpbb.estimation.sampling import Sampler
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.cutting import Cutter
from dpbb.proof.exploring import Explorer
from dpbb.proof.finer import Progress
from dpbb.proof.verify import verify
from dpbb.proof.walking import trailing_zeros
from dpbb.text.files import alone
from tests.unit.proof.conftest import SHOP, deal, pairs, totals


def finer(content, path, **options):
    found = verify(Certificate(content), engine="reference", finer=path, **options)
    assert found.verdict == checker.PROVED, found.summary()
    return Certificate.read(path).content


def test_what_one_seat_explored_alone_can_be_audited_afterwards(
    optimal, both, tmp_path, monkeypatch
):
    """One large unit is not checked enough; parts of 30 nodes are."""
    coarse = deal(optimal, optimal["result"]["ub"])
    nodes = sum(coarse["totals"][key] for key in ("decomposed", "leaves"))
    fine = finer(coarse, tmp_path / "fine.json.gz", most_nodes=30)
    assert fine["totals"] == coarse["totals"]
    assert len(fine["units"]) > nodes / 30
    assert max(sizes(fine)) <= 30
    assert both(fine, parts=True)[0] == checker.AUDITED
    assert both(coarse, nodes=nodes // 20)[0] == checker.TOO_LITTLE


def without(fine, numbers):
    """Return books that call units closed which somebody left out."""
    content = copy.deepcopy(fine)
    first, *units = content["units"]
    content["units"] = [first]
    closed = Counter(dict(map(tuple, first[3])))
    for number, row in enumerate(units):
        if number in numbers:
            for path in row[0]:
                closed[len(path)] += 1
                first[1] += trailing_zeros(path)
        else:
            content["units"].append(row)
    first[3] = pairs(closed)
    closed = Counter()
    for row in content["units"]:
        closed.update(dict(map(tuple, row[3])))
    nodes, leaves = (sum(row[at] for row in content["units"]) for at in (1, 2))
    content["totals"] = totals(nodes, leaves, closed)
    return content


@pytest.mark.parametrize("kept", [1, 2])
def test_parts_that_are_left_out_are_missed(kept, optimal, both, tmp_path):
    """All sums hold: they are closed subtrees of the unit that the others are from."""
    fine = finer(deal(optimal, optimal["result"]["ub"]), tmp_path / "a", most_nodes=20)
    numbers = range(len(fine["units"]) - 1)
    content = without(fine, {number for number in numbers if number % 3 >= kept})
    checker.check_books(content)
    assert both(content, parts=True)[0] == checker.FALSE


def sizes(content):
    return [row[1] + row[2] for row in content["units"][1:]]


@pytest.mark.parametrize("factor", [0.0, 1e-3, 1e3])
def test_parts_do_not_rest_on_estimates(factor, optimal, tmp_path, monkeypatch):
    """What was estimated at too little is cut until it is small."""
    whole = deal(optimal, optimal["result"]["ub"])
    each = Sampler.each
    monkeypatch.setattr(Sampler, "each", lambda *args: factor * each(*args))
    fine = finer(whole, tmp_path / "fine.json.gz", most_nodes=50)
    assert fine["totals"] == whole["totals"]
    assert max(sizes(fine)) <= 50


def test_all_devices_explore(optimal, tmp_path, monkeypatch):
    whole = deal(optimal, optimal["result"]["ub"])
    one = finer(whole, tmp_path / "1.json.gz", most_nodes=50)
    engine = type(get_engine("reference"))
    monkeypatch.setattr(engine, "devices", lambda *_: 3 * [Device("cpu", "test")])
    assert finer(whole, tmp_path / "3.json.gz", most_nodes=50) == one


def test_two_calls_do_not_make_one_file(optimal, tmp_path):
    path = tmp_path / "fine.json.gz"
    with (
        alone(tmp_path / "fine.json.gz.lock", ""),
        pytest.raises(DpbbError, match=r"no other call makes, got .* process \d+ on"),
    ):
        finer(optimal, path)
    finer(optimal, path)
    # the lock stays: whoever waits for the next one and this one would be alone, both
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "fine.json.gz.lock"]


@pytest.mark.parametrize("failing", ["write", "replace"])
def test_a_write_that_fails_leaves_the_file_as_it_was(
    failing, optimal, tmp_path, monkeypatch
):
    """A full disk, or Ctrl-C; a call that goes on begins with the last whole file."""
    path, kept = tmp_path / "fine.json.gz", tmp_path / "fine.json.gz.part"
    here = Progress(kept, optimal)
    before = kept.read_bytes()
    here.closed[1] = 3

    def fail(*_):
        raise OSError(28, "No space left")

    target = os if failing == "write" else Path
    monkeypatch.setattr(target, "fsync" if failing == "write" else "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        here.write()
    monkeypatch.undo()
    assert kept.read_bytes() == before
    here.write()
    assert Progress(kept, optimal).closed == {1: 3}
    assert not path.exists()


def test_a_schedule_that_was_missed_is_found_by_a_call_that_goes_on(optimal, tmp_path):
    """The claim is false then, whatever the file says of what is done."""
    false = copy.deepcopy(deal(optimal, optimal["result"]["ub"]))
    false["result"] |= {"status": "infeasible_cutoff", "makespan": None}
    false["result"] |= {"permutation": None, "lower_bound": optimal["result"]["ub"] + 1}
    false["result"]["ub"] += 1
    false["bounds"] = [[false["result"]["ub"], []]]
    for row in false["units"]:
        row[4] = [false["result"]["ub"]] * 2
    path = tmp_path / "fine.json.gz"
    for _ in range(2):
        found = verify(
            Certificate(false), engine="reference", finer=path, most_nodes=50
        )
        assert found.verdict == "does not hold", found.summary()
        assert "was missed" in found.checks[-1].found
        assert (tmp_path / "fine.json.gz.part").exists()
        assert not path.exists()


def test_a_tree_in_parts_goes_on_where_it_was_cut_off(optimal, tmp_path, monkeypatch):
    monkeypatch.setattr("dpbb.proof.finer.KEEP_S", 0.0)
    coarse, path = deal(optimal, optimal["result"]["ub"]), tmp_path / "fine.json.gz"
    whole = finer(coarse, path, most_nodes=100)
    explore, calls = Explorer.explore, []

    def cut_off(self, task, *_):
        calls.append(task)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return explore(self, task)

    monkeypatch.setattr(Explorer, "explore", cut_off)
    path.unlink()
    with pytest.raises(KeyboardInterrupt):
        finer(coarse, path, most_nodes=100)
    kept = tmp_path / "fine.json.gz.part"
    assert kept.exists()
    assert not path.exists()
    # whoever can write there can make that up: the new books are audited
    monkeypatch.setattr(checker.Audit, "run", lambda *_: (checker.AUDITED, "drawn"))
    found = verify(Certificate(coarse), engine="reference", finer=path, most_nodes=100)
    assert found.verdict == checker.AUDITED
    again = Certificate.read(path).content
    assert not kept.exists()
    for name in ("totals", "units"):
        assert again[name] == whole[name]
    # nothing was explored twice: the last one of the first call was cut off
    assert len(calls) - 1 == len({str(task.roots.roots()) for task in calls})


def kept_of(content, path, parts=(), done=(), closed=(), above=0):
    """Write a file that says what is done of a certificate's tree."""
    about = [content[name] for name in ("instance", "tree", "result")]
    tree = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    rows = {"tree": tree, "parts": parts, "done": done, "closed": closed}
    path.write_bytes(gzip.compress(json.dumps(rows | {"above": above}).encode()))


def test_a_root_that_is_there_twice_is_refused(optimal, tmp_path):
    done = [([[0]], 5, 0, [[2, number]]) for number in (1, 2)]
    kept_of(optimal, tmp_path / "fine.json.gz.part", done=done)
    with pytest.raises(OptionError, match="which does not fit what was explored"):
        finer(optimal, tmp_path / "fine.json.gz")


def below_root(*gone, more=()):
    """Parts: the root's children, but for some, and with others."""
    digits = [digit for digit in range(len(SHOP)) if digit not in gone]
    return [(9, [[digit]]) for digit in (*digits, *more)]


@pytest.mark.parametrize(
    "rows",
    [
        {"parts": below_root(8)},
        {"parts": below_root(more=range(9))},
        {"parts": below_root(8, more=[9])},
        {"parts": below_root(), "closed": [[1, 1]]},
        {"parts": below_root(3), "done": [([[3]], 1, 0, [[2, 7]])]},
    ],
)
def test_what_cannot_be_the_tree_is_refused_at_once(
    rows, optimal, tmp_path, monkeypatch
):
    """Not after all of it was explored, maybe for days."""

    def explore(*_):
        pytest.fail("nothing is to be explored")

    whole = deal(optimal, optimal["result"]["ub"])
    monkeypatch.setattr(Explorer, "explore", explore)
    monkeypatch.setattr(Cutter, "cut", explore)
    kept_of(whole, tmp_path / "fine.json.gz.part", **rows)
    with pytest.raises(OptionError, match="which does not fit"):
        finer(whole, tmp_path / "fine.json.gz")


def test_what_is_done_may_be_made_up(optimal, tmp_path):
    """A file that says that one node was all there is, of a claim that is false."""
    false = copy.deepcopy(optimal)
    n_jobs, order = false["tree"]["n_jobs"], false["result"]["permutation"][::-1]
    value = checker.ends_of(false["instance"]["times"], order)[-1]
    assert value > optimal["result"]["ub"]
    of_result = {"makespan": value, "lower_bound": value, "ub": value}
    false["result"] |= of_result | {"permutation": order}
    pruned = [[1, n_jobs]]
    false["bounds"] = [[value, order]]
    false["units"] = [[[[]], 1, 0, pruned, [value] * 2]]
    false["totals"] = {"decomposed": 1, "leaves": 0, "closed": pruned}
    path = tmp_path / "fine.json.gz"
    kept_of(false, tmp_path / "fine.json.gz.part", closed=pruned, above=1)
    found = verify(Certificate(false), engine="reference", finer=path)
    assert found.verdict == checker.FALSE
    assert not path.exists()


def test_finer_books_need_a_file_of_their_own(optimal, tmp_path):
    path = tmp_path / "run.json.gz"
    Certificate(optimal).write(path)
    with pytest.raises(OptionError, match="finer: expected another file than"):
        verify(path, engine="reference", finer=tmp_path / "." / path.name)
    (tmp_path / "fine.json.gz.part").mkdir()
    with pytest.raises(OptionError, match="finer: expected a file that can be written"):
        verify(path, engine="reference", finer=tmp_path / "fine.json.gz")


TEXTS = [b"x", b"[1, 2]", b'{"tree": "x"}', b'{"done": [0, 1, 0, []]}']

# xdist: names of tests are the same in all its processes, so no time is in the data
PACKED = [gzip.compress(text, mtime=0) for text in [b"", *TEXTS]]


@pytest.mark.parametrize("data", [*TEXTS, *PACKED, PACKED[1][:-3]])
def test_what_is_no_file_of_a_tree_in_parts_is_refused(data, optimal, tmp_path):
    (tmp_path / "fine.json.gz.part").write_bytes(data)
    with pytest.raises(OptionError, match="expected what is done so far, got"):
        finer(optimal, tmp_path / "fine.json.gz")


def test_what_is_done_of_another_tree_is_refused(optimal, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Explorer, "explore", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        finer(optimal, tmp_path / "fine.json.gz")
    other = copy.deepcopy(optimal)
    other["instance"]["name"] = "another"
    with pytest.raises(OptionError, match="is of another tree: remove it"):
        finer(other, tmp_path / "fine.json.gz")
