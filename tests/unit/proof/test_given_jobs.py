"""Certificates of shops with given jobs: both checkers know them, forgeries fail."""

import copy
import hashlib
import re
import struct

import pytest

from dpbb.proof import checker
from tests.unit.proof.conftest import SHOP, deal, run_certificate

FRONT, BACK = [4], [2]
HERE = {"workers": 0, "heuristics": "neh"}


@pytest.fixture(scope="module", params=["lb1", "lb2"])
def window(request, tmp_path_factory):
    """Content of the certificate of the jobs between given ones, in books of units."""
    content = run_certificate(
        *(tmp_path_factory.mktemp("window"), SHOP),
        **{"front": FRONT, "back": BACK, "bound": request.param, **HERE},
    )
    content = deal(content, content["result"]["ub"])
    assert content["totals"]["decomposed"] > 20
    return content


def digest_of(content):
    instance = content["instance"]
    found = hashlib.sha256(b"dpbb flow shop with given ends 1\n")
    found.update(bytes.fromhex(checker.digest_of(instance["times"])))
    for jobs in instance["front"], instance["back"]:
        found.update(struct.pack(f"<{len(jobs) + 1}q", len(jobs), *jobs))
    return found.hexdigest()


def test_it_is_checked_by_both(window, both):
    assert window["instance"]["front"] == FRONT
    assert window["tree"]["n_jobs"] == len(SHOP) - 2
    assert window["instance"]["digest"] == digest_of(window)
    holds, text = both(window)
    assert holds, text
    assert text.count("proved again: the whole tree") == 2


def other_front(content):
    content["instance"]["front"] = [5]


def none_given(content):
    del content["instance"]["front"], content["instance"]["back"]


def twice(content):
    content["instance"]["back"] = FRONT


def no_job(content):
    content["instance"]["front"] = [len(SHOP)]


def all_given(content):
    content["instance"]["front"] = list(range(len(SHOP)))
    content["instance"]["back"] = []


FORGERIES = {
    "another front": (other_front, "the digest is not that"),
    "none given": (none_given, "expected 9 jobs, got 7"),
    "a job twice": (twice, "expected given jobs each once"),
    "no job": (no_job, "expected given jobs each once"),
    "all given": (all_given, "expected 1 to"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_other_ends_are_refused(name, window, both):
    forge, message = FORGERIES[name]
    content = copy.deepcopy(window)
    forge(content)
    holds, text = both(content)
    assert not holds
    assert re.search(message, text) or "the digest is not that" in text, text


def test_other_heads_with_a_digest_of_their_own_have_another_tree(window, both):
    """The makespan fits, the books do not: the tree begins from other heads."""
    content = copy.deepcopy(window)
    instance, result = content["instance"], content["result"]
    instance["front"] = [5]
    instance["digest"] = digest_of(content)
    order = result["permutation"]
    value = checker.Shop(content).makespan(order)
    result.update(makespan=value, lower_bound=value, ub=value)
    content["bounds"] = [[value, None]]
    for lease in content["leases"]:
        lease[7] = [value, value]
    holds, text = both(content)
    assert not holds, text
    assert "FAILED" in text


def test_a_bound_of_the_root_counts_what_is_given(tmp_path, both):
    times = [[3, 1, 2], [1, 4, 1], [2, 2, 2]]
    content = run_certificate(tmp_path, times, **{"front": [0], "back": [2], **HERE})
    assert content["schema"] == checker.ROOT_SCHEMA
    assert content["result"]["permutation"] == [0]
    holds, text = both(content)
    assert holds, text
    assert text.count(", given front 0, given back 2") == 2  # what it is a proof of
    content["instance"]["front"] = [1]
    holds, text = both(content)
    assert not holds
