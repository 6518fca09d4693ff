"""Kinds of problems: registered, installed, and decoded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import metadata

import pytest

from dpbb import problems
from dpbb.errors import InstanceError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.problems import decoded, decoder_of, encoded, holds_problem, register
from tests.unit.coordination.test_checkpoint import tiny

SHOP = FlowShopProblem(FlowShopInstance("tiny", [[1, 2], [3, 4]]))


@dataclass
class Tour:
    """As much of a problem as is looked at."""

    length: int
    name: str = "tour"
    more: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self):
        return f"{self.length:064}"

    def encode(self):
        return {"length": self.length, **dict(self.more)}


def decode(data):
    return Tour(data["length"])


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(problems, "DECODERS", dict(problems.DECODERS))
    problems._installed.cache_clear()
    yield
    problems._installed.cache_clear()


def through_json(problem):
    return json.loads(json.dumps(encoded(problem)))


def test_a_flow_shop_is_held_where_earlier_versions_look_for_it():
    known = through_json(SHOP)
    assert list(known) == ["kind", "digest", "name", "times"]
    assert known["kind"] == "flowshop-makespan"
    assert holds_problem(known)
    again = decoded(known)
    assert (again, again.instance.name) == (SHOP, "tiny")


def test_a_problem_without_encode_is_named_alone():
    known = encoded(tiny())
    assert known.keys() == {"kind", "digest"}
    assert not holds_problem(known)


def test_a_registered_kind_is_decoded():
    known = through_json(Tour(7))
    with pytest.raises(InstanceError, match=r"got 'tour': .*register\(kind, decode\)"):
        decoded(known)
    register("tour", decode)
    assert decoded(known) == Tour(7)


def test_a_decoder_may_be_named_by_its_path():
    register("tour", f"{__name__}:decode")
    assert decoder_of("tour") is decode


def test_a_file_names_no_module_to_import():
    """Its kind is looked up, whatever it looks like."""
    known = {**through_json(Tour(7)), "kind": f"{__name__}:decode"}
    with pytest.raises(InstanceError, match="known here, got"):
        decoded(known)


@pytest.mark.parametrize(
    ("makes", "message"),
    [
        (lambda data: data["width"], "can be decoded, got KeyError: 'width'"),
        (lambda data: Tour(data["length"] + 1), "it is another one"),
        (lambda data: Tour(data["length"], "tours"), "it is another one"),
    ],
)
def test_a_decoder_that_makes_another_problem_is_refused(makes, message):
    register("tour", makes)
    with pytest.raises(InstanceError, match=message):
        decoded(encoded(Tour(7)))


def test_what_says_which_problem_it_is_cannot_be_encoded_otherwise():
    assert encoded(Tour(7, more=(("kind", "tour"),)))["length"] == 7
    with pytest.raises(InstanceError, match=r"expected no kind, .* got 'round trip'"):
        encoded(Tour(7, more=(("kind", "round trip"),)))


def test_an_installed_package_may_bring_a_kind(tmp_path, monkeypatch):
    """As pip lays it out: a folder with its entry points beside the module."""
    info = tmp_path / "tours-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tours\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[dpbb.problems]\ntour = tours_of_a_package:decode\n"
        "none = tours_of_a_package:NONE\n"
    )
    (tmp_path / "tours_of_a_package.py").write_text(
        "from tests.unit.test_problems import decode\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert metadata.version("tours") == "1.0"
    assert decoder_of("tour") is decode
    with pytest.raises(InstanceError, match=r"'none': expected a function .* 'NONE'"):
        decoder_of("none")
    assert decoded(through_json(Tour(7))) == Tour(7)
    register("tour", Tour)
    assert decoder_of("tour") is Tour
