"""Certificates checked by exploring again on a GPU."""

import copy

import pytest

import dpbb
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from tests.unit.proof.conftest import SHOP, deal, run_certificate

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Of a run of several units; 55 million nodes at one bound."""
    path = tmp_path_factory.mktemp("run") / "certificate.json.gz"
    dpbb.solve(
        "ta022", cutoff=2099, heuristics="none", engine="cpu", workers=2,
        report_interval_s=0.05, certificate=str(path), verbosity="quiet",
    )  # fmt: skip
    return Certificate.read(path).content


@pytest.mark.cluster
def test_all_units_again_on_a_gpu(gpu, content):
    """What the cores counted, unit by unit, closed subtrees too."""
    certificate = Certificate(content)
    found = verify(certificate, engine="gpu", everything=True)
    assert found.verdict == "proved again", found.summary()
    assert "has 55,138,863 nodes; by gpu" in found.checks[-1].found


@pytest.fixture(scope="module")
def dealt(tmp_path_factory):
    """Books of 9 units at one bound."""
    optimal = run_certificate(
        tmp_path_factory.mktemp("optimal"), SHOP, heuristics="neh"
    )
    return deal(optimal, optimal["result"]["ub"])


@pytest.mark.cluster
def test_a_false_unit_is_found_on_a_gpu(gpu, dealt):
    """The books add up, but two units have each other's counts."""
    false = copy.deepcopy(dealt)
    one, two = [row for row in false["units"][2:] if row[1] > 1][:2]
    for at in (1, 2, 3):
        one[at], two[at] = two[at], one[at]
    found = verify(Certificate(false), engine="gpu", everything=True)
    assert found.verdict == "does not hold", found.summary()
    assert "was explored with" in found.summary()
