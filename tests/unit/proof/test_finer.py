"""Finer books of a tree: parts small enough to be drawn and explored again."""

import copy
from collections import Counter

import pytest

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof import finer as books
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from dpbb.proof.walking import trailing_zeros
from tests.unit.proof.conftest import deal, pairs, totals


@pytest.fixture
def most(monkeypatch):
    """Set how many nodes a part may have."""
    return lambda nodes: monkeypatch.setattr(books, "least_part", lambda _: nodes)


def finer(content, path):
    found = verify(Certificate(content), engine="reference", finer=path)
    assert found.verdict == checker.PROVED, found.summary()
    return Certificate.read(path).content


def test_what_one_seat_explored_alone_can_be_audited_afterwards(
    optimal, both, tmp_path, most
):
    """One large unit is not checked enough; parts of 30 nodes are."""
    most(30)
    coarse = deal(optimal, optimal["result"]["ub"])
    nodes = sum(coarse["totals"][key] for key in ("decomposed", "leaves"))
    fine = finer(coarse, tmp_path / "fine.json.gz")
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
def test_parts_that_are_left_out_are_missed(kept, optimal, both, tmp_path, most):
    """All sums hold: they are closed subtrees of the unit that the others are from."""
    most(20)
    fine = finer(deal(optimal, optimal["result"]["ub"]), tmp_path / "a")
    numbers = range(len(fine["units"]) - 1)
    content = without(fine, {number for number in numbers if number % 3 >= kept})
    checker.check_books(content)
    assert both(content, parts=True)[0] == checker.FALSE


def sizes(content):
    return [row[1] + row[2] for row in content["units"][1:]]


def test_all_devices_explore(optimal, tmp_path, monkeypatch, most):
    most(50)
    whole = deal(optimal, optimal["result"]["ub"])
    one = finer(whole, tmp_path / "1.json.gz")
    engine = type(get_engine("reference"))
    monkeypatch.setattr(engine, "devices", lambda *_: 3 * [Device("cpu", "test")])
    assert finer(whole, tmp_path / "3.json.gz") == one


def test_an_own_problem_is_cut_without_estimates(own, known_here, tmp_path, most):
    most(20)
    assert len(finer(own, tmp_path / "fine.json.gz")["units"]) > 2


def test_a_schedule_that_was_missed_is_found(optimal, tmp_path):
    false = copy.deepcopy(deal(optimal, optimal["result"]["ub"]))
    false["result"] |= {"status": "infeasible_cutoff", "makespan": None}
    false["result"] |= {"permutation": None, "lower_bound": optimal["result"]["ub"] + 1}
    false["result"]["ub"] += 1
    false["bounds"] = [[false["result"]["ub"], []]]
    for row in false["units"]:
        row[4] = [false["result"]["ub"]] * 2
    path = tmp_path / "fine.json.gz"
    found = verify(Certificate(false), engine="reference", finer=path)
    assert found.verdict == checker.FALSE, found.summary()
    assert "was missed" in found.checks[-1].found
    assert not path.exists()


def test_finer_books_need_a_file_of_their_own(optimal, tmp_path):
    path = tmp_path / "run.json.gz"
    Certificate(optimal).write(path)
    with pytest.raises(OptionError, match="finer: expected another file than"):
        verify(path, engine="reference", finer=tmp_path / "." / path.name)
