"""Finer books of a tree: parts small enough to be drawn and explored again."""

import copy
import gzip
import hashlib
import json
import math

import pytest

from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.pieces import Explorer
from dpbb.proof.verify import verify
from tests.unit.proof.conftest import deal


def finer(content, path, **options):
    found = verify(Certificate(content), engine="reference", finer=path, **options)
    assert found.verdict == checker.PROVED, found.summary()
    return Certificate.read(path).content


def test_what_one_seat_explored_alone_can_be_audited_afterwards(
    optimal, both, tmp_path, monkeypatch
):
    """One large unit is not checked enough; parts of 100 nodes are."""
    monkeypatch.setattr("dpbb.proof.finer.AT_FIRST", 10)
    monkeypatch.setattr("dpbb.proof.finer.AGAIN", 20)
    coarse = deal(optimal, optimal["result"]["ub"])
    nodes = sum(coarse["totals"][key] for key in ("decomposed", "leaves"))
    limits = {"nodes": nodes - 1, "most": 100}
    fine = finer(coarse, tmp_path / "fine.json.gz", most_nodes=100)
    assert fine["totals"] == coarse["totals"]
    assert len(fine["units"]) > nodes / 100
    for row in fine["leases"][1:]:
        assert row[4] + row[5] <= 100
    holds, text = both(fine, **limits)
    assert holds, text
    assert "verdict     audited" in text
    assert "\naudited: " in text


def test_finer_books_of_a_wrong_claim_are_refused(optimal, tmp_path):
    false = copy.deepcopy(deal(optimal, optimal["result"]["ub"]))
    one = next(row for row in false["leases"] if row[5])
    one[4] += 1
    false["totals"]["decomposed"] += 1
    path = tmp_path / "fine.json.gz"
    found = verify(Certificate(false), engine="reference", finer=path)
    assert found.verdict == "does not hold", found.summary()
    assert not path.exists()


def test_a_tree_in_parts_goes_on_where_it_was_cut_off(optimal, tmp_path, monkeypatch):
    monkeypatch.setattr("dpbb.proof.finer.AT_FIRST", 10)
    monkeypatch.setattr("dpbb.proof.finer.AGAIN", 20)
    monkeypatch.setattr("dpbb.proof.finer.KEEP_S", 0.0)
    coarse, path = deal(optimal, optimal["result"]["ub"]), tmp_path / "fine.json.gz"
    whole = finer(coarse, path, most_nodes=100)
    explore, calls = Explorer.explore, []

    def cut_off(self, task):
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
    for name in ("totals", "units", "leases"):
        assert again[name] == whole[name]
    # nothing was explored twice: the last one of the first call was cut off
    assert len(calls) - 1 == len({str(task) for task in calls})


def test_what_is_done_may_be_made_up(optimal, tmp_path):
    """A file that says that one node was all there is, of a claim that is false."""
    false = copy.deepcopy(optimal)
    n_jobs, order = checker.size_of(false)[0], false["result"]["permutation"][::-1]
    value = checker.ends_of(false["instance"]["times"], order)[-1]
    assert value > optimal["result"]["ub"]
    of_result = {"makespan": value, "lower_bound": value, "ub": value}
    false["result"] |= of_result | {"permutation": order}
    pruned = [[1, n_jobs]]
    false["bounds"] = [[value, order]]
    false["units"] = [[1, 0, str(math.factorial(n_jobs)), 1, [[]]]]
    false["leases"] = [[1, 1, "s", "cpu", 1, 0, pruned, [value] * 2, True, "1"]]
    false["totals"] = {"decomposed": 1, "leaves": 0, "closed": pruned}
    false["rest"] = {"decomposed": 0, "leaves": 0, "closed": []}
    about = [false[name] for name in ("instance", "tree", "result")]
    hashed = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    path = tmp_path / "fine.json.gz"
    kept = hashed, [], [], [], pruned, 1
    (tmp_path / "fine.json.gz.part").write_bytes(
        gzip.compress(json.dumps(kept).encode())
    )
    with pytest.raises(OptionError, match="which does not fit what was explored"):
        verify(Certificate(false), engine="reference", finer=path)
    assert not path.exists()


def test_finer_books_need_a_file_of_their_own(optimal, tmp_path):
    path = tmp_path / "run.json.gz"
    Certificate(optimal).write(path)
    with pytest.raises(OptionError, match="finer: expected another file than"):
        verify(path, engine="reference", finer=tmp_path / "." / path.name)
    (tmp_path / "fine.json.gz.part").mkdir()
    with pytest.raises(OptionError, match="finer: expected a file that can be written"):
        verify(path, engine="reference", finer=tmp_path / "fine.json.gz")


@pytest.mark.parametrize("text", [b"", b"x", b"[1, 2]", b'["a", [], ["b"], [], [], 0]'])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_is_no_file_of_a_tree_in_parts_is_refused(text, pack, optimal, tmp_path):
    (tmp_path / "fine.json.gz.part").write_bytes(pack(text))
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


def test_more_parts_than_a_certificate_can_have_are_refused(
    optimal, tmp_path, monkeypatch
):
    monkeypatch.setattr("dpbb.proof.finer.AT_FIRST", 10)
    monkeypatch.setattr("dpbb.proof.finer.MOST_UNITS", 2)
    with pytest.raises(OptionError, match="at most 2 parts, got"):
        finer(optimal, tmp_path / "fine.json.gz", most_nodes=1)


def test_a_proof_without_a_tree_has_no_parts(tmp_path):
    content = {"format": checker.FORMAT, "schema": checker.ROOT_SCHEMA}
    shop = {"name": "a", "digest": checker.digest_of([[3, 4]]), "times": [[3, 4]]}
    result = {"status": "optimal", "makespan": 7, "permutation": [0], "lower_bound": 7}
    content |= {"instance": shop, "result": result}
    with pytest.raises(OptionError, match="with a tree"):
        finer(content, tmp_path / "fine.json.gz")
